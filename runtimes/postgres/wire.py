"""PostgreSQL's protocol 3.0, as much of it as a script needs."""

import _socket


class Lost(Exception):
    """The server ended the connection."""


class Failed(Exception):
    """The server refused it: the fields of its error."""


def number(value, size=4):
    return value.to_bytes(size, "big")


def message(kind, body=b""):
    return kind + number(len(body) + 4) + body


def text(value):
    return value.encode("utf-8", "replace").replace(b"\0", b"") + b"\0"


class Server:
    """A connection over a socket in the file system."""

    def __init__(self, path, user, database):
        self.socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            self.socket.connect(path)
        except OSError:
            raise Lost from None
        options = ("user", user, "database", database, "client_encoding", "UTF8", "application_name", "emberbox")
        body = number(3 << 16) + b"".join(map(text, options)) + b"\0"
        self.buffer = b""
        self.at = 0
        self.send(number(len(body) + 4) + body)
        for kind, body in self.messages():
            if kind == b"E":
                raise Failed(fields(body))

    def send(self, data):
        try:
            self.socket.sendall(data)
        except OSError:
            raise Lost from None

    def need(self, size):
        """So many bytes of the buffer are there, from where it stands."""
        if len(self.buffer) - self.at >= size:
            return
        parts = [self.buffer[self.at :]]
        have = len(parts[0])
        while have < size:
            try:
                data = self.socket.recv(1 << 16)
            except OSError:
                data = b""
            if not data:
                raise Lost
            parts.append(data)
            have += len(data)
        self.buffer, self.at = b"".join(parts), 0

    def messages(self):
        """(kind, body) until the server is ready for a query."""
        while True:
            self.need(5)
            kind = self.buffer[self.at : self.at + 1]
            size = int.from_bytes(self.buffer[self.at + 1 : self.at + 5], "big") + 1
            self.need(size)
            body = self.buffer[self.at + 5 : self.at + size]
            self.at += size
            yield kind, body
            if kind == b"Z":
                return


def listen(path):
    """A socket for short messages."""
    news = _socket.socket(_socket.AF_UNIX, _socket.SOCK_DGRAM)
    news.bind(path)
    news.settimeout(0.002)
    return news


def heard(news, word):
    """Waits for a message, a moment; whether it has the word."""
    try:
        return word in news.recv(4096)
    except OSError:
        return False


def query(server, sql):
    """The answer to a statement without parameters."""
    server.send(message(b"Q", text(sql)))
    return server.messages()


def bound(server, sql, arguments):
    """The same with arguments for its parameters, whose types the server chooses."""
    server.send(message(b"P", b"\0" + text(sql) + number(0, 2)) + message(b"D", b"S\0") + message(b"S"))
    columns, failed = None, False
    for kind, body in server.messages():
        if kind == b"t":
            count = int.from_bytes(body[:2], "big")
        elif kind == b"T":
            columns = body
        elif kind in b"EN":
            failed |= kind == b"E"
            yield kind, body
    if failed:
        return
    if count > len(arguments):
        given = f"{len(arguments)} argument{'s' * (len(arguments) != 1)} given"
        fields = (b"SERROR", b"VERROR", b"C08P01", text(f"Mthe statement has {count} parameters, but {given}")[:-1])
        yield b"E", b"\0".join(fields) + b"\0\0"
        return
    values = [value.encode("utf-8", "surrogateescape") for value in arguments[:count]]
    body = b"\0\0" + number(0, 2) + number(count, 2)
    body += b"".join([number(len(value)) + value for value in values]) + number(0, 2)
    server.send(message(b"B", body) + message(b"E", b"\0" + number(0)) + message(b"S"))
    if columns:
        yield b"T", columns
    yield from server.messages()


def send_copy(server, parts):
    """Data for COPY FROM STDIN."""
    for data in parts:
        for at in range(0, len(data), 1 << 20):
            server.send(message(b"d", data[at : at + (1 << 20)]))
    server.send(message(b"c"))


def columns(body):
    """Names and type oids of a row's columns."""
    names, types, at = [], [], 2
    for _ in range(int.from_bytes(body[:2], "big")):
        end = body.index(b"\0", at)
        names.append(body[at:end].decode("utf-8", "replace"))
        types.append(int.from_bytes(body[end + 7 : end + 11], "big"))
        at = end + 19
    return names, types


def row(body):
    """A row's values as text, None for NULL."""
    values, at = [], 2
    for _ in range(int.from_bytes(body[:2], "big")):
        size = int.from_bytes(body[at : at + 4], "big")
        at += 4
        if size == 0xFFFFFFFF:
            values.append(None)
        else:
            values.append(body[at : at + size].decode("utf-8", "replace"))
            at += size
    return values


def fields(body):
    """An error's or notice's, by their letters."""
    return {part[:1].decode(): part[1:].decode("utf-8", "replace") for part in body.split(b"\0") if part}
