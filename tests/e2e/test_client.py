#!/usr/bin/python3
# tests/run: args=--as root | --as user
# tests/run: builds=release asan
# tests/run: asan=--as root
# tests/run: timeout=240
"""`emberbox run` as the client of a service: what it sends, what it makes of every answer, and when it runs alone."""

import base64
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
import service
import wire

kit.uses_service = True

# What a cold run of CODE prints; a service that answered would say something else.
CODE = "import sys; print('cold', sys.argv[1:], sys.stdin.read())"
STARTED = ("S", {"id": "x"})


def frame(kind, payload=b""):
    if isinstance(payload, dict):
        payload = json.dumps(payload).encode()
    return wire.HEADER.pack(len(payload), ord(kind)) + payload


def result(status="ok", code=0, message=None, signal_name=None, **more):
    return ("J", {"id": "x", "status": status, "success": status == "ok", "exit_code": code, "signal": signal_name,
                  "stdout": "quoted \" and \\ \u20ac", "stderr": "", "error_message": message, **more})


def refusal(code, message="no"):
    return ("E", {"error": {"code": code, "message": message}})


class Left(Exception):
    """The client asked for nothing."""


class Fake:
    """A service with canned answers. `talk(connection, request)` is called for each connection."""

    def __init__(self, talk):
        self.path = os.path.join(kit.tmp(), "fake.sock")
        self.talk, self.requests, self.fault, self.connections = talk, [], None, 0
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(self.path)
        os.chmod(self.path, 0o666)
        self.listener.listen(8)
        self.thread = threading.Thread(target=self.serve, daemon=True)

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            connection.settimeout(20)
            with connection:
                try:
                    self.talk(self, connection)
                except Left:
                    pass
                except Exception as error:  # told by __exit__, in the test's own thread
                    self.fault = error

    def request(self, connection):
        try:
            kind, payload = wire.read_frame(connection)
        except wire.Broken:
            raise Left from None
        kit.equal(kind, "R")
        self.requests.append(json.loads(payload))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, kind, *_):
        # shutdown() wakes accept(); close() alone would not.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join(20)
        self.listener.close()
        if kind is None and self.fault:
            kit.fail(f"the fake service: {type(self.fault).__name__}: {self.fault}")

    def run(self, *args, env=None, **options):
        return kit.emberbox("run", *args, env={"EMBERBOX_SOCKET": self.path, **(env or {})}, **options)

    def start(self, *args, **options):
        return kit.start([kit.built(), "run", *args], env={"EMBERBOX_SOCKET": self.path}, **options)


def answering(*frames):
    """A service that reads the request and then sends these."""

    def talk(fake, connection):
        fake.request(connection)
        connection.sendall(b"".join(f if isinstance(f, bytes) else frame(*f) for f in frames))

    return Fake(talk)


# What is sent


@kit.test
def a_request_carries_what_was_asked():
    with answering(STARTED, result()) as fake:
        kit.equal(fake.run("-l", "py", "-c", "print(1)").code, 0)
        kit.equal(fake.run("-l", "bash", "-c", "é\n", "--timeout", "2.5", "--cpu-time", "1", "--memory", "64m", "--cpus", "0.5",
                           "--pids", "9", "--disk", "8m", "--max-output", "2k", "--env", "A=1", "--env", "A=2=3", "--env", "B=",
                           "--profile", "restricted", "--allow-weaker", "cgroup", "--no-check", "--read-only", "--entry", "x.sh", "--engine", "local",
                           "--net", "none", "--", "one", "-x").code, 0)
        kit.equal(fake.run("-l", "py", "-c", "print(1)", "--json").code, 0)
    kit.equal(fake.requests[0], {"language": "py", "code": "print(1)", "stream": True})
    kit.equal(fake.requests[1], {
        "language": "bash", "code": "é\n", "entry": "x.sh", "profile": "restricted", "args": ["one", "-x"],
        "env": {"A": "2=3", "B": ""}, "allow_weaker": ["cgroup"], "check": False, "read_only": True, "stream": True, "network": "none",
        "limits": {"timeout": 2.5, "cpu_time": 1, "memory": str(64 << 20), "cpus": 0.5, "pids": 9, "disk": str(8 << 20), "max_output": "2048"},
    })
    # Streamed as well, though nobody looks at it: that the run began is told so, and it is not done twice.
    kit.equal(fake.requests[2], {"language": "py", "code": "print(1)", "stream": True})


