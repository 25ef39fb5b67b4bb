#!/usr/bin/python3
# tests/run: args=--as root
# tests/run: builds=release asan
# tests/run: timeout=400
"""Bad input, generated from api/openapi.yaml: for each path and each field and parameter that it describes, values of every
kind. What the description does not allow is refused with 400 and the field's name; what it allows is never a 5xx; and
nothing hangs. A path that is added without a good request here fails the test."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import jsonschema
import kit
from service import Service
from web import Web, _inline, description

NUL = "a\0b"
DEEP = 100000
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
        self.wire = Web(self.running).connect()
        self.session = self.ask("POST", "/v1/sessions", {"language": "bash"}).json["id"]
        self.container = self.ask("POST", "/containers/start", {"container": "shell"}).json["id"]
        self.run = self.ask("POST", "/v1/execute", {"language": "bash", "code": "echo 1; echo 2 >/sandbox/output/f"}).json["id"]

    def ask(self, method, target, body=None, headers=None):
        try:
            return self.wire.request(method, target, body, headers)
        except TimeoutError:
            kit.fail(f"no answer to {method} {target} {str(body)[:300]} {headers}")

    def request(self, path):
        """A good one, as {field: value}, of each path that takes JSON."""
        hello = {"code": "echo 1"}
        return {
            "/v1/execute": {"language": "bash", **hello}, "/v1/check": {"language": "bash", **hello}, "/v1/detect": {"message": "run it"},
            "/v1/sessions": {"language": "nonesuch"}, "/v1/sessions/{id}/execute": hello, "/v1/sessions/{id}/input": {"data": "x"},
            "/v1/sessions/{id}/interrupt": {}, "/v1/sessions/{id}/restart": {}, "/v1/sessions/{id}/complete": {"code": "ec", "cursor": 2},
            "/v1/sessions/{id}/inspect": {"code": "echo", "cursor": 2}, "/v1/sessions/{id}/files/{path}": {"move": "data/moved"},
            "/containers/start": {"container": "nonesuch"}, "/containers/exec": {"id": self.container, **hello},
            "/containers/stop": {"id": "nonesuch"}, "/containers/cleanup": {},
        }[path]

    def target(self, path):
        id = self.session if path.startswith("/v1/sessions") else self.run
        return path.replace("{id}", id).replace("{path}", "data/f")


def operations(kind=None):
    """(method, path, operation, parameters of both) of all that are described; of those with a body of that kind."""
    for path, item in description()["paths"].items():
        for method, found in item.items():
            if method in ("get", "post", "put", "delete"):
                parameters = [_inline(one) for one in item.get("parameters", []) + found.get("parameters", [])]
                body = found.get("requestBody", {}).get("content", {})
                if not kind or kind in body:
                    yield method.upper(), path, _inline(body.get(kind, {}).get("schema", {})), parameters


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


def taken(path):
    """JSON paths but for MCP's, which has its own errors and tests."""
    return path != "/mcp"


@kit.test(timeout=180)
def every_value_of_every_field():
    api, wrong, count = Api(), [], 0
    for method, path, schema, _ in operations("application/json"):
        if not taken(path):
            continue
        validator = jsonschema.Draft202012Validator(schema)
        base = api.request(path)
        for name in fields(schema):
            for value in VALUES:
                request = nested(base, name, value)
                answer = api.ask(method, api.target(path), request)
                count += 1
                allowed = validator.is_valid(request)
                what = f"{method} {path} {name}={str(value)[:40]!r}"
                if answer.status >= 500:
                    wrong.append(f"{what}: {answer.status} {answer.body[:200]}")
                elif not allowed and answer.status < 400:
                    wrong.append(f"{what}: {answer.status}, and the description does not allow it")
                elif not allowed and (answer.error[0] != 400 or answer.error[2] is None):
                    wrong.append(f"{what}: {answer.error} {answer.message[:100]}")
                elif answer.status == 400 and (answer.error[2] or "").split(".")[0] != name.split(".")[0] :
                    wrong.append(f"{what}: names {answer.error[2]}: {answer.message[:100]}")
    print(count, file=sys.stderr)
    kit.equal(len(wrong), 0, "\n".join(wrong[:400]))


kit.main()
