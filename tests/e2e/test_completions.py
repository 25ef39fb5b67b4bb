#!/usr/bin/python3
"""Completion in the shells themselves: what they offer is what the help texts say there is, and no more."""
# tests/run: args=--as root
# tests/run: builds=release
# tests/run: timeout=120

import os
import pty
import re
import select
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit

SCRIPTS = os.path.join(kit.REPO, "completions")
BASH = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _emberbox; printf "%s\\n" "${COMPREPLY[@]}"'
# The completion system's own commands, as far as they are used, without a line editor.
ZSH = """source "$1"; shift
compadd() { shift; local w; for w in "$@"; do [[ $w == ${words[CURRENT]}* ]] && print -r -- $w; done; return 0 }
_files() { local w; for w in ${words[CURRENT]}*; do print -r -- $w; done }
words=("$@"); CURRENT=$#; _emberbox"""


def environment(home):
    path = os.path.dirname(kit.built()) + ":" + kit.PATH
    return {"HOME": home, "EMBERBOX_HOME": home, "PATH": path, "TERM": "dumb"}


def offered(shell, home, *words):
    """What the shell offers for the last of the words, which may be empty."""
    words = ["emberbox", *words]
    if shell == "bash":
        argv = ["/bin/bash", "-c", BASH, "bash", os.path.join(SCRIPTS, "emberbox.bash"), *words]
    elif shell == "zsh":
        argv = ["/usr/bin/zsh", "-f", "-c", ZSH, "zsh", os.path.join(SCRIPTS, "_emberbox"), *words]
    else:
        line = " ".join(words)
        argv = ["/usr/bin/fish", "--no-config", "-c", f'source {SCRIPTS}/emberbox.fish; complete -C "{line}"']
    r = kit.command(argv, env=environment(home), cwd=home)
    kit.equal(r.errtext, "", f"{shell} {words}")
    return sorted(line.split("\t")[0] for line in r.text.splitlines() if line)


def helped(*args):
    """The options that a help text has."""
    return sorted(re.findall(r"(?m)^ {2,6}(?:-\w, )?(--[a-z-]+)", kit.emberbox(*args, "--help").text))


def each(check):
    for shell in ("bash", "zsh", "fish"):
        kit.test(timeout=100, name=f"{check.__name__}_in_{shell}")(lambda shell=shell: check(shell))
    return check


@each
def commands_and_options(shell):
    home = kit.tmp()
    commands = sorted(re.findall(r"(?m)^  ([a-z]+) +\S", kit.emberbox("--help").text.partition("Commands:\n")[2]))
    kit.true(len(commands) >= 16 and "run" in commands, str(commands))
    kit.equal(offered(shell, home, ""), commands)
    kit.equal(offered(shell, home, "lang"), ["languages"])
    kit.equal(offered(shell, home, "help", "lang"), ["languages"])
    for command in commands:
        kit.equal(offered(shell, home, command, "--"), helped(command), command)
    kit.equal(offered(shell, home, "run", "--max"), ["--max-output"])


@each
def values(shell):
    home = kit.tmp()
    kit.write(os.path.join(home, "program.py"), "print(1)\n")
    os.mkdir(os.path.join(home, "project"))
    kit.equal(offered(shell, home, "run", "--policy", ""), ["block", "off", "warn"])
    kit.equal(offered(shell, home, "run", "-l", "pyth"), ["python"])
    kit.equal(offered(shell, home, "run", "--language", "pyth"), ["python"])
    kit.equal(offered(shell, home, "repl", "pyth"), ["python"])
    kit.equal(offered(shell, home, "session", "start", "pyth"), ["python"])
    kit.equal(offered(shell, home, "session", "inter"), ["interrupt"])
    kit.equal(offered(shell, home, "token", "re"), ["remove"])
    kit.equal(offered(shell, home, "run", "prog"), ["program.py"])
    kit.equal([name.rstrip("/") for name in offered(shell, home, "run", "--project", "pro") if name != "program.py"], ["project"])
    kit.equal(offered(shell, home, "run", "--net", ""), ["none", "public"])
    # Nothing is offered where anything can be typed.
    kit.equal(offered(shell, home, "why", "--net", ""), [])
    kit.equal(offered(shell, home, "run", "--timeout", ""), [])
    id = kit.emberbox("run", "-l", "python", "-c", "1", "--json", env={"EMBERBOX_HOME": home}).json["id"]
    kit.equal(offered(shell, home, "show", ""), sorted([id, "last"]))


@kit.test
def zsh_finds_it_by_its_name():
    home = kit.tmp()
    ours, theirs = pty.openpty()
    process = subprocess.Popen(["/usr/bin/zsh", "-f", "-i"], stdin=theirs, stdout=theirs, stderr=theirs, cwd=home,
                               env={**environment(home), "PS1": "> "}, start_new_session=True)
    kit._started.append(process)
    os.close(theirs)
    seen = b""

    def until(pattern):
        nonlocal seen
        end = time.monotonic() + 20
        while not re.search(pattern, seen):
            kit.true(time.monotonic() < end, f"{pattern!r} is not in {seen!r}")
            if select.select([ours], [], [], 1)[0]:
                seen += os.read(ours, 65536)
        seen = b""

    os.write(ours, f"fpath=({SCRIPTS} $fpath); autoload -U compinit; compinit -u -D; echo rea''dy\n".encode())
    until(rb"ready")
    os.write(ours, b"echo emberbox lang; emberbox lang\t")
    until(rb"emberbox languages")


kit.main()
