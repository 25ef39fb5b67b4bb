#!/usr/bin/python3
# tests/run: args=--as root | --as user
# tests/run: timeout=300
"""Why a run died, with the figures; and reports of runs, from the CLI and over HTTP."""

import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from service import Service
from web import Web


def run(code, *options, language="python", home=None):
    env = {"EMBERBOX_HOME": home or os.path.join(kit.home(), "emberbox"), "SANDBOX_STORE_CODE": "always"}
    return kit.emberbox("run", "--json", "--cold", "-l", language, "-c", code, *options, env=env, timeout=60).json


@kit.test
def a_run_that_passes_has_none():
    result = run("print(1)")
    kit.equal((result["status"], result["error"], result["verdict"]), ("ok", None, None))


@kit.test
def an_exit_code_has_none():
    result = run("import sys; sys.exit(3)")
    kit.equal((result["status"], result["exit_code"], result["error"], result["verdict"]), ("failed", 3, None, None))


@kit.test
def time_spent_waiting():
    verdict = run("import time; time.sleep(20)", "--timeout", "0.5")["verdict"]
    kit.equal((verdict["cause"], verdict["certain"], verdict["limit"]), ("timeout", True, 0.5))
    kit.true(0.5 <= verdict["used"] < 5, str(verdict))
    kit.contains(verdict["suggestion"], "It waited nearly all of the time")
    kit.true(re.fullmatch(r"The program did not finish within 0\.5 s; it computed for [0-9.]+ s and waited for the rest\.", verdict["message"]), verdict["message"])


@kit.test(timeout=60)
def time_spent_computing():
    # Without a processor it has not computed, and the text says what the figures say: the best of some tries counts.
    for _ in range(10):
        result = run("while True: pass", "--timeout", "1")
        verdict, starved = result["verdict"], result["cpu_time"] < 0.25
        kit.equal((verdict["cause"], verdict["limit"]), ("timeout", 1.0))
        kit.contains(verdict["suggestion"], "--timeout 2")
        rest = "(?: and waited for the rest)?" if starved else ""
        kit.true(re.fullmatch(rf"The program did not finish within 1 s; it computed for [0-9.]+ s{rest}\.", verdict["message"]), verdict["message"])
        if not starved:
            kit.contains(verdict["suggestion"], "It was still computing")
            break
    verdict = run("while True: pass", "--cpu-time", "0.3", "--timeout", "20")["verdict"]
    kit.equal((verdict["cause"], verdict["limit"]), ("cpu_time", 0.3))
    kit.contains(verdict["suggestion"], "--cpu-time 0.6")
    kit.true(re.fullmatch(r"The program did not finish within 0\.3 s of CPU time; it computed for [0-9.]+ s\.", verdict["message"]), verdict["message"])


@kit.test
def memory():
    result = run("a = bytearray(1 << 30)\nfor i in range(0, 1 << 30, 4096): a[i] = 1\n", "--memory", "64m")
    verdict = result["verdict"]
    kit.equal((result["status"], verdict["cause"], verdict["limit"]), ("out_of_memory", "memory", 64 << 20))
    kit.equal(verdict["used"], result["memory_used"])
    kit.contains(verdict["suggestion"], "--memory 128m")
    kit.equal(verdict["message"], "The program needed more than its 64m of memory.")
    kit.true(verdict["process"] is None or verdict["process"]["name"].startswith("python"), str(verdict))


@kit.test
def output():
    verdict = run("print('x' * 1000000)\n" * 40)["verdict"]
    kit.equal((verdict["cause"], verdict["limit"]), ("output", 16 << 20))
    kit.equal(verdict["message"], "The program printed more than 16m to one stream.")


FORKS = "import os, time\nfor i in range(30):\n    if os.fork() == 0:\n        time.sleep(9)\n        os._exit(0)\n"


@kit.test
def processes():
    """A control group counts what it refuses; without one there are only the program's own words."""
    for result in (run(FORKS, "--pids", "8"), Web(Service(listen=True)).post("/v1/execute", {"language": "python", "code": FORKS, "limits": {"pids": 8}}).json):
        grouped = any(layer.startswith("cgroup: v") for layer in result["meta"]["isolation"])
        verdict = result["verdict"]
        kit.equal((result["status"], verdict["cause"], verdict["limit"], verdict["certain"]), ("failed", "pids", 8, grouped))
        kit.contains(verdict["suggestion"], "--pids")
    kit.equal(run(FORKS + "os._exit(0)\n", "--pids", "60")["verdict"], None)
    # One that goes on in spite of it, until its time is over.
    bomb = "import os, time\nfor i in range(30):\n    try:\n        if os.fork() == 0:\n            time.sleep(9)\n            os._exit(0)\n    except OSError:\n        pass\ntime.sleep(9)\n"
    result = run(bomb, "--pids", "8", "--timeout", "1")
    kit.equal((result["status"], result["verdict"]["cause"]), ("timeout", "timeout"))
    if any(layer.startswith("cgroup: v") for layer in result["meta"]["isolation"]):
        kit.contains(result["verdict"]["suggestion"], "refused more than 8 processes and threads at once")
        kit.contains(result["verdict"]["suggestion"], "--pids 16")


