#!/usr/bin/python3
"""What HTTP tells of a run's network: all connections, decisions as they are made, the audit log."""
# tests/run: args=--as root | --as user
# tests/run: timeout=120

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from service import Service
from web import Web
from world import world


def web():
    with world().inside():
        return Web(Service(), unix=True)


def execute(client, code, allow, **more):
    return client.post("/v1/execute", {"language": "python", "code": code, "network": {"allow": allow}, **more}).json


@kit.test
def a_run_with_many_connections_is_kept_whole():
    world().http("many.example.com")
    client = web()
    result = execute(client, "import socket\nfor i in range(25): socket.create_connection(('many.example.com', 80)).close()", ["many.example.com"])
    kit.equal(result["status"], "ok", f"{result}")
    kit.equal((result["meta"]["network"]["allowed"], len(result["meta"]["network"]["connections"])), (25, 20))
    whole = client.get(f"/v1/executions/{result['id']}/network").json
    kit.equal((whole["mode"], whole["allowed"], len(whole["connections"])), ("allow", 25, 25))
    kit.equal({(c["host"], c["port"], c["verdict"]) for c in whole["connections"]}, {("many.example.com", 80, "allowed")})
    lines = client.get(f"/v1/executions/{result['id']}/decisions").text.splitlines()
    kit.equal(len(lines), 25)
    kit.equal({json.loads(line)["schema_version"] for line in lines}, {1})


@kit.test
def a_run_with_few_connections_or_none_tells_too():
    client = web()
    result = execute(client, "print(1)", ["few.example.com"])
    whole = client.get(f"/v1/executions/{result['id']}/network").json
    kit.equal((whole["mode"], whole["connections"]), ("allow", []))
    result = client.post("/v1/execute", {"language": "python", "code": "print(1)"}).json
    kit.equal(client.get(f"/v1/executions/{result['id']}/network").json["mode"], "none")
    kit.equal(client.get(f"/v1/executions/{result['id']}/decisions").text, "")
    kit.equal(client.get("/v1/executions/01M7V00E1RF9B0H09CM5NNWBRG/network").status, 404)


@kit.test
def decisions_are_followed_while_it_runs():
    world().http("live.example.com")
    client = web()
    run = client.connect()
    code = ("import socket, sys\nsocket.create_connection(('live.example.com', 80)).close()\nprint('one', flush=True)\n"
            "sys.stdin.readline()\ntry: socket.getaddrinfo('other.example.com', 80)\nexcept OSError: pass\nprint('two', flush=True)\nsys.stdin.readline()")
    run.stream("/v1/execute", {"language": "python", "code": code, "input": "stream", "network": {"allow": ["live.example.com"]}},
               {"Accept": "text/event-stream"})
    name, start = run.event()
    kit.equal(name, "start", f"{start}")
    run.until("stdout")
    follower = client.connect()
    answer = follower.stream(f"/v1/executions/{start['id']}/decisions", method="GET", headers={"Accept": "text/event-stream"})
    kit.equal(answer.status, 200, repr(answer))
    name, first = follower.event()
    kit.equal((name, first["host"], first["verdict"], first["schema_version"]), ("decision", "live.example.com", "allowed", 1))
    client.post(f"/v1/executions/{start['id']}/input", {"data": "\n"})
    name, second = follower.event()
    kit.equal((name, second["host"], second["verdict"]), ("decision", "other.example.com", "refused"))
    client.post(f"/v1/executions/{start['id']}/input", {"data": "\n", "eof": True})
    # The stream ends with the run.
    follower.ended()
    kit.equal(run.until("result")["status"], "ok")


@kit.test
def the_audit_log_has_it():
    world().http("audited.example.com")
    client = web()
    result = execute(client, "import socket\nsocket.create_connection(('audited.example.com', 80)).close()\n"
                     "try: socket.getaddrinfo('denied.example.com', 80)\nexcept OSError: pass", ["audited.example.com"])
    kit.equal(client.get(f"/v1/executions/{result['id']}").status, 200)
    with open(os.path.join(client.running.home, "audit.log"), encoding="utf-8") as file:
        entries = [json.loads(line) for line in file]
    found = [entry for entry in entries if entry["event"] == "network"]
    kit.equal([entry["id"] for entry in found], [result["id"]])
    kit.equal({(c["host"], c["verdict"]) for c in found[0]["connections"]}, {("audited.example.com", "allowed"), ("denied.example.com", "refused")})


@kit.test
def metrics_and_show_have_it():
    world().http("counted.example.com")
    client = web()
    result = execute(client, "import urllib.request\nurllib.request.urlopen('http://counted.example.com/').read()\n"
                     "urllib.request.urlopen('http://denied.example.com/')", ["counted.example.com"])
    text = client.get("/metrics").text
    for line in ('emberbox_network_connections_total{verdict="allowed"} 1', 'emberbox_network_bytes_total{direction="received"} '
                 f'{result["meta"]["network"]["received"]}'):
        kit.contains(text, line)
    kit.true(result["meta"]["network"]["received"] > 0, f"{result}")
    shown = kit.emberbox("show", result["id"], env={"EMBERBOX_HOME": client.running.home}).text
    kit.contains(shown, "allow; 1 allowed, ")
    kit.matches(shown, r"allowed counted\.example\.com:80 \(93\.184\.216\.\d+\)")
    kit.contains(shown, "refused denied.example.com (no-rule)")
    kit.contains(shown, "Network access to denied.example.com is not allowed; allow it with --net denied.example.com")


kit.main()