@kit.test
def the_language_of_a_file_is_known_here():
    path = kit.write(os.path.join(kit.tmp(), "tool.py"), "print(1)\n")
    script = kit.write(os.path.join(kit.tmp(), "tool"), "#!/usr/bin/env ruby\nputs 1\n")
    with answering(result()) as fake:
        fake.run(path)
        fake.run(script)
        fake.run("-", stdin=b"#!/bin/bash\n")
    kit.equal(fake.requests[0], {"language": "python", "code": "print(1)\n", "filename": "tool.py", "stream": True})
    kit.equal(fake.requests[1], {"language": "ruby", "code": "#!/usr/bin/env ruby\nputs 1\n", "filename": "tool", "stream": True})
    kit.equal(fake.requests[2], {"language": "bash", "code": "#!/bin/bash\n", "stream": True})


@kit.test
def limits_of_the_environment_are_sent():
    env = {"SANDBOX_TIMEOUT_SEC": "7", "SANDBOX_MAX_OUTPUT_KB": "3", "DOCKER_MEMORY_LIMIT": "128m", "DOCKER_CPU_LIMIT": "0.5"}
    with answering(result()) as fake:
        fake.run("-l", "python", "-c", "1", "--timeout", "8", env=env)
    kit.equal(fake.requests[0]["limits"], {"timeout": 8, "memory": str(128 << 20), "cpus": 0.5, "max_output": "3072"})


@kit.test
def bytes_that_are_no_text_are_sent_as_base64():
    path = kit.write(os.path.join(kit.tmp(), "x.php"), b"\xff\x00x")
    with answering(result()) as fake:
        fake.run(path)
    kit.equal(base64.b64decode(fake.requests[0]["code"]["base64"]), b"\xff\x00x")


@kit.test
def files_are_sent_with_their_mode():
    here = kit.tmp()
    kit.write(os.path.join(here, "data"), b"\x00\x01")
    kit.write(os.path.join(here, "tool"), "#!/bin/sh\n", 0o755)
    with answering(result()) as fake:
        fake.run("-l", "python", "-c", "1", "--file", f"{here}/data:/sandbox/data/d", "--file", f"{here}/tool")
    kit.equal(fake.requests[0]["files"], {
        "/sandbox/data/d": {"base64": "AAE=", "mode": "644"},
        "/sandbox/code/tool": {"base64": base64.b64encode(b"#!/bin/sh\n").decode(), "mode": "755"},
    })


# What is made of an answer


@kit.test
def output_arrives_as_it_comes_and_apart():
    go = threading.Event()

    def talk(fake, connection):
        fake.request(connection)
        connection.sendall(frame(*STARTED) + frame("1", b"first\n"))
        go.wait(20)
        connection.sendall(frame("2", b"\xffproblem") + frame("1", b"last") + frame(*result("failed", 3)))

    with Fake(talk) as fake:
        process = fake.start("-l", "python", "-c", "1")
        kit.equal(process.stdout.readline(), b"first\n")
        go.set()
        r = kit.finish(process)
    kit.equal((r.code, r.out, r.err), (3, b"last", b"\xffproblem"))


