#!/usr/bin/python3
# tests/run: args=--as root | --as user
# tests/run: builds=release asan
# tests/run: asan=--as root
# tests/run: timeout=600
"""Sessions over HTTP and frames: state from cell to cell, limits that keep it, what ends it, and whose it is.

What drivers make of cells (values, errors, completion) is in tests of their own; here a session's Python is any that
shows the value of a last expression as text/plain."""

import base64
import json
import os
import resource
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from service import Service
from web import Web

KEPT = {"state": "kept", "reason": None}


class Session:
    """One session, and short words for what is asked of it."""

    def __init__(self, web, language="python", **fields):
        self.web = web
        answer = web.post("/v1/sessions", {"language": language, **fields})
        kit.equal(answer.status, 201, answer.body[:300])
        self.made = answer.json
        self.id = answer.json["id"]
        self.path = f"/v1/sessions/{self.id}"

    def ask(self, what, fields=None, method="POST"):
        return self.web.request(method, f"{self.path}{what}", fields)

    def cell(self, code, **fields):
        answer = self.ask("/execute", {"code": code, **fields})
        kit.equal(answer.status, 200, answer.body[:300])
        return answer.json

    def value(self, code, **fields):
        """The text of the cell's last expression."""
        done = self.cell(code, **fields)
        kit.equal((done["status"], done["error_message"]), ("ok", None))
        return done["outputs"][-1]["text/plain"]

    def state(self):
        return self.ask("", method="GET").json


def lost(done, reason, number):
    """The cell has lost its session, for that reason."""
    kit.equal({**done["session"], "id": None}, {"id": None, "state": "lost", "reason": reason, "cells": number})


def kept(done):
    kit.equal({key: done["session"][key] for key in KEPT}, KEPT)


def warmed():
    """A service whose next Python session is warm."""
    running = Service(listen=True)
    web = Web(running)
    for _ in range(100):
        session = Session(web)
        session.ask("", method="DELETE")
        if session.made["start"] == "warm":
            return running, web
        time.sleep(0.05)  # until the zygote is up, which nobody is told of
    kit.fail("no session was warm")


# State


@kit.test
def cells_share_their_state():
    _, web = warmed()
    session = Session(web, name="mine", ttl=100, idle_ttl=50)
    made = session.made
    kit.equal((made["name"], made["status"], made["ttl"], made["idle_ttl"], made["cells"], made["reason"]),
              ("mine", "idle", 100, 50, 0, None))
    kit.equal(made["memory_limit"], 512 << 20)
    first = session.cell("import os\nx = 41\nos.chdir('/tmp')\nfile = open('kept', 'w')")
    kit.equal((first["status"], first["outputs"], first["stdout"], first["language"]), ("ok", [], "", "python"))
    kit.equal(first["session"], {"id": session.id, "state": "kept", "reason": None, "cells": 1})
    kit.equal(first["meta"]["isolation"], made["isolation"])
    kit.equal(session.value("x + 1"), "42")
    kit.equal(session.value("file.write('z'), file.close(), open('kept').read(), os.getcwd()"),
              "(1, None, 'z', '/tmp')")
    listed = web.get("/v1/sessions").json["sessions"]
    kit.equal([(item["id"], item["cells"], item["status"]) for item in listed if item["status"] != "ended"],
              [(session.id, 3, "idle")])
    kit.equal([(cell["count"], cell["code"], cell["status"]) for cell in session.ask("/cells", method="GET").json["cells"]][1],
              (2, "x + 1", "ok"))


@kit.test
def a_cold_session_is_the_same():
    running = Service("--embers", "0", listen=True)
    session = Session(Web(running))
    kit.equal(session.made["start"], "cold")
    kept(session.cell("x = 41"))
    kit.equal(session.value("x + 1"), "42")
    kit.equal(session.value("import os; os.getpid(), os.getsid(0) == os.getpid(), os.getcwd()"),
              "(2, True, '/sandbox/code')")
    late = session.cell("while True: pass", timeout=0.3)
    kit.equal(late["status"], "timeout")
    kept(late)
    kit.equal(session.value("x"), "41")


