#!/usr/bin/python3
"""Egress alone: what it lets through, what it refuses, what it reports."""
# tests/run: args=--as root | --as user | --as userns
# tests/run: asan=--as root
# tests/run: builds=release asan
# tests/run: timeout=240

import errno
import os
import select
import signal
import socket
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from egress import NXDOMAIN, Keeper, expect_refused, fails, read_all
from world import MACHINE, world


@kit.test
def an_allowed_name_arrives():
    address = world().http("api.example.com")
    with Keeper() as keeper:
        box = keeper.open("api.example.com")
        data = box.get("api.example.com", path="/hello")
        report = box.finish()
    kit.contains(data.decode(), "GET /hello from api.example.com\n")
    seen = report.of("api.example.com")
    kit.equal(len(seen), 1)
    kit.equal((seen[0].port, seen[0].address, seen[0].rule, seen[0].allowed, seen[0].reason, seen[0].level, seen[0].open),
              (80, address, "api.example.com", True, "rule", "name", False))
    kit.equal((seen[0].received, report.received), (len(data), len(data)))
    kit.equal((report.allowed, report.refused, report.queries, report.lost, report.gone), (1, 0, 1, 0, False))


@kit.test
def what_is_planted_is_all_there_is():
    with Keeper() as keeper:
        box = keeper.open("api.example.com:80")
        for address in ("1.1.1.1", "169.254.169.254", "10.99.0.1"):
            with box.make_socket() as s:
                with fails(errno.ENETUNREACH):
                    s.connect((address, 80))
        with box.make_socket() as s, fails(errno.ECONNREFUSED):
            s.connect(("198.18.0.1", 81))


@kit.test
def both_ways_end_apart():
    """A client that has sent all still gets the answer, and a server that has said all still gets the rest."""
    echo, half = world().serve("echo", port=7), world().serve("half", port=7)
    world().name("echo.example.com", echo)
    world().name("half.example.com", half)
    with Keeper() as keeper:
        box = keeper.open("*.example.com:7")
        with box.connect("echo.example.com", 7) as s:
            s.sendall(b"question")
            s.shutdown(socket.SHUT_WR)
            kit.equal(read_all(s), b"question")
        with box.connect("half.example.com", 7) as s:
            kit.equal(read_all(s), b"over")
            for _ in range(30):
                s.sendall(b"y" * 10000)
        kit.eventually(lambda: world().connections(address=half), "the server saw no end")
        kit.equal(world().connections(address=half)[0]["first"], 300000)
        report = box.finish()
    kit.equal([(c.sent, c.received, c.open) for c in report.connections], [(8, 8, False), (300000, 4, False)])


@kit.test
def a_reset_is_passed_on_both_ways():
    reset, silent = world().serve("reset", port=7), world().serve("silent", port=7)
    world().name("reset.example.com", reset)
    world().name("silent.example.com", silent)
    with Keeper() as keeper:
        box = keeper.open("*.example.com:7")
        expect_refused(box, "reset.example.com", 7)
        with box.connect("silent.example.com", 7) as s:
            s.sendall(b"hello")
            kit.eventually(lambda: world().connections(address=silent), "it did not arrive")
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        kit.eventually(lambda: world().errors(address=silent), "the server saw no reset")
        kit.contains(world().errors(address=silent)[0]["error"], "reset")
        report = box.finish()
    # The first may have come before the connection was complete.
    kit.contains(("rule", "unreachable"), report.connections[0].reason)
    kit.equal([(c.host, c.allowed, c.reason, c.sent) for c in report.connections[1:]], [("silent.example.com", True, "rule", 5)])


@kit.test
def a_server_may_speak_first():
    world().name("greet.example.com", world().serve("greet", port=25))
    with Keeper() as keeper:
        box = keeper.open("greet.example.com:25")
        with box.connect("greet.example.com", 25) as s:
            kit.equal(s.recv(100), b"220 hello\r\n")
            s.sendall(b"EHLO box\r\n")
            kit.equal(s.recv(100), b"EHLO box\r\n")
        report = box.finish()
    kit.equal([(c.allowed, c.level, c.sent, c.received) for c in report.connections], [(True, "name", 10, 21)])


