"""L, X8: boxes that were made ahead, and the process in them that was forked.

A warm box has to answer as the cold one beside it does, and to know nothing of another.

tests/run: args=--as root --warm | --as user --warm
tests/run: timeout=240
"""

import concurrent.futures
import ctypes
import os
import re
import signal
import subprocess
import sys
import time
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import box
import census
import kit
import service

LIBC = ctypes.CDLL(None, use_errno=True)
KCMP = {"x86_64": 312, "aarch64": 272, "riscv64": 272}[os.uname().machine]


def run(language, code, *options, cold=False, **more):
    """One run; its object. The cold one is a control."""
    words = ["run", *(["--cold"] if cold else []), "-l", language, "--json", "--max-output", "1m", *options]
    r = kit.emberbox(*words, "-c", code, cold=cold, **more)
    kit.equal(r.json["meta"]["start"], "cold" if cold else "warm", repr(r))
    return r


def python(code, *options, **more):
    return run("python", code, *options, **more)


# What a box is


@kit.test
def isolation_is_that_of_a_cold_box():
    for language, code in (("bash", ":"), ("python", "pass")):
        layers = []
        for cold in (True, False):
            found = run(language, code, cold=cold).json["meta"]["isolation"]
            # An ordinary user's boxes have one uid; others have one each.
            layers.append([re.sub(r"host uid \d+, of this box", "host uid N, of this box", line) for line in found])
        kit.equal(layers[1], layers[0], language)


@kit.test
def S_attempts_by_the_forked_process_itself():
    cold, warm = (box.attempts(python(box.attempts_code(), cold=cold).json) for cold in (True, False))
    box.same_attempts(warm, cold, warm=True)
    kit.equal(warm["descriptors"], "[0, 1, 2]")


@kit.test(timeout=90)
def the_probe_under_a_forked_process():
    # In a Bash box all of it is executed anew; here its parent, and what it inherits, is the fork of a zygote.
    for letter in "FNPSXRTO":
        box.holds_in(letter, "python")


# L3: nothing of one run in another

LEAVE = """
import builtins, json, os, py_compile, random, site, string, sys
os.environ["LEFT"] = "left"
builtins.ascii, json.dumps, string.digits = lambda x: "left", lambda x: "left", "left"
sys.modules["left_module"] = sys
sys.path.insert(0, "/left")
random.seed(1)
places = [site.getusersitepackages(), "/tmp", "/sandbox/code", "/sandbox/temp", "/dev/shm"]
for place in places:
    os.makedirs(place, exist_ok=True)
    for name in ("left_module.py", "sitecustomize.py", "usercustomize.py", "left.pth", "__pycache__"):
        if name == "__pycache__":
            os.makedirs(f"{place}/{name}", exist_ok=True)
        else:
            open(f"{place}/{name}", "w").write("import builtins; builtins.planted = 1")
py_compile.compile("/tmp/left_module.py", cfile="/tmp/__pycache__/left_module.cpython-311.pyc")
try:
    os.mkdir("/usr/lib/python3/__pycache__left")
except OSError as error:
    print(error.errno)
print(os.environ["LEFT"], "TOKEN" in os.environ)
"""

FOUND = """
import builtins, glob, json, os, random, site, string, sys
print("LEFT" in os.environ, "TOKEN" in os.environ, ascii(3), json.dumps([1]), string.digits, hasattr(builtins, "planted"))
print("left_module" in sys.modules, "/left" in sys.path, os.path.exists(site.getusersitepackages()), site.getusersitepackages() in sys.path)
print(sorted(os.listdir("/tmp") + os.listdir("/sandbox/temp") + os.listdir("/dev/shm") + os.listdir("/sandbox/code")))
try:
    import left_module
except ImportError:
    print("no module")
"""


@kit.test
def L3_nothing_of_one_run_is_in_the_next():
    want = "False False 3 [1] 0123456789 False\nFalse False False False\n['main.py']\nno module\n"
    kit.equal(python(FOUND, cold=True).json["stdout"], want, "the control")
    for _ in range(4):
        r = python(LEAVE, "--env", "TOKEN=x")
        kit.equal((r.json["stdout"], r.json["stderr"]), ("30\nleft True\n", ""), "what is to be found")
        kit.equal(python(FOUND).json["stdout"], want)


