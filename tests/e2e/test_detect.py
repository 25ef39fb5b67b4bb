#!/usr/bin/python3
# tests/run: args=--as user
# tests/run: builds=release
# tests/run: timeout=240
"""Intent: the figures that the documents tell, and the doors to it."""

import importlib.machinery
import importlib.util
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from service import Service
from web import Web

MESSAGE = "Does this work?\n```python\nprint(1)\n```\n"
SET = os.path.join(kit.REPO, "tests", "detect")


def score(name):
    loader = importlib.machinery.SourceFileLoader("score", os.path.join(SET, "score"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("score", loader))
    loader.exec_module(module)
    return module.score(os.path.join(kit.BUILD, "emberbox"), os.path.join(SET, name))


@kit.test(timeout=120)
def the_figures_are_those_that_are_told():
    precision, recall, count, _ = score("unseen.jsonl")
    with open(os.path.join(kit.REPO, "docs", "policy.md"), encoding="utf-8") as file:
        told = re.search(r"Of (\d+) labelled messages[^.]*?precision is ([\d.]+\d)\s+and\s+recall ([\d.]+\d)", file.read())
    kit.equal(told.groups(), (str(count), f"{precision:.3f}", f"{recall:.3f}"))


@kit.test(timeout=240)
def what_was_seen_stays_right():
    for name in ("seen.jsonl", "unseen3.jsonl", *(f"seen{number}.jsonl" for number in range(2, 13))):
        precision, recall, _, wrong = score(name)
        kit.true(precision >= 0.98 and recall >= 0.98, f"{name}: {[label['message'] for label, _ in wrong]}")


@kit.test
def the_command_line():
    r = kit.emberbox("detect", stdin=MESSAGE.encode())
    kit.equal((r.code, r.text), (0, "yes (0.96): it asks what a run would show\nblock 1: python, 1 line\n"))
    r = kit.emberbox("detect", "--json", stdin=b"explain\n```js\nx()\n```")
    kit.equal((r.code, r.json["execute"], r.json["blocks"]), (1, False, [{"language": "javascript", "code": "x()\n"}]))
    kit.equal(kit.emberbox("detect", "/nowhere").code, 2)
    r = kit.emberbox("detect", stdin=b"x" * ((1 << 20) + 1))
    kit.equal((r.code, r.errtext), (2, "emberbox: message: expected at most 1 MiB\n"))


@kit.test(timeout=60)
def over_http():
    place = kit.tmp()
    kit.write(os.path.join(place, "registry.yaml"), 'containers: {calc: {language: python, triggers: ["work it out"]}}\n', 0o600)
    asking = Web(Service(listen=True, home=place))
    answer = asking.post("/v1/detect", {"message": MESSAGE}).json
    kit.equal((answer["execute"], answer["profile"], answer["blocks"]), (True, None, [{"language": "python", "code": "print(1)\n"}]))
    kit.equal(asking.post("/v1/detect", {"message": "Work it out!\n```\n1 + 1\n```"}).json["profile"], "calc")
    refused = asking.post("/v1/detect", {"text": "x"})
    kit.equal((refused.status, refused.json["error"]["field"]), (400, "text"))


kit.main()
