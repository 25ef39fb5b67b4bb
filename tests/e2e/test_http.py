#!/usr/bin/python3
# tests/run: args=--as root
# tests/run: builds=release asan
# tests/run: timeout=240
"""HTTP as such: who may ask, what a request may look like, connections, and clients that mean no good.

Every answer is checked against api/openapi.yaml by tests/lib/web.py.
"""

import json
import os
import re
import signal
import socket
import ssl
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
import web
from service import Service, box
from web import Web

HELLO = {"language": "bash", "code": "echo hello"}
CAP = 64 << 20  # bytes of a body

# Every path of the description, with something that it answers without an error.
PATHS = (
    ("GET", "/v1/health"), ("GET", "/v1/languages"), ("GET", "/v1/doctor"), ("GET", "/v1/status"),
    ("GET", "/metrics"),
    ("GET", "/openapi.yaml"), ("GET", "/v1/executions"), ("GET", "/v1/executions/{id}"),
    ("GET", "/v1/executions/{id}/stdout"), ("GET", "/v1/executions/{id}/stderr"), ("GET", "/v1/stats"),
    ("GET", "/v1/executions/{id}/files/{path}"), ("GET", "/v1/executions/{id}/network"), ("GET", "/v1/executions/{id}/decisions"),
    ("PATCH", "/v1/sessions/{id}"),
    ("GET", "/containers"), ("GET", "/containers/status"), ("POST", "/v1/execute"), ("POST", "/containers/start"),
    ("POST", "/containers/exec"), ("POST", "/containers/stop"), ("POST", "/containers/cleanup"),
    ("DELETE", "/v1/executions/{id}"), ("POST", "/mcp"), ("DELETE", "/mcp"),
    ("GET", "/"), ("GET", "/favicon.svg"), ("GET", "/assets/{path}"),
    ("GET", "/v1/sessions"), ("POST", "/v1/sessions"), ("GET", "/v1/sessions/{id}"), ("DELETE", "/v1/sessions/{id}"),
    ("GET", "/v1/sessions/{id}/cells"), *(("POST", "/v1/sessions/{id}/" + word) for word in (
        "execute", "input", "interrupt", "restart", "complete", "inspect")),
    ("GET", "/v1/sessions/{id}/terminal"), ("GET", "/v1/sessions/{id}/files"),
    *((method, "/v1/sessions/{id}/files/{path}") for method in ("GET", "PUT", "DELETE", "POST")),
    ("GET", "/v1/executions/{id}/report"), ("POST", "/v1/check"), ("POST", "/v1/detect"),
    ("POST", "/v1/executions/{id}/input"),
)


# The description


@kit.test
def the_description_is_served_and_complete():
    running = Service(listen=True)
    answer = Web(running).get("/openapi.yaml")
    with open(web.DESCRIPTION, "rb") as file:
        kit.equal(answer.body, file.read())
    described = {(method.upper(), path) for path, item in web.description()["paths"].items()
                 for method in item if method != "parameters"}
    kit.equal(described ^ set(PATHS), set())
    kit.equal(web.description()["info"]["version"], kit.emberbox("--version").text.split()[1])
    # Each operation has what OpenAPI wants of it, and the examples are what they are examples of.
    names = set()
    for method, path in PATHS:
        place = web.operation(method, path)[1]
        found = web.at(place)
        names.add(found["operationId"])
        kit.true(found["summary"] and found["tags"] and found["responses"], f"{method} {path} is not described")
        if method == "POST":
            content = found["requestBody"]["content"]["application/json"]
            examples = [example["value"] for example in content.get("examples", {}).values()]
            examples += [content["example"]] if "example" in content else []
            kit.true(examples, f"{path} has no example")
            for example in examples:
                web.conforms(example, f"{place}/requestBody/content/application~1json/schema", f"example of {path}")
    kit.equal(len(names), len(PATHS))


@kit.test
def the_validator_can_fail():
    """What watches every test of these files sees what it is there to see."""
    running = Service(listen=True)
    good = Web(running).post("/v1/execute", HELLO)

    def refused(method, path, status, headers=None, body=None):
        answer = web.Answer(status, {**good.headers, **(headers or {})}, good.body if body is None else body)
        try:
            web.check(method, path, None, answer)
        except kit.Failed:
            return
        kit.fail(f"{method} {path} {status} {headers} {body} was taken")

    web.check("POST", "/v1/execute", HELLO, good)
    refused("POST", "/v1/execute", 418)
    refused("POST", "/v1/nonesuch", 200)
    refused("POST", "/v1/execute", 200, body=json.dumps(dict(good.json, more=1)).encode())
    refused("POST", "/v1/execute", 200, body=json.dumps(dict(good.json, status="fine")).encode())
    refused("POST", "/v1/execute", 200, headers={"content-type": "text/html"})
    refused("POST", "/v1/execute", 200, headers={"x-request-id": "a b"})
    refused("POST", "/v1/execute", 200, headers={"x-frame-options": "ALLOW"})
    refused("POST", "/v1/execute", 400)


# Who may ask

PAGE = ("/", "/favicon.svg", "/assets/{path}")  # files of the playground, with headers of their own: test_http_site.py
OPEN = ("/v1/health", *PAGE)  # what needs no token


