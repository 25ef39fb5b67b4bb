#!/usr/bin/python3
# tests/run: args=--as root
# tests/run: builds=release asan
# tests/run: timeout=400
"""Bad input, generated from api/openapi.yaml: for each path and each field and parameter that it describes, values of every
kind. What the description does not allow is refused with 400 and the field's name; what it allows is never a 5xx; and
nothing hangs. A path that is added without a good request here fails the test."""

import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import jsonschema
import kit
from service import Service
from web import Gone, Web, description, inline

NUL = "a\0b"
DEEP = 3000  # more than any is read
VERY_DEEP = 100000
UPGRADE = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "MDEyMzQ1Njc4OTAxMjM0NQ=="}
REGISTRY = """
containers:
  shell: {language: bash, resources: {memory: 64m, timeout: 20}}
"""
# What a field is given, whatever it is.
VALUES = (None, True, False, 0, 1, -1, 1.5, -0.5, 1e300, 2**53, -(2**63), 10**25, "", "x", "nonesuch", "-1", "1e3", "NaN", "0x10", " 1", NUL,
          "x" * 5000, "..", "../x", "é\u2028\U0001f600", [], [[]], ["x"], [NUL], [1], [None], {}, {"x": 1}, {"": ""}, {"x": NUL}, {"x": {"x": {}}})
# The same in a query; what it means to the service stands beside.
TEXTS = (("", ""), ("x", "x"), ("-1", "-1"), ("0", "0"), ("1", "1"), ("1.5", "1.5"), ("1e2", "1e2"), ("NaN", "NaN"), ("9" * 30, "9" * 30),
         ("%201", " 1"), ("..", ".."), ("%2e%2e%2f", "../"), ("%27%20or%201=1", "' or 1=1"), ("x" * 300, "x" * 300))
BROKEN = ("%00", "%ff", "%", "%zz", "%c0%80", "%ed%a0%80", "a%00b")
IDS = ("nonesuch", "%2e%2e", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "%00", "%ff", "x" * 2000, "'", "%20", "-", "0" * 26, "Z" * 26, "01%0d%0aX:1", "%25")


class Api:
    """A service, and what is needed to ask it anything."""

    def __init__(self):
        home = kit.tmp()
        kit.write(os.path.join(home, "registry.yaml"), REGISTRY, 0o600)
        self.running = Service(listen=True, home=home)
        self.web = Web(self.running)
        self.wire = self.web.connect()
        self.session = self.ask("POST", "/v1/sessions", {"language": "bash"}).json["id"]
        self.container = self.ask("POST", "/containers/start", {"container": "shell"}).json["id"]
        # One that runs for as long as it is asked.
        self.alive = self.web.connect()
        self.alive.stream("/v1/execute", {"language": "bash", "code": "exec sleep 600", "input": "stream", "timeout": 600})
        self.asks = self.alive.until("start")["id"]
        self.run = self.ask("POST", "/v1/execute", {"language": "bash", "code": "echo 1; echo 2 >/sandbox/output/f"}).json["id"]

    def ask(self, method, target, body=None, headers=None, data=None):
        """The answer; `data`: to a body as it stands. A connection that was closed, as the answer says, is made again."""
        try:
            if data is None:
                self.wire.send(method, target, body, headers)
            else:
                self.wire.raw(self.wire.head(method, target, None, len(data)) + data, method, target)
            answer = self.wire.answer()
        except (TimeoutError, Gone) as error:
            kit.fail(f"no answer to {method} {target[:200]} {str(body)[:300]} {str(data)[:100]}: {error!r}")
        if answer.headers.get("connection") == "close":
            self.wire.close()
            self.wire = self.web.connect()
        return answer

    def request(self, path):
        """A good one, as {field: value}, of each path that takes JSON."""
        hello = {"code": "echo 1"}
        return {
            "/v1/execute": {"language": "bash", **hello}, "/v1/check": {"language": "bash", **hello}, "/v1/detect": {"message": "run it"},
            "/v1/executions/{id}/input": {"data": "x"}, "/v1/sessions": {"language": "bash"}, "/v1/sessions/{id}/execute": hello, "/v1/sessions/{id}/input": {"data": "x"},
            "/v1/sessions/{id}/interrupt": {}, "/v1/sessions/{id}/restart": {}, "/v1/sessions/{id}/complete": {"code": "ec", "cursor": 2},
            "/v1/sessions/{id}/inspect": {"code": "echo", "cursor": 2}, "/v1/sessions/{id}/files/{path}": {"move": "data/moved"},
            "/containers/start": {"container": "shell"}, "/containers/exec": {"id": self.container, **hello},
            "/containers/stop": {"id": "nonesuch"}, "/containers/cleanup": {},
        }[path]

    def target(self, path):
        id = self.session if path.startswith("/v1/sessions") else self.asks if path.endswith("/input") else self.run
        return path.replace("{id}", id).replace("{path}", "data/f")


