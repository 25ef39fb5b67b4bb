#!/usr/bin/python3
# tests/run: args=--as root | --as user
# tests/run: builds=release asan
# tests/run: asan=--as root
# tests/run: timeout=300
"""The registry over HTTP: profiles, confirmations, edits while it serves, and containers."""

import json
import os
import signal
import socket
import sys
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from service import Service, box
from web import Web
from websocket import Refused, Socket

HELLO = {"language": "bash", "code": "echo hello"}
REGISTRY = """
containers:
  shell:
    description: "A shell"
    language: bash
    triggers: ["run this"]
    security: {network_mode: none, read_only: false, needs_confirm: false}
    resources: {memory: "128m", max_output: "30k", timeout: 20}
  careful:
    description: "Ask first"
    language: bash
    security: {needs_confirm: true}
  sealed:
    language: python
    security: {read_only: true}
  slow:
    language: bash
    resources: {cpus: "0.5"}
settings: {auto_cleanup: false, max_concurrent: 2}
"""


def serve(registry=REGISTRY, **options):
    home = kit.tmp()
    kit.write(os.path.join(home, "registry.yaml"), registry, 0o600)
    return Service(listen=True, home=home, **options)


def edit(running, text):
    """As editors do it: another file in its place."""
    new = kit.write(os.path.join(running.home, "registry.yaml.new"), text, 0o600)
    os.rename(new, os.path.join(running.home, "registry.yaml"))


def endless():
    """As in test_http_execute.py."""
    seconds = f"1000.{uuid.uuid4().int}"
    return {"language": "bash", "code": f"echo ready; sleep {seconds}", "timeout": 300}, seconds


# Profiles


@kit.test
def profiles_are_listed_and_used():
    running = serve()
    asking = Web(running)
    listed = asking.get("/containers").json
    kit.equal(listed["settings"], {"auto_cleanup": False, "max_concurrent": 2})
    kit.equal([profile["name"] for profile in listed["containers"]], ["shell", "careful", "sealed", "slow"])
    kit.equal(listed["containers"][0], {
        "name": "shell", "description": "A shell", "language": "bash", "image": None, "triggers": ["run this"],
        "security": {"network_mode": "none", "read_only": False, "needs_confirm": False, "confirm": None},
        "resources": {"memory": "128m", "cpus": None, "timeout": "20"}})
    answer = asking.post("/v1/execute", {"profile": "shell", "code": "echo $0"})
    limits = answer.json["meta"]["resource_limits"]
    kit.equal((answer.json["language"], limits["memory"], limits["max_output"], limits["timeout"]),
              ("bash", 128 << 20, 30 << 10, 20))
    kit.equal(asking.get(f"/v1/executions/{answer.json['id']}").json["profile"], "shell")
    # The request itself is stronger.
    answer = asking.post("/v1/execute", {"profile": "shell", "code": "echo", "timeout": 3, "memory_limit": "64m"})
    limits = answer.json["meta"]["resource_limits"]
    kit.equal((limits["memory"], limits["max_output"], limits["timeout"]), (64 << 20, 30 << 10, 3))
    answer = asking.post("/v1/execute", {"profile": "sealed", "code": "open('x', 'w')"})
    kit.equal((answer.json["language"], answer.json["status"]), ("python", "failed"))
    answer = asking.post("/v1/execute", {"profile": "nonesuch", "code": "1"})
    kit.equal(answer.error[0::2], (400, "profile"))


@kit.test
def the_environment_is_stronger_than_a_profile():
    running = serve(env={"SANDBOX_TIMEOUT_SEC": "7", "DOCKER_MEMORY_LIMIT": "96m"})
    limits = Web(running).post("/v1/execute", {"profile": "shell", "code": "echo"}).json["meta"]["resource_limits"]
    kit.equal((limits["timeout"], limits["memory"], limits["max_output"]), (7, 96 << 20, 30 << 10))
    own = Web(running).post("/v1/execute", {"profile": "shell", "code": "echo", "timeout": 9}).json
    kit.equal(own["meta"]["resource_limits"]["timeout"], 9)


# Confirmations


