#!/usr/bin/python3
# tests/run: args=--as root | --as user
# tests/run: timeout=120
"""Every step of the launch fails once: it is said which, the program never runs, and nothing is left on the host.

The sanitizer build has fault injection: EMBERBOX_FAULT=OP makes the first operation
of that name fail with EIO, OP:2 the third; launch-STEP is a step of the supervisor's
own, before, around and after the box.  The release must not listen to it.
"""

import ctypes
import functools
import glob
import os
import re
import subprocess
import sys

RELEASE = os.environ.get("EB_BUILD") or "build"
FAULTY = os.environ.get("EB_BUILD_ASAN")
if not FAULTY:
    print("skip fault: there is no build with fault injection (EB_BUILD_ASAN)")
    sys.exit(0)
os.environ["EB_BUILD"] = FAULTY

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit

PR_SET_CHILD_SUBREAPER = 36
LOCKS = "/run/emberbox/uids"
SLOTS = 65536  # host uids of boxes; the search for a free one starts at the pid

# In the order of the plan. A new operation fails every_operation_is_tested until it is here.
OPERATIONS = (
    "join netns mapped become leash cgroupns hostname loopback isolate tree root dir link text bind device pts mqueue terminal proc mask "
    "work cores place attach overlay copy freeze pivot seal rlimit handles no-new-privs landlock caps seccomp prove exec"
).split()
# Others than the first: the second filter of an accounted box, a bind among mounts that are there, the code itself.
LATER = ["bind:1", "text:7", "place:2", "dir:4", "rlimit:8", "prove:3", "prove:6"]

# The supervisor's own steps, and what has to be said. Before the box has its program:
BEFORE = {
    "channels": "cannot make the box's pipes",
    "files": "cannot open the files",
    "uid": "step uid of the launch failed",
    "trees": "step trees of the launch failed",
    "group": "cannot name a control group",
    "clone": "cannot make the box's first process",
    "maps": "step maps of the launch failed",
    "go": "cannot let the box go",
    "account": "step account of the launch failed",
}
# And after, when it may have run already.
AFTER = {
    "count": "cannot count what the box uses",
    "output": "cannot keep the program's output",
    "collect": "step collect of the launch failed",
    "remove": "step remove of the launch failed",
}
# Of a language that is compiled, before its program has a box.
BUILDING = {
    "prepare": "step prepare of the launch failed",
    "keep": "step keep of the launch failed",
}
GROUPED = ("group", "remove")  # only where boxes have a control group
ACCOUNTED = ("account", "count")  # only where they have none: root always has one

# Bash with something to bind, so that every operation is in its plan; and a language that is compiled.
OWN = {
    "bash": """display: Bash
file: main.sh
tools: {bash: [/bin/bash]}
version: ["{bash}", --version]
install: none
binds: [/etc/debian_version]
run: ["{bash}", "{entry}", "{args}"]
""",
    "made": """display: Made
file: main.sh
tools: {sh: [/bin/sh]}
version: ["{sh}", -c, "echo 1"]
install: none
prepare: {run: ["{sh}", -c, "echo ready >/sandbox/output/ready"]}
compile: {run: ["{sh}", -c, "cp main.sh /sandbox/output/made"], sources: [], artifact: made}
run: ["{sh}", "{artifact}"]
""",
}

_plan = []
_home = []


def home():
    """EMBERBOX_HOME with these languages, one for the whole program."""
    if not _home:
        _home.append(os.path.join(kit.home(), "emberbox"))
        for name, text in OWN.items():
            kit.write(f"{_home[0]}/runtimes/{name}/runtime.yaml", text)
        kit._chown(_home[0], kit.mode)
    return {"EMBERBOX_HOME": _home[0]}


