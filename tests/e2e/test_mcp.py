#!/usr/bin/python3
# tests/run: args=--as root | --as user
# tests/run: builds=release asan
# tests/run: asan=--as root
# tests/run: timeout=240
"""MCP over HTTP, in both revisions: messages, tools, resources, progress, cancellation, confirmations, sessions."""

import base64
import json
import os
import re
import sys
import threading
import time
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
import mcp
from mcp import Http, Refused, text
from service import Service, box
from web import Web

TOOLS = {"run_code", "run_in_session", "check_code", "read_file", "write_file", "list_files", "get_output", "get_report", "detect_intent",
         "container_list", "container_start", "container_exec", "container_stop"}
REGISTRY = """
containers:
  shell:
    language: bash
  careful:
    language: bash
    security: {needs_confirm: true}
"""
CAREFUL = {"language": "bash", "code": "echo agreed", "profile": "careful"}
LINKS = {"emberbox/resource-links": {}}
PNG = base64.b64decode(b"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


def serve(**options):
    home = kit.tmp()
    kit.write(os.path.join(home, "registry.yaml"), REGISTRY, 0o600)
    return Service(listen=True, home=home, **options)


def known(running, token):
    """A token that was just added, once the front knows it: that the configuration was read again is said a moment before."""
    kit.eventually(lambda: Web(running).get("/v1/languages", {"Authorization": f"Bearer {token}"}).status != 401, "the token is not known")
    return token


def endless():
    """A program that says something and does not end by itself, and how long it would sleep."""
    seconds = f"1000.{uuid.uuid4().int}"
    return {"language": "bash", "code": f"echo ready; sleep {seconds}", "timeout": 300}, seconds


def refused(call, code, status=None):
    try:
        call()
    except Refused as error:
        kit.equal((error.code, error.status if status else None), (code, status))
        return error
    return kit.fail(f"no error, but {code} was expected")


def both(test):
    """Once for each revision."""
    @kit.test(name=test.__name__, timeout=60)
    def run():
        running = serve()
        for modern in (False, True):
            test(running, Http(running, modern=modern))
        running.stop()
    return run


# Messages


@kit.test
def initialize_begins_a_session():
    running = serve()
    client = Http(running, hello=False)
    result = client.hello()
    kit.equal(result["protocolVersion"], "2025-11-25")
    kit.equal(result["capabilities"], {"tools": {}, "resources": {}})
    kit.equal(result["serverInfo"]["name"], "emberbox")
    kit.contains(result["instructions"], "- python: Python 3 with its standard library")
    kit.matches(client.session, r"^[0-9a-f]{48}$")
    kit.equal(client.request("ping"), {})
    for asked, answered in (("2025-06-18", "2025-06-18"), ("2024-11-05", "2024-11-05"), ("2099-01-01", "2025-11-25"),
                            ("2026-07-28", "2025-11-25")):
        params = {"protocolVersion": asked, "capabilities": {}, "clientInfo": mcp.INFO}
        other = Http(running, hello=False)
        kit.equal(other.request("initialize", params)["protocolVersion"], answered)
        kit.true(other.session != client.session, "a session of its own")
    running.stop()


@kit.test
def a_session_ends_and_is_somebodys():
    running = serve()
    client = Http(running)
    kit.equal(client.post(client.message("ping", id=1), {"Mcp-Session-Id": None}).status, 400)
    kit.equal(client.post(client.message("ping", id=1), {"Mcp-Session-Id": "0" * 48}).status, 404)
    # Over the Unix socket it is somebody else who asks.
    other = Http(running, hello=False, unix=True)
    other.session = client.session
    kit.equal(other.post(other.message("ping", id=1)).status, 404)
    kit.equal(client.post(client.message("ping", id=1), {"MCP-Protocol-Version": "1999-01-01"}).status, 400)
    kit.equal(client.request("ping"), {})
    for status in (204, 404):
        connection = client.connect()
        connection.request("DELETE", "/mcp", headers=client.headers(None, None))
        kit.equal(connection.getresponse().status, status)
    kit.equal(client.post(client.message("ping", id=1)).status, 404)
    connection = client.connect()
    connection.request("GET", "/mcp", headers=client.headers(None, None))
    answer = connection.getresponse()
    kit.equal((answer.status, answer.getheader("Allow")), (405, "POST, DELETE"))
    running.stop()


@kit.test
def who_has_many_sessions_loses_the_one_it_used_least():
    running = serve()
    first, second = Http(running), Http(running)
    for _ in range(254):
        Http(running)
    kit.equal(first.request("ping"), {})  # 256, as many as may be; the second is now the one that was not used for longest
    Http(running)
    kit.equal(second.post(second.message("ping", id=1)).status, 404)
    kit.equal(first.request("ping"), {})
    other = Http(running, unix=True)  # another caller takes none of theirs
    kit.equal((other.request("ping"), first.request("ping")), ({}, {}))
    running.stop()


@kit.test
def what_is_no_message_is_refused():
    running = serve()
    client = Http(running)
    for body, code in ((b"{", -32700), (b"", -32700), (b"[]", -32600), (b"[" * 5000, -32700), (b"1", -32600),
                       (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600), (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
                       (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600), (b'{"jsonrpc":"2.0","id":1}', -32600),
                       (b'{"jsonrpc":"2.0","id":1,"method":1}', -32600), (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602),
                       (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32700), (b'{"a":[' + b"1," * 20000 + b"1]}", -32600)):
        answer = client.post(body)
        kit.equal((answer.status, answer.messages[0]["error"]["code"]), (400, code), body[:60])
    kit.equal(client.post({"jsonrpc": "2.0", "id": 7, "method": 1}).messages[0]["id"], 7)
    for id in ("a", 0, -1, 1.5, "x" * 256):
        kit.equal(client.request("ping", id=id), {})
    refused(lambda: client.request("no/such"), -32601, 200)
    refused(lambda: client.request("server/discover"), -32601, 200)
    refused(lambda: client.call("no_such_tool"), -32602, 200)
    refused(lambda: client.request("tools/call", {"name": "run_code", "arguments": []}), -32602, 200)
    # Nobody asked this, and nothing is cancelled by it.
    kit.equal(client.post({"jsonrpc": "2.0", "id": "ask-99", "result": {}}).status, 202)
    client.notify("notifications/cancelled", {"requestId": 4711})
    client.notify("notifications/no/such")
    kit.equal(client.request("ping"), {})
    running.stop()


@kit.test
def of_2026_each_request_says_all():
    running = serve()
    client = Http(running, modern=True)
    result = client.request("server/discover")
    kit.equal(result["supportedVersions"][:2], ["2026-07-28", "2025-11-25"])
    kit.equal((result["capabilities"], result["cacheScope"]), ({"tools": {}, "resources": {}}, "public"))
    kit.equal(client.request("tools/list")["ttlMs"], 3600000)
    refused(lambda: client.request("initialize"), -32601, 404)
    refused(lambda: client.request("ping"), -32601, 404)
    refused(lambda: client.request("tools/list", headers={"Mcp-Method": "ping"}), -32020, 400)
    refused(lambda: client.request("tools/list", headers={"Mcp-Method": None}), -32020, 400)
    refused(lambda: client.request("tools/list", headers={"MCP-Protocol-Version": "2025-11-25"}), -32020, 400)
    name = {"name": "container_list", "arguments": {}}
    refused(lambda: client.request("tools/call", name, headers={"Mcp-Name": "run_code"}), -32020, 400)
    coded = "=?base64?" + base64.b64encode(b"container_list").decode() + "?="
    kit.equal(client.request("tools/call", name, headers={"Mcp-Name": coded})["structuredContent"]["running"], [])
    error = refused(lambda: client.request("tools/list", {"_meta": {mcp.META + "protocolVersion": "2099-01-01"}},
                                           headers={"MCP-Protocol-Version": "2099-01-01"}), -32022, 400)
    kit.equal((error.data["requested"], error.data["supported"][0]), ("2099-01-01", "2026-07-28"))
    refused(lambda: client.request("tools/list", {"_meta": {mcp.META + "clientCapabilities": None}}), -32602, 400)
    kit.equal(client.post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).status, 400)
    connection = client.connect()
    connection.request("DELETE", "/mcp", headers=client.headers(None, {"MCP-Protocol-Version": mcp.MODERN}))
    kit.equal(connection.getresponse().status, 405)
    running.stop()


@kit.test
def who_may_ask_is_asked_first():
    running = serve()
    client = Http(running)
    kit.equal(client.post(client.message("ping", id=1), {"Authorization": None}).status, 401)
    kit.equal(client.post(client.message("ping", id=1), {"Origin": "http://evil.example"}).status, 403)
    kit.equal(client.post(client.message("ping", id=1), {"Host": "evil.example"}).status, 403)
    made = kit.emberbox("token", "add", "reader", "--scope", "read", env={"EMBERBOX_HOME": running.home})
    kit.equal(made.code, 0, made.errtext)
    reader = Http(running, token=known(running, made.text.split()[0]))
    kit.equal(set(reader.tools()), TOOLS)
    result = reader.run("bash", "echo no")
    kit.equal((result["isError"], text(result)), (True, "this token's scopes do not include that"))
    kit.equal(reader.call("container_list")["structuredContent"]["running"], [])
    running.stop()


# Tools


@both
def the_tools_are_those_of_the_files(running, client):
    tools = client.tools()
    kit.equal(set(tools), TOOLS)
    for name, tool in tools.items():
        with open(os.path.join(kit.REPO, "api", "tools", f"{name}.json"), encoding="utf-8") as file:
            wanted = json.load(file)
        for key in ("name", "title", "description", "annotations", "inputSchema"):
            kit.equal(tool[key], wanted[key], f"{name}: {key}")
        kit.equal((tool["outputSchema"]["type"], "$ref" in json.dumps(tool)), ("object", False))


@both
def run_code_runs_code(running, client):
    result = client.run("python", "print('hello')")
    facts = result["structuredContent"]
    kit.equal((result["isError"], facts["stdout"], facts["status"]), (False, "hello\n", "ok"))
    kit.matches(text(result), r"^ok: exit code 0, [0-9.]+ s\nstdout:\nhello\nid: " + facts["id"] + "\n$")
    found = Web(running).get(f"/v1/executions/{facts['id']}").json
    kit.equal((found["door"], found["caller"]), ("mcp", "default"))
    result = client.run("python", "import sys\nprint(input(), sys.argv[1:], open('a').read())\nsys.exit(3)", stdin="in",
                        args=["x"], files={"a": "file"})
    kit.equal((result["isError"], result["structuredContent"]["exit_code"]), (True, 3))
    kit.contains(text(result), "stdout:\nin ['x'] file\n")
    result = client.run("python", "def f(:")
    kit.equal(result["isError"], True)
    kit.matches(text(result), r"^failed: exit code 1, [0-9.]+ s\nmain.py:1:7: SyntaxError: ")


@both
def what_is_read_is_said_once(running, client):
    kit.matches(text(client.run("python", "x = 1")), r"^ok: exit code 0, [0-9.]+ s\nno output\nid: \S+\n$")
    result = client.run("sqlite", "create table t(a, b); insert into t values (1, 'x'); select * from t")
    kit.equal(text(result).split("\n", 1)[1].split("id: ")[0], "stdout:\n a | b \n---+---\n 1 | x\n(1 row)\n\n")
    kit.equal(result["structuredContent"]["outputs"][0]["application/json"]["rows"], [{"a": 1, "b": "x"}])
    result = client.call("run_in_session", {"language": "sqlite", "code": "select 1 as a", "end": True})
    kit.contains(text(result), "result:\n a \n---\n 1\n(1 row)\n")
    read = text(client.run("python", "def f():\n    1 / 0\nf()"))
    kit.equal((read.count("division by zero"), read.count("\nmain.py:2:7: ZeroDivisionError: ")), (2, 1), read)
    result = client.run("javascript", "function f() { null.x }\nf()")
    kit.contains(text(result), "\n    at f (/sandbox/code/main.js:1:")
    kit.true("node:internal" not in text(result), text(result))
    kit.contains(result["structuredContent"]["stderr"], "node:internal")


@both
def a_profile_has_its_language(running, client):
    result = client.call("run_code", {"code": "echo $BASH_VERSION", "profile": "shell"})
    kit.equal((result["isError"], result["structuredContent"]["language"]), (False, "bash"))
    result = client.call("run_code", {"code": "echo 1"})
    kit.equal((result["isError"], text(result)), (True, "language: name a language, or a profile that has one"))
    result = client.call("run_code", {"language": "bash"})
    kit.equal((result["isError"], text(result)), (True, "code: it is missing"))


@both
def who_asks_for_prompts_gets_an_empty_list(running, client):
    result = client.request("prompts/list")
    kit.equal((result["prompts"], result.get("resultType")), ([], "complete" if client.modern else None))


@both
def null_is_an_argument_that_is_not_given(running, client):
    """Clients that fill in every argument of a schema say null where nothing is meant."""
    kit.equal(client.request("tools/call", {"name": "container_list", "arguments": None}).get("isError", False), False)
    result = client.call("run_code", {"language": "python", "code": "print(1)", "stdin": None, "timeout": None, "args": None, "env": None})
    kit.equal((result["isError"], result["structuredContent"]["stdout"]), (False, "1\n"))
    result = client.call("run_code", {"language": "python", "code": None})
    kit.equal((result["isError"], text(result)), (True, "code: it is missing"))
    result = client.call("run_code", {"language": "python", "code": "1", "args": [None]})
    kit.equal((result["isError"], text(result)), (True, "args[0]: expected a string, not null"))


@both
def a_cursor_is_nobodys(running, client):
    for method in ("tools/list", "resources/list", "resources/templates/list"):
        for cursor in ("nonesuch", "", 5):
            try:
                client.request(method, {"cursor": cursor})
                kit.fail(f"{method}: a page of {cursor!r}")
            except Refused as error:
                kit.equal((error.code, str(error)), (-32602, "cursor: there is one page; leave it out"))
        kit.true("nextCursor" not in client.request(method, {"cursor": None}), method)


@both
def bad_arguments_are_explained(running, client):
    for arguments, sentence in (
        ({"language": "python"}, "code: it is missing"),
        ({"language": "python", "code": 1}, "code: expected a string, not a number"),
        ({"langage": "python", "code": "1"}, "langage: there is no such field; did you mean language?"),
        ({"language": "python", "code": "1", "max_tokens": 5}, "max_tokens: expected a number from 200 to 100000"),
        ({"language": "python", "code": "1", "timeout": 0}, "timeout: expected a number above 0"),
        ({"language": "python", "code": "1", "args": [1]}, "args[0]: expected a string, not a number"),
        ({"language": "pyhton", "code": "1"}, 'Unknown language "pyhton"'),
        ({"language": "python", "code": "1", "memory_limit": "lots"}, "memory_limit: "),
    ):
        result = client.call("run_code", arguments)
        kit.equal(result["isError"], True)
        kit.contains(text(result), sentence)
    for tool, arguments in (("get_output", {"id": "../x"}), ("container_exec", {"id": "1"}), ("container_stop", {"id": "1"}),
                            ("get_output", {"id": "01JABCDEF"}), ("read_file", {"path": "x"}), ("list_files", {}),
                            ("read_file", {"path": "x", "execution": "01JABCDEF"}), ("container_start", {"container": "none"})):
        kit.equal(client.call(tool, arguments)["isError"], True, tool)


@both
def a_long_output_comes_in_pages(running, client):
    code = "for i in range(20000): print('line', i, 'é')"
    result = client.run("python", code, max_tokens=500)
    facts = result["structuredContent"]
    whole = "".join(f"line {i} é\n" for i in range(20000))
    kit.true(len(text(result).encode()) < 500 * 4, "within its budget")
    found = re.search(r"\[… (\d+) of (\d+) bytes left out; get_output with id (\S+), stream stdout, offset (\d+) has them …\]\n",
                      text(result))
    kit.equal((int(found.group(2)), found.group(3)), (len(whole.encode()), facts["id"]))
    head, tail = text(result)[:found.start()].split("stdout:\n")[1], text(result)[found.end():].split("id: ")[0]
    kit.true(whole.startswith(head) and whole.endswith(tail), "its head and its tail")
    kit.equal(len(head.encode()), int(found.group(4)))
    pages, offset, count = [], 0, 0
    while offset is not None:
        page = client.call("get_output", {"id": facts["id"], "offset": offset, "max_tokens": 60000})["structuredContent"]
        kit.equal((page["offset"], page["size"]), (offset, len(whole.encode())))
        pages.append(page["text"])
        offset, count = page["next_offset"], count + 1
    kit.equal(("".join(pages), count), (whole, 2))
    page = client.call("get_output", {"id": facts["id"], "offset": -12})["structuredContent"]
    kit.equal((page["text"], page["next_offset"]), ("ne 19999 é\n", None))
    kit.equal(client.call("get_output", {"id": facts["id"], "stream": "stderr"})["structuredContent"]["text"], "")
    kit.equal(client.call("get_output", {"id": facts["id"], "offset": len(whole.encode())})["structuredContent"]["text"], "")
    kit.equal(client.call("get_output", {"id": facts["id"], "offset": 10 ** 9})["isError"], True)


@both
def a_larger_budget_lets_more_through(running, client):
    code = "for i in range(6000): print('%09d' % (i * 10))"
    whole = "".join(f"{i * 10:09}\n" for i in range(6000))
    result = client.run("python", code, max_tokens=20100)
    kit.equal(text(result).split("stdout:\n")[1].split("id: ")[0], whole, "60000 bytes and a few are 20100 tokens")
    id = client.call("run_in_session", {"language": "python", "code": "1"})["structuredContent"]["session"]["id"]
    cell = client.call("run_in_session", {"session": id, "code": code, "max_tokens": 20100, "end": True})
    kit.contains(text(cell), "stdout:\n" + whole)
    for tokens in (2000, 5000, 6000, 12000):
        result = client.run("python", code, max_tokens=tokens)
        shown = text(result).split("stdout:\n")[1].split("id: ")[0]
        found = re.search(r"\[… (\d+) of 60000 bytes left out; .*, offset (\d+) has them …\]\n", shown)
        head, tail = shown[:found.start()], shown[found.end():]
        left, offset = int(found.group(1)), int(found.group(2))
        kit.equal((len(head), whole[:offset], whole[offset + left:]), (offset, head, tail))
        kit.true(tokens * 3 * 0.9 < len(shown) < tokens * 3 + 200, f"{len(shown)} bytes of {tokens} tokens")


@kit.test
def a_token_bounds_what_a_budget_may_ask_for():
    running = serve()
    made = kit.emberbox("token", "add", "narrow", "--scope", "execute,read", "--max-output", "30k", env={"EMBERBOX_HOME": running.home})
    kit.equal(made.code, 0, made.errtext)
    narrow = Http(running, token=known(running, made.text.split()[0]))
    result = narrow.run("python", "print('x' * 99999)", max_tokens=20000)
    kit.equal((result["isError"], result["structuredContent"]["meta"]["resource_limits"]["max_output"]), (False, 30 << 10))
    kit.contains(text(result), " of 100000 bytes left out")
    running.stop()


@both
def pictures_and_files_come_back(running, client):
    code = f"""import base64
open('/sandbox/output/a plot.png', 'wb').write(base64.b64decode({base64.b64encode(PNG)!r}))
open('/sandbox/output/data.csv', 'w').write('a,b\\n1,2\\n')
open('/sandbox/output/raw.bin', 'wb').write(bytes(range(256)))"""
    result = client.run("python", code)
    kinds = {block["type"]: block for block in result["content"]}
    kit.equal(base64.b64decode(kinds["image"]["data"]), PNG)
    kit.equal(kinds["image"]["mimeType"], "image/png")
    kit.contains(text(result), "files in /sandbox/output: 3\n  a plot.png (70 bytes)\n")
    kit.equal([(file["path"], file["size"]) for file in result["structuredContent"]["files"]],
              [("a plot.png", 70), ("data.csv", 8), ("raw.bin", 256)])
    # Links are for who says that it takes them: others break on them.
    kit.equal([block["type"] for block in result["content"]], ["text", "image"])
    for capabilities in ({"experimental": LINKS}, {"extensions": LINKS}):
        taker = Http(running, modern=client.modern, capabilities=capabilities)
        result = taker.run("python", code)
        kit.equal([block["type"] for block in result["content"]], ["text", "resource_link", "resource_link", "resource_link", "image"])
    links = {block["name"]: block["uri"] for block in result["content"] if block["type"] == "resource_link"}
    id = result["structuredContent"]["id"]
    kit.equal(links["a plot.png"], f"emberbox://execution/{id}/output/a%20plot.png")
    kit.equal(client.request("resources/read", {"uri": links["data.csv"]})["contents"],
              [{"uri": links["data.csv"], "mimeType": "text/plain", "text": "a,b\n1,2\n"}])
    read = client.request("resources/read", {"uri": links["raw.bin"]})["contents"][0]
    kit.equal((base64.b64decode(read["blob"]), read["mimeType"]), (bytes(range(256)), "application/octet-stream"))
    got = client.call("read_file", {"execution": id, "path": "a plot.png"})
    kit.equal((got["content"][1]["mimeType"], base64.b64decode(got["content"][1]["data"])), ("image/png", PNG))
    kit.true("data" not in got["structuredContent"], "a picture comes once")
    got = client.call("read_file", {"execution": id, "path": "/sandbox/output/data.csv"})
    kit.equal((got["structuredContent"]["text"], got["structuredContent"]["next_offset"]), ("a,b\n1,2\n", None))
    got = client.call("read_file", {"execution": id, "path": "raw.bin"})["structuredContent"]
    kit.equal((got["encoding"], base64.b64decode(got["data"])), ("base64", bytes(range(256))))
    got = client.call("list_files", {"execution": id})["structuredContent"]["files"]
    kit.equal(sorted(file["path"] for file in got), ["a plot.png", "data.csv", "raw.bin"])
    kit.equal(client.call("read_file", {"execution": id, "path": "none"})["isError"], True)
    for path in ("../../../token", "a/../data.csv", "./data.csv", ".."):
        kit.equal(text(client.call("read_file", {"execution": id, "path": path})), "path: it has a part . or ..")


@both
def containers_serve_many_runs(running, client):
    listed = client.call("container_list")["structuredContent"]
    kit.equal([profile["name"] for profile in listed["profiles"]], ["shell", "careful"])
    started = client.call("container_start", {"container": "shell", "code": "echo 1 > kept; echo made"})
    id = started["structuredContent"]["id"]
    kit.equal(started["structuredContent"]["result"]["stdout"], "made\n")
    kit.contains(text(started), f"container {id} is running; use container_exec to run commands in it\nok: exit code 0")
    result = client.call("container_exec", {"id": id, "command": "cat kept"})
    kit.equal(result["structuredContent"]["stdout"], "1\n")
    kit.equal(text(client.call("container_exec", {"id": id, "command": "a", "code": "b"})), "code: give either code or a command")
    running_now = client.call("container_list")["structuredContent"]["running"]
    kit.equal([(one["id"], one["status"]) for one in running_now if one["id"] == id], [(id, "running")])
    kit.equal(client.call("container_stop", {"id": id})["structuredContent"], {"id": id, "status": "stopped"})
    kit.equal(client.call("container_exec", {"id": id, "command": "true"})["isError"], True)


@both
def a_run_has_a_report(running, client):
    code = "import sys\nprint(10 / int(sys.argv[1]))\n"
    ids = [client.call("run_code", {"language": "python", "code": code, "args": [n]})["structuredContent"]["id"] for n in "500"]
    result = client.call("get_report", {"id": ids[-1], "max_tokens": 20000})
    facts = result["structuredContent"]
    kit.equal((facts["id"], facts["truncated"], facts["markdown"]), (ids[-1], False, text(result)))
    # Why, what failed alike, and what changed since it ran well.
    for part in ("ZeroDivisionError", f"## Similar failures before\n\n- {ids[1]}, ", f"The same code ran successfully as {ids[0]}", "The earlier inputs (arguments, environment, files, input) were not kept"):
        kit.contains(facts["markdown"], part)
    cut = client.call("get_report", {"id": ids[-1], "max_tokens": 200})
    kit.equal((cut["structuredContent"]["truncated"], len(text(cut)) < 1200), (True, True))
    kit.contains(text(cut), "ask again with a larger max_tokens")
    kit.equal(client.call("get_report", {"id": "01JABCDEF"})["isError"], True)


@both
def a_message_is_judged_without_running_it(running, client):
    result = client.call("detect_intent", {"message": "Please run this:\n```python\nprint(1)\n```"})
    facts = result["structuredContent"]
    kit.equal((facts["execute"], facts["blocks"]), (True, [{"language": "python", "code": "print(1)\n"}]))
    kit.matches(text(result), r"^yes \(0\.\d\d\): .+\nblock 1: python, 9 bytes\n$")
    kit.equal(client.call("detect_intent", {"message": "Don't run this:\n```python\nprint(1)\n```"})["structuredContent"]["execute"], False)
    kit.equal(client.call("detect_intent", {})["isError"], True)
    schema = client.tools()["detect_intent"]["outputSchema"]
    kit.equal((sorted(schema["required"]), schema["additionalProperties"]), (sorted(facts), False))
    kit.equal(Web(running).get("/v1/executions").json["executions"], [], "something was run")


@both
def code_is_checked_without_running_it(running, client):
    code = "import os\nos.system('rm -rf /')\nopen('/sandbox/output/ran', 'w')"
    result = client.call("check_code", {"language": "python", "code": code})
    facts = result["structuredContent"]
    kit.equal((result.get("isError", False), facts["language"], facts["checked"], facts["clean"]), (False, "python", True, False))
    kit.equal([(one["module"], one["line"], one["how"]) for one in facts["imports"]], [("os", 1, "plain")])
    kit.contains([(one["call"], one["line"]) for one in facts["findings"]], ("os.system", 2))
    kit.contains(text(result), "os.system")
    facts = client.call("check_code", {"language": "python", "code": "print(6 * 7)"})["structuredContent"]
    kit.equal((facts["clean"], facts["imports"], facts["findings"], facts["syntax_errors"]), (True, [], [], []))
    facts = client.call("check_code", {"language": "python", "code": "x = (1,\n"})["structuredContent"]
    kit.equal((facts["clean"], len(facts["syntax_errors"]) > 0), (False, True))
    # The schema is one that can be missed: it names all, and nothing else may be there.
    schema = client.tools()["check_code"]["outputSchema"]
    kit.equal((sorted(schema["required"]), schema["additionalProperties"]), (sorted(facts), False))
    result = client.call("check_code", {"language": "pyhton", "code": "1"})
    kit.equal(result["isError"], True)
    kit.contains(text(result), 'Unknown language "pyhton"')
    kit.equal(Web(running).get("/v1/executions").json["executions"], [], "something was run")


@both
def a_session_keeps_its_state(running, client):
    result = client.call("run_in_session", {"language": "python", "code": "x = 41"})
    id = result["structuredContent"]["session"]["id"]
    kit.contains(text(result), f"session: {id} (its state is kept)")
    result = client.call("run_in_session", {"session": id, "code": "print(x + 1)"})
    kit.equal(result["structuredContent"]["stdout"], "42\n")
    result = client.call("run_in_session", {"session": id, "code": "print(input(), x)", "stdin": "told"})
    kit.equal(result["structuredContent"]["stdout"], "told 41\n")
    result = client.call("run_in_session", {"session": id, "code": "1 / 0"})
    kit.equal((result["isError"], result["structuredContent"]["error"]["type"]), (True, "ZeroDivisionError"))
    kit.equal(client.call("run_in_session", {"code": "1"})["isError"], True)
    result = client.call("run_in_session", {"session": id, "code": "print(x)", "end": True})
    kit.equal(result["structuredContent"]["stdout"], "41\n")
    kit.equal(client.call("run_in_session", {"session": id, "code": "1"})["isError"], True)


@both
def a_sessions_figure_is_a_picture(running, client):
    code = f"""import base64
class Figure:
    def _repr_png_(self): return base64.b64decode({base64.b64encode(PNG)!r})
Figure()"""
    result = client.call("run_in_session", {"language": "python", "code": code, "end": True})
    kit.equal(result.get("isError", False), False, text(result))
    pictures = [block for block in result["content"] if block["type"] == "image"]
    kit.equal([(one["mimeType"], base64.b64decode(one["data"])) for one in pictures], [("image/png", PNG)])
    # Not once more in what some clients give a model as text.
    kit.equal(result["structuredContent"]["outputs"][0]["image/png"], None)
    kit.contains(result["structuredContent"]["outputs"][0]["text/plain"], "Figure object")


@both
def a_sessions_files_are_read_written_and_listed(running, client):
    id = client.call("run_in_session", {"language": "python", "code": "x = 1"})["structuredContent"]["session"]["id"]
    here = {"session": id}
    kit.equal(client.call("write_file", {**here, "path": "in.csv", "content": "é,2\n"})["structuredContent"], {"path": "in.csv", "size": 5})
    coded = base64.b64encode(bytes(range(256))).decode()
    written = client.call("write_file", {**here, "path": "/sandbox/data/raw.bin", "base64": coded})["structuredContent"]
    kit.equal(written, {"path": "/sandbox/data/raw.bin", "size": 256})
    code = "print(open('in.csv').read(), len(open('/sandbox/data/raw.bin', 'rb').read()))\nopen('/sandbox/output/out é.txt', 'w').write('left')"
    kit.equal(client.call("run_in_session", {**here, "code": code})["structuredContent"]["stdout"], "é,2\n 256\n")
    kit.equal(client.call("read_file", {**here, "path": "/sandbox/output/out é.txt"})["structuredContent"]["text"], "left")
    read = client.call("read_file", {**here, "path": "/sandbox/data/raw.bin"})["structuredContent"]
    kit.equal((read["encoding"], base64.b64decode(read["data"]), read["next_offset"]), ("base64", bytes(range(256)), None))
    # By pages; a character is not cut.
    client.call("write_file", {**here, "path": "long.txt", "content": "é" * 1000})
    pages, offset = [], 0
    while offset is not None:
        page = client.call("read_file", {**here, "path": "long.txt", "offset": offset, "max_tokens": 200})["structuredContent"]
        kit.equal((page["size"], page["offset"]), (2000, offset))
        pages.append(page["text"])
        offset = page["next_offset"]
    kit.equal(("".join(pages), len(pages) > 1), ("é" * 1000, True))
    files = client.call("list_files", here)["structuredContent"]["files"]
    kit.equal([(file["path"], file["size"]) for file in files], [("/sandbox/output/out é.txt", 4)])
    files = client.call("list_files", {**here, "path": "/sandbox/data"})["structuredContent"]["files"]
    kit.equal([file["path"] for file in files], ["/sandbox/data/raw.bin"])
    names = {file["path"] for file in client.call("list_files", {**here, "path": "/sandbox"})["structuredContent"]["files"]}
    kit.true({"/sandbox/code", "/sandbox/data", "/sandbox/output"} <= names, names)
    # One rule for paths, and for HTTP: in /sandbox by the name of a directory there, else where programs begin.
    web = Web(running)
    for short, whole in (("in.csv", "code/in.csv"), ("sub/new.txt", "code/sub/new.txt"), ("data/new.txt", "data/new.txt"), ("output/new.txt", "output/new.txt"),
                         ("datax/new.txt", "code/datax/new.txt")):
        written = client.call("write_file", {**here, "path": short, "content": short})
        kit.equal(text(written), f"/sandbox/{whole}: {len(short)} bytes written")
        for path in (short, whole, f"/sandbox/{whole}"):
            kit.equal(client.call("read_file", {**here, "path": path})["structuredContent"]["text"], short, path)
        for path in (short, whole):
            kit.equal(web.get(f"/v1/sessions/{id}/files/{path}").body, short.encode(), path)
    kit.equal(client.call("run_in_session", {**here, "code": "print(open('sub/new.txt').read())"})["structuredContent"]["stdout"], "sub/new.txt\n")
    kit.equal([[one["path"] for one in client.call("list_files", {**here, "path": path})["structuredContent"]["files"]] for path in ("sub", "/sandbox/code/sub")],
              [["/sandbox/code/sub/new.txt"]] * 2)
    kit.equal(web.get(f"/v1/sessions/{id}/files?path=sub").json["entries"][0]["name"], "new.txt")
    kit.equal(web.post(f"/v1/sessions/{id}/files/sub/new.txt", {"move": "/sandbox/temp/moved"}).status, 200)
    kit.equal(client.call("read_file", {**here, "path": "temp/moved"})["structuredContent"]["text"], "sub/new.txt")
    for path in ("/sandbox/none/x", "/sandboxed/code/x", "code/../../etc/passwd", "/tmp/x", "/sandbox/", "data/"):
        kit.equal(client.call("write_file", {**here, "path": path, "content": "x"})["isError"], True, path)
    client.call("run_in_session", {**here, "code": "import os; os.remove('/sandbox/output/new.txt')"})
    # As resources: those below output, and no others.
    uri = f"emberbox://session/{id}/output/out%20%C3%A9.txt"
    mine = [one["uri"] for one in client.request("resources/list")["resources"] if one["uri"].startswith(f"emberbox://session/{id}/")]
    kit.equal(mine, [uri])
    kit.equal(client.request("resources/read", {"uri": uri})["contents"], [{"uri": uri, "mimeType": "text/plain", "text": "left"}])
    for path in ("/etc/passwd", "none.txt", "../../etc/passwd", "/sandbox"):
        for tool, more in (("read_file", {}), ("write_file", {"content": "x"})):
            if (tool, path) != ("write_file", "none.txt"):
                kit.equal(client.call(tool, {**here, "path": path, **more})["isError"], True, f"{tool} {path}")
    kit.equal(client.call("list_files", {**here, "path": "/sandbox/none"})["isError"], True)
    client.call("run_in_session", {**here, "code": "1", "end": True})
    for tool, more in (("read_file", {"path": "in.csv"}), ("write_file", {"path": "in.csv", "content": ""}), ("list_files", {})):
        kit.equal(client.call(tool, {**here, **more})["isError"], True, f"{tool} of a session that has ended")
    kit.true(all(id not in one["uri"] for one in client.request("resources/list")["resources"]), "it is still listed")


# Resources


@both
def each_language_has_its_guide(running, client):
    resources = {one["name"]: one for one in client.request("resources/list")["resources"]}
    languages = sorted(os.listdir(os.path.join(kit.REPO, "runtimes")))
    kit.equal(sorted(resources), languages)
    for name, resource in resources.items():
        with open(os.path.join(kit.REPO, "runtimes", name, "SYSTEM.md"), encoding="utf-8") as file:
            guide = file.read()
        read = client.request("resources/read", {"uri": f"emberbox://runtime/{name}"})["contents"]
        kit.equal(read, [{"uri": f"emberbox://runtime/{name}", "mimeType": "text/markdown", "text": guide}])
        kit.equal((resource["size"], len(guide) < 2000), (len(guide.encode()), True), name)
        for word in ("network", "/sandbox/output", "Limits"):
            kit.contains(guide, word, name)
    templates = client.request("resources/templates/list")["resourceTemplates"]
    kit.equal([one["name"] for one in templates], ["runtime", "session-file", "execution-file"])
    for uri in ("emberbox://runtime/none", "file:///etc/passwd", "emberbox://execution/x/output/../../etc/passwd", "",
                "emberbox://session/x/output/%zz"):
        refused(lambda uri=uri: client.request("resources/read", {"uri": uri}), -32602 if client.modern else -32002)


@kit.test(timeout=200, modes=("root",))
def what_the_guides_say_is_so():
    """Their examples print what they say; and a name of a file makes an ES module."""
    running = serve()
    client = Http(running)
    for name in sorted(os.listdir(os.path.join(kit.REPO, "runtimes"))):
        with open(os.path.join(kit.REPO, "runtimes", name, "SYSTEM.md"), encoding="utf-8") as file:
            guide = file.read()
        code = re.search(rf"```{name}\n(.*?)```", guide, re.S).group(1)
        output = re.search(r"```output\n(.*?)```", guide, re.S).group(1)
        result = client.run(name, code, timeout=60)
        kit.equal(result["structuredContent"]["stdout"].rstrip("\n"), output.rstrip("\n"), f"{name}: {text(result)}")
    result = client.run("javascript", "import fs from 'fs'; console.log(await 1, typeof fs.readFileSync)", filename="main.mjs")
    kit.equal(result["structuredContent"]["stdout"], "1 function\n")
    running.stop()


# Runs that take their time


@both
def output_comes_as_it_is_written(running, client):
    result = client.call("run_code", {"language": "bash", "code": "echo one; echo é; sleep 0.1; echo two >&2; sleep 0.1"},
                         _meta={"progressToken": "tok"})
    kit.equal(result["structuredContent"]["stdout"], "one\né\n")
    seen = [one["params"] for one in client.notified]
    kit.equal([one["method"] for one in client.notified], ["notifications/progress"] * len(seen))
    kit.equal("".join(one["message"] for one in seen), "one\né\ntwo\n")
    kit.equal([one["progress"] for one in seen], list(range(1, len(seen) + 1)))
    kit.equal({one["progressToken"] for one in seen}, {"tok"})
    # Without a token there is nothing but the answer, and whole.
    client.run("bash", "echo one; sleep 0.1; echo two")
    kit.equal(client.notified, [])


@kit.test
def several_calls_run_at_once_and_ping_does_not_wait():
    running = serve()
    client = Http(running)
    gate = [Http(running) for _ in range(3)]
    request, seconds = endless()
    results = []
    threads = [threading.Thread(target=lambda c=c: results.append(c.run("bash", "sleep 0.3; echo done"))) for c in gate]
    response, connection = client.begin(client.message("tools/call", {"name": "run_code", "arguments": request,
                                                                      "_meta": {"progressToken": 1}}, "long"))
    events = client.events(response)
    kit.equal(next(events)["params"]["message"], "ready\n")
    began = time.monotonic()
    for thread in threads:
        thread.start()
    kit.equal(client.request("ping"), {})
    kit.true(time.monotonic() - began < 5, "ping waited")
    # The same id again, while the first is not answered.
    refused(lambda: client.request("ping", id="long"), -32600, 200)
    for thread in threads:
        thread.join(20)
    kit.equal([result["structuredContent"]["stdout"] for result in results], ["done\n"] * 3)
    watch = box(running, seconds)
    client.notify("notifications/cancelled", {"requestId": "long", "reason": "enough"})
    kit.equal(list(events), [], "nothing more is said about it")
    connection.close()
    kit.equal(watch.survivors(), [])
    running.stop()


@kit.test(timeout=60, modes=("root",))
def a_quiet_call_gives_signs_of_life():
    """After 15 s without a word the answer becomes a stream, with comments in it, and its result an event."""
    running = serve()
    client = Http(running)
    request = {"name": "run_code", "arguments": {"language": "bash", "code": "sleep 16; echo late"}}
    began = time.monotonic()
    response, connection = client.begin(client.message("tools/call", request, 1))
    kit.true(14 < time.monotonic() - began < 16, "the head does not come with the first sign of life")
    kit.equal((response.status, response.getheader("Content-Type")), (200, "text/event-stream"))
    kit.equal([response.readline() for _ in range(2)], [b":\n", b"\n"])
    kit.equal([one["result"]["structuredContent"]["stdout"] for one in client.events(response)], ["late\n"])
    connection.close()
    running.stop()


@kit.test
def another_clients_call_is_not_cancelled():
    running = serve()
    one, other = Http(running), Http(running)
    call = threading.Thread(target=lambda: results.append(one.call("run_code", {"language": "bash", "code": "sleep 0.5; echo whole"})))
    results = []
    call.start()
    for id in range(1, 6):
        other.notify("notifications/cancelled", {"requestId": id})
    call.join(20)
    kit.equal(results[0]["structuredContent"]["stdout"], "whole\n")
    running.stop()


@kit.test
def of_2026_closing_the_stream_cancels():
    running = serve()
    client = Http(running, modern=True)
    request, seconds = endless()
    response, connection = client.begin(client.message("tools/call", {"name": "run_code", "arguments": request,
                                                                      "_meta": {"progressToken": 1}}, 1))
    kit.equal(next(client.events(response))["params"]["message"], "ready\n")
    watch = box(running, seconds)
    response.close()
    connection.close()
    kit.equal(watch.survivors(), [])
    running.stop()


@kit.test
def of_2025_a_lost_connection_cancels_nothing_at_once():
    """There is a message for that; the run goes on for a while, and the end of the session ends it."""
    running = serve()
    client = Http(running)
    marker = str(uuid.uuid4())
    code = f"echo ready; sleep 0.7; echo {marker}"
    response, connection = client.begin(client.message("tools/call", {"name": "run_code", "_meta": {"progressToken": 1},
                                                                      "arguments": {"language": "bash", "code": code}}, 1))
    kit.equal(next(client.events(response))["params"]["message"], "ready\n")
    response.close()
    connection.close()
    web = Web(running)

    def ended():
        rows = web.get("/v1/executions").json["executions"]
        return [row for row in rows if row["status"] == "ok"]
    row = kit.eventually(ended, "it did not go on to its end")[0]
    kit.contains(web.get(f"/v1/executions/{row['id']}").json["stdout"], marker)
    running.stop()


# Confirmations


@kit.test
def of_2025_a_person_is_asked_by_a_request():
    running = serve()
    client = Http(running, capabilities={"elicitation": {}})
    asked = []

    def answer(result):
        def reply(message):
            asked.append(message)
            return result
        return reply
    client.asked = answer({"action": "accept", "content": {"ok": True}})
    result = client.call("run_code", CAREFUL)
    kit.equal((result["isError"], result["structuredContent"]["stdout"]), (False, "agreed\n"))
    kit.equal((asked[0]["method"], asked[0]["params"]["mode"]), ("elicitation/create", "form"))
    kit.contains(asked[0]["params"]["message"], '"careful"')
    kit.equal(asked[0]["params"]["requestedSchema"]["required"], ["ok"])
    for no in ({"action": "decline"}, {"action": "cancel"}, {"action": "accept", "content": {"ok": False}}, {"action": "accept"}, {}):
        client.asked = answer(no)
        result = client.call("run_code", CAREFUL)
        kit.equal((result["isError"], text(result)), (True, "it was not run: the person who was asked did not agree"), no)
    client.asked = answer({"action": "accept", "content": {"ok": True}})
    id = client.call("container_start", {"container": "careful"})["structuredContent"]["id"]
    kit.equal(client.call("container_exec", {"id": id, "command": "echo in"})["structuredContent"]["stdout"], "in\n")
    # Who cannot ask anybody is told so.
    result = Http(running).call("run_code", CAREFUL)
    kit.equal(result["isError"], True)
    kit.contains(text(result), 'profile "careful" needs a confirmation by a person, whom this client cannot ask; use another profile, or ask')
    result = Http(running, capabilities={"elicitation": {"url": {}}}).call("run_code", CAREFUL)
    kit.equal(result["isError"], True)
    running.stop()


@kit.test
def a_question_is_answered_by_its_own_client():
    running = serve()
    client, other = Http(running, capabilities={"elicitation": {}}), Http(running)
    response, connection = client.begin(client.message("tools/call", {"name": "run_code", "arguments": CAREFUL}, 1))
    events = client.events(response)
    question = next(events)
    yes = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"ok": True}}}
    kit.equal(other.post(yes).status, 202)
    kit.equal(client.request("ping"), {})
    # A cancelled question is not answered any more.
    client.notify("notifications/cancelled", {"requestId": 1})
    kit.equal(list(events), [])
    kit.equal(client.post(yes).status, 202)
    web = Web(running)
    kit.equal(web.get("/v1/executions").json["executions"], [])
    running.stop()


