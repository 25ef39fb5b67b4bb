"""What a request asks for is so in a box that was made ahead, and is gone with it.

tests/run: args=--as root
tests/run: nightly=--as user
tests/run: timeout=240

A request with another disk than the language's own is run cold by the same service: that is the other side of all
comparisons here. Each cold one is a filter; so there are few.
"""

import base64
import glob
import hashlib
import json
import os
import signal
import sys
import time
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import census  # noqa: E402
import kit  # noqa: E402
import service  # noqa: E402

COLD = {"disk": "2g"}  # more than a box made ahead has


class Warm:
    """A service with warm languages, and one connection to it. `before` are words in front of its command line."""

    def __init__(self, *languages, before=()):
        self.service = service.Service("--embers", "4", before=before)
        self.client = self.service.connect(60)
        for language in languages or ("python",):
            until = time.monotonic() + 20
            while self.ask({"language": language, "code": ""})["meta"]["start"] != "warm":
                kit.true(time.monotonic() < until, f"no run of {language} is warm")
                time.sleep(0.2)  # every one that is not warm yet is a filter

    def ask(self, asked):
        frames, result = self.client.request({"language": "python", **asked})
        kit.equal(frames[-1][0], "J", f"refused: {result}")
        return result

    def run(self, code, **more):
        result = self.ask({"code": code, **more})
        kit.equal(result["meta"]["start"], "warm", "the box")
        return result

    def out(self, code, **more):
        """What a program writes that has nothing to complain about."""
        result = self.run(code, **more)
        kit.equal((result["status"], result["stderr"], result["exit_code"]), ("ok", "", 0), "the run")
        return result["stdout"]

    def cold(self, code, **more):
        more["limits"] = {**more.get("limits", {}), **COLD}
        result = self.ask({"code": code, **more})
        kit.equal(result["meta"]["start"], "cold", "the box")
        return result

    def same(self, code, **more):
        """The warm result, once it was compared with the cold one."""
        warm, cold = self.run(code, **more), self.cold(code, **more)
        for field in ("status", "success", "exit_code", "signal", "timeout", "error", "error_message", "truncated"):
            kit.equal(warm[field], cold[field], field)
        kit.equal(warm["meta"]["limit"], cold["meta"]["limit"], "meta.limit")
        return warm

    def end(self):
        self.client.close()
        kit.equal(self.service.stop().errtext, "emberbox: ending; runs may finish for 10 s\nemberbox: ended\n",
                  "what the service says")


# What each language that says so is forked from: a program of nothing, in a box made ahead.
FORKED = {
    "bash": "echo 1", "javascript": "console.log(1)", "lua": "print(1)", "perl": "print 1", "python": "print(1)",
    "ruby": "puts 1", "sh": "echo 1", "typescript": "console.log(1 as number)", "zsh": "echo 1",
}  # fmt: skip


@kit.test(timeout=120)
def all_interpreters_that_can_be_are_forked():
    folders = os.path.join(kit.REPO, "runtimes")
    with_point = set()
    for name in os.listdir(folders):
        with open(os.path.join(folders, name, "runtime.yaml"), encoding="utf-8") as file:
            with_point |= {name} if "\nember:" in file.read() else set()
    kit.equal(with_point, set(FORKED))
    warm = Warm(*FORKED)
    for language, code in FORKED.items():
        kit.equal(warm.out(code, language=language).strip(), "1", language)
    # It would say of which the interpreter could not be forked.
    warm.end()


ODD = ["", " ", "a b", "ünï😀", "line\nline\n", "'\"$x`\\", "-v", "--", "*", "=", "\t", "x" * 30000]
# Each prints [arguments, environment] as JSON.
DUMPS = {
    "python": "import json, os, sys; print(json.dumps([sys.argv[1:], dict(os.environ)]))",
    "javascript": "console.log(JSON.stringify([process.argv.slice(2), process.env]))",
    "ruby": "require 'json'; puts JSON.generate([ARGV, ENV.to_h])",
    "perl": "use JSON::PP; print JSON::PP->new->encode([\\@ARGV, \\%ENV])",
    "bash": """exec /usr/bin/python3 -c '
import json, os, sys
for name in "_", "PWD", "SHLVL", "OLDPWD": os.environ.pop(name, 0)
print(json.dumps([sys.argv[1:], dict(os.environ)]))' "$@" """,
}


