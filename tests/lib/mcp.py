"""Clients of MCP without any code of ours or of anybody's SDK: over HTTP, and over a pipe to `emberbox mcp`.

    client = Http(running)                           # the revision of 2025, which begins with initialize
    client = Http(running, modern=True)              # that of 2026
    client = Pipe(home)                              # lines on stdin and stdout
    result = client.call("run_code", {"language": "python", "code": "print(1)"})

Every result of a tool is checked against the outputSchema that the tool declares.
"""

import http.client
import json
import os
import queue
import socket
import subprocess
import threading

import jsonschema

import kit

MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
INFO = {"name": "test", "version": "1"}


class Refused(Exception):
    """A JSON-RPC error; `status` is HTTP's, `data` what came with it."""

    def __init__(self, error, status=None):
        super().__init__(error["message"])
        self.code, self.data, self.status = error["code"], error.get("data"), status


class _Client:
    modern = False

    def __init__(self, capabilities):
        self.capabilities = capabilities
        self._number = 0
        self._tools = None

    def _meta(self):
        return {META + "protocolVersion": MODERN, META + "clientCapabilities": self.capabilities, META + "clientInfo": INFO}

    def message(self, method, params=None, id=None):
        params = dict(params or {})
        if self.modern:
            params["_meta"] = {**self._meta(), **params.get("_meta", {})}
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if id is not None:
            message["id"] = id
        return message

    def next_id(self):
        self._number += 1
        return self._number

    def hello(self):
        """What initialize answers."""
        result = self.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": self.capabilities,
                                             "clientInfo": INFO})
        self.notify("notifications/initialized")
        return result

    def tools(self):
        if self._tools is None:
            self._tools = {tool["name"]: tool for tool in self.request("tools/list")["tools"]}
        return self._tools

    def checked(self, name, result):
        """A tool's result, if it is as the tool says."""
        kit.true(result["content"], f"{name}: no content")
        for block in result["content"]:
            kit.contains(("text", "image", "resource_link"), block["type"])
        schema = self.tools()[name]["outputSchema"]
        if "structuredContent" in result:
            jsonschema.Draft202012Validator(schema).validate(result["structuredContent"])
        else:
            kit.equal(result.get("isError"), True, f"{name}: no structuredContent, and no error")
        return result

    def call(self, name, arguments=None, **params):
        self.tools()
        result = self.request("tools/call", {"name": name, "arguments": arguments or {}, **params})
        return result if result.get("resultType") == "input_required" else self.checked(name, result)

    def run(self, language, code, **arguments):
        return self.call("run_code", {"language": language, "code": code, **arguments})


def text(result):
    return result["content"][0]["text"]


class Answer:
    def __init__(self, status, headers, messages, body):
        self.status, self.headers, self.messages, self.body = status, headers, messages, body


