"""What the Python tests share: registration, the three modes, running emberbox.

A test file is a program:

    import os, sys
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
    import kit

    @kit.test
    def hello():
        r = kit.emberbox("run", "-l", "python", "-c", "print(1)")
        kit.equal(r.code, 0)
        kit.equal(r.text, "1\\n")

    kit.main()

It prints one line a test, `ok NAME[MODE]`, `not ok NAME[MODE]: REASON` or
`skip NAME[MODE]: REASON`, and ends with 1 when one failed; tests/run counts the
lines.  The mode (`--as`) says who calls emberbox:

    root    the caller as it is, uid 0
    user    uid 54321 without groups, an environment of HOME and PATH only
    userns  the same user, made root of a user namespace of its own by `unshare -r`

With --warm every run goes to a service of the test program's own, into a box that was made
ahead (warm.py), and the mode is called `root,warm`; `cold=True` makes one that does not.  With
--node 18 the machine's Node.js is npm's of that version (npm.py), for root only.

Nothing here waits for ever: each test has an alarm, each process its own process
group which is killed when the test ends, and a process that SIGKILL cannot end
(state D) is abandoned after a few seconds rather than waited for.
"""

import argparse
import functools
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(REPO, os.environ.get("EB_BUILD") or "build")
UID = 54321  # nobody's uid on any distribution, above the ordinary ones
PATH = "/usr/bin:/bin"

# Sanitizer settings are the runner's, not the caller's environment under test.
KEPT_ENVIRONMENT = ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS")

mode = "root" if os.geteuid() == 0 else "user"
warm = None  # the module warm, with --warm

_tests = []  # (name, function, seconds, modes, nightly)
_started = []  # processes of the running test
_dirs = []  # temporary directories of the running test
_shared = None  # a directory all modes can read: copies of built files, homes


class Failed(Exception):
    """The running test is wrong; the text is the reason."""


class Skipped(Exception):
    """The running test cannot be done here; the text is the reason."""


class TimedOut(BaseException):
    """Raised by the alarm; not an Exception, so that no test swallows it."""


def test(function=None, *, timeout=30, modes=None, name=None, nightly=None):
    """Register a test; `timeout` in seconds, `modes` those it makes sense in. `nightly` is the reason why only `make test-all`
    runs it: what else proves the same."""

    def register(function):
        _tests.append((name or function.__name__, function, timeout, modes, nightly))
        return function

    return register(function) if function else register


# Assertions


def _short(value, limit=600):
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit // 2]} … {text[-limit // 2:]}"


def fail(message):
    raise Failed(message)


def skip(reason):
    raise Skipped(reason)


def true(condition, message):
    if not condition:
        fail(message)


def equal(got, want, message=""):
    if got != want:
        fail(f"{message + ': ' if message else ''}got {_short(got)}, want {_short(want)}")


def contains(text, part, message=""):
    if part not in text:
        fail(f"{message + ': ' if message else ''}{_short(part)} is not in {_short(text)}")


def matches(text, pattern, message=""):
    if not re.search(pattern, text):
        fail(f"{message + ': ' if message else ''}{_short(text)} does not match {pattern!r}")


def eventually(look, message, timeout=10):
    """What look() says once it says something; what comes about soon is not always there at once."""
    end = time.monotonic() + timeout
    while not (found := look()):
        true(time.monotonic() < end, message)
        time.sleep(0.005)
    return found


def near(got, want, tolerance, message=""):
    if not isinstance(got, (int, float)) or abs(got - want) > tolerance:
        fail(f"{message + ': ' if message else ''}got {got!r}, want {want!r} ± {tolerance!r}")


# Files


def _chown(path, for_mode):
    if os.geteuid() == 0 and for_mode != "root":
        os.chown(path, UID, UID)


def _shared_directory():
    global _shared
    if _shared is None:
        _shared = tempfile.mkdtemp(prefix="emberbox-test-")
        os.chmod(_shared, 0o755)
    return _shared


def tmp(for_mode=None):
    """A fresh directory that belongs to the mode's user, removed after the test."""
    path = tempfile.mkdtemp(prefix="tmp-", dir=_shared_directory())
    os.chmod(path, 0o755)
    _chown(path, for_mode or mode)
    _dirs.append(path)
    return path


