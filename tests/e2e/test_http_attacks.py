#!/usr/bin/python3
# tests/run: args=--as root
# tests/run: builds=release asan
# tests/run: timeout=180
"""Requests that two parsers would read in two ways, and clients that hold on to what they can: each with its good brother."""

import json
import os
import re
import resource
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import census
import kit
from service import Service
from web import Web

HALVES = 2000  # connections that say half of a head


def exchange(running, *parts, timeout=20):
    """All that comes back until the connection ends, or until nothing can come any more."""
    with socket.create_connection(running.address, timeout) as connected:
        for part in parts:
            connected.sendall(part)
        connected.shutdown(socket.SHUT_WR)
        data = b""
        while got := connected.recv(65536):
            data += got
        return data


def statuses(data):
    return [int(status) for status in re.findall(rb"^HTTP/1\.1 (\d+) ", data, re.M)]


def head(running, line, *fields):
    return b"\r\n".join([line, b"Host: localhost", b"Authorization: Bearer " + running.token.encode(), *fields, b"", b""])


@kit.test(timeout=60)
def a_body_ends_where_it_says():
    """Behind each there is a request that must be the next one, or nobody's."""
    running = Service(listen=True)
    hidden = head(running, b"GET /hidden HTTP/1.1", b"Connection: close")
    chunked = b"Transfer-Encoding: chunked"
    refused = (
        (b"Transfer-Encoding: chunked, identity", b"0\r\n\r\n"), (b"Transfer-Encoding: identity\r\nContent-Length: 2", b"{}"),
        (b"Transfer-Encoding: xchunked", b"0\r\n\r\n"), (b"Transfer-Encoding : chunked", b"0\r\n\r\n"),
        (b"Transfer-Encoding:\x0bchunked\r\nContent-Length: 2", b"{}"), (chunked + b"\r\n" + chunked, b"2\r\n{}\r\n0\r\n\r\n"),
        (b"Content-Length: 4\r\n" + chunked, b"0\r\n\r\n"), (chunked + b"\r\nContent-Length: 4", b"0\r\n\r\n"),
        (b"Content-Length: +2", b"{}"), (b"Content-Length: 2, 2", b"{}"), (b"Content-Length: 2\r\nContent-Length: 2", b"{}"),
        (b"Content-Length: 0x2", b"{}"), (b"Content-Length: ", b"{}"), (b"X: a\rContent-Length: 2", b""),
        (b"X: a\nContent-Length: 2", b""), (chunked, b"2;a\nb\r\n{}\r\n0\r\n\r\n"), (chunked, b"0x2\r\n{}\r\n0\r\n\r\n"),
        (chunked, b"+2\r\n{}\r\n0\r\n\r\n"), (chunked, b"2\n{}\n0\n\n"), (chunked, b"2 \r\n{}\r\n0\r\n\r\n"), (chunked, b"2\r\n{}XX0\r\n\r\n"),
        (chunked, b"0" * 100000 + b"2\r\n{}\r\n0\r\n\r\n"), (chunked, b"2\r\n{}\r\n0\r\n" + b"A: b\r\n" * 5000 + b"\r\n"),
        (chunked, b"2\r\n{}\r\n0\r\nA b\r\n\r\n"),
    )
    for fields, body in refused:
        data = exchange(running, head(running, b"POST /v1/detect HTTP/1.1", fields) + body + hidden)
        what = f"{fields!r} {body[:30]!r}: {data[:200]!r}"
        kit.true(len(statuses(data)) == 1 and statuses(data)[0] in (400, 431, 501), what)
        kit.contains(data, b"Connection: close\r\n")
    # An old client's chunks are nobody's: it cannot know them.
    kit.equal(statuses(exchange(running, head(running, b"POST /v1/detect HTTP/1.0", chunked) + b"0\r\n\r\n" + hidden)), [400])
    # Their good brothers: each is read to its end, and what follows is a request of its own.
    message = json.dumps({"message": "hello"}).encode()
    whole = b"%x\r\n%s\r\n0\r\n" % (len(message), message)
    for fields, body in (
        (b"Content-Length: %d" % len(message), message), (b"Content-Length: 00%d" % len(message), message),
        (b"Content-Length:\t%d\t" % len(message), message), (chunked, whole + b"\r\n"), (b"Transfer-Encoding: CHUNKED", whole + b"\r\n"),
        (chunked, whole.replace(b"\r\n", b";a=b\r\n", 1) + b"\r\n"), (chunked, whole + b"Host: evil.example\r\nContent-Length: 9\r\n\r\n"),
    ):
        data = exchange(running, head(running, b"POST /v1/detect HTTP/1.1", fields) + body + hidden)
        kit.equal(statuses(data), [200, 404], f"{fields!r} {body[:40]!r}: {data[:200]!r}")