@kit.test
def the_end_is_told_as_in_a_cold_run():
    for answer, code, said, quiet in (
        (result(), 0, "", ""),
        (result("failed", 3, "Execution failed: exit code 3"), 3, "", ""),
        (result("failed", 139, "Execution failed: …", "SIGSEGV"), 139, "emberbox: ended by signal SIGSEGV (Segmentation fault)\n", ""),
        (result("failed", 162, "Execution failed: …", "SIG34"), 162, "emberbox: ended by signal 34\n", ""),
        (result("timeout", 124, "Code execution timed out after 1s"), 124, "emberbox: Code execution timed out after 1s\n", ""),
        (result("out_of_memory", 137, "Memory limit of 64m exceeded"), 137, "emberbox: Memory limit of 64m exceeded\n", ""),
        (result("output_limit", 137, "Output limit of 16m exceeded"), 137, "emberbox: Output limit of 16m exceeded\n", ""),
        (result("killed", 137, "The box was ended from outside"), 137, "emberbox: The box was ended from outside\n", ""),
        (result("error", 125, 'it "broke"\u20ac'), 125, 'emberbox: it "broke"\u20ac\n', 'emberbox: it "broke"\u20ac\n'),
        (result("error", 127, "Go is not installed"), 127, "emberbox: Go is not installed\n", "emberbox: Go is not installed\n"),
    ):
        with answering(STARTED, answer) as fake:
            r = fake.run("-l", "python", "-c", "1")
            kit.equal((r.code, r.text, r.errtext), (code, "", said), answer[1]["status"])
            r = fake.run("-q", "-l", "python", "-c", "1")
            kit.equal((r.code, r.text, r.errtext), (code, "", quiet), answer[1]["status"] + ", quiet")
            r = fake.run("--json", "-l", "python", "-c", "1")
            kit.equal((r.code, r.json, r.errtext), (code, answer[1], ""), answer[1]["status"] + ", JSON")


@kit.test
def large_results_are_whole():
    answer = result(outputs=[{"text/plain": "x" * (3 << 20)}])
    with answering(answer) as fake:
        kit.equal(fake.run("--json", "-l", "python", "-c", "1").json, answer[1])


@kit.test
def what_cannot_be_meant_is_refused_as_in_a_cold_run():
    sentence = 'Unknown language "x"; available: …'
    with answering(refusal("unknown_language", sentence)) as fake:
        r = fake.run("-l", "x", "-c", "1")
        kit.equal((r.code, r.text, r.errtext), (127, "", f"emberbox: {sentence}\n"))
        r = fake.run("-l", "x", "-c", "1", "--json")
        kit.equal((r.code, r.json["status"], r.json["exit_code"], r.json["error_message"], r.json["language"]),
                  (127, "error", 127, sentence, None))
    with answering(refusal("bad_request", "check: Python has no check of its own to leave out")) as fake:
        r = fake.run("-l", "py", "-c", "1", "--no-check", "--json")
        kit.equal((r.code, r.json["error_message"], r.json["language"], r.errtext),
                  (2, "check: Python has no check of its own to leave out", "python",
                   "emberbox: check: Python has no check of its own to leave out\n"))


@kit.test
def mistakes_in_options_are_said_without_the_service():
    with answering(result()) as fake:
        r = fake.run("-l", "python", "-c", "1", "--timeout", "x")
        cold = kit.emberbox("run", "--cold", "-l", "python", "-c", "1", "--timeout", "x")
    kit.equal((r.code, r.errtext), (cold.code, cold.errtext))
    kit.equal(r.code, 2)
    kit.equal(fake.requests, [])


# Input


def streaming(fake, connection):
    """Reads the input once the run has begun, and gives it back."""
    fake.request(connection)
    connection.sendall(frame(*STARTED))
    got = b""
    while True:
        kind, payload = wire.read_frame(connection)
        kit.equal(kind, "I")
        if not payload:
            break
        got += payload
    for at in range(0, len(got), 65536):
        connection.sendall(frame("1", got[at:at + 65536]))
    connection.sendall(frame(*result()))


@kit.test
def input_is_streamed():
    for data in (b"", b"hello\xff", os.urandom(1 << 20)):
        with Fake(streaming) as fake:
            r = fake.run("-l", "python", "-c", "1", stdin=data)
        kit.equal((r.code, r.out == data, r.errtext), (0, True, ""), f"{len(data)} bytes")
        kit.equal(fake.requests[0], {"language": "python", "code": "1", "stream": True, "input": "stream"})


@kit.test
def input_is_streamed_also_for_json():
    with Fake(streaming) as fake:
        r = fake.run("--json", "-l", "python", "-c", "1", "--stdin", "-", stdin=b"x")
        kit.equal((r.code, r.json), (0, result()[1]))
    kit.equal(fake.requests[0], {"language": "python", "code": "1", "stream": True, "input": "stream"})