@kit.test
def a_token_is_needed_over_tcp():
    """A12."""
    running = Service(listen=True)
    kit.matches(running.token, r"^ebt_[A-Za-z0-9_-]{43}$")
    kit.equal(os.stat(os.path.join(running.home, "token")).st_mode & 0o777, 0o600)
    for token in (None, "wrong", running.token[:-1], running.token + "x", running.token.swapcase(), "x" * 5000):
        asking = Web(running, token=token)
        for method, path in PATHS:
            if path in OPEN:
                continue
            body = HELLO if method == "POST" else None
            answer = asking.request(method, path.replace("{id}", "x"), body)
            kit.equal(answer.error, (401, "unauthorized", None), path)
            kit.equal(answer.headers["www-authenticate"], "Bearer")
        # Nobody learns which paths there are, and the one for everybody is for everybody.
        kit.equal(asking.get("/v1/nonesuch").status, 401)
        kit.equal(asking.get("/v1/health").status, 200)
    none = Web(running, token=None)
    for value in ("", "Bearer", "Bearer ", f"Basic {running.token}", running.token, f"Bearer\t{running.token}",
                  f"Bearer {running.token} {running.token}"):
        kit.equal(none.get("/v1/languages", {"Authorization": value}).status, 401, value)
    # The scheme's name has no case.
    kit.equal(none.get("/v1/languages", {"Authorization": f"bEARER {running.token}"}).status, 200)
    kit.equal(Web(running).get("/v1/languages").status, 200)


@kit.test
def over_the_unix_socket_the_kernel_says_who_asks():
    running = Service()
    asking = Web(running, unix=True)
    kit.true(running.address is None and not os.path.exists(os.path.join(running.home, "token")),
             "there is a token that nobody needs")
    result = asking.run("echo $((6*7))")
    kit.equal((result["status"], result["stdout"]), ("ok", "42\n"))
    shown = asking.get(f"/v1/executions/{result['id']}").json
    kit.equal((shown["caller"], shown["door"]), (f"uid {os.geteuid()}", "http"))
    done = kit.command(["curl", "-sS", "--unix-socket", running.path, "-d", json.dumps(HELLO),
                        "http://localhost/v1/execute"])
    uid = 0 if kit.mode == "root" else kit.UID
    kit.equal(asking.get(f"/v1/executions/{done.json['id']}").json["caller"], f"uid {uid}")
    # Frames still come over the same socket.
    with running.connect() as client:
        kit.equal(client.request(HELLO)[1]["stdout"], "hello\n")


@kit.test
def foreign_hosts_and_origins_are_refused():
    """A12: what keeps a page in the user's browser away."""
    running = Service(listen=True, env={"EMBERBOX_HOSTS": "box.example.com"})
    asking, port = Web(running), running.address[1]
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1",
                 "[::2]", "box.example.com.evil.example", "xbox.example.com"):
        for path in ("/v1/health", "/v1/languages", "/v1/nonesuch"):
            kit.equal(asking.get(path, {"Host": host}).error, (403, "forbidden_host", None), host)
        kit.equal(asking.post("/v1/execute", HELLO, {"Host": host}).status, 403)
    for origin in ("http://evil.example", "https://evil.example:7320", "null", "file://", "http://127.0.0.1@evil.example",
                   "http://localhost.evil.example", "http://box.example.com.evil.example"):
        kit.equal(asking.post("/v1/execute", HELLO, {"Origin": origin}).error, (403, "forbidden_origin", None), origin)
        kit.equal(Web(running, unix=True).post("/v1/execute", HELLO, {"Origin": origin}).status, 403, origin)
    for host in ("localhost", "LOCALHOST", f"127.0.0.1:{port}", "127.9.9.9", "[::1]", "box.example.com:443"):
        kit.equal(asking.get("/v1/languages", {"Host": host}).status, 200, host)
    for origin in (f"http://127.0.0.1:{port}", "http://localhost", "https://box.example.com", "http://[::1]:9"):
        kit.equal(asking.post("/v1/execute", HELLO, {"Origin": origin}).status, 200, origin)


@kit.test
def nothing_else_is_reachable():
    """A8 and A19: ids are names and not paths, and there are no paths but those that are described."""
    running = Service(listen=True)
    for name in ("..%2f..%2fetc%2fpasswd", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "%2fetc%2fpasswd", "token", "x" * 63,
                 "x" * 200, "%25", "*", "audit.log", "a%20b", "%F0%9F%94%A5", "'%20or%201=1--", "..", "%2e%2e"):
        for end in ("", "/stdout", "/stderr"):
            kit.equal(Web(running).get(f"/v1/executions/{name}{end}").error[:2], (404, "not_found"), name + end)
    with Web(running).connect() as wire:
        for path in ("/index.html", "/assets", "/v1", "/v1/", "/v1/health/", "//v1/health", "/v1//health", "/V1/health", "/internal",
                     "/store", "/keeper", "/ask", "/v1/pool", "/v1/events", "/v1/execute/x", "/containers/x",
                     "/debug/pprof", "/v1/executions/x/artifact", "/v1/executions/x/code", "/token", "/registry.yaml"):
            kit.equal(wire.get(path).error, (404, "not_found", None), path)
    # What is no path is refused before anybody looks for it.
    for target, status in (
        ("/../etc/passwd", 404), ("/v1/../../etc/passwd", 404), ("/v1/executions/../../etc/passwd", 404),
        ("/v1/./health", 404), ("/v1/executions/%2e%2e/%2e%2e/etc/passwd", 404), ("/%00", 400),
        ("/v1/executions/%00", 400), ("/%ff", 400), ("/%zz", 400), ("/%", 400), ("/v1/executions/a%0d%0ab", 400),
        ("v1/health", 400), ("http:/x", 400),
    ):
        with Web(running).connect() as wire:
            wire.raw(wire.head("GET", target), "GET", "/")
            kit.equal(wire.answer().status, status, target)
    kit.equal(Web(running).get(f"http://127.0.0.1:{running.address[1]}/v1/health").status, 200)


