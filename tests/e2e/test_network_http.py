#!/usr/bin/python3
"""The network of requests over HTTP: rules as text and as objects, limits, and who may narrow them."""
# tests/run: args=--as root | --as user
# tests/run: timeout=240

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from service import Service
from world import world

kit.uses_service = True
REGISTRY = """containers:
  none: {description: "none", language: python, security: {network_mode: none}}
  open: {description: "any", language: python, security: {network_mode: bridge}}
  some: {description: "some", language: python, security: {network_mode: {allow: ["one.example.com", "two.example.com"], connections: 2}}}
"""
FETCH = """
import sys, urllib.request
for url in sys.argv[1:]:
    try:
        body = urllib.request.urlopen(url, timeout=20).read()
        print(len(body) if "/bytes/" in url else body.decode().strip())
    except OSError as e:
        print("no")
"""
ONE, TWO, THREE = (f"http://{name}.example.com/" for name in ("one", "two", "three"))


class Machine:
    """A service in the world's machine."""

    def __init__(self, env=None):
        home = kit.tmp()
        kit.write(os.path.join(home, "registry.yaml"), REGISTRY)
        with world().inside():
            self.running = Service(home=home, listen=True, env=env)
        self.web = world().web(self.running)

    def token(self, name, *options):
        done = kit.emberbox("token", "add", name, *options, env={"EMBERBOX_HOME": self.running.home})
        kit.equal(done.code, 0, f"{done!r}")
        web = world().web(self.running, token=done.text.split()[0])
        kit.eventually(lambda: web.get("/v1/languages").status == 200, "the token is not known")
        return web


def result(web, *urls, code=FETCH, **fields):
    answer = web.post("/v1/execute", {"language": "python", "code": code, "args": list(urls), **fields})
    kit.equal(answer.status, 200, answer.body[:400])
    return answer.json


def fetched(web, *urls, **fields):
    """What each URL gave: its name, a number of bytes, or "no"."""
    done = result(web, *urls, **fields)
    return [line.rpartition(" from ")[2] for line in done["stdout"].splitlines()]


def reasons(done):
    return {c["reason"] for c in done["meta"]["network"]["connections"] if c["verdict"] == "refused"}


def places():
    for name in ("one", "two", "three"):
        world().http(f"{name}.example.com")


@kit.test(timeout=90)
def rules_are_texts_or_objects():
    places()
    world().http("below.one.example.com", port=8080)
    web = Machine().web
    for network in ("one.example.com", {"allow": ["one.example.com"]}, {"allow": [{"host": "one.example.com"}]},
                    {"allow": [{"host": "one.example.com", "ports": [80]}]}, {"allow": ["other.example.com", {"host": "ONE.example.com.", "ports": [443, 80]}]}):
        kit.equal(fetched(web, ONE, TWO, network=network), ["one.example.com", "no"], f"{network}")
    kit.equal(fetched(web, ONE, network={"allow": [{"host": "one.example.com", "ports": [443]}]}), ["no"])
    for network in ({"allow": ["*.one.example.com:8080"]}, {"allow": [{"host": "*.one.example.com", "ports": [8080]}]}):
        kit.equal(fetched(web, "http://below.one.example.com:8080/", ONE, network=network), ["below.one.example.com:8080", "no"])
    kit.equal(fetched(web, ONE, THREE, network="public"), ["one.example.com", "three.example.com"])
    kit.equal(fetched(web, ONE, network="none"), ["no"])
    kit.equal(fetched(web, ONE), ["no"])


@kit.test(timeout=90)
def private_addresses_need_a_rule_that_says_so():
    world().serve("http", "10.99.0.1", 8081)
    world().name("inside.example.com", "10.99.0.1")
    web = Machine().web
    url = "http://inside.example.com:8081/"
    kit.equal(fetched(web, url, network={"allow": [{"host": "inside.example.com", "ports": [8081], "private": True}]}), ["inside.example.com:8081"])
    for network in ({"allow": ["inside.example.com:8081"]}, {"allow": [{"host": "inside.example.com", "ports": [8081], "private": False}]}, "public"):
        done = result(web, url, network=network)
        kit.equal((done["stdout"], reasons(done)), ("no\n", {"scope"}), f"{network}")
    kit.equal(fetched(web, "http://10.99.0.1:8081/", network={"allow": ["10.99.0.0/24:8081"]}), ["10.99.0.1:8081"])


