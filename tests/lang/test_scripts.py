#!/usr/bin/python3
"""Languages that are run as they are: how files may be named, where errors in other files are, and each one's own."""
# tests/run: args=--as root
# tests/run: timeout=300

import functools
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit

FIRST = 120  # seconds: the first run may prepare the toolchain


def run(language, files, entry, *options):
    """The result of a program of several files, {name: content}."""
    directory = kit.tmp()
    argv = ["run", "--json", "-l", language, *options]
    for name, content in files.items():
        path = kit.write(os.path.join(directory, name), content)
        argv += [path] if name == entry else ["--file", f"{path}:{name}"]
    env = {"EMBERBOX_HOME": os.path.join(kit.home(), "emberbox")}
    return kit.emberbox(*argv, env=env, timeout=FIRST).json


def good(result, stdout, message=""):
    kit.equal((result["status"], result["stderr"], result["stdout"]), ("ok", "", stdout), message)


# What a tool could take for an option, a file of options, a pattern, or shell code.
NAMES = ("-e", "--help", "@x", "a b'c\"d", "$(id);`id`", "x=y", "a*b?[c]{d}", "ä%s", "a\\b")
SAYS = {
    "javascript": ("js", 'console.log("ran " + __filename.slice(14));\n'),
    "lua": ("lua", 'print("ran " .. arg[0]:sub(15))\n'),
    "perl": ("pl", 'print "ran ", substr(__FILE__, 14), "\\n";\n'),
    "php": ("php", 'echo "ran ", substr(__FILE__, 14), "\\n";\n'),
    "python": ("py", 'print("ran " + __file__[14:])\n'),
    "r": ("R", 'cat("ran", substring(grep("^--file=", commandArgs(), value = TRUE), 22), "\\n")\n'),
    "ruby": ("rb", 'puts "ran " + __FILE__[14..]\n'),
    "sqlite": ("sql", ".print 'ran'\n"),
    "typescript": ("ts", 'console.log("ran " + __filename.slice(14));\n'),
}


def odd_names(language):
    extension, code = SAYS[language]
    for name in NAMES:
        file = f"{name}.{extension}"
        result = run(language, {file: code}, file)
        if language == "typescript" and "\\" in name:
            want = "a TypeScript file's name can have no backslash and no control character in it"
            kit.equal((result["status"], result["error_message"]), ("failed", f"TypeScript compile error: {want}"))
        elif language == "r":
            # R itself puts ~+~ for a blank there.
            good(result, f"ran {file.replace(' ', '~+~')} \n", name)
        else:
            good(result, "ran\n" if language == "sqlite" else f"ran {file}\n", name)


for language in SAYS:
    kit.test(functools.partial(odd_names, language), name=f"{language}.odd_names", timeout=FIRST)


# A file that cannot be read, where the program asks for it: (entry, code, other, content, message)
BROKEN = {
    "javascript": (
        *("main.js", "console.log(1);\nrequire('./mod');\n"),
        *("mod.js", "let a;\n\nlet b = = 2;\n", "Unexpected token '='"),
    ),
    "lua": (
        *("main.lua", "print(1)\nrequire('mod')\n"),
        *("mod.lua", "local a\n\nlocal b = = 2\n", "unexpected symbol near '='"),
    ),
    "perl": (
        *("main.pl", "print 1;\nrequire Mod;\n"),
        *("Mod.pm", "package Mod;\n\nmy $b = = 2;\n1;\n", 'near "= ="'),
    ),
    "php": (
        *("main.php", "<?php\necho 1;\nrequire 'mod.php';\n"),
        *("mod.php", "<?php\n\n$b = = 2;\n", 'unexpected token "="'),
    ),
    "python": (
        *("main.py", "print(1)\nimport mod\n"),
        *("mod.py", "a = 1\n\nb = = 2\n", "invalid syntax"),
    ),
    "ruby": (
        *("main.rb", "puts 1\nrequire 'mod'\n"),
        *("mod.rb", "a = 1\n\nb = = 2\n", "unexpected '='"),
    ),
    "typescript": (
        *("main.ts", "import { a } from './mod';\nconst n: number = a + 'x';\n"),
        *("mod.ts", "export let a = 1;\n\nlet b = = 2;\n", "Expression expected."),
    ),
}
DISPLAY = {"javascript": "JavaScript", "php": "PHP", "typescript": "TypeScript"}


def broken_file(language):
    entry, code, other, content, message = BROKEN[language]
    result = run(language, {entry: code, other: content}, entry)
    display = DISPLAY.get(language, language.capitalize())
    kit.equal(result["error_message"], f"{display} syntax error: {message} ({other}, line 3)", result["stderr"][-400:])
    error = result["error"]
    kit.equal((error["type"], error["file"], error["line"]), ("SyntaxError", other, 3))
    # What stands before it did run, but for a compiler.
    kit.equal(result["stdout"].strip(), "" if language == "typescript" else "1")