@kit.test
def bytes_arrive_as_they_were_sent():
    """A few megabytes both ways at once, in pieces of every size."""
    world().name("echo.example.com", world().serve("echo", port=7))
    data = os.urandom(1 << 22)
    with Keeper() as keeper:
        box = keeper.open("echo.example.com:7")
        with box.connect("echo.example.com", 7) as s:
            got, at, size = bytearray(), 0, 1
            s.setblocking(False)
            while len(got) < len(data):
                readable, writable, _ = select.select([s], [s] if at < len(data) else [], [], 20)
                kit.true(readable or writable, f"nothing moves after {len(got)} bytes")
                if writable:
                    at += s.send(data[at:at + size])
                    size = size * 2 % 99991 or 1
                if readable:
                    got += s.recv(70001)
        kit.true(bytes(got) == data, "other bytes came back")
        report = box.finish()
    kit.equal([(c.sent, c.received) for c in report.connections], [(len(data), len(data))])


@kit.test
def an_address_is_reached_as_the_rule_names_it():
    world().serve("http", "93.184.217.7", 8080) if world().address("93.184.217.7") else None
    world().address("2606:4700::7")
    world().serve("http", "2606:4700::7", 8080)
    world().serve("http", "2606:4700::7", 8081)
    with Keeper() as keeper:
        box = keeper.open("93.184.217.0/24:8080", "[2606:4700::7]:8080")
        with box.connect("93.184.217.7", 8080) as s:
            s.sendall(b"GET / HTTP/1.0\r\nConnection: close\r\n\r\n")
            kit.contains(read_all(s), b"200 OK")
        with box.connect("2606:4700::7", 8080, socket.AF_INET6) as s:
            s.sendall(b"GET / HTTP/1.0\r\nConnection: close\r\n\r\n")
            kit.contains(read_all(s), b"200 OK")
        for address, port, family, errnum in (("93.184.218.1", 8080, socket.AF_INET, errno.ENETUNREACH),
                                              ("2606:4700::7", 8081, socket.AF_INET6, errno.ECONNREFUSED)):
            with fails(errnum):
                box.connect(address, port, family)
        report = box.finish()
    kit.equal([(c.host, c.port, c.rule, c.allowed) for c in report.connections],
              [("93.184.217.7", 8080, "93.184.217.0/24:8080", True), ("2606:4700::7", 8080, "[2606:4700::7]:8080", True)])


@kit.test
def the_machine_itself_is_reached_as_host_alone():
    world().serve("http", "127.0.0.1", 8099, on_machine=True)
    with Keeper() as keeper:
        box = keeper.open("host:8099", host_allowed=1)
        kit.contains(box.get("host", 8099), b"200 OK")
        kit.equal([(c.host, c.address, c.allowed) for c in box.finish().connections], [("host", "127.0.0.1", True)])
        # An address is no way around the service's configuration.
        world().serve("http", MACHINE, 8099, on_machine=True)
        box = keeper.open(f"{MACHINE}:8099")
        expect_refused(box, MACHINE, 8099)
        kit.equal(box.finish().reasons(), [(MACHINE, 8099, "own-address")])


@kit.test
def public_reaches_every_public_address_and_no_other():
    world().http("api.example.com", 8123)
    world().address("93.184.217.9")
    world().serve("http", "93.184.217.9", 8124)
    world().address("10.1.2.4")
    world().serve("http", "10.1.2.4", 8124)
    with Keeper() as keeper:
        box = keeper.open("public")
        kit.contains(box.get("api.example.com", 8123), b"200 OK")
        kit.contains(box.get("93.184.217.9", 8124), b"200 OK")
        for address in ("10.1.2.4", "169.254.169.254", MACHINE, "100.64.0.1"):
            expect_refused(box, address, 8124)
        report = box.finish()
    kit.equal([(c.host, c.allowed) for c in report.connections],
              [("api.example.com", True), ("93.184.217.9", True), ("10.1.2.4", False), ("169.254.169.254", False),
               (MACHINE, False), ("100.64.0.1", False)])


