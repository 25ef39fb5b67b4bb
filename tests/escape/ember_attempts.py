"""Runs in a Python box, made ahead or not, by the very process that was forked into it: prints `ATTEMPT ANSWER`, one line each."""

import ctypes
import errno
import os
import resource
import signal
import struct

libc = ctypes.CDLL(None, use_errno=True)
NUMBERS = {
    "x86_64": dict(setns=308, unshare=272, clone=56, clone3=435, ptrace=101, process_vm_readv=310, pidfd_open=434,
                   pidfd_getfd=438, landlock=446, mount=165, umount2=166, chroot=161, pivot_root=155, open_tree=428,
                   move_mount=429, mount_setattr=442, capset=126, setgroups=116, setresuid=117, seccomp=317,
                   kcmp=312, process_madvise=440, bpf=321, perf_event_open=298, userfaultfd=323, keyctl=250),
    "aarch64": dict(setns=268, unshare=97, clone=220, clone3=435, ptrace=117, process_vm_readv=270, pidfd_open=434,
                    pidfd_getfd=438, landlock=446, mount=40, umount2=39, chroot=51, pivot_root=41, open_tree=428,
                    move_mount=429, mount_setattr=442, capset=91, setgroups=159, setresuid=147, seccomp=277,
                    kcmp=272, process_madvise=440, bpf=280, perf_event_open=241, userfaultfd=282, keyctl=219),
}[os.uname().machine]
NAMESPACES = dict(time=0x80, mnt=0x20000, cgroup=0x2000000, uts=0x4000000, ipc=0x8000000, user=0x10000000,
                  pid=0x20000000, net=0x40000000)


def say(name, answer):
    print(name, answer, flush=True)


def call(name, *args):
    """The error's name, or OK."""
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    if libc.syscall(ctypes.c_long(NUMBERS[name]), *words) >= 0:
        return "OK"
    return errno.errorcode[ctypes.get_errno()]


def attempt(name, function, *args):
    try:
        function(*args)
        say(name, "OK")
    except OSError as error:
        say(name, errno.errorcode[error.errno])


def reads_link(path):
    try:
        return bool(os.readlink(path))
    except OSError:
        return False


def gate():
    """The two calls that a zygote's filter lets through, for descriptors that cannot be open."""
    flags = [0, *NAMESPACES.values(), 0x7E020000]
    say("setns-gate", {call("setns", fd, f) for fd in range(1024, 1040) for f in flags})
    # The kernel takes an int: what is above it must not matter, and the filter sees it all.
    say("setns-high-bits", {call("setns", fd | high << 32, 0) for fd in (1024, 1039) for high in (1, 0x7FFFFFFF)})
    say("landlock-gate", {call("landlock", fd, f) for fd in range(1024, 1040) for f in (0, 1)})
    say("setns-beside", {call("setns", fd, f) for fd in (-1, 0, 3, 1023, 1040, 2048, 4096, 1024 + 65536) for f in flags})
    say("landlock-beside", {call("landlock", fd, 0) for fd in (-1, 0, 3, 1023, 2047, 2064, 4096)})
    for name in sorted(os.listdir("/proc/self/ns")):
        fd = os.open(f"/proc/self/ns/{name}", os.O_RDONLY)
        say(f"setns-own-{name}", call("setns", fd, 0))
        # NS_GET_USERNS and NS_GET_PARENT: ways up from here.
        for number in (0xB701, 0xB702):
            answer = libc.ioctl(fd, ctypes.c_ulong(number), 0)
            say(f"ioctl-{number:x}-{name}", "OK" if answer >= 0 else errno.errorcode[ctypes.get_errno()])
        os.close(fd)