for language in BROKEN:
    kit.test(functools.partial(broken_file, language), name=f"{language}.broken_file", timeout=FIRST)


def php(code):
    return run("php", {"main.php": code}, "main.php")


@kit.test(timeout=FIRST, name="php.without_a_tag")
def php_without_a_tag():
    code = 'echo "a", __LINE__, "\\n";\n\necho __FILE__, __LINE__, count(get_included_files());'
    good(php(code), "a1\n/sandbox/code/main.php31")
    good(php("#!/usr/bin/env php\necho __LINE__;\n"), "2")
    good(php(b"\xef\xbb\xbfdeclare(strict_types=1);\nnamespace Some;\necho __NAMESPACE__;\n"), "Some")
    good(php('$head = "<?xml version=\\"1.0\\"?>";\necho strlen($head);\n'), "21")
    good(php(""), "")
    result = php("$a = 1;\n\n$b = = 2;\n")
    kit.equal((result["error_message"], result["stdout"]), ('PHP syntax error: unexpected token "=" (line 3)', ""))
    result = php('echo "x";\n\nthrow new Exception("no");\n')
    kit.contains(result["stderr"], "Uncaught Exception: no in /sandbox/code/main.php:3\n")


@kit.test(timeout=FIRST, name="php.without_a_tag_in_a_project")
def php_without_a_tag_in_a_project():
    directory = kit.tmp()
    path = kit.write(os.path.join(directory, "main.php"), "echo 5;\n")
    env = {"EMBERBOX_HOME": os.path.join(kit.home(), "emberbox")}
    r = kit.emberbox("run", "--json", "-l", "php", "--project", directory, path, env=env, timeout=FIRST)
    good(r.json, "5")
    with open(path, encoding="utf-8") as file:
        kit.equal((file.read(), os.listdir(directory)), ("echo 5;\n", ["main.php"]), "it was changed")


@kit.test(timeout=FIRST, name="php.with_a_tag")
def php_with_a_tag():
    """A tag of any kind, anywhere: what is outside of it is text."""
    good(php("echo <?= 1 + 1 ?> there\n"), "echo 2 there\n")
    good(php("echo\n<?PHP echo 3;\n"), "echo\n3")
    good(php("#!/usr/bin/env php\n<?php echo get_included_files()[0];\n"), "/sandbox/code/main.php")


PYTHON = {
    "lines": ('class E(Exception): pass\nraise E("multi\\n  more\\nline")\n', "E: multi"),
    "note": ('e = KeyError(1)\ne.add_note("a\\nb")\nraise e\n', "KeyError: 1"),
    "group": ('raise ExceptionGroup("a\\nb", [ValueError("c\\nd"), KeyError(1)])\n', "ExceptionGroup: a"),
    "nothing_first": ('raise ValueError("\\n\\nwhy\\n")\n', "ValueError: why"),
    "interrupt": ("raise KeyboardInterrupt\n", "KeyboardInterrupt"),
    "exit": ('import sys\nsys.exit("a sentence\\nof its own")\n', "of its own"),
    "exit_later": (
        "import sys, traceback\ntry:\n\t1 / 0\nexcept ZeroDivisionError:\n\ttraceback.print_exc()\n"
        '\tsys.exit("error: no")\n',
        "error: no",
    ),
}


def python_cause(name):
    code, cause = PYTHON[name]
    if name in ("note", "group") and sys.version_info < (3, 11):
        kit.skip("Python 3.11 brought notes and groups")
    result = run("python", {"main.py": code}, "main.py")
    kit.equal((result["status"], result["error_message"]), ("failed", f"Execution failed: {cause}"), result["stderr"])


for name in PYTHON:
    kit.test(functools.partial(python_cause, name), name=f"python.cause_{name}", timeout=FIRST)


@kit.test(timeout=FIRST, name="r.pictures_with_text")
def r_pictures():
    code = """
        for (kind in c("png", "jpeg", "svg", "pdf")) {
            get(kind)(file.path("/sandbox/output", paste0("a.", kind)))
            plot(1:10, main = "a title")
            invisible(dev.off())
        }
    """
    out = os.path.join(kit.tmp(), "out")
    good(run("r", {"main.R": code}, "main.R", "--output", out), "")
    heads = {"a.png": b"\x89PNG", "a.jpeg": b"\xff\xd8\xff", "a.svg": b"<?xml", "a.pdf": b"%PDF"}
    for name, head in heads.items():
        with open(os.path.join(out, name), "rb") as file:
            kit.equal(file.read(len(head)), head, name)


kit.main()
