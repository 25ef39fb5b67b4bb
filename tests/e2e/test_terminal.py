#!/usr/bin/python3
"""emberbox run at a terminal: it can be talked to, interrupted, and put into the background."""
# tests/run: args=--as root | --as user

import fcntl
import os
import sys
import termios

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit


class Terminal:
    """A program whose controlling terminal is a pty; we hold the other end."""

    def __init__(self, argv):
        self.ours, theirs = os.openpty()

        def control():
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        if kit.mode != "root":
            os.fchown(theirs, kit.UID, kit.UID)
        self.process = kit.start(argv, stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=control)
        os.close(theirs)
        self.text = b""

    def until(self, part):
        """Reads until it was printed; the end of the program is an end of the terminal (EIO)."""
        while part not in self.text:
            try:
                data = os.read(self.ours, 4096)
            except OSError:
                data = b""
            if not data:
                kit.fail(f"the program ended before it printed {part!r}: {self.text!r}")
            self.text += data

    def type(self, data):
        os.write(self.ours, data)

    def end(self):
        while True:
            try:
                data = os.read(self.ours, 4096)
            except OSError:
                data = b""
            if not data:
                break
            self.text += data
        os.close(self.ours)
        return self.process.wait(timeout=10)


def run(language, code, *args):
    return [kit.built(), "run", "-l", language, "-c", code, *args]


@kit.test
def a_program_can_ask():
    terminal = Terminal(run("python", "print('hello', input('name? '))"))
    terminal.until(b"name? ")
    terminal.type(b"ember\n")
    terminal.until(b"hello ember")
    kit.equal(terminal.end(), 0, repr(terminal.text))


@kit.test
def control_d_ends_the_input():
    terminal = Terminal(run("bash", "echo ready; cat; echo end"))
    terminal.until(b"ready")
    terminal.type(b"line\n")
    terminal.until(b"line\r\nline\r\n")
    terminal.type(b"\x04")
    terminal.until(b"end")
    kit.equal(terminal.end(), 0, repr(terminal.text))


@kit.test
def control_c_ends_the_run():
    terminal = Terminal(run("bash", "trap '' INT; echo ready; sleep 60"))
    terminal.until(b"ready")
    terminal.type(b"\x03")
    kit.equal(terminal.end(), 130, repr(terminal.text))


@kit.test
def our_own_sentence_begins_a_line():
    for code, before in (("printf unfinished", b"unfinished\r\n"), ("echo finished", b"finished\r\n")):
        terminal = Terminal(run("bash", f"{code}; kill -SEGV $$"))
        kit.equal(terminal.end(), 139, repr(terminal.text))
        kit.equal(terminal.text, before + b"emberbox: ended by signal SIGSEGV (Segmentation fault)\r\n")


@kit.test
def in_the_background_it_is_not_stopped():
    # A background job that read from its terminal would be stopped, and the clock of the run with it.
    words = " ".join(f"'{word}'" for word in run("bash", "read -r line; echo over:$?"))
    # It stays a little: of what is printed just before the last one closes a terminal, the kernel loses some now and then.
    terminal = Terminal(["/bin/bash", "--norc", "-mc", f"{words} & wait $!; echo code:$?; sleep 0.3"])
    terminal.until(b"code:")
    kit.equal(terminal.end(), 0)
    kit.contains(terminal.text, b"over:1")
    kit.contains(terminal.text, b"code:0")


kit.main()