@kit.test
def output_is_whole_and_bounded():
    _, web = warmed()
    session = Session(web)
    done = session.cell("import sys\nfor i in range(3000):\n  print(i)\nprint('no', file=sys.stderr)", max_output="1m")
    kit.equal((done["stdout"], done["stderr"]), ("".join(f"{i}\n" for i in range(3000)), "no\n"))
    done = session.cell("print('x' * 99999)")
    kit.equal((done["stdout_bytes"], done["truncated"], done["stdout"][:5]), (100000, True, "xxxxx"))
    kit.equal(web.get(f"/v1/executions/{done['id']}/stdout").body, b"x" * 99999 + b"\n")
    # Of what comes between two cells the next one tells.
    session.cell("import subprocess\np = subprocess.Popen(['sh', '-c', 'read x; echo between'], stdin=subprocess.PIPE)")
    kit.equal(session.cell("p.stdin.write(b'go\\n'); p.stdin.close(); p.wait()")["stdout"], "between\n")


@kit.test
def files_are_those_that_changed():
    _, web = warmed()
    session = Session(web, files={"given.txt": "there"}, env={"GREETING": "hello"})
    kit.equal(session.value("import os; open('given.txt').read() + os.environ['GREETING']"), "'therehello'")
    done = session.cell("open('/sandbox/output/a.txt', 'w').write('1'); import time; time.sleep(0.05)")
    kit.equal([(file["path"], file["size"]) for file in done["files"]], [("a.txt", 1)])
    kit.equal(web.get(f"/v1/executions/{done['id']}/files/a.txt").body, b"1")
    done = session.cell("open('/sandbox/output/b.txt', 'w').write('22'); time.sleep(0.05)")
    kit.equal([(file["path"], file["size"]) for file in done["files"]], [("b.txt", 2)])
    kit.equal(session.cell("1")["files"], [])


@kit.test
def input_is_none_whole_or_a_stream():
    _, web = warmed()
    session = Session(web)
    kit.equal(session.value("import sys; sys.stdin.read()"), "''")
    kit.equal(session.value("sys.stdin.read()", stdin="one\ntwo"), "'one\\ntwo'")
    for _ in range(2):
        with web.connect() as wire:
            wire.stream(f"{session.path}/execute", {"code": "sys.stdout.write(input('? ')); sys.stdin.read()", "input": "stream"})
            kit.equal(wire.until("stdout"), {"text": "? "})
            kit.equal(session.ask("/input", {"data": "answer\n"}).status, 200)
            kit.equal(wire.until("stdout"), {"text": "answer"})
            kit.equal(session.ask("/input", {"data": "rest", "eof": True}).status, 200)
            kit.equal(wire.until("result")["outputs"][-1]["text/plain"], "'rest'")
    kit.equal(session.ask("/input", {"data": "late"}).error, (404, "not_found", "id"))


@kit.test
def by_execute_and_by_frames():
    running, web = warmed()
    session = Session(Web(running, unix=True))
    with running.connect() as client:
        kit.equal(client.request({"session": session.id, "code": "x = 20"})[1]["session"]["cells"], 1)
        frames, done = client.request({"session": session.id, "code": "import sys; _ = sys.stdout.write('20\\n'); x + 1"}, stream=True)
        kit.equal([kind for kind, _ in frames], ["S", "1", "J"])
        kit.equal((done["stdout"], done["outputs"][-1]["text/plain"]), ("20\n", "21"))
        _, refused = client.request({"session": "0" * 26, "code": "1"})
        kit.equal((refused["error"]["code"], refused["error"]["field"]), ("bad_request", "session"))
    answer = Web(running, unix=True).post("/v1/execute", {"session": session.id, "code": "x + 2"})
    kit.equal(answer.json["outputs"][-1]["text/plain"], "22")


