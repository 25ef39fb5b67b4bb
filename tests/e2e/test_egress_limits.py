#!/usr/bin/python3
"""What a box may use of egress, and what it cannot take from others."""
# tests/run: args=--as root
# tests/run: timeout=240

import contextlib
import fcntl
import os
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from egress import Keeper, expect_refused, fails, read_all
from world import world


def resident(pid):
    """Bytes of memory that a process has for itself alone."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("RssAnon:"))


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def waiting(s):
    """Bytes that could be read."""
    return struct.unpack("i", fcntl.ioctl(s.fileno(), 0x541B, b"\0" * 4))[0]


def settled(look):
    """A number, once it has been the same for a while; it is only ever compared with a bound."""
    last, same = None, 0

    def steady():
        nonlocal last, same
        now = look()
        same = same + 1 if now == last else 0
        last = now
        return same >= 40

    kit.eventually(steady, "it never settles", timeout=20)
    return last


@kit.test
def the_total_is_exact():
    address = world().http("api.example.com")
    with Keeper() as keeper:
        box = keeper.open("api.example.com:80")
        size = len(box.get("api.example.com", path="/bytes/300000"))
        used = box.finish()
        whole = used.sent + used.received
        kit.equal(used.received, size)
        # Exactly as much is enough, and then there is nothing left.
        box = keeper.open("api.example.com:80", total=whole)
        kit.equal(len(box.get("api.example.com", path="/bytes/300000")), size)
        expect_refused(box, "api.example.com", 80)
        report = box.finish()
        kit.equal([(c.allowed, c.reason) for c in report.connections], [(True, "rule"), (False, "total")])
        # A byte less is not.
        box = keeper.open("api.example.com:80", total=whole - 1)
        got = b""
        with contextlib.suppress(ConnectionResetError), box.connect("api.example.com", 80) as s:
            s.sendall(b"GET /bytes/300000 HTTP/1.1\r\nHost: api.example.com\r\nConnection: close\r\n\r\n")
            while more := s.recv(65536):
                got += more
            kit.fail("it was not reset")
        report = box.finish()
    kit.equal([(c.allowed, c.reason, c.address) for c in report.connections], [(True, "total", address)])
    kit.equal(report.sent + report.received, whole - 1)
    kit.true(len(got) <= size - 1, f"{len(got)} of {size}")


@kit.test
def connections_are_bounded_at_once_and_in_all():
    world().name("echo.example.com", world().serve("echo", port=7))
    with Keeper() as keeper:
        box = keeper.open("echo.example.com:7", connections=3, connections_total=5)
        with contextlib.ExitStack() as stack:
            held = [stack.enter_context(box.connect("echo.example.com", 7)) for _ in range(3)]
            for s in held:
                s.sendall(b"hello")
                kit.equal(s.recv(5), b"hello")
            expect_refused(box, "echo.example.com", 7)
            # The others are as they were.
            held[0].sendall(b"again")
            kit.equal(held[0].recv(5), b"again")
        kit.eventually(lambda: not any(c.open for c in box.report().connections), "they never end")
        for _ in range(2):
            with box.connect("echo.example.com", 7) as s:
                s.sendall(b"hello")
                kit.equal(s.recv(5), b"hello")
        expect_refused(box, "echo.example.com", 7)
        report = box.finish()
    kit.equal([c.reason for c in report.connections].count("connections"), 2)
    kit.equal((report.allowed, report.refused), (5, 2))


@kit.test(timeout=60)
def the_rate_is_not_exceeded():
    """A lower bound of the time, which no load can make shorter. The arithmetic is tests/unit/test_egress_bucket.c."""
    world().http("api.example.com")
    rate, size = 200_000, 500_000
    for path, body in ((f"/bytes/{size}", b""), ("/", b"x" * size)):
        with Keeper() as keeper:
            box = keeper.open("api.example.com:80", rate=rate)
            kit.true(box.ask("api.example.com").address, "it has an address")
            begin = time.monotonic()
            with box.connect("api.example.com", 80) as s:
                s.sendall(f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
                kit.contains(read_all(s)[:20], b"200 OK")
            took = time.monotonic() - begin
        # What the bucket has at first comes at once: a fifth of a second's.
        kit.true(took >= (size - rate / 5) / rate, f"{size} bytes in {took} s")


@kit.test(timeout=60)
def a_rate_is_shared_by_all_connections_of_a_box():
    world().http("api.example.com")
    rate, size = 200_000, 100_000
    with Keeper() as keeper, contextlib.ExitStack() as stack:
        box = keeper.open("api.example.com:80", rate=rate)
        box.ask("api.example.com")
        begin = time.monotonic()
        held = [stack.enter_context(box.connect("api.example.com", 80)) for _ in range(5)]
        for s in held:
            s.sendall(f"GET /bytes/{size} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
        for s in held:
            kit.true(len(read_all(s)) > size, "a whole answer")
        took = time.monotonic() - begin
    kit.true(took >= (5 * size - rate / 5) / rate, f"{5 * size} bytes in {took} s")


@kit.test(timeout=60)
def a_box_that_does_not_read_holds_nothing_up():
    """Servers send as much as they can to connections that nobody reads. Egress does not grow, and serves others."""
    flood = world().serve("flood", port=7)
    world().name("flood.example.com", flood)
    world().name("echo.example.com", world().serve("echo", port=8))
    with Keeper() as keeper, contextlib.ExitStack() as stack:
        box, other = keeper.open("flood.example.com:7"), keeper.open("echo.example.com:8")
        with other.connect("echo.example.com", 8) as s:
            s.sendall(b"x" * 1000)
            s.recv(1)
            before = resident(keeper.egress)
        held = [stack.enter_context(box.connect("flood.example.com", 7)) for _ in range(40)]
        for s in held:
            s.recv(1)
        settled(lambda: sum(map(waiting, held)))
        kit.true(resident(keeper.egress) - before < 1 << 20, f"egress grew by {resident(keeper.egress) - before} bytes")
        # Two sockets each, and a pipe for those that found one.
        kit.true(descriptors(keeper.egress) < 40 * 4 + 40, f"{descriptors(keeper.egress)} descriptors")
        with other.connect("echo.example.com", 8) as s:
            s.sendall(b"hello")
            kit.equal(s.recv(5), b"hello")
        # What waits is all there.
        kit.equal(held[0].recv(1000), b"x" * 1000)
        report = box.finish()
    per = report.received / 40
    kit.true(per < 4 << 20, f"{per} bytes of each were taken from the server")


@kit.test(timeout=60)
def a_server_that_does_not_read_holds_nothing_up():
    world().name("slow.example.com", world().serve("greet", port=7))  # reads once, and then only what it sends back
    with Keeper() as keeper:
        box = keeper.open("slow.example.com:7")
        before = resident(keeper.egress)
        with box.connect("slow.example.com", 7) as s:
            s.setblocking(False)
            sent = 0
            deadline = time.monotonic() + 15
            # Nothing that comes back is read, so the server blocks, then egress, then the box.
            quiet = 0
            while quiet < 40 and time.monotonic() < deadline:
                try:
                    sent += s.send(b"y" * 65536)
                    quiet = 0
                except BlockingIOError:
                    quiet += 1
                    time.sleep(0.01)
            kit.true(quiet >= 40, f"{sent} bytes were taken and it never blocked")
            kit.true(resident(keeper.egress) - before < 1 << 20, "egress grew")
            # And when it is read, all of it comes.
            s.setblocking(True)
            s.settimeout(20)
            s.shutdown(socket.SHUT_WR)
            got = read_all(s)
        report = box.finish()
    kit.equal(len(got), sent + len(b"220 hello\r\n"))
    kit.equal((report.sent, report.received), (sent, len(got)))


@kit.test(timeout=60)
def many_connections_are_all_served():
    """More at once than there are pipes for a box: those without one copy."""
    world().http("api.example.com")
    count, size = 150, 200_000
    with Keeper() as keeper, contextlib.ExitStack() as stack:
        box = keeper.open("api.example.com:80", connections=1000)
        held = [stack.enter_context(box.connect("api.example.com", 80)) for _ in range(count)]
        for s in held:
            s.sendall(f"GET /bytes/{size} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
        # All answers fill what is between, before one is read.
        settled(lambda: sum(map(waiting, held)))
        for s in held:
            data = read_all(s)
            kit.true(data.endswith(b"x" * size) and len(data) < size + 200, len(data))
        report = box.finish()
        kit.eventually(lambda: descriptors(keeper.egress) < 30, "descriptors stay open")
    kit.equal((report.allowed, report.refused, report.lost), (count, 0, 0))
    kit.equal({c.received for c in report.connections}, {len(data)})


@kit.test
def reports_wait_for_their_reader():
    world().name("echo.example.com", world().serve("echo", port=7))
    with Keeper() as keeper:
        box = keeper.open("echo.example.com:7")
        for _ in range(300):
            expect_refused(box, "198.18.9.9", 7)
        with box.connect("echo.example.com", 7) as s:
            s.sendall(b"hello")
            kit.equal(s.recv(5), b"hello")
        report = box.finish()
    kit.equal((len(report.connections), report.allowed, report.refused, report.lost), (301, 1, 300, 0))
    kit.equal((report.connections[-1].host, report.connections[-1].sent), ("echo.example.com", 5))


@kit.test(timeout=60)
def reports_that_nobody_reads_are_counted():
    with Keeper() as keeper:
        box = keeper.open("echo.example.com:7")
        before = resident(keeper.egress)
        for _ in range(3000):
            expect_refused(box, "198.18.9.9", 7)
        grew = resident(keeper.egress) - before
        report = box.finish()
    kit.equal(report.refused, 3000)
    kit.true(report.lost > 0, "the control: some were lost")
    kit.equal(len(report.connections), min(1000, 3000 - report.lost))
    kit.equal([c.number for c in report.connections], list(range(1, len(report.connections) + 1)), "the first are there")
    kit.true(grew < 1 << 20, f"egress grew by {grew} bytes")


@kit.test(timeout=60)
def a_thousand_connections_one_after_the_other_leave_nothing():
    world().name("echo.example.com", world().serve("echo", port=7))
    with Keeper() as keeper:
        box = keeper.open("echo.example.com:7")
        address = box.ask("echo.example.com").address
        for number in range(1000):
            with box.connect(address, 7) as s:
                s.sendall(b"hello")
                kit.equal(s.recv(5), b"hello")
            if number == 100:
                kit.eventually(lambda: descriptors(keeper.egress) < 30, "descriptors stay open")
                before = resident(keeper.egress)
            if number % 100 == 0:
                box.report()
        kit.eventually(lambda: descriptors(keeper.egress) < 30, "descriptors stay open")
        kit.true(resident(keeper.egress) - before < 1 << 19, f"egress grew by {resident(keeper.egress) - before} bytes")
        report = box.finish()
    kit.equal((report.allowed, report.sent, report.received, report.lost), (1000, 5000, 5000, 0))


@kit.test
def an_egress_without_connections_sleeps():
    world().http("api.example.com")
    with Keeper() as keeper:
        box = keeper.open("api.example.com:80")
        box.get("api.example.com")
        kit.eventually(lambda: not any(c.open for c in box.report().connections), "it never ends")

        def switches():
            with open(f"/proc/{keeper.egress}/status", encoding="ascii") as file:
                return [line for line in file if "ctxt_switches" in line]

        before = settled(switches)
        time.sleep(2)
        kit.equal(switches(), before)
        kit.true(resident(keeper.egress) < 3 << 20, f"{resident(keeper.egress)} bytes")


kit.main()
