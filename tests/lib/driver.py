"""Starts a session driver outside of any box and speaks its protocol: a socketpair on descriptor 3, pipes on 0, 1 and 2.

    with driver.Driver([python, "runtimes/python/session.py"]) as d:
        cell = d.execute("6 * 7")
        cell.ok, cell.exit, cell.stdout, cell.stderr, cell.outputs, cell.error

What a keeper checks is checked here too: the secret of every answer, the form of every line, the bounds of payloads.
Nothing waits for ever: whatever is awaited has a deadline.
"""

import json
import os
import secrets
import select
import signal
import socket
import subprocess
import threading
import time

import kit

LINE_MAX = 160
PAYLOAD_MAX = 8 << 20
CELL_MAX = 16 << 20
ANSWERS = ("output", "error", "done", "reply")


class Ended(Exception):
    """The driver closed the channel: its exit code (negative: the signal)."""


class Cell:
    """What one cell did."""

    def __init__(self):
        self.stdout = self.stderr = ""
        self.outputs = []  # [{mime: data}…]
        self.error = None
        self.ok = None
        self.exit = None
        self.seconds = 0.0

    @property
    def text(self):
        """text/plain of the only output."""
        kit.equal(len(self.outputs), 1, f"outputs of {self!r}")
        return self.outputs[0]["text/plain"]

    def __repr__(self):
        return f"ok {self.ok}, exit {self.exit}, out {self.stdout!r}, err {self.stderr!r}, {self.outputs}, {self.error}"