def descriptors():
    say("descriptors", [fd for fd in range(8192) if libc.fcntl(fd, 1, 0) >= 0])
    answers = set()
    for fd in range(1024, 4200):
        answers.add(errno.errorcode[ctypes.get_errno()] if libc.dup2(1, fd) < 0 else f"OK {fd}")
    say("dup2-above", answers)
    say("dupfd-above", "OK" if libc.fcntl(1, 0, 2048) >= 0 else errno.errorcode[ctypes.get_errno()])
    most = resource.getrlimit(resource.RLIMIT_NOFILE)
    say("nofile", most[0] == most[1] and most[1] <= 1024)
    for name in ("NOFILE", "NPROC", "CORE", "MEMLOCK", "FSIZE", "SIGPENDING", "MSGQUEUE", "RTPRIO", "NICE"):
        kind = getattr(resource, f"RLIMIT_{name}")
        try:
            resource.setrlimit(kind, (resource.getrlimit(kind)[0], 1 << 20 << 20))
            say(f"raise-{name}", "OK")
        except ValueError:  # what Python makes of EPERM
            say(f"raise-{name}", "EPERM")
    pair = (ctypes.c_uint64 * 2)(4096, 4096)
    for pid in (0, 1):
        answer = libc.prlimit(pid, resource.RLIMIT_NOFILE, pair, None)
        say(f"prlimit-{pid}", "OK" if answer >= 0 else errno.errorcode[ctypes.get_errno()])


def namespaces():
    for name, flag in NAMESPACES.items():
        say(f"unshare-{name}", call("unshare", flag))
        if name == "time":  # to clone that bit is a signal's
            continue
        answer = libc.syscall(ctypes.c_long(NUMBERS["clone"]), ctypes.c_long(flag | signal.SIGCHLD), 0, 0, 0, 0)
        if answer == 0:
            os._exit(0)
        say(f"clone-{name}", "OK" if answer > 0 else errno.errorcode[ctypes.get_errno()])
    say("clone3", call("clone3", ctypes.create_string_buffer(88), 88))


def init():
    for name in ("environ", "mem", "maps", "auxv", "stack", "syscall", "io", "pagemap", "map_files", "fd", "fdinfo/0"):
        path = f"/proc/1/{name}"
        try:
            if os.path.isdir(path):
                os.listdir(path)
            else:
                with open(path, "rb") as file:
                    file.read(16)
            say(f"init-{name}", "OK")
        except OSError as error:
            # EACCES or EPERM, by which layer is asked first.
            say(f"init-{name}", "denied" if error.errno in (errno.EACCES, errno.EPERM) else errno.errorcode[error.errno])
    links = [f"/proc/1/fd/{number}" for number in range(64)]
    say("init-fds", [path for path in links if os.path.exists(path) or reads_link(path)])
    for name in ("root", "cwd", "exe", "ns/pid", "ns/user", "ns/mnt", "ns/net"):
        try:
            os.readlink(f"/proc/1/{name}")
            say(f"init-{name}", "OK")
        except OSError as error:
            say(f"init-{name}", "denied" if error.errno in (errno.EACCES, errno.EPERM) else errno.errorcode[error.errno])
    say("ptrace-init", call("ptrace", 0x4206, 1, 0, 0))
    buffer = ctypes.create_string_buffer(16)
    vector = struct.pack("PN", ctypes.addressof(buffer), 16)
    say("read-init", call("process_vm_readv", 1, vector, 1, vector, 1, 0))
    fd = libc.syscall(ctypes.c_long(NUMBERS["pidfd_open"]), 1, 0)
    say("fd-of-init", call("pidfd_getfd", fd, 0, 0) if fd >= 0 else "no pidfd")
    say("setns-init", call("setns", fd, NAMESPACES["mnt"]) if fd >= 0 else "no pidfd")
    say("kcmp", call("kcmp", os.getpid(), 1, 0, 0, 0))
    if fd >= 0:
        os.close(fd)


