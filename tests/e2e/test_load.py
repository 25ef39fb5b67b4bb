#!/usr/bin/python3
"""bench/load: what it counts, what it calls a failure, and that it stops in time. It asserts nothing about speed."""
# tests/run: timeout=60

import json
import os
import socket
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
import wire

LOAD = os.path.join(kit.BUILD, "bench", "load")


def load(*words):
    r = kit.command([LOAD, *words])
    kit.equal((r.code, r.errtext), (0, ""))
    return json.loads(r.text)


def service(answer):
    """A service that answers each request by frames; `answer` gets the number of the request and its object."""
    listener = socket.socket(socket.AF_UNIX)
    path = os.path.join(kit.tmp(), "sock")
    listener.bind(path)
    listener.listen(64)
    lock, asked = threading.Lock(), []

    def serve(connection):
        try:
            while True:
                kind, payload = wire.read_frame(connection)
                kit.equal(kind, "R")
                with lock:
                    asked.append(json.loads(payload))
                    number = len(asked)
                for frame in answer(number, asked[number - 1]):
                    wire.write_frame(connection, *frame)
        except (wire.Broken, OSError):
            connection.close()

    def accept():
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return path, asked


def result(stdout="1\n", start="warm", status="ok", size=None):
    body = {"status": status, "stdout": stdout, "stdout_bytes": len(stdout) if size is None else size,
            "error_message": None, "meta": {"start": start}}
    return "J", json.dumps(body).encode()


def request(code="print(1)"):
    return kit.write(os.path.join(kit.tmp(), "request.json"), json.dumps({"language": "python", "code": code}))


def figures(report, *names):
    return tuple(report[name] for name in names)


@kit.test
def counts_commands():
    r = load("--command", "--count", "5", "--connections", "2", "--expect", "1\n", "--samples", "--", "/bin/echo", "1")
    kit.equal(figures(r, "count", "failed", "bytes", "problem", "stopped"), (5, 0, 10, None, False))
    kit.equal(len(r["samples"]), 5)
    ordered = sorted(r["samples"])
    kit.equal(figures(r, "p50", "p95", "max"), (ordered[2], ordered[4], ordered[4]))


@kit.test
def a_command_that_fails_is_no_sample():
    r = load("--command", "--count", "3", "--", "/bin/false")
    kit.equal(figures(r, "count", "failed", "p50", "problem"), (0, 3, None, "it ended with wait status 0x100"))
    r = load("--command", "--count", "2", "--expect", "2\n", "--", "/bin/echo", "1")
    kit.equal(figures(r, "count", "failed", "problem"), (0, 2, 'the output is "1\n"'))
    r = load("--command", "--count", "1", "--expect-bytes", "3", "--", "/bin/echo", "1")
    kit.equal(figures(r, "count", "failed", "problem"), (0, 1, "the output has 2 bytes"))


@kit.test
def each_attempt_can_be_another_program():
    path, asked = service(lambda number, asked: [result()])
    load("--socket", path, "--request", request("print(1) # @N@"), "--count", "4", "--connections", "2")
    codes = {one["code"] for one in asked}
    kit.equal(len(codes), 4, codes)
    kit.true(all(code.removeprefix("print(1) # ").isdigit() for code in codes), codes)


@kit.test
def counts_starts():
    path, _ = service(lambda number, asked: [result(start="cold" if number % 2 else "warm")])
    r = load("--socket", path, "--request", request(), "--count", "10", "--expect", "1\n")
    kit.equal(figures(r, "count", "warm", "cold", "failed", "stopped"), (10, 5, 5, 0, False))


@kit.test
def stops_when_too_many_are_cold():
    path, asked = service(lambda number, asked: [result(start="cold")])
    r = load("--socket", path, "--request", request(), "--count", "100", "--max-cold", "7")
    kit.equal(figures(r, "count", "cold", "failed", "stopped"), (7, 7, 0, True))
    kit.equal(len(asked), 7)


@kit.test
def what_waits_is_cut_off_when_it_stops():
    forever = threading.Event()

    def answer(number, asked):
        if number > 1:
            forever.wait(20)
        return [result(start="cold")]

    path, _ = service(answer)
    r = load("--socket", path, "--request", request(), "--connections", "1", "--count", "1", "--max-cold", "1")
    kit.equal(figures(r, "count", "stopped"), (1, True))
    path, _ = service(answer)
    r = load("--socket", path, "--request", request(), "--connections", "8", "--count", "50", "--max-cold", "1")
    kit.equal(figures(r, "count", "cold", "failed", "stopped"), (1, 1, 0, True))
    forever.set()


@kit.test
def asks_again_when_the_service_is_busy():
    busy = "E", json.dumps({"error": {"code": "busy", "message": "later", "retry_after": 0.01}}).encode()
    path, _ = service(lambda number, asked: [busy if number < 3 else result()])
    r = load("--socket", path, "--request", request(), "--count", "1", "--expect", "1\n")
    kit.equal(figures(r, "count", "refused", "failed"), (1, 2, 0))


@kit.test
def a_refusal_for_good_is_a_failure():
    refusal = "E", json.dumps({"error": {"code": "bad_input", "message": "no"}}).encode()
    path, _ = service(lambda number, asked: [refusal])
    r = load("--socket", path, "--request", request(), "--count", "1")
    kit.equal(figures(r, "count", "failed", "problem"), (0, 1, 'refused, "bad_input": no'))


@kit.test
def another_status_is_a_failure():
    path, _ = service(lambda number, asked: [result(status="timeout")])
    r = load("--socket", path, "--request", request(), "--count", "1")
    kit.equal(figures(r, "count", "failed", "problem"), (0, 1, 'status "timeout": '))


@kit.test
def streamed_output_is_counted_and_compared():
    frames = [("S", b'{"id":"x"}'), ("1", b"ab"), ("2", b"no"), ("1", b"c")]
    path, _ = service(lambda number, asked: [*frames, result("abc")])
    r = load("--socket", path, "--request", request(), "--count", "2", "--expect", "abc", "--expect-bytes", "3")
    kit.equal(figures(r, "count", "failed", "bytes"), (2, 0, 6))
    path, _ = service(lambda number, asked: [*frames, result("abc", size=4)])
    r = load("--socket", path, "--request", request(), "--count", "1")
    kit.equal(figures(r, "failed", "problem"), (1, "3 bytes of output came, the result says 4"))


@kit.test
def a_service_that_goes_away_is_a_failure():
    def answer(number, asked):
        if number == 2:
            raise wire.Broken
        return [result()]

    path, _ = service(answer)
    r = load("--socket", path, "--request", request(), "--count", "3")
    kit.equal(figures(r, "count", "failed", "problem"), (2, 1, "the connection broke: its end"))


kit.main()