@kit.test
def by_the_command_line():
    running, _ = warmed()
    env = {"EMBERBOX_HOME": running.home, "EMBERBOX_SERVICE": "auto"}
    # Of the very user that runs the command: over the socket that is who a session belongs to.
    made = kit.command(["curl", "-s", "--unix-socket", running.path, "http://localhost/v1/sessions", "-d",
                        '{"language": "python"}'])
    session = json.loads(made.out)["id"]
    told = kit.emberbox("run", "--session", session, "-c", "x = 20", env=env)
    kit.equal((told.code, told.out, told.err), (0, b"", b""))
    told = kit.emberbox("run", "--session", session, "-c", "print(x); x + 3", env=env, stdin=b"")
    kit.equal((told.code, told.out, told.err), (0, b"20\n23\n", b""))
    told = kit.emberbox("run", "--session", session, "-c", "1 / 0", env=env)
    kit.equal(told.code, 1)
    kit.contains(told.err.decode(), "ZeroDivisionError: division by zero")
    told = kit.emberbox("run", "--session", session, "-c", "1", "--memory", "64m", env=env)
    kit.equal(told.code, 2)
    kit.contains(told.err.decode(), "--memory: the session has it since its start; leave it out")
    told = kit.emberbox("run", "--session", session, "-c", "input() + '!'", stdin=b"hello\n", env=env)
    kit.equal((told.code, told.out), (0, b"'hello!'\n"))
    told = kit.emberbox("run", "--session", "0" * 26, "-c", "1", env=env)
    kit.equal(told.code, 2)
    kit.contains(told.err.decode(), "there is no session")
    told = kit.emberbox("run", "--session", session, "-c", "1", env={"EMBERBOX_HOME": kit.tmp(), "EMBERBOX_SERVICE": "auto"})
    kit.equal(told.code, 2)
    kit.contains(told.err.decode(), "no service is running")


@kit.test
def it_is_written_down():
    running, web = warmed()
    session = Session(web)
    done = session.cell("1 / 0")
    kit.equal((done["status"], done["exit_code"], done["error"]["type"], done["error_message"]),
              ("failed", 1, "ZeroDivisionError", "Execution failed: ZeroDivisionError: division by zero"))
    past = web.get(f"/v1/executions/{done['id']}").json
    kit.equal((past["place"], past["status"], past["language"], past["session"]),
              (session.id, "failed", "python", done["session"]))
    session.ask("", method="DELETE")

    def events():
        told = kit.emberbox("audit", "--count", "100", "--json", env={"EMBERBOX_HOME": running.home})
        found = [json.loads(line) for line in told.out.splitlines() if session.id.encode() in line]
        return {(event["event"], event.get("reason")) for event in found}

    kit.eventually(lambda: {("session_started", None), ("session_ended", "it was ended")} <= events(),
                   "the audit log does not tell of it")


# Control


@kit.test
def time_limits_keep_the_session():
    _, web = warmed()
    session = Session(web)
    session.cell("x = 1")
    done = session.cell("while True: pass", timeout=0.3)
    kit.equal((done["status"], done["timeout"], done["exit_code"], done["signal"], done["error_message"]),
              ("timeout", True, 124, None, "Code execution timed out after 0.3s"))
    kept(done)
    done = session.cell("import subprocess; subprocess.run(['sleep', '100'])", timeout=0.3)
    kit.equal((done["status"], done["session"]["state"]), ("timeout", "kept"))
    done = session.cell("while True: pass", cpu_time=0.2, timeout=20)
    kit.equal((done["status"], done["meta"]["limit"], done["error_message"]),
              ("timeout", "cpu_time", "Code execution timed out after 0.2s of CPU time"))
    kept(done)
    kit.true(0.15 < done["cpu_time"] < 3, f"it used {done['cpu_time']} s of CPU time")
    kit.equal(session.value("x"), "1")


@kit.test
def interrupt_comes_from_another_connection():
    _, web = warmed()
    session = Session(web)
    kit.equal(session.ask("/interrupt").json, {"id": session.id, "interrupted": False})
    with web.connect() as wire:
        wire.stream(f"{session.path}/execute", {"code": "x = 5; print('on', end='', flush=True)\nwhile True: pass"})
        kit.equal(wire.until("stdout"), {"text": "on"})
        kit.equal(session.state()["status"], "busy")
        kit.equal(session.ask("/interrupt").json, {"id": session.id, "interrupted": True})
        done = wire.until("result")
    kit.equal((done["status"], done["exit_code"], done["error"]["type"]), ("failed", 130, "KeyboardInterrupt"))
    kept(done)
    kit.equal(session.value("x"), "5")


@kit.test
def who_goes_away_interrupts():
    _, web = warmed()
    session = Session(web)
    with web.connect() as wire:
        wire.stream(f"{session.path}/execute", {"code": "x = 6; print('on', end='', flush=True)\nwhile True: pass"})
        kit.equal(wire.until("stdout"), {"text": "on"})
    kit.equal(session.value("x"), "6")
    kit.equal(session.ask("/cells", method="GET").json["cells"][0]["status"], "killed")


