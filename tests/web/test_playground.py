#!/usr/bin/python3
"""The playground in a real browser (Debian's Chromium, driven by playwright-core) against a real service.

What is tested is in playground.mjs; it prints a line for each test. Here is the service, which it can have restarted.
"""
# tests/run: args=--as root
# tests/run: timeout=180
# tests/run: alone

import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
import npm
from service import Service

REGISTRY = """\
containers:
  shells:
    description: "A shell that stays"
    language: bash
  careful:
    description: "A shell that asks first"
    language: bash
    security: {needs_confirm: true}
"""


@kit.test(timeout=170)
def playground():
    home = kit.tmp()
    kit.write(os.path.join(home, "registry.yaml"), REGISTRY)
    running = Service(home=home, listen=True)
    address = "%s:%d" % running.address
    script = os.path.join(kit.REPO, "tests", "web", "playground.mjs")
    browser = kit.start([npm.node(20), script, f"http://{address}", running.token, *only()], stdin=subprocess.PIPE, stderr=None)
    for line in browser.stdout:
        text = line.decode("utf-8", "replace").rstrip("\n")
        if text == "@stop":
            running.stop(signal.SIGKILL)  # with a run under way: no time to end it
        elif text == "@start":
            # The page knows it by its address.
            running = Service(home=home, env={"EMBERBOX_LISTEN": address})
        else:
            print(text, flush=True)
            continue
        browser.stdin.write(b"done\n")
        browser.stdin.flush()
    kit.equal(browser.wait(), 0, "tests of the page failed")


def only():
    """EB_WEB=PATTERN: tests whose name has it."""
    return [os.environ["EB_WEB"]] if os.environ.get("EB_WEB") else []


kit.main()
