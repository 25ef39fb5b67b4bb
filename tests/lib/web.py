"""A client of the HTTP API on bare sockets, which believes nothing: every answer it reads is checked against
api/openapi.yaml, and one of a path, method or status that is not described there fails the test.

    running = Service(listen=True)
    web = Web(running)                                   # over TCP, with the first token
    answer = web.post("/v1/execute", {"language": "python", "code": "print(1)"})
    kit.equal((answer.status, answer.json["stdout"]), (200, "1\\n"))
    with web.connect() as wire:                          # one connection, for many requests
        wire.send("POST", "/v1/execute", {...}, {"Accept": "text/event-stream"})
        for name, data in wire.events(): ...

Web(running, unix=True) is the same over the Unix socket, where no token is sent.
(The module is not called http: that is the standard library's.)
"""

import functools
import json
import os
import re
import socket
import ssl

import jsonschema
import yaml

import kit

DESCRIPTION = os.path.join(kit.REPO, "api", "openapi.yaml")
GUARDS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
}
MINE = object()  # the client's own token


class Gone(Exception):
    """The connection ended without (all of) an answer."""


def parse(text):
    """JSON as the standard has it: no NaN, no key twice."""

    def pairs(items):
        if len({key for key, _ in items}) != len(items):
            kit.fail(f"a key is there twice: {items!r}")
        return dict(items)

    def constant(name):
        kit.fail(f"{name} is no JSON")

    try:
        return json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    except ValueError as error:
        kit.fail(f"no JSON ({error}): {text[:300]!r}")


# The description


@functools.lru_cache(maxsize=None)
def description():
    with open(DESCRIPTION, encoding="utf-8") as file:
        return yaml.safe_load(file)