# Requests


@kit.test
def other_methods_are_refused():
    running = Service(listen=True)
    with Web(running).connect() as wire:
        for method, path in PATHS:
            path = path.replace("{id}", "x")
            for other in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
                if (other, path.replace("/x", "/{id}")) not in PATHS:
                    answer = wire.request(other, path)
                    kit.equal(answer.error, (405, "method_not_allowed", None), f"{other} {path}")
                    takes = {one for one, known in PATHS if known == path.replace("/x", "/{id}")}
                    takes |= {"HEAD"} if "GET" in takes else set()
                    kit.equal(set(answer.headers["allow"].split(", ")), takes, path)
        kit.equal(wire.get("/v1/health").status, 200)
    for method, status in (("TRACE", 501), ("CONNECT", 501), ("get", 501), ("FOO", 501)):
        with Web(running).connect() as wire:
            wire.raw(wire.head(method, "/v1/health"), "GET", "/v1/health")
            kit.equal(wire.answer().status, status, method)


@kit.test
def head_is_get_without_the_body():
    running = Service(listen=True)
    with Web(running).connect() as wire:
        for path in ("/v1/languages", "/openapi.yaml", "/containers", "/v1/nonesuch"):
            got, headed = wire.get(path), wire.request("HEAD", path)
            kit.equal((headed.status, headed.body), (got.status, b""))
            for name in ("content-type", "content-length"):
                kit.equal(headed.headers[name], got.headers[name], path)


@kit.test
def request_ids_are_echoed_and_kept():
    running = Service(listen=True)
    with Web(running).connect() as wire:
        answer = wire.post("/v1/execute", HELLO, {"X-Request-Id": "Trace-1.a_b"})
        kit.equal(answer.headers["x-request-id"], "Trace-1.a_b")
        kit.equal(wire.get(f"/v1/executions/{answer.json['id']}").json["request_id"], "Trace-1.a_b")
        ours = {wire.get("/v1/health").headers["x-request-id"] for _ in range(3)}
        kit.equal(len(ours), 3)
        for name in ("a b", "x" * 64, 'a"b', "ä", "{}"):
            kit.true(wire.get("/v1/health", {"X-Request-Id": name}).headers["x-request-id"] != name, name)
        kit.equal(wire.get("/v1/health", {"X-Request-Id": "x" * 63}).headers["x-request-id"], "x" * 63)


@kit.test
def keep_alive_and_close():
    running = Service(listen=True)
    with Web(running).connect() as wire:
        for _ in range(20):
            kit.equal(wire.get("/v1/health").headers["connection"], "keep-alive")
            kit.equal(wire.post("/v1/execute", {"language": "bash"}).status, 400)
        kit.equal(wire.get("/v1/health", {"Connection": "close"}).headers["connection"], "close")
        kit.true(wire.ended(), "it is still open")
    # An old client gets what it understands.
    with Web(running).connect() as wire:
        wire.raw(wire.head("GET", "/v1/health").replace(b"HTTP/1.1", b"HTTP/1.0"), "GET", "/v1/health")
        kit.equal(wire.answer().headers["connection"], "close")
        kit.true(wire.ended(), "it is still open")


@kit.test
def requests_may_be_pipelined():
    running = Service(listen=True)
    with Web(running).connect() as wire:
        data = b""
        for i in range(8):
            body = json.dumps({"language": "bash", "code": f"echo {i}"}).encode()
            data += wire.head("POST", "/v1/execute", size=len(body)) + body
            data += wire.head("GET", f"/v1/health?{i}")
            wire._asked += [("POST", "/v1/execute", None), ("GET", "/v1/health", None)]
        wire.raw(data, None)
        for i in range(8):
            kit.equal(wire.answer().json["stdout"], f"{i}\n")
            kit.equal(wire.answer().json["status"], "ok")


@kit.test
def bodies_may_come_in_chunks_and_pieces():
    running = Service(listen=True)
    body = json.dumps({"language": "bash", "code": "cat", "stdin": "ü" * 3000}).encode()
    with Web(running).connect() as wire:
        head = wire.head("POST", "/v1/execute", {"Transfer-Encoding": "chunked"})
        chunks = b"".join(b"%x;ext=1\r\n%s\r\n" % (len(part), part)
                          for part in (body[i:i + 777] for i in range(0, len(body), 777)))
        wire.raw(head + chunks + b"0\r\nTrailer: x\r\n\r\n", "POST", "/v1/execute")
        kit.equal(wire.answer().json["stdout"], "ü" * 3000)
        # The same, a few bytes at a time; answered before the next request is read.
        data = head + chunks + b"0\r\n\r\n" + wire.head("POST", "/v1/execute", size=len(body)) + body
        wire._asked += [("POST", "/v1/execute", None)] * 2
        for at in range(0, len(data), 97):
            wire.raw(data[at:at + 97], None)
        kit.equal([wire.answer().json["stdout"] for _ in range(2)], ["ü" * 3000] * 2)
        # A client that asks before it sends.
        wire.raw(wire.head("POST", "/v1/execute", {"Expect": "100-continue"}, len(body)), "POST", "/v1/execute")
        wire.interim()
        wire.raw(body, None)
        kit.equal(wire.answer().json["stdout"], "ü" * 3000)
    with Web(running, token="wrong").connect() as wire:
        wire.raw(wire.head("POST", "/v1/execute", {"Expect": "100-continue"}, 1 << 20), "POST", "/v1/execute")
        kit.equal(wire.answer().status, 401)


