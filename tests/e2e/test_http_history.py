#!/usr/bin/python3
# tests/run: args=--as root | --as user
# tests/run: builds=release asan
# tests/run: asan=--as root
# tests/run: timeout=300
"""History over HTTP: what is kept, who sees it, and that nothing that was answered is lost."""

import concurrent.futures
import contextlib
import hashlib
import json
import os
import signal
import sys
import threading
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
import web
from service import Service, box
from web import Web

HELLO = {"language": "bash", "code": "echo hello"}


def endless():
    """As in test_http_execute.py."""
    seconds = f"1000.{uuid.uuid4().int}"
    return {"language": "bash", "code": f"echo ready; sleep {seconds}", "timeout": 300}, seconds


def typed(running, *words):
    return kit.emberbox(*words, env={"EMBERBOX_HOME": running.home})


def token(running, name, *options):
    """A new one, which the service has heard of."""
    done = typed(running, "token", "add", name, *options)
    kit.equal(done.code, 0, done.errtext)
    text = next(word for word in done.text.split() if word.startswith("ebt_"))
    running.heard(r"the configuration was read again\n")
    return text


def wait_for(running, value):
    kit.eventually(lambda: Web(running, token=value).get("/v1/languages").status != 401, "the token is not known")


# Lists


@kit.test(timeout=60)
def pages_and_filters():
    running = Service(listen=True)
    asking = Web(running)
    ran = [asking.run(f"echo {i}; exit {i % 2}")["id"] for i in range(7)]
    ran += [asking.run("print(1)", "python")["id"], asking.run("sleep 9", timeout=0.2)["id"]]
    with asking.connect() as wire:
        listed = wire.get("/v1/executions").json
        # The newest first, and the ids are sortable by time.
        kit.equal([row["id"] for row in listed["executions"]], ran[::-1])
        kit.equal((sorted(ran), listed["next"]), (ran, None))
        pages, before = [], ""
        while before is not None:
            page = wire.get(f"/v1/executions?limit=4{before and '&before=' + before}").json
            pages.append([row["id"] for row in page["executions"]])
            before = page["next"]
        kit.equal((sum(pages, []), [len(page) for page in pages]), (ran[::-1], [4, 4, 1]))
        for query, count in (("status=ok", 5), ("status=failed", 3), ("status=timeout", 1), ("status=blocked", 0),
                             ("language=python", 1), ("language=bash", 8), ("language=py", 1), ("language=ruby", 0), ("caller=default", 9),
                             ("caller=nobody", 0), ("since=2020-01-01T00:00:00Z", 9), ("since=2120-01-01T00:00:00Z", 0),
                             ("language=bash&status=failed&limit=2", 2)):
            kit.equal(len(wire.get(f"/v1/executions?{query}").json["executions"]), count, query)
        stats = wire.get("/v1/stats").json
        kit.equal((stats["total"], stats["by_status"]), (9, {"ok": 5, "failed": 3, "timeout": 1}))
        kit.equal([(row["language"], row["count"], row["ok"], row["failed"]) for row in stats["by_language"]],
                  [("bash", 8, 4, 4), ("python", 1, 1, 0)])
        kit.equal((stats["warm"] + stats["cold"], stats["failures"][0]), (9, {"kind": "failed", "count": 3}))
        answer = wire.get("/v1/executions?language=pyhton")
        kit.equal((answer.status, answer.json["error"]["code"], answer.json["error"]["field"], answer.json["error"]["message"]),
                  (400, "bad_request", "language", 'language: "pyhton" is not known, and has no runs; did you mean python?'))
        kit.equal(wire.get("/v1/stats?language=pyhton").json["error"]["field"], "language")
        kit.equal(wire.get("/v1/stats?language=py").json["total"], 1)
        # What only our own client may say of itself would be anybody's word in the history.
        answer = wire.post("/v1/execute", {"language": "bash", "code": "true", "applied_profile": "careful"})
        kit.equal((answer.status, answer.json["error"]["field"], answer.json["error"]["message"]),
                  (400, "applied_profile", "applied_profile: there is no such field; use profile"))
        kit.equal(wire.get("/v1/stats?language=python").json["total"], 1)
        kit.equal(wire.get("/v1/stats?since=2120-01-01T00:00:00Z").json["total"], 0)
    # The commands see the same.
    shown = json.loads(typed(running, "history", "--json").text)
    kit.equal([row["id"] for row in shown["executions"]], ran[::-1])


