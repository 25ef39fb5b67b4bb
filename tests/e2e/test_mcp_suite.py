#!/usr/bin/python3
# tests/run: args=--as root
# tests/run: timeout=240
"""The official conformance suite of MCP. Most of its scenarios want tools, prompts and resources of its own, which the
sanitizer build has (src/daemon/front/mcp_fixtures.h) and the release has not; the others are asked of the release as well."""

import json
import os
import re
import sys

RELEASE = os.environ.get("EB_BUILD") or "build"
FOR_TESTS = os.environ.get("EB_BUILD_ASAN")
if not FOR_TESTS:
    print("skip suite: there is no build with what the suite wants (EB_BUILD_ASAN)")
    sys.exit(0)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from mcp import Http
from npm import MODULES, NODE
from service import Service
from token_proxy import TokenProxy

SUITE = os.path.join(MODULES, "@modelcontextprotocol", "conformance", "dist", "index.js")
SCENARIOS = {"2025-11-25": 33, "2026-07-28": 50}  # in all; a suite with others is looked at again
# These fail, and count for nothing: what they are about is not there.
ABSENT = {
    "2025-11-25": [],
    "2026-07-28": [
        # An extension: calls that are answered by a task, to be asked for later. Ours are answered when they are done.
        "tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields", "tasks-request-state-removal",
        "tasks-mrtr-input", "tasks-request-headers", "tasks-dispatch-and-envelope", "tasks-required-task-error",
        "tasks-mrtr-composition",
    ],
}
# These want nothing that emberbox has not.
PLAIN = {
    "2025-11-25": ["server-initialize", "ping", "tools-list", "server-session-lifecycle", "server-sse-multiple-streams",
                   "dns-rebinding-protection"],
    "2026-07-28": ["tools-list", "server-sse-multiple-streams", "dns-rebinding-protection", "http-header-validation",
                   "sep-2164-resource-not-found", "input-required-result-unsupported-methods"],
}


def choose(build):
    """The build whose programs are started from here on: kit.built() keeps its copy of another."""
    kit.BUILD = os.path.join(kit.REPO, build)
    kit.built.cache_clear()


def ask(build, *asked, env=None):
    """What the suite says about the service of a build, of each of these."""
    if not os.path.exists(SUITE) or not os.path.exists(NODE):
        kit.skip("the packages of npm are not there; tools/setup test")
    choose(build)
    running = Service(listen=True, env=env)
    with TokenProxy(running) as proxy:
        url = ["--url", f"http://localhost:{proxy.port}/mcp"]
        said = [kit.command([NODE, SUITE, "server", *url, *words], timeout=100) for words in asked]
    running.stop()
    return said


def conforms(revision):
    r = ask(FOR_TESTS, ["--requirements", revision], env={"EMBERBOX_TEST_MCP_FIXTURES": "1"})[0]
    found = dict(reversed(pair) for pair in re.findall(r"^([✓✗]) ([a-z0-9-]+): \d+ passed", r.text, re.M))
    failed = sorted(name for name, mark in found.items() if mark == "✗")
    kit.equal((r.code, failed), (0, sorted(ABSENT[revision])), r.text[-300:])
    kit.equal(len(found), SCENARIOS[revision])


@kit.test(timeout=120)
def the_suite_of_2025_passes():
    conforms("2025-11-25")


@kit.test(timeout=120)
def the_suite_of_2026_passes():
    conforms("2026-07-28")


@kit.test(timeout=120)
def the_release_passes_what_needs_no_fixtures():
    asked = [(scenario, revision) for revision, scenarios in PLAIN.items() for scenario in scenarios]
    words = [["--scenario", scenario, "--spec-version", revision] for scenario, revision in asked]
    for (scenario, revision), r in zip(asked, ask(RELEASE, *words)):
        kit.equal(r.code, 0, f"{scenario} of {revision}: {r.text[-400:]}")
        passed = re.search(r"(\d+)[ /]", r.text.split("Passed:")[-1])
        kit.true(passed and int(passed[1]) > 0, f"{scenario} of {revision} looked at nothing: {r.text[-400:]}")


@kit.test
def the_release_has_no_fixtures():
    """Not switched off, but not there; the build for tests shows that it would be seen."""
    with open(os.path.join(kit.REPO, "tests", "mcp", "fixtures.json"), encoding="utf-8") as file:
        words = [*json.load(file)["tools"], "EMBERBOX_TEST_MCP_FIXTURES"]
    for build, there in ((RELEASE, False), (FOR_TESTS, True)):
        place = os.path.join(kit.REPO, build)
        with open(os.path.join(place, "emberbox"), "rb") as file:
            program = file.read()
        kit.true(b"run_in_session" in program, "its own tools")
        kit.equal([word for word in words if (word.encode() in program) != there], [], build)
        tier = kit.command(["nm", "--defined-only", os.path.join(place, "src", "libtier_daemon_front.a")])
        kit.equal(tier.code, 0, tier.errtext)
        kit.contains(tier.text, " T mcp_call\n")
        kit.equal(("mcp_fixture" in tier.text), there, build)
        # The library has nothing of MCP at all.
        library = kit.command(["nm", "--defined-only", os.path.join(place, "src", "libemberbox.a")])
        kit.equal((library.code, "mcp_" in library.text), (0, False), library.errtext)
    # Nor does the release listen to what asks for them.
    choose(RELEASE)
    kit.equal(len(Http(Service(listen=True, env={"EMBERBOX_TEST_MCP_FIXTURES": "1"})).tools()), 13)


kit.main()
