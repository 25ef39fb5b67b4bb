#!/usr/bin/python3
# tests/run: args=--as root
# tests/run: timeout=180
"""What a model is told when something does not go well: that it would know what to do next with the tools that it has."""

import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from mcp import Http, text
from service import Service

REGISTRY = """
containers:
  shell: {language: bash, description: a shell, resources: {memory: 64m, timeout: 20}}
  careful: {language: bash, security: {needs_confirm: true}}
"""
NEW = "call run_in_session with a language and without a session for another"


def serve(registry=REGISTRY, **options):
    home = kit.tmp()
    if registry:
        kit.write(os.path.join(home, "registry.yaml"), registry, 0o600)
    running = Service(listen=True, home=home, **options)
    return running, Http(running)


@kit.test(timeout=60)
def limits_say_which_argument_raises_them():
    running, client = serve()
    result = client.run("python", "import time\nprint('begun', flush=True)\ntime.sleep(60)", timeout=0.5)
    lines = text(result).splitlines()
    kit.equal(lines[1:5], ["Code execution timed out after 0.5s",
                           "suggestion: Do less at once, or give a larger timeout (it was 0.5 s).", "stdout:", "begun"])
    result = client.run("python", "x = 'x' * (1 << 30)", memory_limit="64m")
    kit.equal(text(result).splitlines()[1:4],
              ["Memory limit of 64m exceeded",
               "suggestion: Hold less at once, or give a larger memory_limit (it was 64m).", "no output"])
    # The argument that is named does it; megabytes may be a number.
    kit.equal(client.run("python", "x = 'x' * (100 << 20)\nprint(len(x))", memory_limit=256)["structuredContent"]["stdout"], "104857600\n")
    # What has its own suggestion gets no second one.
    kit.equal(len(re.findall("^suggestion:", text(client.run("python", "1 / 0")), re.M)), 1)
    kit.equal(re.findall("^suggestion:", text(client.run("python", "print(1)")), re.M), [])
    running.stop()


@kit.test
def what_the_policy_blocks_is_found_by_check_code():
    running, client = serve(env={"SANDBOX_BLOCK_DANGEROUS_IMPORTS": "true"})
    result = client.run("python", "import os\nprint(os.getcwd())")
    kit.equal((result["isError"], result["structuredContent"]["status"]), (True, "blocked"))
    kit.contains(text(result), "Security policy blocked import: os\n")
    kit.equal(len(re.findall("^suggestion:", text(result), re.M)), 1, text(result))
    checked = client.call("check_code", {"language": "python", "code": "import os\nimport json\nprint(eval('1'))"})
    lines = text(checked).splitlines()
    kit.matches(lines[0], r"^python: not clean; 2 imports, 1 of them blocked, [1-9]\d* findings?s?, 0 syntax errors$")
    kit.matches(text(checked), r"(?m)^1:\d+ import os: blocked, high: .+")
    kit.matches(text(checked), r"(?m)^3:\d+ .*eval.*: (high|medium): .+")
    # Lines, not JSON: this is what a model pays for.
    kit.true(len(text(checked)) < len(json.dumps(checked["structuredContent"])) / 2, text(checked))
    kit.equal(text(client.call("check_code", {"language": "python", "code": "print(1)"})),
              "python: clean; 0 imports, 0 of them blocked, 0 findings, 0 syntax errors\n")
    kit.matches(text(client.call("check_code", {"language": "python", "code": "x = (1,\n"})), r"(?m)^\d+:\d+ .*syntax error: .+")
    kit.matches(text(client.call("check_code", {"language": "r", "code": "x <- 1"})), r"^r was not checked: .+|^r: clean")
    many = "import os\n" * 2000
    kit.true(len(text(client.call("check_code", {"language": "python", "code": many}))) < 8000, "it has no bound")
    running.stop()


