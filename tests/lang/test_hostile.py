#!/usr/bin/python3
"""Programs that are meant to harm whoever compiles them: each ends within the compiler's own limits.

tests/lang/_hostile/ has one a file. Beside each, the language's hello is the control: compiling it works, before and
after.
"""
# tests/run: timeout=600

import functools
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit

HERE = os.path.dirname(os.path.abspath(__file__))
MEMORY = 1 << 30  # what a compiler may have
SLACK = 32 << 20
SECONDS = 60  # the longest that one may take
FIRST = 240  # seconds: the first run of a language prepares its toolchain
LANGUAGES = {".c": "c", ".cpp": "cpp", ".go": "go", ".rs": "rust"}

FAILED = ("failed",)
MEMORY_GONE = ("out_of_memory",)
# How far a compiler gets before it gives up differs from version to version, here and there.
EITHER = ("failed", "out_of_memory", "timeout", "output_limit")

CASES = {
    # Files that never end, or that are not the program's to read.
    "include_zero.c": MEMORY_GONE,
    "include_random.c": EITHER,
    "include_self.c": EITHER,
    "include_host.c": FAILED,
    "include_zero.cpp": MEMORY_GONE,
    "include_zero.rs": MEMORY_GONE,
    "incbin.c": FAILED,
    "embed.go": FAILED,
    # Small programs that are large ones.
    "macros.c": MEMORY_GONE,
    "macros.rs": EITHER,
    "constants.go": EITHER,
    "templates.cpp": EITHER,
    "array.c": FAILED,
    "array.go": EITHER,
    "array.rs": FAILED,
    "zeros.c": FAILED,
    "object.c": FAILED,
    "repeat.c": EITHER,
    "endless_object.c": EITHER,
    # Compilers that would compute for ever.
    "spin.c": ("timeout",),
    "template.cpp": FAILED,
    "constexpr.cpp": FAILED,
    "constant.rs": EITHER,
    "types.go": FAILED,
    "types.rs": FAILED,
}


# What only make test-all runs, and what proves the same.
NIGHTLY = {
    "spin.c": "test_runtimes.py ends a compiler that spins after a second; this one computes for half a minute",
    "templates.cpp": "template.cpp and constexpr.cpp are the same compiler, and macros.c takes as much memory",
    "include_zero.cpp": "include_zero.c: one driver compiles both",
}

_works = set()  # languages whose hello was the last that they compiled


def state():
    return {"EMBERBOX_HOME": os.path.join(kit.home(), "emberbox")}


def run(path, timeout):
    with open(path, "rb") as file:
        copy = kit.write(os.path.join(kit.tmp(), os.path.basename(path)), file.read())
    return kit.emberbox("run", "--json", "-l", LANGUAGES[os.path.splitext(path)[1]], copy, env=state(), timeout=timeout)


def control(extension, timeout=60):
    r = run(os.path.join(HERE, LANGUAGES[extension], "hello" + extension), timeout)
    kit.equal((r.json["status"], r.json["stdout"]), ("ok", "hello\n"), r.json["error_message"] or "")


def hostile(name, statuses):
    extension = os.path.splitext(name)[1]
    if extension not in _works:  # else it was the control after the one before
        control(extension, FIRST)
    _works.discard(extension)
    r = run(os.path.join(HERE, "_hostile", name), SECONDS + 30)
    result = r.json
    kit.true(result["status"] in statuses, f"{result['status']}, not {statuses}: {result['error_message']}")
    kit.equal((result["success"], result["stdout"]), (False, ""))
    kit.true(result["error_message"], "no error message")
    kit.true(result["memory_used"] <= MEMORY + SLACK, f"{result['memory_used']} bytes of memory")
    kit.true(r.seconds < SECONDS + 15, f"{r.seconds} s")
    control(extension)
    _works.add(extension)


@kit.test(name="hostile.every_file_is_a_case", modes=("root",))
def every_file_is_a_case():
    kit.equal(sorted(os.listdir(os.path.join(HERE, "_hostile"))), sorted(CASES))


@kit.test(name="hostile.the_host_is_not_included", modes=("root",), timeout=FIRST + 60)
def the_host_is_not_included():
    # The same directive works with a file that a box does have.
    inside = kit.write(os.path.join(kit.tmp(), "inside.c"), '#include "/usr/include/stdlib.h"\nint main(void) { exit(3); }\n')
    kit.equal(kit.emberbox("run", inside, env=state(), timeout=FIRST).code, 3)
    result = run(os.path.join(HERE, "_hostile", "include_host.c"), 60).json
    kit.contains(result["error_message"], "/etc/shadow: No such file or directory (line 1)")


@kit.test(name="hostile.the_input_is_not_the_compilers", modes=("root",), timeout=FIRST + 60)
def the_input_is_not_the_compilers():
    # What comes on standard input is the program's: the compiler reads nothing there.
    text = '#include <stdio.h>\n#include "/dev/stdin"\nint main(void) { printf("%d\\n", getchar()); }\n'
    code = kit.write(os.path.join(kit.tmp(), "input.c"), text)
    r = kit.emberbox("run", code, stdin=b"#error read\n", env=state(), timeout=FIRST)
    kit.equal((r.code, r.text), (0, f"{ord('#')}\n"), r.errtext)


for name, statuses in CASES.items():
    kit.test(functools.partial(hostile, name, statuses), name=f"hostile.{name}", timeout=FIRST + 200, modes=("root",), nightly=NIGHTLY.get(name))

kit.main()
