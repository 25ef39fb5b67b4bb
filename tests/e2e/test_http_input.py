#!/usr/bin/python3
# tests/run: args=--as root
# tests/run: builds=release asan
# tests/run: timeout=240
"""Bad input: every field of every path, by every kind of mistake: 400 with the field's name, and it goes on."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from service import Service
from web import Web

HELLO = {"language": "bash", "code": "echo hello"}
NUL = "a\0b"
REGISTRY = """
containers:
  shell:
    description: a shell
    language: bash
    resources: {memory: 64m, timeout: 20}
"""

# What each kind of field does not take.
NO_TEXT = (5, -1, 1.5, True, None, [], {}, ["x"], NUL)
NO_CONTENT = (5, True, None, [], {}, {"base64": 5}, {"base64": "!!!!"}, {"base64": "QQ"}, {"base64": "QR=="},
              {"text": "x"}, {"base64": "", "x": 1})
NO_WORDS = ("x", 5, None, {}, [5], [None], [["x"]], ["ok", NUL])
NO_BOOL = (0, 1, "true", None, [], {})
NO_NUMBER = (-1, 0, -0.5, 1e300, 1e12, "", "x", "-1", "1e3", "0x10", "NaN", "inf", " 1", "1 ", NUL, True, None, [], {})
NO_PATHS = ("../x", "/etc/x", "a/../../b", "..", ".", "", "a//b", "a/", "x" * 5000, "a/" * 3000 + "b", "a/./b")

# field: values that are refused with its name.
EXECUTE = {
    "language": NO_TEXT + ("", "nonesuch", "../python", "bash\n", "x" * 10000),
    "code": NO_CONTENT,
    "stdin": NO_CONTENT,
    "args": NO_WORDS,
    "env": ("x", 5, None, [], {"A": 5}, {"A": None}, {"A": []}, {"": "x"}, {"A=B": "x"}, {"A": NUL}),
    "files": ("x", 5, None, [], {"f": 5}, {"f": None}, {"f": {}}, {"f": {"base64": "!"}}, {"f": {"mode": "644"}},
              {"f": {"base64": "", "mode": "rwx"}}, {"f": {"base64": "", "mode": 420}},
              {"f": {"base64": "", "mode": "7777"}}, {"d": "x", "d/f": "y"}) + tuple({path: "x"} for path in NO_PATHS),
    "timeout": NO_NUMBER,
    "memory_limit": NO_NUMBER + ("1x", "1"),
    "limits": ("x", 5, None, []),
    "limits.timeout": NO_NUMBER,
    "limits.cpu_time": NO_NUMBER,
    "limits.memory": NO_NUMBER + ("1x",),
    "limits.cpus": NO_NUMBER,
    "limits.pids": NO_NUMBER + (1.5,),
    "limits.disk": NO_NUMBER + ("1x",),
    "limits.max_output": NO_NUMBER + ("1x",),
    "limits.nonesuch": (1,),
    "network": (5, True, None, [], {}, "", "host", "*.com", "a.example:0", "http://a.example", "1.2.3.4"),
    "network.allow": (5, None, "x", [], {}),
    "secrets": (5, "x", {}, True),
    "read_only": NO_BOOL,
    "profile": NO_TEXT + ("", "nonesuch", "x" * 100),
    "filename": NO_TEXT + ("", "..", "a/b", "/x"),
    "entry": NO_TEXT + ("", "../x", "/x"),
    "check": NO_BOOL,
    "allow_weaker": NO_WORDS + (["nonesuch"],),
    "stream": NO_BOOL,
    "input": ("x", 5, None),
    "command": ("ls", 5, ""),
    "packages": NO_WORDS + (["x"],),
    "image": (5, True, None, [], {}, "x", "python:3", NUL),
    "engine": NO_TEXT + ("", "docker", "e2b", "cluster", "x"),
    "session": NO_TEXT + ("x",),
    "confirm": NO_TEXT + ("", "x" * 500),
    "nonesuch": (1, None, "x"),
    "codee": ("x",),
    "": (1,),
}


def nested(base, name, value):
    """The request with the field; "limits.cpus" is within limits."""
    outer, _, inner = name.partition(".")
    request = {key: kept for key, kept in base.items() if key != outer}
    return dict(request, **{outer: {inner: value} if inner else value})


# Not the wrong kind, but nobody's: field and value, and the status.
NOT_FOUND = {("session", "x"): 404}


def refused(wire, path, base, fields, odd=()):
    """Each value is refused with 400, or as `odd` says, and the field's name, in a sentence that begins with it."""
    wrong = []
    for name, values in fields.items():
        for value in values:
            answer = wire.post(path, nested(base, name, value))
            got = answer.error if answer.status != 200 else (200, answer.json["status"], None)
            want = odd.get((name, str(value)), 400) if odd else 400
            if got[0] != want or (got[2] or "") != name or not answer.message.strip():
                wrong.append(f"{name}={str(value)[:60]!r}: {got}" +
                             (f" {answer.message[:100]}" if answer.status != 200 else ""))
    kit.equal(len(wrong), 0, f"{path}: " + "; ".join(wrong[:40]))


