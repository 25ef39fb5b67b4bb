#!/usr/bin/python3
# tests/run: args=--as user
# tests/run: nightly=--as root
# tests/run: timeout=400
"""Sessions of every language that has them, in boxes: state, values, errors, time limits that keep the state, the end.

The drivers themselves are tested outside of a box: tests/lang/test_driver*.py."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from service import Service
from web import Web

FIRST = 120  # seconds: the first session may prepare the toolchain

# (a cell that makes state, a cell that uses it, its text/plain or stdout), an error with its line, an endless cell, an end
CASES = {
    "python": (("x = 41", "x + 1", "42"), ("y = 1\n1/0", "ZeroDivisionError", 2), "while True: pass", ("exit(3)", 3)),
    "javascript": (("const x = 41", "x + 1", "42"), ("1;\nnull.f", "TypeError", 2), "while (true);", ("process.exit(3)", 3)),
    "typescript": (
        ("const x: number = 41", "x + 1", "42"),
        ("type T = 1\n(null as any).f", "TypeError", 2),
        "while (true);",
        ("process.exit(3)", 3),
    ),
    "bash": (("x=41; f() { echo $((x + 1)); }; cd /tmp", "pwd; f", "/tmp\n42\n"), None, "while :; do :; done", ("exit 3", 3)),
    "ruby": (("x = 41", "x + 1", "42"), ("y = 1\nraise 'no'", "RuntimeError", 2), "loop {}", ("exit 3", 3)),
    "sqlite": (
        ("create table t (n); insert into t values (41)", "select n + 1 as m from t", " m  \n----\n 42\n(1 row)"),
        ("select 1;\nselect * from nope", "SQLError", 2),
        "with recursive r(n) as (select 1 union all select n + 1 from r) select count(*) from r",
        (".quit 3", 3),
    ),
    "postgres": (
        ("create table t (n int); insert into t values (41)", "select n + 1 as m from t", " m  \n----\n 42\n(1 row)"),
        ("select 1;\nselect * from nope", "SQLError", 2),
        "select count(*) from generate_series(1, 1e12)",
        ("\\q", 0),
    ),
}  # fmt: skip


def cell(web, path, code, **fields):
    answer = web.post(path + "/execute", {"code": code, **fields})
    kit.equal(answer.status, 200, answer.body[:500])
    return answer.json


def language(name):
    (first, second, want), error, endless, (end, code) = CASES[name]
    running = Service(listen=True)
    web = Web(running, timeout=FIRST)
    answer = web.post("/v1/sessions", {"language": name})
    kit.equal(answer.status, 201, answer.body[:500])
    path = "/v1/sessions/" + answer.json["id"]
    done = cell(web, path, first)
    kit.equal((done["status"], done["stderr"]), ("ok", ""), str(done)[:1000])
    done = cell(web, path, second)
    kit.equal((done["status"], done["stderr"]), ("ok", ""), str(done)[:1000])
    kit.equal(done["stdout"] or done["outputs"][-1]["text/plain"], want)
    if error:
        bad, kind, line = error
        done = cell(web, path, bad)
        kit.equal((done["status"], done["exit_code"], done["session"]["state"]), ("failed", 1, "kept"), str(done)[:1000])
        kit.equal((done["error"]["type"], done["error"]["line"]), (kind, line), str(done)[:1000])
    done = cell(web, path, endless, timeout=1)
    kit.equal((done["status"], done["session"]["state"]), ("timeout", "kept"), str(done)[:1000])
    done = cell(web, path, second)
    kit.equal(done["stdout"] or done["outputs"][-1]["text/plain"], want)
    found = web.post(path + "/complete", {"code": "", "cursor": 0})
    kit.equal((found.status, found.json["matches"]), (200, []))
    done = cell(web, path, end)
    kit.equal((done["session"]["state"], done["exit_code"]), ("lost", code), str(done)[:1000])


for name in CASES:
    kit.test(lambda name=name: language(name), name=name, timeout=FIRST)


@kit.test(timeout=FIRST)
def rich_results():
    running = Service(listen=True)
    web = Web(running, timeout=FIRST)
    path = "/v1/sessions/" + web.post("/v1/sessions", {"language": "python"}).json["id"]
    done = cell(web, path, "class A:\n    def __repr__(self): return 'a'\n    def _repr_html_(self): return '<b>a</b>'\nA()")
    kit.equal(done["outputs"], [{"text/plain": "a", "text/html": "<b>a</b>"}])
    found = web.post(path + "/complete", {"code": "é = pri", "cursor": 7}).json
    kit.equal((found["matches"], found["cursor_start"], found["cursor_end"]), (["print"], 4, 7))
    done = web.post(path + "/inspect", {"code": "print", "cursor": 5}).json
    kit.true(done["found"], done)
    done = cell(web, path, "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()", timeout=60)
    kit.equal((done["status"], done["stderr"]), ("ok", ""), str(done)[:1000])
    kit.equal([sorted(output) for output in done["outputs"]], [["image/png", "image/svg+xml", "text/plain"]])
    done = cell(web, path, "plt.plot([1, 2])\nplt.show()\n1/0", timeout=60)
    kit.equal((done["error"]["type"], [sorted(output) for output in done["outputs"]]),
              ("ZeroDivisionError", [["image/png", "image/svg+xml", "text/plain"]]), "drawn before it failed")
    kit.equal(cell(web, path, "plt.get_fignums()")["outputs"], [{"text/plain": "[]"}], "left for the next cell")
    done = cell(web, path, "!echo by IPython", timeout=60)
    kit.equal((done["status"], done["stdout"], done["stderr"]), ("ok", "by IPython\n", ""), str(done)[:1000])


@kit.test(timeout=FIRST)
def fixes_are_of_the_cell():
    """A suggestion is told as a change of the cell's own text, whatever its driver calls the cell."""
    web = Web(Service(listen=True), timeout=FIRST)
    for name, code, column in (
        ("python", "total = 41\nprint('é', totla)", 12),
        ("javascript", "const total = 41\nconsole.log('é', totla)", 18),
        ("ruby", "total = 41\nputs totla", 6),
    ):
        path = "/v1/sessions/" + web.post("/v1/sessions", {"language": name}).json["id"]
        # The same words elsewhere: columns are those of the cell that failed.
        cell(web, path, "1\n      1")
        error = cell(web, path, code)["error"]
        kit.equal(error["suggestion"], "Replace `totla` with `total`.", name)
        kit.equal((error["fix"] or {}) | {"file": error["file"]}, {"file": error["file"], "line": 2, "column": column, "end_column": column + 5, "text": "total"}, name)
        kit.equal(error["fix"]["file"], error["file"], name)
        kit.equal([line["line"] for line in error["context"] if line["mark"]], [2], name)
        fixed = cell(web, path, code.replace("const total", "var other").replace("totla", error["fix"]["text"]))
        kit.equal(fixed["status"], "ok", str(fixed)[:1000])