@kit.test
def a_confirmation_is_for_one_request_once():
    running = serve()
    asking = Web(running)
    request = {"profile": "careful", "code": "echo done", "args": ["a"]}
    asked = asking.post("/v1/execute", request)
    kit.equal(asked.error, (409, "needs_confirmation", "confirm"))
    confirm = asked.json["error"]["confirm"]
    kit.contains(asked.message, '"careful" needs a confirmation')
    kit.equal(asking.get("/v1/executions").json["executions"], [], "it ran before anybody agreed")
    # Another request, another caller, or another text: no.
    second, refused = running_token(running), (400, "bad_request", "confirm")
    for other in (dict(request, code="echo other"), dict(request, args=["b"]), dict(request, timeout=29),
                  dict(request, stdin="x"), dict(request, env={"A": "b"}), dict(request, args=[])):
        kit.equal(asking.post("/v1/execute", dict(other, confirm=confirm)).error, refused, other)
    kit.equal(Web(running, token=second).post("/v1/execute", dict(request, confirm=confirm)).error,
              (400, "bad_request", "confirm"))
    for wrong in (confirm[:-1] + ("0" if confirm[-1] != "0" else "1"), confirm + "0", confirm.upper(), "eb1-0-0-0", "x",
                  confirm.replace("-", "-f", 1)):
        kit.equal(asking.post("/v1/execute", dict(request, confirm=wrong)).error, refused, wrong)
    # The same one runs, once.
    done = asking.post("/v1/execute", dict(request, confirm=confirm))
    kit.equal((done.status, done.json["stdout"]), (200, "done\n"))
    again = asking.post("/v1/execute", dict(request, confirm=confirm))
    kit.equal(again.error, (400, "bad_request", "confirm"))
    kit.contains(again.message, "used already")
    kit.equal(len(asking.get("/v1/executions").json["executions"]), 1)
    # Events, too, and a start.
    with asking.connect() as wire:
        asked = wire.stream("/v1/execute", request)
        kit.equal(asked.error, (409, "needs_confirmation", "confirm"))
        wire.stream("/v1/execute", dict(request, confirm=asked.json["error"]["confirm"]))
        kit.equal(wire.until("result")["stdout"], "done\n")
        list(wire.events())
        asked = wire.post("/containers/start", {"container": "careful"})
        kit.equal(asked.error[:2], (409, "needs_confirmation"))
        started = wire.post("/containers/start", {"container": "careful", "confirm": asked.json["error"]["confirm"]})
        kit.equal(started.status, 200)
        kit.equal(wire.post("/containers/stop", {"id": started.json["id"]}).status, 200)
        # Who agreed to a run did not agree to a box that stays, nor to one that stays longer.
        run = ("/v1/execute", {"profile": "careful", "code": "echo done"})
        start = ("/containers/start", {"container": "careful", "code": "echo done"})
        short, long = (("/containers/start", {"container": "careful", "ttl": ttl}) for ttl in (5, 50))
        for asked_for, used_for in ((run, start), (start, run), (short, long)):
            confirm = wire.post(*asked_for).json["error"]["confirm"]
            answer = wire.post(used_for[0], dict(used_for[1], confirm=confirm))
            kit.equal(answer.error, refused, used_for)
    # Where nobody is to be asked it is no field that does anything.
    kit.equal(asking.post("/v1/execute", {"profile": "shell", "code": "echo"}).status, 200)
    events = [json.loads(line)["event"] for line in kit.emberbox(
        "audit", "--json", "-n", "1000", env={"EMBERBOX_HOME": running.home}).text.splitlines()]
    kit.true({"confirm_asked", "confirmed"} <= set(events), events)


@kit.test
def each_run_in_a_container_that_asks_is_confirmed():
    running = serve()
    asking = Web(running)
    confirm = asking.post("/containers/start", {"container": "careful", "code": "echo first"}).json["error"]["confirm"]
    started = asking.post("/containers/start", {"container": "careful", "code": "echo first", "confirm": confirm})
    kit.equal((started.status, started.json["result"]["stdout"]), (200, "first\n"), "what it starts with was confirmed")
    box = started.json["id"]
    runs = ({"id": box, "command": "echo again > agreed; cat agreed"}, "/containers/exec"), (
        {"container": box, "code": "echo again > agreed; cat agreed"}, "/v1/execute")  # fmt: skip
    for request, path in runs:
        asked = asking.post(path, request)
        kit.equal(asked.error, (409, "needs_confirmation", "confirm"), path)
        kit.contains(asked.message, "needs a confirmation")
        confirm = asked.json["error"]["confirm"]
        other = {**request, "stdin": "x"}
        kit.equal(asking.post(path, {**other, "confirm": confirm}).error, (400, "bad_request", "confirm"), path)
        done = asking.post(path, {**request, "confirm": confirm})
        kit.equal((done.status, done.json["stdout"]), (200, "again\n"), path)
        kit.equal(asking.post(path, {**request, "confirm": confirm}).error, (400, "bad_request", "confirm"), path)
        with asking.connect() as wire:
            kit.equal(wire.stream(path, request).error, (409, "needs_confirmation", "confirm"), path)
    own = Web(running, unix=True)
    confirm = own.post("/containers/start", {"container": "careful"}).json["error"]["confirm"]
    mine = own.post("/containers/start", {"container": "careful", "confirm": confirm}).json["id"]
    with running.connect() as client:
        _, answer = client.request({"container": mine, "code": "echo by frames"})
        kit.equal(answer["error"]["code"], "needs_confirmation")
        _, answer = client.request({"container": mine, "code": "echo by frames", "confirm": answer["error"]["confirm"]})
        kit.equal(answer["stdout"], "by frames\n")
    kit.equal(own.post("/containers/stop", {"id": mine}).status, 200)
    # One whose profile does not ask runs as before, and what was asked for is no run.
    plain = asking.post("/containers/start", {"container": "shell"}).json["id"]
    kit.equal(asking.post("/containers/exec", {"id": plain, "command": "echo plain"}).json["stdout"], "plain\n")
    kit.equal(len(asking.get("/v1/executions").json["executions"]), 5)
    # What cannot be an id is not there; what is none at all is a mistake.
    for wrong in ("x\ny", "\u00e9", "01", "a" * 26):
        kit.equal(asking.post("/containers/exec", {"id": wrong, "command": "echo"}).error, (404, "not_found", "id"), wrong)
        kit.equal(asking.post("/v1/execute", {"container": wrong, "command": "echo"}).error, (404, "not_found", "container"))
    kit.equal(asking.post("/v1/execute", {"container": 1, "command": "echo"}).error, (400, "bad_request", "container"))


