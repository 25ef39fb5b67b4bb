"""A program finds in a warm box what it finds in a cold one.

tests/run: args=--as root --only python | --as root --only javascript | --as root --only ruby | --as root --only bash | --as root --only perl
tests/run: nightly=--as root --only javascript --node 18 | --as user --only python,javascript,ruby,bash,perl
tests/run: timeout=240

Every case of cases_LANGUAGE.py is run cold (all in one box, see cold_driver.py) and warm (each in a box made ahead).
What it wrote and how it ended has to be the same, but for what same() of the module takes away. Where it cannot be,
KNOWN of the module names the case and the reason; one that no longer differs is an error too.

What the zygote's programs share by design (SECURITY.md) is no chance here: the layout of memory and the hash seed.
"""

import base64
import collections
import importlib
import json
import os
import signal
import sys
import time
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import kit  # noqa: E402
import service  # noqa: E402

sys.path.insert(0, HERE)

SHARE_OF_A_USER = 8  # an ordinary user's: one case in so many

Language = collections.namedtuple("Language", "file start chance")
LANGUAGES = {
    "python": Language(
        "main.py",
        "import subprocess; subprocess.run(['/usr/bin/python3', '/sandbox/data/driver.py'])",
        """
import os, random, secrets, tempfile, uuid
for value in (random.random(), random.getrandbits(64), random.Random().random(), random.SystemRandom().random(),
              uuid.uuid1(), uuid.uuid4(), secrets.token_hex(8), os.urandom(8), tempfile.mktemp()):
    print(value)
""",
    ),
    "javascript": Language(
        "main.js",
        "require('child_process').spawnSync('/usr/bin/python3', ['/sandbox/data/driver.py'], { stdio: 'inherit' });",
        """
const crypto = require('crypto');
console.log(Math.random()); console.log(crypto.randomUUID()); console.log(crypto.randomBytes(8).toString('hex'));
console.log(crypto.randomInt(2 ** 47)); console.log(require('fs').mkdtempSync('/tmp/x'));
""",
    ),
    "ruby": Language(
        "main.rb",
        "system('/usr/bin/python3', '/sandbox/data/driver.py')",
        """
require 'securerandom'; require 'tempfile'
puts rand, Random.new.rand, Random.rand(2**60), Random.new_seed, SecureRandom.uuid, SecureRandom.hex
puts [*1..50].shuffle.join(' ')
puts Tempfile.create('x').path; puts Random.bytes(8).inspect
""",
    ),
    "bash": Language(
        "main.sh",
        "/usr/bin/python3 /sandbox/data/driver.py; exit",
        "echo $RANDOM$RANDOM$RANDOM; echo $SRANDOM; mktemp -u; cat /proc/sys/kernel/random/uuid",
    ),
    "perl": Language(
        "main.pl",
        "system '/usr/bin/python3', '/sandbox/data/driver.py'",
        """
use File::Temp qw(tempfile); use List::Util qw(shuffle);
print rand, "\\n", join(" ", shuffle 1 .. 50), "\\n", (tempfile())[1], "\\n", int(rand 2 ** 40), "\\n";
""",
    ),
}

Case = collections.namedtuple("Case", "name source args stdin files env entry", defaults=((), "", {}, {}, ""))


def bytes_of(text):
    return text if isinstance(text, bytes) else text.encode()


def in_base64(text):
    return base64.b64encode(bytes_of(text)).decode()


def plain(case, language):
    """A case of a module, in whichever form, as a Case whose files have the program among them."""
    if not hasattr(case, "_fields"):
        name, source, args, stdin, *more = case
        entry, files = *more, *("", {})[len(more) :]
        case = Case(name, source, tuple(args), stdin, files, {}, entry)
    entry = case.entry or LANGUAGES[language].file
    # An empty program elsewhere stands for none.
    missing = case.source == "" and entry != LANGUAGES[language].file
    files = dict(case.files) if missing else {**case.files, entry: case.source}
    return Case(case.name, case.source, tuple(case.args), case.stdin, files, dict(case.env), entry)


def can_be_sent(case):
    """JSON has only text, and a request has to have the file that is to be run."""
    try:
        "".join([*case.args, *case.env, *case.env.values()]).encode()
    except UnicodeEncodeError:
        return False
    return case.entry in case.files


def cases_of(language):
    module = importlib.import_module(f"cases_{language}")
    cases = [plain(case, language) for case in module.CASES]
    cases = [case for case in cases if can_be_sent(case)]
    kit.equal(len({case.name for case in cases}), len(cases), "names of cases")
    if kit.mode != "root":
        cases = cases[::SHARE_OF_A_USER]
    return cases, getattr(module, "same", lambda text: text), getattr(module, "KNOWN", {})