def request(code="echo ran; echo made >/sandbox/output/made"):
    """Arguments of a run that has every operation, and the directory its files are in."""
    place = kit.tmp()
    project = os.path.join(place, "project")
    kit.write(f"{project}/kept.txt", "kept")
    kit._chown(project, kit.mode)
    data = kit.write(f"{place}/data.txt", "data")
    args = ["run", "--cold", "--read-only", "-t", "-l", "bash", "--project", project, "--file", f"{data}:/sandbox/data/data.txt"]
    return [*args, "--output", f"{place}/output", "-c", code], place


def plan():
    """The lines of --explain, once."""
    if not _plan:
        args, place = request()
        r = kit.emberbox(*args, "--explain", env=home())
        kit.equal((r.code, r.errtext), (0, ""))
        _plan.extend(line.replace(place, "{place}") for line in r.text.splitlines())
    return _plan


def sentence(fault, place):
    """What has to be said, made from the plan."""
    name, _, nth = fault.partition(":")
    found = [(i, line) for i, line in enumerate(plan()) if line.split()[0] == name]
    if len(found) <= int(nth or 0):
        kit.true(kit.mode != "root", f"root's plan has no {fault}")
        kit.skip("no delegated cgroup" if name == "join" else f"the plan of an ordinary user has no {fault}")
    index, line = found[int(nth or 0)]
    if name == "prove":
        return f'step {index} of the launch, prove: the isolation "{line.split()[1]}" does not hold on this host'
    words = re.sub(r" +", " ", line.replace("{place}", place), count=1)  # without --explain's column
    return f"step {index} of the launch failed, {words[:200]}: Input/output error"


# What a box can leave behind


def groups(pid):
    """Control groups of the boxes that this emberbox made."""
    return [root for root, _, _ in os.walk("/sys/fs/cgroup") if os.path.basename(root).startswith(f"box-{pid}-")]


def uid_is_taken(pid):
    """Whether the lock of the host uid that this emberbox takes is held."""
    if not os.path.exists(LOCKS):
        return False
    inode = os.stat(LOCKS).st_ino
    with open("/proc/locks", encoding="ascii") as file:
        rows = [line.split() for line in file]
    return any(r[1] == "OFDLCK" and r[5].endswith(f":{inode}") and r[6] == str(pid % SLOTS) for r in rows)


def mounts():
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
        return sorted(line.split()[4] for line in file)


def temporary():
    """Files of emberbox where programs put such; those of tests that run beside this one are theirs."""
    places = ("/tmp", "/dev/shm", "/var/tmp", "/run/emberbox")
    names = [os.path.join(p, n) for p in places if os.path.isdir(p) for n in os.listdir(p)]
    tests = "(?!(test|uml|client|journal|order|role|store|netns|case)-)"
    return {n for n in names if re.search(f"/run/emberbox/|/(emberbox|box)-{tests}", n)} - {LOCKS}


def tree(path):
    return sorted(os.path.join(root, name) for root, dirs, files in os.walk(path) for name in dirs + files)


def run(args, env, place, check_groups=True):
    """Runs emberbox and checks that nothing of it is left; its result, and the files it made below `place`."""
    before = mounts(), temporary(), tree(place)
    others = set(kit.descendants(os.getpid()))  # of a test that failed
    process = kit.start([kit.built(), *args], env={**home(), **env})
    r = kit.finish(process)
    # Orphans come to us: none may be there, not even a dead one.
    kit.equal(set(kit.descendants(os.getpid())) - others, set(), "processes")
    kit.equal(mounts(), before[0], "mounts")
    kit.equal(temporary() - before[1], set(), "temporary files")
    if check_groups:
        kit.equal(groups(process.pid), [], "control groups")
    # No process of it lives, so a lock that is held is that of a neighbour, which chose the same number.
    kit.eventually(lambda: not uid_is_taken(process.pid), "the lock of the uid")
    r.pid = process.pid
    return r, [path for path in tree(place) if path not in before[2]]


