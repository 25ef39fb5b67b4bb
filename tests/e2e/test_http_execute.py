#!/usr/bin/python3
# tests/run: args=--as root | --as user
# tests/run: builds=release asan
# tests/run: asan=--as root
# tests/run: timeout=300
"""Executions over HTTP: whole, as events, cancelled, by curl and by a client in another language."""

import concurrent.futures
import json
import os
import signal
import subprocess
import sys
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
import web
from service import Service, box
from web import Web

HELLO = {"language": "bash", "code": "echo hello"}


def endless():
    """A request that does not end by itself, after a first line; and how long it sleeps, which tells it from others."""
    seconds = f"1000.{uuid.uuid4().int}"
    return {"language": "bash", "code": f"echo ready; sleep {seconds}", "timeout": 300}, seconds


# Whole


@kit.test
def a_result_is_the_same_from_every_door():
    running = Service(listen=True)
    request = {"language": "python", "code": "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"}
    answer = Web(running).post("/v1/execute", request)
    kit.equal(answer.headers["x-execution-id"], answer.json["id"])
    local = Web(running, unix=True).post("/v1/execute", request)
    with running.connect() as client:
        framed = client.request(request)[1]
    typed = kit.emberbox("run", "-l", "python", "--json", "-c", request["code"]).json
    for other in (local.json, framed, typed):
        kit.equal(set(other), set(answer.json))
        kit.equal(set(other["meta"]), set(answer.json["meta"]))
        for key in ("status", "exit_code", "stdout", "stderr", "error_message", "language", "files", "outputs"):
            kit.equal(other[key], answer.json[key], key)
        web.conforms(other, "/components/schemas/Result", "a result of another door")


@kit.test(timeout=60)
def everything_that_can_be_asked():
    running = Service(listen=True)
    asking = Web(running)
    code = ("import os, sys, json, helper\n"
            "open('/sandbox/output/made.txt', 'w').write('12345')\n"
            "print(json.dumps([sys.argv[1:], os.environ['WHO'], sys.stdin.read(), helper.twice(21), "
            "open('bin.dat', 'rb').read().hex()]))")
    limits = {"timeout": 7, "cpu_time": 5, "memory": "128m", "pids": 32, "disk": "16m", "max_output": "8k"}
    if asking.limits_cpu():
        limits["cpus"] = 1
    files = {"helper.py": "def twice(n): return 2 * n\n", "bin.dat": {"base64": "AP8="}}
    result = asking.run(code, "python", stdin="ünïcode\n", args=["a b", "$(id)", "'"], env={"WHO": "me\nand `id`"},
                        files=files, limits=limits)
    kit.equal(json.loads(result["stdout"]), [["a b", "$(id)", "'"], "me\nand `id`", "ünïcode\n", 42, "00ff"])
    kit.equal(result["files"], [{"path": "made.txt", "size": 5, "kept": True}])
    in_force = result["meta"]["resource_limits"]
    kit.equal({key: in_force[key] for key in limits}, {key: value for key, value in {
        "timeout": 7, "cpu_time": 5, "memory": 128 << 20, "cpus": 1, "pids": 32, "disk": 16 << 20,
        "max_output": 8 << 10}.items() if key in limits})
    kit.equal(asking.run("print(1)", "python", memory_limit=64)["meta"]["resource_limits"]["memory"], 64 << 20)
    kit.equal(asking.run("cat", stdin={"base64": "aGk="})["stdout"], "hi")
    kit.equal(asking.run("touch x || echo no", read_only=True)["stdout"], "no\n")
    kit.equal(asking.run("touch x && echo yes", read_only=False)["stdout"], "yes\n")
    kit.equal(asking.run("x" * 20000 + " 2>&1 | tr x y", network="none")["exit_code"], 0)