def confirmed(wire, path, request):
    """Asks, and asks again as if a person had agreed."""
    asked = wire.post(path, request)
    kit.equal(asked.error, (409, "needs_confirmation", "confirm"), repr(request))
    return wire.post(path, {**request, "confirm": asked.json["error"]["confirm"]})


def terminal_status(running, session):
    """101, or the status of the refusal."""
    connected = socket.create_connection(running.address, timeout=20)
    try:
        Socket(connected, f"/v1/sessions/{session}/terminal", {"Authorization": f"Bearer {running.token}"})
        return 101
    except Refused as refusal:
        return refusal.args[0]
    finally:
        connected.close()


SESSIONS = """
containers:
  each: {language: bash, security: {needs_confirm: true, confirm: each}}
  once: {language: bash, security: {needs_confirm: true, confirm: once}}
  free: {language: bash}
"""


@kit.test
def each_cell_of_a_session_that_asks_is_confirmed():
    running = serve(SESSIONS)
    asking = Web(running, unix=True)
    listed = {profile["name"]: profile["security"]["confirm"] for profile in asking.get("/containers").json["containers"]}
    kit.equal(listed, {"each": "each", "once": "once", "free": None})
    ids = {name: confirmed(asking, "/v1/sessions", {"profile": name}).json["id"] for name in ("each", "once")}
    ids["free"] = asking.post("/v1/sessions", {"profile": "free"}).json["id"]
    for path, request in ((f"/v1/sessions/{ids['each']}/execute", {"code": "x=agreed; echo $x"}),
                          ("/v1/execute", {"session": ids["each"], "code": "x=agreed; echo $x"})):
        done = confirmed(asking, path, request)
        kit.equal((done.status, done.json["stdout"]), (200, "agreed\n"), path)
        asked = asking.post(path, request)
        kit.equal(asked.error, (409, "needs_confirmation", "confirm"))
        kit.contains(asked.message, "each cell of it needs a confirmation")
        # What was agreed to is this cell, and without the input that comes later.
        for other in ({"code": "echo other"}, {"input": "stream"}, {"stdin": "x"}, {"timeout": 3}):
            answer = asking.post(path, {**request, **other, "confirm": asked.json["error"]["confirm"]})
            kit.equal(answer.error, (400, "bad_request", "confirm"), repr(other))
    with running.connect() as client:
        _, answer = client.request({"session": ids["each"], "code": "echo by frames"})
        kit.equal(answer["error"]["code"], "needs_confirmation")
    # Also after it was restarted, and its terminal would be cells that nobody has seen.
    kit.equal(asking.post(f"/v1/sessions/{ids['each']}/restart", {}).status, 200)
    kit.equal(asking.post(f"/v1/sessions/{ids['each']}/execute", {"code": "echo"}).status, 409)
    kit.equal(terminal_status(running, ids["each"]), 403)
    # Nor has anybody seen what a cell would import that is put there later; data are data.
    files = {name: f"/v1/sessions/{ids[name]}/files" for name in ids}
    for path in ("code/own.sh", "temp/.profile", "own.sh", "%2Fsandbox%2Fcode%2Fown.sh"):
        put = asking.request("PUT", f"{files['each']}/{path}", b"echo unseen")
        kit.equal((put.status, put.error[1]), (403, "blocked"), path)
        kit.contains(put.message, "files are put only below data and output")
        kit.equal(asking.get(f"{files['each']}/{path}").status, 404, path)
    kit.equal(asking.request("PUT", f"{files['each']}/data/own.txt", b"data").status, 201)
    kit.equal(asking.request("PUT", f"{files['each']}/data/own.txt?offset=4", b"!").status, 200)
    kit.equal(asking.post(f"{files['each']}/data/own.txt", {"move": "code/own.sh"}).status, 403)
    kit.equal(asking.post(f"{files['each']}/data/own.txt", {"move": "output/own.txt"}).status, 200)
    kit.equal(asking.get(f"{files['each']}/output/own.txt").body, b"data!")
    for name in ("once", "free"):
        kit.equal(asking.request("PUT", f"{files[name]}/code/own.sh", b"echo seen").status, 201, name)
    # The stated choice, and a profile that does not ask: each beside it runs, and has its terminal.
    for name in ("once", "free"):
        kit.equal(asking.post(f"/v1/sessions/{ids[name]}/execute", {"code": "echo $0"}).status, 200, name)
        kit.equal(terminal_status(running, ids[name]), 101, name)
    # A registry that has become stricter holds for what lives already.
    edit(running, SESSIONS.replace("confirm: once", "confirm: each").replace("free: {language: bash}",
                                   "free: {language: bash, security: {needs_confirm: true}}"))
    running.heard(r"the configuration was read again\n")
    for name in ("once", "free"):
        kit.eventually(lambda: asking.post(f"/v1/sessions/{ids[name]}/execute", {"code": "echo"}).status == 409, name)
        kit.equal(terminal_status(running, ids[name]), 403, name)


