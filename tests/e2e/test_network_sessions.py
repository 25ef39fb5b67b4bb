#!/usr/bin/python3
"""The network of sessions: at their start, changed while they live, after a restart, and when egress is killed."""
# tests/run: args=--as root | --as user
# tests/run: timeout=240

import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from service import Service
from world import world

kit.uses_service = True
REGISTRY = """containers:
  some: {description: "some", language: python, security: {network_mode: {allow: ["one.example.com", "two.example.com"], connections: 4, rate: 200k}}}
  open: {description: "open", language: python, security: {network_mode: bridge}}
"""
HELPERS = """
import socket, urllib.request
def get(url):
    try:
        return urllib.request.urlopen(url, timeout=20).read().decode().strip()
    except OSError as e:
        return type(e).__name__
def dial(host, port):
    s = socket.create_connection((host, port), 20)
    s.settimeout(20)
    return s
def ask(s):
    try:
        s.sendall(b"ping")
        return s.recv(4).decode() or "end"
    except OSError as e:
        return type(e).__name__
"""
REACHED = "GET / from {}"


class Machine:
    """A service in the world's machine, its HTTP and its command line."""

    def __init__(self, registry=REGISTRY, env=None, **options):
        home = kit.tmp()
        kit.write(os.path.join(home, "registry.yaml"), registry)
        with world().inside():
            self.running = Service(home=home, listen=True, env=env, **options)
        self.web = world().web(self.running)

    def shell(self, *args, code=0, stdin=None):
        with world().inside():
            done = kit.emberbox(*args, env={"EMBERBOX_HOME": self.running.home, "EMBERBOX_SERVICE": "auto"}, stdin=stdin)
        kit.equal(done.code, code, f"{args}: {done!r}")
        return done

    def token(self, name, *options):
        value = self.shell("token", "add", name, *options).text.split()[0]
        web = world().web(self.running, token=value)
        kit.eventually(lambda: web.get("/v1/languages").status == 200, "the token is not known")
        return web


class Session:
    def __init__(self, web, **fields):
        answer = web.post("/v1/sessions", {"language": "python", **fields})
        kit.equal(answer.status, 201, answer.body[:300])
        self.web, self.made, self.path = web, answer.json, f"/v1/sessions/{answer.json['id']}"
        self.value(HELPERS + "1")

    def cell(self, code):
        answer = self.web.post(f"{self.path}/execute", {"code": code})
        kit.equal(answer.status, 200, answer.body[:300])
        return answer.json

    def value(self, code):
        done = self.cell(code)
        kit.equal(done["status"], "ok", f"{done}")
        return done["outputs"][-1]["text/plain"].strip("'")

    def change(self, network):
        answer = self.web.request("PATCH", self.path, {"network": network})
        kit.equal(answer.status, 200, answer.body[:300])
        return answer.json["network"]

    def network(self):
        return self.web.get(self.path).json["network"]


def hosts(result):
    return [(c["host"], c["verdict"]) for c in result["meta"]["network"]["connections"]]


def is_refused(text):
    kit.true(text in ("URLError", "gaierror"), text)


@kit.test(timeout=90)
def each_cell_has_its_own_part_of_the_report():
    world().http("one.example.com")
    session = Session(Machine().web, network={"allow": ["one.example.com"]})
    kit.equal(session.made["network"], {"allow": ["one.example.com"]})
    first = session.cell("print(get('http://one.example.com/'))")
    kit.equal(first["stdout"], REACHED.format("one.example.com") + "\n")
    kit.equal(hosts(first), [("one.example.com", "allowed")])
    second = session.cell("print(1)")
    network = second["meta"]["network"]
    kit.equal((network["mode"], network["allowed"], network["refused"], network["connections"]), ("allow", 0, 0, []))
    # Bytes count for the cell that runs when they are reported, which may be the next one.
    received = [first["meta"]["network"]["received"] + network["received"]]
    kit.eventually(lambda: sum(received) > 0 or received.append(session.cell("print(1)")["meta"]["network"]["received"]), f"{first}")
    third = session.cell("print(get('http://other.example.com/'))")
    kit.equal((third["meta"]["network"]["allowed"], third["meta"]["network"]["refused"] > 0), (0, True), f"{third}")
    kit.equal(set(hosts(third)), {("other.example.com", "refused")})