@kit.test
def a_run_that_ends_does_not_wait_for_its_input():
    with answering(STARTED, result("failed", 4)) as fake:
        process = fake.start("-l", "python", "-c", "1", stdin=subprocess.PIPE)
        kit.equal(process.wait(20), 4)


# Without a service, and with one that fails


def cold(r, message, arguments="[]", stdin=""):
    kit.equal((r.code, r.text, r.errtext), (0, f"cold {arguments} {stdin}\n", ""), message)


@kit.test(timeout=60)
def without_a_service_a_run_is_cold():
    here = kit.tmp()
    cold(kit.emberbox("run", "-l", "python", "-c", CODE, env={"EMBERBOX_SOCKET": f"{here}/none"}), "no socket")
    left = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    left.bind(f"{here}/left")
    os.chmod(f"{here}/left", 0o666)
    left.close()
    cold(kit.emberbox("run", "-l", "python", "-c", CODE, env={"EMBERBOX_SOCKET": f"{here}/left"}), "nobody listens")
    cold(kit.emberbox("run", "-l", "python", "-c", CODE, env={"EMBERBOX_SOCKET": f"{here}/{'x' * 200}"}), "a long path")


@kit.test(timeout=90)
def what_fails_before_the_run_began_is_done_cold():
    whole = frame(*result())
    for name, frames in (
        ("broken", []),
        ("a part of a header", [whole[:5]]),
        ("a part of a result", [whole[:20]]),
        ("no frame", [b"HTTP/1.1 400 Bad Request\r\n\r\n"]),
        ("a kind that is none", [b"\0\0\0\0x\0\0\0"]),
        ("a frame that is too large", [b"\xff\xff\xff\xffJ\0\0\0"]),
        ("a result that is none", [("J", b"{}")]),
        ("a result that is not JSON", [("J", b"status ok")]),
        ("an error that is none", [("E", b"{}")]),
        ("draining", [refusal("draining")]),
        ("failed", [refusal("failed")]),
    ):
        with answering(*frames) as fake:
            cold(fake.run("-l", "python", "-c", CODE, "--", "a", stdin=b"input"), name, "['a']", "input")
        kit.equal(len(fake.requests), 1, name)
    # One that does not even read the request.
    with Fake(lambda fake, connection: None) as fake:
        cold(fake.run("-l", "python", "-c", CODE, stdin=b"input"), "closed", "[]", "input")
    # Around the queue nobody goes without being told.
    around = "emberbox: too much at once; this runs outside of the service's queue\n"
    with answering(refusal("busy", "too much at once")) as fake:
        r = fake.run("-l", "python", "-c", CODE, "--", "a", stdin=b"input")
        kit.equal((r.code, r.text, r.errtext), (0, "cold ['a'] input\n", around))
        kit.equal(len(fake.requests), 1)
    with answering(refusal("busy", "too much at once")) as fake:
        r = fake.run("-l", "nope", "-c", "1")
        kit.equal((r.code, r.errtext), (127, around + kit.emberbox("run", "--cold", "-l", "nope", "-c", "1").errtext))


def codes():
    with open(os.path.join(kit.REPO, "src", "base", "error_codes.def"), encoding="utf-8") as file:
        rows = re.findall(r'^ERROR_CODE\([A-Z_]+, "([a-z_]+)", \d+, (\d+), ', file.read(), re.M)
    kit.true(len(rows) > 20, f"{rows}")
    return {code: int(exit_code) for code, exit_code in rows}


@kit.test(timeout=90)
def the_exit_code_is_that_of_the_list():
    """Of each code that a service may refuse with; one that is not known is a request that cannot be meant."""
    for code, exit_code in {**codes(), "of_tomorrow": 2}.items():
        if code in ("busy", "draining", "failed"):  # done here instead
            continue
        with answering(refusal(code, f"no, {code}")) as fake:
            r = fake.run("-l", "python", "-c", "print(1)")
        kit.equal((r.code, r.text, r.errtext), (exit_code, "", f"emberbox: no, {code}\n"))