class Http(_Client):
    def __init__(self, running, modern=False, capabilities=None, token=None, hello=True, unix=False, timeout=60):
        super().__init__(capabilities if capabilities is not None else {})
        self.modern, self.session, self.running, self.unix = modern, None, running, unix
        self.token = token or (None if unix else running.token)
        self.timeout = timeout
        self.asked = None  # answers requests of the server: called with the message, returns a result
        self.notified = []
        if hello and not modern:
            self.hello()

    def connect(self):
        if not self.unix:
            return http.client.HTTPConnection(*self.running.address, timeout=self.timeout)
        connection = http.client.HTTPConnection("localhost", timeout=self.timeout)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(self.timeout)
        connection.sock.connect(self.running.path)
        return connection

    def headers(self, message, more):
        headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if self.session:
            headers["Mcp-Session-Id"] = self.session
            headers["MCP-Protocol-Version"] = "2025-11-25"
        if self.modern and isinstance(message, dict):
            params = message.get("params", {})
            headers["MCP-Protocol-Version"] = MODERN
            headers["Mcp-Method"] = message.get("method", "")
            if "name" in params or "uri" in params:
                headers["Mcp-Name"] = params.get("name", params.get("uri"))
        headers.update(more or {})
        return {name: value for name, value in headers.items() if value is not None}

    def begin(self, message, headers=None):
        """Sends a message; the response, whose body is still to be read, and its connection."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        connection = self.connect()
        connection.request("POST", "/mcp", body, self.headers(message, headers))
        return connection.getresponse(), connection

    def events(self, response):
        """Messages of an event stream as they come."""
        lines = []
        while line := response.readline():
            line = line.decode().rstrip("\n")
            if line:
                lines.append(line)
                continue
            if lines and not lines[0].startswith(":"):
                kit.equal([part.split(": ")[0] for part in lines], ["event", "data"], "an event has two lines and no id")
                kit.equal(lines[0], "event: message")
                yield json.loads(lines[1][6:])
            lines = []

    def post(self, message, headers=None):
        response, connection = self.begin(message, headers)
        kind = response.getheader("Content-Type")
        messages, body = [], b""
        if kind == "text/event-stream":
            for one in self.events(response):
                messages.append(one)
                if "method" in one and "id" in one:
                    self.post({"jsonrpc": "2.0", "id": one["id"], "result": self.asked(one)})
        else:
            body = response.read()
            if kind == "application/json":
                messages.append(json.loads(body))
        connection.close()
        return Answer(response.status, response.headers, messages, body)

    def request(self, method, params=None, headers=None, id=None):
        id = id if id is not None else self.next_id()
        answer = self.post(self.message(method, params, id), headers)
        self.session = answer.headers.get("Mcp-Session-Id") or self.session
        kit.true(answer.messages, f"{method}: {answer.status} {answer.body!r}")
        last = answer.messages[-1]
        self.notified = answer.messages[:-1]
        if "error" in last and "jsonrpc" in last:
            kit.equal(last.get("id"), id)
            raise Refused(last["error"], answer.status)
        kit.equal((answer.status, last.get("jsonrpc"), last.get("id")), (200, "2.0", id))
        if self.modern:
            kit.contains(("complete", "input_required"), last["result"]["resultType"])
            kit.equal(last["result"]["_meta"][META + "serverInfo"]["name"], "emberbox")
        return last["result"]

    def notify(self, method, params=None):
        answer = self.post(self.message(method, params))
        kit.equal((answer.status, answer.body), (202, b""))


class Pipe(_Client):
    """`emberbox mcp`, as clients start it: with few variables, and a pipe at each end."""

    def __init__(self, home, modern=False, capabilities=None, hello=True, options=(), env=None):
        super().__init__(capabilities if capabilities is not None else {})
        self.modern = modern
        env = {"EMBERBOX_HOME": home, **(env or {})}
        self.process = kit.start([kit.built(), "mcp", *options], env=env, stdin=subprocess.PIPE)
        self._lines = queue.Queue()
        self._kept = []
        threading.Thread(target=self._read, daemon=True).start()
        if hello and not modern:
            self.hello()

    def _read(self):
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def send(self, message):
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def receive(self, timeout=30):
        """The next message; None at the end."""
        try:
            line = self._lines.get(timeout=timeout)
        except queue.Empty:
            kit.fail(f"no message within {timeout} s")
        return None if line is None else json.loads(line)

    def answer(self, id, timeout=30):
        """The answer to a request, and what came before it."""
        before = []
        while True:
            message = self.receive(timeout)
            if message is None:
                kit.fail(f"ended without an answer to {id!r}")
            if message.get("id") == id and "method" not in message:
                return message, before
            before.append(message)

    def request(self, method, params=None):
        id = self.next_id()
        self.send(self.message(method, params, id))
        message, self.notified = self.answer(id)
        if "error" in message:
            raise Refused(message["error"])
        return message["result"]

    def notify(self, method, params=None):
        self.send(self.message(method, params))

    def end(self, timeout=10):
        """Closes its stdin; its exit code, and what it said on stderr."""
        self.process.stdin.close()
        code = self.process.wait(timeout)
        return code, self.process.stderr.read().decode() if self.process.stderr else ""
