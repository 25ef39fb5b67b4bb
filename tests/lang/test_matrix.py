#!/usr/bin/python3
"""Every language does every thing: the programs of tests/lang/NAME/, one box after the other.

A folder has a program a case, CASE.EXT, beside it CASE.expect if its output is not the usual
one; multi/ and real/ are folders of several files. `skip` has lines `CASE: the language has no …`,
`memory` the limit for the hog. All the cases as root, some of them as an ordinary user.
"""
# tests/run: args=--only matrix,python,javascript,bash,sh,zsh | --only ruby,perl,lua,php,r | --only c,cpp,sqlite,postgres | --only go,rust | --only typescript,java | --as user
# tests/run: timeout=420

import functools
import os
import re
import shlex
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit

HERE = os.path.dirname(os.path.abspath(__file__))
# A folder that was lost would be missed by nobody.
REQUIRED = "bash c cpp go java javascript lua perl php postgres python r ruby rust sh sqlite typescript zsh".split()
FIRST = 240  # seconds: the first run of a language may have to prepare its toolchain
WORDS = ("one", "two words", "--three", "")
UNICODE = "héllo wörld ✓ 日本語 🎉"
MEBIBYTE = 1 << 20


def folders():
    return sorted(name for name in os.listdir(HERE) if os.path.isdir(os.path.join(HERE, name)) and name[0] not in "._")


@functools.lru_cache(maxsize=None)
def listed():
    """{name: what `emberbox languages` says of it}"""
    r = kit.emberbox("languages", "--json", env=state(), timeout=60)
    kit.equal(r.code, 0, r.errtext)
    return {row["name"]: row for row in r.json}


def state():
    """A home of the test's own: nothing that was built or prepared before helps."""
    return {"EMBERBOX_HOME": os.path.join(kit.home(), "emberbox")}


def read(*path, binary=False):
    with open(os.path.join(HERE, *path), "rb") as file:
        data = file.read()
    return data if binary else data.decode()


def skips(language):
    path = os.path.join(HERE, language, "skip")
    if not os.path.exists(path):
        return {}
    return dict(line.split(": ", 1) for line in read(path).splitlines() if line.strip() and line[0] != "#")


class Language:
    def __init__(self, name):
        self.name = name

    @property
    def display(self):
        return listed()[self.name]["display"]

    def find(self, case, directory=""):
        """The program of a case, or of a folder its main file; there is exactly one."""
        place = os.path.join(HERE, self.name, directory)
        names = os.listdir(place) if os.path.isdir(place) else []
        found = [n for n in names if n.split(".")[0] == case and n.rpartition(".")[2] not in ("expect", "in", case)]
        if len(found) != 1:
            kit.fail(f"tests/lang/{os.path.join(self.name, directory)} has {len(found)} programs {case}.*: {found}")
        return os.path.join(place, found[0])

    def expect(self, name, usual):
        path = os.path.join(HERE, self.name, name)
        return read(path) if os.path.exists(path) else usual

    def program(self, case):
        """A copy that the mode's user can read."""
        source = self.find(case)
        return kit.write(os.path.join(kit.tmp(), os.path.basename(source)), read(source, binary=True))

    def run(self, case, *options, stdin=None, words=(), program=None, timeout=60):
        """The result of a case's program with --json; the exit code is the result's."""
        argv = ["run", "--json", "-l", self.name, *options, program or self.program(case)]
        r = kit.emberbox(*argv, *(("--", *words) if words else ()), stdin=stdin, env=state(), timeout=timeout)
        kit.equal(r.json["exit_code"], r.code, "exit_code")
        kit.equal(r.json["language"], self.name)
        return r.json

    def good(self, result, stdout):
        said = f"{result['error_message']}; {result['stderr'][-300:]}"
        kit.equal((result["status"], result["exit_code"]), ("ok", 0), said)
        kit.equal(result["stdout"], stdout)
        kit.equal((result["error_message"], result["success"]), (None, True))

    def folder(self, directory, usual):
        """Several files, each at its place; main.EXT is the one that runs."""
        entry = self.find("main", directory)
        root = os.path.dirname(entry)
        copy = os.path.join(kit.tmp(), directory)
        options = []
        for base, _, names in os.walk(root):
            for name in names:
                source = os.path.join(base, name)
                place = os.path.relpath(source, root)
                if place in ("expect", "stdin", "args"):
                    continue
                given = kit.write(os.path.join(copy, place), read(source, binary=True))
                if source == entry:
                    program = given
                else:
                    options += ["--file", f"{given}:{place}"]
        stdin = os.path.join(root, "stdin")
        args = os.path.join(root, "args")
        result = self.run(
            directory,
            *options,
            program=program,
            stdin=read(stdin, binary=True) if os.path.exists(stdin) else None,
            words=shlex.split(read(args)) if os.path.exists(args) else (),
        )
        self.good(result, self.expect(os.path.join(directory, "expect"), usual))
        return result


# The cases: each a function of a language


def hello(language):
    result = language.run("hello", timeout=FIRST)
    language.good(result, language.expect("hello.expect", "hello\n"))
    kit.equal(result["stderr"], "")


def stdin(language):
    result = language.run("stdin", stdin=b"ember box\n")
    language.good(result, language.expect("stdin.expect", "EMBER BOX\n"))


def args(language):
    result = language.run("args", words=WORDS)
    language.good(result, language.expect("args.expect", "".join(f"[{word}]\n" for word in WORDS)))