SCAN = """
import re
found = 0
with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
    for line in maps:
        span, rights, *_ = line.split()
        first, last = (int(part, 16) for part in span.split("-"))
        if rights[0] == "r" and first < 1 << 63:
            try:
                memory.seek(first)
                data = memory.read(last - first)
            except OSError:
                continue
            found += len(re.findall(b"PATTERN", data))
print(found)
"""


def in_memory(word, before=""):
    """How often a word is in the memory of a program that was not told it: not even its pattern has it in one piece."""
    pattern = f"{word[:16]}[{word[16]}]{word[17:]}"
    return int(python(before + SCAN.replace("PATTERN", pattern)).json["stdout"])


@kit.test
def L3_no_memory_of_another_run_or_of_the_service():
    token = uuid.uuid4().hex
    hold = f"import sys; kept = {token!r}; print(kept); sys.stdin.read()"
    # While one that knows it lives, and after it.
    other = Held("python", hold, "--env", f"TOKEN={token}", words=[token])
    kit.equal(other.line(), token)
    kit.equal(in_memory(token), 0, "beside it")
    other.end()
    kit.equal(in_memory(token), 0, "after it")
    kit.equal(in_memory(kit.warm.SECRET), 0, "of the service")
    kit.true(in_memory(token, f"kept = {token!r}\n") > 0, "the control: what is there is found")


class Held(box.Held):
    """A run that goes on until it is let go, in any language."""

    def __init__(self, language, code, *options, words=()):
        argv = [kit.built(), "run", "-l", language, *options, "-c", code, "--", *words]
        self.process = kit.start(argv, stdin=subprocess.PIPE)
        self._rest = b""


# L5: what is by chance

CHANCE = {
    "python": """
import os, random, secrets, tempfile, uuid
print(random.random(), random.Random().random(), random.SystemRandom().random(), uuid.uuid4(), uuid.uuid1())
print(tempfile.mktemp(), tempfile.mkdtemp(), secrets.token_hex(), os.urandom(8).hex())
""",
    "bash": "echo $RANDOM$RANDOM $SRANDOM $(mktemp -u) $(</proc/sys/kernel/random/uuid)",
    "zsh": "echo $RANDOM$RANDOM $(mktemp -u)",
    "sh": "mktemp -u",
    "perl": 'use File::Temp; print join " ", rand, File::Temp::tempdir(), (File::Temp::tempfile())[1]',
    "lua": "print(math.random(0), math.random(1 << 60), os.tmpname())",
    "ruby": 'require "securerandom"; require "tmpdir"; puts rand, Random.new.rand, Random.rand, SecureRandom.uuid, Dir.mktmpdir, [1, 2, 3, 4, 5, 6, 7, 8, 9, *10..40].shuffle.join("")',
    "javascript": "const c = require('crypto'); console.log(Math.random(), c.randomUUID(), c.randomBytes(8).toString('hex'),"
    " c.webcrypto.getRandomValues(new Uint32Array(2)).join(), require('fs').mkdtempSync('/tmp/x'))",
}


def chance(language):
    # One after the other, and so forks of one zygote.
    rows = [run(language, CHANCE[language]).json["stdout"].split() for _ in range(4)]
    kit.true(rows[0], f"{language} printed nothing")
    cold = [run(language, CHANCE[language], cold=True).json["stdout"].split() for _ in range(2)]
    for index, values in enumerate(zip(*rows)):
        # What a cold run repeats may be repeated.
        if cold[0][index] != cold[1][index]:
            kit.equal(len(set(values)), len(rows), f"{language}: twice the same: {values}")


for each in CHANCE:
    kit.test(lambda each=each: chance(each), name=f"L5_what_is_by_chance_differs.{each}", timeout=60)


# What forks of one zygote have in common


def opened(pid):
    return {int(name) for name in os.listdir(f"/proc/{pid}/fd")}


def is_same_file(one, other, fd):
    """kcmp(2) of a descriptor of two processes: whether they have one open file."""
    answer = LIBC.syscall(ctypes.c_long(KCMP), one, other, 0, ctypes.c_ulong(fd), ctypes.c_ulong(fd))
    return answer == 0