@kit.test
def what_was_refused_early_is_in_nobodys_way():
    """The body of a request that is refused by its head is read and forgotten, and the next request is the next."""
    running = Service(listen=True)
    body = json.dumps(HELLO).encode() + b" " * 60000
    trap = b"POST /v1/execute HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with Web(running).connect() as wire:
        for method, path, status in (("POST", "/v1/nonesuch", 404), ("PUT", "/v1/execute", 405),
                                     ("GET", "/v1/stats", 400), ("DELETE", "/v1/executions/x", 400)):
            for data in (body, trap * 100):
                kit.equal(wire.request(method, path, data).status, status, path)
                kit.equal(wire.post("/v1/execute", HELLO).json["stdout"], "hello\n")
    with Web(running, token="wrong").connect() as wire:
        kit.equal(wire.post("/v1/execute", trap * 100).status, 401)
        kit.equal(wire.get("/v1/health").status, 200)
        # Of a body that has no length nothing is skipped: the connection ends.
        head = wire.head("POST", "/v1/execute", {"Transfer-Encoding": "chunked"})
        wire.raw(head + b"5\r\nabcde\r\n", "POST", "/v1/execute")
        kit.equal(wire.answer().headers["connection"], "close")
    # In one piece with what follows, too.
    with Web(running).connect() as wire:
        data = wire.head("POST", "/v1/nonesuch", size=len(body)) + body + wire.head("GET", "/v1/health")
        wire.raw(data, "POST", "/v1/nonesuch")
        wire._asked.append(("GET", "/v1/health", None))
        kit.equal([wire.answer().status for _ in range(2)], [404, 200])