class Driver:
    """A driver process; `argv` as in a definition's `session`."""

    def __init__(self, argv, cwd=None, env=None, timeout=20):
        self.timeout = timeout
        self.cwd = cwd or kit.tmp("root")
        self.environment = {"HOME": self.cwd, "PATH": kit.PATH, "LANG": "C.UTF-8", "TERM": "dumb", **(env or {})}
        ours, theirs = socket.socketpair()
        self.input = self.output = None

        def before():
            os.setsid()
            os.dup2(theirs.fileno(), 3)
            signal.signal(signal.SIGINT, signal.SIG_DFL)

        self.process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.cwd,
            env=self.environment,
            preexec_fn=before,
            pass_fds=(3,),
        )
        kit._started.append(self.process)
        theirs.close()
        self.channel = ours
        self.streams = {self.process.stdout.fileno(): b"", self.process.stderr.fileno(): b""}
        for fd in self.streams:
            os.set_blocking(fd, False)
        self.ended = set()
        self.buffer = b""
        began = time.monotonic()
        word, secret, payload = self.message(began + timeout)
        kit.equal((word, secret), ("ready", "-"))
        self.ready = json.loads(payload)
        self.ready_seconds = time.monotonic() - began

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:  # what went wrong counts
            kit.kill(self.process)
        else:
            self.close()

    # Bytes

    def _drain(self):
        """What is in the pipes now."""
        for fd in self.streams:
            try:
                while data := os.read(fd, 1 << 16):
                    self.streams[fd] += data
            except BlockingIOError:
                pass

    def _more(self, deadline):
        """Waits for bytes of the channel, reading the pipes meanwhile, as a keeper does."""
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                self._drain()
                kit.fail(f"no answer of the driver in time; stderr {self.streams[self.process.stderr.fileno()]!r}")
            found = select.select([self.channel, *(self.streams.keys() - self.ended)], [], [], left)[0]
            for fd in found:
                if fd is self.channel:
                    continue
                data = os.read(fd, 1 << 16)
                if not data:
                    self.ended.add(fd)  # a cell closed it
                self.streams[fd] += data
            if self.channel in found:
                try:
                    data = self.channel.recv(1 << 16)
                except ConnectionError:
                    data = b""
                if not data:
                    raise Ended(self.end(deadline))
                self.buffer += data
                return

    def end(self, deadline=None):
        """Waits for the driver's end; its code."""
        try:
            code = self.process.wait(max(0.1, (deadline or time.monotonic() + self.timeout) - time.monotonic()))
        except subprocess.TimeoutExpired:
            kit.fail("the driver closed its channel and did not end")
        self._drain()
        return code

    def message(self, deadline):
        """(word, secret, payload) of the next message."""
        while b"\n" not in self.buffer:
            kit.true(len(self.buffer) <= LINE_MAX, f"a line of more than {LINE_MAX} bytes: {self.buffer[:200]!r}")
            self._more(deadline)
        line, _, self.buffer = self.buffer.partition(b"\n")
        words = line.decode("ascii").split(" ")
        kit.equal(len(words), 3, f"words of {line!r}")
        size = int(words[2])
        kit.true(size <= PAYLOAD_MAX, f"a payload of {size} bytes")
        while len(self.buffer) < size:
            self._more(deadline)
        payload, self.buffer = self.buffer[:size], self.buffer[size:]
        return words[0], words[1], payload

    # Requests

    def send(self, word, code, *more, tail=b""):
        secret = secrets.token_hex(16)
        payload = (code.encode() if isinstance(code, str) else code) + tail
        line = " ".join([word, secret, str(len(payload)), *map(str, more)])
        self.channel.sendall(line.encode() + b"\n" + payload)
        return secret

    def begin(self, code, stdin=None, pipe=False):
        """Sends a cell; `stdin`: its whole input; `pipe`: it reads what `feed` writes."""
        self.count = getattr(self, "count", 0) + 1
        how = "pipe" if pipe else "none" if stdin is None else len(stdin)
        self.began = time.monotonic()
        self.secret = self.send("execute", code, self.count, how, tail=stdin or b"")

    def finish(self, timeout=None):
        """The Cell that was begun, once it is done."""
        deadline = time.monotonic() + (timeout or self.timeout)
        cell, total = Cell(), 0
        while cell.ok is None:
            word, secret, payload = self.message(deadline)
            kit.equal(secret, self.secret, f"the secret of {word}")
            kit.true(word in ANSWERS, f"the word {word}")
            total += len(payload)
            kit.true(total <= CELL_MAX, f"{total} bytes of one cell")
            value = json.loads(payload.decode("utf-8"))
            if word == "output":
                cell.outputs.append(value)
            elif word == "error":
                kit.true(cell.error is None, "a second error")
                # How many frames there were is told by those that leave some out.
                kit.equal(sorted(set(value) - {"frame_count"}), ["column", "file", "frames", "line", "message", "type"], "keys of the error")
                cell.error = value
            elif word == "done":
                kit.equal(sorted(value), ["exit", "ok"], "keys of done")
                cell.ok, cell.exit = value["ok"], value["exit"]
        cell.seconds = time.monotonic() - self.began
        self._take(cell)
        kit.equal(self.buffer, b"", "after done")
        return cell

    def _take(self, cell):
        self._drain()
        out, err = self.process.stdout.fileno(), self.process.stderr.fileno()
        cell.stdout, cell.stderr = (self.streams[fd].decode("utf-8", "replace") for fd in (out, err))
        self.streams[out] = self.streams[err] = b""

    def execute(self, code, stdin=None, timeout=None):
        self.begin(code, stdin)
        return self.finish(timeout)

    def value(self, code):
        """text/plain of a cell that has to work."""
        cell = self.execute(code)
        kit.true(cell.ok, f"{code!r}: {cell!r}")
        return cell.text

    def says(self, code, stdin=None):
        """What a cell that has to work prints."""
        cell = self.execute(code, stdin)
        kit.true(cell.ok, f"{code!r}: {cell!r}")
        return cell.stdout

    def dies(self, code):
        """The exit code of a driver that the cell ends, and what it wrote."""
        self.begin(code)
        try:
            cell = self.finish()
        except Ended as ended:
            cell = Cell()
            self._take(cell)
            return ended.args[0], cell
        kit.fail(f"the session lives on after {code!r}: {cell!r}")

    def loses_channel(self, code):
        """A cell closes the channel: the driver lives, for the keeper to tell why, and is ended here."""
        self.begin(code)
        deadline = time.monotonic() + self.timeout
        while True:
            kit.true(select.select([self.channel], [], [], deadline - time.monotonic())[0], "the channel is open")
            if not self.channel.recv(1 << 16):
                break
        kit.equal(self.process.poll(), None, "exit code of the driver")
        kit.kill(self.process)

    def feed(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def until(self, text, timeout=None):
        """Waits until a cell that runs has written this to standard output."""
        deadline = time.monotonic() + (timeout or self.timeout)
        out = self.process.stdout.fileno()
        while text.encode() not in self.streams[out]:
            left = deadline - time.monotonic()
            kit.true(left > 0, f"{text!r} was not written, but {self.streams!r}")
            if select.select([out], [], [], left)[0]:
                self._drain()

    def interrupt(self):
        """As the keeper does: says whose cell is meant, and signals."""
        if hasattr(self, "secret"):
            self.channel.sendall(f"interrupt {self.secret} 0\n".encode())
        os.killpg(self.process.pid, signal.SIGINT)

    def interrupted(self, code, ready="ready", timeout=None):
        """Begins a cell that says when it is ready, interrupts it, and gives what it answers."""
        self.begin(code)
        self.until(ready)
        self.interrupt()
        # As the keeper does: one that comes just before a system call begins to wait is not seen until that ends.
        again = threading.Timer(1, self.interrupt)
        again.start()
        try:
            return self.finish(timeout)
        finally:
            again.cancel()

    def ask(self, word, code, cursor=None):
        """(answer, seconds) of complete and inspect; the cursor is at the end, or at |."""
        if cursor is None:
            code, _, rest = code.partition("|")
            cursor, code = len(code.encode()), code + rest
        began = time.monotonic()
        secret = self.send(word, code, cursor)
        kind, answered, payload = self.message(time.monotonic() + self.timeout)
        kit.equal((kind, answered), ("reply", secret))
        return json.loads(payload.decode("utf-8")), time.monotonic() - began

    def complete(self, code):
        return self.ask("complete", code)[0]

    def inspect(self, code):
        return self.ask("inspect", code)[0]

    def close(self):
        """Ends the channel; the driver has to end with 0 then."""
        self.channel.close()
        if self.process.poll() is None:
            try:
                code = self.process.wait(self.timeout)
            except subprocess.TimeoutExpired:
                kit.fail("the driver does not end with its channel")
            kit.equal(code, 0, "exit code at the end of the channel")