@kit.test
def what_is_looked_for_is_seen_while_a_box_lives():
    # setpriv becomes emberbox in place, so the pid is its own in both modes.
    process = kit.start([kit.built(), "run", "--cold", "-l", "bash", "-c", "echo ready; read"], stdin=subprocess.PIPE)
    kit.equal(process.stdout.readline(), b"ready\n")
    kit.true(len(kit.descendants(process.pid)) >= 2, "init and the program are not seen")
    kit.equal(bool(groups(process.pid)), "join" in plan(), "control groups")
    kit.equal(uid_is_taken(process.pid), kit.mode == "root", "the lock of the uid")
    r = kit.finish(process, b"\n")
    kit.equal((r.code, r.errtext), (0, ""))
    kit.equal((groups(process.pid), uid_is_taken(process.pid)), ([], False))


def fails(fault):
    args, place = request()
    said = sentence(fault, place)
    r, made = run([*args, "--json"], {"EMBERBOX_FAULT": fault}, place)
    kit.equal(r.code, 125, r.errtext)
    kit.equal(r.json["error_message"], said)
    fields = ("status", "success", "exit_code", "signal", "stdout", "stderr", "timeout", "execution_time", "files")
    kit.equal([r.json[f] for f in fields], ["error", False, 125, None, "", "", False, 0.0, []])
    kit.equal(r.errtext, "")
    kit.equal(made, [], "files made on the host")


for _fault in OPERATIONS + LATER:
    kit.test(lambda fault=_fault: fails(fault), name="fault_" + _fault.replace("-", "_").replace(":", "_"))


@functools.cache
def is_grouped():
    r = kit.emberbox("run", "--cold", "--json", "-l", "bash", "-c", "true")
    kit.equal(r.code, 0, r.errtext)
    return any(layer.startswith("cgroup: ") for layer in r.json["meta"]["isolation"])


def needs(step):
    """Skips a step that boxes do not have here."""
    grouped = is_grouped()
    if step in GROUPED and not grouped:
        kit.skip("no delegated cgroup")
    if step in ACCOUNTED and grouped:
        kit.skip("no cgroup v1")  # a delegated group: nobody has to count


def fails_before(step):
    needs(step)
    args, place = request()
    r, made = run([*args, "--json"], {"EMBERBOX_FAULT": f"launch-{step}"}, place)
    kit.equal(r.code, 125, r.errtext)
    kit.equal(r.json["error_message"], f"{BEFORE[step]}: Input/output error")
    fields = ("status", "success", "exit_code", "signal", "stdout", "stderr", "timeout", "files")
    told = {f: r.json[f] for f in fields}
    # Who cannot count kills the box when that is clear, and by then the program may have begun.
    if step == "account" and told["stdout"] == "ran\r\n":
        told["stdout"] = ""
    kit.equal(list(told.values()), ["error", False, 125, None, "", "", False, []])
    kit.equal(r.errtext, "")
    kit.equal(made, [], "files made on the host")


for _step in BEFORE:
    _modes = ("user",) if _step in ACCOUNTED else ("root", "user")
    kit.test(lambda step=_step: fails_before(step), name=f"fault_launch_{_step}", modes=_modes)


def fails_after(step, code, signals, stdout, files):
    """The program runs, so its time and what it printed before are told; `files` are in the result and on the host."""
    needs(step)
    args, place = request(code)
    r, made = run([*args, "--json"], {"EMBERBOX_FAULT": f"launch-{step}"}, place, check_groups=step != "remove")
    kit.equal(r.code, 125, r.errtext)
    kit.equal(r.json["error_message"], f"{AFTER[step]}: Input/output error")
    fields = ("status", "success", "exit_code", "stdout", "stderr", "timeout")
    kit.equal([r.json[f] for f in fields], ["error", False, 125, stdout, "", False])
    kit.true(r.json["signal"] in signals, f"signal is {r.json['signal']}")
    kit.equal([f["path"] for f in r.json["files"]], files)
    kit.equal(made, [f"{place}/output"] * bool(files) + [f"{place}/output/{f}" for f in files])
    return r


