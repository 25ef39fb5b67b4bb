"""Egress without boxes: networks as boxes have them, in the world's machine, and a process that stands for the keeper.

    with Keeper() as keeper:
        box = keeper.open("api.example.com", "*.example.org:8080")
        address = box.ask("api.example.com").address       # what the box's name server says
        with box.connect("api.example.com", 80) as s: …    # a socket that was made in the box's network
        report = box.finish()                              # what egress reported, all of it

tests/kern/egress_keeper.c does the work.
"""

import base64
import contextlib
import errno
import json
import os
import signal
import socket
import struct
import subprocess
from types import SimpleNamespace

import kit
from world import _socket_in, world

NXDOMAIN, REFUSED, SERVFAIL, NOERROR, FORMERR = 3, 5, 2, 0, 1
A, PTR, AAAA, HTTPS, SVCB, ANY, TXT = 1, 12, 28, 65, 64, 255, 16


def query(name, kind=A, number=7, flags=0x0100):
    """A question as it is sent; `name` is a text, or labels as bytes."""
    labels = [label.encode() for label in name.split(".")] if isinstance(name, str) else name
    return (struct.pack("!HHHHHH", number, flags, 1, 0, 0, 0) + b"".join(bytes([len(label)]) + label for label in labels) +
            b"\0" + struct.pack("!HH", kind, 1))


class Answer:
    def __init__(self, data):
        self.data = data
        self.number, flags, questions, self.count = struct.unpack("!HHHH", data[:8])
        self.code, self.cut = flags & 15, bool(flags & 0x0200)
        self.address = self.name = None
        at = 12
        if questions:
            while data[at]:
                at += data[at] + 1
            at += 5
        if self.count and not self.cut:
            kind, _, self.ttl, size = struct.unpack("!HHIH", data[at + 2:at + 12])
            value = data[at + 12:at + 12 + size]
            if kind == A:
                self.address = socket.inet_ntoa(value)
            if kind == PTR:
                labels = []
                while value[0]:
                    labels.append(value[1:1 + value[0]].decode())
                    value = value[1 + value[0]:]
                self.name = ".".join(labels)


class Box:
    def __init__(self, keeper, number, pid):
        self.keeper, self.number, self.pid = keeper, number, pid

    def make_socket(self, kind=socket.SOCK_STREAM, family=socket.AF_INET):
        made = _socket_in(f"/proc/{self.pid}/ns/net", family, kind)
        made.settimeout(20)
        return made

    def exchange(self, data):
        """What the name server sends back; None: nothing, although it answers what comes later."""
        with self.make_socket(socket.SOCK_DGRAM) as s:
            s.connect(("127.0.0.53", 53))
            s.send(data)
            s.send(query("localhost", number=0x7777))
            got = s.recv(65536)
            return None if got[:2] == b"\x77\x77" else got

    def ask(self, name, kind=A):
        with self.make_socket(socket.SOCK_DGRAM) as s:
            s.connect(("127.0.0.53", 53))
            s.send(query(name, kind))
            return Answer(s.recv(65536))

    def ask_tcp(self, *names):
        """Questions on one connection, all sent before the first answer is read; the answers by number."""
        with self.make_socket() as s:
            s.connect(("127.0.0.53", 53))
            for number, name in enumerate(names):
                data = query(name, number=number)
                s.sendall(struct.pack("!H", len(data)) + data)
            stream, answers = s.makefile("rb"), {}
            while len(answers) < len(names):
                answer = Answer(stream.read(struct.unpack("!H", stream.read(2))[0]))
                answers[answer.number] = answer
            return [answers[number] for number in range(len(names))]

    def connect(self, name, port, family=socket.AF_INET):
        """To a name of the policy, or to an address."""
        made = self.make_socket(family=family)
        try:
            address = name if name[0].isdigit() or ":" in name else self.ask(name).address
            kit.true(address, f"{name} has no address")
            made.connect((address, port))
        except BaseException:
            made.close()
            raise
        return made

    def get(self, name, port=80, path="/"):
        with self.connect(name, port) as s:
            s.sendall(f"GET {path} HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode())
            return read_all(s)

    def report(self):
        return _Report(self.keeper.say("report", self.number))

    def finish(self):
        return _Report(self.keeper.say("finish", self.number))

    def close(self):
        self.keeper.say("close", self.number)

    def change(self, *rules, **limits):
        self.keeper.say("change", self.number, *_words(rules, **limits))


class _Report(SimpleNamespace):
    def __init__(self, members):
        super().__init__(**members)
        self.connections = [SimpleNamespace(**c) for c in self.connections]

    def of(self, host, port=None):
        return [c for c in self.connections if c.host == host and port in (None, c.port)]

    def reasons(self):
        return [(c.host, c.port, c.reason) for c in self.connections]


def _words(lists, rate=0, total=0, connections=64, connections_total=0, host_allowed=0):
    return [rate, total, connections, connections_total, host_allowed, *lists]


class Keeper:
    """With an egress of its own in the world's machine, and the world's resolver."""

    def __init__(self, env=None):
        with world().inside():
            self.process = kit.start([kit.built("tests/kern/egress_keeper"), kit.built()], env=env, stdin=subprocess.PIPE)
        self.egress = self._answer()["pid"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(timeout=20)
        kit.equal(self.process.stderr.read(), b"", "what egress said")

    def _answer(self):
        line = self.process.stdout.readline()
        answer = json.loads(line or b'{"error": "it ended"}')
        kit.true("error" not in answer, f"{answer.get('error')} {self.process.stderr.read() if not line else ''}")
        return answer

    def say(self, *words):
        self.process.stdin.write(("\t".join(map(str, words)) + "\n").encode())
        self.process.stdin.flush()
        return self._answer()

    def open(self, *rules, secrets=(), **limits):
        """A box whose policy is one list of these rules; a list that is a word with commas is one of several."""
        self.say("secrets", base64.b64encode("".join(s.text for s in secrets).encode()).decode())
        answer = self.say("open", *_words([",".join(rules)], **limits))
        return Box(self, answer["box"], answer["pid"])

    def open_lists(self, *lists, **limits):
        answer = self.say("open", *_words(lists, **limits))
        return Box(self, answer["box"], answer["pid"])

    def kill(self):
        os.kill(self.egress, signal.SIGKILL)

    def start(self):
        self.egress = self.say("start")["pid"]


def read_all(s):
    data = b""
    while more := s.recv(65536):
        data += more
    return data


@contextlib.contextmanager
def fails(errnum):
    """What is done fails with this errno."""
    try:
        yield
    except OSError as error:
        kit.equal(error.errno, errnum, str(error))
    else:
        kit.fail(f"did not fail with {os.strerror(errnum)}")


def expect_refused(box, name, port, say=b""):
    """The connection is reset, and nothing comes before that. It may be while connect() still looks at what came of it."""
    with fails(errno.ECONNRESET), box.connect(name, port) as s:
        if say:
            with contextlib.suppress(BrokenPipeError):
                s.sendall(say)
        got = s.recv(1)
        kit.fail(f"there was no reset but {got!r}")