@kit.test
def what_fails_after_the_run_began_is_told():
    broken, strange = "the service closed the connection", "the service gave an invalid answer"
    for frames, why in (
        ([STARTED], broken),
        ([STARTED, frame(*result())[:20]], broken),
        ([("1", b"out\n")], broken),
        ([STARTED, ("1", b"out\n"), b"\0\0\0\0x\0\0\0"], strange + ": Protocol error"),
        ([STARTED, ("J", b"{}")], strange),
        ([STARTED, refusal("failed", "the keeper ended")], "the keeper ended"),
        ([STARTED, ("E", b"{}")], strange),
    ):
        shown = b"out\n" if ("1", b"out\n") in frames else b""
        with answering(*frames) as fake:
            r = fake.run("-l", "python", "-c", CODE)
            kit.equal((r.code, r.out, r.errtext), (125, shown, f"emberbox: the run is lost: {why}\n"))
    with answering(STARTED) as fake:
        r = fake.run("--json", "-l", "py", "-c", CODE)
        kit.equal((r.code, r.json["status"], r.json["exit_code"], r.json["language"], r.json["error_message"]),
                  (125, "error", 125, "python", f"the run is lost: {broken}"))


@kit.test(timeout=60)
def some_runs_do_not_ask_for_the_service():
    here = kit.tmp()
    big = os.path.join(here, "big")
    kit.write(big, b"")
    os.truncate(big, (16 << 20) + 1)
    with answering(result()) as fake:
        python = ("-l", "python", "-c", CODE)
        cold(fake.run(*python, "--cold"), "--cold")
        cold(fake.run(*python, env={"EMBERBOX_SERVICE": "never"}), "never")
        cold(fake.run(*python, "--project", here), "--project")
        cold(fake.run(*python, "--output", os.path.join(kit.tmp(), "out")), "--output")
        kit.contains(fake.run(*python, "--explain").text, "exec")
        kit.equal(fake.connections, 0)
        cold(fake.run(*python, "--file", big), "a large file")
        cold(fake.run(*python, b"\xff"), "an argument that is no text", r"['\udcff']")
        cold(fake.run(*python, "--env", b"A=\xff"), "a variable that is no text")
        r = fake.run(*python, "--file", "/nonexistent/x")
        kit.equal((r.code, r.errtext), (2, 'emberbox: file: cannot open "/nonexistent/x": No such file or directory\n'))
    kit.equal(fake.requests, [])


@kit.test(modes=("root",), timeout=60)
def a_service_of_somebody_else_is_not_used():
    here = kit.tmp("user")
    listen = ("import os, socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(1);"
              "print('ready', flush=True); c = s.accept()[0]; print(c.recv(1), flush=True)")
    process = kit.start(["/usr/bin/python3", "-c", listen, f"{here}/s"], mode="user")
    kit.equal(process.stdout.readline(), b"ready\n")
    r = kit.emberbox("run", "-l", "python", "-c", CODE, env={"EMBERBOX_SOCKET": f"{here}/s"})
    kit.equal((r.code, r.text, r.errtext),
              (0, "cold [] \n", f'emberbox: the service at "{here}/s" belongs to another user; this run does not use it\n'))
    # Nothing was said to it.
    kit.equal(process.stdout.readline(), b"b''\n")


# Signals


def cancelling(fake, connection):
    fake.request(connection)
    connection.sendall(frame(*STARTED) + frame("1", b"ready\n"))
    kit.equal(wire.read_frame(connection), ("C", b""))
    connection.sendall(frame(*result("killed", 137, "Execution was cancelled")))


@kit.test
def signals_cancel_the_run():
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
        with Fake(cancelling) as fake:
            process = fake.start("-l", "python", "-c", "1")
            kit.equal(process.stdout.readline(), b"ready\n")
            os.kill(process.pid, number)
            r = kit.finish(process)
        kit.equal((r.code, r.errtext), (code, "emberbox: Execution was cancelled\n"))