@kit.test(timeout=60)
def what_programs_do_is_200():
    running = Service(listen=True)
    asking = Web(running)
    for code, fields, status, more in (
        ("exit 7", {}, "failed", {"exit_code": 7}),
        ("kill -SEGV $$", {}, "failed", {"signal": "SIGSEGV"}),
        ("sleep 99", {"timeout": 0.3}, "timeout", {"timeout": True,
                                                   "error_message": "Code execution timed out after 0.3s"}),
        ("if then", {}, "failed", {}),
    ):
        result = asking.run(code, **fields)
        kit.equal((result["status"], result["success"]), (status, False), code)
        kit.equal({key: result[key] for key in more}, more, code)
    result = asking.run("print('x' * 100000)", "python", limits={"max_output": "1k"})
    kit.equal((result["truncated"], result["stdout_bytes"]), (True, 100001))
    kit.contains(result["stdout"], "left out")
    # Bytes that are no text.
    kit.equal(asking.run(r"printf 'a\xff\xfeb\000c'")["stdout"], "a\ufffd\ufffdb\0c")
    if not asking.limits_cpu():
        result = asking.run("echo", limits={"cpus": 1})
        kit.equal((result["status"], result["exit_code"]), ("error", 125))
    known = {language["name"]: language for language in asking.get("/v1/languages").json}
    missing = [name for name, language in known.items() if not language["available"] and not language["broken"]]
    for name in missing[:2]:
        answer = asking.post("/v1/execute", {"language": name, "code": "1"})
        kit.equal(answer.error, (422, "not_installed", "language"), name)
        kit.contains(answer.message, known[name]["install"])


# Events


@kit.test
def output_comes_while_the_program_runs():
    """The program never ends by itself: what was read, was read while it ran."""
    running = Service(listen=True)
    asking = Web(running)
    request, seconds = endless()
    with asking.connect() as wire:
        answer = wire.stream("/v1/execute", request, {"X-Request-Id": "live-1"})
        kit.equal((answer.headers["cache-control"], answer.headers["x-request-id"]), ("no-cache", "live-1"))
        kit.equal(wire.event(), ("start", {"id": answer.headers["x-execution-id"]}))
        kit.equal(wire.event(), ("stdout", {"text": "ready\n"}))
        watch = box(running, seconds)
        shown = asking.get(f"/v1/executions/{answer.headers['x-execution-id']}").json
        kit.equal((shown["status"], shown["exit_code"], shown["request_id"]), ("running", None, "live-1"))
        kit.equal(asking.get("/v1/executions?status=running").json["executions"][0]["id"], shown["id"])
        cancelled = asking.request("DELETE", f"/v1/executions/{shown['id']}")
        kit.equal((cancelled.status, cancelled.json), (202, {"id": shown["id"], "status": "cancelling"}))
        rest = list(wire.events())
        kit.equal([name for name, _ in rest], ["result"])
        kit.equal((rest[0][1]["status"], rest[0][1]["stdout"], rest[0][1]["error_message"]),
                  ("killed", "ready\n", "Execution was cancelled"))
        kit.equal(watch.survivors(), [])
        # The connection carries the next one.
        kit.equal(wire.post("/v1/execute", HELLO).json["stdout"], "hello\n")
    kit.equal(asking.get(f"/v1/executions/{shown['id']}").json["status"], "killed")
    kit.equal(asking.request("DELETE", f"/v1/executions/{shown['id']}").error, (409, "not_running", None))
    kit.equal(asking.request("DELETE", "/v1/executions/nonesuch").error[:2], (404, "not_found"))


@kit.test
def streams_are_kept_apart_and_in_order():
    running = Service(listen=True)
    code = "import sys\nfor i in range(500):\n print(i, flush=True)\n print(-i, file=sys.stderr, flush=True)\n"
    with Web(running).connect() as wire:
        wire.stream("/v1/execute", {"language": "python", "code": code})
        events = list(wire.events())
        for name, sign in (("stdout", 1), ("stderr", -1)):
            want = "".join(f"{sign * i}\n" for i in range(500))
            kit.equal("".join(data["text"] for found, data in events if found == name), want)
            kit.equal(events[-1][1][name], want)
        kit.equal([events[0][0], events[-1][0]], ["start", "result"])
        # "stream": true asks for the same.
        wire.send("POST", "/v1/execute", dict(HELLO, stream=True))
        answer = wire.answer()
        kit.equal(answer.headers["content-type"], "text/event-stream")
        kit.contains(answer.text, 'event: stdout\ndata: {"text":"hello\\n"}\n\n')
        # Who takes either gets events; who takes others gets the result.
        for accept, kind in (("application/json, text/event-stream", "text/event-stream"), ("*/*", "application/json"),
                             ("application/json", "application/json")):
            kit.equal(wire.post("/v1/execute", HELLO, {"Accept": accept}).headers["content-type"], kind, accept)


