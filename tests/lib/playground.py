"""The page in a real browser (Debian's Chromium, driven by playwright-core) against a real service.

A script of tests/web prints a line for each of its tests; here is the service, which it can have stopped and started.
EB_WEB=PATTERN runs the tests whose name has it, EB_WEB_TIMES=1 tells how long each took.
"""

import os
import signal
import subprocess

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


def drive(name):
    home = kit.tmp()
    kit.write(os.path.join(home, "registry.yaml"), REGISTRY)
    running = Service(home=home, listen=True)
    address = "%s:%d" % running.address
    script = os.path.join(kit.REPO, "tests", "web", name)
    only = [os.environ["EB_WEB"]] if os.environ.get("EB_WEB") else []
    browser = kit.start([npm.node(20), script, f"http://{address}", running.token, *only], stdin=subprocess.PIPE, stderr=None)
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
    kit.equal(browser.wait(), 0, f"tests of {name} failed")
