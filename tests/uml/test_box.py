#!/usr/bin/python3
"""Whole boxes on a kernel with a pure v2 tree and no Landlock, by booting one.

tests/run: timeout=240

One boot runs every case (that is this program with --inside, under the other
kernel), then each result is judged here.
"""
import json
import os
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import kit  # noqa: E402

WEAKER = ["--allow-weaker", "landlock"]
USER = ["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups", "--"]

FORKS = """
import os, time
count = 0
try:
    while count < 60:
        if os.fork() == 0:
            time.sleep(20)
            os._exit(0)
        count += 1
    print("never refused")
except BlockingIOError:
    print("refused after", count)
"""

EAT = "x = bytearray(b'x') * (96 << 20); print(len(x))"

# The probe's attempts (tests/probe/expect.def) that one box of the attack makes; all but these.
NOT_TRIED = {
    "walk-sockets": "looks at every file that the box sees, which takes a minute here",
}

# Attempts that Landlock alone answers as expect.def says, and the answers without it.
LANDLOCK_ALONE = {
    "create=/sandbox/x": ["OK"],  # on the box's own tmpfs, under its quota
    "open-write=/usr/bin/bash": ["EROFS"],  # the mount is read-only as well
    "unwritable=/proc/sysrq-trigger": ["OK"],  # it is /dev/null: a mask takes what is written and forgets it
}

# Attempts that this kernel answers in another way for reasons of its own.
OTHER_KERNEL = {
    # No IPv6.
    "tcp=[2606:2800:220:1:248:1893:25c8:1946]:80": ["socket: EAFNOSUPPORT"],
    "udp=[2001:4860:4860::8888]:53": ["socket: EAFNOSUPPORT"],
    "tcp=[fd00:ec2::254]:80": ["socket: EAFNOSUPPORT"],
    "socket=tcp6": ["EAFNOSUPPORT"],
    "loopback=6": ["EAFNOSUPPORT"],
    # The box's own loopback, where nobody listens: that a datagram was refused may be known a moment later.
    "udp=127.0.0.53:53": ["OK", "ECONNREFUSED"],
    # One entry for all calls: 20 of the 32-bit table (getpid) is writev here, and goes through the filter as that.
    "entry=int80": ["EBADF"],
}
EXCEPTIONS = {**LANDLOCK_ALONE, **OTHER_KERNEL}

# Without a group and without Landlock there is no /dev/zero: mapped shared, it is memory that nobody counts.
NO_GROUP = {"list=/dev": ["fd full null random shm stderr stdin stdout tty urandom"]}

# name: (who, code, options)
CASES = {
    "refused": ([], "print(1)", []),
    "plain": ([], "print(1)", WEAKER),
    "memory": ([], EAT, [*WEAKER, "--memory", "64m"]),
    "memory_enough": ([], EAT, [*WEAKER, "--memory", "192m"]),
    "pids": ([], FORKS, [*WEAKER, "--pids", "8"]),
    "cpu_time": ([], "while True: pass", [*WEAKER, "--cpu-time", "1", "--timeout", "20"]),
    "timeout": ([], "import time; time.sleep(60)", [*WEAKER, "--timeout", "1"]),
    "user": (USER, "print(1)", WEAKER),
    "user_memory": (USER, EAT, [*WEAKER, "--memory", "64m"]),
    # Other languages: a prepared tree, a compiler and an artifact; a root of a few files.
    "compiled": ([], "#include <stdio.h>\nint main(void) { puts(\"built\"); return 7; }", [*WEAKER, "-l", "c"]),
    "restricted": ([], "echo a | tr a b; python3", [*WEAKER, "-l", "bash", "--profile", "restricted"]),
    "user_restricted": (USER, "echo a | tr a b; python3", [*WEAKER, "-l", "bash", "--profile", "restricted"]),
}


def expected(probe):
    """[id, attempt, answer] of each attempt in expect.def."""
    text = subprocess.run([probe, "--expect"], stdout=subprocess.PIPE, check=True, timeout=10).stdout.decode()
    return [line.split("\t") for line in text.splitlines()]


def inside(emberbox, probe):
    """Under the other kernel: runs every case and prints what came of it."""
    # Where an ordinary user may run it, whatever the build directory's permissions are.
    emberbox = shutil.copy(emberbox, "/tmp/emberbox")
    attempts = dict.fromkeys(attempt for _, attempt, _ in expected(probe) if attempt not in NOT_TRIED)
    attack = f"import os; os.execv('/sandbox/data/probe', {['probe', *attempts]!r})"
    probe = shutil.copy(probe, "/tmp/probe")
    options = [*WEAKER, "--file", f"{probe}:/sandbox/data/probe", "--max-output", "1m", "--timeout", "50"]
    cases = {**CASES, "attack": ([], attack, options), "user_attack": (USER, attack, options)}
    results = {}
    for name, (who, code, options) in cases.items():
        began = time.monotonic()
        run = subprocess.run([*who, emberbox, "run", "-l", "python", "-c", code, "--json", *options], check=False,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=90)
        results[name] = {"code": run.returncode, "out": run.stdout.decode(errors="replace"),
                         "err": run.stderr.decode(errors="replace"), "seconds": time.monotonic() - began}
    left = [os.path.join(path, name) for path, names, _ in os.walk("/sys/fs/cgroup") for name in names
            if name.startswith("box-")]
    json.dump({"results": results, "left": left, "site": os.path.isdir("/sys/fs/cgroup/emberbox")}, sys.stdout)