@kit.test
def a_second_signal_ends_at_once():
    heard, ended = threading.Event(), []

    def talk(fake, connection):
        fake.request(connection)
        connection.sendall(frame(*STARTED) + frame("1", b"ready\n"))
        kit.equal(wire.read_frame(connection), ("C", b""))
        heard.set()
        ended.append(connection.recv(1))

    with Fake(talk) as fake:
        process = fake.start("-l", "python", "-c", "1")
        kit.equal(process.stdout.readline(), b"ready\n")
        os.kill(process.pid, signal.SIGINT)
        kit.true(heard.wait(20), "no CANCEL came")
        os.kill(process.pid, signal.SIGINT)
        kit.equal(kit.finish(process).code, -signal.SIGINT)
    kit.equal(ended, [b""])


@kit.test
def a_reader_that_leaves_cancels_the_run():
    def talk(fake, connection):
        fake.request(connection)
        connection.sendall(frame(*STARTED) + frame("1", b"ready\n"))
        go.wait(20)
        connection.sendall(frame("1", b"more\n"))
        kit.equal(wire.read_frame(connection), ("C", b""))
        connection.sendall(frame(*result("killed", 137, "Execution was cancelled")))

    go = threading.Event()
    with Fake(talk) as fake:
        process = fake.start("-l", "python", "-c", "1")
        kit.equal(process.stdout.readline(), b"ready\n")
        process.stdout.close()
        go.set()
        kit.equal(process.wait(20), 128 + signal.SIGPIPE)


# Settings


@kit.test
def the_settings_file_is_read_and_the_environment_beats_it():
    home = kit.tmp()
    kit.write(f"{home}/.env", "# limits\n\n  SANDBOX_TIMEOUT_SEC=7\r\nDOCKER_MEMORY_LIMIT=128m\n")
    with answering(result()) as fake:
        fake.run("-l", "python", "-c", "1", env={"EMBERBOX_HOME": home})
        fake.run("-l", "python", "-c", "1", env={"EMBERBOX_HOME": home, "SANDBOX_TIMEOUT_SEC": "9"})
        kit.write(f"{home}/.env", "EMBERBOX_SERVICE=never")
        cold(fake.run("-l", "python", "-c", CODE, env={"EMBERBOX_HOME": home}), "never")
        fake.run("-l", "python", "-c", CODE, env={"EMBERBOX_HOME": home, "EMBERBOX_SERVICE": "auto"})
    kit.equal([r.get("limits") for r in fake.requests],
              [{"timeout": 7, "memory": str(128 << 20)}, {"timeout": 9, "memory": str(128 << 20)}, None])


@kit.test
def a_wrong_line_of_the_settings_file_is_named():
    home = kit.tmp()
    for text, line, why in (
        ("# a\nSANDBOX_TIMEOUT_SEC 7\n", 2, '"SANDBOX_TIMEOUT_SEC 7": it is not of the form NAME=VALUE'),
        ("=7", 1, '"=7": it is not of the form NAME=VALUE'),
        ("\nSANDBOX_TIMEOUT=7\n", 2, '"SANDBOX_TIMEOUT": there is no such setting; did you mean SANDBOX_TIMEOUT_SEC?'),
    ):
        kit.write(f"{home}/.env", text)
        r = kit.emberbox("run", "-l", "python", "-c", "1", env={"EMBERBOX_HOME": home})
        kit.equal((r.code, r.errtext), (2, f'emberbox: "{home}/.env", line {line}: {why}\nSee: man emberbox-config\n'))
    kit.write(f"{home}/.env", "SANDBOX_TIMEOUT_SEC=x\n")
    r = kit.emberbox("run", "-l", "python", "-c", "1", env={"EMBERBOX_HOME": home})
    kit.equal((r.code, r.errtext.splitlines()[0]),
              (2, f'emberbox: "{home}/.env", line 1: SANDBOX_TIMEOUT_SEC: "x" is not a time between 0.001 and 86400 seconds; write it as 30, 500ms, 2m or 1h30m'))


@kit.test
def settings_that_cannot_be_used_are_named():
    for name, value, why in (
        ("EMBERBOX_SERVICE", "maybe", '"maybe" is not one of auto, never, start'),
        ("EMBERBOX_SOCKET", "here", '"here" is not an absolute path'),
    ):
        r = kit.emberbox("run", "-l", "python", "-c", "1", env={name: value})
        kit.equal((r.code, r.errtext), (2, f"emberbox: {name}: {why}\nSee: man emberbox-config\n"))