@kit.test(timeout=90)
def every_fault_names_its_field():
    web = Machine().web
    for network, field in (
        (7, "network"), ([], "network"), ({}, "network"), ("a..b", "network"), ("10.0.0.1", "network"), ("host:99999", "network"),
        ({"allow": "one.example.com"}, "network.allow"), ({"allow": []}, "network.allow"),
        ({"allow": ["one.example.com", "a..b"]}, "network.allow[1]"), ({"allow": [7]}, "network.allow[0]"),
        ({"allow": [{}]}, "network.allow[0]"), ({"allow": [{"host": ""}]}, "network.allow[0]"), ({"allow": [{"host": 7}]}, "network.allow[0].host"),
        ({"allow": [{"host": "one.example.com", "ports": 80}]}, "network.allow[0].ports"),
        ({"allow": [{"host": "one.example.com", "ports": ["80"]}]}, "network.allow[0].ports"),
        ({"allow": [{"host": "one.example.com", "ports": [0]}]}, "network.allow[0]"),
        ({"allow": [{"host": "one.example.com", "ports": []}]}, "network.allow[0]"),
        ({"allow": [{"host": "one.example.com", "tls": "off"}]}, "network.allow[0].tls"),
        ({"allow": [{"host": "one.example.com", "private": "yes"}]}, "network.allow[0].private"),
        ({"allow": [{"host": "one.example.com", "sni": 1}]}, "network.allow[0].sni"),
        ({"allow": [{"host": "one.example.com", "methods": "GET"}]}, "network.allow[0].methods"),
        ({"allow": [{"host": "one.example.com", "port": 80}]}, "network.allow[0].port"),
        ({"allow": ["one.example.com"], "rate": 1}, "network.rate"), ({"allow": ["one.example.com"], "rate": True}, "network.rate"),
        ({"allow": ["one.example.com"], "total": "much"}, "network.total"), ({"allow": ["one.example.com"], "total": 0}, "network.total"),
        ({"allow": ["one.example.com"], "connections": 0}, "network.connections"),
        ({"allow": ["one.example.com"], "connections": 16385}, "network.connections"),
        ({"allow": ["one.example.com"], "bytes": 1}, "network.bytes"), ({"allow": ["one.example.com"], "within": ["public"]}, "network.within[0]"),
    ):
        answer = web.post("/v1/execute", {"language": "python", "code": "1", "network": network})
        kit.true(answer.status != 200, f"{network} was taken")
        kit.equal(answer.error, (400, "bad_request", field), f"{network}: {answer.message}")


@kit.test(timeout=90)
def further_lists_narrow():
    places()
    web = Machine().web
    kit.equal(fetched(web, ONE, TWO, network={"allow": ["public"], "within": [["one.example.com", "two.example.com"]]}), ["one.example.com", "two.example.com"])
    done = result(web, ONE, TWO, network={"allow": ["public"], "within": [["one.example.com", "two.example.com"], ["two.example.com"]]})
    kit.equal((done["stdout"], reasons(done)), ("no\nGET / from two.example.com\n", {"narrowed"}))


@kit.test(timeout=90)
def rate_total_and_connections():
    address = world().http("one.example.com")
    web = Machine().web
    timed = FETCH.replace("import sys,", "import sys, time,") + "print(time.monotonic() - began > 1)"
    timed = timed.replace("\nfor url", "\nbegan = time.monotonic()\nfor url", 1)
    url = ONE + "bytes/300000"
    done = result(web, url, code=timed, network={"allow": ["one.example.com"], "rate": "100k"})
    kit.equal(done["stdout"], "300000\nTrue\n", f"{done['meta']['network']}")
    done = result(web, url, network={"allow": ["one.example.com"], "total": 100000})
    network = done["meta"]["network"]
    kit.equal(done["stdout"], "no\n", f"{network}")
    kit.true(network["sent"] + network["received"] <= 100000, f"{network}")
    kit.equal(fetched(web, url, network={"allow": ["one.example.com"], "total": "400k"}), ["300000"])
    dial = """
import socket, sys
def dial():
    s = socket.create_connection((sys.argv[1], 80), 20)
    s.settimeout(20)
    s.sendall(b"GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
    return s
def reached(s):
    try:
        return s.recv(4) == b"HTTP"
    except OSError:
        return False
kept = []
for _ in range(3):
    try:
        kept.append(dial())
        print(reached(kept[-1]))
    except OSError:
        print(False)
"""
    done = result(web, address, code=dial, network={"allow": [f"{address}:80"], "connections": 2})
    kit.equal((done["stdout"], reasons(done)), ("True\nTrue\nFalse\n", {"connections"}), f"{done}")
    kit.equal(result(web, address, code=dial, network={"allow": [f"{address}:80"], "connections": "3"})["stdout"], "True\nTrue\nTrue\n")