def operations(kind=None):
    """(method, path, operation, parameters of both) of all that are described; of those with a body of that kind."""
    for path, item in description()["paths"].items():
        if path == "/mcp":  # its errors are JSON-RPC's, and it has its own tests
            continue
        for method, found in item.items():
            if method in ("get", "post", "put", "delete"):
                parameters = [inline(one) for one in item.get("parameters", []) + found.get("parameters", [])]
                body = found.get("requestBody", {}).get("content", {})
                if not kind or kind in body:
                    yield method.upper(), path, inline(body.get(kind, {}).get("schema", {})), parameters


def properties(schema):
    """All that stand in it, wherever, with their schemas."""
    found = dict(schema.get("properties", {}))
    for part in schema.get("allOf", []) + schema.get("anyOf", []) + schema.get("oneOf", []):
        found.update(properties(part))
    return found


def fields(schema, before=""):
    """Their names, "limits.cpus" of one within limits."""
    for name, one in properties(schema).items():
        yield before + name
        if not before:
            yield from fields(one, f"{name}.")


def nested(base, name, value):
    outer, _, inner = name.partition(".")
    rest = {key: kept for key, kept in base.items() if key != outer}
    return {**rest, outer: {inner: value} if inner else value}


def tidy(api, path, answer):
    """What a request made that was taken is ended: there is a bound to how many live."""
    if answer.status == 201 and path == "/v1/sessions":
        api.ask("DELETE", f"/v1/sessions/{answer.json['id']}")
    elif answer.status == 200 and path == "/containers/start":
        # Events, too, if it was asked for them.
        api.ask("POST", "/containers/stop", {"id": re.search(r'"id":"(\w+)","container"', answer.text)[1]})


def judge(answer, what, name, allowed):
    """What is wrong with it, as a list."""
    if answer.status >= 500:
        return [f"{what}: {answer.status} {answer.body[:200]}"]
    if answer.status < 400:
        return [] if allowed else [f"{what}: {answer.status}, and the description does not allow it"]
    status, code, field = answer.error
    if status == 404 and field == name and field in ("id", "container", "session"):
        return []  # a text that is nobody's id
    if not allowed and status != 400:
        return [f"{what}: {status} {answer.message[:100]}"]
    if status == 400 and field != name and not (field or "").startswith((f"{name}.", f"{name}[")):
        return [f"{what}: names {field}: {answer.message[:100]}"]
    if status == 400 and code == "bad_request" and not re.match(re.escape(field) + "(:| has to be) ", answer.message):
        return [f"{what}: {answer.message[:100]}"]
    return []


@kit.test(timeout=180)
def every_value_of_every_field():
    api, wrong, refused, count = Api(), [], 0, 0
    for method, path, schema, _ in operations("application/json"):
        validator = jsonschema.Draft202012Validator(schema)
        base = api.request(path)
        for name in fields(schema):
            for value in VALUES:
                request = nested(base, name, value)
                answer = api.ask(method, api.target(path), request)
                allowed = validator.is_valid(request)
                # What is small is told as the whole: {"base64": …}, {"rows": …, "cols": …}.
                told = name if name.startswith("limits.") else name.split(".")[0]
                wrong += judge(answer, f"{method} {path} {name}={str(value)[:40]!r}", told, allowed)
                tidy(api, path, answer)
                count, refused = count + 1, refused + (not allowed)
    kit.equal(len(wrong), 0, "\n".join(wrong[:40]))
    kit.true(count > 3000 and refused > count / 2, f"{count} requests, of which {refused} are not allowed")
    kit.equal(api.ask("POST", "/v1/execute", {"language": "bash", "code": "echo on"}).json["stdout"], "on\n")


@kit.test(timeout=180)
def what_is_no_json_is_the_bodys_fault():
    """NaN, numbers without end, bytes that are no text, nesting without end, a field twice: of each field of each path."""
    api, wrong = Api(), []
    texts = (b"NaN", b"-Infinity", b"1e999", b"9" * 400, b'"\xff"', b'"\xc0\x80"', b'"\\ud800"', b'"a\0b"', b"'x'", b"tru", b"01", b"1\0", b"[1,]",
             b"[" * DEEP + b"]" * DEEP, b'{"a":' * DEEP)
    for method, path, schema, _ in operations("application/json"):
        base = api.request(path)
        for name in fields(schema):
            outer, _, inner = name.partition(".")
            told = name if outer == "limits" else outer
            rest = "".join(f"{json.dumps(key)}: {json.dumps(value)}, " for key, value in base.items() if key != outer).encode()
            for text in texts:
                value = b'{"%s": %s}' % (inner.encode(), text) if inner else text
                answer = api.ask(method, api.target(path), data=b'{%s"%s": %s}' % (rest, outer.encode(), value))
                what = f"{method} {path} {name}={text[:20]}"
                if answer.status == 413 and len(text) > 4096:
                    continue  # a path that takes little
                # A number that is too large is JSON, and the field's.
                named = answer.error[2] in (told, f"{told}.a", name) if text in (b"1e999", b"9" * 400) else (
                    answer.error[2] is None and re.match(r"the body is not JSON: line 1, column \d+: .", answer.message))
                if answer.error[:2] != (400, "bad_request") or not named:
                    wrong.append(f"{what}: {answer.error} {answer.message[:120]}")
            if not inner:
                answer = api.ask(method, api.target(path), data=b'{%s"%s": "x", "%s": "x"}' % (rest, name.encode(), name.encode()))
                if answer.error != (400, "bad_request", name) or "twice" not in answer.message:
                    wrong.append(f"{method} {path} {name} twice: {answer.error} {answer.message[:120]}")
    kit.equal(len(wrong), 0, "\n".join(wrong[:40]))