# The real service


def both(home, *args, **options):
    """The same run by the service and without it."""
    env = {"EMBERBOX_HOME": home, **options.pop("env", {})}
    return [kit.emberbox("run", *words, *args, env=env, **options) for words in ((), ("--cold",))]


def same(home, *args, code=0, **options):
    warm, cold_run = both(home, *args, **options)
    kit.equal((warm.code, warm.out, warm.err), (cold_run.code, cold_run.out, cold_run.err), repr(args))
    kit.equal(warm.code, code, repr(args))
    return warm


@kit.test(timeout=120)
def a_run_by_the_service_is_as_a_cold_one():
    home, here = service.Service().home, kit.tmp()
    kit.write(f"{here}/data.txt", b"\x00data")
    kit.write(f"{here}/tool", "#!/bin/sh\necho tool\n", 0o755)
    kit.write(f"{here}/main.py", "import sys, os\nprint(__file__, sys.argv)\n")
    kit.write(f"{here}/latin.py", b"# -*- coding: latin-1 -*-\nprint(ascii('\xe9'))\n")
    kit.write(f"{here}/wrong.py", "print(1\n")
    python = ("-l", "python", "-c")
    # It is the service that runs them: nobody else has an ember. The first requests find none yet.
    starts = (kit.emberbox("run", "--json", *python, "1", env={"EMBERBOX_HOME": home}).json["meta"]["start"] for _ in range(20))
    kit.true("warm" in starts, "no run of 20 was warm")
    same(home, *python, "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)", code=3)
    same(home, *python, "import os; os.kill(os.getpid(), 11)", code=139)
    same(home, *python, "import os; os.kill(os.getpid(), 34)", code=162)
    same(home, *python, "while True: pass", "--timeout", "0.5", code=124)
    same(home, *python, "x = bytearray(200 << 20)", "--memory", "64m", code=137)
    same(home, *python, "import os, sys; print(sys.argv, os.environ.get('A'), os.environ.get('B'))", "--env", "A=1", "--env", "A=2",
         "--env", "B=", "--", "one", "", "é\"\n", "-x")
    same(home, *python, "import sys; print(len(sys.stdin.buffer.read()))", stdin=os.urandom(300000))
    same(home, *python, "print(sum(1 for _ in open(0)))")
    same(home, f"{here}/main.py", "--", "a")
    same(home, f"{here}/latin.py")
    same(home, f"{here}/wrong.py", code=1)
    same(home, *python, "import os, subprocess; print(oct(os.stat('tool').st_mode), oct(os.stat('/sandbox/data/d').st_mode));"
         "print(open('/sandbox/data/d', 'rb').read(), subprocess.run('./tool', capture_output=True).stdout)",
         "--file", f"{here}/tool", "--file", f"{here}/data.txt:/sandbox/data/d")
    same(home, "--entry", "main.py", "--file", f"{here}/main.py")
    same(home, "-l", "bash", "-c", 'echo "$0 $*"; read -r x; echo "$x"', "--", "1", "2", stdin=b"line\n")
    same(home, "-l", "bash", "--profile", "restricted", "-c", "echo $PATH; python3", code=127)
    same(home, "-q", *python, "while True: pass", "--timeout", "0.5", code=124)
    # What cannot be meant.
    same(home, "-l", "nope", "-c", "1", code=127)
    same(home, *python, "1", "--profile", "x", code=2)
    same(home, *python, "1", "--no-check", code=2)
    same(home, *python, "1", "--file", f"{here}/tool:main.py", code=2)
    same(home, "-l", "python", "--entry", "x.py", code=2)


def plain(result):
    """A result without what differs between two runs of one program."""
    for name in ("id", "timestamp", "execution_time", "cpu_time", "memory_used"):
        kit.true(name in result, f"there is no {name}")
        del result[name]
    del result["meta"]["start"], result["meta"]["timings"]
    result["meta"]["isolation"] = [re.sub(r"host uid \d+", "host uid N", layer) for layer in result["meta"]["isolation"]]
    verdict = result.get("verdict")
    if verdict and verdict["cause"] == "timeout":
        # How long it took, and how much of that it computed, is of this run; that it is more than the limit, of each.
        kit.true(verdict["used"] >= verdict["limit"], str(verdict))
        del verdict["used"]
        verdict["message"] = re.sub(r"computed for [0-9.]+ s", "computed for N s", verdict["message"])
    return result