@kit.test
def a_session_that_is_gone_says_how_to_get_another():
    running, client = serve()
    id = client.call("run_in_session", {"language": "python", "code": "x = 1"})["structuredContent"]["session"]["id"]
    lost = client.call("run_in_session", {"session": id, "code": "import os; os._exit(3)"})
    kit.contains(text(lost), "its state is lost")
    for tool, arguments in (("run_in_session", {"code": "x"}), ("read_file", {"path": "x"}), ("list_files", {}),
                            ("write_file", {"path": "x", "content": "y"})):
        for session in (id, "nonesuch"):
            result = client.call(tool, {"session": session, **arguments})
            kit.equal(result["isError"], True)
            kit.matches(text(result), r"^session: .*; " + NEW + "$")
            kit.true("restart" not in text(result), "there is no tool for that")
    # And that is what it takes.
    kit.equal(client.call("run_in_session", {"language": "python", "code": "2"})["isError"], False)
    running.stop()


@kit.test
def a_language_that_is_not_there_says_what_else_would_do():
    home = kit.tmp()
    for name, tool in (("shout", "/nonexistent/sh"), ("whisper", "/bin/sh")):
        kit.write(os.path.join(home, "runtimes", name, "runtime.yaml"),
                  f'display: {name.title()}\nfile: x.sh\ntools: {{sh: [{tool}]}}\nversion: ["{{sh}}", -c, "echo 1"]\n'
                  'install: make a wish\nrun: ["{sh}", -c, "echo mine"]\n')
    running = Service(listen=True, home=home)
    client = Http(running)
    kit.equal(text(client.run("shout", "x")),
              "Shout is not installed on this machine; use another language, or ask the user to install it: make a wish")
    kit.matches(text(client.run("cobol", "x")), r'^Unknown language "cobol"; available: .*\bpython\b.*\bwhisper\b')
    kit.true("shout" not in text(client.run("cobol", "x")), "what is not installed is not available")
    kit.equal(text(client.call("run_in_session", {"language": "perl", "code": "1"})),
              "language: Perl has no sessions; run programs of it with run_code")
    # Those that have them are named before anybody has to ask.
    described = client.tools()["run_in_session"]["inputSchema"]["properties"]["language"]["description"]
    named = set(re.split(r", | or ", described.removeprefix("The language of a new session: ").removesuffix(".")))
    folder = os.path.join(kit.REPO, "runtimes")
    have = {name for name in os.listdir(folder) if re.search("^session:", open(os.path.join(folder, name, "runtime.yaml"), encoding="utf-8").read(), re.M)}
    kit.equal(named, have)
    running.stop()


@kit.test
def confirmations_do_not_name_what_a_model_cannot_send():
    running, client = serve()
    sentence = ('profile "careful" needs a confirmation by a person, whom this client cannot ask; use another profile, or ask '
                "the user to run it with emberbox run --profile")
    arguments = {"language": "bash", "code": "echo x", "profile": "careful"}
    kit.equal(text(client.call("run_code", arguments)), sentence)
    refused = Http(running, modern=True).call("run_code", arguments)
    kit.equal((refused["isError"], text(refused)), (True, sentence))
    running.stop()


@kit.test
def containers_are_told_as_lines():
    running, client = serve()
    kit.equal(text(client.call("container_list")),
              "profiles, for container_start:\n- shell (bash): a shell, memory 64m, timeout 20\n"
              "- careful (bash), a person has to confirm\nno containers are running\n")
    kit.equal(text(client.call("container_start", {"container": "nonesuch"})),
              "container: the registry has none of that name; container_list names them")
    started = client.call("container_start", {"container": "shell"})
    id = started["structuredContent"]["id"]
    kit.equal(text(started), f"container {id} is running; use container_exec to run commands in it\n")
    kit.contains(text(client.call("container_list")), f"containers:\n- {id} (shell): ")
    kit.equal(text(client.call("container_stop", {"id": id})), f"container {id}: stopped\n")
    running.stop()
    running, client = serve(registry=None)
    kit.matches(text(client.call("container_list")), r"^no profiles: .*run_code or run_in_session\nno containers are running\n$")
    running.stop()


