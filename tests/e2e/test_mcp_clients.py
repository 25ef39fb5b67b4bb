#!/usr/bin/python3
# tests/run: args=--as root
# tests/run: timeout=300
"""MCP as others speak it: the SDKs of npm drive every tool over both transports, the Inspector lists and calls. tools/setup
installs them in a directory of their own."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from npm import MODULES, NODE
from service import Service

REGISTRY = """
containers:
  shell: {language: bash}
  careful: {language: bash, security: {needs_confirm: true}}
"""


def serve(**options):
    if not os.path.exists(MODULES):
        kit.skip("the packages of npm are not there; tools/setup test")
    home = kit.tmp()
    kit.write(os.path.join(home, "registry.yaml"), REGISTRY, 0o600)
    return Service(listen=True, home=home, **options)


def node(*words, env=None, timeout=120, newer=False):
    if newer and not os.path.exists(NODE):
        kit.skip("there is no Node.js of 22 or newer; tools/setup test")
    r = kit.command([NODE if newer else "/usr/bin/node", *words], env={"MODULES": MODULES, **(env or {})}, timeout=timeout)
    return r


def drive(package, transport, mode="", private=False):
    running = serve()
    home = running.home
    if private:
        # Without a service it starts its own.
        running.stop()
        running = None
    env = {"COMMAND": kit.built(), "MODE": mode, "EMBERBOX_HOME": home}
    if running:
        env.update(SERVICE=f"http://127.0.0.1:{running.address[1]}/mcp", TOKEN=running.token)
    r = node(os.path.join(kit.REPO, "tests", "lib", "mcp_client.mjs"), package, transport, env=env, timeout=60)
    kit.equal(r.code, 0, r.errtext[-800:])
    seen = r.json
    kit.equal(len(seen["tools"]), 13)
    kit.equal(seen["instructions"], "emberbox")
    wanted = {"run": "hello\n", "live": "a\nb\nc\n", "failed": True, "output": "hello\n", "careful": "agreed\n", "asked": 1,
              "file": "content\n", "files": 1, "exec": "in\n", "running": 1, "stopped": "stopped", "resources": 18,
              "guide": "# Python", "aborted": "yes", "after": "after\n", "bad": "code: it is missing",
              "report": "# Run", "detected": True}
    kit.equal({key: seen[key] for key in wanted}, wanted)
    # The last may come with the answer, and then an SDK drops it.
    kit.equal(seen["progress"][:2], ["a\n", "b\n"])
    kit.equal((seen["check_code"], seen["run_in_session"], seen["session"], seen["ended"]), ("ok", "ok", "42\n", "the session has ended"))
    kit.equal((seen["written"], seen["read"], seen["listed"], len(seen["shown"])), (4, "note", ["/sandbox/output/note.txt"], 1))
    return seen


@kit.test(timeout=90)
def the_sdk_drives_every_tool_over_http():
    drive("sdk", "http")


@kit.test(timeout=90)
def the_sdk_drives_every_tool_over_stdio():
    drive("sdk", "stdio")


@kit.test(timeout=90)
def the_sdk_needs_no_service():
    drive("sdk", "stdio", private=True)


@kit.test(timeout=90)
def the_client_drives_every_tool_over_http():
    drive("client", "http", "legacy")


@kit.test(timeout=90)
def the_client_drives_every_tool_over_stdio():
    drive("client", "stdio", "legacy")


@kit.test(timeout=90)
def the_client_speaks_2026_over_http():
    seen = drive("client", "http", "auto")
    kit.equal(seen["version"], "2026-07-28")


@kit.test(timeout=90)
def the_client_speaks_2026_over_stdio():
    seen = drive("client", "stdio", "auto")
    kit.equal(seen["version"], "2026-07-28")


def inspect(*where):
    """The Inspector's command line lists the tools and calls them, wherever they are."""
    inspector = os.path.join(MODULES, "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")
    env = {"EMBERBOX_HOME": where[0]}

    def ask(*words, code=0):
        r = node(inspector, "--cli", *where[1:], "--method", *words, env=env, newer=True)
        kit.equal(r.code, code, r.errtext[-600:])
        return json.loads(r.text)

    kit.equal(len(ask("tools/list")["tools"]), 13)
    called = ask("tools/call", "--tool-name", "run_code", "--tool-arg", "language=python", "--tool-arg", "code=print('inspected')")
    kit.equal(called["structuredContent"]["stdout"], "inspected\n")
    kit.contains(called["content"][0]["text"], "inspected")
    # A program that failed is told by the Inspector's own exit code, and has its answer all the same.
    failed = ask("tools/call", "--tool-name", "run_code", "--tool-arg", "language=bash", "--tool-arg", "code=exit 3", code=5)
    kit.equal((failed["isError"], failed["structuredContent"]["exit_code"]), (True, 3))
    kit.equal(len(ask("resources/list")["resources"]), 18)


@kit.test(timeout=90)
def the_inspector_lists_and_calls_over_stdio():
    running = serve()
    inspect(running.home, kit.built(), "mcp")
    running.stop()


@kit.test(timeout=90)
def the_inspector_lists_and_calls_over_http():
    running = serve()
    host, port = running.address
    inspect(running.home, f"http://{host}:{port}/mcp", "--transport", "http", "--header", f"Authorization: Bearer {running.token}")
    running.stop()


kit.main()
