#!/usr/bin/python3
"""What egress looks at of TLS, which it does not end."""
# tests/run: args=--as root
# tests/run: builds=release asan
# tests/run: timeout=240

import errno
import os
import ssl
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from egress import Keeper, expect_refused, fails, read_all
from world import world

GET = b"GET /bytes/100000 HTTP/1.0\r\nConnection: close\r\n\r\n"


def context():
    made = ssl.create_default_context(cafile=world().authority)
    made.check_hostname = False
    return made


def tls(box, name, sni, port=443):
    with context().wrap_socket(box.connect(name, port), server_hostname=sni) as s:
        s.sendall(GET)
        return read_all(s)


def hello(sni):
    """The first bytes of a client that wants this name."""
    out = ssl.MemoryBIO()
    try:
        context().wrap_bio(ssl.MemoryBIO(), out, server_hostname=sni).do_handshake()
    except ssl.SSLWantReadError:
        return out.read()


def with_extension(data, number, value):
    """The same hello with another extension at its end."""
    more = struct.pack("!HH", number, len(value)) + value
    at = 5 + 4 + 2 + 32
    at += 1 + data[at]                                    # session id
    at += 2 + struct.unpack("!H", data[at:at + 2])[0]     # ciphers
    at += 1 + data[at]                                    # compression
    extensions = data[at + 2:] + more
    body = data[9:at] + struct.pack("!H", len(extensions)) + extensions
    return data[:3] + struct.pack("!H", len(body) + 4) + b"\1" + struct.pack("!I", len(body))[1:] + body


@kit.test
def tls_goes_through_with_the_name_that_was_asked_for():
    address = world().tls("tls.example.com")
    with Keeper() as keeper:
        box = keeper.open("tls.example.com")
        data = tls(box, "tls.example.com", "tls.example.com")
        kit.true(data.endswith(b"x" * 100000), len(data))
        for sni in ("other.example.com", "tls.example.com.evil.example.net", None):
            with fails(errno.ECONNRESET):
                tls(box, "tls.example.com", sni)
        report = box.finish()
    kit.equal([(c.reason, c.level, c.allowed, c.sent) for c in report.connections][1:],
              [("sni", "name", False, 0), ("sni", "name", False, 0), ("no-sni", "name", False, 0)])
    kit.equal((report.connections[0].reason, report.connections[0].level), ("rule", "sni"))
    kit.equal((report.allowed, report.refused), (1, 3))
    # The server, which was connected to, has heard nothing of the others.
    kit.equal([(c["sni"]) for c in world().connections(address=address)], ["tls.example.com"])


@kit.test
def a_hello_without_a_name_needs_a_rule_that_says_so():
    world().tls("tls.example.com")
    with Keeper() as keeper:
        box = keeper.open("tls.example.com#no-sni")
        kit.true(tls(box, "tls.example.com", None).endswith(b"x" * 100000), "it came through")
        with fails(errno.ECONNRESET):
            tls(box, "tls.example.com", "other.example.com")
        kit.equal([(c.reason, c.level) for c in box.finish().connections], [("rule", "name"), ("sni", "name")])


@kit.test
def a_hello_in_pieces_is_one():
    world().tls("tls.example.com")
    with Keeper() as keeper:
        box = keeper.open("tls.example.com")
        for name, is_allowed in (("tls.example.com", True), ("bad.example.com", False)):
            data = hello(name)
            try:
                with box.connect("tls.example.com", 443) as s:
                    for at in range(len(data)):
                        s.sendall(data[at:at + 1])
                    got = s.recv(5)
                    kit.true(is_allowed and got[0] == 22, "the server answered")
            except (ConnectionResetError, BrokenPipeError):
                kit.true(not is_allowed, "it was reset")
        # In records of a few bytes each.
        data = hello("tls.example.com")
        records = b"".join(data[:3] + struct.pack("!H", len(part)) + part
                           for part in (data[5:][at:at + 50] for at in range(0, len(data) - 5, 50)))
        with box.connect("tls.example.com", 443) as s:
            s.sendall(records)
            kit.equal(s.recv(1), b"\x16")


@kit.test
def a_hello_that_is_none_ends():
    """TLS in its first bytes, and then nothing that says a name."""
    world().tls("tls.example.com")
    good = hello("tls.example.com")
    with Keeper() as keeper:
        box = keeper.open("tls.example.com")
        for data in (
            good[:5] + b"\2" + good[6:],                          # another message
            b"\x16\x03\x01\xff\xff" + good[5:],                   # a record that is too long
            good[:9] + b"\3\0" + good[11:],                       # SSL 3
            with_extension(good, 0, b"\0\x0e\0\0\x0bexample.com"),  # two names
            b"\x16\x03\x01\x40\0" + b"\1\0\xff\xff" + b"\3\3" + b"x" * 16370 + good,
        ):
            expect_refused(box, "tls.example.com", 443, data)
        report = box.finish()
    kit.equal([(c.reason, c.sent) for c in report.connections], [("sni", 0)] * 5)


