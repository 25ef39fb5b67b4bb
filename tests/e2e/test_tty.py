#!/usr/bin/python3
"""emberbox run -t: a program with a terminal of its own, cold and through the service."""
# tests/run: args=--as user
# tests/run: nightly=--as root

import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import termios

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
import service

kit.uses_service = True
_home = None  # of the service that the running test has; None: cold


def both_ways(function=None, *, timeout=30):
    """A test that is done cold, and again by a service."""

    def register(function):
        def cold():
            global _home
            _home = None
            function()

        def served():
            global _home
            running = service.Service("--embers", "0")
            _home = running.home
            function()
            running.process.send_signal(signal.SIGTERM)
            kit.equal(running.process.wait(20), 0)

        kit.test(cold, timeout=timeout, name=function.__name__)
        kit.test(served, timeout=timeout, name=f"{function.__name__}_served")
        return function

    return register(function) if function else register


def arguments(language, code, *more):
    how = ["--cold"] if _home is None else []
    return [kit.built(), "run", "-t", *how, "-l", language, *more, "-c", code]


def environment(**more):
    return {"TERM": "xterm", **({"EMBERBOX_HOME": _home} if _home else {}), **more}


def run(language, code, *more, stdin=None):
    result = kit.command(arguments(language, code, *more), stdin=stdin, env=environment())
    return result


