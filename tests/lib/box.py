"""What the escape tests share: the probe in a box, its answers, and what the host sees.

The probe (tests/probe) tries things and prints `ATTEMPT ANSWER`, one line each;
tests/probe/expect.def says what each answer has to be.  Every box is a seccomp
filter, so attempts that need nothing special share one box a section: holds("F1")
runs all of F's attempts once and looks at those of F1.
"""

import glob
import json
import os
import re
import select
import shlex
import subprocess
import uuid

import kit

PLACE = "/sandbox/data/probe"

_sections = {}  # (letter, language) -> the Run of the one box of that section
_expected = []  # (id, attempt, answer)


def probe():
    """The probe on the host, where any user may read it."""
    for name in ("src/probe", "probe"):
        if os.path.exists(os.path.join(kit.BUILD, name)):
            return kit.built(name)
    kit.fail("the probe is not built")


def arguments(code, *options):
    """Arguments of emberbox for a Bash box that holds the probe."""
    return ["run", "--cold", "-l", "bash", "--file", f"{probe()}:{PLACE}", *options, "-c", code]


def script(*attempts):
    return "exec " + shlex.join([PLACE, *attempts])


def answers(text):
    """{attempt: [answer…]} of what the probe printed."""
    found = {}
    for line in text.splitlines():
        attempt, _, answer = line.partition(" ")
        found.setdefault(attempt, []).append(answer)
    return found


class Run:
    """A finished box: the result object, the process, and the probe's answers."""

    def __init__(self, process):
        self.process = process
        self.json = process.json
        self.answers = answers(self.json["stdout"] or "")

    def __getitem__(self, attempt):
        if attempt not in self.answers:
            kit.fail(f"{attempt} has no answer: {self.process!r}")
        return self.answers[attempt][-1]


def run(*attempts, options=(), code=None, stdin=None, env=None, timeout=30, cwd=None):
    """Runs the probe (or code that uses it) in a box; a Run."""
    args = arguments(code or script(*attempts), "--json", "--max-output", "1m", *options)
    return Run(kit.emberbox(*args, stdin=stdin, env=env, timeout=timeout, cwd=cwd))


def run_below_python(*attempts):
    """Runs the probe as a child of the process that runs a Python program; a Run."""
    code = f"import subprocess, sys; sys.exit(subprocess.run({[PLACE, *attempts]!r}).returncode)"
    args = ["run", "--cold", "-l", "python", "--file", f"{probe()}:{PLACE}", "--json", "--max-output", "1m", "-c", code]
    return Run(kit.emberbox(*args))


def expected(letter):
    """[(id, attempt, answer)…] of expect.def with this letter."""
    if not _expected:
        text = subprocess.run([probe(), "--expect"], stdout=subprocess.PIPE, check=True, timeout=10).stdout.decode()
        _expected.extend(line.split("\t") for line in text.splitlines())
    found = [line for line in _expected if line[0][0] == letter]
    kit.true(found, f"expect.def has no section {letter}")
    return found


def section(letter, language="bash"):
    """All attempts of expect.def with this letter, in one box, once for the whole test program."""
    if (letter, language) not in _sections:
        attempts = list(dict.fromkeys(attempt for _, attempt, _ in expected(letter)))
        # Each attempt is a process; none of them needs more than 20 s.
        result = run(*attempts, "env") if language == "bash" else run_below_python(*attempts, "env")
        kit.equal((result.json["status"], result.json["stderr"]), ("ok", ""), "the box of the section")
        _sections[letter, language] = result
    return _sections[letter, language]


def holds(name):
    """Every attempt at this sentence is answered exactly as expect.def says, controls included."""
    result = section(name[0])
    wanted = [(attempt, answer) for identity, attempt, answer in _expected if identity == name]
    kit.true(wanted, f"expect.def has no attempt for {name}")
    _compare(result, wanted)


def holds_in(letter, language):
    """The same of a whole section, tried from a box of another language."""
    _compare(section(letter, language), [(attempt, answer) for _, attempt, answer in expected(letter)])


def _compare(result, wanted):
    wrong = [f"{a}: {result[a]}, want {want}" for a, want in wanted if result[a] != want]
    kit.true(not wrong, "; ".join(wrong))


# Attempts of an interpreter itself (tests/escape/ember_attempts.py), in a box and in a cold one as a control.

# What the gate of a zygote's filter answers, where the filter of a cold box does: nothing can be behind it.
GATE = {"setns-gate": "{'EBADF'}", "setns-high-bits": "{'EBADF'}", "landlock-gate": "{'EBADF'}"}


def attempts_code():
    with open(os.path.join(kit.REPO, "tests", "escape", "ember_attempts.py"), encoding="utf-8") as file:
        return file.read()


def attempts(result):
    """{attempt: answer} of what that printed; the answer is the last word, or a list, set or tuple."""
    kit.equal((result["status"], result["stderr"]), ("ok", ""))
    return dict(re.fullmatch(r"(\S+(?: /\S*)?) (.+)", line).groups() for line in result["stdout"].splitlines())