@kit.test
def an_encrypted_hello_is_refused():
    """Another name could stand in it. With a rule that does not ask for names, and for public, it is let through."""
    world().tls("tls.example.com")
    data = with_extension(hello("tls.example.com"), 0xFE0D, b"\0\0\1\0\1\0\0\x20" + b"k" * 32 + b"\0\x40" + b"e" * 64)
    with Keeper() as keeper:
        box = keeper.open("tls.example.com")
        expect_refused(box, "tls.example.com", 443, data)
        with box.connect("tls.example.com", 443) as s:
            s.sendall(hello("tls.example.com"))
            kit.equal(s.recv(1), b"\x16", "the control")
        kit.equal([c.reason for c in box.finish().connections], ["sni", "rule"])
        for rule in ("tls.example.com#no-sni", "public"):
            box = keeper.open(rule)
            with box.connect("tls.example.com", 443) as s:
                s.sendall(data)
                kit.equal(s.recv(1), b"\x16", rule)


@kit.test
def a_second_hello_names_the_same_host():
    """A server of TLS 1.3 may ask for another hello: what a client says then is looked at, too."""
    address = world().serve("tls-retry", port=443)
    world().name("retry.example.com", address)
    with Keeper() as keeper:
        box = keeper.open("retry.example.com")
        data = tls(box, "retry.example.com", "retry.example.com")
        kit.true(data.endswith(b"x" * 100000), "a whole answer")
        kit.equal(box.report().connections[0].level, "sni")
        first = hello("retry.example.com")
        for second in (hello("evil.example.net"), hello(None), b"\x16\x03\x03\0\1\1"):
            with fails(errno.ECONNRESET), box.connect("retry.example.com", 443) as s:
                s.sendall(first)
                kit.equal(s.recv(1), b"\x16", "the server asked for another")
                s.sendall(b"\x14\x03\x03\0\1\1" + second)
                try:
                    s.shutdown(1)
                except OSError as error:
                    # It was reset already, which the next call says.
                    kit.equal(error.errno, errno.ENOTCONN)
                read_all(s)
        # Sent before the server has asked.
        with fails(errno.ECONNRESET), box.connect("retry.example.com", 443) as s:
            s.sendall(first + hello("evil.example.net"))
            read_all(s)
        report = box.finish()
    kit.equal([c.reason for c in report.connections], ["rule"] + ["sni", "no-sni", "sni"] + ["sni"])
    kit.equal({c["sni"] for c in world().connections(address=address)}, {"retry.example.com"})


@kit.test
def what_is_not_tls_passes_on_any_port():
    world().name("api.example.com", world().serve("http", port=443))
    with Keeper() as keeper:
        box = keeper.open("api.example.com:443")
        kit.contains(box.get("api.example.com", 443), b"200 OK")
        kit.equal([(c.reason, c.level) for c in box.finish().connections], [("rule", "name")])


@kit.test
def tls_on_another_port_is_looked_at_too():
    world().tls("tls.example.com", port=8443)
    with Keeper() as keeper:
        box = keeper.open("tls.example.com:8443")
        kit.true(tls(box, "tls.example.com", "tls.example.com", 8443).endswith(b"x"), "it came through")
        with fails(errno.ECONNRESET):
            tls(box, "tls.example.com", "other.example.com", 8443)


@kit.test
def an_address_has_no_name_to_compare():
    address = world().tls("tls.example.com")
    with Keeper() as keeper:
        box = keeper.open(f"{address}:443")
        kit.true(tls(box, address, "whatever.example.com").endswith(b"x"), "it came through")
        kit.equal([(c.host, c.level) for c in box.finish().connections], [(address, "name")])


@kit.test
def rules_about_requests_do_not_let_tls_pass_unseen():
    """What answers is egress, with a certificate that the server's authority has not signed. The control: without the flag
    the server's own certificate comes through."""
    address = world().serve("tls", port=8444)
    world().name("seen.example.com", address)
    with Keeper() as keeper:
        box = keeper.open("seen.example.com:8444#terminate")
        try:
            tls(box, "seen.example.com", "seen.example.com", 8444)
            kit.fail("the server's certificate came through")
        except ssl.SSLCertVerificationError as error:
            kit.contains(str(error), "unable to get local issuer certificate")
        box.finish()
        kit.equal(world().connections(address=address), [], "no request has reached the server")
        box = keeper.open("seen.example.com:8444")
        kit.true(tls(box, "seen.example.com", "seen.example.com", 8444).endswith(b"x"), "it came through")


kit.main()