def _pointer(*parts):
    return "/" + "/".join(str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def at(pointer):
    """What stands there in the description."""
    found = description()
    for part in pointer[1:].split("/"):
        found = found[part.replace("~1", "/").replace("~0", "~")]
    return found


def _resolve(pointer):
    """The place that a response or a header there is at, which may be another, and what stands there."""
    found = at(pointer)
    return _resolve(found["$ref"][1:]) if "$ref" in found else (pointer, found)


def inline(node):
    """The schema with what its references lead to in their places: older validators resolve them in other ways."""
    if isinstance(node, list):
        return [inline(item) for item in node]
    if not isinstance(node, dict):
        return node
    rest = {key: inline(value) for key, value in node.items() if key != "$ref"}
    if "$ref" not in node:
        return rest
    target = inline(at(node["$ref"][1:]))
    return {"allOf": [target], **rest} if rest else target


@functools.lru_cache(maxsize=None)
def _validator(pointer):
    return jsonschema.Draft202012Validator(inline(at(pointer)))


def conforms(value, pointer, what):
    """The value is as the schema at that place of the description says."""
    error = jsonschema.exceptions.best_match(_validator(pointer).iter_errors(value))
    if error:
        kit.fail(f"{what}: {error.json_path}: {error.message[:400]}")


def operation(method, target):
    """(path of the description, pointer of its operation); None where there is none."""
    path = re.sub(r"^https?://[^/]*", "", target).split("?")[0]
    method = "get" if method == "HEAD" else method.lower()
    for pattern, item in description()["paths"].items():
        # A {path} may have slashes.
        words = re.escape(pattern).replace(r"\{path\}", ".+")
        if re.fullmatch(re.sub(r"\\\{\w+\\\}", "[^/]+", words), path):
            return pattern, _pointer("paths", pattern, method) if method in item else None
    return None, None


def check(method, target, sent, answer):
    """The answer is one that is described, headers and body; a request that was taken, too."""
    what = f"{method} {target[:100]} {answer.status}"
    pattern, place = operation(method, target)
    status = str(answer.status)
    if place and status in _resolve(place)[1]["responses"]:
        pointer, response = _resolve(f"{place}/responses/{status}")
    elif status in at("/info/x-any-request") and (not place or status not in ("404", "405")):
        pointer, response = _resolve(f"/info/x-any-request/{status}")
        kit.true(not pattern or status != "404", f"{what}: the path is described")
        kit.true(pattern or status != "405", f"{what}: the path is not described")
    else:
        kit.fail(f"{what}: this status is not described")
    for name, value in GUARDS.items():
        kit.equal(answer.headers.get(name), value, f"{what}: {name}")
    kit.true(answer.headers.get("cache-control") in ("no-store", "no-cache"), f"{what}: it may be cached")
    for name in response.get("headers", {}):
        where, header = _resolve(f"{pointer}/headers/{name}")
        value = answer.headers.get(name.lower())
        kit.true(value is not None or not header.get("required"), f"{what}: there is no {name}")
        if value is not None:
            conforms(value, where + "/schema", f"{what}: {name}")
    kind = answer.headers.get("content-type")
    kit.true(kind in response["content"], f"{what}: Content-Type {kind} is not described")
    if kind == "application/json" and method != "HEAD":
        conforms(answer.json, f"{pointer}/content/application~1json/schema", what)
    if answer.status == 200 and isinstance(sent, dict):
        conforms(sent, f"{place}/requestBody/content/application~1json/schema", f"{what}: the request")


def check_event(name, data):
    events = "/components/schemas/Events/x-events"
    kit.true(name in _resolve(events)[1], f"event {name} is not described")
    conforms(data, f"{events}/{name}", f"event {name}")


# Answers


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def text(self):
        return self.body.decode()

    @functools.cached_property
    def json(self):
        return parse(self.text)

    @property
    def error(self):
        """(status, code, field or None)"""
        error = self.json.get("error") if isinstance(self.json, dict) else None
        if not isinstance(error, dict):
            kit.fail(f"{self.status} is no error: {self.body[:300]!r}")
        return self.status, error["code"], error.get("field")

    @property
    def message(self):
        return self.json["error"]["message"]

    def __repr__(self):
        return f"{self.status} {self.headers} {self.body[:300]!r}"


class Wire:
    """One connection. Requests are kept until their answer is read: it is checked against what was asked."""

    def __init__(self, connected, token=None, host="127.0.0.1"):
        self.socket, self.token, self.host = connected, token, host
        self._rest, self._asked, self._events = b"", [], None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def head(self, method, target, headers=None, size=None):
        """The bytes of a head. A header that is None is left out."""
        fields = {"Host": self.host}
        if self.token:
            fields["Authorization"] = f"Bearer {self.token}"
        if size is not None:
            fields["Content-Length"] = size
        fields.update(headers or {})
        lines = [f"{name}: {value}" for name, value in fields.items() if value is not None]
        return "\r\n".join([f"{method} {target} HTTP/1.1", *lines, "", ""]).encode("utf-8", "surrogateescape")

    def send(self, method, target, body=None, headers=None):
        """Sends a request and waits for nothing. A body that is no bytes is sent as JSON."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        self.raw(self.head(method, target, headers, None if data is None else len(data)) + (data or b""),
                 method, target, body)

    def raw(self, data, method="GET", target="/", body=None):
        """Bytes as they are, of a request that is to be answered; method None: of none."""
        if method:
            self._asked.append((method, target, body))
        self.socket.sendall(data)

    def _more(self):
        try:
            data = self.socket.recv(1 << 16)
        except (ConnectionError, ssl.SSLError):
            data = b""
        if not data:
            raise Gone
        self._rest += data

    def _exactly(self, size):
        while len(self._rest) < size:
            self._more()
        data, self._rest = self._rest[:size], self._rest[size:]
        return data

    def _until(self, mark):
        while mark not in self._rest:
            kit.true(len(self._rest) < 1 << 16, f"there is no end in {self._rest[:300]!r}")
            self._more()
        data, _, self._rest = self._rest.partition(mark)
        return data

    def _chunk(self):
        """One chunk; empty: it was the last."""
        size = self._until(b"\r\n")
        kit.true(re.fullmatch(rb"[0-9a-f]+", size), f"no size of a chunk: {size!r}")
        data = self._exactly(int(size, 16))
        kit.equal(self._exactly(2), b"\r\n")
        return data

    def _read_head(self):
        first, *lines = self._until(b"\r\n\r\n").decode().split("\r\n")
        match = re.fullmatch(r"HTTP/1\.1 ([1-5][0-9][0-9]) [A-Z][A-Za-z -]+", first)
        kit.true(match, f"no status line: {first!r}")
        headers = {}
        for line in lines:
            field = re.fullmatch(r"([A-Za-z-]+): ([\x20-\x7e]+)", line)
            kit.true(field and field.group(1).lower() not in headers, f"no header, or there twice: {line!r}")
            headers[field.group(1).lower()] = field.group(2)
        return int(match.group(1)), headers

    def interim(self):
        """100 Continue, which is no answer yet."""
        status, headers = self._read_head()
        kit.equal((status, headers), (100, {}))

    def answer(self):
        """The next answer, whole."""
        method, target, sent = self._asked.pop(0)
        status, headers = self._read_head()
        body = b""
        if method != "HEAD" and "transfer-encoding" in headers:
            kit.equal((headers["transfer-encoding"], "content-length" in headers), ("chunked", False))
            while chunk := self._chunk():
                body += chunk
        elif method != "HEAD":
            kit.true("content-length" in headers, f"its size is not said: {headers}")
            body = self._exactly(int(headers["content-length"]))
        found = Answer(status, headers, body)
        check(method, target, sent, found)
        return found

    def request(self, method, target, body=None, headers=None):
        self.send(method, target, body, headers)
        return self.answer()

    def get(self, target, headers=None):
        return self.request("GET", target, None, headers)

    def post(self, target, body, headers=None):
        return self.request("POST", target, body, headers)

    def stream(self, target, body=None, headers=None, method="POST"):
        """Asks for events and reads the head of the answer; an Answer if it is none."""
        headers = {"Accept": "text/event-stream", **(headers or {})}
        self.send(method, target, body, headers)
        status, got = self._read_head()
        if got.get("content-type") != "text/event-stream":
            self._asked.pop(0)
            found = Answer(status, got, self._exactly(int(got["content-length"])))
            check(method, target, body, found)
            return found
        self._asked.pop(0)
        kit.equal((status, got["transfer-encoding"]), (200, "chunked"))
        found = Answer(status, got, b"")
        check(method, target, body, found)
        return found

    def event(self):
        """The next event, (name, object), as soon as it is there; None at the end."""
        while b"\n\n" not in (self._events or b""):
            chunk = self._chunk()
            if not chunk:
                kit.equal(self._events or b"", b"", "half an event")
                self._events = None
                return None
            self._events = (self._events or b"") + chunk
        text, _, self._events = self._events.partition(b"\n\n")
        lines = text.decode().split("\n")
        if lines[0].startswith(":"):
            kit.equal(len(lines), 1)
            return None, lines[0]
        kit.true(lines[0].startswith("event: ") and all(line.startswith("data: ") for line in lines[1:]),
                 f"no event: {text!r}")
        data = parse("\n".join(line[6:] for line in lines[1:]))
        check_event(lines[0][7:], data)
        return lines[0][7:], data

    def events(self):
        """All up to the end, without signs of life."""
        while (found := self.event()) is not None:
            if found[0]:
                yield found

    def until(self, name):
        """The data of the first event of a name."""
        for found, data in self.events():
            if found == name:
                return data
            kit.true(found not in ("result", "error"), f"{found} came before {name}: {data!r}")
        kit.fail(f"no event {name} came")

    def ended(self):
        """Nothing more is sent: the connection was closed by the other side."""
        try:
            self._more()
        except Gone:
            return not self._rest
        return False


class Web:
    """Where a service is, and with which token it is asked."""

    def __init__(self, running, unix=False, token=MINE, timeout=30, tls=None):
        self.running, self.unix, self.timeout, self.tls = running, unix, timeout, tls
        self.token = (None if unix else running.token) if token is MINE else token

    def connect(self, timeout=None):
        if self.unix:
            connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connected.settimeout(timeout or self.timeout)
            connected.connect(self.running.path)
            return Wire(connected, self.token, "localhost")
        host, port = self.running.address
        connected = socket.create_connection((host, port), timeout or self.timeout)
        if self.tls:
            connected = self.tls.wrap_socket(connected, server_hostname=host)
        return Wire(connected, self.token, f"{host}:{port}")

    def request(self, method, target, body=None, headers=None):
        with self.connect() as wire:
            return wire.request(method, target, body, headers)

    def get(self, target, headers=None):
        return self.request("GET", target, None, headers)

    def post(self, target, body, headers=None):
        return self.request("POST", target, body, headers)

    def run(self, code, language="bash", **fields):
        """The result of some code, which is run in any case."""
        found = self.post("/v1/execute", {"language": language, "code": code, **fields})
        kit.equal(found.status, 200, found.body[:300])
        return found.json

    def limits_cpu(self):
        """Whether the service can: an ordinary user needs a control group of its own, which few have."""
        layers = self.get("/v1/doctor").json["layers"]
        return ("cgroup", "enforced") in [(layer["name"], layer["state"]) for layer in layers]