_booted = None


def booted():
    """What inside() said, of one boot for all tests."""
    global _booted
    if _booted is None:
        programs = [os.path.join(os.path.realpath(kit.BUILD), name) for name in ("emberbox", "src/probe")]
        for program in programs:
            kit.true(os.path.exists(program), f"{program} is not built")
        run = subprocess.run(
            [os.path.join(HERE, "boot"), "--timeout", "200", "--share", kit.BUILD, "--share", kit.REPO,
             sys.executable, os.path.abspath(__file__), "--inside", *programs],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=210, check=False)
        _booted = (run.returncode, run.stdout, run.stderr)
    code, out, err = _booted
    if code == 77:
        kit.skip("user-mode-linux is not installed")
    kit.true(code == 0, f"the boot ended with {code}: {err[-600:]!r}")
    return json.loads(out)


def result(name, code):
    """The result object of a case, which must have ended with this exit code."""
    got = booted()["results"][name]
    kit.equal(got["code"], code, f"exit code of {got!r}")
    try:
        return json.loads(got["out"])
    except ValueError:
        kit.fail(f"no result object: {got!r}")


# Whichever test comes first waits for the boot.
in_root = kit.test(timeout=220, modes=["root"])


@in_root
def a_missing_landlock_is_refused():
    got = booted()["results"]["refused"]
    kit.equal(got["code"], 125)
    kit.contains((got["out"] + got["err"]).lower(), "landlock")
    kit.equal(result("refused", 125)["status"], "error")


@in_root
def and_works_when_waived():
    got = result("plain", 0)
    kit.equal(got["status"], "ok")
    kit.equal(got["stdout"], "1\n")
    layers = got["meta"]["isolation"]
    kit.true(any(layer.startswith("cgroup: v2") for layer in layers), f"no v2 cgroup in {layers!r}")
    kit.true(not any(layer.startswith("landlock: abi") for layer in layers), f"landlock claimed in {layers!r}")


@in_root
def memory_limit():
    got = result("memory", 137)
    kit.equal(got["status"], "out_of_memory")
    kit.equal(got["error_message"], "Memory limit of 64m exceeded")
    kit.equal(got["stdout"], "")
    kit.true(48 << 20 <= got["memory_used"] <= 64 << 20, f"memory_used {got['memory_used']}")
    got = result("memory_enough", 0)
    kit.equal(got["stdout"], f"{96 << 20}\n")
    kit.true(96 << 20 <= got["memory_used"] <= 192 << 20, f"memory_used {got['memory_used']}")


def attacks_fail(case, exceptions):
    """Every attempt is answered as on a kernel with Landlock, but for those listed, which are answered as listed."""
    got = result(case, 0)
    kit.equal((got["status"], got["stderr"]), ("ok", ""))
    answers = dict(line.partition(" ")[::2] for line in got["stdout"].splitlines())
    wrong = {}
    tried = set()
    for name, attempt, answer in expected(os.path.join(kit.BUILD, "src/probe")):
        if attempt in NOT_TRIED:
            continue
        tried.add(attempt)
        want = exceptions.get(attempt, [answer])
        if answers.get(attempt) not in want:
            wrong[f"{name} {attempt}"] = f"{answers.get(attempt)}, not {' or '.join(want)}"
    kit.equal(wrong, {})
    kit.true(len(tried) > 250, f"only {len(tried)} attempts")
    kit.equal(set(exceptions) - tried, set(), "exceptions that name no attempt")


@in_root
def attacks_fail_without_landlock():
    attacks_fail("attack", EXCEPTIONS)


@in_root
def attacks_fail_without_landlock_and_group():
    attacks_fail("user_attack", {**EXCEPTIONS, **NO_GROUP})


@in_root
def process_limit():
    got = result("pids", 0)
    kit.matches(got["stdout"], r"^refused after [3-7]\n$")


@in_root
def cpu_time_limit():
    got = result("cpu_time", 124)
    kit.equal(got["status"], "timeout")
    kit.near(got["cpu_time"], 1.0, 0.5)


@in_root
def wall_time_limit():
    got = result("timeout", 124)
    kit.equal(got["status"], "timeout")
    kit.equal(got["error_message"], "Code execution timed out after 1s")
    kit.equal(got["meta"]["limit"], "timeout")


@in_root
def user_without_a_group_is_accounted():
    layers = result("user", 0)["meta"]["isolation"]
    kit.true(any(layer.startswith("accounting:") for layer in layers), f"no accounting in {layers!r}")
    got = result("user_memory", 137)
    kit.equal(got["status"], "out_of_memory")
    kit.equal(got["error_message"], "Memory limit of 64m exceeded")


@in_root
def compiled_and_run():
    """A prepared tree, a compiler and its program, each in a box, on a kernel without overlays."""
    got = result("compiled", 7)
    kit.equal((got["status"], got["stdout"], got["stderr"]), ("failed", "built\n", ""))
    kit.equal(got["meta"]["build"]["cached"], False)


@in_root
def a_restricted_shell():
    for case in ("restricted", "user_restricted"):
        got = result(case, 127)
        kit.equal(got["stdout"], "b\n")
        kit.contains(got["stderr"], "python3: command not found")


@in_root
def no_group_is_left():
    kit.true(booted()["site"], "no group was ever made")
    kit.equal(booted()["left"], [])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(*sys.argv[2:])
    else:
        kit.main()
