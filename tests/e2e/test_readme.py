#!/usr/bin/python3
"""Every example of README.md and docs/http.md is true.

Blocks marked `console` are run in order, in one directory, each block of README.md in one shell, all of docs/http.md in
one: `$ ` begins a command, `> ` continues it, other lines are what it prints on standard output and standard error
together.  `…` stands for anything.  A service that an example starts listens where no other does.  Examples that name
the address of the service have one, at an address of its own that stands in for it; the registry is the example's.  The C
example is compiled and run with the shared library, the Python example with a service.
"""
# tests/run: args=--as root | --as user
# tests/run: timeout=180

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from service import Service

MARK = "<<<command>>>"

ADDRESS = "127.0.0.1:7320"


def document(*path):
    with open(os.path.join(kit.REPO, *path), encoding="utf-8") as file:
        return file.read()


README, HTTP = document("README.md"), document("docs", "http.md")


def blocks(kind, text=README):
    """(line number, text) of each block of that kind."""
    for match in re.finditer(rf"^```{kind}\n(.*?)^```$", text, re.M | re.S):
        yield text[: match.start()].count("\n") + 2, match.group(1)


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


def service(fresh=False):
    """With the registry that README.md shows, or with none, as a newcomer has it."""
    found = list(blocks("yaml"))
    kit.equal(len(found), 1)
    home = kit.tmp()
    if not fresh:
        kit.write(os.path.join(home, "registry.yaml"), found[0][1])
    return Service(home=home, listen=True)


def run_block(number, text, directory, running=None, name="README.md"):
    if running:
        text = text.replace(ADDRESS, "{}:{}".format(*running.address))
    found = examples(text)
    script = "eb_status=0\n"
    for command, _ in found:
        script += f"eb_status=$?; echo '{MARK}'; (exit $eb_status)\n{command}\n"
    path = f"{os.path.dirname(kit.built())}:{kit.PATH}"
    env = {"PATH": path, "EMBERBOX_SERVICE": "auto", "EMBERBOX_LISTEN": "none", "EMBERBOX_HOME": directory}
    if running:
        env["EMBERBOX_HOME"] = running.home
    # It ends when the last process that has its output does: also a service.
    r = kit.command(["/bin/bash", "-c", f"exec 2>&1\n{script}"], cwd=directory, env=env, timeout=60)
    outputs = r.text.split(f"{MARK}\n")[1:]
    kit.equal(len(outputs), len(found), f"{name}:{number}: commands that ran; {r!r}")
    for (command, expected), output in zip(found, outputs):
        if not re.match(pattern(expected), output):
            kit.fail(f"{name}:{number}: `{command}` printed {output!r}, not {expected!r}")


@kit.test(timeout=110)
def console_examples():
    directory = kit.tmp()
    found = list(blocks("console"))
    kit.true(len(found) >= 5, f"only {len(found)} console blocks")
    for registry in blocks("yaml"):
        kit.write(os.path.join(directory, "registry.yaml"), registry[1])
    # What is shown before the registry works without it.
    shown = next(blocks("yaml"))[0]
    kit.true(any(ADDRESS in text and number < shown for number, text in found), "nothing is shown before the registry")
    services = {True: service(fresh=True), False: service()}
    for number, text in found:
        run_block(number, text, directory, services[number < shown] if ADDRESS in text else None)


@kit.test(timeout=60)
def http_examples():
    found = list(blocks("console", HTTP))
    kit.true(len(found) >= 5, f"only {len(found)} console blocks")
    run_block(found[0][0], "".join(text for _, text in found), kit.tmp(), service(), "docs/http.md")


@kit.test
def a_false_example_would_be_noticed():
    directory = kit.tmp()
    run_block(0, "$ echo a\na\n$ false\n$ echo $?\n1\n$ echo 12 b\n… b\n", directory)
    for text in ("$ echo -n a\na\n", "$ echo a\nb\n", "$ echo a\n", "$ true\na\n", "$ false\n$ echo $?\n0\n", "$ echo a b\n… c\n"):
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
    kit.equal(re.findall(r"^```(?!console$|sh$|c$|python$|json$|yaml$|$)(.*)$", README, re.M), [], "kinds of blocks nobody checks")


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


@kit.test
def python_example_runs():
    found = list(blocks("python"))
    kit.equal(len(found), 1)
    running = Service()
    argv = ["/usr/bin/python3", kit.write(os.path.join(kit.tmp(), "example.py"), found[0][1])]
    r = kit.command(argv, env={"EMBERBOX_SOCKET": running.path})
    kit.equal((r.code, r.text, r.errtext), (0, "42\n", ""))
    # Without the variable it looks where a service listens that was told no place.
    home = kit.tmp()
    os.makedirs(os.path.join(home, ".local", "state"))
    os.symlink(running.home, os.path.join(home, ".local", "state", "emberbox"))
    r = kit.command(argv, env={"EMBERBOX_SOCKET": "", "HOME": home})
    kit.equal((r.code, r.text, r.errtext), (0, "42\n", ""))


kit.main()