@kit.test
def characters_are_not_cut():
    """A character whose bytes are written one by one is one character, and what is none is U+FFFD."""
    running = Service(listen=True)
    code = ("import sys\n"
            "for byte in 'ä€🔥'.encode() + b'\\xff' + '𝄞'.encode()[:3]:\n"
            "    sys.stdout.buffer.write(bytes([byte])); sys.stdout.buffer.flush()\n")
    with Web(running).connect() as wire:
        wire.stream("/v1/execute", {"language": "python", "code": code})
        events = list(wire.events())
        text = "".join(data["text"] for name, data in events if name == "stdout")
        kit.equal(text.rstrip("\ufffd"), "ä€🔥")
        kit.true(text.endswith("\ufffd\ufffd"), repr(text))
        kit.equal(events[-1][1]["stdout_bytes"], 2 + 3 + 4 + 1 + 3)


@kit.test
def newlines_and_markers_of_events_are_data():
    running = Service(listen=True)
    text = "event: result\ndata: {}\n\n: ping\r\n\r\nid: 1\nretry: 1\n\n\n"
    with Web(running).connect() as wire:
        wire.stream("/v1/execute", {"language": "bash", "code": "cat", "stdin": text})
        events = list(wire.events())
        kit.equal([name for name, _ in events if name not in ("stdout",)], ["start", "result"])
        kit.equal("".join(data["text"] for name, data in events if name == "stdout"), text)


@kit.test
def a_refusal_is_no_stream():
    running = Service(listen=True)
    with Web(running).connect() as wire:
        for request, error in (({"language": "nonesuch", "code": "1"}, (400, "unknown_language", "language")),
                               (dict(HELLO, timeout=-1), (400, "bad_request", "timeout"))):
            kit.equal(wire.stream("/v1/execute", request).error, error)


@kit.test
def an_idle_stream_shows_signs_of_life():
    """A comment every 15 seconds: proxies and clients that give up on silence do not."""
    running = Service(listen=True)
    request, _ = endless()
    with Web(running).connect() as wire:
        wire.stream("/v1/execute", request)
        kit.equal([wire.event()[0] for _ in range(2)], ["start", "stdout"])
        name, text = wire.event()
        kit.equal((name, text[:1]), (None, ":"))


@kit.test
def a_program_that_asks_is_answered():
    running = Service(listen=True)
    client = Web(running)
    ask = {"language": "python", "code": "import sys\nsys.stdout.write('Hello, %s\\n' % input('Who? '))\nsys.stdout.flush()\nprint(repr(sys.stdin.read()))\n", "input": "stream"}
    for _ in range(2):
        with client.connect() as wire:
            wire.stream("/v1/execute", ask)
            path = f"/v1/executions/{wire.until('start')['id']}/input"
            kit.equal(wire.until("stdout"), {"text": "Who? "})
            # Nobody else may answer for it, not even one who may end it; and what is wrong is said.
            kit.equal(Web(running, unix=True).post(path, {"data": "another\n"}).error, (404, "not_found", "id"))
            kit.equal(client.post(path, {}).error, (400, "bad_request", "data"))
            kit.equal(client.post(path, {"data": "x", "end": True}).error, (400, "bad_request", "end"))
            kit.equal(client.post(path, {"data": "émile\n"}).json, {})
            kit.equal(wire.until("stdout")["text"].strip(), "Hello, émile")
            kit.equal(client.post(path, {"data": "rest", "eof": True}).json, {})
            kit.equal(client.post(path, {"data": "late"}).error[:2], (404, "not_found"))
            result = wire.until("result")
            kit.equal((result["status"], result["stdout"]), ("ok", "Who? Hello, émile\n'rest'\n"))
        kit.equal(client.post(path, {"data": "late"}).error, (404, "not_found", "id"))
    # A session's cell is not reached by this path, nor a program whose input came with it.
    with client.connect() as wire:
        request, _ = endless()
        wire.stream("/v1/execute", request)
        ident = wire.until("start")["id"]
        kit.equal(client.post(f"/v1/executions/{ident}/input", {"data": "x"}).error, (404, "not_found", "id"))
        kit.equal(client.request("DELETE", f"/v1/executions/{ident}").status, 202)
        kit.equal(wire.until("result")["status"], "killed")


