"""A client of the service's socket (src/wire/frame.h), and the service itself as a process."""

import json
import os
import socket
import struct
import subprocess
import time

HEADER = struct.Struct("<IB3x")


class Broken(Exception):
    """The connection ended, or nothing came in time; the text says which."""


class Refused(Exception):
    """There was no run; `error` is what the service says about it."""

    def __init__(self, error):
        super().__init__(f'{error.get("code")}: {error.get("message")}')
        self.error = error


def read_exactly(sock, size):
    parts = []
    while size:
        part = sock.recv(min(size, 1 << 20))
        if not part:
            raise Broken("the connection ended")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def read_frame(sock):
    size, kind = HEADER.unpack(read_exactly(sock, HEADER.size))
    return chr(kind), read_exactly(sock, size)


def write_frame(sock, kind, payload):
    sock.sendall(HEADER.pack(len(payload), ord(kind)) + payload)


class Client:
    """One connection; `run` after `run`."""

    def __init__(self, path, timeout=60):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(timeout)
        self.socket.connect(path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def run(self, request, timeout=60):
        """The result. Output that is streamed is added as `streamed`."""
        end = time.monotonic() + timeout
        streamed = b""
        try:
            self.socket.settimeout(timeout)
            write_frame(self.socket, "R", json.dumps(request).encode())
            while True:
                self.socket.settimeout(max(0.001, end - time.monotonic()))
                kind, payload = read_frame(self.socket)
                if kind == "1":
                    streamed += payload
                elif kind == "J":
                    return {**json.loads(payload), "streamed": streamed}
                elif kind == "E":
                    raise Refused(json.loads(payload)["error"])
        except TimeoutError as error:
            raise Broken(f"nothing came within {timeout:g} s") from error
        except OSError as error:
            raise Broken(str(error)) from error


class Service:
    """`emberbox serve` with a state directory of its own."""

    def __init__(self, emberbox, home, *words, env=None):
        self.socket = os.path.join(home, "emberbox.sock")
        self.log = os.path.join(home, "service.log")
        self.env = {"PATH": "/usr/bin:/bin", "HOME": home, "LANG": "C.UTF-8", "EMBERBOX_HOME": home,
                    "EMBERBOX_SOCKET": self.socket, "EMBERBOX_LISTEN": "none", **(env or {})}
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [emberbox, "serve", "--socket", self.socket, *words],
                env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        self.pid = self.process.pid

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def wait_ready(self, seconds=20):
        """None, or why it cannot be used."""
        end = time.monotonic() + seconds
        while True:
            try:
                Client(self.socket, 5).socket.close()
                return None
            except OSError as error:
                if self.process.poll() is not None:
                    return f"the service ended with {self.process.returncode}: {self.said().strip()[-300:]}"
                if time.monotonic() > end:
                    return f"the service does not answer: {error}"
                time.sleep(0.02)

    def stop(self, seconds=30):
        """SIGTERM; its exit code, or None when it had to be killed."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(seconds)
            return None
