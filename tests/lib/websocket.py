"""A client of WebSockets (RFC 6455) on a bare socket, without any code of ours; it checks what a server may send."""

import base64
import hashlib
import os
import struct

import kit

GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


class Refused(Exception):
    """The handshake was answered with something else: status, headers, and the head as text."""


class Socket:
    def __init__(self, connected, target, headers=None, host="127.0.0.1"):
        self.socket = connected
        key = base64.b64encode(os.urandom(16)).decode()
        lines = {"Host": host, "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
                 "Sec-WebSocket-Key": key, **(headers or {})}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value is not None)
        self.socket.sendall(f"GET {target} HTTP/1.1\r\n{head}\r\n".encode())
        self._rest = b""
        while b"\r\n\r\n" not in self._rest:
            data = self.socket.recv(65536)
            if not data:
                raise Refused(self._rest.decode())
            self._rest += data
        answer, self._rest = self._rest.split(b"\r\n\r\n", 1)
        first, *rest = answer.decode().split("\r\n")
        self.headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in rest)}
        if first != "HTTP/1.1 101 Switching Protocols":
            raise Refused(int(first.split()[1]), self.headers)
        kit.equal(self.headers["sec-websocket-accept"],
                  base64.b64encode(hashlib.sha1((key + GUID).encode()).digest()).decode())
        self.text = b""  # all binary bytes so far
        self._seen = 0

    def close(self):
        self.socket.close()

    def raw(self, first, payload=b"", masked=True, size=None):
        size = len(payload) if size is None else size
        mask = os.urandom(4) if masked else b""
        bit = 0x80 if masked else 0
        head = bytes([first, bit | size]) if size < 126 else (
            struct.pack("!BBH", first, bit | 126, size) if size < 65536 else struct.pack("!BBQ", first, bit | 127, size))
        if masked:
            payload = bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))
        self.socket.sendall(head + mask + payload)

    def send(self, payload):
        self.raw(0x80 | (TEXT if isinstance(payload, str) else BINARY),
                 payload.encode() if isinstance(payload, str) else payload)

    def _exactly(self, size):
        while len(self._rest) < size:
            data = self.socket.recv(65536)
            if not data:
                raise EOFError
            self._rest += data
        data, self._rest = self._rest[:size], self._rest[size:]
        return data

    def frame(self):
        first, size = self._exactly(2)
        kit.equal(first & 0x70, 0, "bits of an extension")
        kit.true(first & 0x80, "a server of ours sends no parts")
        kit.true(not size & 0x80, "servers do not mask")
        if size == 126:
            (size,) = struct.unpack("!H", self._exactly(2))
        elif size == 127:
            (size,) = struct.unpack("!Q", self._exactly(8))
        return first & 0x0F, self._exactly(size)

    def until(self, part):
        """Reads the terminal until this was printed, after what was waited for before."""
        while (at := self.text.find(part, self._seen)) < 0:
            kind, payload = self.frame()
            if kind == CLOSE:
                kit.fail(f"closed ({payload!r}) before {part!r}: {self.text!r}")
            if kind == BINARY:
                self.text += payload
        self._seen = at + len(part)

    def end(self):
        """Reads up to the close; (code, reason)."""
        while True:
            kind, payload = self.frame()
            if kind == BINARY:
                self.text += payload
            if kind == CLOSE:
                try:
                    self.frame()
                    kit.fail("something comes after the close")
                except EOFError:
                    return struct.unpack("!H", payload[:2])[0], payload[2:].decode()