@kit.test(timeout=60)
def every_field_of_execute():
    running = Service(listen=True)
    with Web(running).connect() as wire:
        refused(wire, "/v1/execute", HELLO, EXECUTE, NOT_FOUND)
        # What was refused leaves the connection and the service as they were.
        kit.equal(wire.post("/v1/execute", HELLO).json["stdout"], "hello\n")
        kit.equal(wire.get("/v1/health").json["status"], "ok")


@kit.test
def sentences_say_what_was_expected():
    running = Service(listen=True)
    with Web(running).connect() as wire:
        for request, field, message in (
            ({}, "language", "language: it is not set; name one, such as python"),
            ({"language": 5}, "language", "language: expected a string, not a number"),
            (dict(HELLO, codee="x"), "codee", "codee: there is no such field; did you mean code?"),
            (dict(HELLO, timeout=None), "timeout",
             "timeout: expected a number or a string, not null; leave the field out"),
            (dict(HELLO, timeout=1, limits={"timeout": 2}), "limits.timeout",
             "limits.timeout: this limit is given twice; leave one of timeout and limits.timeout out"),
            ({"langauge": "python", "code": "1"}, "langauge",
             "langauge: there is no such field; did you mean language?"),
            ({"language": "bash"}, "code", "code: it is not set; give the program's text"),
            ({"command": "ls"}, "command", "command: it is for containers; give language and code instead"),
            (dict(HELLO, files={"a": "x", "b.bin": {"base64": "!"}}), "files",
             'files: "b.bin": it is not base64; use A-Z a-z 0-9 + / and pad it with ='),
            (dict(HELLO, files={"../x": ""}), "files",
             'files: "../x" cannot be a path in the box: it has a part "." or ".."'),
            (dict(HELLO, profile="restrictd"), "profile",
             'profile: there is no "restrictd"; did you mean restricted? the registry has none; Bash has: restricted'),
            (dict(HELLO, command="ls"), "command", "command: it stands for language and code; leave those out"),
        ):
            answer = wire.post("/v1/execute", request)
            kit.equal(answer.error + (answer.message,), (400, "bad_request", field, message))
        answer = wire.post("/v1/execute", {"language": "nonesuch", "code": "1"})
        kit.equal(answer.error, (400, "unknown_language", "language"))
        kit.matches(answer.message, r'^Unknown language "nonesuch"; available: .*\bpython\b')


@kit.test
def sentences_of_containers():
    home = kit.tmp()
    kit.write(os.path.join(home, "registry.yaml"), REGISTRY, 0o600)
    running = Service(listen=True, home=home)
    with Web(running).connect() as wire:
        for path, request, field, message in (
            ("/containers/start", {"profile": "shell"}, "profile",
             "profile: there is no such field here; give the profile's name as container"),
            ("/containers/start", {"container": "shell", "command": "ls"}, "command",
             "command: start first, then POST /containers/exec"),
            ("/containers/start", {"contianer": "shell"}, "contianer",
             "contianer: there is no such field; did you mean container?"),
            ("/containers/start", {"container": "shell", "tll": 5}, "tll",
             "tll: there is no such field; did you mean ttl?"),
            ("/containers/exec", {"container": "x", "code": "1"}, "container",
             "container: there is no such field here; give the container's id as id"),
            ("/v1/execute", {"profile": "shel", "code": "1"}, "profile",
             'profile: there is no "shel"; did you mean shell? the registry has: shell'),
            ("/v1/execute", {"profile": "nope", "language": "bash", "code": "1"}, "profile",
             'profile: there is no "nope"; the registry has: shell; Bash has: restricted'),
        ):
            answer = wire.post(path, request)
            kit.equal(answer.error + (answer.message,), (400, "bad_request", field, message))
        kit.equal(wire.post("/v1/execute", b"").message, "the body is empty; send a JSON object")
        # Their good brothers: a language that is the profile's, and a profile of the language.
        started = wire.post("/containers/start", {"container": "shell", "language": "bash"})
        kit.equal(started.status, 200, repr(started.body))
        # What /containers/exec does, /v1/execute does too; each request is checked against the description.
        for request in ({"command": "echo on"}, {"code": "echo on"}):
            answer = wire.post("/v1/execute", dict(request, container=started.json["id"]))
            kit.equal((answer.status, answer.json["stdout"]), (200, "on\n"))
        kit.equal(wire.post("/v1/execute", dict(HELLO, profile="restricted")).status, 200)