@kit.test(timeout=90)
def a_token_narrows():
    places()
    world().serve("http", "10.99.0.1", 8081)
    world().name("inside.example.com", "10.99.0.1")
    machine = Machine()
    private, url = {"allow": ["10.99.0.1:8081", "one.example.com"]}, "http://10.99.0.1:8081/"
    plain = machine.token("plain")
    # The address is not even planted, so nothing of it reaches the process that reports.
    unreachable = "import errno, socket, sys\ns = socket.socket()\nprint(errno.errorcode.get(s.connect_ex(('10.99.0.1', 8081))))"
    kit.equal(result(plain, code=unreachable, network=private)["stdout"], "ENETUNREACH\n")
    kit.equal(result(machine.web, code=unreachable, network=private)["stdout"], "None\n")
    kit.equal(fetched(plain, url, ONE, network=private), ["no", "one.example.com"])
    # A name is: it leads to an address that the token does not allow.
    named = {"allow": [{"host": "inside.example.com", "ports": [8081], "private": True}]}
    done = result(plain, "http://inside.example.com:8081/", network=named)
    kit.equal((done["stdout"], reasons(done)), ("no\n", {"narrowed"}), f"{done['meta']['network']}")
    failed = result(plain, code="import urllib.request; urllib.request.urlopen('http://inside.example.com:8081/')", network=named)
    kit.equal(failed["error_message"], "Network access to inside.example.com:8081 is not allowed: the rule inside.example.com:8081#private would "
                                       "allow it, but the profile, the token or the service does not allow it")
    kit.equal(fetched(machine.web, "http://inside.example.com:8081/", network=named), ["inside.example.com:8081"])
    kit.equal(fetched(machine.token("friend", "--scope", "execute,trusted"), url, ONE, network=private), ["10.99.0.1:8081", "one.example.com"])
    kit.equal(fetched(machine.web, url, network=private), ["10.99.0.1:8081"])
    # --net of the token counts whatever its scopes are, and may name what is private.
    named = machine.token("named", "--net", "two.example.com,10.99.0.1:8081")
    kit.equal(fetched(named, url, ONE, TWO, network={"allow": ["10.99.0.1:8081", "public"]}), ["10.99.0.1:8081", "no", "two.example.com"])
    kit.equal(fetched(named, TWO), ["no"], "a token gives nothing")
    closed = machine.token("closed", "--net", "none")
    kit.equal(fetched(closed, ONE, network="public"), ["no"])


@kit.test(timeout=90)
def a_profile_gives_and_narrows():
    places()
    machine = Machine()
    kit.equal(fetched(machine.web, ONE, THREE, profile="open"), ["one.example.com", "three.example.com"])
    kit.equal(fetched(machine.web, ONE, THREE, profile="open", network="three.example.com"), ["no", "three.example.com"])
    kit.equal(fetched(machine.web, ONE, profile="open", network="none"), ["no"])
    kit.equal(fetched(machine.web, ONE, THREE, profile="some"), ["one.example.com", "no"])
    kit.equal(fetched(machine.web, ONE, TWO, THREE, profile="some", network={"allow": ["two.example.com", "three.example.com"]}), ["no", "two.example.com", "no"])
    kit.equal(fetched(machine.web, ONE, profile="none"), ["no"])
    answer = machine.web.post("/v1/execute", {"language": "python", "code": "1", "profile": "none", "network": "public"})
    kit.equal(answer.error, (400, "bad_request", "network"), f"{answer}")
    # And its token counts as well.
    kit.equal(fetched(machine.token("two", "--net", "two.example.com"), ONE, TWO, profile="some"), ["no", "two.example.com"])


@kit.test(timeout=90)
def the_setting_narrows_everybody():
    places()
    machine = Machine(env={"EMBERBOX_NET": "one.example.com,two.example.com"})
    done = result(machine.web, ONE, THREE, network="public")
    kit.equal((done["stdout"], reasons(done)), ("GET / from one.example.com\nno\n", {"narrowed"}))
    kit.equal(fetched(machine.web, ONE, THREE, profile="open"), ["one.example.com", "no"])
    kit.equal(fetched(machine.web, ONE), ["no"], "the setting gives nothing")
    # Four lists: the request's, its profile's, its token's, and the setting's.
    kit.equal(fetched(machine.token("two", "--net", "two.example.com,three.example.com"), ONE, TWO, THREE, profile="some", network="public"),
              ["no", "two.example.com", "no"])


@kit.test(timeout=90)
def services_of_the_machine_need_the_setting():
    world().serve("http", "127.0.0.1", 8090, on_machine=True)
    url = "http://host:8090/"
    machine = Machine(env={"EMBERBOX_NET_HOST": "true"})
    kit.equal(fetched(machine.web, url, network={"allow": ["host:8090"]}), ["host:8090"])
    done = result(machine.web, url, "http://127.0.0.1:8090/", "http://10.99.0.2:8090/", network={"allow": ["host:8091", "public"]})
    kit.equal(done["stdout"], "no\nno\nno\n")
    kit.equal(fetched(machine.token("plain"), url, network={"allow": ["host:8090"]}), ["no"])
    kit.equal(fetched(machine.token("named", "--net", "host:8090"), url, network={"allow": ["host:8090"]}), ["host:8090"])
    closed = Machine()
    done = result(closed.web, code="print(1)", network={"allow": ["host:8090"]})
    kit.equal((done["status"], done["exit_code"], done["stdout"]), ("blocked", 126, ""))
    kit.contains(done["error_message"], "the configuration of emberbox opens no services of its own machine to boxes")


kit.main()