@kit.test(timeout=90)
def without_rules_a_session_has_no_network():
    world().http("one.example.com")
    session = Session(Machine().web)
    kit.equal(session.made["network"], "none")
    is_refused(session.value("get('http://one.example.com/')"))
    kit.equal(session.cell("1")["meta"]["network"]["mode"], "none")


@kit.test(timeout=90)
def other_rules_end_what_they_do_not_allow():
    address = world().serve("echo", port=7000)
    world().name("one.example.com", address)
    world().name("two.example.com", address)
    session = Session(Machine().web, network={"allow": ["one.example.com:7000", "two.example.com:7000"]})
    session.value("one, two = dial('one.example.com', 7000), dial('two.example.com', 7000); 1")
    kit.equal((session.value("ask(one)"), session.value("ask(two)")), ("ping", "ping"))
    kit.equal(session.change({"allow": ["two.example.com:7000"]}), {"allow": ["two.example.com:7000"]})
    kit.true(session.value("ask(one)") in ("ConnectionResetError", "BrokenPipeError"), "the connection to one lives")
    kit.equal(session.value("ask(two)"), "ping", "the connection to two ended")
    kit.equal(session.value("ask(dial('two.example.com', 7000))"), "ping")
    kit.equal(session.cell("dial('one.example.com', 7000)")["status"], "failed")


@kit.test(timeout=90)
def none_ends_all_and_rules_come_back():
    address = world().serve("echo", port=7000)
    world().name("one.example.com", address)
    world().http("three.example.com")
    session = Session(Machine().web, network={"allow": ["one.example.com:7000"]})
    session.value("one = dial('one.example.com', 7000); 1")
    kit.equal(session.value("ask(one)"), "ping")
    kit.equal(session.change("none"), "none")
    kit.true(session.value("ask(one)") in ("ConnectionResetError", "BrokenPipeError"), "the connection lives")
    kit.equal(session.cell("dial('one.example.com', 7000)")["status"], "failed")
    # Also another port, which was not planted before.
    session.change({"allow": ["one.example.com:7000", "three.example.com"]})
    kit.equal(session.value("ask(dial('one.example.com', 7000))"), "ping")
    kit.equal(session.value("get('http://three.example.com/')"), REACHED.format("three.example.com"))


@kit.test(timeout=90)
def a_session_without_a_network_can_get_one():
    world().http("one.example.com")
    session = Session(Machine().web)
    kit.equal(session.change({"allow": ["one.example.com"]}), {"allow": ["one.example.com"]})
    kit.equal(session.value("get('http://one.example.com/')"), REACHED.format("one.example.com"))
    is_refused(session.value("get('http://two.example.com/')"))


@kit.test(timeout=90)
def what_narrows_a_session_stays():
    for name in ("one", "two", "three"):
        world().http(f"{name}.example.com")
    world().name("inside.example.com", "10.99.0.1")
    world().serve("http", "10.99.0.1", 8081)
    machine = Machine()
    # Its profile.
    session = Session(machine.web, profile="some")
    kit.equal(session.value("get('http://one.example.com/')"), REACHED.format("one.example.com"))
    for rules in ({"allow": ["two.example.com", "three.example.com"]}, "public"):
        session.change(rules)
        kit.equal(session.value("get('http://two.example.com/')"), REACHED.format("two.example.com"))
        is_refused(session.value("get('http://three.example.com/')"))
    # And the bounds of its profile.
    for bound, more, less in (("connections", 5, 3), ("rate", "201k", "100k")):
        answer = session.web.request("PATCH", session.path, {"network": {"allow": ["one.example.com"], bound: more}})
        kit.equal(answer.error, (400, "bad_request", "network"), f"{bound}: {answer.body[:300]}")
        kit.equal(session.network(), {"allow": ["public"]})
        session.change({"allow": ["public"], bound: less})
    # Its token: no private addresses without the scope trusted, whatever the rule says.
    private = {"allow": ["10.99.0.1:8081"]}
    trusted = Session(machine.web, network=private)
    kit.equal(trusted.value("get('http://10.99.0.1:8081/')"), "GET / from 10.99.0.1:8081")
    session = Session(machine.token("plain"), network={"allow": ["one.example.com"]})
    session.change({"allow": ["10.99.0.1:8081", "one.example.com"]})
    refused = session.cell("print(get('http://10.99.0.1:8081/'))")
    kit.true("GET" not in refused["stdout"], f"{refused}")
    kit.equal(session.value("get('http://one.example.com/')"), REACHED.format("one.example.com"))
    session = Session(machine.token("narrow", "--net", "two.example.com"), network={"allow": ["two.example.com"]})
    session.change("public")
    kit.equal(session.value("get('http://two.example.com/')"), REACHED.format("two.example.com"))
    is_refused(session.value("get('http://one.example.com/')"))