@kit.test
def a_dead_address_does_not_hide_the_next():
    alive = world().serve("http", port=8125)
    world().name("two.example.com", "93.184.219.1", alive)
    world().name("none.example.com", "93.184.219.1", "93.184.219.2")
    with Keeper() as keeper:
        box = keeper.open("*.example.com:8125")
        kit.contains(box.get("two.example.com", 8125), b"200 OK")
        expect_refused(box, "none.example.com", 8125)
        report = box.finish()
    kit.equal([(c.host, c.address == alive, c.allowed, c.reason) for c in report.connections],
              [("two.example.com", True, True, "rule"), ("none.example.com", False, False, "unreachable")])


@kit.test
def an_egress_that_is_killed_resets_connections_and_comes_back():
    world().name("echo.example.com", world().serve("echo", port=7))
    with Keeper() as keeper:
        box = keeper.open("echo.example.com:7")
        with box.connect("echo.example.com", 7) as s:
            s.sendall(b"hello")
            kit.equal(s.recv(5), b"hello")
            keeper.kill()
            with fails(errno.ECONNRESET):
                s.recv(1)
        kit.eventually(lambda: box.report().gone, "its end was not told")
        keeper.start()
        with box.connect("echo.example.com", 7) as s:
            s.sendall(b"again")
            kit.equal(s.recv(5), b"again")
        kit.equal(box.ask("other.example.com").code, NXDOMAIN, "the policy is the same")
        report = box.finish()
    kit.equal(report.reasons(), [("echo.example.com", 7, "rule"), ("other.example.com", 0, "no-rule")])


@kit.test
def it_ends_with_who_started_it():
    keeper = Keeper()
    watch = kit.Watch([keeper.egress])
    keeper.open("api.example.com:80")
    os.kill(keeper.process.pid, signal.SIGKILL)
    kit.equal(watch.survivors(), [])


@kit.test
def another_policy_ends_what_it_does_not_allow():
    for name in ("stays", "goes", "comes"):
        world().name(f"{name}.example.com", world().serve("echo", port=7))
    with Keeper() as keeper:
        box = keeper.open("stays.example.com:7", "goes.example.com:7")
        with box.connect("stays.example.com", 7) as stays, box.connect("goes.example.com", 7) as goes:
            for s in (stays, goes):
                s.sendall(b"one")
                kit.equal(s.recv(3), b"one")
            kit.equal(box.ask("comes.example.com").code, NXDOMAIN)
            old = box.ask("goes.example.com").address
            box.change("stays.example.com:7,comes.example.com:7")
            with fails(errno.ECONNRESET):
                goes.recv(1)
            stays.sendall(b"two")
            kit.equal(stays.recv(3), b"two")
        kit.equal(box.ask("goes.example.com").code, NXDOMAIN)
        expect_refused(box, old, 7)
        with box.connect("comes.example.com", 7) as s:
            s.sendall(b"new")
            kit.equal(s.recv(3), b"new")
        # What the box closed has ended here.
        kit.eventually(lambda: not any(c.open for c in box.report().connections), "connections that were closed are open")
        box.change("none")
        kit.equal(box.ask("stays.example.com").code, NXDOMAIN)
        report = box.finish()
    kit.equal(sorted(report.reasons()), sorted([
        ("stays.example.com", 7, "rule"), ("goes.example.com", 7, "no-rule"), ("comes.example.com", 0, "no-rule"),
        ("goes.example.com", 0, "no-rule"), ("goes.example.com", 7, "no-rule"), ("comes.example.com", 7, "rule"),
        ("stays.example.com", 0, "no-rule")]))


@kit.test
def boxes_know_nothing_of_each_other():
    world().name("one.example.com", world().serve("echo", port=7))
    with Keeper() as keeper:
        one, two = keeper.open("one.example.com:7"), keeper.open("two.example.com:7")
        address = one.ask("one.example.com").address
        kit.equal(two.ask("one.example.com").code, NXDOMAIN)
        expect_refused(two, address, 7)
        with one.connect("one.example.com", 7) as s:
            # What ends one box leaves the other as it is.
            two.close()
            s.sendall(b"hello")
            kit.equal(s.recv(5), b"hello")


kit.main()