def files():
    for path in ("/opt/emberbox/drivers/libember.so", "/opt/emberbox/drivers/ember.py", "/usr/bin/python3", "/etc/passwd"):
        if not path.startswith("/opt") or os.path.exists(path):
            attempt(f"write {path}", os.open, path, os.O_WRONLY)
            attempt(f"chmod {path}", os.chmod, path, 0o777)
            attempt(f"unlink {path}", os.unlink, path)
            attempt(f"utime {path}", os.utime, path)
            attempt(f"xattr {path}", os.setxattr, path, "user.x", b"x")
            attempt(f"link {path}", os.link, path, "/tmp/link")
    for path in ("/opt/x", "/opt/emberbox/x", "/x", "/dev/x", "/etc/x", "/proc/x", "/var/x"):
        if os.path.isdir(os.path.dirname(path)):
            attempt(f"create {path}", os.open, path, os.O_CREAT | os.O_WRONLY)
    attempt("ns_last_pid", os.open, "/proc/sys/kernel/ns_last_pid", os.O_WRONLY)
    attempt("oom_score_adj", lambda: open("/proc/self/oom_score_adj", "w").write("-1000\n"))
    attempt("uid_map", lambda: open("/proc/self/uid_map", "w").write("0 0 1\n"))
    attempt("setgroups-file", lambda: open("/proc/self/setgroups", "w").write("allow\n"))
    say("cgroup", sorted(os.listdir("/sys")) if os.path.isdir("/sys") else "no /sys")


def privileges():
    # Below /proc and /tmp lie others.
    for path in (b"/proc", b"/tmp", b"/sandbox", b"/"):
        say(f"umount {path.decode()}", {call("umount2", path, flag) for flag in (0, 2, 8)})
    say("mount", call("mount", b"none", b"/tmp", b"tmpfs", 0, 0))
    say("remount", call("mount", b"none", b"/", b"none", 0x20, 0))
    say("chroot", call("chroot", b"/tmp"))
    say("pivot_root", call("pivot_root", b"/tmp", b"/tmp"))
    say("open_tree", call("open_tree", -100, b"/", 1))
    say("move_mount", call("move_mount", -100, b"/tmp", -100, b"/sandbox", 0))
    say("mount_setattr", call("mount_setattr", -100, b"/", 0, bytes(32), 32))
    say("setresuid", {call("setresuid", uid, uid, uid) for uid in (0, 1, 999, 65534)})
    say("setgroups", call("setgroups", 1, bytes(4)))
    say("capset", call("capset", struct.pack("Ii", 0x20080522, 0), struct.pack("6I", *[0xFFFFFFFF] * 6)))
    say("seccomp", call("seccomp", 1, 0, bytes(16)))
    say("others", [call(name, 0, 0, 0, 0, 0) for name in ("bpf", "perf_event_open", "userfaultfd", "keyctl")])
    with open("/proc/self/status", encoding="ascii") as file:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Groups", "Uid", "Gid",
                 "SigBlk", "SigIgn", "SigQ", "Threads", "TracerPid", "Umask"):
        say(f"status-{name}", repr(status[name]))
    say("dumpable", libc.prctl(3, 0, 0, 0, 0))
    say("keep-caps", libc.prctl(7, 0, 0, 0, 0))
    say("securebits", libc.prctl(27, 0, 0, 0, 0))
    say("place", (os.getpid(), os.getpgid(0), os.getsid(0), os.getcwd(), os.nice(0), os.sched_getscheduler(0)))


def memory():
    """Memory that forks of one zygote would share is memory to talk through."""
    with open("/proc/self/maps", encoding="utf-8") as file:
        say("shared-writable", [line.split()[5:] for line in file if line.split()[1][1::2] == "ws"])
    say("shm", sorted(os.listdir("/dev/shm")))


def signals():
    child = os.fork()
    if child == 0:
        signal.pause()
        os._exit(1)
    try:
        os.kill(-1, signal.SIGKILL)
    except PermissionError:
        pass
    say("kill-all", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP, signal.SIGCHLD):
        try:
            os.kill(1, number)
        except PermissionError:
            pass
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.kill(0, signal.SIGTERM)
    say("alive", sorted(int(name) for name in os.listdir("/proc") if name.isdigit()))


gate()
descriptors()
namespaces()
init()
files()
privileges()
memory()
signals()
