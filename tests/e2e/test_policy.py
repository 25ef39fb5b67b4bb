#!/usr/bin/python3
# tests/run: args=--as root | --as user
# tests/run: builds=release asan
# tests/run: asan=--as root
# tests/run: timeout=180
"""The look before a run: check, the policy of the settings, its lists, and who may leave it out."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from service import Service
from web import Web

BLOCKED = "Security policy blocked import: os"
BLOCK = {"SANDBOX_BLOCK_DANGEROUS_IMPORTS": "true"}


def home(registry=None):
    place = kit.tmp()
    if registry:
        kit.write(os.path.join(place, "registry.yaml"), registry, 0o600)
    return place


def run(place, *args, env=None, stdin=None):
    return kit.emberbox(*args, env={"EMBERBOX_HOME": place, **(env or {})}, stdin=stdin)


def events(place, name):
    lines = run(place, "audit", "--json").text.splitlines()
    return [e for e in map(json.loads, lines) if e["event"] == name]


@kit.test
def check_tells_and_runs_nothing():
    place = home()
    path = kit.write(os.path.join(place, "a.py"), 'import os\nos.system("touch gone")\ndef f(:\n')
    r = run(place, "check", path)
    kit.equal(r.code, 1)
    kit.equal(r.text.splitlines()[:4], ["1:8 high import os: blocked: files, processes and the environment", "    import os",
                                        "2:1 high os.system: starts a shell", '    os.system("touch gone")'])
    report = json.loads(run(place, "check", path, "--json").text)
    kit.equal((report["language"], report["checked"], report["clean"], report["blocked_imports"]), ("python", True, False, ["os"]))
    kit.equal([(e["line"], e["column"]) for e in report["syntax_errors"]], [(3, 7)])
    kit.equal((report["findings"][0]["rule"], report["findings"][0]["severity"]), ("os.system", "high"))
    clean = run(place, "check", "-l", "python", "-", stdin=b"print(1)\n")
    kit.equal((clean.code, clean.text), (0, "python: nothing to say\n"))


@kit.test
def check_says_what_it_cannot():
    place = home()
    kit.equal(run(place, "check", "-l", "lua", "-c", "x = 1").code, 125)
    kit.equal(run(place, "check", "-l", "nonsense", "-c", "x").code, 127)
    kit.equal(run(place, "check").code, 2)
    kit.equal(run(place, "check", "/nowhere/a.py").code, 2)
    r = run(place, "check", "-l", "python", "-c", "x", env={"EMBERBOX_POLICY": "maybe"})
    kit.equal(r.code, 2)
    kit.contains(r.errtext, 'EMBERBOX_POLICY: "maybe" is not one of off, warn, block')


@kit.test
def a_blocked_import_is_not_run():
    place = home()
    r = run(place, "run", "--cold", "-l", "python", "-c", "print(1)\nimport os, math, socket", "--json", env=BLOCK)
    kit.equal((r.code, r.json["status"], r.json["exit_code"], r.json["error_message"]), (126, "blocked", 126, BLOCKED))
    kit.equal((r.json["meta"]["blocked_imports"], r.json["stdout"]), (["os", "socket"], ""))
    plain = run(place, "run", "--cold", "-l", "python", "-c", "import os", env=BLOCK)
    kit.equal((plain.code, plain.errtext), (126, f"emberbox: {BLOCKED}\n"))
    # Beside it: what imports nothing of the list runs, and without the setting everything does.
    allowed = run(place, "run", "--cold", "-l", "python", "-c", "import math; print(math.floor(2.5))", env=BLOCK)
    kit.equal((allowed.code, allowed.text), (0, "2\n"))
    kit.equal(run(place, "run", "--cold", "-l", "python", "-c", "import os; print(3)").text, "3\n")
    listed = json.loads(run(place, "history", "--json").text)
    kit.equal([e["status"] for e in listed["executions"]].count("blocked"), 2)


@kit.test
def files_are_looked_at_too():
    place = home()
    own = kit.write(os.path.join(place, "own.py"), "import os\n")
    r = run(place, "run", "--cold", "-l", "python", "-c", "import own", "--file", own, env=BLOCK)
    kit.equal((r.code, r.errtext), (126, f"emberbox: {BLOCKED}\n"))
    r = run(place, "run", "--cold", "-l", "python", "--project", place, "--entry", "own.py", env=BLOCK)
    kit.equal((r.code, r.errtext), (126, f"emberbox: {BLOCKED}\n"))
    data = kit.write(os.path.join(place, "own.txt"), "import os\n")
    kit.equal(run(place, "run", "--cold", "-l", "python", "-c", "print(1)", "--file", data, env=BLOCK).code, 0)


@kit.test
def a_warning_is_told_with_the_result():
    place = home()
    r = run(place, "run", "--cold", "-l", "python", "-c", "import os\nprint(1)", "--json", "--policy", "warn")
    kit.equal((r.code, r.json["stdout"]), (0, "1\n"))
    kit.equal((r.json["meta"]["policy_warnings"], r.json["meta"]["blocked_imports"]), (["line 1: import os"], []))
    warned = ("run", "--cold", "-l", "python", "-c", "import os\nprint(1)")
    r = run(place, *warned, "--policy", "warn")
    kit.equal((r.code, r.text, r.errtext), (0, "1\n", "emberbox: policy: line 1: import os\n"))
    for manner in (("--policy", "warn", "--quiet"), ()):
        r = run(place, *warned, *manner)
        kit.equal((r.code, r.text, r.errtext), (0, "1\n", ""))
    r = run(place, "run", "--cold", "-l", "python", "-c", "1", "--policy", "loud")
    kit.equal(r.code, 2)
    kit.contains(r.errtext, 'policy: "loud" is none of off, warn, block')


@kit.test
def lists_of_the_registry_count():
    place = home("policy:\n  py: {block: [json], allow: [os.path]}\n")
    for code, want in (("import json", 126), ("import os.path", 0), ("import os", 126), ("import math", 0)):
        kit.equal(run(place, "run", "--cold", "-l", "python", "-c", code, "--policy", "block").code, want, code)
    bad = home("policy:\n  python: {blocks: [json]}\n")
    r = run(bad, "run", "--cold", "-l", "python", "-c", "1")
    kit.equal(r.code, 2)
    kit.matches(r.errtext, r'registry.yaml:2:\d+: policy.python: unknown key "blocks"; did you mean "block"\?')


@kit.test
def leaving_it_out_is_written_down():
    place = home()
    r = run(place, "run", "--cold", "-l", "python", "-c", "import os; print(1)", "--policy", "off", env=BLOCK)
    kit.equal((r.code, r.text), (0, "1\n"))
    kit.equal([(e["reason"], e["door"], e["how"]) for e in events(place, "policy_bypassed")], [("policy", "cli", "--policy")])


@kit.test(timeout=60)
def the_service_has_the_same_policy():
    running = Service(listen=True, home=home("containers: {py: {language: python}}\npolicy: {python: {block: [json]}}\n"),
                      env=BLOCK)
    asking = Web(running)
    for code, status in (("import os", "blocked"), ("import json", "blocked"), ("print(1)", "ok")):
        kit.equal(asking.post("/v1/execute", {"language": "python", "code": code}).json["status"], status, code)
    answer = asking.post("/v1/execute", {"language": "python", "code": "import os"})
    kit.equal((answer.status, answer.json["exit_code"], answer.json["meta"]["blocked_imports"]), (200, 126, ["os"]))
    started = asking.post("/containers/start", {"container": "py", "code": "import json"}).json
    kit.equal(started["result"]["status"], "blocked")
    inside = {"id": started["id"]}
    kit.equal(asking.post("/containers/exec", {**inside, "code": "import os"}).json["error_message"], BLOCKED)
    kit.equal(asking.post("/containers/exec", {**inside, "code": "print(2)"}).json["stdout"], "2\n")


@kit.test(timeout=60)
def who_is_trusted_may_leave_it_out():
    place = home()
    plain = run(place, "token", "add", "plain", "--scope", "execute").text.split()[0]
    trusted = run(place, "token", "add", "friend", "--scope", "execute,trusted").text.split()[0]
    running = Service(listen=True, home=place, env=BLOCK)
    request = {"language": "python", "code": "import os; print(1)", "policy": "off"}
    refused = Web(running, token=plain).post("/v1/execute", request)
    kit.equal(refused.error, (403, "forbidden_scope", "policy"))
    kit.equal(Web(running, token=trusted).post("/v1/execute", request).json["stdout"], "1\n")
    # The first token is the owner's own, and admin is everything: both may, and both are written down.
    admin = run(place, "token", "add", "chief", "--scope", "admin").text.split()[0]
    kit.equal(Web(running, token=admin).post("/v1/execute", request).json["stdout"], "1\n")
    kit.equal(Web(running).post("/v1/execute", request).json["stdout"], "1\n")
    kit.eventually(lambda: [e["caller"] for e in events(place, "policy_bypassed")] == ["friend", "chief", "default"], "it is not written down")


@kit.test(timeout=60)
def check_over_http():
    running = Service(listen=True, home=home("policy: {python: {block: [json]}}\n"))
    asking = Web(running)
    report = asking.post("/v1/check", {"language": "py", "code": "import json\nx = __import__('o' + 's')\n"}).json
    kit.equal([(e["module"], e["how"], e["blocked"]) for e in report["imports"]], [("json", "plain", True), ("os", "dynamic", True)])
    kit.equal(asking.post("/v1/check", {"language": "sql", "code": "DELETE FROM t"}).json["findings"][0]["rule"], "delete !where")
    kit.equal(asking.post("/v1/check", {"language": "lua", "code": "x"}).json["checked"], False)
    for body, field in (({"language": "python"}, "code"), ({"code": "x"}, "language"), ({"language": "nope", "code": "x"}, "language"),
                        ({"language": "c", "code": "x", "more": 1}, "more")):
        answer = asking.post("/v1/check", body)
        kit.equal((answer.status, answer.json["error"]["field"]), (400, field))
    for body, sentence in (({"lang": "c", "code": "x"}, "lang: there is no such field; did you mean language?"),
                           ({"sandboxing": 1}, "sandboxing: there is no such field; leave it out")):
        kit.equal(asking.post("/v1/check", body).json["error"]["message"], sentence)


kit.main()
