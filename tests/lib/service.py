"""The service, and a client that speaks its frames (src/wire/frame.h) without any code of ours.

    service = Service()                       # its own EMBERBOX_HOME, ready when this returns
    with service.connect() as client:
        frames, result = client.request({"language": "python", "code": "print(1)"})

A frame is (kind, payload): ("1", b"…") of stdout, ("2", b"…") of stderr, ("S", …), and the last one, ("J", …) or
("E", …), whose object is `result`.
"""

import json
import os
import re
import select
import signal
import socket
import struct
import subprocess
import time

import kit

HEADER = struct.Struct("<IB3x")


class Gone(Exception):
    """The connection ended without an answer."""


class Client:
    def __init__(self, path, timeout=30):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(timeout)
        self.socket.connect(path)
        self._rest = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, kind, payload=b""):
        self.socket.sendall(HEADER.pack(len(payload), ord(kind)) + payload)

    def ask(self, request, stream=False):
        """Sends a request and waits for nothing."""
        request = dict(request, stream=True) if stream else request
        self.send("R", json.dumps(request).encode())

    def _exactly(self, size):
        while len(self._rest) < size:
            try:
                data = self.socket.recv(1 << 16)
            except ConnectionError:
                data = b""
            if not data:
                raise Gone
            self._rest += data
        data, self._rest = self._rest[:size], self._rest[size:]
        return data

    def frame(self):
        size, kind = HEADER.unpack(self._exactly(HEADER.size))
        return chr(kind), self._exactly(size)

    def until(self, kind):
        """Frames up to the first of a kind, which has to come before the answer."""
        frames = [self.frame()]
        while frames[-1][0] != kind:
            if frames[-1][0] in "JE":
                kit.fail(f"answered before a frame {kind}: {frames[-1][1].decode()}")
            frames.append(self.frame())
        return frames

    def answer(self):
        frames = [self.frame()]
        while frames[-1][0] not in "JE":
            frames.append(self.frame())
        return frames, json.loads(frames[-1][1])

    def request(self, request, stream=False):
        self.ask(request, stream)
        return self.answer()


class Service:
    """`emberbox serve` as the mode's user, with a directory of its own."""

    def __init__(self, *options, home=None, env=None, ready=True, before=(), listen=False, **process):
        self.home = home or kit.tmp()
        self.path = os.path.join(self.home, "emberbox.sock")
        self.address = None  # (host, port) of HTTP over TCP, with `listen`
        self._said = b""
        # A fixed port would be one for all.
        env = {"EMBERBOX_HOME": self.home, "EMBERBOX_LISTEN": "127.0.0.1:0" if listen else "none", **(env or {})}
        self.process = kit.start(
            [*before, kit.built(), "serve", *options], env=env, stdout=subprocess.DEVNULL, **process
        )
        if ready:
            said = self.heard(r"serving at .*\n")
        if ready and listen:
            at = re.search(r"HTTP at https?://(\S+):(\d+)", said) or re.search(
                r"HTTP at https?://(\S+):(\d+)", self.heard(r"HTTP at \S+.*\n"))
            self.address = (at.group(1), int(at.group(2)))

    @property
    def token(self):
        """The first one, which has all scopes."""
        with open(os.path.join(self.home, "token"), encoding="ascii") as file:
            return file.read().strip()

    @property
    def pid(self):
        return self.process.pid

    def connect(self, timeout=30):
        return Client(self.path, timeout)

    def heard(self, pattern, timeout=20):
        """Waits until it said this on standard error; what was said up to there."""
        end = time.monotonic() + timeout
        while not (match := re.search(pattern, self._said.decode())):
            if not select.select([self.process.stderr], [], [], max(0, end - time.monotonic()))[0]:
                kit.fail(f"did not say {pattern!r} within {timeout} s, but {self._said!r}")
            data = os.read(self.process.stderr.fileno(), 65536)
            if not data:
                kit.fail(f"ended without saying {pattern!r}, but {self._said!r}")
            self._said += data
        said, self._said = self._said[: match.end()], self._said[match.end():]
        return said.decode()

    def role(self, name):
        """The pid of a role; the newest, when there are several. One that was just started is not yet what it
        becomes: until it has executed itself it looks like the supervisor."""
        return kit.eventually(lambda: self._role(name), f"no {name} runs")

    def _role(self, name):
        found = []
        for pid in kit.descendants(self.pid):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
                with open(f"/proc/{pid}/stat", "rb") as file:
                    parent = int(file.read().rpartition(b")")[2].split()[1])
            except OSError:
                continue
            if words[:3] == [b"emberbox", b"serve", f"--role={name}".encode()] and parent == self.pid:
                found.append(pid)
        return max(found, default=0)

    def stop(self, number=signal.SIGTERM, timeout=20):
        """Ends it; what it said since it was last heard is err."""
        os.kill(self.pid, number)
        result = kit.finish(self.process, timeout=timeout)
        result.err = self._said + result.err
        return result


# Boxes


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def space(pid):
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return None


def box(running, seconds):
    """Every process of the box of such a run, held by pidfd."""
    program = None
    while not program:  # the alarm ends this
        below = kit.descendants(running.role("keeper"))
        program = next((pid for pid in below if read(f"/proc/{pid}/cmdline") == f"sleep\0{seconds}\0".encode()), None)
    watch = kit.Watch(pid for pid in below if space(pid) == space(program))
    kit.true(len(watch.fds) >= 2, "the box has its init, and a program")
    return watch
