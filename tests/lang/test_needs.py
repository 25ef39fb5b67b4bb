#!/usr/bin/python3
"""A language is available only with all that a run of it needs; what is missing is a sentence with the command."""
# tests/run: args=--as root
# tests/run: timeout=120

import glob
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit

# What is hidden, of which language, and the command that is told.
CASES = {
    "sqlite": ("/usr/lib/python3*/lib-dynload", "SQLite", "sudo apt-get install python3"),
    "rust": ("/usr/lib/*-linux-gnu/crt1.o", "Rust", "sudo apt-get install rustc libc6-dev"),
    "c": ("/usr/include", "C", "sudo apt-get install gcc libc6-dev"),
    "cpp": ("/usr/include", "C++", "sudo apt-get install g++ libc6-dev"),
}


def apart(hidden, *words):
    """emberbox where those places are empty."""
    mounts = [f"mount -t tmpfs none {place}" if os.path.isdir(place) else f"mount --bind {kit.tmp()}/absent {place}" for place in hidden]
    for place in hidden:
        kit.true(os.path.exists(place), place)
    argv = ["/usr/bin/unshare", "-m", "/bin/sh", "-c", f'{" && ".join(mounts)} && exec "$@"', "sh", kit.built(), *words]
    return kit.command(argv, env={"PATH": kit.PATH, "EMBERBOX_HOME": kit.tmp()}, timeout=60)


@kit.test(timeout=100)
def a_language_without_what_it_needs_is_not_available():
    here = {row["name"]: row["available"] for row in kit.emberbox("languages", "--json").json}
    for language, (pattern, display, install) in CASES.items():
        if not here[language]:
            continue
        hidden = [place for place in glob.glob(pattern) if os.path.isdir(place)] or [os.path.dirname(place) for place in glob.glob(pattern)]
        row = next(row for row in apart(hidden, "languages", "--json").json if row["name"] == language)
        kit.equal((row["available"], row["version"], row["install"]), (False, None, install), language)
        r = apart(hidden, "run", "--cold", "-l", language, "-c", "1")
        kit.equal((r.code, r.text), (127, ""), language)
        kit.equal(r.errtext, f"emberbox: {display} is not installed on this machine; install it with: {install}\n")


kit.main()