@kit.test(timeout=60)
def one_execution_is_its_result_and_more():
    running = Service(listen=True)
    asking = Web(running)
    with asking.connect() as wire:
        for code, kept in (("echo fine", None), ("echo oops >&2; exit 1", "echo oops >&2; exit 1")):
            answer = wire.post("/v1/execute", {"language": "bash", "code": code}, {"X-Request-Id": "of-mine"})
            shown = wire.get(f"/v1/executions/{answer.json['id']}").json
            kit.equal({key: shown[key] for key in answer.json}, answer.json)
            kit.equal([shown[key] for key in ("caller", "door", "request_id", "profile", "place", "code")],
                      ["default", "http", "of-mine", None, None, kept], code)
            digest = hashlib.sha256(code.encode()).hexdigest()
            kit.equal((shown["code_sha256"], shown["code_size"]), (digest, len(code)))
    # Those of other doors are there too.
    with running.connect() as client:
        framed = client.request(HELLO)[1]["id"]
    cold = typed(running, "run", "--cold", "--json", "-l", "bash", "-c", "echo cold").json["id"]
    uid = 0 if kit.mode == "root" else kit.UID
    for found, door, caller in ((framed, "socket", os.geteuid()), (cold, "cli", uid)):
        shown = kit.eventually(lambda: (answer := asking.get(f"/v1/executions/{found}")).status == 200 and answer.json,
                               f"{door} is not in the history")
        kit.equal((shown["door"], shown["caller"]), (door, f"uid {caller}"))


@kit.test(timeout=60)
def the_code_is_kept_as_it_was_said():
    for policy, kept in (("always", ("echo 1", "exit 1")), ("never", (None, None))):
        running = Service(listen=True, env={"SANDBOX_STORE_CODE": policy})
        asking = Web(running)
        ran = [asking.run(code)["id"] for code in ("echo 1", "exit 1")]
        kit.equal(tuple(asking.get(f"/v1/executions/{one}").json["code"] for one in ran), kept, policy)
        running.stop()


@kit.test(timeout=60)
def spools_and_their_ranges():
    running = Service(listen=True)
    asking = Web(running)
    code = ("import sys\nsys.stdout.buffer.write(bytes(i * i % 251 for i in range(300000)))\n"
            "sys.stderr.write('e' * 50000)\n")
    whole = bytes(i * i % 251 for i in range(300000))
    result = asking.run(code, "python")
    kit.equal((result["truncated"], result["stdout_bytes"]), (True, 300000))
    path = f"/v1/executions/{result['id']}/stdout"
    with asking.connect() as wire:
        answer = wire.get(path)
        kit.equal((answer.status, answer.body == whole, answer.headers["accept-ranges"]), (200, True, "bytes"))
        kit.equal(wire.get(path.replace("stdout", "stderr")).body, b"e" * 50000)
        for range_, status, part, said in (
            ("bytes=0-0", 206, whole[:1], "bytes 0-0/300000"),
            ("bytes=100-199", 206, whole[100:200], "bytes 100-199/300000"),
            ("bytes=299990-", 206, whole[-10:], "bytes 299990-299999/300000"),
            ("bytes=-7", 206, whole[-7:], "bytes 299993-299999/300000"),
            ("bytes=-999999", 206, whole, "bytes 0-299999/300000"),
            ("bytes=299999-999999", 206, whole[-1:], "bytes 299999-299999/300000"),
            ("bytes=300000-", 416, None, "bytes */300000"),
            ("bytes=-0", 416, None, "bytes */300000"),
            ("bytes=5-3", 200, whole, None), ("bytes=x", 200, whole, None), ("lines=1-2", 200, whole, None),
            ("bytes=0-1,5-6", 200, whole, None), ("bytes=99999999999999999999-", None, None, None),
        ):
            answer = wire.get(path, {"Range": range_})
            if status is None:
                kit.true(answer.status in (200, 416), range_)
                continue
            kit.equal((answer.status, answer.headers.get("content-range")), (status, said), range_)
            if status == 416:
                kit.equal((answer.error, answer.message), ((416, "range_not_satisfiable", "Range"),
                                                           "Range: there are no such bytes; there are 300000"))
            else:
                kit.true(answer.body == part, f"{range_}: other bytes")
        headed = wire.request("HEAD", path)
        kit.equal((headed.status, headed.headers["content-length"]), (200, "300000"))
        # Small output, and none, are there as well.
        small = asking.run("printf 'a\\377b'; true")["id"]
        kit.equal(wire.get(f"/v1/executions/{small}/stdout").body, b"a\xffb")
        kit.equal(wire.get(f"/v1/executions/{small}/stderr").body, b"")
        kit.equal(wire.get(f"/v1/executions/{small}/stderr", {"Range": "bytes=0-"}).status, 416)