@kit.test
def cells_wait_for_their_turn():
    _, web = warmed()
    session = Session(web)
    session.cell("order = []")
    threads = [threading.Thread(target=session.cell, args=(f"order.append({i}); import time; time.sleep(0.02)",))
               for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kit.equal(session.value("sorted(order), len(order)"), "([0, 1, 2, 3, 4, 5, 6, 7], 8)")
    with web.connect() as wire:
        wire.stream(f"{session.path}/execute", {"code": "print('on', flush=True)\nwhile True: pass", "timeout": 20})
        wire.until("stdout")
        kit.equal(session.ask("/complete", {"code": "x", "cursor": 1}).error, (429, "busy", None))
        session.ask("/interrupt")
        wire.until("result")


@kit.test
def restart_forgets():
    _, web = warmed()
    session = Session(web, files={"given": "1"})
    session.cell("x = 1; open('made', 'w')")
    again = session.ask("/restart")
    kit.equal((again.status, again.json["id"], again.json["cells"], again.json["status"]), (200, session.id, 0, "idle"))
    kit.equal(session.value("import os; 'x' in globals(), sorted(os.listdir())"), "(False, ['given'])")
    session.cell("import os; os._exit(3)")
    kit.equal(session.state()["reason"], "its driver ended with exit code 3")
    kit.equal(session.ask("/restart").json["status"], "idle")
    kit.equal(session.value("1"), "1")
    kit.equal(len([item for item in web.get("/v1/sessions").json["sessions"] if item["id"] == session.id]), 1)


@kit.test
def times_to_live():
    _, web = warmed()
    idle, old = Session(web, idle_ttl=1), Session(web, ttl=1)
    busy = Session(web, idle_ttl=1)
    kept(busy.cell("import time; time.sleep(1.5)"))
    kit.eventually(lambda: old.state()["status"] == "ended", "its time is over")
    kit.eventually(lambda: idle.state()["status"] == "ended", "nobody used it")
    kit.equal((idle.state()["reason"], old.state()["reason"]),
              ("it was not used for 1s", "its time to live of 1s was over"))
    kit.equal(idle.ask("/execute", {"code": "1"}).error, (404, "not_found", "session"))
    kit.contains(idle.ask("/execute", {"code": "1"}).message, "has ended: it was not used for 1s")
    kit.eventually(lambda: busy.state()["status"] == "ended", "it has not been used since")


@kit.test
def delete_ends_what_runs():
    _, web = warmed()
    session = Session(web)
    with web.connect() as wire:
        wire.stream(f"{session.path}/execute", {"code": "print('on', flush=True)\nwhile True: pass"})
        wire.until("stdout")
        kit.equal(session.ask("", method="DELETE").json, {"id": session.id, "status": "ended"})
        done = wire.until("result")
    kit.equal((done["status"], done["error_message"]), ("killed", "The session ended while this ran: it was ended"))
    lost(done, "it was ended", 1)
    kit.equal(session.ask("", method="DELETE").json, {"id": session.id, "status": "ended"})


@kit.test
def it_survives_the_front_but_not_the_keeper():
    running, web = warmed()
    session = Session(web)
    session.cell("x = 7")
    os.kill(running.role("front"), signal.SIGKILL)
    running.heard("the front was ended by SIGKILL; restarted")

    def alive():
        try:
            return session.value("x") == "7"
        except Exception:  # until the new one listens
            return False

    kit.eventually(alive, "the session is gone")
    os.kill(running.role("keeper"), signal.SIGKILL)
    running.heard("the keeper was ended by SIGKILL; restarted")
    kit.eventually(lambda: session.ask("", method="GET").status == 404, "the session is there")


@kit.test
def the_end_of_the_service_ends_sessions():
    running, web = warmed()
    session = Session(web)
    session.cell("import subprocess; p = subprocess.Popen(['sleep', '1000'])")
    watch = kit.Watch(kit.descendants(running.role("keeper")))
    kit.equal(running.stop().code, 0)
    kit.equal(watch.survivors(), [])


# Whose it is


@kit.test
def others_do_not_see_it():
    running, web = warmed()
    texts = [kit.emberbox("token", "add", name, "--scope", "execute", env={"EMBERBOX_HOME": running.home}).text
             for name in ("one", "two")]
    one, two = (Web(running, token=next(word for word in text.split() if word.startswith("ebt_"))) for text in texts)
    kit.eventually(lambda: two.get("/v1/languages").status == 200, "the token is not known")
    mine = Session(one)
    mine.cell("x = 1")
    for method, what, fields in (
        ("GET", "", None), ("DELETE", "", None), ("GET", "/cells", None), ("POST", "/interrupt", {}),
        ("POST", "/restart", {}), ("POST", "/execute", {"code": "x"}), ("POST", "/complete", {"code": "x", "cursor": 1}),
        ("POST", "/inspect", {"code": "x", "cursor": 1}), ("POST", "/input", {"data": "x"}),
    ):
        answer = two.request(method, mine.path + what, fields)
        kit.equal(answer.error[:2], (404, "not_found"), f"{method} {what}")
    kit.equal(two.get("/v1/sessions").json, {"sessions": []})
    kit.equal(two.post("/v1/execute", {"session": mine.id, "code": "x"}).error, (404, "not_found", "session"))
    kit.equal(mine.value("x"), "1")
    # Who sees everybody's is told whose it is, and not that it is not there.
    every = Web(running)
    kit.equal([(each["id"], each["caller"]) for each in every.get("/v1/sessions").json["sessions"] if each["status"] != "ended"],
              [(mine.id, "one")])
    for path, fields in ((f"{mine.path}/execute", {"code": "x"}), ("/v1/execute", {"session": mine.id, "code": "x"})):
        answer = every.post(path, fields)
        kit.equal(answer.error, (403, "forbidden_scope", None))
        kit.equal(answer.message, 'session: it belongs to the caller "one", and only that caller can run cells in it; you can see, '
                  "interrupt, restart and end it")
    unknown = mine.id[:-1] + ("1" if mine.id.endswith("0") else "0")
    kit.equal(every.post("/v1/execute", {"session": unknown, "code": "x"}).error, (404, "not_found", "session"))
    # Nor does what runs in another one.
    other = Session(two)
    other.cell("open('/tmp/secret', 'w').write('x'); import os, time; os.environ['SECRET'] = 'x'")
    kit.equal(mine.value("import os; os.path.exists('/tmp/secret'), 'SECRET' in os.environ, "
                         "sorted(n for n in os.listdir('/proc') if n.isdigit())"), "(False, False, ['1', '2'])")
    kit.emberbox("token", "remove", "one", env={"EMBERBOX_HOME": running.home})
    kit.eventually(lambda: Web(running).get(mine.path).json.get("reason") == "its token was removed", "it lives on")
    kit.equal(other.state()["status"], "idle")


@kit.test
def what_cannot_be_meant_is_refused():
    _, web = warmed()
    for fields, error, message in (
        ({}, (400, "bad_request", "language"), "language: it is not set"),
        ({"language": "python", "code": "1"}, (400, "bad_request", "code"), "code: a session starts without"),
        ({"language": "python", "ttl": 0}, (400, "bad_request", "ttl"), "ttl: expected seconds from 1 to 2592000"),
        ({"language": "python", "idle_ttl": "x"}, (400, "bad_request", "idle_ttl"), "idle_ttl: expected seconds"),
        ({"language": "python", "tll": 5}, (400, "bad_request", "tll"), "did you mean ttl?"),
        ({"language": "java"}, (422, "no_sessions", "language"), "language: Java has no sessions"),
        ({"language": "python", "name": "a\nb"}, (400, "bad_request", "name"), "name: expected at most 63 plain"),
    ):
        answer = web.post("/v1/sessions", fields)
        kit.equal(answer.error, error, fields)
        kit.contains(answer.message, message)
    session = Session(web)
    for fields, error in (
        ({}, (400, "bad_request", "code")),
        ({"code": "1", "memory_limit": "64m"}, (400, "bad_request", "memory_limit")),
        ({"code": "1", "files": {}}, (400, "bad_request", "files")),
        ({"code": "1", "language": "bash"}, (400, "bad_request", "language")),
        ({"code": "1", "stdin": "x", "input": "stream"}, (400, "bad_request", "stdin")),
    ):
        kit.equal(session.ask("/execute", fields).error, error, fields)
    kit.equal(session.ask("/complete", {"code": "x"}).error, (400, "bad_request", "cursor"))
    kit.equal(session.ask("/complete", {"code": "x", "cursor": 1, "cursr": 1}).error, (400, "bad_request", "cursr"))
    kit.equal(session.ask("/inspect", {"code": "x", "cursor": 1, "more": 1}).error, (400, "bad_request", "more"))
    kit.equal(session.ask("/input", {"data": "x", "end": True}).error, (400, "bad_request", "end"))
    kit.equal(session.ask("/restart", {"x": 1}).error, (400, "bad_request", "x"))
    kit.equal(web.get("/v1/sessions/nothing").error, (404, "not_found", "id"))
    kit.equal(session.state()["cells"], 0)


# Hostile cells: each gets the right answer, and none can make up a verdict.


def hostile(code, timeout=1, **limits):
    """(result of the cell, its session) in a session of its own."""
    _, web = warmed()
    session = Session(web, limits=limits)
    session.cell("import ctypes, os, signal, socket, sys, time; x = 1")
    return session.cell(code, timeout=timeout), session


def goes_on(session):
    kit.equal(session.value("x"), "1")


@kit.test
def a_fork_bomb():
    done, session = hostile("while True:\n  try: os.fork()\n  except OSError: pass", timeout=1.5, pids=30)
    kit.equal(done["status"], "timeout")
    if done["session"]["state"] == "kept":
        goes_on(session)
    else:
        lost(done, "the cell did not end within 2s of being interrupted", 2)


@kit.test
def leaving():
    for code, status, exit_code in (("os._exit(0)", "ok", 0), ("os._exit(7)", "failed", 7)):
        done, session = hostile(code)
        kit.equal((done["status"], done["exit_code"], done["signal"]), (status, exit_code, None), code)
        lost(done, f"its driver ended with exit code {exit_code}", 2)
        kit.equal(session.state()["status"], "ended")


@kit.test
def a_segfault():
    done, _ = hostile("ctypes.string_at(0)")
    kit.equal((done["status"], done["exit_code"], done["signal"]), ("failed", 139, "SIGSEGV"))
    lost(done, "its driver was ended by signal SIGSEGV", 2)


@kit.test
def closing_every_descriptor():
    done, _ = hostile("os.closerange(0, 4096)")
    kit.equal((done["status"], done["success"], done["error_message"]),
              ("killed", False, "The session ended while this ran: the program closed its driver's channel"))
    lost(done, "the program closed its driver's channel", 2)


@kit.test
def writing_to_every_descriptor():
    words = ('b"done " + b"0" * 32 + b" 20\\n" + b\'{"ok":true,"exit":0}\'', 'b"garbage"', 'b"\\n" * 100000',
             'b"ready - 2\\n{}"', 'b"output " + b"f" * 32 + b" 99999999\\n"')
    for word in words:
        done, session = hostile(f"for fd in range(3, 4096):\n  try: os.write(fd, {word})\n  except OSError: pass")
        kit.equal((done["status"], done["success"], done["error_message"]),
                  ("killed", False, "The session ended while this ran: the program wrote to its driver's channel"), word)
        lost(done, "the program wrote to its driver's channel", 2)


@kit.test
def writing_to_every_descriptor_of_node():
    _, web = warmed()
    for first in 3, 4:  # the channel and all others; all others
        session = Session(web, "javascript")
        done = session.cell(f"for (let fd = {first}; fd < 4096; fd++) try {{ fs.writeSync(fd, 'done x 2\\n{{}}') }} catch {{}}")
        if first == 3:
            kit.equal(done["status"], "killed")
            lost(done, "the program wrote to its driver's channel", 1)
        elif done["session"]["state"] == "lost":
            # What Node.js makes of bytes in its own pipes is a crash, and told as one.
            kit.true(done["status"] in ("failed", "killed") and not done["success"], done["status"])
            kit.matches(done["session"]["reason"], "its driver (was ended by signal SIG|ended with exit code )")
        else:
            kit.equal(session.value("6 * 7"), "42")


@kit.test
def pictures_in_output_are_offered():
    _, web = warmed()
    session = Session(web)
    session.cell("import base64, os\nos.chdir('/sandbox/output')\npng = b'\\x89PNG\\r\\n\\x1a\\n' + b'x' * 100\n"
                 "def put(name, data): n = open(name, 'wb').write(data)")
    done = session.cell("put('a.png', png); put('b.svg', b'<svg xmlns=\"http://www.w3.org/2000/svg\"/>')\n"
                        "put('c.jpg', b'\\xff\\xd8\\xffjpeg'); put('notes.txt', b'text'); 'value'")
    png = b"\x89PNG\r\n\x1a\n" + b"x" * 100
    kit.equal(done["outputs"], [
        {"text/plain": "'value'"},
        {"text/plain": "/sandbox/output/a.png", "image/png": base64.b64encode(png).decode()},
        {"text/plain": "/sandbox/output/b.svg", "image/svg+xml": '<svg xmlns="http://www.w3.org/2000/svg"/>'},
        {"text/plain": "/sandbox/output/c.jpg", "image/jpeg": base64.b64encode(b"\xff\xd8\xffjpeg").decode()},
    ])
    # Those of an earlier cell were offered then.
    time.sleep(0.02)  # the kernel's clock of files is a coarse one
    kit.equal(session.cell("1")["outputs"], [{"text/plain": "1"}])
    # What was displayed is not offered as well; what is no picture, or too large, or not there, is not.
    done = session.cell("put('d.png', png + b'd'); display({'image/png': base64.b64encode(png + b'd').decode()}, raw=True)\n"
                        "put('e.png', b'no picture'); put('f.png', png + bytes(1 << 20)); put('g.svg', b'<html>')\n"
                        "os.symlink('/etc/passwd', 'h.png'); os.mkfifo('i.png'); os.mkdir('j.png')")
    kit.equal([sorted(output) for output in done["outputs"]], [["image/png"]], done["outputs"])
    # A bounded number.
    time.sleep(0.02)
    done = session.cell("for n in range(9): put(f'many{n}.png', png + bytes([n]))")
    kit.equal([output["text/plain"] for output in done["outputs"]], [f"/sandbox/output/many{n}.png" for n in range(4)])
    kit.equal(len(done["files"]), 9)


@kit.test
def writing_between_cells():
    done, session = hostile("import threading\nthreading.Timer(0.3, lambda: os.write(3, b'late')).start()")
    kept(done)
    time.sleep(0.6)  # between two cells nobody listens, and so nobody tells
    done = session.cell("1")
    kit.equal(done["status"], "killed")
    lost(done, "the program wrote to its driver's channel", 3)


@kit.test
def a_child_has_no_channel():
    done, session = hostile("import subprocess\n"
                            "subprocess.run(['sh', '-c', 'echo forged >&3'], stderr=subprocess.DEVNULL).returncode")
    kit.true(done["outputs"][-1]["text/plain"] != "0", "a child could write to it")
    kept(done)
    goes_on(session)


@kit.test
def replacing_streams():
    done, session = hostile("class Bad:\n  def __getattr__(self, name): raise RuntimeError('no')\n"
                            "sys.stdout = sys.stderr = Bad()")
    kept(done)
    kit.equal(done["status"], "ok")
    goes_on(session)


@kit.test
def endless_recursion():
    done, session = hostile("def f(): return f()\nf()")
    kit.equal((done["status"], done["error"]["type"]), ("failed", "RecursionError"))
    # The newest first, both ends of very many, and how many there were.
    frames = done["error"]["frames"]
    kit.equal((len(frames), frames[0]["function"], frames[-1]["function"], frames[-1]["line"]), (32, "f", "<module>", 2))
    kit.true(900 < done["error"]["frame_count"] <= 1100, done["error"]["frame_count"])
    kept(done)
    goes_on(session)
    done, _ = hostile("sys.setrecursionlimit(10**9)\ndef f(n): return f(n + 1) + 1\nf(0)", timeout=10)
    kit.true((done["status"], done["signal"]) in (("failed", "SIGSEGV"), ("out_of_memory", "SIGKILL"),
                                                   ("failed", None)), (done["status"], done["signal"]))


@kit.test
def deaf_to_interrupts():
    begun = time.monotonic()
    done, session = hostile("signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass", timeout=0.5)
    kit.equal((done["status"], done["exit_code"], done["signal"], done["error_message"]),
              ("timeout", 124, "SIGKILL", "Code execution timed out after 0.5s"))
    lost(done, "the cell did not end within 2s of being interrupted", 2)
    kit.true(2.4 < done["execution_time"] < 6, f"it took {done['execution_time']} s")
    kit.true(time.monotonic() - begun < 25, "it took longer")
    kit.equal(session.ask("/execute", {"code": "1"}).error, (404, "not_found", "session"))


@kit.test
def catching_interrupts():
    done, _ = hostile("while True:\n  try:\n    while True: time.sleep(9)\n  except KeyboardInterrupt: pass", timeout=0.5)
    kit.equal(done["status"], "timeout")
    lost(done, "the cell did not end within 2s of being interrupted", 2)


@kit.test
def stopping_itself():
    done, session = hostile("os.kill(os.getpid(), signal.SIGSTOP)\ntime.sleep(100)", timeout=0.5)
    kit.equal(done["status"], "timeout")
    kept(done)
    goes_on(session)


@kit.test
def a_flood_of_output():
    done, session = hostile("while True: print('x' * 10000)", timeout=20)
    kit.equal((done["status"], done["meta"]["limit"], done["error_message"]),
              ("output_limit", "output", "Output limit of 16m exceeded"))
    kit.equal(done["truncated"], True)
    kept(done)
    goes_on(session)


@kit.test
def a_flood_of_messages():
    # What the driver says is bounded as well: here the driver's own way to say it is used.
    done, session = hostile("big = 'x' * 1000000\nfor i in range(40): display(big + str(i)) if 'display' in globals()"
                            " or 'display' in dir(__builtins__) else None", timeout=20)
    kit.true(done["session"]["state"] in ("kept", "lost"), done["session"])
    kit.true(len(json.dumps(done["outputs"])) < 20 << 20, "more than the bound was taken")
    if done["session"]["state"] == "kept":
        goes_on(session)


@kit.test
def too_much_memory():
    done, session = hostile("x = [bytearray(1 << 20) for i in range(1000)]", timeout=20, memory="64m")
    kit.true(done["status"] == "out_of_memory" or done["error"]["type"] == "MemoryError", done)
    if done["status"] == "out_of_memory":
        kit.equal(done["error_message"], "Memory limit of 64m exceeded")
        lost(done, "its memory limit was exceeded", 2)
        kit.equal(session.state()["reason"], "its memory limit was exceeded")


@kit.test
def usage_is_told_per_cell():
    _, web = warmed()
    session = Session(web)
    used = session.cell("end = __import__('time').process_time() + 0.2\nwhile __import__('time').process_time() < end: pass")
    kit.true(0.1 < used["cpu_time"] < 2, f"it used {used['cpu_time']} s")
    kit.true(session.cell("1")["cpu_time"] < 0.1, "the cell before counts again")
    grown = session.cell("y = bytearray(50 << 20)")
    kit.true(grown["memory_used"] > 50 << 20, f"{grown['memory_used']} bytes")
    session.cell("del y")
    kit.true(session.cell("1")["memory_used"] < 50 << 20, "the peak of a cell before counts again")


@kit.test(timeout=60)
def one_that_has_ended_has_nothing_open():
    running = Service("--embers", "0", listen=True)
    web = Web(running)
    open_now = lambda: len(os.listdir(f"/proc/{running.role('keeper')}/fd"))

    def some(count):
        ids = [web.post("/v1/sessions", {"language": "bash"}).json["id"] for _ in range(count)]
        most = open_now()
        for id in ids:
            kit.equal(web.request("DELETE", f"/v1/sessions/{id}").status, 200)
        return most, open_now()

    first = some(1)
    most, after = some(8)
    kit.true(most > first[0] + 7, "they have descriptors while they live")
    kit.equal(after, first[1])
    # The same of those that end by themselves, when nobody asks.
    made = [web.post("/v1/sessions", {"language": "bash", "idle_ttl": 1}).status for _ in range(4)]
    kit.equal((set(made) <= {200, 201}, open_now() > after + 3), (True, True))
    kit.eventually(lambda: open_now() == after, "they keep descriptors")
    running.stop()


@kit.test(timeout=90, modes=["user"])
def sessions_leave_descriptors_for_runs():
    # Root's keeper raises its limit itself.
    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))

    running = Service("--embers", "0", listen=True, preexec_fn=few)
    web = Web(running)
    begun = [web.post("/v1/sessions", {"language": "bash"})]
    while begun[-1].status in (200, 201) and len(begun) < 200:
        begun.append(web.post("/v1/sessions", {"language": "bash"}))
    kit.equal((begun[-1].status, len(begun) > 5), (429, True), repr(begun[-1].body))
    kit.equal(web.run("echo in", language="bash")["stdout"], "in\n")
    # And one that goes makes room.
    kit.equal(web.request("DELETE", f"/v1/sessions/{begun[0].json['id']}").status, 200)
    kit.true(web.post("/v1/sessions", {"language": "bash"}).status in (200, 201), "there is no room")
    running.stop()


kit.main()