@kit.test(timeout=60)
def what_is_no_json_object():
    """A13, for each path that takes one."""
    running = Service(listen=True)
    kit.write(os.path.join(running.home, "registry.yaml"), REGISTRY, 0o600)
    deep = 100000
    bodies = {
        "nothing": b"", "blanks": b"  \n", "no JSON": b"language=bash", "cut": b'{"language":"ba', "a list": b"[]",
        "a string": b'"x"', "a number": b"5", "null": b"null", "true": b"true",
        "behind it more": json.dumps(HELLO).encode() + b"{}",
        "a comma too many": b'{"language":"bash",}', "NaN": b'{"language":"bash","code":"1","timeout":NaN}',
        "Infinity": b'{"language":"bash","code":"1","timeout":-Infinity}',
        "too large a number": b'{"language":"bash","code":"1","timeout":1e999}',
        "too large an integer": b'{"language":"bash","code":"1","timeout":' + b"9" * 40 + b"}",
        "bad UTF-8": b'{"language":"bash","code":"\xff"}', "overlong UTF-8": b'{"language":"bash","code":"\xc0\x80"}',
        "a surrogate": b'{"language":"bash","code":"\\ud800"}', "a raw NUL": b'{"language":"bash","code":"a\0b"}',
        "a NUL in a key": b'{"language":"bash","co\\u0000de":"x"}', "single quotes": b"{'language':'bash'}",
        "a mark": b"\xef\xbb\xbf" + json.dumps(HELLO).encode(), "UTF-16": json.dumps(HELLO).encode("utf-16"),
        "deep lists": b'{"language":' + b"[" * deep + b"]" * deep + b"}",
        "deep objects": b'{"language":' + b'{"a":' * deep + b"1" + b"}" * deep + b"}", "only deep": b"[" * deep,
        "many values": b'{"args":[' + b"1," * 2000000 + b"1]}",
    }
    with Web(running).connect() as wire:
        for path in ("/v1/execute", "/containers/start", "/containers/exec", "/containers/stop"):
            for name, body in bodies.items():
                if path == "/containers/stop" and len(body) > 60000:
                    continue
                answer = wire.post(path, body)
                kit.equal(answer.error[:2], (400, "bad_request"), f"{path}: {name}")
        kit.equal(wire.post("/v1/execute", HELLO).json["stdout"], "hello\n")


@kit.test
def a_field_twice_is_refused_by_its_name():
    running = Service(listen=True)
    with Web(running).connect() as wire:
        for body, field in ((b'{"language":"bash","code":"1","code":"2"}', "code"),
                            (b'{"language":"bash","language":"bash","code":"1"}', "language"),
                            (b'{"language":"bash","code":"1","limits":{"cpus":1,"cpus":2}}', "cpus"),
                            (b'{"language":"bash","code":"1","files":{"a":"","a":""}}', "a")):
            answer = wire.post("/v1/execute", body)
            kit.equal(answer.error, (400, "bad_request", field))
            kit.equal(answer.message, f"{field}: it is given twice; leave one out")
        for path in ("/containers/start", "/containers/exec", "/containers/stop"):
            answer = wire.post(path, b'{"id":"a","id":"b","container":"c","container":"d"}')
            kit.equal((answer.status, answer.json["error"].get("field") in ("id", "container")), (400, True), path)