def write(path, content, permissions=0o644):
    """Write a file that the mode's user owns, with its missing directories."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
    os.chmod(path, permissions)
    _chown(path, mode)
    return path


def home(for_mode=None):
    """The HOME of an ordinary caller, one for the whole test program."""
    for_mode = for_mode or mode
    path = os.path.join(_shared_directory(), f"home-{for_mode}")
    if not os.path.isdir(path):
        os.mkdir(path, 0o755)
        _chown(path, for_mode)
    return path


@functools.lru_cache(maxsize=None)
def built(name="emberbox"):
    """A built file where any user may run it: the build directory may not be readable to them."""
    source = os.path.join(BUILD, name)
    if not os.path.exists(source):
        fail(f"{source} is not built")
    copy = os.path.join(_shared_directory(), "bin", name)
    os.makedirs(os.path.dirname(copy), mode=0o755, exist_ok=True)
    shutil.copyfile(source, copy)
    os.chmod(copy, 0o755)
    return copy


# Processes


def as_mode(argv, for_mode=None):
    """argv with what makes it run as the mode's user in front."""
    for_mode = for_mode or mode
    argv = [os.fspath(word) for word in argv]
    if for_mode == "root":
        return argv
    if for_mode == "userns":
        argv = ["/usr/bin/unshare", "-r", "--", *argv]
    if os.geteuid() != 0:
        return argv
    become = ["/usr/bin/setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups", "--"]
    return become + argv


uses_service = False  # set by test programs that want the CLI to find one


def environment(extra=None, for_mode=None):
    for_mode = for_mode or mode
    if for_mode == "root":
        # Settings of whoever runs the tests would change what is tested.
        base = {k: v for k, v in os.environ.items() if not k.startswith(("SANDBOX_", "EMBERBOX_", "DOCKER_"))}
    else:
        base = {"HOME": home(for_mode), "PATH": PATH}
        base.update({k: os.environ[k] for k in KEPT_ENVIRONMENT if k in os.environ})
    # Nor may a service that happens to run here.
    if not uses_service:
        base["EMBERBOX_SERVICE"] = "never"
    base.update(extra or {})
    return base


def kill(process):
    """End a process and its group, and stop waiting when the kernel does not let it go."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    except PermissionError:
        process.kill()
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        pass


def start(argv, mode=None, env=None, cwd=None, cold=False, **options):
    """Popen as the mode's user in a session of its own; killed at the end of the test.

    Streams not named in the options are pipes, and stdin /dev/null.
    """
    if warm and not cold:
        argv, env = warm.redirect(argv, env)
    options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("stdout", subprocess.PIPE)
    options.setdefault("stderr", subprocess.PIPE)
    if cwd is None and (mode or globals()["mode"]) != "root":
        cwd = home(mode)  # the caller's own directory may be closed to the user
    process = subprocess.Popen(
        as_mode(argv, mode), env=environment(env, mode), cwd=cwd, start_new_session=True, **options
    )
    _started.append(process)
    return process


class Result:
    """What a program did: code (negative: the signal), out, err, seconds."""

    def __init__(self, argv, code, out, err, seconds):
        self.argv, self.code, self.out, self.err, self.seconds = argv, code, out, err, seconds

    @property
    def text(self):
        return self.out.decode("utf-8", "replace")

    @property
    def errtext(self):
        return self.err.decode("utf-8", "replace")

    @functools.cached_property
    def json(self):
        try:
            found = json.loads(self.out.decode("utf-8"))
        except ValueError as error:
            fail(f"stdout is not JSON ({error}): {_short(self.out)}, code {self.code}, stderr {_short(self.err)}")
        if warm:
            warm.check(self.argv, found)
        return found

    def __repr__(self):
        return f"code {self.code}, stdout {_short(self.out)}, stderr {_short(self.err)}"


def finish(process, stdin=None, timeout=30):
    """Wait for a started process and collect it; one that overstays fails the test."""
    began = time.monotonic()
    try:
        out, err = process.communicate(stdin, timeout=timeout)
    except subprocess.TimeoutExpired:
        kill(process)
        fail(f"still running after {timeout} s: {_short(process.args)}")
    return Result(process.args, process.returncode, out or b"", err or b"", time.monotonic() - began)


def command(argv, stdin=None, env=None, timeout=30, cwd=None, mode=None, **options):
    """Run any program as the mode's user."""
    began = time.monotonic()
    process = start(argv, mode, env, cwd, stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE, **options)
    result = finish(process, stdin, timeout)
    result.seconds = time.monotonic() - began
    return result


def emberbox(*args, stdin=None, env=None, timeout=30, cwd=None, mode=None, **options):
    """Run the built emberbox as the mode's user."""
    return command([built(), *args], stdin, env, timeout, cwd, mode, **options)