@kit.test
def input_that_is_not_read_is_bounded():
    client = Web(Service(listen=True))
    with client.connect() as wire:
        wire.stream("/v1/execute", {"language": "bash", "code": "read -r go; wc -c", "input": "stream"})
        path = f"/v1/executions/{wire.until('start')['id']}/input"
        piece, sent = "x" * (400 << 10), 0
        while (answer := client.post(path, {"data": piece})).status == 200:
            sent += len(piece)
            kit.true(sent < 4 << 20, "it takes all that comes")
        kit.equal(answer.error, (429, "busy", "data"))
        # What was taken is not lost.
        kit.equal(client.post(path, {"data": "\n", "eof": True}).status, 200)
        kit.equal(wire.until("result")["stdout"], "0\n")


# The end of runs


@kit.test
def a_client_that_leaves_ends_its_run():
    """A15, for answers of both kinds and both ways in."""
    running = Service(listen=True)
    for unix in (False, True):
        for stream in (False, True):
            request, seconds = endless()
            wire = Web(running, unix=unix).connect()
            wire.send("POST", "/v1/execute", dict(request, stream=stream))
            watch = box(running, seconds)
            wire.close()
            kit.equal(watch.survivors(), [], f"unix={unix}, stream={stream}")
    # Also one that had asked for more already.
    request, seconds = endless()
    wire = Web(running).connect()
    wire.send("POST", "/v1/execute", request)
    wire.send("GET", "/v1/health")
    watch = box(running, seconds)
    wire.close()
    kit.equal(watch.survivors(), [])
    kit.equal(Web(running).run("echo on")["stdout"], "on\n")
    shown = kit.eventually(lambda: [row for row in Web(running).get("/v1/executions").json["executions"]
                                    if row["status"] == "killed"][4:], "the five are not in the history")
    kit.equal(len(shown), 1)


@kit.test
def a_run_that_waits_for_its_turn_can_be_cancelled():
    running = Service("--max-running", "1", listen=True)
    asking = Web(running)
    first, seconds = endless()
    with asking.connect() as one, asking.connect() as two, asking.connect() as three:
        one.stream("/v1/execute", first)
        one.until("stdout")
        watch = box(running, seconds)
        # The head of its answer comes at once, with the id that it will have.
        waiting = two.stream("/v1/execute", HELLO).headers["x-execution-id"]
        kit.equal(asking.request("DELETE", f"/v1/executions/{waiting}").status, 202)
        events = list(two.events())
        kit.equal([name for name, _ in events], ["error"])
        kit.equal(events[0][1]["error"]["code"], "cancelled")
        three.stream("/v1/execute", HELLO)
        one.close()
        kit.equal(watch.survivors(), [])
        kit.equal(three.until("result")["stdout"], "hello\n")


@kit.test(timeout=60)
def a_killed_keeper_is_told_to_those_who_wait():
    running = Service(listen=True)
    asking = Web(running)
    request, seconds = endless()
    whole, whole_seconds = endless()
    with asking.connect() as wire, asking.connect() as other:
        started = wire.stream("/v1/execute", request).headers["x-execution-id"]
        wire.until("stdout")
        other.send("POST", "/v1/execute", whole)
        box(running, whole_seconds)
        watch = kit.Watch(kit.descendants(running.role("keeper")))
        os.kill(running.role("keeper"), signal.SIGKILL)
        events = list(wire.events())
        kit.equal([name for name, _ in events], ["error"])
        kit.equal(events[0][1]["error"]["message"], "the keeper ended while this ran; it is being restarted")
        answer = other.answer()
        kit.equal((answer.status, answer.headers["retry-after"]), (503, "1"))
        kit.equal(watch.survivors(), [])
        running.heard(r"the keeper was ended by SIGKILL; restarted\n")
        kit.equal(other.post("/v1/execute", HELLO).json["stdout"], "hello\n")
        kit.equal(asking.get(f"/v1/executions/{started}").json["status"], "interrupted")


