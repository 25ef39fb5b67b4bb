#!/usr/bin/python3
"""Boxes on kernels that lack something: the older calls deny the same, a missing layer is refused by name.

tests/run: args=--as root | --as user
tests/run: timeout=120
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit

# Linux 5.2 to 5.12 brought these.
NEWER = "clone3,close_range,open_tree,fsopen,move_mount,mount_setattr"

CODE = """
import errno, json, os, socket

def attempt(function, *args):
    try:
        function(*args)
        return "done"
    except OSError as error:
        return errno.errorcode[error.errno]

def put(path):
    with open(path, "w") as file:
        file.write("x")

def reach(port):
    with socket.socket() as s:
        s.connect(("127.0.0.1", port))

def flags(path):
    f = os.statvfs(path).f_flag
    return [n for n in ("RDONLY", "NOSUID", "NODEV", "NOEXEC") if f & getattr(os, "ST_" + n)]

own = socket.create_server(("127.0.0.1", 0))
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
listing = os.open("/proc/self/fd", os.O_RDONLY)
print(json.dumps({
    "root": attempt(put, "/x"), "usr": attempt(put, "/usr/x"), "etc": attempt(put, "/etc/passwd"),
    "proc": attempt(put, "/proc/self/oom_score_adj"), "sandbox": attempt(put, "/sandbox/x"),
    "code": attempt(put, "/sandbox/code/x"), "tmp": attempt(put, "/tmp/x"), "null": attempt(put, "/dev/null"),
    "maps": attempt(put, "/proc/self/uid_map"),
    "mounts": sorted({line.split()[4] for line in open("/proc/self/mountinfo")}),
    "flags": {p: flags(p) for p in ("/", "/usr", "/proc", "/dev/null", "/sandbox", "/tmp", "/dev/shm")},
    "masked": os.path.getsize("/proc/kallsyms") == 0 and open("/proc/kallsyms").read() == "",
    "pids": sorted(n for n in os.listdir("/proc") if n.isdigit())[0],
    "fds": sorted(int(n) for n in os.listdir(listing) if int(n) not in (listing, own.fileno())
                  and os.path.lexists("/proc/self/fd/" + n)),
    "interfaces": [n for _, n in socket.if_nameindex()][:1], "own": attempt(reach, own.getsockname()[1]),
    "top": sorted(os.listdir("/")), "ids": [os.getuid(), os.getgid(), os.getgroups()],
    "caps": [status[k] for k in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")], "nnp": status["NoNewPrivs"],
    "host": [attempt(os.stat, p) for p in ("/root", "/home", "/run", "/sys", "/var/lib")],
}))
"""


def enosys(calls, *args, **options):
    """emberbox where these calls do not exist."""
    return kit.command([kit.built("tests/kern/enosys"), "--no", calls, "--", kit.built(), *args], **options)


def layers(result):
    """{layer: text} of what was in force, but for the uid, which is each box's own."""
    found = dict(line.split(": ", 1) for line in result.json["meta"]["isolation"])
    kit.true(found.pop("user-namespace", None), "no user-namespace")
    return found


@kit.test
def without_the_newer_calls_it_denies_the_same():
    new = kit.emberbox("run", "--json", "-l", "python", "-c", CODE)
    old = enosys(NEWER, "run", "--json", "-l", "python", "-c", CODE)
    kit.equal((new.code, new.json["stderr"]), (0, ""))
    kit.equal((old.code, old.json["stderr"]), (0, ""))
    with_new, with_old = json.loads(new.json["stdout"]), json.loads(old.json["stdout"])
    kit.equal(with_old, with_new)
    for key, want in {
        "root": "EROFS",
        "usr": "EROFS",
        "etc": "EROFS",
        "sandbox": "EACCES",
        "code": "done",
        "tmp": "done",
        "null": "done",
        "own": "done",
        "fds": [0, 1, 2],
        "interfaces": ["lo"],
        "masked": True,
        "pids": "1",
        "ids": [1000, 1000, []],
        "caps": ["0000000000000000"] * 5,
        "nnp": "1",
        "host": ["ENOENT"] * 5,
    }.items():
        kit.equal(with_old[key], want, key)
    for path, some in {"/": "RDONLY", "/usr": "RDONLY", "/proc": "RDONLY", "/sandbox": "NODEV", "/tmp": "NODEV"}.items():
        kit.contains(with_old["flags"][path], some, path)
        kit.contains(with_old["flags"][path], "NOSUID", path)
    kit.equal(layers(old), layers(new))


@kit.test
def without_close_range_a_high_descriptor_stays_outside():
    """Above the box's own limit of descriptors, where a loop up to that limit would not look."""
    read, write = os.pipe()
    high = 3000
    os.dup2(read, high)
    os.close(read)
    try:
        code = "import os; print(sorted(map(int, os.listdir('/proc/self/fd')))[:3], os.path.lexists('/proc/self/fd/3000'))"
        for calls in ("close_range", NEWER):
            r = enosys(calls, "run", "-l", "python", "-c", code, pass_fds=(high,))
            kit.equal((r.code, r.text, r.errtext), (0, "[0, 1, 2] False\n", ""))
        # The control: it does reach emberbox.
        r = kit.command(["/bin/sh", "-c", "test -e /proc/self/fd/3000"], pass_fds=(high,))
        kit.equal(r.code, 0)
    finally:
        os.close(high)
        os.close(write)


@kit.test
def without_the_newer_calls_a_project_is_refused():
    """It cannot be had read-only with all that is below it; a run without it would not be what was asked for."""
    project = kit.tmp()
    kit.write(os.path.join(project, "data.txt"), "mine")
    args = ("run", "-l", "python", "--project", project, "-c", "print(open('data.txt').read())")
    r = kit.emberbox(*args)
    kit.equal((r.code, r.text), (0, "mine\n"))
    r = enosys(NEWER, *args)
    kit.equal((r.code, r.text), (125, ""))
    kit.contains(r.errtext, "tree")


def missing(layer, calls):
    r = enosys(calls, "run", "-l", "python", "-c", "print(1)")
    kit.equal((r.code, r.text), (125, ""))
    kit.matches(r.errtext, f"^emberbox: this host cannot enforce {layer}: .*--allow-weaker {layer}\n$")
    r = enosys(calls, "run", "--json", "-l", "python", "-c", "print(1)")
    kit.equal((r.code, r.json["status"], r.json["stdout"]), (125, "error", ""))
    kit.contains(r.json["error_message"], f"this host cannot enforce {layer}: ")
    # Another layer given up does not help.
    other = "seccomp" if layer == "landlock" else "landlock"
    r = enosys(calls, "run", "--allow-weaker", other, "-l", "python", "-c", "print(1)")
    kit.equal((r.code, r.text), (125, ""))


@kit.test
def without_landlock_it_is_refused_by_name():
    missing("landlock", "landlock_create_ruleset")


@kit.test
def without_seccomp_it_is_refused_by_name():
    missing("seccomp", "seccomp")


@kit.test
def landlock_given_up_is_not_claimed():
    code = "open('/sandbox/x', 'w'); print('done')"
    r = enosys("landlock_create_ruleset", "run", "--json", "--allow-weaker", "landlock", "-l", "python", "-c", code)
    # What only Landlock denies is done, so it was not there; the other layers are.
    kit.equal((r.code, r.json["stdout"]), (0, "done\n"))
    with_it = kit.emberbox("run", "--json", "--allow-weaker", "landlock", "-l", "python", "-c", code)
    kit.equal(with_it.code, 1)
    kit.contains(with_it.json["stderr"], "PermissionError")
    want = layers(with_it)
    kit.true(want.pop("landlock", None), "landlock is not listed where it is in force")
    kit.equal(layers(r), want)


@kit.test
def seccomp_given_up_is_not_claimed():
    # A user namespace needs no privilege: only the filter denies it.
    code = """
import ctypes, errno
c = ctypes.CDLL(None, use_errno=True)
print("done" if c.unshare(0x10000000) == 0 else errno.errorcode[ctypes.get_errno()])
"""
    r = enosys("seccomp", "run", "--json", "--allow-weaker", "seccomp", "-l", "python", "-c", code)
    kit.equal((r.code, r.json["stdout"]), (0, "done\n"))
    with_it = kit.emberbox("run", "--json", "--allow-weaker", "seccomp", "-l", "python", "-c", code)
    kit.equal((with_it.code, with_it.json["stdout"]), (0, "EPERM\n"))
    want = layers(with_it)
    kit.true(want.pop("seccomp", None), "seccomp is not listed where it is in force")
    kit.equal(layers(r), want)


kit.main()