def exit(language):
    result = language.run("exit")
    kit.equal((result["status"], result["exit_code"], result["success"]), ("failed", 7, False))


def fail(language):
    result = language.run("fail")
    kit.equal((result["status"], result["success"]), ("failed", False))
    kit.true(result["exit_code"] != 0, "exit code 0")
    kit.matches(result["stderr"], r"(?i)(\.\w+: ?|\bline )5\b")
    kit.matches(result["error_message"] or "", r"^Execution failed: \S")


def syntax(language):
    result = language.run("syntax")
    kit.equal(result["status"], "failed")
    message = result["error_message"] or ""
    kit.true(message.startswith(f"{language.display} syntax error: "), f"{message!r}; {result['stderr'][-300:]!r}")
    kit.contains(message, "(line 3)")
    kit.equal(result["stdout"], "", "nothing of it may have run")


def unicode(language):
    result = language.run("unicode")
    language.good(result, language.expect("unicode.expect", f"{UNICODE}\n{len(UNICODE)}\n"))


def big(language):
    program = language.program("big")
    whole = kit.emberbox("run", "-l", language.name, program, env=state(), timeout=60)
    kit.equal((whole.code, whole.errtext, len(whole.out)), (0, "", MEBIBYTE))
    result = language.run("big", program=program)
    kit.equal((result["status"], result["stdout_bytes"], result["truncated"]), ("ok", MEBIBYTE, True))
    kit.true(result["stdout"].startswith(whole.text[:1000]), "the head is not shown")
    kit.true(result["stdout"].endswith(whole.text[-1000:]), "the tail is not shown")
    kit.true(len(result["stdout"]) < MEBIBYTE // 8, "nothing is left out")


def spin(language):
    result = language.run("spin", "--timeout", "1")
    kit.equal((result["status"], result["exit_code"], result["timeout"]), ("timeout", 124, True))
    kit.equal(result["error_message"], "Code execution timed out after 1s")


def hog(language):
    limit = language.expect("memory", "64m").strip()
    result = language.run("hog", "--memory", limit)
    kit.equal((result["status"], result["exit_code"]), ("out_of_memory", 137), result["stderr"][-300:])
    kit.equal(result["error_message"], f"Memory limit of {limit} exceeded")


def files(language):
    given = kit.write(os.path.join(kit.tmp(), "given.txt"), language.expect("files.in", "ember"))
    out = os.path.join(kit.tmp(), "out")
    result = language.run("files", "--file", f"{given}:data/in.txt", "--output", out)
    kit.equal(result["status"], "ok", f"{result['error_message']}; {result['stderr'][-300:]}")
    want = language.expect("files.expect", "rebme")
    kit.equal(result["files"], [{"path": "out.txt", "size": len(want.encode()), "kept": True}])
    with open(os.path.join(out, "out.txt"), encoding="utf-8") as file:
        kit.equal(file.read(), want)


def multi(language):
    language.folder("multi", "multi 42\n")


def real(language):
    language.folder("real", "")


def tour(language):
    result = language.run("tour")
    language.good(result, language.expect("tour.expect", "tour ok\n"))


def net(language):
    language.good(language.run("net"), language.expect("net.expect", "unreachable\n"))


def host(language):
    language.good(language.run("host"), language.expect("host.expect", "host is out of reach\n"))


CASES = (hello, stdin, args, exit, fail, syntax, unicode, big, spin, hog, files, multi, real, tour, net, host)
FOR_USERS = (hello, fail, syntax, files, net, host)
OPTIONAL = (real,)  # where there is such a folder


def run_case(language, case):
    if language.name not in listed():
        kit.fail(f"emberbox knows no language {language.name}")
    row = listed()[language.name]
    if not row["available"]:
        kit.fail(f"{row['display']} is not installed; run: {row['install']}")
    reason = skips(language.name).get(case.__name__)
    if reason:
        kit.true(reason.startswith("the language has no "), f"tests/lang/{language.name}/skip: {reason!r} is no reason")
        kit.skip(reason)
    case(language)


@kit.test(name="matrix.every_language_has_programs")
def every_language_has_programs():
    kit.equal(sorted(listed()), folders())


@kit.test(name="matrix.every_language_has_a_job", modes=("root",))
def every_language_has_a_job():
    with open(__file__, encoding="utf-8") as file:
        jobs = re.search(r"tests/run: args=(.*)", file.read()).group(1)
    named = ",".join(re.findall(r"--only (\S+)", jobs)).split(",")
    kit.equal(sorted(named), sorted(["matrix", *folders()]))


@kit.test(name="matrix.languages_are_installed", modes=("root",))
def languages_are_installed():
    """tools/setup installs all of them, so one that is not there is no reason to skip."""
    kit.equal([name for name, row in listed().items() if not row["available"]], [], "not installed")
    kit.equal([name for name in REQUIRED if name not in listed()], [], "emberbox does not know them")


def register():
    for name in sorted({*folders(), *REQUIRED}):
        language = Language(name)
        for case in CASES:
            if case in OPTIONAL and not os.path.isdir(os.path.join(HERE, name, case.__name__)):
                continue
            kit.test(
                functools.partial(run_case, language, case),
                name=f"{name}.{case.__name__}",
                timeout=FIRST + 60 if case is hello else 120,
                modes=None if case in FOR_USERS else ("root",),
            )


register()
kit.main()