def cold(language, cases):
    """{name: (code, stdout, stderr)} of one box."""
    given = [
        {
            "name": case.name,
            "entry": case.entry,
            "files": {name: in_base64(content) for name, content in case.files.items()},
            "args": case.args,
            "env": case.env,
            "stdin": in_base64(case.stdin),
        }
        for case in cases
    ]
    place = kit.tmp()
    with open(os.path.join(HERE, "cold_driver.py"), "rb") as file:
        kit.write(os.path.join(place, "driver.py"), file.read())
    kit.write(os.path.join(place, "cases.json"), json.dumps(given))
    options = [word for name in os.listdir(place) for word in ("--file", f"{place}/{name}:/sandbox/data/{name}")]
    result = kit.emberbox(
        "run", "--cold", "--json", "-l", language, *options, "--timeout", "200", "--max-output", "16m",
        "-c", LANGUAGES[language].start, timeout=210,
    )  # fmt: skip
    kit.equal((result.json["status"], result.json["stderr"]), ("ok", ""), "the cold box")
    found = {}
    for line in result.json["stdout"].splitlines():
        name, code, out, err = json.loads(line)
        found[name] = code, *(zlib.decompress(base64.b64decode(text)) for text in (out, err))
    kit.equal([case.name for case in cases if case.name not in found], [], "cases without an answer")
    return found


def request(language, case):
    files = {name: {"base64": in_base64(content)} for name, content in case.files.items() if name != case.entry}
    asked = {
        "language": language,
        "code": {"base64": in_base64(case.files[case.entry])},
        "files": files,
        "args": case.args,
        "env": case.env,
        "timeout": 20,
        "limits": {"max_output": "16m"},
    }
    if case.entry != LANGUAGES[language].file:
        asked["entry"] = case.entry
    if case.stdin:
        asked["stdin"] = {"base64": in_base64(case.stdin)}
    return asked


class Warm:
    """A service with a warm language, and one connection to it."""

    def __init__(self, language):
        self.language = language
        self.service = service.Service("--embers", "4")
        self.client = self.service.connect()
        until = time.monotonic() + 20
        while self.ask({"language": language, "code": ""})[3]["meta"]["start"] != "warm":
            kit.true(time.monotonic() < until, f"no run of {language} is warm")
            time.sleep(0.2)  # every one that is not warm yet is a filter

    def ask(self, asked):
        """Exit code (negative: the signal), stdout, stderr, the result."""
        frames, result = self.client.request(asked, stream=True)
        kit.equal(frames[-1][0], "J", f"refused: {result}")
        out, err = (b"".join(data for kind, data in frames if kind == which) for which in "12")
        code = result["exit_code"] if result["signal"] is None else -getattr(signal, result["signal"])
        return code, out, err, result

    def run(self, asked):
        answer = self.ask({"language": self.language, **asked})
        kit.equal(answer[3]["meta"]["start"], "warm", "the box")
        return answer

    def end(self):
        """Nothing went wrong with boxes made ahead."""
        self.client.close()
        kit.equal(self.service.stop().errtext, "emberbox: ending; runs may finish for 10 s\nemberbox: ended\n",
                  "what the service says")


def difference(got, want):
    """Where they part, in a line."""
    if got[0] != want[0]:
        return f"ended with {got[0]}, cold with {want[0]}; stderr {got[2][-200:]!r}, cold {want[2][-200:]!r}"
    for name, one, other in zip(("stdout", "stderr"), got[1:], want[1:]):
        if one != other:
            at = len(os.path.commonprefix([one, other]))
            return f"{name} from byte {at}: {one[at : at + 200]!r}, cold {other[at : at + 200]!r}"
    return "the same"


def same_as_cold(language):
    cases, same, known = cases_of(language)
    if kit.mode == "root":
        kit.equal([name for name in known if name not in {case.name for case in cases}], [], "KNOWN without a case")
    want = cold(language, cases)
    warm = Warm(language)
    wrong, healed = [], []
    for case in cases:
        code, out, err, result = warm.run(request(language, case))
        got = code, same(out), same(err)
        expected = want[case.name][0], same(want[case.name][1]), same(want[case.name][2])
        if result["status"] == "error":
            wrong.append(f"{case.name}: {result['error']}")
        elif got == expected and case.name in known:
            healed.append(case.name)
        elif got != expected and case.name not in known:
            wrong.append(f"{case.name}: {difference(got, expected)}")
    warm.end()
    kit.equal(healed, [], "known differences that are none")
    kit.true(not wrong, f"{len(wrong)} of {len(cases)} differ: " + "; ".join(wrong))


def chance_differs(language):
    """Two programs of one interpreter have nothing random in common."""
    warm = Warm(language)
    code = LANGUAGES[language].chance
    (_, first, err, _), (_, second, _, _) = warm.run({"code": code}), warm.run({"code": code})
    kit.equal(err, b"")
    kit.true(len(first.splitlines()) > 3, f"too little: {first!r}")
    pairs = list(zip(first.splitlines(), second.splitlines()))
    kit.equal([one for one, other in pairs if one == other], [], "the same in two runs")
    warm.end()


for _language in LANGUAGES:
    if os.path.exists(os.path.join(HERE, f"cases_{_language}.py")):
        kit.test(lambda l=_language: same_as_cold(l), timeout=230, name=f"{_language}.same_as_cold")
        kit.test(lambda l=_language: chance_differs(l), timeout=60, name=f"{_language}.chance_differs")

kit.main()
