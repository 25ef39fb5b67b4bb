"""REPLs at terminals: in a window of tmux, and at a pty of ours.

    with Tmux("python") as repl:
        repl.prompt(1)
        repl.type("6 * 7")
        repl.until(r"^42$")
"""

import fcntl
import os
import re
import select
import struct
import termios
import time

import kit

PATIENCE = 15  # seconds for what is awaited


def environment(home, **more):
    return {"EMBERBOX_HOME": home, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "TMPDIR": kit.tmp(), **more}


class Tmux:
    """A REPL in a window of a tmux server of its own."""

    count = 0

    def __init__(self, *args, home=None, columns=80, rows=24, **env):
        Tmux.count += 1
        self.name = f"emberbox-test-{os.getpid()}-{Tmux.count}"
        self.home = home or kit.tmp()
        self.env = environment(self.home, **env)
        words = " ".join([kit.built(), "repl", *args])
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows),
                  # Ctrl-C is for the shell as well, and some end by it.
                  f"trap : INT; {words}; echo ENDED $?; exec cat")

    def tmux(self, *args):
        result = kit.command(["/usr/bin/tmux", "-u", "-L", self.name, *args], env=self.env, timeout=10)
        kit.equal(result.code, 0, result.errtext)
        return result.text

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def type(self, text, enter=True):
        self.tmux("send-keys", "-l", text)
        if enter:
            self.keys("Enter")

    def screen(self, escapes=False):
        # Joined where the terminal wrapped, with what has scrolled away.
        return self.tmux("capture-pane", "-p", "-J", "-S", "-200", *(["-e"] if escapes else []))

    def until(self, pattern):
        """Waits until the screen has it, and returns the match."""
        end = time.monotonic() + PATIENCE
        while not (found := re.search(pattern, self.screen(), re.M)):
            kit.true(time.monotonic() < end, f"{pattern!r} did not come: {self.screen()!r}")
            time.sleep(0.02)
        return found

    def prompt(self, number):
        return self.until(rf"^\[{number}\] >>>\s*\Z")

    def end(self):
        kit.command(["/usr/bin/tmux", "-u", "-L", self.name, "kill-server"], env=self.env, timeout=10)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


class Pty:
    """A REPL whose terminal we are."""

    def __init__(self, *args, home=None, **env):
        self.ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.home = home or kit.tmp()

        def control():
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        if kit.mode != "root":
            os.fchown(theirs, kit.UID, kit.UID)
        self.process = kit.start([kit.built(), "repl", *args], stdin=theirs, stdout=theirs, stderr=theirs,
                                 env=environment(self.home, **env), preexec_fn=control)
        os.close(theirs)
        self.text = b""

    def read(self, timeout):
        if not select.select([self.ours], [], [], timeout)[0]:
            return None
        try:
            return os.read(self.ours, 65536)
        except OSError:
            return b""

    def until(self, part):
        """Reads until it was printed; what was before is forgotten, and returned."""
        end = time.monotonic() + PATIENCE
        while part not in self.text:
            data = self.read(max(0, end - time.monotonic()))
            kit.true(data, f"{part!r} did not come: {self.text!r}")
            self.text += data
        before, _, self.text = self.text.partition(part)
        return before + part

    def type(self, data):
        os.write(self.ours, data if isinstance(data, bytes) else data.encode())

    def code(self):
        """The exit code, once it has ended; what it printed meanwhile is in `text`."""
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            kit.true(time.monotonic() < end, f"it does not end: {self.text!r}")
            self.text += self.read(0.05) or b""
        while data := self.read(0):
            self.text += data
        return self.process.returncode