def words_arrive(language):
    warm = Warm(language)
    limits = {"max_output": "16m"}
    plain = json.loads(warm.out(DUMPS[language], language=language, limits=limits))
    kit.equal(plain[0], [])
    args, env = plain[0] + ODD, {f"V{number}": word for number, word in enumerate(ODD)}
    got = json.loads(warm.out(DUMPS[language], language=language, limits=limits, args=args, env=env))
    kit.equal(got[0], args, "arguments")
    kit.equal(got[1], {**plain[1], **env}, "environment")
    # Many.
    args = [f"{number}" for number in range(1000)]
    env = {f"MANY_{number}": "v" * 200 for number in range(1000)}
    got = json.loads(warm.out(DUMPS[language], language=language, limits=limits, args=args, env=env))
    kit.equal(got[0], args, "many arguments")
    kit.equal(got[1], {**plain[1], **env}, "a large environment")
    # And nothing of it is left.
    kit.equal(json.loads(warm.out(DUMPS[language], language=language, limits=limits)), plain)
    warm.end()


for _language in DUMPS:
    kit.test(lambda l=_language: words_arrive(l), timeout=60, name=f"words_arrive_{_language}")

# Each says "ready", and then each line that it hears.
ECHOES = {
    "python": "import sys\nprint('ready')\nfor line in sys.stdin: print('heard', line.strip())\nprint('end')",
    "javascript": "console.log('ready'); const r = require('readline').createInterface({ input: process.stdin });\n"
    "r.on('line', (l) => console.log('heard', l)); r.on('close', () => console.log('end'));",
    "ruby": "puts 'ready'\n$stdin.each_line { |l| puts \"heard #{l.chomp}\" }\nputs 'end'",
    "perl": "print \"ready\\n\"; while (<STDIN>) { chomp; print \"heard $_\\n\" } print \"end\\n\"",
    "bash": "echo ready; while read -r line; do echo heard $line; done; echo end",
}


@kit.test(timeout=60)
def input_is_heard_while_it_runs():
    warm = Warm(*ECHOES)
    for language, code in ECHOES.items():
        warm.client.ask({"language": language, "code": code, "input": "stream"}, stream=True)

        def said(text, language=language):
            got = b""
            while not got.endswith(text):
                kind, data = warm.client.frame()
                kit.true(kind in "S1", f"{language}: frame {kind}: {data!r}")
                got += data if kind == "1" else b""
            kit.equal(got, text, language)

        said(b"ready\n")
        warm.client.send("I", b"one\n")
        said(b"heard one\n")
        warm.client.send("I", b"tw")
        warm.client.send("I", b"o\n")
        said(b"heard two\n")
        warm.client.send("I")
        frames, result = warm.client.answer()
        kit.equal(b"".join(data for kind, data in frames if kind == "1"), b"end\n")
        kit.equal((result["status"], result["meta"]["start"]), ("ok", "warm"))
    warm.end()


@kit.test
def files_have_their_modes():
    code = """
import os
for place, _, names in sorted(os.walk("/sandbox")):
    for name in sorted(names):
        st = os.stat(os.path.join(place, name))
        print(os.path.join(place, name), oct(st.st_mode), st.st_uid, st.st_gid, st.st_size)
    print(place, oct(os.stat(place).st_mode), os.stat(place).st_uid)
"""
    text = {"base64": base64.b64encode(b"#!/bin/sh\necho ran $1\n").decode()}
    files = {
        "run": {**text, "mode": "755"},
        "deep/er/plain": {**text, "mode": "644"},
        "default": "text",
        "empty": "",
        "/sandbox/data/d": "data",
        "/sandbox/output/o": "output",
        "/tmp/t": "temporary",
    }
    warm = Warm()
    result = warm.same(code, files=files)
    kit.contains(result["stdout"], "/sandbox/code/run 0o100755 1000 1000 22\n")
    kit.contains(result["stdout"], "/sandbox/code/deep/er/plain 0o100644 1000 1000 22\n")
    kit.equal(result["stdout"], warm.cold(code, files=files)["stdout"])
    kit.equal(warm.out("import subprocess; subprocess.run(['/sandbox/code/run', 'x'])", files=files), "ran x\n")
    kit.equal(warm.out("import os; print(sorted(os.listdir('/sandbox/code')), os.listdir('/tmp'))"), "['main.py'] []\n")
    warm.end()


@kit.test
def other_entries():
    warm = Warm()
    code = "import sys, helper; print(__file__, sys.argv, sys.path[0], helper.here)"
    for entry in ("foo.py", "pkg/tool.py", "a/b/c/deep name.py", "noextension"):
        place = os.path.dirname(entry)
        files = {os.path.join(place, "helper.py"): "here = __file__", "main.py": "raise SystemExit('not this')"}
        path = os.path.join("/sandbox/code", entry)
        want = f"{path} ['{path}', 'x'] {os.path.dirname(path)} {os.path.dirname(path)}/helper.py\n"
        kit.equal(warm.out(code, files=files, entry=entry, args=["x"]), want)
        # One of the files instead of the code.
        asked = {"files": {**files, entry: code}, "entry": entry, "args": ["x"]}
        result = warm.ask(asked)
        kit.equal((result["stdout"], result["meta"]["start"]), (want, "warm"))
    warm.end()


