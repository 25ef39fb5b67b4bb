#!/usr/bin/python3
"""Every fuzz target can be built: the lists of tests/fuzz/meson.build name all that it needs.

`make fuzz` needs clang, so nothing else in `make test` comes by those lists. Here each target is linked by gcc with what the
release build made of the sources that are listed, and with nothing else of ours. That it compiles, test_replay.c tells.
"""
# tests/run: timeout=180

import glob
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "meson.build"), encoding="utf-8") as file:
    MESON = file.read()
# Those that are linked with the whole library, or that bring a grammar: no list of theirs can be too short.
WHOLE = ["front_http", "reader", "websocket"]
LIBRARIES = ["jansson", "yaml", "pcre2-8", "md", "z", "idn2", "m"]
ENTRY = "int LLVMFuzzerTestOneInput(const unsigned char *data, unsigned long size);\n" \
        "int main(void) { return LLVMFuzzerTestOneInput((const unsigned char *)\"\", 0); }\n"


def names():
    return re.findall(r"'(\w+)'", re.search(r"foreach name : \[(.*?)\]", MESON)[1])


def objects():
    """What the build made of the sources of `watched`, and of tables that it generates."""
    listed = re.findall(r"'\.\./\.\./src/([\w/]+)\.c'", re.search(r"watched = static_library\((.*?)include_directories", MESON, re.S)[1])
    made = {os.path.basename(path): path for path in glob.glob(os.path.join(kit.BUILD, "src", "libtier_*.a.p", "*.o"))}
    found = [made[name.replace("/", "_") + ".c.o"] for name in listed]
    tables = [made[name] for name in sorted(made) if re.fullmatch(r"meson-generated_.*(runtime_builtin|mcp_).*\.o", name)]
    kit.true(len(listed) > 50 and tables, f"{len(listed)} sources, {tables}")
    return found + tables


def link(name, with_these, directory):
    out = os.path.join(directory, name)
    argv = ["gcc", "-w", "-std=gnu17", "-O0", "-D_GNU_SOURCE", "-I" + os.path.join(kit.REPO, "src"), "-I" + os.path.join(kit.REPO, "include"),
            "-o", out, os.path.join(HERE, f"fuzz_{name}.c"), os.path.join(directory, "entry.c"), os.path.join(directory, "watched.a"),
            *["-l" + library for library in with_these]]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def archive(directory, members):
    kit.write(os.path.join(directory, "entry.c"), ENTRY)
    subprocess.run(["ar", "rcs", os.path.join(directory, "watched.a"), *members], check=True)


@kit.test
def every_target_is_listed():
    there = sorted(re.fullmatch(r"fuzz_(\w+)\.c", name)[1] for name in os.listdir(HERE) if re.fullmatch(r"fuzz_\w+\.c", name))
    kit.equal(sorted(names() + WHOLE), there)
    for name in WHOLE:
        kit.contains(MESON, f"'fuzz_{name}.c'")


@kit.test(timeout=150)
def what_is_listed_is_enough():
    directory = kit.tmp()
    archive(directory, objects())
    for name in names():
        r = link(name, LIBRARIES, directory)
        kit.equal((r.returncode, r.stderr), (0, ""), name)


@kit.test
def the_control_a_list_that_is_too_short():
    directory = kit.tmp()
    archive(directory, [path for path in objects() if not path.endswith("/http_parse.c.o")])
    r = link("http", LIBRARIES, directory)
    kit.equal(r.returncode, 1)
    kit.contains(r.stderr, "undefined reference to")


kit.main()
