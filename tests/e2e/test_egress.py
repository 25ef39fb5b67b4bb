#!/usr/bin/python3
"""Egress alone: what it lets through, what it refuses, what it reports."""
# tests/run: args=--as root

import errno
import os
import ssl
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from egress import AAAA, HTTPS, NXDOMAIN, PTR, Keeper, expect_refused, fails
from world import world


def tls(box, name, sni, ask="GET /bytes/100000 HTTP/1.0\r\nConnection: close\r\n\r\n"):
    context = ssl.create_default_context(cafile=world().authority)
    context.check_hostname = False
    with context.wrap_socket(box.connect(name, 443), server_hostname=sni) as s:
        s.sendall(ask.encode())
        data = b""
        while more := s.recv(65536):
            data += more
        return data


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
def a_name_that_is_not_allowed_does_not_exist():
    world().http("other.example.com")
    before = len(world().queries())
    with Keeper() as keeper:
        box = keeper.open("api.example.com:80")
        kit.equal(box.ask("other.example.com").code, NXDOMAIN)
        kit.equal(box.ask("other.example.com", AAAA).code, NXDOMAIN)
        kit.equal(box.ask("secret-in-a-name.example.net").code, NXDOMAIN)
        report = box.finish()
    # Nobody outside was asked, and both types of a question are one refusal.
    kit.equal(world().queries()[before:], [])
    kit.equal(report.reasons(), [("other.example.com", 0, "no-rule"), ("secret-in-a-name.example.net", 0, "no-rule")])
    kit.equal((report.allowed, report.refused, report.queries), (0, 2, 3))


@kit.test
def a_name_has_an_address_of_its_own():
    world().http("one.example.com")
    world().http("two.example.com")
    with Keeper() as keeper:
        box = keeper.open("*.example.com:80")
        one, two = box.ask("one.example.com"), box.ask("two.example.com")
        kit.true(one.address.startswith("198.18.") and two.address.startswith("198.18."), one.address)
        kit.true(one.address != two.address, "two names have one address")
        kit.equal(box.ask("one.example.com").address, one.address)
        kit.equal((box.ask("one.example.com", AAAA).code, box.ask("one.example.com", AAAA).count), (0, 0))
        kit.equal((box.ask("one.example.com", HTTPS).code, box.ask("one.example.com", HTTPS).count), (0, 0))
        reverse = ".".join(reversed(two.address.split("."))) + ".in-addr.arpa"
        kit.equal(box.ask(reverse, PTR).name, "two.example.com")
        # What was never given to a name leads nowhere.
        expect_refused(box, "198.18.9.9", 80)
        kit.equal(box.finish().reasons(), [("198.18.9.9", 80, "no-rule")])


@kit.test
def tls_goes_through_with_the_name_that_was_asked_for():
    world().tls("tls.example.com")
    with Keeper() as keeper:
        box = keeper.open("tls.example.com")
        data = tls(box, "tls.example.com", "tls.example.com")
        kit.true(data.endswith(b"x" * 100000), len(data))
        for sni in ("other.example.com", None):
            with fails(errno.ECONNRESET):
                tls(box, "tls.example.com", sni)
        report = box.finish()
    kit.equal([(c.reason, c.level, c.allowed, c.sent) for c in report.connections][1:],
              [("sni", "name", False, 0), ("no-sni", "name", False, 0)])
    kit.equal((report.connections[0].reason, report.connections[0].level), ("rule", "sni"))


@kit.test
def a_name_that_leads_inside_is_refused():
    world().address("10.1.2.3")
    world().serve("echo", "10.1.2.3", 80)
    world().name("inside.example.com", "10.1.2.3")
    with Keeper() as keeper:
        box = keeper.open("inside.example.com:80")
        expect_refused(box, "inside.example.com", 80)
        report = box.finish()
        # The control: the same with a rule that says so.
        box = keeper.open("inside.example.com:80#private")
        with box.connect("inside.example.com", 80) as s:
            s.sendall(b"hello")
            kit.equal(s.recv(5), b"hello")
    kit.equal([(c.host, c.address, c.allowed, c.reason) for c in report.connections],
              [("inside.example.com", "10.1.2.3", False, "scope")])


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


kit.main()
