#!/usr/bin/python3
# tests/run: timeout=60
"""tools/check-layers: src/ is in order, and each way to break the order is found. The linker holds calls to the same."""

import glob
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit

TIERS = "# order\nlow\nhigh low\nhigh/top high low\n"
GOOD = {
    "low/bytes.h": "struct bytes {\n};\n",
    "low/bytes.c": '#include "low/bytes.h"\n#include <stdio.h>\n#include "made_by_the_build.inc"\n',
    "high/text.c": '#include "low/bytes.h"\n\nstruct text {\n};\n',
    "high/top/page.c": '#include "high/text.c"\n#include "low/bytes.h"\n',
}


def check(files, tiers=TIERS):
    """What the tool says of a tree, below its directory, and how it exits."""
    place = kit.tmp()
    kit.write(f"{place}/tiers", tiers)
    for path, text in files.items():
        kit.write(f"{place}/{path}", text)
    r = kit.command([os.path.join(kit.REPO, "tools", "check-layers"), place])
    kit.equal(r.errtext, "")
    return r.code, [line.split("/tiers" if "/tiers:" in line else os.path.basename(place) + "/", 1)[-1] for line in r.text.splitlines()]


def tiers():
    """The names of src/tiers."""
    with open(os.path.join(kit.REPO, "src", "tiers"), encoding="utf-8") as file:
        return [line.split()[0] for line in file if line.strip() and not line.startswith("#")]


@kit.test
def the_sources_are_in_order():
    r = kit.command([os.path.join(kit.REPO, "tools", "check-layers")])
    kit.equal((r.code, r.text, r.errtext), (0, "the layers of src/ are in order\n", ""))


@kit.test
def order_is_taken():
    kit.equal(check(GOOD), (0, ["the layers of src/ are in order"]))


@kit.test
def an_include_upwards_is_found():
    kit.equal(check({**GOOD, "low/bytes.c": '#include "low/bytes.h"\n\n# include "high/text.c"\n'}),
              (1, ["low/bytes.c:3: low may not include high/text.c: it does not use high"]))
    # Also of a file beside the including one, and of a tier that stands higher but is not named.
    kit.equal(check({**GOOD, "high/words.c": '#include "top/page.c"\n'}),
              (1, ["high/words.c:1: high may not include high/top/page.c: it does not use high/top"]))
    kit.equal(check(GOOD, "low\nhigh low\nhigh/top high\n"),
              (1, ["high/top/page.c:2: high/top may not include low/bytes.h: it does not use low"]))


@kit.test
def a_file_may_be_a_tier_of_its_own():
    tiers = "high/text\nlow high/text\nhigh low high/text\n"
    files = {"high/text.c": "\n", "low/bytes.c": '#include "high/text.c"\n'}
    kit.equal(check(files, tiers), (0, ["the layers of src/ are in order"]))
    kit.equal(check({**files, "high/words.c": "\n", "low/bytes.c": '#include "high/words.c"\n'}, tiers),
              (1, ["low/bytes.c:1: low may not include high/words.c: it does not use high"]))


@kit.test
def a_list_without_order_is_found():
    kit.equal(check(GOOD, "high low\nlow\nhigh/top high low\n"), (1, [":1: high uses low, which is not below it"]))
    kit.equal(check(GOOD, TIERS + "low\n"), (1, [":5: low is there twice"]))
    kit.equal(check({}), (1, [":1: there are no sources beside it"]))


@kit.test
def a_directory_without_a_tier_is_found():
    kit.equal(check({**GOOD, "new/thing.c": "\n"}), (1, ["new/thing.c:1: the directory new belongs to no tier of src/tiers"]))


@kit.test
def two_files_of_one_name_are_found():
    kit.equal(check({**GOOD, "high/bytes.c": "\n"}),
              (1, ["low/bytes.c:1: high/bytes.c has the same name", "low/bytes.h:1: high/bytes.c has the same name"]))


@kit.test
def two_structs_of_one_name_are_found():
    kit.equal(check({**GOOD, "high/words.c": "\nstatic struct words {\n} all;\n", "high/top/page.h": "struct text {\n};\nenum words {\n\tA\n};\n"}),
              (1, ["high/top/page.h:1: high/text.c has another text",
                   "high/words.c:2: high/top/page.h has another words"]))


@kit.test
def the_keeper_makes_trees_of_nobody_elses_json():
    """What a driver sent becomes a tree in a process of its own (driver_told.c); the questions are the front's."""
    found = []
    for tier in ("daemon/keeper", "live", "run", "result", "engine", "explain", "policy"):
        for directory, _, names in os.walk(os.path.join(kit.REPO, "src", tier)):
            for name in names:
                with open(os.path.join(directory, name), encoding="utf-8") as file:
                    if re.search(r"\bjson_load", file.read()):
                        found.append(f"{tier}/{name}")
    kit.equal(sorted(found), ["daemon/keeper/keeper_ask.c", "live/driver_told.c"])


@kit.test
def each_tier_was_linked_with_what_is_below_it_alone():
    programs = ("agent", "interceptor", "reader", "cli")
    for tier in tiers():
        # A tier of headers alone has nothing to link.
        sources = glob.glob(os.path.join(kit.REPO, "src", f"{tier}*.c")) + glob.glob(os.path.join(kit.REPO, "src", tier, "**/*.c"), recursive=True)
        if tier not in programs and sources:
            name = f"tier_{tier.replace('/', '_')}_links"
            kit.true(os.path.exists(os.path.join(kit.BUILD, "src", name)), f"{name} is not built")


kit.main()