@kit.test
def a_long_list_of_files_says_how_many_more():
    running, client = serve()
    code = "import os\nfor i in range(2000): open(f'/sandbox/data/{i:0100}', 'w')"
    id = client.call("run_in_session", {"language": "python", "code": code})["structuredContent"]["session"]["id"]
    listed = client.call("list_files", {"session": id, "path": "/sandbox/data"})
    shown = text(listed).splitlines()
    kit.matches(shown[-1], r"^\[… and \d+ more; give a path to shorten the list …\]$")
    kit.equal(len(shown) - 2 + int(re.search(r"\d+", shown[-1])[0]), len(listed["structuredContent"]["files"]))
    running.stop()


@kit.test(timeout=60)
def a_budget_bounds_all_that_is_text():
    """Output, errors, messages, rich results, names of files: each without end, within the budget and a little for what says
    so."""
    running, client = serve()
    taker = Http(running, capabilities={"experimental": {"emberbox/resource-links": {}}})
    cases = (
        ("run_code", "import sys\nprint('x\\n' * 10**5)\nprint('y' * 10**5, file=sys.stderr)\nsys.exit(1)", "get_output"),
        ("run_code", "raise Exception('x' * 10**6)", "get_output"),
        ("run_code", "for i in range(100): open(f'/sandbox/output/{i}' + 'n' * 200, 'w').write('1')", "more; list_files has them"),
        ("run_in_session", "class R:\n    def __repr__(self): return 'x' * 1000\nfor i in range(200): display(R())", "more results left out"),
        ("run_in_session", "'y' * 10**6", "bytes left out"),
    )
    for tool, code, says in cases:
        for tokens in (200, 2000):
            result = client.call(tool, {"language": "python", "code": code, "max_tokens": tokens})
            size = sum(len(block["text"].encode()) for block in result["content"] if block["type"] == "text")
            kit.true(size <= 3 * tokens + 600, f"{code[:40]!r}: {size} bytes for {tokens} tokens")
            kit.contains(text(result), says)
            result = taker.call(tool, {"language": "python", "code": code, "max_tokens": tokens})
            links = sum(len(json.dumps(block)) for block in result["content"] if block["type"] == "resource_link")
            kit.true(links <= 3 * tokens, f"{links} bytes of links for {tokens} tokens")
    # The same with room for it is whole.
    result = taker.run("python", "for i in range(5): open(f'/sandbox/output/{i}.txt', 'w').write('1')")
    kit.contains(text(result), "files in /sandbox/output: 5\n  0.txt (1 bytes)\n  1.txt (1 bytes)\n  2.txt (1 bytes)\n  3.txt (1 bytes)\n  4.txt")
    kit.equal(len([block for block in result["content"] if block["type"] == "resource_link"]), 5)
    listed = client.call("list_files", {"execution": client.run("python", cases[2][1])["structuredContent"]["id"], "path": "/sandbox/output"})
    kit.equal(len(listed["structuredContent"]["files"]), 100, "list_files does have them")
    running.stop()


@kit.test
def a_tool_offers_nothing_that_is_not_there():
    """Each argument of run_code, used: none is answered with `not available`."""
    running, client = serve()
    good = {"language": "python", "code": "print(1)", "filename": "a.py", "stdin": "x", "args": ["a"], "env": {"A": "b"},
            "files": {"f": "x"}, "timeout": 5, "memory_limit": "128m", "read_only": True, "network": "none", "profile": "shell",
            "max_tokens": 300}
    kit.equal(set(client.tools()["run_code"]["inputSchema"]["properties"]), set(good))
    for name, value in good.items():
        arguments = {"language": "bash", "code": "echo 1"} if name == "profile" else {"language": "python", "code": "print(1)"}
        result = client.call("run_code", {**arguments, name: value})
        kit.equal((result["isError"], result["structuredContent"]["stdout"]), (False, "1\n"), name)
    running.stop()


@kit.test
def the_list_of_tools_has_a_bound():
    """What a client puts before a model with each conversation: names, descriptions and inputs, at three bytes a token."""
    running, client = serve()
    shown = [{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in client.tools().values()]
    kit.true(len(json.dumps(shown)) < 3 * 4000, len(json.dumps(shown)))
    for tool in client.tools().values():
        for name, field in tool["inputSchema"]["properties"].items():
            kit.true(field.get("description"), f"{tool['name']}.{name} is not described")
    running.stop()


kit.main()
