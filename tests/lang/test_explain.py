#!/usr/bin/python3
"""Failures explained: a real failing program for every kind, through the real emberbox."""
# tests/run: args=--as root
# tests/run: timeout=600

import collections
import functools
import glob
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from cases_explain import CASES

FIRST = 120  # seconds: the first run may prepare the toolchain


def run(language, code, *options, files=None):
    directory = kit.tmp()
    argv = ["run", "--json", "-l", language, "-c", code, *options]
    for name, content in (files or {}).items():
        argv += ["--file", f"{kit.write(os.path.join(directory, name), content)}:{name}"]
    env = {"EMBERBOX_HOME": os.path.join(kit.home(), "emberbox")}
    return kit.emberbox(*argv, env=env, timeout=FIRST).json


def mended(code, fix):
    """The line of the code after the change that is offered."""
    line = code.split("\n")[fix["line"] - 1]
    return line[: fix["column"] - 1] + fix["text"] + line[fix["end_column"] - 1 :]


def told(case, result):
    """What the case is about, of a result."""
    error = result["error"] or collections.defaultdict(lambda: None)
    return {
        "status": result["status"],
        "kind": error["kind"],
        "type": error["type"],
        "line": error["line"],
        "says": case.says in (error["suggestion"] or ""),
        "fix": mended(case.code, error["fix"]) if case.fix and error["fix"] else None,
    }


def explained(case):
    result = run(case.language, case.code, *case.options, files=case.files)
    want = {"status": "failed", "kind": case.kind, "type": case.type, "line": case.line, "says": True, "fix": case.fix}
    kit.equal(told(case, result), want, f"{result['error']}\n{result['stderr'][:600]}")
    error = result["error"]
    # The line is shown with those around it, and marked.
    if case.line:
        marked = [shown["text"] for shown in error["context"] if shown["mark"]]
        # A place can be behind the last line: where something is missing.
        kit.equal(marked, case.code.removesuffix("\n").split("\n")[case.line - 1 : case.line])
        kit.true(not error["file"].startswith("/"), error["file"])
    for frame in error["frames"]:
        kit.equal(frame["user"] and not str(frame["file"]).startswith("/"), frame["user"], str(frame))


@kit.test
def every_kind_has_a_program():
    """Of those that the document lists by language, and of those that any language can meet."""
    had = {(case.language, case.kind) for case in CASES} | {("any", case.kind) for case in CASES}
    with open(os.path.join(kit.REPO, "docs", "errors.md"), encoding="utf-8") as file:
        rows = re.findall(r"^\| `?(\w+)`? \| (`[a-z-]+`.*) \|$", file.read().split("## Kinds")[1].split("\n## ")[0], re.M)
    listed = [(language, kind) for language, kinds in rows for kind in re.findall(r"`([a-z-]+)`", kinds)]
    kit.true(len(rows) > 15 and len(listed) > 250, f"{len(rows)} rows, {len(listed)} kinds")
    kit.equal([pair for pair in listed if pair not in had], [])
    # What is listed is what there is.
    for path in glob.glob(os.path.join(kit.REPO, "runtimes", "*", "explain.yaml")):
        language = os.path.basename(os.path.dirname(path))
        with open(path, encoding="utf-8") as file:
            kinds = file.read().partition("\nkinds:\n")[2]
        kit.equal(sorted(re.findall(r"^  ([a-z-]+):", kinds, re.M)), sorted(kind for of, kind in listed if of == language), language)


# What interpreters mark below the line, and where nothing is marked: columns in characters, from 1.
COLUMNS = [
    ("python", "def f(x):\n    return 'ä' + len(x)\nf(5)\n", 2, 18),
    ("python", "if 1:\n    x = (1,\n", 2, 9),
    ("javascript", "let a = 1;\n  if (a {\n}\n", 2, 9),
    ("ruby", "a = nil\nputs 'b', a.foo\n", 2, 12),
    ("java", "public class Main {\n  public static void main(String[] a) {\n    int b = 1\n  }\n}\n", 3, 14),
    ("postgres", "select 1;\n  select 2,\n    nothing_there;\n", 3, 5),
    ("bash", "echo a\nnothing_there\n", 2, None),
]


def column(language, code, line, want):
    error = run(language, code)["error"]
    kit.equal((error["line"], error["column"]), (line, want), str(error))


for number, (language, code, line, want) in enumerate(COLUMNS):
    kit.test(functools.partial(column, language, code, line, want), name=f"column.{language}.{number}", timeout=FIRST)


@kit.test
def what_is_thrown_and_no_error_has_a_place():
    error = run("javascript", "const a = 1;\nthrow 'a text';\n")["error"]
    kit.equal([error[key] for key in ("type", "message", "file", "line", "column")], ["Error", "a text", "main.js", 2, 1], str(error))


@kit.test
def of_a_group_of_exceptions_the_place_is_where_it_was_raised():
    error = run("python", "x = 1\nraise ExceptionGroup('g', [ValueError(1)])\n")["error"]
    kit.equal([error[key] for key in ("type", "message", "line")], ["ExceptionGroup", "g (1 sub-exception)", 2], str(error))


def beside(files, *options, cwd=None):
    """What is suggested for the first of the files, run alone."""
    directory = kit.tmp()
    paths = [kit.write(os.path.join(directory, "a", name), content) for name, content in files.items()]
    env = {"EMBERBOX_HOME": os.path.join(kit.home(), "emberbox")}
    r = kit.emberbox("run", "--json", os.path.relpath(paths[0], os.path.join(directory, cwd or "")), *options, env=env, timeout=FIRST,
                     cwd=os.path.join(directory, cwd or ""))
    return (r.json["error"] or {}).get("suggestion")


@kit.test
def what_lies_beside_the_file_is_hinted_at():
    given = 'Add "--project a": {} is beside a/{}, and only that file was given.'
    program = {"main.py": "import helper\n", "other.py": ""}
    kit.equal(beside({**program, "helper.py": "x = 1\n"}), given.format("helper.py", "main.py"))
    kit.equal(beside({**program, "helper.py": "x = 1\n"}, cwd="a"), 'Add "--project .": helper.py is beside main.py, and only that file was given.')
    kit.equal(beside({"main.py": "open('data.csv')\n", "data.csv": ""}), given.format("data.csv", "main.py"))
    kit.equal(beside({"main.js": "require('./util');\n", "util.js": ""}), given.format("util.js", "main.js"))
    kit.equal(beside({"main.c": '#include "util.h"\nint main(void) {}\n', "util.h": ""}), given.format("util.h", "main.c"))
    kit.equal(beside({"main.rb": "require_relative 'util'\n", "util.rb": ""}), given.format("util.rb", "main.rb"))
    # Nothing there, a longer name, and a project that has it.
    for files in (program, {**program, "helpers.py": ""}):
        kit.true("--project" not in beside(files), str(files))
    directory = kit.tmp()
    kit.write(os.path.join(directory, "a", "helper.py"), "x = 1\n")
    r = kit.emberbox("run", kit.write(os.path.join(directory, "a", "main.py"), "import helper\nprint(helper.x)\n"), "--project", os.path.join(directory, "a"))
    kit.equal((r.code, r.text), (0, "1\n"), r.errtext)


for case in CASES:
    kit.test(functools.partial(explained, case), name=case.label(), timeout=FIRST)


if __name__ == "__main__":
    kit.main()