@kit.test(timeout=90)
def a_restart_keeps_the_changed_network():
    world().http("one.example.com")
    world().http("two.example.com")
    session = Session(Machine().web, network={"allow": ["one.example.com"]})
    session.change({"allow": ["two.example.com"]})
    kit.equal(session.web.post(f"{session.path}/restart", {}).status, 200)
    kit.equal(session.network(), {"allow": ["two.example.com"]})
    session.value(HELPERS + "1")
    kit.equal(session.value("get('http://two.example.com/')"), REACHED.format("two.example.com"))
    is_refused(session.value("get('http://one.example.com/')"))
    session.change("none")
    kit.equal(session.web.post(f"{session.path}/restart", {}).status, 200)
    session.value(HELPERS + "1")
    is_refused(session.value("get('http://two.example.com/')"))


@kit.test(timeout=90)
def a_change_that_is_wrong_changes_nothing():
    world().http("one.example.com")
    machine = Machine()
    session = Session(machine.web, network={"allow": ["one.example.com"]})
    for network, error in (
        ({"allow": ["a..b"]}, (400, "bad_request", "network.allow[0]")), ({}, (400, "bad_request", "network")),
        (7, (400, "bad_request", "network")), ({"allow": ["one.example.com"], "rate": "1"}, (400, "bad_request", "network.rate")),
        ({"allow": ["host:80"]}, (403, "blocked", "network")),
    ):
        answer = session.web.request("PATCH", session.path, {"network": network})
        kit.true(answer.status != 200, f"{network}: {answer}")
        kit.equal(answer.error, error, f"{network}: {answer}")
        kit.equal(session.network(), {"allow": ["one.example.com"]})
    other = machine.token("other")
    kit.equal(other.request("PATCH", session.path, {"network": "public"}).status, 404)
    kit.equal(session.value("get('http://one.example.com/')"), REACHED.format("one.example.com"))
    # A cell has no rules of its own.
    answer = session.web.post(f"{session.path}/execute", {"code": "1", "network": "public"})
    kit.equal(answer.status, 400, f"{answer}")


@kit.test(timeout=90)
def egress_that_was_killed_is_started_again():
    """Connections end, the next cell's work again, and nothing is allowed that was not."""
    address = world().serve("echo", port=7000)
    world().name("one.example.com", address)
    world().name("two.example.com", address)
    machine = Machine()
    session = Session(machine.web, network={"allow": ["one.example.com:7000"]})
    session.value("one = dial('one.example.com', 7000); 1")
    kit.equal(session.value("ask(one)"), "ping")
    pid = machine.running.role("egress")
    os.kill(pid, signal.SIGKILL)
    kit.eventually(lambda: machine.running.role("egress") != pid, "egress was not started again")
    kit.true(session.value("ask(one)") in ("ConnectionResetError", "BrokenPipeError"), "the connection lives")
    seen = []

    def works():
        done = session.cell("print(ask(dial('one.example.com', 7000)))")
        seen.append(done)
        return done["stdout"] == "ping\n"

    kit.eventually(works, f"no cell reaches it again: {seen[-1:]}", timeout=30)
    kit.equal(session.cell("dial('two.example.com', 7000)")["status"], "failed")
    kit.equal(session.cell("dial('one.example.com', 7001)")["status"], "failed")
    kit.equal(session.network(), {"allow": ["one.example.com:7000"]})
    # A run beside it has rules of its own.
    result = machine.web.run(HELPERS + "print(ask(dial('two.example.com', 7000)))", "python", network={"allow": ["two.example.com:7000"]})
    kit.equal(result["stdout"], "ping\n", f"{result}")


