#!/usr/bin/python3
"""Egress with the interceptor: rules for requests, and secrets, from a box's network to real servers and into reports."""
# tests/run: args=--as root
# tests/run: timeout=240

import contextlib
import errno
import json
import os
import signal
import socket
import ssl
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from egress import Keeper, fails
from interceptor import ask, denied, secret
from world import world

API = "api.example.com"


@contextlib.contextmanager
def keeper(**env):
    home = kit.tmp()
    with Keeper(env={"EMBERBOX_HOME": home, "SSL_CERT_FILE": world().authority, **env}) as made:
        made.home = home
        kit.eventually(lambda: os.path.exists(os.path.join(home, "egress", "authority.pem")), "egress made no authority")
        yield made


def tls(k, box, name, port=443, sni=""):
    context = ssl.create_default_context(cafile=os.path.join(k.home, "egress", "authority.crt"))
    if sni != "":
        context.check_hostname = False
    stream = box.connect(name, port)
    try:
        return context.wrap_socket(stream, server_hostname=name if sni == "" else sni, suppress_ragged_eofs=False)
    except BaseException:
        stream.close()
        raise


def shown(report):
    return [(c.host, c.port, c.allowed, c.reason, c.level, c.rule, c.request) for c in report.connections]


@kit.test
def requests_are_held_to_their_rules_and_told():
    address = world().tls(API)
    rules = f"GET https://{API}/repos/*", f"POST https://{API}/issues"
    with keeper() as k:
        box = k.open(*rules)
        with tls(k, box, API) as s:
            kit.equal(ask(s, "/repos/a", API).body, f"GET /repos/a from {API}\n")
            r = ask(s, "/user", API)
            kit.equal((r.status, r.fields["x-emberbox-denied"]), (403, "request"))
            kit.equal(ask(s, "/issues", API, method="POST").status, 200)
        with tls(k, box, API) as s:
            kit.equal(ask(s, "/repos/a", API, method="DELETE").status, 403)
        report = box.finish()
    kit.equal(shown(report), [
        (API, 443, True, "rule", "request", rules[0], ""),
        (API, 443, False, "request", "request", rules[0], "GET /user"),
        (API, 443, False, "request", "request", rules[0], "DELETE /repos/a")])
    kit.equal({c.address for c in report.connections}, {address})
    kit.equal((report.allowed, report.refused, report.lost), (1, 2, 0))
    first = report.connections[0]
    kit.true(first.sent > 500 and first.received > 500 and not first.open and first.duration > 0, first)
    kit.equal(report.connections[1].received, 0)


@kit.test
def a_secret_is_sent_to_its_host():
    world().tls(API)
    world().tls("other.example.com")
    token = secret("TOKEN", "s3cret-value", API)
    with keeper() as k:
        # No rule asks for requests to be seen: the secret does, on its host alone.
        box = k.open(API, "other.example.com", secrets=[token])
        with tls(k, box, API) as s:
            echo = json.loads(ask(s, "/echo", API, fields=f"Authorization: Bearer {token.placeholder}\r\n").body)
        kit.equal(echo["fields"]["authorization"], "Bearer ************")
        kit.equal(world()._seen("request")[-1]["fields"]["authorization"], "Bearer s3cret-value")
        with box.connect("other.example.com", 443) as s:
            context = ssl.create_default_context(cafile=world().authority)
            with context.wrap_socket(s, server_hostname="other.example.com") as t:
                kit.equal(ask(t, "/", "other.example.com").status, 200)
        report = box.finish()
        kit.equal([(c.host, c.level) for c in report.connections], [(API, "request"), ("other.example.com", "sni")])
        # Nowhere but in the interceptor, which has ended with its box.
        kit.true(b"s3cret-value" not in memory(k.egress), "egress keeps the secret")


def memory(pid):
    found = b""
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as file:
        for line in maps:
            span, permissions = line.split()[:2]
            if permissions.startswith("rw"):
                start, end = (int(part, 16) for part in span.split("-"))
                file.seek(start)
                found += file.read(end - start)
    return found


@kit.test
def what_is_no_request_is_told():
    world().tls(API)
    with keeper() as k:
        box = k.open(f"* https://{API}/*")
        for sni in ("other.example.com", None):
            try:
                tls(k, box, API, sni=sni).close()
                kit.fail(f"{sni} is taken")
            except ssl.SSLError as error:
                kit.contains(str(error).lower(), "unrecognized")
        with box.connect(API, 443) as s:
            s.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            with contextlib.suppress(ConnectionResetError):
                kit.equal(s.recv(100), b"")
        report = box.finish()
    kit.equal([(c.allowed, c.reason, c.level, c.request) for c in report.connections],
              [(False, "sni", "name", ""), (False, "no-sni", "name", ""), (False, "http", "name", "")])