@kit.test(timeout=90)
def nobody_gets_the_answer_of_another():
    running = Service("--max-running", "2", listen=True)

    def ask(number):
        wrong = []
        with Web(running, unix=number % 2 == 0, timeout=80).connect() as wire:
            for turn in range(20):
                name = uuid.uuid4().hex
                request = {"language": "bash", "code": f"echo {name}; echo {name} >&2"}
                headers = {"X-Request-Id": name}
                if turn % 2:
                    answer = wire.stream("/v1/execute", request, headers)
                    result = wire.until("result")
                    list(wire.events())
                else:
                    answer = wire.post("/v1/execute", request, headers)
                    result = answer.json
                seen = (result["stdout"], result["stderr"], answer.headers["x-request-id"])
                if seen != (f"{name}\n", f"{name}\n", name):
                    wrong.append(result)
                if turn % 5 == 0:
                    shown = wire.get(f"/v1/executions/{result['id']}").json
                    if (shown["request_id"], shown["stdout"]) != (name, f"{name}\n"):
                        wrong.append(shown)
        return wrong

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        kit.equal([wrong for wrongs in pool.map(ask, range(6)) for wrong in wrongs], [])


# curl


def curl(running, *words, unix=False, stdin=None):
    """Over the socket, or with the token."""
    where = ["--unix-socket", running.path] if unix else ["-H", f"Authorization: Bearer {running.token}"]
    return kit.command(["curl", "-sS", "--max-time", "20", *where, *words], stdin=stdin)


def url(running, path, unix=False):
    return f"http://localhost{path}" if unix else f"http://127.0.0.1:{running.address[1]}{path}"


@kit.test(timeout=60)
def curl_can_do_all_of_it():
    running = Service(listen=True)
    body = json.dumps(HELLO)
    for unix in (False, True):
        at = lambda path: url(running, path, unix)
        done = curl(running, "-d", body, at("/v1/execute"), unix=unix)
        kit.equal(done.json["stdout"], "hello\n", done)
        ran = done.json["id"]
        # Chunks, from a pipe.
        done = curl(running, "-H", "Transfer-Encoding: chunked", "-d", "@-", at("/v1/execute"), unix=unix,
                    stdin=body.encode())
        kit.equal(done.json["stdout"], "hello\n", done)
        # A large body, before which curl asks with Expect.
        big = json.dumps({"language": "bash", "code": "wc -c", "stdin": "x" * 3000000}).encode()
        done = curl(running, "-H", "Expect: 100-continue", "--data-binary", "@-", at("/v1/execute"), unix=unix,
                    stdin=big)
        kit.equal(done.json["stdout"].strip(), "3000000", done)
        for path in ("/v1/health", "/v1/languages", "/v1/doctor", "/v1/executions", f"/v1/executions/{ran}",
                     "/v1/stats", "/containers", "/containers/status"):
            done = curl(running, "-w", "%{stderr}%{http_code} %{content_type}", at(path), unix=unix)
            kit.equal(done.errtext, "200 application/json", path)
            kit.true(done.json is not None, path)
        done = curl(running, "-N", "-H", "Accept: text/event-stream", "-d", body, at("/v1/execute"), unix=unix)
        kit.equal([line for line in done.text.split("\n") if line.startswith("event: ")],
                  ["event: start", "event: stdout", "event: result"])
        done = curl(running, "-r", "1-3", at(f"/v1/executions/{ran}/stdout"), unix=unix)
        kit.equal(done.text, "ell")
        done = curl(running, "-I", at("/v1/health"), unix=unix)
        kit.matches(done.text, r"^HTTP/1\.1 200 OK\r\n")
        code = ("-o", "/dev/null", "-w", "%{http_code}")
        done = curl(running, *code, "-X", "DELETE", at(f"/v1/executions/{ran}"), unix=unix)
        kit.equal(done.text, "409")
        done = curl(running, "--http2", *code, at("/v1/health"), unix=unix)
        kit.equal(done.text, "200")
    # With a body that is refused, curl still shows why.
    kit.write(os.path.join(running.home, "large"), b" " * ((64 << 20) + 1))
    large = "@" + os.path.join(running.home, "large")
    done = curl(running, "-H", "Expect:", "--data-binary", large, url(running, "/v1/execute"))
    kit.equal(json.loads(done.text)["error"]["code"], "too_large", done)


