#!/usr/bin/python3
# tests/run: args=--as root | --as user
# tests/run: timeout=120
"""`emberbox mcp --print-config`: what it prints for each client is read as that client reads it, and used."""

import json
import os
import subprocess
import sys
import tomllib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from mcp import INFO, Http
from service import Service

CLIENTS = ("json", "claude-code", "claude-desktop", "codex", "cursor", "gemini", "vscode", "windsurf", "zed")
LISTS = {"vscode": "servers", "zed": "context_servers"}
ADDRESSES = {"gemini": "httpUrl", "windsurf": "serverUrl"}
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
         "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": INFO}}


def printed(*options, home=None, env=None):
    # The home of the mode's user, unless one is asked for: it must not be in what is printed then.
    return kit.emberbox("mcp", "--print-config", *options, env={**({"EMBERBOX_HOME": home} if home else {}), **(env or {})})


def understood(client, r):
    """What the client makes of it: {command, args, env} or {url, headers}, and its type, if it is told one."""
    kit.equal(r.code, 0, r.errtext)
    if client == "codex":
        server = tomllib.loads(r.text)["mcp_servers"]["emberbox"]
        return {("headers" if key == "http_headers" else key): value for key, value in server.items()}
    if client != "claude-code":
        (outer, servers), = r.json.items()
        kit.equal((outer, list(servers)), (LISTS.get(client, "mcpServers"), ["emberbox"]))
        server = servers["emberbox"]
        return {("url" if key == ADDRESSES.get(client) else key): value for key, value in server.items()}
    # By a shell, as whoever pastes it does.
    words = kit.command(["/bin/bash", "-c", f"printf '%s\\0' {r.text}"]).text.split("\0")[:-1]
    kit.equal(words[:3], ["claude", "mcp", "add"])
    if "http" in words:
        kit.equal((words[3:6], words[7], len(words)), (["--transport", "http", "emberbox"], "--header", 9))
        return {"url": words[6], "headers": dict([words[8].split(": ", 1)])}
    split = words.index("--")
    kit.equal(words[split - 3:split], ["--transport", "stdio", "emberbox"])
    pairs = words[3:split - 3]
    kit.equal(set(pairs[::2]) | {"--env"}, {"--env"})
    found = {"command": words[split + 1], "args": words[split + 2:]}
    return {**found, "env": dict(pair.split("=", 1) for pair in pairs[1::2])} if pairs else found


@kit.test
def each_client_can_start_it():
    home = kit.tmp()
    for client in CLIENTS:
        server = understood(client, printed("--client", client, home=home))
        kit.equal(server.pop("type", None), "stdio" if client == "vscode" else None, client)
        kit.equal(server, {"command": os.path.realpath(kit.built()), "args": ["mcp"], "env": {"EMBERBOX_HOME": home}}, client)
    # One of them, for they are the same: started by what was printed alone.
    process = kit.start([server["command"], *server["args"]], env=server["env"], stdin=subprocess.PIPE)
    out, _ = process.communicate(json.dumps(HELLO).encode() + b"\n", timeout=20)
    kit.equal((process.returncode, json.loads(out)["result"]["serverInfo"]["name"]), (0, "emberbox"))


@kit.test
def what_would_be_refused_is_not_printed():
    """A path that is right only where this is typed."""
    for name in ("EMBERBOX_HOME", "EMBERBOX_SOCKET"):
        for options in ((), ("--http",)):
            r = printed(*options, home=kit.tmp(), env={name: "here"})
            kit.equal((r.code, r.text, r.errtext), (2, "", f'emberbox: {name}: "here" is not an absolute path\nSee: man emberbox-config\n'))


@kit.test
def words_are_quoted_as_each_client_unquotes_them():
    odd = "/tmp/it's \"odd\" \\ $HOME `x`\t\x7f é"
    for client in CLIENTS:
        server = understood(client, printed("--client", client, "--socket", odd, env={"EMBERBOX_SOCKET": odd}))
        kit.equal((server["args"], server["env"]["EMBERBOX_SOCKET"]), (["mcp", "--socket", odd], odd), client)


@kit.test
def each_client_can_reach_the_service():
    running = Service(listen=True)
    host, port = running.address
    for client in CLIENTS:
        r = printed("--client", client, "--http", home=running.home)
        if client == "claude-desktop":
            kit.equal((r.code, r.text), (2, ""))
            kit.contains(r.errtext, "--http: claude-desktop has no place for an address; leave --http out")
            continue
        server = understood(client, r)
        kit.equal(server.pop("type", None), "http" if client in ("json", "vscode") else None, client)
        kit.equal(server, {"url": f"http://{host}:{port}/mcp", "headers": {"Authorization": f"Bearer {running.token}"}}, client)
        kit.contains(r.errtext, "it contains a token")
    client = Http(running, token=server["headers"]["Authorization"].removeprefix("Bearer "))
    kit.equal(client.run("bash", "echo there")["structuredContent"]["stdout"], "there\n")
    running.stop()


@kit.test
def without_a_service_it_is_where_one_would_listen():
    home = kit.tmp()
    server = understood("cursor", printed("--client", "cursor", "--http", home=home, env={"EMBERBOX_LISTEN": "127.0.0.1:4321"}))
    with open(os.path.join(home, "token"), encoding="ascii") as file:
        token = file.read().strip()
    kit.equal(server, {"url": "http://127.0.0.1:4321/mcp", "headers": {"Authorization": f"Bearer {token}"}})
    r = printed("--http", home=home, env={"EMBERBOX_LISTEN": "none"})
    kit.equal((r.code, r.text), (125, ""))
    kit.contains(r.errtext, "the service has no HTTP over TCP")


@kit.test
def the_plain_form_is_that_of_most_clients():
    r = printed()
    kit.equal((r.code, r.json["mcpServers"]["emberbox"]["args"]), (0, ["mcp"]))
    kit.contains(r.errtext, "for most clients")


@kit.test
def what_is_wrong_is_said():
    names = ", ".join(CLIENTS)
    for words, sentence in (
        (["--print-config", "--client", "emacs"], f'--client: "emacs" is not one of {names}'),
        (["--print-config", "--client", ""], f'--client: "" is not one of {names}'),
        (["--print-config", "--client"], "--client"),
        (["--client", "zed"], "--client goes with --print-config"),
        (["--http"], "--http goes with --print-config"),
        (["--print-config", "--http", "--socket", "/x"], "--http and --socket exclude each other; leave one out"),
        (["more"], 'unexpected argument "more"'),
        (["--no-such"], "--no-such"),
    ):
        r = kit.emberbox("mcp", *words)
        kit.equal((r.code, r.text), (2, ""), words)
        kit.contains(r.errtext, sentence)
    # The help names each.
    for name in CLIENTS:
        kit.contains(kit.emberbox("mcp", "--help").text, name)


kit.main()
