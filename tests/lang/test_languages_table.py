#!/usr/bin/python3
"""The table of docs/languages.md is the one that tools/languages_table writes."""
# tests/run: args=--as root

import importlib.machinery
import importlib.util
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit

PATH = os.path.join(kit.REPO, "tools", "languages_table")
TOOL = importlib.util.module_from_spec(
    importlib.util.spec_from_loader("languages_table", importlib.machinery.SourceFileLoader("languages_table", PATH))
)
TOOL.__loader__.exec_module(TOOL)

SAMPLE = {"name": "go", "display": "Go", "aliases": ["golang"], "extensions": ["go"], "install": "get go"}
SAMPLE["notes"] = "a|<b>"
ROW = "| Go | `go`, `golang` | `.go` | `get go` | a\\|&lt;b> |\n"


def page():
    with open(TOOL.PAGE, encoding="utf-8") as file:
        return file.read()


@kit.test(timeout=60)
def up_to_date():
    r = kit.command([sys.executable, PATH, "--check", "--build", kit.BUILD], timeout=60)
    kit.equal((r.code, r.errtext), (0, ""))


@kit.test
def a_change_is_seen():
    text = f"before\n{TOOL.BEGIN}old\n{TOOL.END}after\n"
    got = TOOL.replaced(text, [SAMPLE])
    kit.contains(got, ROW)
    kit.true(got.startswith(f"before\n{TOOL.BEGIN}| language |"), got)
    kit.true(got.endswith(f"{ROW}{TOOL.END}after\n"), got)
    kit.equal(TOOL.replaced(got, [SAMPLE]), got, "a second time")
    kit.true(TOOL.replaced(got, [{**SAMPLE, "notes": None}]) != got, "another note gives the same table")
    kit.contains(TOOL.table([{**SAMPLE, "notes": None}]), "| `get go` | |\n")


@kit.test
def every_folder_is_a_row():
    """Read without emberbox: a folder that the build forgot would be missing on both sides."""
    folders = sorted(
        name
        for name in os.listdir(os.path.join(kit.REPO, "runtimes"))
        if os.path.exists(os.path.join(kit.REPO, "runtimes", name, "runtime.yaml"))
    )
    table = page().split(TOOL.BEGIN)[1].split(TOOL.END)[0]
    kit.equal(sorted(re.findall(r"^\| [^|]+ \| `([a-z][a-z0-9+-]*)`", table, re.M)), folders)


kit.main()