@kit.test(timeout=60)
def every_field_of_containers():
    home = kit.tmp()
    kit.write(os.path.join(home, "registry.yaml"), REGISTRY, 0o600)
    running = Service(listen=True, home=home)
    with Web(running).connect() as wire:
        refused(wire, "/containers/start", {"container": "shell"}, {
            "container": NO_TEXT, "ttl": (0, -1, 1e9, "x", "60", None, True, [], 0.5),
            "code": NO_CONTENT, "env": EXECUTE["env"], "files": EXECUTE["files"], "timeout": NO_NUMBER,
            "limits.memory": NO_NUMBER, "nonesuch": (1,), "input": ("stream",), "stream": NO_BOOL,
        })
        refused(wire, "/containers/exec", {"id": "x", "code": "1"}, {
            "id": NO_TEXT, "code": NO_CONTENT, "args": NO_WORDS, "env": EXECUTE["env"], "timeout": NO_NUMBER,
            "nonesuch": (1,), "command": (5, "", NUL, None), "files": EXECUTE["files"],
        })
        refused(wire, "/containers/stop", {}, {"id": NO_TEXT})
        kit.equal(wire.post("/containers/stop", {"id": "x", "nonesuch": 1}).error, (400, "bad_request", "nonesuch"))
        kit.equal(wire.post("/containers/cleanup", {"nonesuch": 1}).error, (400, "bad_request", "nonesuch"))
        kit.equal(wire.post("/containers/cleanup", b"[").error[:2], (400, "bad_request"))
        kit.equal(wire.post("/containers/cleanup", {}).json, {"removed": 0})
        kit.equal(wire.request("POST", "/containers/cleanup").json, {"removed": 0})
        # What is not there.
        kit.equal(wire.post("/containers/start", {"container": "nonesuch"}).error, (404, "not_found", "container"))
        for name in ("nonesuch", "x" * 63, "../../etc/passwd", "", "x" * 1000):
            answer = wire.post("/containers/exec", {"id": name, "command": "ls"})
            kit.equal((answer.status, answer.error[2]), (404 if name else 400, "id"), name)
            answer = wire.post("/containers/stop", {"id": name})
            kit.equal((answer.status, answer.error[2]), (404, "id"), name)
        kit.equal(wire.get("/containers/status").json, {"containers": []})
        answer = wire.post("/containers/exec", {"id": "x", "code": "1", "command": "ls"})
        kit.equal(answer.error, (400, "bad_request", "command"))


@kit.test
def every_parameter_of_queries():
    running = Service(listen=True)
    with Web(running).connect() as wire:
        wrong = []
        for path, name, values in (
            ("/v1/executions", "limit", ("", "0", "-1", "1001", "x", "1e2", "1.5", "NaN", "9" * 20, "%2010")),
            ("/v1/executions", "status", ("", "OK", "nonesuch", "ok,failed", "%27")),
            ("/v1/executions", "before", ("", "x", "..", "%27%20or%201=1", "x" * 100)),
            ("/v1/executions", "since", ("", "x", "yesterday", "2026-13-01T00:00:00Z", "2026-01-01", "1h")),
            ("/v1/stats", "since", ("", "x", "2026-01-01T25:00:00Z")),
        ):
            for value in values:
                answer = wire.get(f"{path}?{name}={value}")
                if answer.status == 200 or answer.error != (400, "bad_request", name):
                    wrong.append(f"{path}?{name}={value[:40]}: {answer.body[:120]}")
        kit.equal(wrong, [])
        for path in ("/v1/executions", "/v1/stats"):
            for query, name in (("nonesuch=1", "nonesuch"), ("limi=1", "limi"), ("since=%ff", "since"),
                                ("caller=%00", "caller"), ("language=a&language=b", "language"),
                                ("language=" + "x" * 300, "language"),
                                ("language=%zz", "language")):
                kit.equal(wire.get(f"{path}?{query}").error, (400, "bad_request", name), f"{path}?{query}")
        kit.equal(wire.get("/v1/stats?status=ok").error, (400, "bad_request", "status"))
        # Their good brothers.
        for query in ("limit=1", "limit=1000", "status=ok", "status=interrupted", "status=running", "language=bash",
                      "since=2026-01-01T00:00:00Z", "caller=nobody", "caller=uid%200", "caller=uid+0", ""):
            kit.equal(wire.get(f"/v1/executions?{query}").json["executions"], [], query)


kit.main()