def descendants(pid):
    """Pids of all processes below this one, in any session or namespace."""
    children = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", "rb") as file:
                    parent = int(file.read().rpartition(b")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry))
            except (OSError, IndexError, ValueError):
                pass
    found, todo = [], [pid]
    while todo:
        for child in children.get(todo.pop(), ()):
            found.append(child)
            todo.append(child)
    return found


class Watch:
    """Holds processes by pidfd, so that their end is an event and no pid is mistaken."""

    def __init__(self, pids):
        self.fds = {}
        for pid in pids:
            try:
                self.fds[os.pidfd_open(pid)] = pid
            except ProcessLookupError:
                pass

    def survivors(self, timeout=5):
        """Those that still live after so many seconds."""
        poll = select.poll()
        for fd in self.fds:
            poll.register(fd, select.POLLIN)
        end = time.monotonic() + timeout
        while self.fds:
            left = end - time.monotonic()
            ready = poll.poll(max(0, left * 1000))
            for fd, _ in ready:
                poll.unregister(fd)
                os.close(fd)
                del self.fds[fd]
            if left <= 0:
                break
        for fd in self.fds:
            os.close(fd)
        return list(self.fds.values())


# The program


def _alarm(signum, frame):
    raise TimedOut


def _clean():
    # A second alarm while cleaning up would end the whole program.
    signal.alarm(0)
    for process in _started:
        if process.poll() is None:
            kill(process)
        for stream in (process.stdin, process.stdout, process.stderr):
            try:
                if stream:
                    stream.close()
            except OSError:
                pass
    _started.clear()
    for path in _dirs:
        shutil.rmtree(path, ignore_errors=True)
    _dirs.clear()


def _where(error):
    """FILE:LINE in the test's own file, not in an assertion or the library."""
    script = os.path.abspath(sys.argv[0])
    frames = [f for f in traceback.extract_tb(error.__traceback__) if os.path.abspath(f.filename) == script]
    return f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}: " if frames else ""


def _run(name, function, seconds):
    """Run one test and print its line; True unless it failed."""
    signal.alarm(seconds)
    try:
        try:
            function()
            line, good = f"ok {name}", True
        finally:
            signal.alarm(0)
    except Skipped as reason:
        line, good = f"skip {name}: {reason}", True
    except Failed as error:
        line, good = f"not ok {name}: {_where(error)}{error}", False
    except TimedOut as error:
        line, good = f"not ok {name}: {_where(error)}still running after {seconds} s", False
    except Exception as error:
        line, good = f"not ok {name}: {_where(error)}{type(error).__name__}: {error}", False
    _clean()
    print(line.replace("\n", "\\n"), flush=True)
    return good


def main():
    global mode, warm
    parser = argparse.ArgumentParser()
    parser.add_argument("--as", dest="mode", choices=("root", "user", "userns"), default=mode)
    parser.add_argument("--warm", action="store_true", help="runs are of a service, in boxes made ahead")
    parser.add_argument("-k", dest="pattern", default=os.environ.get("EB_TEST", ""), help="only tests whose name matches")
    parser.add_argument("--node", type=int, help="with npm's Node.js of that version in place of the machine's")
    parser.add_argument("--only", type=lambda text: text.split(","), help="of tests GROUP.NAME only these groups")
    options = parser.parse_args()
    mode = options.mode
    signal.signal(signal.SIGALRM, _alarm)
    sys.stdout.reconfigure(errors="backslashreplace")
    failed = False
    if options.warm and (mode != "root" or os.geteuid() == 0):
        import warm
    if options.node and os.geteuid() == 0:
        import npm

        npm.take_node(options.node)
    try:
        for name, function, seconds, modes, nightly in _tests:
            if not re.search(options.pattern, name) or (modes and mode not in modes):
                continue
            if nightly and os.environ.get("EB_NIGHTLY") == "no":
                continue
            if options.only and name.split(".")[0] not in options.only:
                continue
            full = f"{name}[{mode}{',warm' if options.warm else ''}{f',node {options.node}' if options.node else ''}]"
            if mode == "root" and os.geteuid() != 0:
                print(f"skip {full}: needs root", flush=True)
            elif not _run(full, function, seconds):
                failed = True
    finally:
        _clean()
        if warm:
            warm.end()
        if _shared:
            shutil.rmtree(_shared, ignore_errors=True)
    sys.exit(1 if failed else 0)