@kit.test
def a_bad_certificate_is_told():
    world().tls("wrong.name.test")
    with keeper() as k:
        box = k.open("* https://wrong.name.test/*")
        with tls(k, box, "wrong.name.test") as s:
            r = ask(s, "/", "wrong.name.test")
            kit.equal((r.status, r.fields["x-emberbox-denied"]), (502, "certificate"))
        report = box.finish()
    kit.equal([(c.allowed, c.reason, c.request) for c in report.connections], [(False, "certificate", "GET /")])


@kit.test
def another_policy_holds_for_connections_that_live():
    world().tls(API)
    with keeper() as k:
        box = k.open(f"* https://{API}/*")
        with tls(k, box, API) as s:
            kit.equal(ask(s, "/", API, method="POST").status, 200)
            box.change(f"GET https://{API}/*")
            kit.eventually(lambda: ask(s, "/", API, method="POST").status == 403, "the policy does not change")
            kit.equal(ask(s, "/", API).status, 200)
            box.change("none")
            try:
                s.settimeout(20)
                while s.recv(100):
                    pass
                kit.fail("a clean end")
            except OSError as error:
                kit.true(isinstance(error, (ConnectionResetError, ssl.SSLEOFError)), error)


@kit.test
def limits_hold_here_too():
    world().tls(API)
    with keeper() as k:
        box = k.open(f"* https://{API}/*", total=30000)
        with tls(k, box, API) as s:
            try:
                s.sendall(f"GET /bytes/100000 HTTP/1.1\r\nHost: {API}\r\n\r\n".encode())
                got = 0
                while more := s.recv(65536):
                    got += len(more)
                kit.fail(f"{got} bytes, and a clean end")
            except OSError:
                pass
        report = box.finish()
    kit.true(report.sent + report.received <= 30000, report)
    kit.equal(report.connections[0].reason, "total")


@kit.test
def interceptors_live_as_long_as_boxes_need_them():
    world().tls(API)
    with keeper() as k:
        kit.eventually(lambda: len(kit.descendants(k.egress)) == 1, "no launcher")
        plain = k.open(API)
        plain.ask(API)
        kit.equal(len(kit.descendants(k.egress)), 1)
        boxes = [k.open(f"GET https://{API}/*") for _ in range(3)]
        for box in boxes:
            with tls(k, box, API) as s:
                kit.equal(ask(s, "/", API).status, 200)
        # The launcher, the first process, and one for each box.
        kit.equal(len(kit.descendants(k.egress)), 2 + 3)
        for box in boxes:
            box.finish()
        kit.eventually(lambda: len(kit.descendants(k.egress)) == 2, "a box's interceptor outlives it")
        processes = kit.descendants(k.egress)
        k.kill()
        kit.eventually(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in processes), "they outlive egress")
        k.start()
        # The same authority: boxes that live trust it.
        box = k.open(f"GET https://{API}/*")
        with tls(k, box, API) as s:
            kit.equal(ask(s, "/", API).status, 200)


@kit.test
def an_interceptor_that_dies_is_not_replaced():
    world().tls(API)
    with keeper() as k:
        box, other = k.open(f"GET https://{API}/*", secrets=[secret("T", "s3cret-value", API)]), k.open(f"GET https://{API}/*")
        with tls(k, box, API) as s:
            kit.equal(ask(s, "/", API).status, 200)
            victim, = [pid for pid in kit.descendants(k.egress) if b"s3cret-value" in memory(pid)]
            os.kill(victim, signal.SIGKILL)
            # Below Python's TLS, which calls a reset an end.
            with socket.socket(fileno=os.dup(s.fileno())) as raw, fails(errno.ECONNRESET):
                raw.settimeout(20)
                raw.recv(1)
        try:
            tls(k, box, API).close()
            kit.fail("another one has its place")
        except OSError as error:
            kit.equal(error.errno, errno.ECONNRESET, str(error))
        # The control: another box's.
        with tls(k, other, API) as s:
            kit.equal(ask(s, "/", API).status, 200)
        kit.equal([(c.allowed, c.reason) for c in box.finish().connections], [(True, "rule"), (False, "unreachable")])


@kit.test
def without_an_authority_requests_are_refused_and_names_are_not():
    world().tls(API)
    world().http("plain.example.com")
    home = kit.tmp()
    kit.write(os.path.join(home, "egress"), "not a directory")
    with Keeper(env={"EMBERBOX_HOME": home}) as k:
        box = k.open(f"GET https://{API}/*", "plain.example.com:80")
        with box.connect(API, 443) as s:
            try:
                kit.equal(s.recv(1), None)
            except OSError as error:
                kit.equal(error.errno, errno.ECONNRESET)
        kit.contains(box.get("plain.example.com").decode(), "GET / from plain.example.com")
        report = box.finish()
        k.process.stdin.close()
        k.process.wait(timeout=20)
        kit.contains(k.process.stderr.read().decode(), "requests of boxes cannot be looked at: cannot open the directory")
        k.process.stdin = open(os.devnull, "wb")
        k.process.stderr = open(os.devnull, "rb")
    kit.equal([(c.host, c.reason) for c in report.connections], [(API, "unreachable"), ("plain.example.com", "rule")])


kit.main()