@kit.test(timeout=FIRST)
def a_nul_is_a_byte():
    """In code it is that language's to refuse; the session lives on, and what it reads is what was sent."""
    web = Web(Service(listen=True), timeout=FIRST)
    for name, last in (("bash", "echo on"), ("python", "print('on')"), ("javascript", "console.log('on')"), ("ruby", "puts 'on'"),
                       ("sqlite", "select 'on'")):
        path = "/v1/sessions/" + web.post("/v1/sessions", {"language": name}).json["id"]
        for code in ("a\0b", "\0", "\0" * 3 + "\n", "x" * 5000 + "\0"):
            done = cell(web, path, code, timeout=20)
            kit.true(done["status"] in ("ok", "failed"), f"{name}: {code[:9]!r}: {done['status']}")
        done = cell(web, path, last)
        kit.equal((done["status"], "on" in done["stdout"] + str(done["outputs"])), ("ok", True), name)
    path = "/v1/sessions/" + web.post("/v1/sessions", {"language": "bash"}).json["id"]
    for data in ("a\0b", "\0", "\0\0a\n\0", "x" * 70000 + "\0y"):
        # Options of a cell's own are not in the way of the next.
        done = cell(web, path, "set -eu; cat | od -An -v -tx1 | tr -d ' \\n'", stdin=data, limits={"max_output": "1m"}, timeout=20)
        kit.equal((done["status"], bytes.fromhex(done["stdout"]) == data.encode()), ("ok", True), data[:9])


@kit.test(timeout=FIRST)
def programs_of_postgres_have_no_channel():
    running = Service(listen=True)
    web = Web(running, timeout=FIRST)
    path = "/v1/sessions/" + web.post("/v1/sessions", {"language": "postgres"}).json["id"]
    look = "readlink /proc/2/fd/3; for fd in /proc/$$/fd/*; do readlink $fd; done; :"
    done = cell(web, path, f"create table o (l text); copy o from program '{look}'; select * from o")
    kit.equal(done["status"], "ok", str(done)[:1000])
    channel, *found = [row["l"] for row in done["outputs"][-1]["application/json"]["rows"]]
    kit.matches(channel, r"^socket:")  # of the driver, which is process 2
    kit.true(len(found) >= 3 and channel not in found, found)


kit.main()