@kit.test(timeout=60)
def large_programs_and_files():
    warm = Warm("python", "bash")
    for size in (90 << 10, 97 << 10, 5 << 20):
        code = f"data = '{'x' * size}'\nprint(len(data))\n"
        kit.equal(warm.out(code), f"{size}\n")
    blob = os.urandom(5 << 20)
    files = {"blob": {"base64": base64.b64encode(blob).decode()}, "empty": ""}
    want = hashlib.sha256(blob).hexdigest()
    code = "import hashlib; print(hashlib.sha256(open('blob', 'rb').read()).hexdigest())"
    kit.equal(warm.out(code, files=files), f"{want}\n")
    kit.equal(warm.out("sha256sum <blob", language="bash", files=files), f"{want}  -\n")
    kit.equal(warm.out(": " + "x" * (1 << 20) + "\necho large", language="bash"), "large\n")
    warm.end()


@kit.test(timeout=60)
def output_larger_than_pipes():
    warm = Warm()
    code = """
import os, threading
def write(fd, byte):
    data = byte * (3 << 20)
    while data: data = data[os.write(fd, data):]
threads = [threading.Thread(target=write, args=each) for each in ((1, b'o'), (2, b'e'))]
for each in threads: each.start()
for each in threads: each.join()
"""
    warm.client.ask({"language": "python", "code": code, "limits": {"max_output": "16m"}}, stream=True)
    frames, result = warm.client.answer()
    kit.equal((result["status"], result["meta"]["start"]), ("ok", "warm"))
    for kind, byte in (("1", b"o"), ("2", b"e")):
        kit.true(b"".join(d for k, d in frames if k == kind) == byte * (3 << 20), f"the bytes of {kind}")
    # More than may be kept: as cold.
    code = "print('x' * 100000)\nprint('y' * 30)"
    result = warm.same(code, limits={"max_output": "4k"})
    kit.equal((result["truncated"], result["stdout_bytes"]), (True, 100032))
    kit.equal(result["stdout"], warm.cold(code, limits={"max_output": "4k"})["stdout"])
    warm.end()


@kit.test
def rich_outputs():
    warm = Warm("sqlite", "python")
    code = "create table t(a, b); insert into t values (1, 'x'), (2, null); select * from t; select 'ünï' as u;"
    found = [warm.run(code, language="sqlite"), warm.cold(code, language="sqlite")]
    kit.equal(found[0]["outputs"], found[1]["outputs"])
    kit.equal([one["application/json"]["row_count"] for one in found[0]["outputs"]], [2, 1])
    kit.equal(found[0]["stdout"], found[1]["stdout"])
    # A program's files as well.
    code = "open('/sandbox/output/a.txt', 'w').write('made')"
    found = warm.run(code)["files"], warm.cold(code)["files"]
    kit.equal(found[0], found[1])
    kit.equal(len(found[0]), 1)
    warm.end()


@kit.test(timeout=90, modes=("root",))
def every_exit_code():
    warm = Warm("python", "bash")
    for code in range(256):
        how = ("import os; os._exit({})", "import sys; sys.exit({})", "raise SystemExit({})")[code % 3]
        result = warm.run(how.format(code))
        want = ("ok" if code == 0 else "failed", code == 0, code, None)
        kit.equal((result["status"], result["success"], result["exit_code"], result["signal"]), want)
    for code in (0, 1, 2, 126, 127, 128, 130, 137, 143, 254, 255):
        result = warm.run(f"exit {code}", language="bash")
        kit.equal((result["exit_code"], result["signal"]), (code, None))
    warm.end()