@kit.test
def a_container_may_ask_once():
    running = serve(SESSIONS)
    asking = Web(running)
    started = confirmed(asking, "/containers/start", {"container": "once", "code": "echo first"}).json
    kit.equal(started["result"]["stdout"], "first\n")
    kit.equal(asking.post("/containers/exec", {"id": started["id"], "command": "echo again"}).json["stdout"], "again\n")


@kit.test(timeout=60)
def a_layer_is_given_up_by_who_is_trusted():
    """allow_weaker is a right of its own: a token that may run programs may not choose how they are held."""
    running = Service(listen=True)
    request = {"language": "python", "code": "print(1)", "allow_weaker": ["cgroup"]}
    plain = Web(running, token=running_token(running))
    trusted = Web(running, token=running_token(running, "friend", "--scope", "execute,trusted"))
    for path in ("/v1/execute", "/v1/sessions"):
        asked = {key: value for key, value in request.items() if path == "/v1/execute" or key != "code"}
        a = plain.post(path, asked)
        kit.equal(a.error, (403, "forbidden_scope", "allow_weaker"), path)
        kit.equal(a.message, "allow_weaker: to do without a layer of isolation takes a token with the scope trusted")
        kit.true(trusted.post(path, asked).status in (200, 201), path)
        kit.true(plain.post(path, {k: v for k, v in asked.items() if k != "allow_weaker"}).status in (200, 201), path)
    # The first token, and who may open the service's own socket.
    kit.equal(Web(running).post("/v1/execute", request).json["stdout"], "1\n")
    kit.equal(kit.emberbox("run", "-l", "python", "-c", "print(1)", "--allow-weaker", "cgroup",
                           env={"EMBERBOX_HOME": running.home}).out, b"1\n")
    kit.equal(running.stop().code, 0)


def running_token(running, name="other", *options):
    done = kit.emberbox("token", "add", name, *options, env={"EMBERBOX_HOME": running.home})
    value = next(word for word in done.text.split() if word.startswith("ebt_"))
    kit.eventually(lambda: Web(running, token=value).get("/v1/languages").status == 200, "the token is not known")
    return value


@kit.test
def a_confirmation_does_not_outlive_the_front():
    running = serve()
    asking = Web(running)
    request = {"profile": "careful", "code": "echo done"}
    confirm = asking.post("/v1/execute", request).json["error"]["confirm"]
    os.kill(running.role("front"), signal.SIGKILL)
    running.heard(r"the front was ended by SIGKILL; restarted\n")
    answer = asking.post("/v1/execute", dict(request, confirm=confirm))
    kit.equal(answer.error, (400, "bad_request", "confirm"))
    kit.contains(answer.message, "ask again without it")


# Edits


@kit.test(timeout=60)
def edits_take_effect_without_dropping_anything():
    running = serve()
    asking = Web(running)
    request, seconds = endless()
    with asking.connect() as wire, asking.connect() as idle:
        wire.stream("/v1/execute", request)
        start = wire.until("start")
        wire.until("stdout")
        watch = box(running, seconds)
        kit.equal(idle.get("/v1/health").status, 200)
        edit(running, REGISTRY.replace("timeout: 20", "timeout: 11").replace("  sealed:", "  sealed2:"))
        running.heard(r"the configuration was read again\n")
        names = lambda: [profile["name"] for profile in asking.get("/containers").json["containers"]]
        kit.eventually(lambda: "sealed2" in names(), "the edit is not seen")
        limits = idle.post("/v1/execute", {"profile": "shell", "code": "echo"}).json["meta"]["resource_limits"]
        kit.equal(limits["timeout"], 11)
        # A wrong one is refused with its place, and the one of before stays.
        edit(running, REGISTRY.replace("language: bash", "language: [bash]"))
        said = running.heard(r"; the configuration of before stays\n")
        kit.matches(said, r"registry\.yaml:\d+:\d+: ")
        kit.equal(names(), ["shell", "careful", "sealed2", "slow"])
        # By SIGHUP it is the same.
        os.kill(running.pid, signal.SIGHUP)
        running.heard(r"; the configuration of before stays\n")
        edit(running, REGISTRY)
        running.heard(r"the configuration was read again\n")
        kit.eventually(lambda: names() == ["shell", "careful", "sealed", "slow"], "the edit is not seen")
        # What ran, runs.
        kit.equal(len(watch.fds) >= 2, True)
        kit.equal(asking.request("DELETE", f"/v1/executions/{start['id']}").status, 202)
        kit.equal(wire.until("result")["status"], "killed")
    # A file that is written in place, and one that goes away.
    kit.write(os.path.join(running.home, "registry.yaml"), "containers: {}\n", 0o600)
    kit.eventually(lambda: names() == [], "what was written in place is not seen")
    os.unlink(os.path.join(running.home, "registry.yaml"))
    kit.write(os.path.join(running.home, "registry.yaml"), REGISTRY, 0o600)
    kit.eventually(lambda: names() == ["shell", "careful", "sealed", "slow"], "the new file is not seen")


