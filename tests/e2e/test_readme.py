#!/usr/bin/python3
"""Every example of README.md is true.

Blocks marked `console` are run in order, in one directory, each block in one shell:
`$ ` begins a command, `> ` continues it, other lines are what it prints on standard
output and standard error together.  `…` stands for anything.  The C example is compiled and
run with the shared library.
"""
# tests/run: args=--as root | --as user
# tests/run: timeout=120

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit

MARK = "<<<command>>>"

with open(os.path.join(kit.REPO, "README.md"), encoding="utf-8") as file:
    README = file.read()


def blocks(kind):
    """(line number, text) of each block of that kind."""
    for match in re.finditer(rf"^```{kind}\n(.*?)^```$", README, re.M | re.S):
        yield README[: match.start()].count("\n") + 2, match.group(1)


def examples(text):
    """[command, expected output] of a console block."""
    found = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append([line[2:], ""])
        elif line.startswith("> ") and found and not found[-1][1]:
            found[-1][0] += "\n" + line[2:]
        else:
            found[-1][1] += line + "\n"
    return found


def pattern(expected):
    return "".join(r"[\s\S]*?" if part == "…" else re.escape(part) for part in re.split("(…)", expected)) + r"\Z"


def run_block(number, text, directory):
    found = examples(text)
    script = "eb_status=0\n"
    for command, _ in found:
        script += f"eb_status=$?; echo '{MARK}'; (exit $eb_status)\n{command}\n"
    path = f"{os.path.dirname(kit.built())}:{kit.PATH}"
    r = kit.command(["/bin/bash", "-c", f"exec 2>&1\n{script}"], cwd=directory, env={"PATH": path}, timeout=60)
    outputs = r.text.split(f"{MARK}\n")[1:]
    kit.equal(len(outputs), len(found), f"README.md:{number}: commands that ran; {r!r}")
    for (command, expected), output in zip(found, outputs):
        if not re.match(pattern(expected), output):
            kit.fail(f"README.md:{number}: `{command}` printed {output!r}, not {expected!r}")


@kit.test(timeout=110)
def console_examples():
    directory = kit.tmp()
    found = list(blocks("console"))
    kit.true(len(found) >= 5, f"only {len(found)} console blocks")
    for number, text in found:
        run_block(number, text, directory)


@kit.test
def a_false_example_would_be_noticed():
    directory = kit.tmp()
    run_block(0, "$ echo a\na\n$ false\n$ echo $?\n1\n$ echo 12 b\n… b\n", directory)
    for text in ("$ echo a\nb\n", "$ echo a\n", "$ true\na\n", "$ false\n$ echo $?\n0\n", "$ echo a b\n… c\n"):
        try:
            run_block(0, text, directory)
        except kit.Failed:
            continue
        kit.fail(f"{text!r} was taken for true")


@kit.test
def no_example_escapes_the_test():
    """Untested blocks hold only what cannot be tested here: building and installing."""
    for number, text in blocks("sh"):
        for line in text.splitlines():
            kit.matches(line, r"^(make|git clone|cd|sudo|#)( |$)", f"README.md:{number}")
    kit.equal(re.findall(r"^```(?!console$|sh$|c$|json$|$)(.*)$", README, re.M), [], "kinds of blocks nobody checks")


@kit.test(modes=("root",))
def c_example_runs():
    found = list(blocks("c"))
    kit.equal(len(found), 1)
    directory = kit.tmp()
    source = kit.write(os.path.join(directory, "example.c"), found[0][1])
    argv = ["cc", "-Wall", "-Wextra", "-Werror", "-I", os.path.join(kit.REPO, "include"), source]
    found = [os.path.join(kit.BUILD, part, "libemberbox.so") for part in ("", "src")]
    library = next((path for path in found if os.path.exists(path)), None)
    kit.true(library, "libemberbox.so is not built")
    where = os.path.dirname(library)
    r = kit.command([*argv, "-o", os.path.join(directory, "example"), library, f"-Wl,-rpath,{where}"])
    kit.equal((r.code, r.errtext), (0, ""))
    r = kit.command([os.path.join(directory, "example")])
    kit.equal((r.code, r.text, r.errtext), (0, "42\n", ""))


kit.main()