class Terminal:
    """emberbox at a terminal of ours, as its controlling one."""

    def __init__(self, argv, rows=24, columns=80, **more):
        self.ours, self.theirs = os.openpty()
        self.resize(rows, columns)
        if kit.mode != "root":
            os.fchown(self.theirs, kit.UID, kit.UID)
        self.before = termios.tcgetattr(self.theirs)
        self.process = kit.start(
            argv, stdin=self.theirs, stdout=self.theirs, stderr=self.theirs, env=environment(**more),
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.text = b""
        self.seen = 0

    def resize(self, rows, columns):
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def until(self, part):
        """Reads until this was printed, after what was waited for before."""
        while (at := self.text.find(part, self.seen)) < 0:
            if not select.select([self.ours], [], [], 10)[0]:
                kit.fail(f"{part!r} was not printed, but {self.text!r}")
            self.text += os.read(self.ours, 65536)
        self.seen = at + len(part)

    def type(self, data):
        os.write(self.ours, data)

    def rest(self):
        """What is left when the program has ended: `theirs` is open here too, so that there is no other end."""
        code = self.process.wait(timeout=20)
        os.set_blocking(self.ours, False)
        try:
            while data := os.read(self.ours, 65536):
                self.text += data
        except OSError:
            pass
        return code

    def is_wire(self):
        return not termios.tcgetattr(self.theirs)[3] & (termios.ICANON | termios.ECHO | termios.ISIG)

    def is_as_before(self):
        return termios.tcgetattr(self.theirs) == self.before


def python_at(code, *more, **options):
    return Terminal(arguments("python", code, *more), **options)


@both_ways
def a_program_asks_and_is_answered():
    terminal = python_at("import os, sys\nprint([os.ttyname(i) for i in (0, 1, 2)], os.get_terminal_size(), "
                         "os.environ['TERM'])\nprint('hello', input('name? '))\nsys.exit(3)", rows=33, columns=101)
    terminal.until(b"['/dev/pts/0', '/dev/pts/0', '/dev/pts/0'] os.terminal_size(columns=101, lines=33) xterm\r\n")
    terminal.until(b"name? ")
    kit.true(terminal.is_wire(), "the terminal outside still edits lines")
    terminal.type("ember é\r".encode())
    # Echoed once, by the terminal inside.
    terminal.until("ember é\r\nhello ember é\r\n".encode())
    kit.equal(terminal.rest(), 3, repr(terminal.text))
    kit.true(terminal.is_as_before(), "the terminal was not put back")


@both_ways
def control_c_is_a_byte_and_the_signal_is_made_inside():
    terminal = python_at("import os, time\ntry:\n os.write(1, b'up\\n')\n time.sleep(20)\nexcept KeyboardInterrupt: print('caught')")
    terminal.until(b"up\r\n")
    terminal.type(b"\x03")
    terminal.until(b"^Ccaught\r\n")
    kit.equal(terminal.rest(), 0, repr(terminal.text))


@both_ways
def job_control_works_in_a_shell():
    terminal = Terminal(arguments("bash", "set -m\nsleep 20\necho stopped=$?; kill -KILL %1; exit 7"))
    # The job is in the foreground once the terminal says so: that is asked for until it does.
    kit.eventually(lambda: (terminal.type(b"\x1a"), terminal.process.poll(), b"stopped=148" in drain(terminal))[2], "^Z")
    kit.equal(terminal.rest(), 7, repr(terminal.text))


def drain(terminal):
    os.set_blocking(terminal.ours, False)
    try:
        terminal.text += os.read(terminal.ours, 65536)
    except BlockingIOError:
        pass
    os.set_blocking(terminal.ours, True)
    return terminal.text


@both_ways
def the_size_follows():
    # Waited for, not caught: one that comes just before input() waits would be told after it.
    terminal = python_at("import os, signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])\nos.write(1, b'up\\n')\n"
                         "while os.get_terminal_size() != (132, 50): signal.sigwait([signal.SIGWINCH])\n"
                         "os.write(1, b'size %d %d\\n' % os.get_terminal_size())\nwhile input() != 'q': pass")
    terminal.until(b"up\r\n")
    terminal.resize(50, 132)
    os.killpg(terminal.process.pid, signal.SIGWINCH)
    terminal.until(b"size 132 50\r\n")
    terminal.type(b"q\r")
    kit.equal(terminal.rest(), 0, repr(terminal.text))


@both_ways
def every_byte_goes_through_both_ways():
    terminal = python_at("import os, tty\ntty.setraw(0)\nos.write(1, b'raw')\ngot = b''\n"
                         "while len(got) < 256: got += os.read(0, 256)\nos.write(1, got)\nos.write(1, b'over')")
    terminal.until(b"raw")
    start = terminal.seen
    every = bytes(range(256))
    termios.tcflush(terminal.theirs, termios.TCIFLUSH)
    terminal.type(every)
    terminal.until(b"over")
    kit.equal(terminal.text[start:terminal.seen - 4], every)
    kit.equal(terminal.rest(), 0)


@both_ways
def input_from_a_pipe_ends_as_at_a_keyboard():
    r = run("python", "import sys\nprint(sys.stdin.isatty(), repr(sys.stdin.read()))", stdin=b"one\ntwo\n")
    kit.equal((r.code, r.out, r.err), (0, b"one\r\ntwo\r\nTrue 'one\\ntwo\\n'\r\n", b""), repr(r))
    r = run("bash", "cat; echo over", stdin=b"no newline")
    kit.equal((r.code, r.out), (0, b"no newlineno newlineover\r\n"))
    # Without any input there is an end all the same.
    r = run("bash", "cat; echo over")
    kit.equal((r.code, r.out), (0, b"over\r\n"))


@both_ways(timeout=60)
def the_end_is_heard_by_who_edits_lines():
    """Typed long before readline takes the terminal, where the kernel makes it a NUL."""
    slow = "import time, code; time.sleep(0.3); code.interact(banner='', exitmsg='left')"
    for text in (b"print(6*7)\n", b"print(6*7)", b"import time; time.sleep(0.5)\nprint(6*7)\n"):
        r = run("python", slow, "--timeout", "20", stdin=text)
        kit.equal(r.code, 0, f"{text!r}: {r!r}")
        kit.matches(r.text, r"(?s)\n42\r\n>>> .*left\r\n\Z", repr(text))
    r = run("bash", "sleep 0.2; read -e -p '? ' line; echo \"$? <$line>\"", "--timeout", "20")
    kit.equal(r.code, 0, repr(r))
    kit.matches(r.text, r"(?s)\? .*1 <>\r\n\Z")
    # Who reads lines gets the end once, and bytes that were not typed go to nobody.
    r = run("python", "import sys, time; time.sleep(0.3); print(repr(sys.stdin.read()))", stdin=b"one\n")
    kit.equal((r.code, r.out), (0, b"one\r\n'one\\n'\r\n"))


@both_ways
def streams_are_one_and_the_result_says_so():
    r = run("bash", "echo out; echo err >&2; exit 4", "--json")
    kit.equal((r.code, r.json["stdout"], r.json["stderr"]), (4, "out\r\nerr\r\n", ""))
    kit.equal((r.json["meta"]["terminal"], r.json["meta"]["start"]), (True, "cold"))
    kit.contains(r.json["meta"]["isolation"], "terminals: of the box's own, none of the host's")
    kit.equal(r.json["error_message"], "Execution failed: err")
    r = kit.emberbox("run", "--cold", "--json", "-l", "bash", "-c", "echo out; echo err >&2; tty; ls /dev/pts")
    # It may make some; none is there, and none is its own.
    kit.equal((r.json["stdout"], r.json["meta"]["terminal"]), ("out\nnot a tty\nptmx\n", False))
    kit.equal(r.json["stderr"], "err\n")


@both_ways
def much_output_arrives_whole():
    r = run("python", "import os\nfor i in range(3000): os.write(1, b'%05d' % i + b'x' * 995)")
    kit.equal(r.out, b"".join(b"%05d" % i + b"x" * 995 for i in range(3000)))


@both_ways
def a_terminal_that_is_closed_can_be_opened_again():
    r = run("bash", "exec <&- >&- 2>&-; sleep 0.05; echo again >/dev/pts/0; echo tty >/dev/tty")
    kit.equal((r.code, r.out), (0, b"again\r\ntty\r\n"))


@both_ways
def nothing_of_the_terminal_outside_is_inside():
    code = """
import ctypes, errno, fcntl, os, termios
libc = ctypes.CDLL(None, use_errno=True)
def asked(fd, number, argument=b"x\\0\\0\\0"):
    return "ok" if libc.ioctl(fd, number, argument) == 0 else errno.errorcode[ctypes.get_errno()]
outer = os.stat(0).st_dev
print(sorted(os.listdir("/proc/self/fd"))[:3], os.minor(os.stat(0).st_rdev), os.stat("/dev/pts/0").st_dev == outer)
print(asked(0, termios.TIOCSTI), asked(0, 0x541C), asked(0, termios.TIOCSETD), asked(0, termios.TIOCCONS), asked(0, 0x5437))
print(os.tcgetpgrp(0) == os.getpgrp(), os.getsid(0) == os.getpid())
pairs = []
try:
    while True: pairs.append(os.openpty())
except OSError as e:
    print(1 + len(pairs), errno.errorcode[e.errno])
print(sorted(os.listdir("/dev/pts"), key=len)[:1], [e for e in os.listdir("/dev") if e.startswith("pt")])
"""
    terminal = python_at(code)
    terminal.rest()
    lines = terminal.text.decode().split("\r\n")
    kit.equal(lines[0], "['0', '1', '2'] 0 True")
    kit.equal(lines[1], "EPERM EPERM EPERM EPERM EPERM")
    kit.equal(lines[2], "True True")
    kit.equal(lines[3], "16 ENOSPC")


@both_ways(timeout=60)
def the_terminal_is_put_back_whatever_ends_it():
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT, signal.SIGUSR1, signal.SIGSEGV):
        terminal = python_at("print('up')\nimport time; time.sleep(20)")
        terminal.until(b"up")
        kit.true(terminal.is_wire(), "the terminal outside still edits lines")
        pid = ours(terminal)
        os.kill(pid, number)
        code = terminal.rest()
        caught = number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
        kit.equal(code, 128 + number if caught else -number, signal.Signals(number).name)
        kit.true(terminal.is_as_before(), f"the terminal was not put back after {signal.Signals(number).name}")
    terminal = python_at("print('up')\nimport time; time.sleep(20)", "--timeout", "2")
    kit.equal(terminal.rest(), 124)
    kit.contains(terminal.text, b"up\r\nemberbox: Code execution timed out")
    kit.true(terminal.is_as_before(), "the terminal was not put back after a timeout")