STRICT = """
containers:
  careful: {language: bash, security: {needs_confirm: true, read_only: true}}
policy:
  python: {block: [json, math]}
  bash: {block: [x]}
"""


def audited(running, event):
    # The entry is written beside the line of the log, by another process.
    found = lambda: [line for line in map(json.loads, kit.emberbox(
        "audit", "--json", "-n", "1000", env={"EMBERBOX_HOME": running.home}).text.splitlines()) if line["event"] == event]
    kit.eventually(found, f"no {event} in the audit log")
    return [line["detail"] for line in found()]


@kit.test(timeout=120)
def an_empty_registry_takes_no_policy_away():
    running = serve(STRICT, env={"EMBERBOX_POLICY": "block"})
    asking = Web(running)
    place = os.path.join(running.home, "registry.yaml")
    blocked = lambda: asking.post("/v1/execute", {"language": "python", "code": "import json"}).json["status"] == "blocked"
    configuration = lambda: asking.get("/v1/health").json["configuration"]
    kit.equal((configuration(), blocked()), ("current", True))
    # In place and by another file: what is there and says nothing, and what ends behind a key.
    for text, sentence in (("", "the registry is empty: expected containers, settings or policy"),
                           ("# later\n", "the registry is empty"),
                           (STRICT[:STRICT.index("  python:")], "policy: expected a mapping, not nothing; write policy: {}"),
                           (STRICT[:STRICT.index(" {block: [json")], r"policy\.python: expected a mapping")):
        for write in (edit, lambda service, text: kit.write(place, text, 0o600)):
            write(running, text)
            said = running.heard(r"; the configuration of before stays\n")
            kit.matches(said, r"registry\.yaml:\d+:\d+: " + sentence)
            kit.eventually(lambda: configuration() == "stale", "health does not tell it")
            kit.true(blocked(), repr(text))
            edit(running, STRICT)
            kit.eventually(lambda: configuration() == "current", "health still tells it")
    kit.equal(len(audited(running, "config_refused")), 8)
    # One that somebody still has open for writing is not read, however long that takes.
    with open(place, "w") as writing:
        writing.write("policy: {}\n")
        writing.flush()
        os.kill(running.pid, signal.SIGHUP)
        running.heard(r"registry\.yaml: it is being written; the configuration of before stays until that is done\n")
        kit.eventually(lambda: configuration() == "stale", "health does not tell it")
        kit.true(blocked(), "half of it was read")
        writing.seek(0)
        writing.write(STRICT)
    kit.eventually(lambda: configuration() == "current", "it was not read when it was whole")
    kit.true(blocked(), "rules are gone")
    kit.equal(kit.emberbox("audit", "-n", "1000", env={"EMBERBOX_HOME": running.home}).text.count("policy_weakened"), 0)


@kit.test(timeout=60)
def an_empty_env_file_takes_no_policy_away():
    home = kit.tmp()
    place = kit.write(os.path.join(home, ".env"), "EMBERBOX_POLICY=block\n", 0o600)
    running = Service(listen=True, home=home)
    asking = Web(running)
    blocked = lambda: asking.post("/v1/execute", {"language": "python", "code": "import os"}).json["status"] == "blocked"
    configuration = lambda: asking.get("/v1/health").json["configuration"]
    kit.true(blocked(), "the policy is not read from .env")
    kit.write(place, "", 0o600)
    said = running.heard(r"; the configuration of before stays\n")
    kit.contains(said, f"{place}: the file is empty and had settings; remove it, or write a comment (#) into it")
    kit.eventually(lambda: configuration() == "stale", "health does not tell it")
    kit.true(blocked(), "the policy is gone")
    # Also when something else is read again.
    kit.write(os.path.join(home, "registry.yaml"), "containers: {}\n", 0o600)
    running.heard(r"; the configuration of before stays\n")
    kit.true(blocked(), "the policy is gone")
    # Settings that are taken out in words are, and it is told; so is a file that is removed.
    kit.write(place, "# none\n", 0o600)
    kit.contains(running.heard(r"warning: .*\n"), "the import policy is off, not block")
    kit.eventually(lambda: not blocked(), "the edit is not seen")
    kit.equal(audited(running, "policy_weakened"), ["the import policy is off, not block"])


@kit.test(timeout=60)
def a_policy_that_is_taken_away_is_told():
    running = serve(STRICT)
    place = os.path.join(running.home, "registry.yaml")
    weaker = STRICT.replace("json, math]", "math], allow: [sys]").replace("read_only: true", "confirm: once")
    edit(running, weaker)
    want = ("python: json is not blocked by the registry any more; python: sys is allowed now; the profile careful "
            "needs a confirmation only once, not each time; the profile careful is not read-only any more")
    kit.contains(running.heard(r"warning: .*\n"), f"warning: the policy has fewer rules than before: {want}\n")
    kit.equal(audited(running, "policy_weakened"), [want])
    # More rules, and the same ones, are no news; no file at all is none.
    edit(running, STRICT)
    running.heard(r"the configuration was read again\n")
    os.unlink(place)
    want = ("python: json is not blocked by the registry any more; python: math is not blocked by the registry any more; "
            "bash: x is not blocked by the registry any more; the profile careful, which needed a confirmation, was removed")
    kit.contains(running.heard(r"warning: .*\n"), want)
    kit.eventually(lambda: len(audited(running, "policy_weakened")) == 2, "it is not in the audit log")
    kit.equal(audited(running, "policy_weakened")[1], want)