@kit.test(timeout=90)
def an_object_of_the_service_is_as_a_cold_one():
    home = service.Service().home
    python = ("--json", "-l", "python", "-c")
    for args in (
        (*python, "print(1)"),
        (*python, "import sys; sys.exit('no')"),
        (*python, "print(1"),
        # One that computes would be said to have waited where it gets no processor.
        (*python, "import time; time.sleep(60)", "--timeout", "0.5"),
        (*python, "import os; os.kill(os.getpid(), 9)"),
        (*python, "open('/sandbox/output/x', 'w').write('abc'); print('y' * 9000)", "--max-output", "4k"),
        ("--json", "-l", "nope", "-c", "1"),
        (*python, "1", "--profile", "x"),
    ):
        warm, cold_run = both(home, *args)
        kit.equal(warm.code, cold_run.code, repr(args))
        kit.equal(plain(warm.json), plain(cold_run.json), repr(args))


@kit.test(timeout=60)
def a_signal_ends_a_run_of_the_service():
    home = service.Service().home
    process = kit.start([kit.built(), "run", "-l", "python", "-c", "import time; print('up', flush=True); time.sleep(60)"],
                        env={"EMBERBOX_HOME": home})
    kit.equal(process.stdout.readline(), b"up\n")
    os.kill(process.pid, signal.SIGINT)
    r = kit.finish(process)
    kit.equal((r.code, r.errtext), (130, "emberbox: Execution was cancelled\n"))


def listener(path):
    """The pid of who listens there."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.connect(path)
        return struct.unpack("iII", link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]


@kit.test(timeout=60)
def the_service_is_started_on_demand_and_stays():
    home = kit.tmp()
    env = {"EMBERBOX_HOME": home, "EMBERBOX_SERVICE": "start"}
    r = kit.emberbox("run", "-l", "python", "-c", "print(1)", env=env)
    kit.equal((r.code, r.text, r.errtext), (0, "1\n", ""))
    pid = listener(f"{home}/emberbox.sock")
    watch = kit.Watch([pid])
    try:
        kit.true(os.getsid(pid) not in (os.getsid(0), 0), "it is in a session of ours")
        kit.equal(sorted(os.readlink(f"/proc/{pid}/fd/{fd}") for fd in (0, 1, 2)), ["/dev/null", f"{home}/serve.log", f"{home}/serve.log"])
        kit.equal(os.readlink(f"/proc/{pid}/cwd"), "/")
        kit.equal(os.stat(f"{home}/serve.log").st_mode & 0o777, 0o600)
        kit.equal(kit.emberbox("run", "-l", "python", "-c", "print(2)", env=env).text, "2\n")
        kit.equal(listener(f"{home}/emberbox.sock"), pid, "a second one was started")
    finally:
        os.kill(pid, signal.SIGTERM)
    kit.equal(watch.survivors(20), [], "it does not end")


@kit.test(timeout=60)
def a_service_that_does_not_start_is_told_once():
    home = kit.tmp()
    env = {"EMBERBOX_HOME": home, "EMBERBOX_SERVICE": "start", "EMBERBOX_SOCKET": "/nonexistent/s"}
    r = kit.emberbox("run", "-l", "python", "-c", CODE, env=env)
    kit.equal((r.code, r.text, r.errtext),
              (0, "cold [] \n", f'emberbox: the service did not start, so this run starts its own box; see "{home}/serve.log"\n'))
    with open(f"{home}/serve.log") as file:
        kit.contains(file.read(), "/nonexistent")
    # A mistake is found before anything is started.
    os.unlink(f"{home}/serve.log")
    kit.equal(kit.emberbox("run", "-l", "python", "-c", "1", "--timeout", "x", env=env).code, 2)
    kit.true(not os.path.exists(f"{home}/serve.log"), "a service was started")


kit.main()