@kit.test(timeout=90)
def every_signal_that_ends():
    warm = Warm("python", "bash")
    harmless = {"SIGCHLD", "SIGCONT", "SIGURG", "SIGWINCH", "SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU"}
    names = [one.name for one in signal.Signals if one.name not in harmless]
    fields = ("status", "success", "exit_code", "signal", "error_message")
    for name in names:
        code = f"import signal, os\ntry: signal.signal(signal.{name}, signal.SIG_DFL)\nexcept OSError: pass\nprint(1, flush=True)\n"
        result = warm.run(code + f"os.kill(os.getpid(), signal.{name})\nprint(2)")
        kit.equal((result["stdout"], result["success"]), ("1\n", False), name)
        # One number with two names, and two that have none.
        known = {"SIGIO": "SIGPOLL", "SIGRTMIN": "SIG34", "SIGRTMAX": "SIG64"}.get(name, name)
        kit.equal(result["signal"], known, "the signal")
        if name in ("SIGKILL", "SIGSEGV", "SIGXCPU"):
            cold = warm.cold(code + f"os.kill(os.getpid(), signal.{name})\nprint(2)")
            kit.equal([result[f] for f in fields], [cold[f] for f in fields], name)
        if name == "SIGQUIT":
            continue  # Bash ignores it, in any box
        result = warm.run(f"echo 1; kill -{name[3:]} $$; echo 2", language="bash")
        kit.equal((result["stdout"], result["signal"]), ("1\n", known), f"bash, {name}")
    warm.end()


SPIN = "while True: pass"


@kit.test(timeout=90)
def limits_end_a_program_as_cold():
    warm = Warm()
    result = warm.same(SPIN, timeout=0.5)
    kit.equal((result["status"], result["timeout"]), ("timeout", True))
    kit.true(0.5 <= result["execution_time"] < 3, f"execution_time {result['execution_time']}")
    result = warm.same("import time; time.sleep(30)", timeout=0.3)
    kit.equal(result["status"], "timeout")
    kit.true(0.3 <= result["execution_time"] < 3, f"execution_time {result['execution_time']}")
    kit.true(result["cpu_time"] < 0.2, f"cpu_time {result['cpu_time']} of one that sleeps")
    result = warm.same(SPIN, limits={"cpu_time": 0.4}, timeout=20)
    kit.equal(result["meta"]["limit"], "cpu_time")
    kit.true(0.4 <= result["cpu_time"] < 2, f"cpu_time {result['cpu_time']}")
    result = warm.same("data = bytearray(200 << 20)\nprint(len(data))", limits={"memory": "64m"})
    kit.equal((result["meta"]["limit"], result["stdout"]), ("memory", ""))
    kit.equal(result["meta"]["resource_limits"]["memory"], 64 << 20)
    warm.end()


@kit.test(timeout=90)
def limits_are_those_of_the_request_alone():
    warm = Warm()
    grow = "data = bytearray(200 << 20)\nprint(len(data))"
    # How many processes there can be beside the first, as far as 40.
    many = """
import os, time
made = 0
for _ in range(40):
    try: pid = os.fork()
    except OSError: break
    if pid == 0: time.sleep(30)
    made += 1
print(made, flush=True)
os._exit(0)
"""
    rlimits = "import resource as r; print({n: r.getrlimit(getattr(r, n)) for n in dir(r) if n.startswith('RLIMIT_')})"
    for _ in range(2):
        kit.equal(warm.run(grow, limits={"memory": "64m"})["meta"]["limit"], "memory")
        kit.equal(warm.out(grow), f"{200 << 20}\n")
        few = warm.run(many, limits={"pids": 5})
        kit.equal(few["stdout"], warm.cold(many, limits={"pids": 5})["stdout"], "processes")
        kit.true(0 < int(few["stdout"]) <= 5, f"{few['stdout']} processes of 5")
        kit.equal(warm.out(many), "40\n")
    limits = {"pids": 9, "memory": "80m", "cpu_time": 7}
    own, other = warm.out(rlimits), warm.out(rlimits, limits=limits)
    kit.true(own != other, "the limits of the request are not set")
    kit.equal(other, warm.cold(rlimits, limits={**limits})["stdout"].replace(str(2 << 30), str(1 << 30)))
    kit.equal(warm.out(rlimits), own)
    warm.end()


def group_of(pid):
    """{file: value} of the control groups of a process, of either version."""
    found = {}
    with open(f"/proc/{pid}/cgroup", encoding="utf-8") as file:
        lines = [line.rstrip("\n").split(":", 2) for line in file]
    for _, controllers, path in lines:
        for place in glob.glob(f"/sys/fs/cgroup/{controllers}{path}"):
            for name in ("cpu.max", "cpu.cfs_quota_us", "memory.max", "memory.limit_in_bytes", "pids.max"):
                if os.path.exists(os.path.join(place, name)):
                    with open(os.path.join(place, name), encoding="utf-8") as file:
                        found[name] = file.read().split()[0]
    return found