def shared_memory(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        return [line.split()[4:] for line in file if line.split()[1][1::2] == "ws"]


READING = {
    "python": "import sys; print('up', flush=True); sys.stdin.read()",
    "bash": "echo up; read -r line",
    "zsh": "echo up; read -r line",
    "sh": "echo up; read -r line",
    "perl": '$| = 1; print "up\\n"; <STDIN>',
    "lua": "io.stdout:setvbuf('no'); print('up'); io.read()",
    "ruby": "STDOUT.sync = true; puts 'up'; STDIN.read",
    "javascript": "require('fs').writeSync(1, 'up\\n'); require('fs').readFileSync(0)",
}


def waiting_or_at_work(pid):
    """Processes in boxes that are not theirs."""
    found = [census.process(one) for members in boxes_of(pid).values() for one in members]
    return [one.pid for one in found if one and one.name != "init"]


def shares(language):
    """Two that wait and two at work: what one does to an open file, the other would see."""
    own = service.Service("--embers", "2")
    with own.connect() as client:
        end = time.monotonic() + 20
        while client.request({"language": language, "code": kit.warm.TRIVIAL[language]})[1]["meta"]["start"] != "warm":
            kit.true(time.monotonic() < end, "no run is warm")
            time.sleep(0.2)
    def count(wanted):
        end = time.monotonic() + 20
        while len(found := waiting_or_at_work(own.pid)) != wanted:
            kit.true(time.monotonic() < end, f"{len(found)} programs, not {wanted}")
            time.sleep(0.1)
        return found

    clients = [own.connect() for _ in range(2)]
    # A run for which none waits is a cold one; and what is just ending does not wait.
    before, now = None, sorted(count(2))
    while now != before:
        time.sleep(0.3)
        before, now = now, sorted(count(2))
    for client in clients:
        client.ask({"language": language, "code": READING[language], "input": "stream"}, stream=True)
        client.until("1")
    programs = count(4)
    above = [one.pid for one in zygotes(stems(own)[0])] + [stems(own)[0].pid, own.role("keeper")]
    for pid in programs:
        kit.equal(shared_memory(pid), [], "memory that is shared and can be written")
    for one in programs:
        for another in [*programs, *above]:
            both = opened(one) & opened(another) if one != another else ()
            same = [os.readlink(f"/proc/{one}/fd/{fd}") for fd in sorted(both) if is_same_file(one, another, fd)]
            kit.equal(same, [], f"open files of {census.process(one)} and {census.process(another)}")
    # The control: a process has its own files in common with itself.
    kit.true(is_same_file(programs[0], programs[0], 0), "kcmp does not tell")
    for client in clients:
        client.send("I")
        kit.equal(client.answer()[1]["meta"]["start"], "warm")
        client.close()
    own.stop()


for each in CHANCE:
    kit.test(lambda each=each: shares(each), name=f"forks_share_no_file_and_no_memory.{each}", timeout=60)


# L6, L7, L8: what a service holds


def held(pid):
    """What of the machine a service has: numbers that a leak would change."""
    below = census.descendants(pid)
    every = [pid, *(one.pid for one in below)]
    groups = {group for group in census.cgroups() if re.search(rf"box-(?:{'|'.join(map(str, every))})-", group)}
    return {
        "processes": sorted(one.name for one in below),
        # A stem keeps some networks that nobody has used (test_networks.py), more or fewer.
        "descriptors": sorted((one.name, census.descriptors(one.pid, but="net:")) for one in below),
        "groups": len(groups),
        "mounts": len(census.mounts()),
        "namespaces": {kind: len({census.namespace(p, kind) for p in every}) for kind in ("net", "mnt", "pid", "user")},
    }


def settled(pid, wanted, seconds=15):
    """What it has when nothing changes any more, or is as it was."""
    end = time.monotonic() + seconds
    now = None
    while time.monotonic() < end:
        before, now = now, held(pid)
        if now == wanted or (wanted is None and now == before):
            break
        time.sleep(0.3)
    return now


@kit.test(timeout=120)
def L6_after_many_runs_a_service_has_what_it_had():
    # Two that wait: as many as there are from the beginning, so that their number does not change.
    own = service.Service("--embers", "2")
    with own.connect() as client:
        for _ in range(10):
            client.request({"language": "python", "code": "pass"})
        before = settled(own.pid, None)
        warm = 0
        for i in range(60):
            code = f"import os, sys\nif os.fork() == 0: os.execv('/bin/sleep', ['sleep', '1000'])\nsys.exit({i})"
            _, result = client.request({"language": "python", "code": code})
            kit.equal(result["exit_code"], i)
            warm += result["meta"]["start"] == "warm"
        kit.equal(warm, 60)
        kit.equal(settled(own.pid, before), before)
    kit.true(before["processes"].count("init") == 2, before)
    own.stop()


def uid_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(next(line.split()[1] for line in file if line.startswith("Uid:")))


def boxes_of(pid):
    """{pid namespace: [pids]} of boxes: those with an init of ours."""
    found = {}
    for where, members in census.boxes(pid).items():
        if any(one.name == "init" for one in members):
            found[where] = [one.pid for one in members]
    return found


@kit.test
def L7_one_uid_for_one_box():
    clients = [kit.warm.start().connect() for _ in range(8)]
    for client in clients:
        client.ask({"language": "python", "code": "print('up', flush=True)\nimport time\ntime.sleep(60)"}, stream=True)
    for client in clients:
        client.until("1")
    found = boxes_of(kit.warm.start().pid)
    kit.true(len(found) >= 8, f"{len(found)} boxes")
    uids = {where: {uid_of(pid) for pid in members} for where, members in found.items()}
    kit.true(all(len(own) == 1 for own in uids.values()), uids)
    distinct = {next(iter(own)) for own in uids.values()}
    if kit.mode == "root":
        kit.equal(len(distinct), len(found), "boxes that share a uid")
        kit.true(min(distinct) >= 0x7E000000, distinct)
    else:
        # An ordinary user has but one uid.
        kit.equal(distinct, {kit.UID})
    for client in clients:
        client.close()


CLAIM = """
import os, sys
print(sys.argv[1], os.environ["TOKEN"], sys.stdin.read(), os.path.exists("/tmp/used"), open("/sandbox/data/token").read())
open("/tmp/used", "w").close()
"""


@kit.test
def L8_one_box_for_one_claim():
    path = kit.warm.start().path

    def series(_):
        ids = []
        with service.Client(path) as client:
            for _ in range(25):
                token = uuid.uuid4().hex
                request = {"language": "python", "code": CLAIM, "args": [token], "env": {"TOKEN": token}, "stdin": token,
                           "files": {"/sandbox/data/token": token}}
                _, result = client.request(request)
                kit.equal(result.get("stdout"), f"{token} {token} {token} False {token}\n", repr(result))
                ids.append((result["id"], result["meta"]["start"]))
        return ids

    # On four connections at once: what ends, begins and is forked meanwhile is not mistaken for each other.
    python("pass")
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        ids = [one for part in threads.map(series, range(4)) for one in part]
    kit.equal((len({name for name, _ in ids}), {start for _, start in ids}), (100, {"warm"}))


# X8: the service's own processes are killed


def stems(own):
    keeper = own.role("keeper")
    return [one for one in census.descendants(keeper) if one.parent == keeper and one.words[2:3] == ["--role=stem"]]


def zygotes(stem):
    """Those of its children that are in its own pid namespace, the interpreter first."""
    space = census.namespace(stem.pid, "pid")
    return [o for o in census.descendants(stem.pid) if o.parent == stem.pid and census.namespace(o.pid, "pid") == space and o.name != "init"]


def warm_run(own, seconds=30):
    """Runs until one is warm; connections may break while roles are started anew."""
    end = time.monotonic() + seconds
    while True:
        try:
            with own.connect() as client:
                _, result = client.request({"language": "python", "code": "print('up')"})
            if result.get("meta", {}).get("start") == "warm":
                kit.equal((result["status"], result["stdout"]), ("ok", "up\n"))
                return
        except (OSError, service.Gone):
            pass
        kit.true(time.monotonic() < end, "no run is warm again")
        time.sleep(0.3)


def killed(own, choose):
    """Kills one of its processes beside a run; every box there was has to go, and the next run has to work."""
    warm_run(own)
    client = own.connect()
    client.ask({"language": "python", "code": "print('up', flush=True)\nimport time\ntime.sleep(300)", "timeout": 300}, stream=True)
    client.until("1")
    watch = kit.Watch(pid for members in boxes_of(own.pid).values() for pid in members)
    kit.true(len(watch.fds) >= 2, "there is no box")
    os.kill(choose(), signal.SIGKILL)
    try:
        _, result = client.answer()
        kit.true("error" in result or result["status"] == "error", repr(result))
    except service.Gone:
        pass
    client.close()
    return watch


@kit.test(timeout=90)
def X8_killing_the_keeper():
    own = service.Service("--embers", "2")
    watch = killed(own, lambda: own.role("keeper"))
    kit.equal(watch.survivors(), [])
    warm_run(own)
    own.stop()


@kit.test(timeout=60)
def X8_killing_the_supervisor():
    own = service.Service("--embers", "2")
    watch = killed(own, lambda: own.pid)
    kit.equal(watch.survivors(), [])
    kit.finish(own.process)
    again = service.Service("--embers", "2", home=own.home)
    warm_run(again)
    again.stop()


@kit.test(timeout=60)
def X8_killing_a_stem():
    own = service.Service("--embers", "2")
    watch = killed(own, lambda: stems(own)[0].pid)
    kit.equal(watch.survivors(), [])
    warm_run(own)
    own.stop()


@kit.test(timeout=60)
def X8_killing_a_zygote():
    own = service.Service("--embers", "2")
    watch = killed(own, lambda: zygotes(stems(own)[0])[0].pid)
    # Those that wait go when the next run finds that their zygote is gone.
    warm_run(own)
    kit.equal(watch.survivors(), [])
    own.stop()


# Programs that end badly, warm and cold

MARKED = "os.execv('/bin/sleep', ['sleep', '1000.MARK'])"
HOSTILE = {
    "daemon that holds the output": (f"if os.fork() == 0: os.setsid(); {MARKED}\nprint('parent')", ()),
    "daemon of a daemon": (f"if os.fork() == 0:\n if os.fork() == 0: os.setsid(); {MARKED}\n os._exit(0)\nos.wait(); print('parent')", ()),
    "daemon that nobody may look at": (
        "import ctypes\nif os.fork() == 0: ctypes.CDLL(None).prctl(4, 0); time.sleep(1000)\nprint('parent')", ()),
    "closed output": ("os.close(1); os.close(2); os._exit(3)", ()),
    "all descriptors closed": ("os.closerange(0, 4096); time.sleep(0.1); os._exit(4)", ()),
    "kills everything": (f"if os.fork() == 0: {MARKED}\nos.kill(-1, 9); print('alive')", ()),
    "kills its group": (f"if os.fork() == 0: {MARKED}\nos.kill(0, 9)", ()),
    "ends while a child writes": ("if os.fork() == 0:\n while True: os.write(2, b'x' * 100); time.sleep(0.01)\nprint('end')", ()),
    "fills /tmp": ("f = open('/tmp/x', 'wb')\nwhile True: f.write(bytes(1 << 20))", ("--memory", "64m")),
    "fills /dev/shm": ("f = open('/dev/shm/x', 'wb')\nwhile True: f.write(bytes(1 << 20))", ("--memory", "64m")),
    "too much memory": ("kept = bytearray(b'x') * (1 << 30)", ("--memory", "64m")),
    # The parent goes on: who prints or ends first, it or the supervisor, is chance.
    "too much memory in a child": ("if os.fork() == 0: kept = bytearray(b'x') * (1 << 30)\nos.wait()\ntime.sleep(60)", ("--memory", "64m")),
    "too long": ("while True: pass", ("--timeout", "0.5")),
    "too long asleep": ("signal.pause()", ("--timeout", "0.5")),
    "too long, deaf": ("[signal.signal(n, signal.SIG_IGN) for n in (1, 2, 3, 15)]\nwhile True: pass", ("--timeout", "0.5")),
    "too much CPU time": ("while True: pass", ("--cpu-time", "1", "--timeout", "20")),
    "too much output": ("while True: os.write(1, b'x' * 65536)", ()),
    "too much output of a daemon": ("if os.fork() == 0:\n while True: os.write(1, b'x' * 65536)\nos.wait()", ()),
    "stops itself": ("os.kill(os.getpid(), signal.SIGSTOP)", ("--timeout", "0.5")),
    "signal": ("os.kill(os.getpid(), signal.SIGTERM)", ()),
    "invalid memory": ("import ctypes; ctypes.string_at(0)", ()),
    "abort": ("os.abort()", ()),
    "exit status": ("sys.exit(255)", ()),
    "exception": ("raise ValueError('no')", ()),
    "interrupt": ("os.kill(os.getpid(), signal.SIGINT); time.sleep(5)", ()),
    "no more processes": (
        "try:\n while True:\n  if os.fork() == 0: signal.pause()\nexcept OSError as e: print(e.errno)", ("--pids", "12")),
    "first thread ends": (
        "import ctypes, threading\nthreading.Thread(target=lambda: (time.sleep(0.2), os.write(1, b'last'), os._exit(5))).start()\n"
        "ctypes.CDLL(None).pthread_exit(None)", ()),
}
HOSTILE_BASH = {
    "daemon that holds the output": ("setsid sleep 1000.MARK & echo parent", ()),
    "closed output": ("exec 1>&- 2>&-; exit 3", ()),
    "kills everything": ("sleep 1000.MARK & kill -9 -1; echo alive", ()),
    "kills itself": ("kill -9 $$", ()),
    "stops itself": ("kill -STOP $$", ("--timeout", "0.5")),
    "is another program": ("exec sleep 1000.MARK", ("--timeout", "0.5")),
    "is no program": ("exec /none", ()),
    "more descriptors": ("ulimit -n 4096 || exit 6", ()),
    "too much output": ("exec yes", ()),
    "too much memory": ("x=$(yes)", ("--memory", "64m")),
    "ends while a child writes": ("while :; do echo x >&2; read -t 0.01 <> <(:); done & echo end", ()),
}


def ended(r):
    found = r.json
    names = ("status", "exit_code", "signal", "timeout", "truncated", "error_message")
    short = "" if found["truncated"] else found["stdout"]
    return (r.code, *(found[name] for name in names), short)


def sleepers(mark):
    words = ["sleep", f"1000.{mark}"]
    return [one.pid for one in census.processes().values() if one.words == words]


def hostile(language, code, options):
    answers = []
    for cold in (True, False):
        mark = str(uuid.uuid4().int)
        r = run(language, code.replace("MARK", mark), *options, cold=cold)
        kit.equal(sleepers(mark), [], "alive after the run")
        kit.true(r.seconds < 8, f"{r.seconds:.1f} s")
        answers.append(ended(r))
    kit.equal(answers[1], answers[0], "warm, and cold")


def register(name, *what):
    kit.test(lambda: hostile(*what), name=name)


for each, (text, given) in HOSTILE.items():
    register("python." + re.sub(r"\W+", "_", each), "python", "import os, signal, sys, time\n" + text, given)
for each, (text, given) in HOSTILE_BASH.items():
    register("bash." + re.sub(r"\W+", "_", each), "bash", text, given)


@kit.test
def nobody_is_left_when_the_next_result_is_there():
    # The next result may not come before the last of the box before is gone, though nobody waits for its end.
    mark = str(uuid.uuid4().int)
    code = "import os, time\n" + "\n".join([f"if os.fork() == 0: os.execv('/bin/sleep', ['sleep', '1000.{mark}'])"] * 4)
    for _ in range(5):
        python(code + "\ntime.sleep(0.05)")
        python("pass")
        kit.equal(sleepers(mark), [])


# The parent of a forked program is the zygote, which is outside its box.
OF_THE_ZYGOTE = """
import ctypes, os
call = ctypes.CDLL(None, use_errno=True).syscall
for flags in (0x8000, 0):  # CLONE_PARENT, and none
    pid = call(56, ctypes.c_long(flags | 17), None, None, None, None)
    if pid == 0:
        os._exit(0)
    print(pid > 0, ctypes.get_errno() if pid < 0 else os.waitpid(pid, 0)[0] == pid)
"""


@kit.test(timeout=60)
def no_child_of_the_zygotes_can_be_made():
    kit.true(os.uname().machine == "x86_64", "the number of the call is that of another machine")
    for cold in (True, False):
        r = python(OF_THE_ZYGOTE, cold=cold)
        kit.equal((r.json["status"], r.json["stdout"]), ("ok", "False 1\nTrue True\n"), f"cold: {cold}")
        kit.true(r.seconds < 5, f"{r.seconds:.1f} s")


# By that name the supervisor knows who holds the memory of a program that has ended.
ENDED = """
import ctypes, os, time
for _ in range({count}):
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(15, b"(ended)")
        os.closerange(0, 64)
        while True:
            pass
time.sleep(0.1)
"""


@kit.test(timeout=90)
def nobody_lives_on_by_the_name_of_who_holds_memory():
    # A name by chance for the box's group is not to be had; the processor is what tells them from the true ones.
    own = service.Service("--embers", "2")
    warm_run(own)
    for count, cpus in ((1, 1), (20, 1), (20, 0.1)):
        limits = {} if kit.mode != "root" else {"cpus": cpus}
        with own.connect() as client:
            _, result = client.request({"language": "python", "code": ENDED.format(count=count), "limits": limits})
        kit.equal((result["status"], result["meta"]["start"]), ("ok", "warm"), repr(result))
        left = lambda: [o for o in census.descendants(own.pid) if o.name == "(ended)"]  # noqa: E731
        kit.eventually(lambda: not left(), f"{count} of {cpus} CPUs: {len(left())} live on", timeout=1)
    own.stop()


kit.main()
