#!/usr/bin/python3
"""The network of what models run: `network` of run_code and run_in_session, and that it leads to no private address."""
# tests/run: args=--as root | --as user
# tests/run: timeout=120

import http.client
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from mcp import Http, Pipe, text
from service import Service
from world import world

kit.uses_service = True
REGISTRY = """containers:
  inside: {description: "private", language: python, security: {network_mode: {allow: ["10.99.0.1:8081"]}}}
"""
FETCH = """
import urllib.request
def get(url):
    try:
        return urllib.request.urlopen(url, timeout=20).read().decode().strip()
    except OSError:
        return "no"
"""
ONE, PRIVATE = "print(get('http://one.example.com/'))", "print(get('http://10.99.0.1:8081/'))"
REACHED_ONE, REACHED_PRIVATE = "GET / from one.example.com\n", "GET / from 10.99.0.1:8081\n"


class There(Http):
    """MCP over HTTP, in the machine's namespace."""

    def connect(self):
        connection = http.client.HTTPConnection(*self.running.address, timeout=self.timeout)
        connection.sock = world().asks()
        connection.sock.settimeout(self.timeout)
        connection.sock.connect(self.running.address)
        return connection


def machine():
    world().http("one.example.com")
    world().serve("http", "10.99.0.1", 8081)
    home = kit.tmp()
    kit.write(os.path.join(home, "registry.yaml"), REGISTRY)
    with world().inside():
        return Service(home=home, listen=True)


def token(running, name, *options):
    done = kit.emberbox("token", "add", name, *options, env={"EMBERBOX_HOME": running.home})
    kit.equal(done.code, 0, f"{done!r}")
    value = done.text.split()[0]
    web = world().web(running, token=value)
    kit.eventually(lambda: web.get("/v1/languages").status == 200, "the token is not known")
    return value


def ran(client, code, **arguments):
    result = client.call("run_code", {"language": "python", "code": FETCH + code, **arguments})
    return result["structuredContent"]["stdout"]


@kit.test(timeout=90)
def run_code_reaches_what_its_network_names():
    running = machine()
    with world().inside():
        clients = [There(running), Pipe(running.home, env={"EMBERBOX_SERVICE": "auto"})]
    for client in clients:
        kit.equal(ran(client, ONE), "no\n")
        kit.equal(ran(client, ONE, network="none"), "no\n")
        kit.equal(ran(client, ONE, network="one.example.com"), REACHED_ONE)
        kit.equal(ran(client, ONE, network="public"), REACHED_ONE)
        kit.equal(ran(client, ONE, network="other.example.com"), "no\n")
        failed = client.call("run_code", {"language": "python", "code": "import urllib.request; urllib.request.urlopen('http://one.example.com/')",
                                          "network": "other.example.com"})
        kit.contains(text(failed), "Network access to one.example.com is not allowed; allow it with --net one.example.com")
        wrong = client.call("run_code", {"language": "python", "code": "1", "network": "a..b"})
        kit.equal(wrong["isError"], True)
        kit.contains(text(wrong), "network")


@kit.test(timeout=90)
def a_model_reaches_no_private_address_unless_a_token_names_it():
    running = machine()
    with world().inside():
        pipe = Pipe(running.home, env={"EMBERBOX_SERVICE": "auto"})
    for client in (pipe, There(running), There(running, token=token(running, "friend", "--scope", "execute,trusted"))):
        kit.equal(ran(client, PRIVATE + "\n" + ONE, network="10.99.0.1:8081,one.example.com"), "no\n" + REACHED_ONE)
    # Rules of a profile are the administrator's, and so is what a token may reach at most.
    kit.equal(ran(pipe, PRIVATE, profile="inside"), REACHED_PRIVATE)
    kit.equal(ran(pipe, PRIVATE, profile="inside", network="10.99.0.1:8081"), "no\n")
    named = There(running, token=token(running, "named", "--net", "10.99.0.1:8081"))
    kit.equal(ran(named, PRIVATE, network="10.99.0.1:8081"), REACHED_PRIVATE)
    # The same request that a person writes.
    kit.equal(world().web(running).run(FETCH + PRIVATE, "python", network="10.99.0.1:8081")["stdout"], REACHED_PRIVATE)


@kit.test(timeout=90)
def a_session_has_the_network_of_its_first_call():
    running = machine()
    client = There(running)
    first = client.call("run_in_session", {"language": "python", "code": FETCH + ONE, "network": "one.example.com,10.99.0.1:8081"})["structuredContent"]
    kit.equal(first["stdout"], REACHED_ONE, f"{first}")
    again = client.call("run_in_session", {"session": first["session"]["id"], "code": ONE + "\n" + PRIVATE})["structuredContent"]
    kit.equal(again["stdout"], REACHED_ONE + "no\n")
    without = client.call("run_in_session", {"language": "python", "code": FETCH + ONE})["structuredContent"]
    kit.equal(without["stdout"], "no\n")
    # What a session may reach is not changed by a cell.
    more = client.call("run_in_session", {"session": without["session"]["id"], "code": ONE, "network": "one.example.com"})
    kit.equal(more["isError"], True, f"{more}")
    kit.contains(text(more), "network")


kit.main()