@kit.test(timeout=60, modes=("root",))
def groups_are_changed_for_one_request():
    """As the host sees it, while the program runs."""
    warm = Warm()
    mark = uuid.uuid4().hex
    code = f"import subprocess; subprocess.run(['/usr/bin/python3', '-c', 'print(1, flush=True); input()', '{mark}'])"

    def groups(limits, where):
        warm.client.ask({"language": "python", "code": code, "input": "stream", "limits": limits}, stream=True)
        warm.client.until("1")
        found = [group_of(pid) for pid in kit.descendants(warm.service.pid) if mark in command_line(pid)[-2:]]
        warm.client.send("I", b"\n")
        warm.client.send("I")
        _, result = warm.client.answer()
        kit.equal((result["status"], result["meta"]["start"]), ("ok", where))
        kit.equal(len(found), 1, "processes with the mark")
        return found[0]

    changed = {"cpus": 0.5, "memory": "64m", "pids": 5}
    own, other = groups({}, "warm"), groups(changed, "warm")
    if not own:
        kit.skip("no cgroup v2 controllers")
    kit.equal(other, groups({**changed, **COLD}, "cold"), "the groups of a cold box")
    kit.equal([name for name in own if own[name] == other[name]], [], "the same for both")
    kit.equal(groups({}, "warm"), own, "those of the next")
    kit.equal(own, groups(COLD, "cold"), "those of a cold one")
    warm.end()


def command_line(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().decode("utf-8", "replace").split("\0")
    except OSError:
        return []


@kit.test
def boxes_that_have_ended_are_reaped():
    """Nobody but the stem can wait for a box's init; until it does, the namespaces of the box stay."""
    warm = Warm()
    for _ in range(8):
        warm.run("pass")
    until = time.monotonic() + 10
    while (left := census.unreaped(warm.service.pid)) and time.monotonic() < until:
        time.sleep(0.05)
    kit.equal(left, 0, "processes that have ended and are not reaped")
    warm.end()


@kit.test
def signals_are_not_those_of_the_service():
    """posix_spawn() of the C library leaves its own two signals ignored, and signal() does not see them."""
    spawn = (
        "import os, signal, sys\n"
        "pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)\n"
        "signal.signal(signal.SIGTERM, lambda *_: os.kill(pid, signal.SIGTERM))\n"
        "os.waitpid(pid, 0)"
    )
    warm = Warm("bash", before=["/usr/bin/python3", "-c", spawn])
    own = "while read -r name value; do case $name in SigBlk:|SigIgn:) echo $name $value;; esac; done </proc/self/status"
    # SIGQUIT is ignored by Bash itself.
    want = "SigBlk: 0000000000000000\nSigIgn: 0000000000000004\n"
    kit.equal(warm.out(own, language="bash"), want, "signals of a warm program")
    warm.end()


@kit.test
def times_are_the_program_s_own():
    """What a box does before it has a program is not counted."""
    warm = Warm()
    runs = [warm.run("pass") for _ in range(9)]
    cold = warm.cold("pass")
    # By far: the start of an interpreter is not in it, nor the rehearsal, which takes as long.
    least = min(run["cpu_time"] for run in runs)
    kit.true(0 < least < cold["cpu_time"], f"warm {least} s of CPU, cold {cold['cpu_time']}")
    kit.true(all(0 < run["execution_time"] < 5 for run in runs), "execution_time")
    slept = warm.run("import time; time.sleep(0.3)")
    kit.true(0.3 <= slept["execution_time"] < 5, f"execution_time {slept['execution_time']} of 0.3")
    kit.true(slept["cpu_time"] < 0.2, f"cpu_time {slept['cpu_time']} of one that sleeps")
    spun = warm.run("import time\nwhile time.process_time() < 0.3: pass\nprint(time.process_time())")
    kit.true(0.2 < spun["cpu_time"] < 2, f"cpu_time {spun['cpu_time']} of 0.3")
    # The pages that it shares with others, and what it used itself.
    kit.true(0 < slept["memory_used"] < 64 << 20, f"memory_used {slept['memory_used']}")
    used = warm.run("data = bytearray(100 << 20)")["memory_used"]
    kit.true(100 << 20 <= used < 200 << 20, f"memory_used {used} of 100 MiB")
    warm.end()


@kit.test
def a_limit_that_cannot_be_had_is_refused():
    """As in a cold run: without a group nobody limits the processors, and who asks for it is told."""
    warm = Warm()
    result = warm.ask({"code": "print(1)", "limits": {"cpus": 0.5}})
    if any(layer.startswith("cgroup: ") for layer in warm.run("pass")["meta"]["isolation"]):
        kit.equal((result["status"], result["stdout"]), ("ok", "1\n"))
    else:
        kit.equal(result["status"], "error")
        kit.contains(result["error_message"], "this host cannot limit CPU (--cpus)")
    warm.end()


kit.main()