@kit.test
def disk():
    fill = "f = open('/tmp/x', 'wb')\nfor i in range(40): f.write(bytes(1 << 20))\n"
    verdict = run(fill, "--disk", "4m")["verdict"]
    kit.equal((verdict["cause"], verdict["certain"], verdict["limit"]), ("disk", True, 4 << 20))
    kit.equal(run(fill, "--disk", "100m")["verdict"], None)


@kit.test
def a_signal_and_its_place():
    verdict = run("import os\nos.kill(os.getpid(), 11)\n")["verdict"]
    kit.equal((verdict["cause"], verdict["message"]), ("signal", "Signal SIGSEGV (Segmentation fault) ended it."))


def refused(result):
    verdict = result["verdict"]
    return verdict and (verdict["cause"], verdict["call"], verdict["certain"], verdict["message"])


def was(call):
    return ("call", call, True, f"The box refused the system call {call}.")


LOUD = "import os\nos.chroot('/tmp')\n"
# Says nothing; the first answer is the call's own.
QUIET = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
os._exit(3 if libc.ptrace(0, 0, 0, 0) == -1 and ctypes.get_errno() == 1 else 4)
"""
LEAVING = "import os, time\nif os.fork() == 0:\n    time.sleep(100)\n"
# It was in nobody's way.
CAUGHT = "import os\ntry:\n    os.chroot('/tmp')\nexcept PermissionError:\n    pass\n"


@kit.test
def a_refused_call_is_known():
    kit.equal(refused(run(LOUD)), was("chroot"))
    result = run(QUIET)
    kit.equal((result["exit_code"], refused(result)), (3, was("ptrace")))
    kit.contains(result["verdict"]["suggestion"], "No box allows ptrace")
    kit.equal(refused(run(CAUGHT)), None)
    kit.equal(refused(run(CAUGHT + "1 / 0\n")), None)
    # It tells something else, or its words are of another call.
    kit.equal(refused(run(QUIET.replace("os._exit(3", "print('3 tests failed', flush=True)\nos._exit(3"))), None)
    other = run(CAUGHT + "raise OSError('ptrace: Operation not permitted')\n")["verdict"]
    kit.equal((other["cause"], other["call"], other["certain"]), ("call", "ptrace", False))
    # Others of its uses are allowed.
    suggestion = run("import ctypes, os\nos._exit(3 + ctypes.CDLL(None).prctl(22, 2, 0))\n")["verdict"]["suggestion"]
    kit.contains(suggestion, "No box allows this use of prctl")
    # The last one counts.
    kit.equal(refused(run(CAUGHT + QUIET)), was("ptrace"))


@kit.test
def so_it_is_in_a_warm_box():
    service = Service("--embers", "2")
    with service.connect() as client, service.connect() as other:

        def warm(ask, code):
            for _ in range(50):
                _, result = ask.request({"language": "python", "code": code})
                if result["meta"]["start"] == "warm":
                    return result
            raise kit.Failed("never warm")

        warm(client, "pass")
        for _ in range(10):
            # Whose it is, and of which run, is not mixed up.
            other.ask({"language": "python", "code": "import os, time\ntime.sleep(0.1)\nos._exit(3)"})
            kit.equal(refused(warm(client, QUIET)), was("ptrace"))
            kit.equal(refused(warm(client, LOUD)), was("chroot"))
            # Who leaves somebody behind hides nothing.
            kit.equal(refused(warm(client, LEAVING + LOUD)), was("chroot"))
            kit.equal(refused(warm(client, "import os; os._exit(3)")), None)
            kit.equal(refused(other.answer()[1]), None)
    service.stop()


@kit.test
def a_refused_host_is_a_guess():
    code = "raise OSError('Could not resolve host: api.example.com')\n"
    verdict = run(code)["verdict"]
    kit.equal((verdict["cause"], verdict["host"], verdict["certain"]), ("network", "api.example.com", False))


# What a hostile program can do with it: say anything, but nothing that harms.


HOSTILE = (
    """b"Traceback (most recent call last):\\n" + b'  File "/sandbox/code/main.py", line 1, in f\\n' * 20000 + b"KeyError: 1" """,
    """b"\\0\\xff\\x1b[31m" * 1000 + b"\\nNameError: name '\\x1b]0;x\\x07' is not defined" """,
    """b"NameError: name '" + b"a" * 1000000 + b"' is not defined" """,
    """b"File " * 1000000""",
    """b"a: " * 1000000 + b"command not found" """,
    """b"\\n" * 5000000 + b"x" """,
)


@kit.test(timeout=120)
def hostile_words():
    """A program can say anything; it gets its result, and soon."""
    for text in HOSTILE:
        result = run(f"import sys\nsys.stderr.buffer.write({text})\nsys.exit(1)\n")
        kit.equal((result["status"], result["exit_code"]), ("failed", 1), text)
        kit.true(result["error"] is None or "\x00" not in json.dumps(result["error"]), text)


# Reports


def of_file(home, code, *options):
    path = kit.write(os.path.join(kit.tmp(), "program.py"), code)
    env = {"EMBERBOX_HOME": home, "SANDBOX_STORE_CODE": "always"}
    return kit.emberbox("run", "--json", "--cold", path, *options, env=env, timeout=60).json


@kit.test(timeout=60)
def report_on_the_command_line():
    home = os.path.join(kit.tmp(), "emberbox")
    good = of_file(home, "a = [1]\nprint(a[0])\n")
    first = of_file(home, "a = [1]\nprint(a[7])\n")
    last = of_file(home, "a = [1]\nprint(a[9])\n", "--memory", "256m")
    env = {"EMBERBOX_HOME": home}
    report = json.loads(kit.emberbox("show", last["id"], "--report", "--json", env=env).text)
    kit.equal(report["signature"], "python IndexError: list index out of range")
    kit.equal([(run["id"], run["same_code"]) for run in report["similar"]], [(first["id"], False)])
    success = report["last_success"]
    kit.equal((success["id"], success["same"]), (good["id"], "file"))
    kit.equal(success["diff"], "  a = [1]\n- print(a[0])\n+ print(a[9])\n")
    changes = {change["what"]: (change["before"], change["after"]) for change in success["changes"]}
    kit.equal(sorted(changes), ["code", "limit memory"])
    kit.equal(changes["limit memory"], (512 << 20, 256 << 20))
    text = kit.emberbox("show", last["id"], "--report", env=env).text
    for part in ("# Run " + last["id"] + ": failed", "```python\na = [1]\nprint(a[9])\n```", ">    2  print(a[9])",
                 "## Similar failures before", "+ print(a[9])", "compare it with len()"):
        kit.contains(text, part)
    kit.contains(text, "- code: it differs\n")
    kit.contains(text, "- column: `8`\n")
    kit.true("was not kept" not in text, text)
    # What came later did not fail before it.
    kit.equal(json.loads(kit.emberbox("show", first["id"], "--report", "--json", env=env).text)["similar"], [])
    refused = kit.emberbox("show", last["id"], "--report", "--code", env=env)
    kit.equal(refused.code, 2)
    kit.equal(kit.emberbox("show", good["id"], "--report", env=env).code, 0)


@kit.test(timeout=60)
def what_a_limit_ended_is_alike_too():
    home = os.path.join(kit.tmp(), "emberbox")
    env = {"EMBERBOX_HOME": home}
    ids = [of_file(home, f"a = bytearray({size} << 20)\nprint(1)\n", "--memory", "64m")["id"] for size in (100, 200)]
    other = of_file(home, "while True: pass\n", "--timeout", "1")["id"]
    report = json.loads(kit.emberbox("show", ids[1], "--report", "--json", env=env).text)
    kit.equal((report["signature"], [run["id"] for run in report["similar"]]), ("python out_of_memory", ids[:1]))
    report = json.loads(kit.emberbox("show", other, "--report", "--json", env=env).text)
    kit.equal((report["signature"], report["similar"]), ("python timeout", []))


@kit.test(timeout=60)
def report_over_http():
    asking = Web(Service(listen=True))
    good = asking.run("import os\nprint(1)\n", "python")["id"]
    failed = [asking.run("import os\nprnt(1)\n", "python")["id"] for _ in range(2)]
    path = f"/v1/executions/{failed[1]}/report"
    with asking.connect() as wire:
        report = wire.get(path).json
        kit.equal([run["id"] for run in report["similar"]], [failed[0]])
        kit.equal((report["similar"][0]["same_code"], report["run"]["error"]["suggestion"]), (True, "Replace `prnt` with `print`."))
        kit.equal(report["last_success"], None)
        for answer in (wire.get(path + "?format=markdown"), wire.get(path, headers={"Accept": "text/markdown"})):
            kit.equal((answer.status, answer.headers["content-type"]), (200, "text/markdown; charset=utf-8"))
            kit.contains(answer.text, f"# Run {failed[1]}: failed")
        wrong = wire.get(path + "?format=pdf")
        kit.equal((wrong.status, wrong.json["error"]["message"]), (400, "format: expected json or markdown"))
        other = failed[1][:-1] + ("0" if failed[1][-1] != "0" else "1")
        kit.equal(wire.get(f"/v1/executions/{other}/report").status, 404)
        kit.equal(wire.get(f"/v1/executions/{good}/report").json["signature"], None)


if __name__ == "__main__":
    kit.main()