@kit.test
def names_that_only_look_like_ours():
    """DNS rebinding: a name that a browser could be told, in all ways to write an address."""
    running = Service(listen=True)
    port = running.address[1]

    def ask(line, *fields):
        return statuses(exchange(running, b"\r\n".join([line, *fields, b"Connection: close", b"", b""])))

    for host in ("localhost:abc", "localhost.", "127.0.0.1.", "127.1", "0x7f.0.0.1", "0177.0.0.1", "2130706433", "[::ffff:127.0.0.1]", "0.0.0.0",
                 "127.0.0.256", "user@localhost", "localhost#e", "localhost/e", "localhost,evil.example", "localhost evil.example", "[::1%25lo]",
                 "[::1]x", "[::1", "", f"127.0.0.1:{port}:{port}"):
        kit.true(ask(b"GET /v1/health HTTP/1.1", b"Host: " + host.encode()) in ([400], [403]), host)
    for line, host in ((b"GET http://evil.example/v1/health HTTP/1.1", b"localhost"), (b"GET http://localhost/v1/health HTTP/1.1", b"evil.example"),
                       (b"GET http://localhost@evil.example/v1/health HTTP/1.1", b"localhost"),
                       (b"GET ftp://localhost/v1/health HTTP/1.1", b"localhost"), (b"GET http:///v1/health HTTP/1.1", b"localhost")):
        kit.equal(ask(line, b"Host: " + host), [400], line)
    for origin in (b"http://localhost http://evil.example", b"", b"http://localhost/", b"http://localhost#", b"http://0.0.0.0", b"null",
                   b"moz-extension://x", b"http://[::1", b"http://localhost\r\nOrigin: http://evil.example"):
        kit.true(ask(b"GET /v1/health HTTP/1.1", b"Host: localhost", b"Origin: " + origin) in ([400], [403]), origin)
    for fields in ([b"Host: LocalHost"], [b"Host: [0:0:0:0:0:0:0:1]"], [b"Host: 127.0.0.1\t"], [b"Host: localhost", b"Origin: HTTP://LOCALHOST"]):
        kit.equal(ask(b"GET /v1/health HTTP/1.1", *fields), [200], str(fields))
    kit.equal(ask(b"GET http://localhost/v1/health HTTP/1.1", b"Host: localhost"), [200])


@kit.test
def what_a_stranger_writes_is_no_header():
    running = Service(listen=True)
    web = Web(running)
    for id in (b"a" * 5000, b"\xff\xfe", b"a b<script>"):
        data = exchange(running, head(running, b"GET /v1/health HTTP/1.1", b"X-Request-Id: " + id, b"Connection: close"))
        kit.equal((statuses(data), id in data), ([200], False))
    data = exchange(running, head(running, b"GET /v1/health HTTP/1.1", b"X-Request-Id: mine-1", b"Connection: close"))
    kit.contains(data, b"X-Request-Id: mine-1\r\n")
    # Names of files are the program's.
    done = web.run("cd /sandbox/output; printf 1 > $'a\\r\\nX-Evil: 1'; printf '<script>' > '\";x=.html'; printf 2 > plain.html")
    kit.equal({file["path"]: file["kept"] for file in done["files"]}, {"a\r\nX-Evil: 1": False, '";x=.html': True, "plain.html": True})
    place = f"/v1/executions/{done['id']}/files/"
    kit.equal(web.get(place + "a%0d%0aX-Evil:%201").status, 400)
    for name, content in (("%22;x=.html", b"<script>"), ("plain.html", b"2")):
        answer = web.get(place + name)
        # A page of a program's would run with the token of whoever looks at it.
        kit.equal((answer.status, answer.body, answer.headers["content-type"]), (200, content, "application/octet-stream"), name)


@kit.test
def an_upgrade_that_is_not_offered_is_not_made():
    running = Service(listen=True)
    for fields in ([b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"],
                   [b"Connection: Upgrade", b"Upgrade: websocket", b"Sec-WebSocket-Version: 13", b"Sec-WebSocket-Key: MDEyMzQ1Njc4OTAxMjM0NQ=="]):
        data = exchange(running, head(running, b"GET /v1/health HTTP/1.1", *fields) + head(running, b"GET /hidden HTTP/1.1", b"Connection: close"))
        kit.equal(statuses(data), [200, 404], f"{fields} {data}")


@kit.test(timeout=60)
def half_heads_by_the_thousand_keep_nobody_out():
    running = Service(listen=True)
    front = running.role("front")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, HALVES + 500), hard))
    halves = []
    try:
        for _ in range(HALVES):
            halves.append(socket.create_connection(running.address, 10))
            halves[-1].sendall(b"GET /v1/health HTTP/1.1\r\nX: ")
        with Web(running, timeout=20).connect() as wire:
            kit.equal(wire.get("/v1/health").status, 200)
            kit.equal(wire.post("/v1/execute", {"language": "bash", "code": "echo on"}).json["stdout"], "on\n")
        kit.true(census.pss(front) < (256 << 20 if "asan" in kit.built() else 64 << 20), f"{census.pss(front)} bytes for them")
    finally:
        for half in halves:
            half.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    kit.equal(Web(running).get("/v1/health").status, 200)


@kit.test(timeout=60)
def requests_whose_answers_nobody_reads_wait():
    """Pipelined without end: they are not taken in, and others are served."""
    running = Service(listen=True)
    front, before = running.role("front"), census.pss(running.role("front"))
    with socket.create_connection(running.address, 1) as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        block, sent = head(running, b"GET /v1/languages HTTP/1.1") * 200, 0
        try:
            while sent < 64 << 20:
                deaf.sendall(block)
                sent += len(block)
            kit.fail("64 MiB of requests were taken")
        except TimeoutError:
            pass
        kit.true(census.pss(front) - before < 32 << 20, f"{census.pss(front) - before} bytes more")
        kit.equal(Web(running).run("echo on")["stdout"], "on\n")


kit.main()
