#!/usr/bin/python3
# tests/run: args=--as root | --as user
# tests/run: builds=release asan
# tests/run: asan=--as root
# tests/run: timeout=90
"""What is wrong is said in one sentence that names the option and the fix, and nothing runs."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit


def refused(args, *words, code=2, stdin=None, env=None):
    r = kit.emberbox(*args, stdin=stdin, env=env)
    kit.equal((r.code, r.text), (code, ""), f"{args}: {r.errtext}")
    first = r.errtext.split("\n")[0]
    kit.true(first.startswith("emberbox: ") and len(first) < 700, f"{args}: {r.errtext!r}")
    for word in words:
        kit.contains(r.errtext, word, str(args))


def hello(*args):
    return ["run", "-l", "python", "-c", "print('ran')", *args]


BAD_VALUES = {
    "timeout": (("0", "-1", "x", "", "1e3", "nan", "inf", "1q", "1M", "999999999", "0x10", " 1"), "seconds"),
    "cpu-time": (("0", "-1", "x", "", "nan", "999999999"), "seconds"),
    "memory": (("0", "-1", "x", "", "12q", "1kk", "1", "999999999g", "18446744073709551616", "-64m", "64 m", "0x40m"), "64m"),
    "disk": (("0", "-1", "x", "", "999999999g", "1"), "64m"),
    "max-output": (("0", "-1", "x", "", "17m"), "64k"),
    "cpus": (("0", "-1", "x", "", "nan", "100000"), "cores"),
    "pids": (("0", "-1", "x", "", "1.5", "99999999999999999999", "40000"), "processes"),
    "env": (("NOVALUE", "=x", ""), "NAME=VALUE"),
    "allow-weaker": (("everything", "", "user-namespace"), "landlock"),
    "net": (("*.com", "", "host", "a.b:0", "1.2.3.4", "http://a.b"), "net: "),
    "engine": (("podman", ""), "local"),
}


def bad_values(option):
    values, fix = BAD_VALUES[option]
    for value in values:
        refused(hello(f"--{option}", value), option, fix)
        refused(hello(f"--{option}={value}"), option, fix)


for _option in BAD_VALUES:
    kit.test(lambda option=_option: bad_values(option), name="bad_" + _option.replace("-", "_"))


GOOD_VALUES = {
    "timeout": ("0.5", "1", "86400"),
    "cpu-time": ("1", "20.5"),
    "memory": ("64m", "0.5g", "100000000", "64M"),
    "disk": ("64k", "1g"),
    "max-output": ("1", "64k", "16m"),
    "cpus": ("0.5", "2"),
    "allow-weaker": ("cgroup",),
    "pids": ("8", "100"),
    "env": ("A=", "A=b=c"),
    "net": ("none",),
    "engine": ("local", "auto"),
    "language": ("python", "Python"),
}


@kit.test
def good_values_are_taken():
    # Several options a run, each option's next value in the next run.
    for turn in range(max(len(values) for values in GOOD_VALUES.values())):
        args = []
        for option, values in GOOD_VALUES.items():
            args += [f"--{option}", values[turn % len(values)]]
        r = kit.emberbox("run", "-c", "print('ran')", *args)
        kit.equal((r.code, r.text), (0, "ran\n"), f"{args}: {r.errtext}")


@kit.test
def options_without_their_value():
    for option in ("timeout", "memory", "file", "language", "stdin", "project", "output", "env", "code"):
        refused(["run", f"--{option}"], f"--{option}", "value")


@kit.test
def unknown_options_are_named_with_the_nearest():
    refused(hello("--timeuot", "1"), "--timeuot", "--timeout")
    refused(hello("--mem", "1"), "--mem", "--memory")
    refused(hello("--zzzzzz"), "--zzzzzz")
    refused(hello("-Z"), "-Z")
    refused(hello("--json=yes"), "--json", "no value")


@kit.test
def options_that_are_not_available_yet():
    refused(hello("--package", "x"), "--package", "not available yet")
    refused(hello("--image", "python:3"), "--image", "not available yet")
    for engine in ("docker", "e2b", "cluster"):
        refused(hello("--engine", engine), "--engine", engine, "not available yet", "local")
    refused(hello("--engine", "podman"), "--engine", "not one of local, docker, e2b, cluster, auto")


@kit.test
def no_code():
    refused(["run"], "-c")
    refused(["run", "-l", "python"], "-c")
    refused(["run", "/absent/x.py"], "/absent/x.py", "No such file")
    refused(["run", "-l", "python", "/"], "directory")
    refused(["run", "-l", "python", "x.py", "-c", "1"], "twice")
    refused(["run", "-l", "python", "-", "--stdin", "-"], "standard input")


@kit.test
def a_language_that_nothing_tells():
    refused(["run", "-c", "print(1)"], "-l")
    refused(["run", "-"], "-l", stdin=b"print(1)")
    path = kit.write(f"{kit.tmp()}/script", "print(1)")
    refused(["run", path], "-l", path)
    path = kit.write(f"{kit.tmp()}/x.xyz", "fn main() {}")
    refused(["run", path], "-l", path)


@kit.test
def an_unknown_language():
    for name in ("cobol", "", "../../bin/sh", "python; id", "x" * 5000):
        refused(["run", "-l", name, "-c", "1"], "Unknown language", "available:", "python", code=127)


@kit.test
def a_language_that_is_nearly_one():
    for typed, meant in (("pyton", "python"), ("Pythn", "python"), ("javascrip", "javascript"), ("bsah", "bash")):
        refused(["run", "-l", typed, "-c", "1"], f"did you mean {meant}?", code=127)


@kit.test
def code_that_was_taken_for_a_file():
    refused(["run", "-l", "python", "print(1)"], "-c CODE")
    r = kit.emberbox("run", "absent.py")
    kit.equal((r.code, "-c" in r.errtext), (2, False), r.errtext)


@kit.test
def the_languages_are_listed():
    refused(["run", "-c", "print(1)"], "bash, c, cpp, go, java, javascript, lua, perl, php, postgres, python, r, ruby, rust, sh, sqlite, typescript or zsh")


@kit.test
def explain_is_no_result():
    r = kit.emberbox(*hello("--explain", "--json"))
    kit.equal((r.code, r.json["status"]), (2, "error"))


@kit.test
def more_code_than_disk():
    refused(["run", "-l", "python", "-", "--disk", "64k"], "disk", "65537 bytes", stdin=b"#" * 65537)


@kit.test
def standard_input_that_cannot_be_opened():
    refused(hello("--stdin", "/absent/file"), "--stdin", "/absent/file", "No such file")
    refused(hello("--stdin", "/"), "--stdin", "directory")


@kit.test
def commands():
    refused([], "no command")
    for typed, line in (("rnu", 'unknown command "rnu"; did you mean "run"?'),
                        ("langauges", 'unknown command "langauges"; did you mean "languages"?'),
                        ("zzzzzz", 'unknown command "zzzzzz"; emberbox --help lists all of them')):
        for args in ([typed], ["help", typed]):
            r = kit.emberbox(*args)
            kit.equal((r.code, r.out, r.errtext), (2, b"", f"emberbox: {line}\n"))
    refused(["languages", "--zz"], "--zz")
    refused(["doctor", "--zz"], "--zz")


@kit.test
def an_address_as_others_take_it():
    for args in (["--port", "80"], ["--host", "0.0.0.0"], ["-p", "80"]):
        refused(["serve", *args], f"unknown option {args[0]}; did you mean --listen HOST:PORT?")
    refused(["serve", "127.0.0.1:80"], 'unexpected argument "127.0.0.1:80"; did you mean --listen 127.0.0.1:80?')
    refused(["serve", "word"], 'unexpected argument "word"\n')


@kit.test
def a_compiled_program_is_no_source():
    refused(["run", "/bin/true"], "/bin/true is a compiled program, and not source code; a shell can start it: "
            "emberbox run -l bash --file /bin/true:program -c ./program")
    r = kit.emberbox("run", "-l", "bash", "--file", "/bin/echo:program", "-c", "./program it runs")
    kit.equal((r.code, r.text), (0, "it runs\n"))


@kit.test
def bad_settings_of_the_environment():
    refused(hello(), "SANDBOX_TIMEOUT_SEC", env={"SANDBOX_TIMEOUT_SEC": "x"})
    refused(hello(), "SANDBOX_MAX_OUTPUT_KB", env={"SANDBOX_MAX_OUTPUT_KB": "-1"})
    refused(hello(), "SANDBOX_TYPE", env={"SANDBOX_TYPE": "podman"})


@kit.test
def too_much_of_everything():
    refused(["run", "-l", "python", "-"], "16m", stdin=b"#" * ((16 << 20) + 1))
    refused(hello(*["--env", "A=1"] * 1025), "env")
    refused(hello("--", *["x"] * 1025), "arg")
    r = kit.emberbox(*hello("--", "x" * 100000))
    kit.equal((r.code, r.text), (0, "ran\n"), r.errtext[:300])


kit.main()