@kit.test
def half_a_registry_is_none():
    home = kit.tmp()
    for text, sentence in (("", "the registry is empty"), ("policy:\n", "policy: expected a mapping, not nothing")):
        kit.write(os.path.join(home, "registry.yaml"), text, 0o600)
        r = kit.finish(Service(listen=True, home=home, ready=False).process)
        kit.equal(r.code, 2, r)
        kit.matches(r.errtext, r"registry\.yaml:1:1: " + sentence)
        r = kit.emberbox("run", "--cold", "-l", "bash", "-c", "echo", env={"EMBERBOX_HOME": home})
        kit.equal(r.code, 2, r)
        kit.matches(r.errtext, r"registry\.yaml:1:1: " + sentence)
    kit.write(os.path.join(home, "registry.yaml"), REGISTRY.replace("timeout: 20", "timeout: soon"), 0o600)
    r = kit.finish(Service(listen=True, home=home, ready=False).process)
    kit.equal(r.code, 2, r)
    kit.matches(r.errtext, r"registry\.yaml:8:\d+: .*timeout")


# Containers


@kit.test(timeout=90)
def a_container_from_start_to_stop():
    running = serve()
    asking = Web(running)
    with asking.connect() as wire:
        kit.equal(wire.get("/containers/status").json, {"containers": []})
        started = wire.post("/containers/start", {"container": "shell", "ttl": 300, "files": {"given.txt": "given"},
                                                  "code": "echo 1 > state; echo begun"})
        kit.equal((started.status, started.json["container"], started.json["ttl"]), (200, "shell", 300), started)
        kit.contains(started.text, '"ttl":300,')
        kit.equal(started.json["result"]["stdout"], "begun\n")
        box_id = started.json["id"]
        done = wire.post("/containers/exec", {"id": box_id})
        kit.equal((done.error, done.message), ((400, "bad_request", "code"),
                  "code: it is not set; give the program's text, or a command of the shell as command"))
        done = wire.post("/containers/exec", {"id": box_id, "command": "cat state given.txt; pwd"})
        kit.equal((done.status, done.json["stdout"]), (200, "1\ngiven/sandbox/code\n"))
        done = wire.post("/containers/exec", {"id": box_id, "code": "echo $(($(cat state) + $1)); exit 4",
                                              "args": ["41"], "env": {"A": "b"}})
        kit.equal((done.json["stdout"], done.json["exit_code"]), ("42\n", 4))
        # It found its box ready; but statistics count it apart.
        kit.equal(wire.get(f"/v1/executions/{started.json['result']['id']}").json["place"], box_id)
        stats = wire.get("/v1/stats").json
        kit.equal((done.json["meta"]["start"], stats["warm"], stats["cold"], stats["other"]), ("warm", 0, 0, 4))
        shown = wire.get(f"/v1/executions/{done.json['id']}").json
        kit.equal((shown["place"], shown["door"]), (box_id, "http"))
        kit.contains(wire.get("/containers/status").text, '"ttl":300,')
        status = wire.get("/containers/status").json["containers"]
        kit.equal([(one["id"], one["container"], one["language"], one["status"], one["execs"], one["memory_limit"])
                   for one in status], [(box_id, "shell", "bash", "running", 3, 128 << 20)])
        # Events and cancelling work as for any run, and the container stays.
        with asking.connect() as other:
            began = other.stream("/containers/exec", {"id": box_id, "command": "echo ready; sleep 1000"})
            kit.equal(other.until("stdout"), {"text": "ready\n"})
            kit.equal(wire.get("/containers/status").json["containers"][0]["pids"] > 0, True)
            kit.equal(wire.request("DELETE", f"/v1/executions/{began.headers['x-execution-id']}").status, 202)
            kit.equal(other.until("result")["status"], "killed")
        with asking.connect() as other:
            other.stream("/containers/exec", {"id": box_id, "command": "echo ready; sleep 1000"})
            other.until("stdout")
        kit.eventually(lambda: wire.get("/containers/status").json["containers"][0]["pids"] == 0, "the exec goes on")
        done = wire.post("/containers/exec", {"id": box_id, "command": "sleep 99", "timeout": 0.5})
        kit.equal((done.json["status"], done.json["timeout"]), ("timeout", True))
        kit.equal(wire.post("/containers/exec", {"id": box_id, "command": "cat state"}).json["stdout"], "1\n")
        # Limits of the box are the box's.
        kit.equal(wire.post("/containers/exec", {"id": box_id, "command": "ls", "memory_limit": "64m"}).error[0::2],
                  (400, "memory_limit"))
        # As many as may.
        second = wire.post("/containers/start", {"container": "shell"})
        kit.equal((second.status, second.json["result"]), (200, None))
        third = wire.post("/containers/start", {"container": "shell"})
        kit.equal(third.error[:2], (429, "too_many"))
        # When it works again nobody knows: no time is said.
        kit.equal(("retry-after" in third.headers, "retry_after" in third.json["error"]), (False, False))
        values = wire.get("/metrics").text
        kit.contains(values, "emberbox_containers 2\n")
        kit.equal(wire.post("/containers/stop", {"id": box_id}).json, {"id": box_id, "status": "stopped"})
        answer = wire.post("/containers/exec", {"id": box_id, "command": "ls"})
        kit.equal((answer.status, answer.error[2]), (404, "id"))
        kit.equal(wire.post("/containers/stop", {"id": second.json["id"]}).status, 200)
        ended = wire.get("/containers/status").json["containers"]
        kit.equal({one["status"] for one in ended} - {"exited"}, set())
        kit.equal(wire.post("/containers/cleanup", {}).json, {"removed": len(ended)})
        kit.equal(wire.get("/containers/status").json, {"containers": []})