@kit.test
def of_2026_input_is_required():
    running = serve()
    client = Http(running, modern=True, capabilities={"elicitation": {}})
    first = client.call("run_code", CAREFUL)
    kit.equal(first["resultType"], "input_required")
    kit.equal(first["inputRequests"]["confirm"]["method"], "elicitation/create")
    yes = {"confirm": {"action": "accept", "content": {"ok": True}}}
    state = first["requestState"]
    # For other arguments it is no good; nor changed, nor twice.
    other = client.call("run_code", {**CAREFUL, "code": "echo other"}, inputResponses=yes, requestState=state)
    kit.equal(other["isError"], True)
    kit.contains(text(other), "confirm: it is for another request")
    changed = state[:-1] + ("0" if state[-1] != "0" else "1")
    kit.equal(client.call("run_code", CAREFUL, inputResponses=yes, requestState=changed)["isError"], True)
    refused(lambda: client.call("run_code", CAREFUL, inputResponses=yes), -32602, 400)
    no = client.call("run_code", CAREFUL, inputResponses={"confirm": {"action": "decline"}}, requestState=state)
    kit.equal(text(no), "it was not run: the person who was asked did not agree")
    done = client.call("run_code", CAREFUL, inputResponses=yes, requestState=state)
    kit.equal(done["structuredContent"]["stdout"], "agreed\n")
    kit.equal(client.call("run_code", CAREFUL, inputResponses=yes, requestState=state)["isError"], True)
    # Whose client cannot ask a person is told so in a result, which a model reads; an error of the protocol it does not.
    for capabilities in ({}, {"elicitation": {"url": {}}}):
        result = Http(running, modern=True, capabilities=capabilities).call("run_code", CAREFUL)
        kit.equal((result["isError"], result["resultType"]), (True, "complete"))
        kit.contains(text(result), 'profile "careful" needs a confirmation by a person, whom this client cannot ask; use another profile, or ask')
    running.stop()


kit.main()