def same_attempts(found, cold, warm, **differ):
    """The answers are those of the cold box, but for those given, and what a driver in the box makes of it."""
    # The driver is a file of the box, which a run of code has not: as read-only as the rest.
    found = dict(found)
    own = {name: found.pop(name) for name in sorted(set(found) - set(cold))}
    kit.true(own and all(" /opt/" in name for name in own), own)
    kit.true(set(own.values()) <= {"EACCES", "EROFS", "EXDEV"}, own)
    # A cold run has our library in its box, which reports what a program has not written yet; a cold session has not.
    library = {name for name in set(cold) - set(found) if name.endswith(" /opt/emberbox/drivers/libember.so")}
    kit.true({cold[name] for name in library} <= {"EACCES", "EROFS", "EXDEV"}, {name: cold[name] for name in library})
    kit.equal(sorted(found), sorted(set(cold) - library))
    wanted = {**cold, **(GATE if warm else {}), **differ}
    # The files of the root are nobody's in the box, so that their mode is looked at first.
    for name in [name for name in found if name.startswith("write ")]:
        kit.true(found[name] in ("EACCES", "EROFS"), f"{name}: {found[name]}")
        wanted[name] = found[name]
    if warm and kit.mode != "root":
        # Who is root where init comes from is this very uid: the numbers can be listed. No link of them can be read.
        wanted["init-fd"] = "OK"
    wrong = [f"{name}: {found[name]}, cold {wanted[name]}" for name in found if found[name] != wanted[name]]
    kit.true(not wrong, "; ".join(wrong))
    # The controls: these are what they are because they are looked at.
    kit.equal((found["dup2-above"], found["nofile"], found["shared-writable"]), ("{'EBADF'}", "True", "[]"))
    kit.equal((found["status-CapEff"], found["status-Seccomp"]), ("'0000000000000000'", "'2'"))
    kit.equal((found["kill-all"], found["alive"]), ("-9", "[1, 2]"))


def isolation(result):
    """{layer: text} of meta.isolation."""
    return dict(line.split(": ", 1) for line in result.json["meta"]["isolation"])


def accounted(result):
    """Whether the limits are the supervisor's, for want of a control group."""
    layers = isolation(result)
    kit.true(("cgroup" in layers) != ("accounting" in layers), f"either cgroup or accounting: {layers}")
    return "accounting" in layers


class Held:
    """A box that goes on until it is let go: its program reads standard input to the end."""

    def __init__(self, code, *options, **process):
        args = arguments(code, *options)
        self.process = kit.start([kit.built(), *args], stdin=subprocess.PIPE, **process)
        self._rest = b""

    def line(self, timeout=15):
        """The next line of output, without its newline."""
        while b"\n" not in self._rest:
            if not select.select([self.process.stdout], [], [], timeout)[0]:
                kit.fail(f"no line within {timeout} s")
            data = os.read(self.process.stdout.fileno(), 65536)
            if not data:
                kit.fail(f"ended without a line: {kit.finish(self.process)!r}")
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode()

    def end(self, timeout=15):
        """Lets it go and collects it; out has what line() did not return."""
        result = kit.finish(self.process, timeout=timeout)
        result.out = self._rest + result.out
        return result


# The host's side


def marked(mark):
    """Host pids whose command line has this mark, those of emberbox itself left out."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if len(words) > 1 and words[1] == f"linger={mark}".encode():
            found.append(int(path.split("/")[2]))
    return found


def gone(pid, timeout=3):
    """Whether the process ends within the time; no polling."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([fd], [], [], timeout)[0])
    finally:
        os.close(fd)


def _mounts():
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
        return sorted(line.split()[4] for line in file)


class Trace:
    """Runs whose traces on the host can be told from everybody else's, so that it may be checked that there are none."""

    def __init__(self):
        self.mark = uuid.uuid4().hex
        self._tmp = kit.tmp()
        self._mounts = _mounts()
        self._pids = []  # of emberbox itself, which names control groups after its pid

    def run(self, code, *options, timeout=30):
        args = arguments(code, "--json", "--max-output", "1m", "--env", f"MARK={self.mark}", *options)
        process = kit.start([kit.built(), *args], env={"TMPDIR": self._tmp})
        self._pids.append(process.pid)
        return Run(kit.finish(process, timeout=timeout))

    def processes(self):
        """Host pids of processes in the boxes."""
        found = []
        for path in glob.glob("/proc/[0-9]*/environ"):
            try:
                with open(path, "rb") as file:
                    words = file.read().split(b"\0")
            except OSError:
                continue
            if f"MARK={self.mark}".encode() in words:
                found.append(int(path.split("/")[2]))
        return found

    def check(self):
        """Nothing is left: no process, control group, mount, temporary file."""
        groups = []
        # A service's are named after it, and some wait: test_warm.py counts those.
        for root, names, _ in os.walk("/sys/fs/cgroup"):
            groups += [os.path.join(root, n) for n in names if re.match(rf"box-({'|'.join(map(str, self._pids))})-", n)]
        kit.equal(groups, [], "control groups")
        kit.equal(self.processes(), [], "processes")
        kit.equal(os.listdir(self._tmp), [], "temporary files")
        kit.equal(_mounts(), self._mounts, "mounts")
