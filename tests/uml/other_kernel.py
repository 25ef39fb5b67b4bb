"""Boxes under another kernel: one boot for all cases of a test program, and how what came of them is judged."""
import json
import os
import subprocess
import sys

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
NO_GROUP = {"list=/dev": ["fd full mqueue null ptmx pts random shm stderr stdin stdout tty urandom"]}


def expected(probe):
    """[id, attempt, answer] of each attempt in expect.def."""
    text = subprocess.run([probe, "--expect"], stdout=subprocess.PIPE, check=True, timeout=10).stdout.decode()
    return [line.split("\t") for line in text.splitlines()]


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
             sys.executable, os.path.abspath(sys.argv[0]), "--inside", *programs],
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