@kit.test
def what_is_no_request_is_refused():
    running = Service(listen=True)
    body = b'{"language":"bash","code":"echo smuggled"}'
    host = b"Host: localhost\r\n"
    for data, status in (
        (b"GET /v1/health\r\n\r\n", 400),
        (b"GET /v1/health HTTP/1.1\n" + host + b"\n", 400),
        (b"GET /v1/health HTTP/1.1\r\n" + host + b"X y: 1\r\n\r\n", 400),
        (b"GET /v1/health HTTP/1.1\r\n" + host + b"X: 1\r\n folded\r\n\r\n", 400),
        (b"GET /v1/health HTTP/1.1\r\n" + host + b"X: a\0b\r\n\r\n", 400),
        (b"GET /v1/health HTTP/1.1\r\n" + host + host + b"\r\n", 400),
        (b"GET /v1/health HTTP/1.1\r\n\r\n", 400),
        (b"GET /v1/health HTTP/2.0\r\n" + host + b"\r\n", 505),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", None),
        (b"POST /v1/execute HTTP/1.1\r\n" + host + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n" + body, 400),
        (b"POST /v1/execute HTTP/1.1\r\n" + host + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"POST /v1/execute HTTP/1.1\r\n" + host + b"Content-Length: -1\r\n\r\n", 400),
        (b"POST /v1/execute HTTP/1.1\r\n" + host + b"Content-Length: 99999999999999999999\r\n\r\n", None),
        (b"POST /v1/execute HTTP/1.1\r\n" + host + b"Content-Length: 1e3\r\n\r\n", 400),
        (b"POST /v1/execute HTTP/1.1\r\n" + host + b"Transfer-Encoding: gzip\r\n\r\n", None),
        (b"GET /v1/health HTTP/1.1\r\n" + host + b"X: " + b"x" * 20000, 431),
        (b"GET /" + b"x" * 20000, 414),
        (b"GET /v1/health HTTP/1.1\r\n" + host + b"A: 1\r\n" * 100 + b"\r\n", 431),
        (b"GET /" + b"x" * 2000 + b" HTTP/1.1\r\n" + host + b"\r\n", 414),
    ):
        with Web(running).connect() as wire:
            wire.raw(data, "GET", "/")
            answer = wire.answer()
            kit.true(answer.status == status or (status is None and answer.status in (400, 413, 501, 505)),
                     f"{data[:80]!r}: {answer}")
            kit.equal(answer.headers["connection"], "close", data[:80])
            kit.true(wire.ended(), f"{data[:80]!r}: more came: {wire._rest!r}")
    # A chunked body that is none.
    for chunks in (b"zz\r\n", b"5\r\nab", b"5\r\nabcdefgh\r\n", b"-1\r\n", b"ffffffffffffffffff\r\n", b"5 \n"):
        with Web(running).connect() as wire:
            wire.raw(wire.head("POST", "/v1/execute", {"Transfer-Encoding": "chunked"}) + chunks, "POST", "/v1/execute")
            if chunks != b"5\r\nab":
                kit.true(wire.answer().status in (400, 413), chunks)
    with Web(running).connect() as wire:
        kit.equal(wire.get("/v1/health?" + "x" * 1100).status, 414)
        kit.equal(wire.get("/v1/health").status, 200)
    kit.equal(Web(running).run("echo on")["stdout"], "on\n")


@kit.test(timeout=90)
def a_body_over_the_cap_is_refused_and_heard():
    """A13: also by a client that sends all of it before it reads."""
    running = Service(listen=True)
    with Web(running).connect() as wire:
        wire.raw(wire.head("POST", "/v1/execute", size=CAP + 1), "POST", "/v1/execute")
        kit.equal(wire.answer().error, (413, "too_large", None))
    with Web(running).connect() as wire:
        block = b" " * (1 << 20)
        try:
            wire.raw(wire.head("POST", "/v1/execute", size=CAP + 1) + block, "POST", "/v1/execute")
            for _ in range(20):
                wire.raw(block, None)
        except ConnectionError:
            kit.fail("the connection was cut before the answer could be read")
        kit.equal(wire.answer().error, (413, "too_large", None))
    # Without a length it is refused when it is too much.
    with Web(running).connect() as wire:
        wire.raw(wire.head("POST", "/v1/execute", {"Transfer-Encoding": "chunked"}), "POST", "/v1/execute")
        try:
            for _ in range(66):
                wire.raw(b"100000\r\n" + block + b"\r\n", None)
        except ConnectionError:
            pass
        kit.equal(wire.answer().error, (413, "too_large", None))
    # What names something is small.
    kit.equal(Web(running).post("/containers/stop", b" " * 70000).error, (413, "too_large", None))
    # A path that takes none.
    kit.equal(Web(running).request("GET", "/v1/health", b"x").status, 400)
    # The other side of the cap: taken, and only then found to be nothing.
    kit.equal(Web(running).post("/v1/execute", b" " * (8 << 20)).error, (400, "bad_request", None))


# Clients that mean no good


@kit.test(timeout=60)
def slow_clients_stall_nobody():
    """A13: heads and bodies that trickle, and answers that nobody reads."""
    running = Service(listen=True)
    slow = [Web(running).connect() for _ in range(40)]
    body = json.dumps(HELLO).encode()
    for i, wire in enumerate(slow):
        head = wire.head("POST", "/v1/execute", size=len(body))
        wire.data = (head + body, [5, len(head) - 3, len(head) + 4, len(head)][i % 4])
        wire.raw(wire.data[0][:wire.data[1]], "POST", "/v1/execute")
    # Each of them sends a byte more between requests of others that are answered at once.
    for turn in range(10):
        for wire in slow:
            data, sent = wire.data
            wire.raw(data[sent + turn:sent + turn + 1], None)
        kit.equal(Web(running).run("echo on")["stdout"], "on\n")
    for wire in slow:
        data, sent = wire.data
        wire.raw(data[sent + 10:], None)
        kit.equal(wire.answer().json["stdout"], "hello\n")
        wire.close()


@kit.test(timeout=60)
def half_a_head_is_not_waited_for():
    """Slowloris: ten seconds for a head, from its first byte on, however slowly the others come."""
    running = Service(listen=True)
    with Web(running).connect() as wire, Web(running).connect() as silent:
        wire.raw(b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n", "GET", "/v1/health")
        answer = None
        wire.socket.settimeout(1)
        for i in range(20):
            try:
                wire.raw(b"X-%d: y\r\n" % i, None)
                answer = wire.answer()
                break
            except TimeoutError:
                wire._asked.append(("GET", "/v1/health", None))
        kit.true(answer is not None, "it was waited for 20 s")
        kit.equal(answer.error, (408, "timeout", None))
        # Others were served meanwhile, and who said nothing at all has its own, longer time.
        kit.equal(silent.get("/v1/health").status, 200)


@kit.test
def answers_that_nobody_reads_hold_nobody_up():
    running = Service(listen=True)
    with Web(running).connect() as deaf:
        deaf.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        code = "for i in $(seq 2000); do printf '%01000d\\n' $i; done"
        deaf.send("POST", "/v1/execute", {"language": "bash", "code": code, "stream": True})
        for _ in range(5):
            kit.equal(Web(running).run("echo on")["stdout"], "on\n")


@kit.test
def many_idle_connections_cost_nobody_anything():
    running = Service(listen=True)
    idle = [Web(running).connect() for _ in range(300)]
    kit.equal(Web(running).run("echo on")["stdout"], "on\n")
    for wire in idle:
        wire.close()
    kit.equal(Web(running).get("/v1/health").status, 200)


# TLS


@kit.test(timeout=60)
def tls_with_a_certificate_of_ones_own():
    place = kit.tmp()
    cert, key = os.path.join(place, "cert.pem"), os.path.join(place, "key.pem")
    made = kit.command(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                        "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
                        "-out", cert, "-keyout", key])
    kit.equal(made.code, 0, made.errtext)
    # A secret is nobody else's, as a token is.
    os.chmod(key, 0o644)
    loose = Service(listen=True, ready=False, env={"EMBERBOX_TLS_CERT": cert, "EMBERBOX_TLS_KEY": key})
    r = kit.finish(loose.process)
    kit.equal((r.code, r.errtext), (2, f'emberbox: EMBERBOX_TLS_KEY: others may read "{key}" (mode 0644); '
                                       f"use: chmod 600 {key}\n"))
    os.chmod(key, 0o600)
    running = Service("--log", "text", listen=True, env={"EMBERBOX_TLS_CERT": cert, "EMBERBOX_TLS_KEY": key})
    context = ssl.create_default_context(cafile=cert)
    asking = Web(running, tls=context)
    with asking.connect() as wire:
        kit.true(wire.socket.version() in ("TLSv1.2", "TLSv1.3"), wire.socket.version())
        kit.equal(wire.post("/v1/execute", HELLO).json["stdout"], "hello\n")
        big = {"language": "bash", "code": "wc -c", "stdin": "x" * (1 << 20)}
        kit.equal(wire.post("/v1/execute", big).json["stdout"].strip(), str(1 << 20))
        wire.stream("/v1/execute", HELLO)
        kit.equal([name for name, _ in wire.events()], ["start", "stdout", "result"])
    with asking.connect() as wire:
        wire.stream("/v1/execute", {"language": "bash", "code": "echo ready; sleep 1000.125", "timeout": 300})
        kit.equal(wire.until("stdout"), {"text": "ready\n"})
        watch = box(running, "1000.125")
    kit.equal(watch.survivors(), [])
    # Who does not know the certificate does not talk to it, and who speaks plainly is told something or nothing.
    try:
        Web(running, tls=ssl.create_default_context()).connect()
        kit.fail("a certificate that nobody vouches for was taken")
    except ssl.SSLCertVerificationError:
        pass
    with Web(running).connect() as wire:
        wire.raw(wire.head("GET", "/v1/health"), None)
        kit.true(wire.ended() or b"200" not in wire._rest, "plain HTTP was answered")
    # Both are counted and told.
    counted = r'emberbox_events_total\{event="tls_failed"\} ([1-9])'
    kit.eventually(lambda: re.search(counted, Web(running, unix=True).get("/metrics").text), "tls_failed is not counted")
    running.heard(r"[0-9]Z front tls_failed from=127\.0\.0\.1\n")
    kit.equal(Web(running, unix=True).get("/v1/health").status, 200)
    curl = kit.command(["curl", "-sS", "--cacert", cert, f"https://127.0.0.1:{running.address[1]}/v1/health"])
    kit.equal((curl.code, json.loads(curl.out)["status"]), (0, "ok"))
    # A key that is not the certificate's is found out before anybody connects.
    other = os.path.join(place, "other.pem")
    kit.command(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", other])
    os.chmod(other, 0o600)
    wrong = Service(listen=True, ready=False, env={"EMBERBOX_TLS_CERT": cert, "EMBERBOX_TLS_KEY": other})
    r = kit.finish(wrong.process)
    kit.true(r.code in (2, 125) and r.errtext, r)


@kit.test
def without_tls_other_addresses_are_warned_of():
    warning = r"is not a loopback address, and there is no TLS: anybody who sees the traffic can read tokens"
    running = Service(env={"EMBERBOX_LISTEN": "0.0.0.0:0"}, ready=False)
    kit.matches(running.heard(r"serving at .*\n"), r"http://0\.0\.0\.0:\d+ " + warning)
    running.stop()
    running = Service(env={"EMBERBOX_LISTEN": "127.0.0.9:0"}, ready=False)
    kit.true("loopback" not in running.heard(r"serving at .*\n"), "the loopback is warned of")
    running.stop()


@kit.test
def refusals_say_what_would_do():
    running = Service(listen=True)
    kit.equal(Web(running, token=None).get("/v1/stats").message, "a token is needed: send Authorization: Bearer TOKEN, which `emberbox token show` prints")
    for path in ("/v1/stats", "/v1/nonesuch"):
        kit.equal(Web(running, token="ebt_wrong").get(path).message,
                  "this token is not known: it is wrong, or it was removed")
    made = kit.emberbox("token", "add", "gauge", "--scope", "metrics", env={"EMBERBOX_HOME": running.home}).text
    gauge = Web(running, token=next(word for word in made.split() if word.startswith("ebt_")))
    kit.eventually(lambda: gauge.get("/metrics").status == 200, "the token is not known")
    kit.equal(gauge.post("/v1/execute", HELLO).message,
              "this token's scopes do not include this path; it takes one with the scope execute or admin")
    kit.equal(gauge.get("/v1/stats").message,
              "this token's scopes do not include this path; it takes one with the scope execute or read or admin")
    kit.equal(Web(running).request("PUT", "/v1/health").message,
              "this path does not take this method; it takes GET, HEAD")
    kit.equal(Web(running).get("/v1/execute").message, "this path does not take this method; it takes POST")

    def entries():
        lines = kit.emberbox("audit", "--json", "-n", "1000", env={"EMBERBOX_HOME": running.home}).text.splitlines()
        return [json.loads(line) for line in lines]

    def denied():
        gauge.get("/v1/stats")  # of many at once the first is written down, and that was another
        return [one for one in entries() if one["event"] == "denied" and one.get("reason") == "forbidden_scope"]
    kit.equal({one["token"] for one in kit.eventually(denied, "it is not audited")}, {"gauge"})
    # Which file changed is there too.
    changed = [one["detail"] for one in entries() if one["event"] == "config_changed"]
    kit.equal(changed, [os.path.join(running.home, "tokens.json")])


# The service


@kit.test
def the_log_as_text():
    """Sentences and events have the same beginning; what is empty is left out."""
    running = Service("--log", "text", listen=True)
    Web(running).get("/v1/health")
    said = running.heard(r"front request .*\n")
    kit.true('=""' not in said, said)
    for line in said.splitlines():
        kit.matches(line, r"^[0-9-]+T[0-9:.]+Z (serve|front|keeper|store) ")
    done = running.stop()
    kit.matches(done.errtext.splitlines()[-1], r"^[0-9-]+T[0-9:.]+Z serve ended$")


@kit.test
def json_ends_its_line():
    running = Service(listen=True)
    with Web(running).connect() as wire:
        for answer in (wire.post("/v1/execute", HELLO), wire.get("/v1/health"), wire.get("/v1/languages"),
                       wire.get("/v1/executions"), wire.get("/v1/nonesuch"), wire.get("/containers")):
            kit.true(answer.body.endswith(b"\n") and not answer.body.endswith(b"\n\n"), answer)


@kit.test
def health_and_metrics():
    running = Service(listen=True)
    asking = Web(running)
    health = asking.get("/v1/health").json
    kit.equal((health["status"], health["version"]), ("ok", kit.emberbox("--version").text.split()[1]))
    status = asking.get("/v1/status")
    kit.equal((status.json["status"], status.json["version"]), ("ok", health["version"]))
    kit.true(status.json["uptime"] >= health["uptime"] and len(status.body) < 200, status.body)
    asking.run("echo 1")
    asking.run("exit 3")
    asking.run("sleep 9", timeout=0.3)
    kit.equal(Web(running, token="wrong").get("/v1/stats").status, 401)
    with asking.connect() as wire:
        wire.stream("/v1/execute", {"language": "bash", "code": "echo ready; sleep 1000", "timeout": 60})
        wire.until("stdout")
        values = metrics(asking)
        kit.equal((values["emberbox_running"], values["emberbox_event_streams"]), (1, 1))
    kit.eventually(lambda: metrics(asking)["emberbox_event_streams"] == 0, "the stream still counts")
    values = metrics(asking)
    for status in ("ok", "failed", "timeout"):
        counted = sum(value for name, value in values.items()
                      if name.startswith('emberbox_executions_total{language="bash",status="%s"' % status))
        kit.equal(counted, 1, status)
    kit.equal(values['emberbox_limits_hit_total{limit="timeout"}'], 1)
    kit.equal(values['emberbox_events_total{event="unauthorized"}'], 1)
    kit.equal(values['emberbox_http_requests_total{method="GET",route="/v1/health",code="200"}'], 1)
    kit.equal(values['emberbox_http_requests_total{method="GET",route="/v1/stats",code="401"}'], 1)
    # As many warm boxes as /metrics says, of which there are some after runs.
    kit.eventually(lambda: 0 < asking.get("/v1/status").json["ready"] == metrics(asking)["emberbox_pool_embers"],
                   "it does not say how many boxes are ready")
    kit.true("emberbox_pool_embers" in values and values["emberbox_uptime_seconds"] > 0, sorted(values))


def metrics(asking):
    """The text format, read by its grammar: every sample belongs to a family that was announced."""
    values, kinds, order = {}, {}, []
    for line in asking.get("/metrics").text.splitlines():
        if found := re.fullmatch(r"# TYPE (\w+) (counter|gauge|histogram)", line):
            kinds[found.group(1)] = found.group(2)
        elif not re.fullmatch(r"# HELP \w+ .+", line):
            sample = re.fullmatch(r'((\w+)(?:\{\w+="(?:[^"\\]|\\.)*"(?:,\w+="(?:[^"\\]|\\.)*")*\})?) (\S+)', line)
            kit.true(sample, f"no line of metrics: {line!r}")
            family = re.sub(r"_(bucket|sum|count)$", "", sample.group(2))
            kit.true(sample.group(2) in kinds or kinds.get(family) == "histogram", f"of no family: {line!r}")
            kit.true(sample.group(1) not in values, f"twice: {line!r}")
            values[sample.group(1)] = float(sample.group(3))
            order.append(sample.group(2) if sample.group(2) in kinds else family)
    # What Prometheus' own checker looks at: a family stands in one place, counters are called so, buckets only grow.
    kit.equal(len([name for at, name in enumerate(order) if at == 0 or order[at - 1] != name]), len(set(order)), "a family in two places")
    kit.equal([name for name, kind in kinds.items() if (kind == "counter") != name.endswith("_total")], [])
    check_buckets(values, [name for name, kind in kinds.items() if kind == "histogram"])
    return values


def check_buckets(values, families):
    """Of each histogram and its labels: bounds and counts grow, the last is all of them, and there are a sum and a count."""
    for family in families:
        series = {}
        for name, value in values.items():
            if found := re.fullmatch(family + r'_bucket\{(?:(.*),)?le="([^"]+)"\}', name):
                series.setdefault(found[1] or "", []).append((float(found[2]), value))
        for labels, buckets in series.items():
            mark = "{%s}" % labels if labels else ""
            kit.equal(buckets, sorted(buckets), f"{family}{mark} does not grow")
            kit.true(all(a[1] <= b[1] for a, b in zip(buckets, buckets[1:])), f"{family}{mark}: {buckets}")
            kit.equal((buckets[-1][0], buckets[-1][1]), (float("inf"), values[f"{family}_count{mark}"]), f"{family}{mark}")
            kit.true(values[f"{family}_sum{mark}"] >= 0, f"{family}{mark}")


@kit.test
def languages_and_doctor_are_those_of_the_commands():
    running = Service(listen=True)
    asking = Web(running)
    env = {"EMBERBOX_HOME": running.home}
    kit.equal(asking.get("/v1/languages").json, kit.emberbox("languages", "--json", env=env).json)
    told, typed = asking.get("/v1/doctor").json, kit.emberbox("doctor", "--json", env=env).json
    for key in ("version", "kernel", "languages", "healthy"):
        kit.equal(told[key], typed[key], key)
    # What the keeper has given up is not what its boxes lack.
    kit.equal([(layer["name"], layer["state"]) for layer in told["layers"]],
              [(layer["name"], layer["state"]) for layer in typed["layers"]])


@kit.test
def an_old_client_gets_the_result_whole():
    """HTTP/1.0 knows no chunks."""
    running = Service(listen=True)
    body = json.dumps(dict(HELLO, stream=True)).encode()
    with Web(running).connect() as wire:
        head = wire.head("POST", "/v1/execute", {"Accept": "text/event-stream"}, len(body))
        wire.raw(head.replace(b"HTTP/1.1", b"HTTP/1.0") + body, "POST", "/v1/execute")
        answer = wire.answer()
        kit.equal((answer.json["stdout"], answer.headers["connection"]), ("hello\n", "close"))


@kit.test(timeout=60)
def requests_are_logged():
    running = Service("--log", "json", listen=True, ready=False)
    said = running.heard(r"HTTP at .*\n(.*\n)*?.*serving at .*\n")
    running.address = ("127.0.0.1", int(re.search(r"http://127\.0\.0\.1:(\d+)", said).group(1)))
    asking = Web(running)
    ran = asking.post("/v1/execute", HELLO, {"X-Request-Id": "for-the-log"}).json["id"]
    # Others speak of it too, by the same name.
    line = running.heard(r'(?m)^(?=.*"event": ?"request").*for-the-log.*\n').splitlines()[-1]
    entry = json.loads(line)
    kit.equal({key: entry[key] for key in ("event", "method", "route", "status", "caller", "request_id", "execution")},
              {"event": "request", "method": "POST", "route": "/v1/execute", "status": 200, "caller": "default",
               "request_id": "for-the-log", "execution": ran})
    kit.true(running.token not in line, "the token is in the log")


@kit.test(timeout=60)
def nothing_runs_that_cannot_be_written_down():
    for audit, status in (("required", 503), ("best_effort", 200), ("off", 200)):
        home = kit.tmp()
        kit.write(os.path.join(home, "audit.log", "is", "no file"), "")
        kit.write(os.path.join(home, "history.db", "is", "no file"), "")
        running = Service(listen=True, home=home, env={"EMBERBOX_AUDIT": audit})
        asking = Web(running)
        answer = kit.eventually(lambda: (found := asking.post("/v1/execute", HELLO)).status == status and found,
                                f"EMBERBOX_AUDIT={audit} does not lead to {status}")
        if status == 503:
            kit.equal(answer.error[:2], (503, "blind"))
            kit.contains(answer.message, "EMBERBOX_AUDIT")
            kit.equal(asking.get("/v1/health").json["status"], "degraded")
        else:
            kit.equal(answer.json["stdout"], "hello\n")
        kit.true(asking.get("/v1/executions").status in (200, 500, 503), "the history neither answers nor says why")
        running.stop()


@kit.test(timeout=60)
def a_service_that_served_ends_clean():
    """Of the sanitizers' build: nothing was lost on the way."""
    running = Service(listen=True)
    with Web(running).connect() as wire, Web(running, unix=True).connect() as other:
        for one in (wire, other):
            ran = one.post("/v1/execute", HELLO).json["id"]
            one.stream("/v1/execute", HELLO)
            list(one.events())
            for method, path in PATHS:
                if path not in PAGE:
                    one.request(method, path.replace("{id}", ran), b"{}" if method == "POST" else None)
            one.post("/v1/execute", b"[" * 5000)
            one.raw(one.head("POST", "/v1/execute", size=1000) + b"half", None)
    Web(running).get("/v1/health")
    done = running.stop()
    said = [line for line in done.errtext.splitlines() if "ending" not in line]
    kit.equal((done.code, said), (0, ["emberbox: ended"]))


@kit.test
def an_ending_service_says_so():
    running = Service(listen=True)
    asking = Web(running)
    with asking.connect() as wire, asking.connect() as other:
        kit.equal(other.get("/v1/health").json["status"], "ok")
        wire.stream("/v1/execute", {"language": "bash", "code": "echo ready; sleep 1000.25", "timeout": 60})
        wire.until("stdout")
        watch = box(running, "1000.25")
        os.kill(running.pid, signal.SIGTERM)
        running.heard(r"ending; .*\n")
        # Who is in hears why nothing begins; nobody new gets in.
        answer = kit.eventually(lambda: (found := other.get("/v1/health")).status != 200 and found, "it does not drain")
        kit.equal((answer.status, answer.json["status"], answer.headers["connection"]), (503, "draining", "close"))
        try:
            asking.connect().close()
            kit.fail("a connection was made")
        except ConnectionRefusedError:
            pass
        os.kill(running.pid, signal.SIGTERM)
        kit.equal(wire.until("result")["status"], "killed")
    kit.equal(kit.finish(running.process).code, 0)
    kit.equal(watch.survivors(), [])


kit.main()