@kit.test(modes=("user",))
def fault_launch_count():
    fails_after("count", "sleep 20", [None], "", [])


@kit.test
def fault_launch_output():
    # Its output can come before the word that it started.
    fails_after("output", "echo made >/sandbox/output/made; echo ran; sleep 20", [None], "", [])


@kit.test
def fault_launch_collect():
    fails_after("collect", "echo ran; echo made >/sandbox/output/made", [None], "ran\r\n", [])


@kit.test
def fault_launch_remove():
    r = fails_after("remove", "echo ran; echo made >/sandbox/output/made", [None], "ran\r\n", ["made"])
    # The group is left, and told; the next box takes away what nobody owns any more.
    args, place = request()
    kit.equal(run(args, {}, place)[0].code, 0)
    kit.equal(groups(r.pid), [], "control groups after the next run")


@kit.test
def fault_while_building():
    args = ["run", "--cold", "--json", "-l", "made", "-c"]
    for step, said in BUILDING.items():
        r, made = run([*args, f"echo {step}"], {"EMBERBOX_FAULT": f"launch-{step}"}, kit.tmp())
        kit.equal((r.code, r.json["status"], r.json["stdout"], r.json["stderr"]), (125, "error", "", ""))
        kit.equal(r.json["error_message"], f"{said}: Input/output error")
        # What was not kept is made the next time; half of something never is.
        r, made = run([*args, f"echo {step}"], {}, kit.tmp())
        kit.equal((r.code, r.json["stdout"], r.json["meta"]["build"]["cached"]), (0, f"{step}\n", False))


@kit.test
def every_step_is_tested():
    found = set()
    for path in glob.glob(os.path.join(kit.REPO, "src/**/*.c"), recursive=True):
        with open(path, encoding="utf-8") as file:
            found |= set(re.findall(r'\bfault_(?:hit|fail)\("([a-z]+)"', file.read()))
    kit.equal(found, set(BEFORE) | set(AFTER) | set(BUILDING))


@kit.test(modes=("user",))
def fault_in_the_second_filter():
    args, place = request()
    if not any(line.split() == ["seccomp", "accounted"] for line in plan()):
        kit.skip("no cgroup v1")  # a delegated group: one filter is enough
    fails("seccomp:1")


@kit.test
def every_operation_is_tested():
    kit.equal({line.split()[0] for line in plan()} - set(OPERATIONS), set())


@kit.test
def nothing_fails_without_a_fault():
    for fault in "no-such-operation", "launch-no-such-step":
        args, place = request()
        r, made = run([*args, "--json"], {"EMBERBOX_FAULT": fault}, place)
        kit.equal((r.code, r.json["status"], r.json["stdout"], r.json["stderr"]), (0, "ok", "ran\r\n", ""))
        kit.equal(made, [f"{place}/output", f"{place}/output/made"])


@kit.test
def the_sentence_without_json():
    args, place = request()
    r, _ = run(args, {"EMBERBOX_FAULT": "pivot"}, place)
    kit.equal((r.code, r.text, r.errtext), (125, "", f"emberbox: {sentence('pivot', place)}\n"))


@kit.test
def the_release_has_no_faults():
    args, place = request()
    release = os.path.join(kit.tmp(), "emberbox")
    with open(os.path.join(kit.REPO, RELEASE, "emberbox"), "rb") as file:
        kit.write(release, file.read(), 0o755)
    for fault in "pivot", "launch-clone":
        r = kit.command([release, *args], env={**home(), "EMBERBOX_FAULT": fault})
        kit.equal((r.code, r.text, r.errtext), (0, "ran\r\n", ""))


if __name__ == "__main__":
    # So that a process that outlives emberbox is ours to find.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    kit.main()