@kit.test
def output_of_what_still_runs_is_not_there_yet():
    running = Service(listen=True)
    asking = Web(running)
    sentence = "it is still running: its output is kept when it ends; use events to follow it"
    with asking.connect() as wire:
        ran = wire.stream("/v1/execute", endless()[0]).headers["x-execution-id"]
        wire.until("stdout")
        for stream in ("stdout", "stderr"):
            answer = asking.get(f"/v1/executions/{ran}/{stream}")
            kit.equal((answer.error, answer.message), ((409, "still_running", None), sentence))
            shown = typed(running, "show", ran, f"--{stream}")
            kit.equal((shown.code, shown.out, shown.errtext), (1, b"", f"emberbox: {sentence}\n"))
        kit.equal(asking.request("DELETE", f"/v1/executions/{ran}").status, 202)
        kit.equal(wire.until("result")["error_message"], "Execution was cancelled")
    kit.equal(asking.get(f"/v1/executions/{ran}/stdout").body, b"ready\n")


@kit.test(timeout=60)
def runs_that_the_service_ended_say_so():
    running = Service(listen=True)
    with Web(running).connect() as wire:
        ran = wire.stream("/v1/execute", endless()[0]).headers["x-execution-id"]
        wire.until("stdout")
        os.kill(running.pid, signal.SIGINT)
        running.heard(r"ending; .*\n")
        os.kill(running.pid, signal.SIGINT)
        result = wire.until("result")
        kit.equal((result["status"], result["error_message"]), ("killed", "The service ended while this ran"))
    kit.finish(running.process)
    kit.equal(typed(running, "show", ran, "--json").json["error_message"], "The service ended while this ran")