@kit.test(timeout=90)
def containers_have_the_network_of_their_profile():
    world().http("one.example.com")
    world().http("three.example.com")
    machine = Machine()
    started = machine.web.post("/containers/start", {"container": "some"})
    kit.equal(started.status, 200, f"{started}")
    code = HELPERS + "print(get('http://one.example.com/'), get('http://three.example.com/'))"
    done = machine.web.post("/containers/exec", {"id": started.json["id"], "code": code})
    kit.equal(done.json["stdout"], "GET / from one.example.com URLError\n", f"{done.json}")
    network = done.json["meta"]["network"]
    kit.equal((network["mode"], ("one.example.com", "allowed") in hosts(done.json), ("three.example.com", "refused") in hosts(done.json)),
              ("allow", True, True), f"{network}")


@kit.test(timeout=90)
def sessions_of_the_command_line():
    world().http("one.example.com")
    world().http("two.example.com")
    machine = Machine()
    fetch = "import urllib.request; print(urllib.request.urlopen('http://{}.example.com/').status)"
    made = machine.shell("session", "start", "python", "--name", "work", "--net", "one.example.com", "--net-rate", "2m", "--net-connections", "3")
    kit.matches(made.text, r"\A[0-9A-Z]{26}\n\Z")
    kit.matches(machine.shell("session", "show", "work").text, r"(?m)^network +one\.example\.com$")
    kit.equal(machine.shell("session", "exec", "work", "-c", fetch.format("one")).text, "200\n")
    machine.shell("session", "exec", "work", "-c", fetch.format("two"), code=1)
    kit.equal(machine.shell("session", "network", "work", "two.example.com,*.example.org:443").text, "")
    kit.matches(machine.shell("session", "show", "work").text, r"(?m)^network +two\.example\.com,\*\.example\.org:443$")
    kit.equal(machine.shell("session", "exec", "work", "-c", fetch.format("two")).text, "200\n")
    machine.shell("session", "exec", "work", "-c", fetch.format("one"), code=1)
    changed = machine.shell("session", "network", "work", "none", "--json").json
    kit.equal(changed["network"], "none")
    kit.matches(machine.shell("session", "show", "work").text, r"(?m)^network +none$")
    machine.shell("session", "exec", "work", "-c", fetch.format("two"), code=1)
    # What is wrong is said, and changes nothing.
    for words, message in (
        (("network", "work"), "RULES is missing: emberbox session network ID RULES"),
        (("network", "work", "a..b"), 'net: "a..b"'),
        (("network", "work", "none", "--net-rate", "1m"), "--net-rate: without a network there is nothing to bound; leave it out"),
        (("network", "work", "public", "--memory", "1g"), "network takes no limits and settings; `emberbox session start` does"),
        (("restart", "work", "--net-rate", "1m"), "restart takes no --net-rate; `emberbox session start` and `session network` do"),
        (("start", "python", "--net-rate", "1m"), "--net-rate: it also needs --net with rules"),
        (("start", "python", "--net", "10.0.0.1"), 'net: "10.0.0.1"'),
    ):
        done = machine.shell("session", *words, code=2)
        kit.contains(done.errtext, message)
    kit.matches(machine.shell("session", "show", "work").text, r"(?m)^network +none$")
    # --net none is not the same as nothing where a profile has a network.
    machine.shell("session", "start", "python", "--name", "open", "--profile", "open")
    kit.matches(machine.shell("session", "show", "open").text, r"(?m)^network +public$")
    machine.shell("session", "start", "python", "--name", "closed", "--profile", "open", "--net", "none")
    kit.matches(machine.shell("session", "show", "closed").text, r"(?m)^network +none$")
    machine.shell("session", "exec", "closed", "-c", fetch.format("one"), code=1)


@kit.test(timeout=90)
def the_prompt_has_rules_too():
    world().http("one.example.com")
    machine = Machine()
    code = b"import urllib.request\nurllib.request.urlopen('http://one.example.com/').status\n"
    kit.equal(machine.shell("repl", "python", "--net", "one.example.com", stdin=code).text, "200\n")
    kit.contains(machine.shell("repl", "python", stdin=code, code=1).errtext, "URLError")
    kit.contains(machine.shell("repl", "--session", "x", "--net", "public", code=2).errtext, "--session joins a session")


kit.main()