@kit.test
def curl_shows_events_as_they_come():
    running = Service(listen=True)
    request, seconds = endless()
    process = kit.start(["curl", "-sSN", "-H", f"Authorization: Bearer {running.token}",
                         "-H", "Accept: text/event-stream", "-d", json.dumps(request), url(running, "/v1/execute")])
    lines = []
    while not lines or not lines[-1].startswith(b'data: {"text"'):  # the alarm ends this
        lines.append(process.stdout.readline())
    kit.equal(lines[-1], b'data: {"text":"ready\\n"}\n')
    watch = box(running, seconds)
    process.terminate()
    kit.equal(watch.survivors(), [])


# Node


def node(running, command, request):
    script = kit.write(os.path.join(kit.tmp(), "fetch_client.mjs"), FETCH)
    return kit.start(["node", script, command], stdin=subprocess.PIPE,
                     env={"SERVICE": f"http://127.0.0.1:{running.address[1]}", "TOKEN": running.token,
                          "REQUEST": request if isinstance(request, str) else json.dumps(request)})


with open(os.path.join(kit.REPO, "tests", "lib", "fetch_client.mjs"), "rb") as _file:
    FETCH = _file.read()


@kit.test(timeout=60)
def another_language_can_do_it():
    running = Service(listen=True)
    seen = kit.finish(node(running, "run", HELLO)).json
    kit.equal((seen["status"], seen["body"]["stdout"], seen["id"]), (200, "hello\n", seen["body"]["id"]))
    web.conforms(seen["body"], "/components/schemas/Result", "as fetch got it")
    kit.equal(kit.finish(node(running, "range", seen["id"])).json,
              [[206, "bytes 0-3/6", "hell"], [206, "bytes 1-5/6", "ello\n"],
               [416, "bytes */6", '{"error":{"code":"range_not_satisfiable","message":"Range: there are no such bytes; '
                'there are 6","field":"Range"}}\n']])
    seen = kit.finish(node(running, "upload", {"language": "bash", "code": "wc -m", "stdin": "ä" * 5000})).json
    kit.equal((seen["status"], seen["body"]["stdout"].strip()), (200, "5000"))
    seen = kit.finish(node(running, "run", {"language": "bash", "code": 5})).json
    kit.equal((seen["status"], seen["body"]["error"]["field"]), (400, "code"))


@kit.test(timeout=60)
def another_language_reads_events_as_they_come():
    running = Service(listen=True)
    request, seconds = endless()
    process = node(running, "stream", request)
    kit.equal(json.loads(process.stdout.readline()), {"status": 200, "type": "text/event-stream"})
    started = json.loads(process.stdout.readline())
    kit.equal(started["name"], "start")
    kit.equal(json.loads(process.stdout.readline()), {"name": "stdout", "data": {"text": "ready\n"}})
    box(running, seconds)
    kit.equal(Web(running).request("DELETE", f"/v1/executions/{started['data']['id']}").status, 202)
    last = json.loads(process.stdout.readline())
    kit.equal((last["name"], last["data"]["status"]), ("result", "killed"))
    kit.equal(kit.finish(process).code, 0)


@kit.test(timeout=60)
def another_language_aborts_and_the_run_ends():
    running = Service(listen=True)
    request, seconds = endless()
    process = node(running, "abort", request)
    kit.equal([json.loads(process.stdout.readline())["name"] for _ in range(2)], ["start", "stdout"])
    watch = box(running, seconds)
    process.stdin.write(b"go on\n")
    process.stdin.flush()
    kit.equal(json.loads(process.stdout.readline()), {"name": "AbortError"})
    kit.equal(watch.survivors(), [])
    kit.equal(kit.finish(process).code, 0)


kit.main()