@kit.test
def what_cannot_be_enforced_is_not_started():
    """An ordinary user needs a control group of its own for a limit of CPU."""
    running = serve()
    asking = Web(running)
    answer = asking.post("/containers/start", {"container": "slow"})
    if asking.limits_cpu():
        kit.equal(answer.status, 200)
    else:
        kit.equal(answer.error[:2], (422, "cannot_enforce"))
        kit.contains(answer.message, "this host cannot limit CPU")
    kit.equal(asking.get("/containers").json["containers"][3]["resources"]["cpus"], "0.5")


@kit.test(timeout=90)
def places_leave_descriptors_for_runs():
    """Whoever starts sessions or containers is refused by name while there are enough for everybody's runs."""
    home = kit.tmp()
    kit.write(os.path.join(home, "registry.yaml"), "containers: {shell: {language: bash}}\nsettings: {max_concurrent: 100}\n", 0o600)
    asking = Web(Service(listen=True, home=home, before=("prlimit", "--nofile=350:350")))
    for path, request, first in (("/containers/start", {"container": "shell"}, "container"), ("/v1/sessions", {"language": "bash"}, "session")):
        statuses = []
        while len(statuses) < 60 and (answer := asking.post(path, request)).status in (200, 201):
            statuses.append(answer.status)
        kit.equal(answer.error[:2], (429, "too_many"), path)
        kit.matches(answer.message, rf"{first}: the service has too few file descriptors left for another one \(\d+ live\); (stop|end) one, "
                    "or start the service with a higher limit: ulimit -n")
        run = asking.post("/v1/execute", {"language": "bash", "code": "echo $((6 * 7))"}).json
        kit.equal((run["status"], run["stdout"]), ("ok", "42\n"), path)
    kit.equal(len(asking.get("/containers/status").json["containers"]) > 0, True, "none was started")


@kit.test
def a_start_that_is_refused_leaves_nothing():
    running = serve()
    asking = Web(running)
    answer = asking.post("/containers/start", {"container": "sealed", "code": "print(1)"})
    kit.equal(answer.error, (400, "bad_request", "code"))
    kit.equal([one for one in asking.get("/containers/status").json["containers"] if one["status"] == "running"], [])
    # Without code it starts, and takes commands.
    made = asking.post("/containers/start", {"container": "sealed"}).json["id"]
    kit.equal(asking.post("/containers/exec", {"id": made, "command": "touch x || echo no"}).json["stdout"], "no\n")


@kit.test(timeout=60)
def containers_are_their_owners():
    running = serve()
    mine, other = Web(running), Web(running, token=running_token(running))
    made = other.post("/containers/start", {"container": "shell"}).json["id"]
    kit.equal([one["id"] for one in other.get("/containers/status").json["containers"]], [made])
    # Who may see everything sees it; another ordinary caller does not.
    kit.equal([one["id"] for one in mine.get("/containers/status").json["containers"]], [made])
    third = kit.emberbox("token", "add", "third", env={"EMBERBOX_HOME": running.home}).text
    third = Web(running, token=next(word for word in third.split() if word.startswith("ebt_")))
    kit.eventually(lambda: third.get("/v1/languages").status == 200, "the token is not known")
    kit.equal(third.get("/containers/status").json, {"containers": []})
    kit.equal(third.post("/containers/exec", {"id": made, "command": "ls"}).status, 404)
    kit.equal(third.post("/containers/stop", {"id": made}).status, 404)
    kit.equal(third.post("/containers/cleanup", {}).json, {"removed": 0})
    kit.equal(other.post("/containers/exec", {"id": made, "command": "echo on"}).json["stdout"], "on\n")
    kit.equal(other.post("/containers/stop", {"id": made}).status, 200)
    # A token's bounds hold in containers as well.
    bounded = kit.emberbox("token", "add", "bounded", "--timeout", "5", env={"EMBERBOX_HOME": running.home}).text
    bounded = Web(running, token=next(word for word in bounded.split() if word.startswith("ebt_")))
    kit.eventually(lambda: bounded.get("/v1/languages").status == 200, "the token is not known")
    kit.equal(bounded.post("/containers/start", {"container": "shell", "timeout": 6}).error,
              (400, "bad_request", "timeout"))
    made = bounded.post("/containers/start", {"container": "shell"}).json["id"]
    kit.equal(bounded.post("/containers/exec", {"id": made, "command": "echo", "timeout": 6}).error,
              (400, "bad_request", "timeout"))
    done = bounded.post("/containers/exec", {"id": made, "command": "echo"}).json
    kit.equal(done["meta"]["resource_limits"]["timeout"], 5)
    done = bounded.post("/containers/exec", {"id": made, "command": "echo", "timeout": 4}).json
    kit.equal(done["meta"]["resource_limits"]["timeout"], 4)


