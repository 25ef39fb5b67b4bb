#!/usr/bin/python3
"""tools/runtime_gen: a mistake in a folder is told, ends with 1, and leaves no table behind."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit

PLAIN = """display: Plain
file: main.plain
tools: {plain: [/bin/true]}
version: ["{plain}"]
install: nobody does
run: ["{plain}"]
"""


def generate(folders):
    """The result for folders of {name: text of runtime.yaml}, and the directory; a table of an earlier run is there."""
    place = kit.tmp()
    output = kit.write(os.path.join(place, "out.c"), "/* earlier */\n")
    for name, text in folders.items():
        kit.write(os.path.join(place, name, "runtime.yaml"), text)
    result = kit.command([kit.built("src/runtime_gen"), "out.c", *folders], cwd=place)
    return result, output


def refused(folders, message):
    result, output = generate(folders)
    kit.equal(result.errtext, f"runtime_gen: {message}\n")
    kit.equal(result.code, 1)
    kit.true(not os.path.exists(output), "a table was left")


@kit.test
def tables_are_sorted_and_say_what_was_read():
    result, output = generate({"b": PLAIN, "a": PLAIN})
    kit.equal(result.errtext, "")
    kit.equal(result.code, 0)
    with open(output) as file:
        text = file.read()
    kit.equal([line for line in text.splitlines() if line.startswith("\t.name = \"") and "plain" not in line],
              ['\t.name = "a",', '\t.name = "b",'])
    kit.contains(text, "runtime_builtin_count = 2;")
    with open(output + ".d") as file:
        kit.equal(file.read().replace("\\\n", "").split(), ["out.c:", "b", "b/runtime.yaml", "a", "a/runtime.yaml"])


@kit.test
def a_mistake_has_its_place():
    refused({"a": PLAIN + "limits: {memory: much}\n"},
            "a/runtime.yaml:7:18: limits.memory: expected a size between 4m and 1024g, as 64k, 256m, 1g or in bytes, "
            'not "much"')


@kit.test
def no_word_means_two_languages():
    refused({"a": PLAIN + "aliases: [b]\n", "b": PLAIN}, 'a and b both have the name "b"')
    refused({"a": PLAIN, "b": PLAIN + "aliases: [a]\n"}, 'a and b both have the name "a"')
    refused({"a": PLAIN + "aliases: [x, y]\n", "b": PLAIN + "aliases: [y]\n"}, 'a and b both have the name "y"')
    refused({"a": PLAIN + "extensions: [R]\n", "b": PLAIN + "extensions: [r]\n"},
            'a and b both have the extension "r"')
    refused({"a": PLAIN + "interpreters: [x]\n", "b": PLAIN + "interpreters: [x]\n"},
            'a and b both have the interpreter "x"')
    refused({"a": PLAIN, "x/a": PLAIN}, 'a and a both have the name "a"')


kit.main()