def kill_all(pids):
    """The first takes the others with it: one may be gone already."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@kit.test(timeout=60)
def runs_of_before_are_told_of_at_the_start():
    running = Service(listen=True)
    with Web(running).connect() as wire:
        wire.stream("/v1/execute", endless()[0])
        wire.until("stdout")
        for name in ("keeper", "store", "front"):
            os.kill(running.role(name), signal.SIGSTOP)
        pids = [running.role(name) for name in ("keeper", "store", "front")]
        kill_all([running.pid, *pids])
    kit.finish(running.process)
    again = Service(home=running.home, ready=False)
    kit.matches(again.heard(r"interrupted\n"), r"emberbox: 1 run of before was interrupted\n")
    again.stop()
    # Once: the next start finds nothing new.
    third = Service(home=running.home)
    kit.true("interrupted" not in third.stop().errtext, "it is told of again")


# Who sees what


@kit.test(timeout=60)
def tokens_do_not_see_each_other():
    running = Service(listen=True)
    first, second = token(running, "first"), token(running, "second")
    wait_for(running, second)
    one, two = Web(running, token=first), Web(running, token=second)
    reader = Web(running, token=token(running, "reader", "--scope", "read"))
    mine, theirs = one.run("echo mine; exit 1")["id"], two.run("echo theirs")["id"]
    for asking, own, other in ((one, mine, theirs), (two, theirs, mine)):
        kit.equal([row["id"] for row in asking.get("/v1/executions").json["executions"]], [own])
        # Also for who asks for another's by name.
        kit.equal([row["id"] for row in asking.get("/v1/executions?caller=default").json["executions"]], [own])
        kit.equal(asking.get("/v1/stats?caller=first").json["total"], 1)
        kit.equal(asking.get(f"/v1/executions/{own}").json["id"], own)
        for path in ("", "/stdout", "/stderr"):
            answer = asking.get(f"/v1/executions/{other}{path}")
            nobodys = asking.get(f"/v1/executions/{other[:-1] + ('0' if other[-1] != '0' else '1')}{path}")
            # What is another's cannot be told from what is not there.
            kit.equal((answer.status, answer.error), (404, nobodys.error))
        kit.equal(asking.request("DELETE", f"/v1/executions/{other}").error[:2], (404, "not_found"))
    for asking in (reader, Web(running), Web(running, unix=True)):
        kit.equal([row["id"] for row in asking.get("/v1/executions").json["executions"]], [theirs, mine])
        kit.equal(asking.get(f"/v1/executions/{mine}").json["caller"], "first")


@kit.test(timeout=60)
def scopes_and_limits_of_tokens():
    running = Service(listen=True)
    made = {scope: token(running, scope, "--scope", scope) for scope in ("execute", "read", "metrics", "admin")}
    wait_for(running, made["admin"])
    run, any_, metrics = {"execute", "admin"}, {"execute", "read", "admin"}, {"metrics", "admin"}
    for method, path, body, allowed in (
        ("GET", "/v1/health", None, set(made)), ("GET", "/v1/languages", None, any_), ("GET", "/v1/doctor", None, any_),
        ("GET", "/metrics", None, metrics), ("GET", "/openapi.yaml", None, set(made)), ("GET", "/v1/status", None, set(made)),
        ("GET", "/v1/stats", None, any_),
        ("GET", "/v1/executions", None, any_), ("GET", "/containers", None, any_),
        ("GET", "/containers/status", None, any_),
        ("POST", "/v1/execute", HELLO, run), ("POST", "/containers/cleanup", {}, run),
    ):
        for scope, value in made.items():
            answer = Web(running, token=value).request(method, path, body)
            if scope in allowed:
                kit.equal(answer.status, 200, f"{scope} {path}")
            else:
                kit.equal(answer.error, (403, "forbidden_scope", None), f"{scope} {path}")
    # An admin ends what another runs; others cannot even see it.
    request, seconds = endless()
    with Web(running, token=made["execute"]).connect() as wire:
        ran = wire.stream("/v1/execute", request).headers["x-execution-id"]
        wire.until("stdout")
        watch = box(running, seconds)
        kit.equal(Web(running, token=made["read"]).request("DELETE", f"/v1/executions/{ran}").status, 403)
        kit.equal(Web(running, token=made["admin"]).request("DELETE", f"/v1/executions/{ran}").status, 202)
        kit.equal(wire.until("result")["status"], "killed")
    kit.equal(watch.survivors(), [])
    limits = ("--timeout", "5", "--memory", "64m", "--max-concurrent", "1")
    bounded = Web(running, token=token(running, "bounded", *limits))
    limits = bounded.run("echo")["meta"]["resource_limits"]
    kit.equal((limits["timeout"], limits["memory"]), (5, 64 << 20))
    kit.equal(bounded.run("echo", timeout=2)["meta"]["resource_limits"]["timeout"], 2)
    kit.equal(bounded.post("/v1/execute", dict(HELLO, timeout=6)).error, (400, "bad_request", "timeout"))
    kit.equal(bounded.post("/v1/execute", dict(HELLO, memory_limit="65m")).error, (400, "bad_request", "memory_limit"))
    # By the name that the request used.
    answer = bounded.post("/v1/execute", dict(HELLO, limits={"memory": "65m"}))
    kit.equal(answer.error + (answer.message,), (400, "bad_request", "limits.memory", 'limits.memory: "65m" is more than '
                                                 'the token "bounded" allows: at most 64m'))
    with bounded.connect() as wire:
        wire.stream("/v1/execute", {"language": "bash", "code": "echo ready; sleep 1000", "timeout": 5})
        wire.until("stdout")
        answer = bounded.post("/v1/execute", HELLO)
        kit.equal(answer.error[:2], (429, "busy"))
        kit.true(int(answer.headers["retry-after"]) >= 1, answer)
        # Others are not held up by it.
        kit.equal(Web(running).run("echo on")["stdout"], "on\n")
    kit.equal(kit.eventually(lambda: (found := bounded.post("/v1/execute", HELLO)).status == 200 and found,
                             "its place did not come back").json["stdout"], "hello\n")
    # A token that is taken away is nobody's from then on, also on a connection that it had opened.
    with bounded.connect() as wire:
        kit.equal(wire.get("/v1/languages").status, 200)
        kit.equal(typed(running, "token", "remove", "bounded").code, 0)
        running.heard(r"the configuration was read again\n")
        kit.eventually(lambda: bounded.get("/v1/languages").status == 401, "it is still known")
        kit.equal(wire.get("/v1/languages").status, 401)


@kit.test
def a_full_queue_is_busy():
    running = Service("--max-running", "1", "--max-queued", "1", listen=True)
    asking = Web(running)
    with asking.connect() as one, asking.connect() as two:
        one.stream("/v1/execute", endless()[0])
        one.until("stdout")
        two.stream("/v1/execute", HELLO)
        answer = asking.post("/v1/execute", HELLO)
        kit.equal(answer.error[:2], (429, "busy"))
        kit.true(int(answer.headers["retry-after"]) >= 1, answer)
        one.close()
        kit.equal(two.until("result")["stdout"], "hello\n")


# Nothing that was answered is lost


def runs(running, stop, unix):
    """Asks until it is told to stop; the names of what was answered, by their ids."""
    answered = {}
    while not stop.is_set():
        name = uuid.uuid4().hex
        try:
            with Web(running, unix=unix).connect() as wire:
                while not stop.is_set():
                    name = uuid.uuid4().hex
                    answer = wire.post("/v1/execute", {"language": "bash", "code": f"echo {name}"})
                    if answer.status == 200:
                        answered[answer.json["id"]] = name
                    else:
                        kit.true(answer.status in (503, 500), answer)
        except (web.Gone, OSError):
            stop.wait(0.01)  # nobody listens for a moment
    return answered


def check_answered(asking, answered):
    with asking.connect() as wire:
        for found, name in answered.items():
            answer = wire.get(f"/v1/executions/{found}")
            kit.equal((answer.status, answer.json.get("stdout")), (200, f"{name}\n"), f"{found} is lost")
        listed = [row for row in wire.get("/v1/executions?limit=1000").json["executions"] if row["id"] not in answered]
        kit.equal([row for row in listed if row["status"] not in ("interrupted", "ok", "killed", "error")], [])


def during(running, act):
    """Runs go on while it is done; what was answered meanwhile."""
    stop = threading.Event()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(runs, running, stop, unix) for unix in (False, True)]
        try:
            act()
        finally:
            stop.set()
        answered = {}
        for one in asked:
            answered.update(one.result(timeout=60))
    return answered


@kit.test(timeout=90)
def a_killed_role_loses_nothing():
    running = Service(listen=True)
    asking = Web(running)

    def total():
        """How many runs the history has; None while it cannot be asked."""
        try:
            answer = asking.get("/v1/stats")
        except (web.Gone, OSError):
            return None
        return answer.json["total"] if answer.status == 200 else None

    def settled():
        """Three more runs are in the history."""
        seen = kit.eventually(lambda: (found := total()) is not None and [found], "the history cannot be asked", 20)[0]
        kit.eventually(lambda: (total() or 0) >= seen + 3, "runs do not go on", timeout=20)

    def act():
        for role in ("store", "front", "keeper", "store"):
            settled()
            os.kill(running.role(role), signal.SIGKILL)
            running.heard(f"the {role} was ended by SIGKILL; (restarted|it is restarted in 1 s)\n")
            kit.eventually(lambda: health(asking) == 200, f"it is not well after the end of the {role}", timeout=20)
        settled()

    answered = during(running, act)
    kit.true(len(answered) >= 10, len(answered))
    check_answered(asking, answered)
    kit.equal(typed(running, "audit", "verify").code, 0)


def health(asking):
    try:
        return asking.get("/v1/health").status
    except (web.Gone, OSError):
        return 0


@kit.test(timeout=90)
def kill_9_of_everything_loses_nothing():
    running = Service(listen=True)
    asking = Web(running)
    request, seconds = endless()
    wire = asking.connect()
    under_way = wire.stream("/v1/execute", request).headers["x-execution-id"]
    wire.until("stdout")
    watch = box(running, seconds)

    def act():
        seen = asking.get("/v1/stats").json["total"]
        kit.eventually(lambda: asking.get("/v1/stats").json["total"] >= seen + 20, "runs do not go on", timeout=30)
        ours = [running.role(role) for role in ("keeper", "store", "front")] + [running.pid]
        dying = kit.Watch(ours)
        # All at once, as far as there is such a thing: nobody starts others, and nobody ends the run in good order.
        os.kill(running.pid, signal.SIGSTOP)
        kill_all(ours)
        kit.equal(dying.survivors(), [])

    answered = during(running, act)
    kit.true(len(answered) >= 10, len(answered))
    kit.equal(watch.survivors(), [])
    again = Service(listen=True, home=running.home)
    check_answered(Web(again), answered)
    shown = Web(again).get(f"/v1/executions/{under_way}").json
    kit.equal(shown["status"], "interrupted")
    kit.true(shown["error_message"], "it is not said why")
    kit.equal([row["id"] for row in Web(again).get("/v1/executions?status=running").json["executions"]], [])
    kit.equal(typed(again, "audit", "verify").code, 0)
    wire.close()


@kit.test(timeout=60)
def runs_go_on_while_the_store_is_away():
    running = Service(listen=True)
    asking = Web(running)
    before = asking.run("echo before")["id"]
    os.kill(running.role("store"), signal.SIGSTOP)
    ran = [asking.run(f"echo {i}")["id"] for i in range(3)]
    with asking.connect() as wire:
        wire.send("GET", f"/v1/executions/{before}")
        os.kill(running.role("store"), signal.SIGKILL)
        kit.true(wire.answer().status in (200, 503), "neither an answer nor a reason")
    running.heard(r"the store was ended by SIGKILL; restarted\n")
    for found in [before, *ran]:
        kit.eventually(lambda: asking.get(f"/v1/executions/{found}").status == 200, f"{found} is lost")


# Audit


@kit.test
def denials_and_token_use_are_in_the_audit_log():
    running = Service(listen=True)
    kit.equal(Web(running, token="wrong-wrong-wrong").get("/v1/stats").status, 401)
    ran = Web(running).run("echo hello")["id"]
    ended = lambda entries: any(entry.get("id") == ran and entry.get("status") == "ok" for entry in entries)
    entries = kit.eventually(lambda: (found := audit(running)) and ended(found) and found, "the run is not audited")
    events = {entry["event"] for entry in entries}
    kit.true({"denied", "token_used"} <= events, events)
    denied = next(entry for entry in entries if entry["event"] == "denied")
    kit.contains(json.dumps(denied), "unauthorized")
    for secret in (running.token, "wrong-wrong"):
        kit.true(secret not in json.dumps(entries), "a token is in the log")
    kit.equal(typed(running, "audit", "verify").code, 0)


def audit(running):
    return [json.loads(line) for line in typed(running, "audit", "--json", "-n", "1000").text.splitlines()]


kit.main()