def stops(running):
    """id: (reason, by, caller, profile) of the containers that ended, as the audit log has it."""
    lines = kit.emberbox("audit", "--json", "-n", "1000", env={"EMBERBOX_HOME": running.home}).text.splitlines()
    return {one["id"]: (one["reason"], one["by"], one["caller"], one["profile"]) for one in map(json.loads, lines)
            if one["event"] == "container_stopped"}


@kit.test(timeout=60)
def every_end_of_a_container_is_audited():
    running = serve(REGISTRY.replace("max_concurrent: 2", "max_concurrent: 9"))
    asking = Web(running)
    start = lambda **more: asking.post("/containers/start", {"container": "shell", **more}).json["id"]
    made = {"stopped": start(), "old": start(ttl=1), "full": start(), "left": start()}
    kit.equal(asking.post("/containers/stop", {"id": made["stopped"]}).status, 200)
    asking.post("/containers/exec", {"id": made["full"], "command": "a=$(head -c 400m /dev/zero | tr '\\0' x)"})
    kit.eventually(lambda: len(stops(running)) >= 2, "nothing is audited")
    kit.eventually(lambda: made["old"] in stops(running), "its time is over, and that is not audited")
    running.stop()
    again = Service(listen=True, home=running.home)
    found = kit.eventually(lambda: made["left"] in (all_ := stops(again)) and all_, "the service's end is not audited")
    kit.equal(found[made["stopped"]], ("it was stopped", "default", "default", "shell"))
    kit.equal(found[made["old"]], ("its time to live of 1s was over", "service", "default", "shell"))
    kit.equal(found[made["left"]], ("the service ended", "service", "default", "shell"))
    if made["full"] in found:
        kit.equal(found[made["full"]][1:], ("service", "default", "shell"))


@kit.test(timeout=60)
def a_tokens_bound_is_for_its_containers_too():
    running = serve()
    made = kit.emberbox("token", "add", "one", "--max-concurrent", "1", env={"EMBERBOX_HOME": running.home}).text
    one = Web(running, token=next(word for word in made.split() if word.startswith("ebt_")))
    kit.eventually(lambda: one.get("/v1/languages").status == 200, "the token is not known")
    first = one.post("/containers/start", {"container": "shell"}).json["id"]
    answer = one.post("/containers/start", {"container": "shell"})
    kit.equal(answer.error[:2] + (answer.message,), (429, "too_many", "max_concurrent: 1 container of this token runs "
                                                     "already, as many as may; stop one first"))
    # Others have room, and it can still use its own.
    other = Web(running).post("/containers/start", {"container": "shell"}).json["id"]
    kit.equal(one.post("/containers/exec", {"id": first, "command": "echo on"}).json["stdout"], "on\n")
    # One that starts and runs nothing is no execution.
    kit.true('language="other"' not in Web(running).get("/metrics").text, "a start is counted as a run")
    # When the token goes, what it has goes; and nobody else's.
    kit.equal(kit.emberbox("token", "remove", "one", env={"EMBERBOX_HOME": running.home}).code, 0)
    listed = lambda: {box["id"]: box["status"] for box in Web(running).get("/containers/status").json["containers"]}
    kit.eventually(lambda: listed().get(first) == "exited", "its container lives on")
    kit.equal(listed()[other], "running")
    kit.eventually(lambda: first in stops(running), "it is not audited")
    kit.equal(stops(running)[first], ("its token was removed", "service", "one", "shell"))


@kit.test(timeout=60)
def containers_end_by_themselves_and_with_the_service():
    running = serve(REGISTRY.replace("auto_cleanup: false", "auto_cleanup: true"))
    asking = Web(running)
    short = asking.post("/containers/start", {"container": "shell", "ttl": 1}).json
    kit.equal(short["ttl"], 1)
    # A part of a second is not rounded away.
    part = asking.post("/containers/start", {"container": "shell", "ttl": 1.5}).json
    kit.equal(part["ttl"], 1.5)
    kit.eventually(lambda: asking.get("/containers/status").json == {"containers": []}, "its time is over")
    seconds = f"1000.{uuid.uuid4().int}"
    made = asking.post("/containers/start", {"container": "shell"}).json["id"]
    with asking.connect() as wire:
        wire.stream("/containers/exec", {"id": made, "command": f"echo ready; sleep {seconds}", "timeout": 300})
        wire.until("stdout")
        watch = box(running, seconds)
        os.kill(running.pid, signal.SIGINT)
        running.heard(r"ending; .*\n")
        os.kill(running.pid, signal.SIGINT)
    kit.equal(kit.finish(running.process).code, 0)
    kit.equal(watch.survivors(), [])


kit.main()
