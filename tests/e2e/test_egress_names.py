#!/usr/bin/python3
"""The name server of a box, and what names may lead to."""
# tests/run: args=--as root
# tests/run: builds=release asan
# tests/run: timeout=240

import contextlib
import os
import socket
import struct
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from egress import (A, AAAA, ANY, FORMERR, HTTPS, NOERROR, NXDOMAIN, PTR, REFUSED, SERVFAIL, SVCB, TXT, Answer, Keeper,
                    expect_refused, query)
from service import Service
from world import GATEWAY, MACHINE, _socket_in, world


@contextlib.contextmanager
def name_server(domain, answer):
    """Questions below a domain go to answer(name, kind): None for silence, or an rcode and addresses."""
    s = _socket_in(world().outside.path, socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((GATEWAY, 0))
    world().forward(domain, s.getsockname()[1])

    def serve():
        while True:
            data, peer = s.recvfrom(4096)
            if data == b"end":
                return
            labels, at = [], 12
            while data[at]:
                labels.append(data[at + 1:at + 1 + data[at]].decode())
                at += data[at] + 1
            kind = struct.unpack("!H", data[at + 1:at + 3])[0]
            said = answer(".".join(labels), kind)
            if said is None:
                continue
            code, addresses = said
            packed = [socket.inet_aton(a) for a in addresses if kind == A]
            s.sendto(data[:2] + struct.pack("!HHHHH", 0x8180 | code, 1, len(packed), 0, 0) + data[12:at + 5] + b"".join(
                b"\xc0\x0c\0\1\0\1\0\0\0\0\0\4" + p for p in packed), peer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield
    finally:
        with _socket_in(world().outside.path, socket.AF_INET, socket.SOCK_DGRAM) as end:
            end.sendto(b"end", s.getsockname())
        thread.join(10)
        s.close()


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
def a_wildcard_is_not_its_domain():
    world().name("example.com", "93.184.220.1")
    world().name("deep.one.example.com", "93.184.220.1")
    with Keeper() as keeper:
        box = keeper.open("*.example.com:80")
        kit.equal(box.ask("example.com").code, NXDOMAIN)
        kit.equal(box.ask("deep.one.example.com").code, NOERROR)
        kit.equal(box.ask("example.com.evil.example.net").code, NXDOMAIN)
        kit.equal(box.ask("notexample.com").code, NXDOMAIN)
        kit.equal(box.ask("DEEP.one.EXAMPLE.com").address, box.ask("deep.one.example.com").address, "capitals")


@kit.test
def a_name_that_does_not_exist_does_not_exist_in_the_box():
    """A typo below a wildcard is one for the program, too, and a name server that is silent is a failure to it."""
    with Keeper() as keeper, name_server("broken.test", lambda name, kind: (2, [])):
        box = keeper.open("*.example.com:80", "*.broken.test:80")
        for _ in range(2):
            kit.equal(box.ask("typo.example.com").code, NXDOMAIN)
        kit.equal(box.ask("a.broken.test").code, SERVFAIL)
        report = box.finish()
    # Both are reported once, with the rule that allows them: the rule is not to blame.
    kit.equal([(c.host, c.port, c.rule, c.reason) for c in report.connections],
              [("typo.example.com", 0, "*.example.com:80", "unresolved"), ("a.broken.test", 0, "*.broken.test:80", "unresolved")])


@kit.test
def a_name_without_addresses_has_none():
    with Keeper() as keeper, name_server("empty.test", lambda name, kind: (0, [])):
        box = keeper.open("a.empty.test:80")
        kit.equal((box.ask("a.empty.test").code, box.ask("a.empty.test").count), (NOERROR, 0))


@kit.test
def records_of_other_types_do_not_exist():
    """No HTTPS or SVCB: their keys would hide the name in a ClientHello. No TXT, which is a way to send and receive."""
    world().name("api.example.com", "93.184.220.1")
    before = len(world().queries())
    with Keeper() as keeper:
        box = keeper.open("api.example.com:80")
        for kind in (AAAA, HTTPS, SVCB, TXT, ANY):
            answer = box.ask("api.example.com", kind)
            kit.true(answer.count == 0 and answer.code in (NOERROR, 4), (kind, answer.code, answer.count))
        kit.equal(world().queries()[before:], [], "nobody was asked")
        kit.equal(box.ask("api.example.com", A).count, 1)


@kit.test
def questions_come_over_tcp_too():
    world().name("api.example.com", "93.184.220.1")
    with Keeper() as keeper:
        box = keeper.open("api.example.com:80")
        answers = box.ask_tcp("api.example.com", "evil.example.com", "api.example.com")
        kit.equal([a.code for a in answers], [NOERROR, NXDOMAIN, NOERROR])
        kit.equal(answers[0].address, box.ask("api.example.com").address)
        # More connections than it has: they are closed, and later ones are not.
        many = [box.make_socket() for _ in range(20)]
        for s in many:
            s.connect(("127.0.0.53", 53))
        for s in many:
            s.close()
        kit.eventually(lambda: _answers_over_tcp(box), "it does not come back")
        # Half a message, and one that is too long.
        for data in (b"\0", b"\xff\xff" + b"x" * 100, b"\0\0"):
            with box.make_socket() as s:
                s.connect(("127.0.0.53", 53))
                s.sendall(data)
        kit.equal([a.code for a in box.ask_tcp("api.example.com")], [NOERROR])


def _answers_over_tcp(box):
    try:
        return box.ask_tcp("api.example.com")[0].code == NOERROR
    except (OSError, struct.error):
        return False


@kit.test
def what_is_no_question_gets_an_error_or_nothing():
    with Keeper() as keeper:
        box = keeper.open("api.example.com:80")
        good = query("evil.example.com")
        for data, code in (
            (good, NXDOMAIN),
            (good[:-2], FORMERR),
            (good + b"x", FORMERR),
            (good[:12] + b"\xc0\x0c" + good[-4:], FORMERR),
            (good[:4] + b"\0\2" + good[6:], FORMERR),
            (good[:11], None),
            (b"", None),
            (query("evil.example.com", flags=0x8100), None),
        ):
            got = box.exchange(data)
            kit.equal(None if got is None else Answer(got).code, code, data)
        # Names that a host cannot have: a NUL, a dot within a label, bytes that are not ASCII, more than 253 bytes.
        for labels in ([b"api.example.com\0", b"evil"], [b"api.example", b"com"], [b"api", b"ex\xe4mple", b"com"], [b"a" * 63] * 4):
            answer = box.exchange(query(labels))
            kit.true(Answer(answer).code in (NXDOMAIN, FORMERR), labels)
        report = box.finish()
    kit.equal({c.reason for c in report.connections}, {"no-rule", "name"})
    kit.equal(world().queries()[-1:] and [q for q in world().queries() if "evil" in q[1]], [], "asked upstream")


@kit.test
def questions_are_bounded():
    with Keeper() as keeper:
        box = keeper.open("api.example.com:80")
        with box.make_socket(socket.SOCK_DGRAM) as s:
            s.connect(("127.0.0.53", 53))
            codes = set()
            for number in range(20000):
                s.send(query(f"n{number % 9}.example.net"))
                codes.add(Answer(s.recv(4096)).code)
                if REFUSED in codes:
                    break
        # It is a rate: another question is answered later.
        kit.eventually(lambda: box.ask("other.example.net").code == NXDOMAIN, "it never answers again")
        report = box.finish()
    kit.equal([c.reason for c in report.connections].count("queries"), 1)
    kit.equal((len(report.connections), report.refused, report.lost), (11, 11, 0))


@kit.test
def names_of_a_box_are_bounded():
    with Keeper() as keeper, name_server("many.test", lambda name, kind: (0, ["93.184.220.1"])):
        box = keeper.open("*.many.test:80")
        answers = []
        with box.make_socket(socket.SOCK_DGRAM) as s:
            s.connect(("127.0.0.53", 53))
            for number in range(5):
                s.send(query(f"n{number}.many.test"))
                answers.append(Answer(s.recv(4096)))
        kit.equal(len({a.address for a in answers}), 5)


@kit.test
def a_name_with_one_address_inside_is_refused_whole():
    """Which of its addresses answers would decide otherwise."""
    outside = world().http("split.example.com")
    world().name("split.example.com", outside, "10.1.2.3")
    with Keeper() as keeper:
        box = keeper.open("split.example.com:80")
        expect_refused(box, "split.example.com", 80)
        report = box.finish()
    kit.equal([(c.address, c.reason) for c in report.connections], [("10.1.2.3", "scope")])


@kit.test
def an_alias_to_an_address_inside_is_refused():
    world().name("target.example.org", "169.254.169.254")
    world().name("alias.example.com", alias="target.example.org")
    with Keeper() as keeper:
        box = keeper.open("alias.example.com:80")
        expect_refused(box, "alias.example.com", 80)
        report = box.finish()
    kit.equal([(c.host, c.address, c.reason) for c in report.connections], [("alias.example.com", "169.254.169.254", "scope")])


@kit.test
def every_kind_of_address_inside_is_refused():
    """Also with a rule that allows private ones: metadata services and the machine are not among them."""
    inside = ["127.0.0.1", "0.0.0.0", "10.0.0.1", "172.31.0.1", "192.168.1.1", "100.64.1.1", "169.254.169.254", "224.0.0.1",
              "255.255.255.255", "198.18.0.1", "240.0.0.1", "::1", "::", "fe80::1", "fc00::1", "ff02::1", "::ffff:10.0.0.1",
              "::ffff:127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::169.254.169.254", "2002:a00:1::", "::127.0.0.1", "100::1"]
    private = ("10.0.0.1", "172.31.0.1", "192.168.1.1", "100.64.1.1", "fc00::1", "::ffff:10.0.0.1", "64:ff9b::10.0.0.1", "2002:a00:1::")
    for number, address in enumerate(inside):
        world()._names[f"in{number}.example.com"] = (address,)
    world().name("done.example.com", "93.184.220.1")
    with Keeper() as keeper:
        for rule, allowed in (("*.example.com:80", ()), ("*.example.com:80#private", private)):
            box = keeper.open(rule)
            for number, address in enumerate(inside):
                if address not in allowed:
                    expect_refused(box, f"in{number}.example.com", 80)
            reasons = {c.reason for c in box.finish().connections}
            kit.equal(reasons - {"scope"}, set(), rule)


@kit.test
def the_machines_own_addresses_are_refused():
    """Also a public one, one that it was given since, and one that is only routed to it."""
    world().name("self.example.com", "93.184.221.1")
    world().name("later.example.com", "93.184.221.2")
    world().name("routed.example.com", "93.184.222.200")
    world().host.ip("addr", "add", "93.184.221.1/32", "dev", "lo")
    world().serve("http", "93.184.221.1", 80, on_machine=True)
    with Keeper() as keeper:
        box = keeper.open("*.example.com:80")
        expect_refused(box, "self.example.com", 80)
        world().host.ip("addr", "add", "93.184.221.2/32", "dev", "lo")
        world().serve("http", "93.184.221.2", 80, on_machine=True)
        expect_refused(box, "later.example.com", 80)
        world().host.ip("route", "add", "local", "93.184.222.0/24", "dev", "lo")
        expect_refused(box, "routed.example.com", 80)
        report = box.finish()
    kit.equal([c.reason for c in report.connections], ["own-address"] * 3)
    kit.equal(world().connections(address="93.184.221.1"), [])


@kit.test(timeout=60)
def a_name_that_moves_inside_is_refused_from_then_on():
    """Rebinding: its first answer is public, the others are not. No connection ever goes to the second address."""
    first = world().serve("http", port=80)
    world().address("10.1.2.5")
    world().serve("http", "10.1.2.5", 80)
    asked = []

    def answer(name, kind):
        if kind == A:
            asked.append(name)
        return 0, [first if len(asked) == 1 else "10.1.2.5"]

    with Keeper() as keeper, name_server("moving.test", answer):
        box = keeper.open("a.moving.test:80")
        kit.contains(box.get("a.moving.test"), b"200 OK")

        def is_refused():
            box.report()
            try:
                box.get("a.moving.test")
            except ConnectionResetError:
                return True
            return False

        # What it leads to is asked again after some seconds.
        kit.eventually(is_refused, "it was never asked again", timeout=30)
        report = box.finish()
    kit.equal({(c.address, c.reason) for c in report.connections}, {(first, "rule"), ("10.1.2.5", "scope")})
    kit.equal(world().connections(address="10.1.2.5"), [])


@kit.test
def a_name_of_ipv6_alone_is_reached():
    """From a box that knows its address of IPv4."""
    address = world().address("2606:4700::80")
    world().serve("http", address, 80)
    world().name("six.example.com", address)
    with Keeper() as keeper:
        box = keeper.open("six.example.com:80")
        kit.contains(box.get("six.example.com"), b"200 OK")
        kit.equal([c.address for c in box.finish().connections], [address])


def asked_by_a_run(running):
    """What a program of the service finds for api.example.com."""
    code = "import socket\ntry:\n    print(socket.gethostbyname('api.example.com'))\nexcept OSError as e:\n    print(e.errno)"
    with running.connect() as client:
        frames, answer = client.request({"language": "python", "code": code, "network": {"allow": ["api.example.com:80"]}})
        kit.equal(answer["status"], "ok", answer)
        return answer["stdout"].strip()


@kit.test(timeout=90)
def a_service_follows_resolv_conf():
    """A machine that moves to another network has another name server: egress, which can open no file, is told."""
    world().name("api.example.com", "93.184.220.1")
    conf = kit.write(os.path.join(kit.tmp(), "resolv.conf"), "nameserver 93.184.216.254\n")
    before = world().host.enter(["/usr/bin/unshare", "-m", "/bin/sh", "-c", 'mount --bind "$0" /etc/resolv.conf; exec "$@"', conf])
    running = Service(before=before)
    kit.equal(asked_by_a_run(running), str(socket.EAI_AGAIN), "nobody answers there")
    with open(conf, "w", encoding="ascii") as file:
        file.write(f"# another network\nsearch example.net\nnameserver\t{GATEWAY} \noptions edns0\n")
    kit.eventually(lambda: asked_by_a_run(running).startswith("198.18."), "it asks where it did before", timeout=60)


@kit.test(timeout=90)
def the_setting_of_name_servers_beats_resolv_conf_and_can_change():
    world().name("api.example.com", "93.184.220.1")
    home = kit.tmp()
    kit.write(os.path.join(home, ".env"), "EMBERBOX_RESOLVER=93.184.216.254:5353\n", 0o600)
    running = Service(home=home, before=world().host.enter([]))
    kit.equal(asked_by_a_run(running), str(socket.EAI_AGAIN), "nobody answers there")
    kit.write(os.path.join(home, ".env"), f"EMBERBOX_RESOLVER=93.184.216.254,{GATEWAY}:53\n", 0o600)
    kit.eventually(lambda: asked_by_a_run(running).startswith("198.18."), "it asks where it did before", timeout=60)
    for value in ("nowhere", "10.0.0.1:", "10.0.0.1:0", "10.0.0.1:99999", "[10.0.0.1]:53", "10.0.0.1,", "[::1", "::1:x", " 10.0.0.1"):
        r = kit.emberbox("serve", "--listen", "none", env={"EMBERBOX_HOME": kit.tmp(), "EMBERBOX_RESOLVER": value})
        kit.contains(r.errtext, f'EMBERBOX_RESOLVER: "{value}" is not a list of addresses', value)
        kit.equal(r.code, 2)


@kit.test
def the_hosts_file_of_the_machine_is_not_asked():
    with open("/etc/hosts", encoding="utf-8") as file:
        names = [line.split()[1] for line in file if line.strip() and not line.startswith("#")]
    name = next((n for n in names if n not in ("localhost", "ip6-localhost") and "." not in n), None)
    if not name:
        kit.skip("/etc/hosts has no name of its own")
    with Keeper() as keeper:
        box = keeper.open(f"{name}:80")
        kit.contains((NXDOMAIN, SERVFAIL), box.ask(name).code, name)


kit.main()
