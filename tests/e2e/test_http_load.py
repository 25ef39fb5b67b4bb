#!/usr/bin/python3
"""bench/http_load: what it counts, what it calls a failure, and that it stops. It asserts nothing about speed."""

import http.server
import json
import os
import socketserver
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit  # noqa: E402

LOAD = os.path.join(kit.BUILD, "bench", "http_load")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one write an answer: no waiting for acknowledgements

    def log_message(self, *_):
        pass

    def setup(self):
        super().setup()
        with self.server.lock:
            self.server.connections += 1

    def answer(self, body=b"", status=200, length=None, **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        if length is not False:
            self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def do_GET(self):
        with self.server.lock:
            self.server.seen.append((self.path, self.headers.get("Authorization"), self.headers.get("Accept"), self.headers.get("X-Odd")))
        if self.path == "/chunks":
            self.answer(b"3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", length=False, Transfer_Encoding="chunked")
        elif self.path == "/bad-chunks":
            self.answer(b"x\r\nhel\r\n", length=False, Transfer_Encoding="chunked")
        elif self.path == "/until-the-end":
            self.answer(b"hello", length=False)
            self.close_connection = True
        elif self.path == "/closed":
            self.answer(b"hello", Connection="close")
            self.close_connection = True
        elif self.path == "/short":
            self.answer(b"hel", length=5)
            self.close_connection = True
        elif self.path == "/long":
            self.answer(b"hello", length=3)
        elif self.path == "/none":
            self.close_connection = True
        elif self.path == "/not-http":
            self.wfile.write(b"SSH-2.0-x\r\n\r\n")
        elif self.path == "/empty":
            self.answer()
        elif self.path == "/missing":
            self.answer(b"not here", status=404)
        elif self.path == "/events":
            self.answer(b"5\r\nhello\r\n", length=False, Content_Type="text/event-stream", Transfer_Encoding="chunked")
            self.server.ended.wait(60)
            self.close_connection = True
        else:
            self.answer(b"hello")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response_only(100)
        self.end_headers()
        self.answer(body)


class Server:
    def __enter__(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.lock, self.server.seen, self.server.connections = threading.Lock(), [], 0
        self.server.ended = threading.Event()
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.to = f"127.0.0.1:{self.server.server_port}"
        return self

    def __exit__(self, *_):
        self.server.ended.set()
        self.server.shutdown()
        self.server.server_close()

    def load(self, *words):
        r = kit.command([LOAD, "--to", self.to, *words])
        kit.equal((r.code, r.errtext), (0, ""))
        return json.loads(r.text)


@kit.test
def requests_are_counted_and_connections_kept():
    with Server() as server:
        report = server.load("--count", "100", "--connections", "4", "--contains", "hello", "--token", "secret", "--header", "X-Odd: y")
        kit.equal([report[key] for key in ("count", "failed", "problem", "bytes", "stopped")], [100, 0, None, 500, False])
        kit.equal(server.server.connections, 4)
        kit.equal(set(server.server.seen), {("/", "Bearer secret", None, "y")})
        kit.true(0 < report["p50"] <= report["p95"] <= report["p99"] <= report["max"] <= report["seconds"], f"{report}")


@kit.test
def samples_are_those_of_the_report():
    with Server() as server:
        report = server.load("--count", "20", "--samples", "--pause", "1")
    kit.equal([len(report[key]) for key in ("samples", "first_samples", "transfer_samples")], [20, 20, 20])
    kit.equal((sorted(report["samples"])[9], max(report["samples"])), (report["p50"], report["max"]))


@kit.test
def answers_of_every_kind():
    with Server() as server:
        for path, size, connections in (("/chunks", 5, 1), ("/until-the-end", 5, 6), ("/closed", 5, 6), ("/empty", 0, 1)):
            before = server.server.connections
            report = server.load("--path", path, "--count", "6")
            kit.equal((report["count"], report["failed"], report["bytes"], report["problem"]), (6, 0, 6 * size, None), path)
            kit.equal(server.server.connections - before, connections, f"connections of {path}")


@kit.test
def what_is_wrong_is_a_failure():
    with Server() as server:
        for path, problem in (
            ("/bad-chunks", "a chunk has no size"),
            ("/short", "the connection ended in the middle of an answer"),
            ("/long", "more came than the answer"),
            ("/none", "the connection ended before an answer"),
            ("/not-http", "the answer is not HTTP/1"),
            ("/missing", "status 404: not here"),
        ):
            report = server.load("--path", path, "--count", "3")
            kit.equal((report["count"], report["failed"], report["problem"], report["p50"]), (0, 3, problem, None), path)
        report = server.load("--count", "3", "--contains", "bye")
        kit.equal((report["count"], report["failed"], report["problem"]), (0, 3, "the answer is hello"))
        report = server.load("--path", "/missing", "--status", "404", "--count", "3")
        kit.equal((report["count"], report["failed"]), (3, 0))


@kit.test
def large_bodies_both_ways_after_an_interim_answer():
    body = kit.write(f"{kit.tmp()}/body", '{"meta":{"start":"warm"}}' + "x" * (4 << 20))
    with Server() as server:
        report = server.load("--body", body, "--count", "4", "--connections", "2", "--contains", "warm")
        kit.equal((report["count"], report["failed"], report["problem"]), (4, 0, None))
        kit.equal((report["bytes"], report["warm"], report["cold"]), (4 * os.path.getsize(body), 4, 0))


@kit.test
def it_stops_when_many_are_cold():
    body = kit.write(f"{kit.tmp()}/body", '{"meta": {"start": "cold"}}')
    with Server() as server:
        report = server.load("--body", body, "--count", "100", "--max-cold", "3")
    kit.equal((report["count"], report["cold"], report["stopped"]), (3, 3, True))


@kit.test
def it_stops_after_its_time():
    with Server() as server:
        report = server.load("--seconds", "0.3", "--connections", "2")
    kit.true(report["count"] > 0 and report["failed"] == 0, f"{report}")


@kit.test
def a_server_that_is_not_there():
    with Server() as server:
        to = server.to
    r = kit.command([LOAD, "--to", to, "--count", "1"])
    kit.equal((r.code, r.text, r.errtext), (1, "", f"http_load: {to}: Connection refused\n"))


@kit.test
def a_unix_socket():
    class Local(socketserver.ThreadingUnixStreamServer):
        daemon_threads = True

    path = os.path.join(kit.tmp(), "socket")
    server = Local(path, Handler)
    server.lock, server.seen, server.connections = threading.Lock(), [], 0
    threading.Thread(target=server.serve_forever, daemon=True).start()
    r = kit.command([LOAD, "--to", path, "--count", "10", "--contains", "hello"])
    server.shutdown()
    server.server_close()
    kit.equal((r.code, r.errtext), (0, ""))
    kit.equal((r.json["count"], r.json["failed"]), (10, 0))


@kit.test
def streams_are_held_until_the_input_ends():
    with Server() as server:
        held = kit.start([LOAD, "--to", server.to, "--path", "/events", "--streams", "20"], stdin=subprocess.PIPE)
        opened = json.loads(held.stdout.readline())
        kit.equal((opened["open"], opened["failed"]), (20, 0))
        kit.equal({seen[2] for seen in server.server.seen}, {"text/event-stream"})
        kit.equal(held.poll(), None, "it holds them")
        r = kit.finish(held)
        kit.equal((r.code, r.errtext), (0, ""))
        kit.equal((r.json["open"], r.json["failed"]), (20, 0))


@kit.test
def wrong_options():
    for words, problem in (
        ((), "--to HOST:PORT or the path of a socket"),
        (("--to", "127.0.0.1:1"), "--count or --seconds"),
        (("--to", "nowhere", "--count", "1"), "--to: there is no such address"),
        (("--to", "127.0.0.1:1", "--count", "x"), "a number cannot be used"),
    ):
        r = kit.command([LOAD, *words])
        kit.equal((r.code, r.text), (2, ""))
        kit.true(r.errtext.startswith(f"http_load: {problem}\n"), r.errtext)


kit.main()