def ours(terminal):
    """The pid of emberbox itself."""
    return terminal.process.pid


@both_ways
def stopped_it_gives_the_terminal_back_and_takes_it_again():
    terminal = python_at("print('up')\nwhile input() != 'q': pass")
    terminal.until(b"up")
    os.kill(ours(terminal), signal.SIGTSTP)
    os.waitid(os.P_PID, ours(terminal), os.WSTOPPED)
    kit.true(terminal.is_as_before(), "the terminal was not put back while it is stopped")
    os.kill(ours(terminal), signal.SIGCONT)
    kit.eventually(terminal.is_wire, "the terminal is not taken again")
    terminal.type(b"q\r")
    kit.equal(terminal.rest(), 0)
    kit.true(terminal.is_as_before(), "the terminal was not put back at the end")


@kit.test
def what_a_compiler_says_has_whole_lines():
    global _home
    _home = None
    r = run("c", "int main(void) {\n\treturn x;\n}\n")
    kit.equal(r.code, 1, repr(r))
    kit.contains(r.out + r.err, b"error")
    # The hint is emberbox's own line, and goes to a pipe here.
    said = r.out + r.err.partition(b"emberbox: hint: ")[0]
    kit.equal(said.count(b"\n"), said.count(b"\r\n"))


@kit.test(timeout=60)
def in_tmux():
    """A real terminal emulator: an interactive interpreter that draws, edits lines and follows the window."""
    global _home
    _home = None
    if not os.path.exists("/usr/bin/tmux"):
        kit.skip("no tmux")
    where = kit.tmp()

    def tmux(*words):
        r = kit.command(["/usr/bin/tmux", "-S", f"{where}/socket", "-f", "/dev/null", *words], env={"LANG": "C.UTF-8"})
        kit.equal(r.code, 0, repr(r))
        return r.text

    def shown(text):
        return kit.eventually(lambda: text in tmux("capture-pane", "-p"), f"{text!r} is not shown")

    command = " ".join(arguments("python", '"import code, readline; code.interact(banner=\'ready\', exitmsg=\'\')"',
                                 "--timeout", "50"))
    try:
        tmux("new-session", "-d", "-x", "90", "-y", "20", "env EMBERBOX_SERVICE=never " + command + "; echo code=$?; sleep 50")
        shown("ready")
        tmux("send-keys", "import os; 6*8", "BSpace", "7", "Enter")
        shown("42")
        tmux("send-keys", "os.get_terminal_size()", "Enter")
        shown("columns=90, lines=20")
        tmux("resize-window", "-x", "70", "-y", "15")
        tmux("send-keys", "C-c")
        shown("KeyboardInterrupt")
        kit.eventually(lambda: (tmux("send-keys", "os.get_terminal_size()", "Enter"),
                                "columns=70, lines=15" in tmux("capture-pane", "-p"))[1], "the size does not follow")
        # A key that comes between two prompts is lost to Python.
        kit.eventually(lambda: (tmux("send-keys", "C-d"), "code=0" in tmux("capture-pane", "-p"))[1], "it does not end")
    finally:
        kit.command(["/usr/bin/tmux", "-S", f"{where}/socket", "kill-server"])


kit.main()