@kit.test(timeout=60)
def what_is_needed_and_what_is_unknown():
    api, wrong = Api(), []
    for method, path, schema, _ in operations("application/json"):
        base = api.request(path)
        answer = api.ask(method, api.target(path), {**base, "nonesuch": 1})
        wrong += judge(answer, f"{method} {path} unknown", "nonesuch", False)
        validator = jsonschema.Draft202012Validator(schema)
        for name in base:
            request = {key: value for key, value in base.items() if key != name}
            answer = api.ask(method, api.target(path), request)
            wrong += judge(answer, f"{method} {path} without {name}", name, validator.is_valid(request))
            tidy(api, path, answer)
        for data in (b"", b"{", b"[]", b'"x"', b"null", b"\xff", b"{}{}", b"{'a':1}", b"[" * VERY_DEEP, b'{"language":' + b"[" * VERY_DEEP, b"\xef\xbb\xbf{}", "{}".encode("utf-16")):
            answer = api.ask(method, api.target(path), data=data)
            # Of some paths all fields may be left out, and the body with them.
            if answer.status != 400 and not (data == b"" and answer.status < 300) and not (answer.status == 413 and len(data) > 4096):
                wrong.append(f"{method} {path} {data[:20]!r}: {answer.status} {answer.body[:100]}")
    kit.equal(len(wrong), 0, "\n".join(wrong[:40]))


@kit.test(timeout=120)
def every_value_of_every_parameter():
    api, wrong, count = Api(), [], 0
    for method, path, _, parameters in operations():
        queries = {one["name"]: one["schema"] for one in parameters if one["in"] == "query"}
        target = api.target(path)
        headers = UPGRADE if path.endswith("/terminal") else None
        # A path that is taken by a WebSocket, or whose answer does not end, is asked for its refusals only.
        for name, schema in queries.items():
            validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
            for text, meant in TEXTS:
                value = int(meant) if schema.get("type") == "integer" and re.fullmatch(r"-?\d{1,18}", meant) else meant
                allowed = validator.is_valid(value)
                if allowed and (name == "watch" or path.endswith("/terminal")):
                    continue
                answer = api.ask(method, f"{target}?{name}={text}", headers=headers)
                wrong += judge(answer, f"{method} {path}?{name}={text[:30]}", name, allowed)
                count += 1
            for text in BROKEN:
                answer = api.ask(method, f"{target}?{name}={text}", headers=headers)
                wrong += judge(answer, f"{method} {path}?{name}={text}", name, False)
            answer = api.ask(method, f"{target}?{name}=1&{name}=1", headers=headers)
            wrong += judge(answer, f"{method} {path}?{name} twice", name, False)
        if queries:
            answer = api.ask(method, f"{target}?nonesuch=1", headers=headers)
            wrong += judge(answer, f"{method} {path}?nonesuch", "nonesuch", False)
    kit.equal(len(wrong), 0, "\n".join(wrong[:60]))
    kit.true(count > 100, f"only {count}")


@kit.test(timeout=120)
def ids_that_nobody_has():
    api, wrong, count = Api(), [], 0
    for method, path, _, parameters in operations():
        for name in (one["name"] for one in parameters if one["in"] == "path"):
            for id in IDS:
                target = path.replace(f"{{{name}}}", id).replace("{id}", api.session if "sessions" in path else api.run).replace("{path}", "data/f")
                body = api.request(path) if method == "POST" else b"" if method == "PUT" else None
                answer = api.ask(method, target, body)
                count += 1
                if answer.status >= 500 or (answer.status < 400 and name == "id"):
                    wrong.append(f"{method} {target[:80]}: {answer.status} {answer.body[:100]}")
    kit.equal(len(wrong), 0, "\n".join(wrong[:40]))
    kit.true(count > 200, f"only {count}")


kit.main()
