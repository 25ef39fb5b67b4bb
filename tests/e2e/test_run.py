#!/usr/bin/python3
# tests/run: args=--as root | --as user
# tests/run: timeout=120
"""emberbox run: languages, code, arguments, environment, exit codes, the result object."""

import datetime
import json
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit

HELLO = {
    "python": "print('hello')",
    "javascript": "console.log('hello')",
    "bash": "echo hello",
}


def run(*args, **options):
    return kit.emberbox("run", *args, **options)


def python(code, *args, **options):
    return run("-l", "python", "-c", code, *args, **options)


def result(code, *args, language="python", **options):
    return run("-l", language, "-c", code, "--json", *args, **options).json


@kit.test
def example_of_the_readme():
    r = run("-l", "python", "-c", "print(sum(range(10)))")
    kit.equal((r.code, r.text, r.errtext), (0, "45\n", ""))


@kit.test
def each_language_says_hello():
    for language, code in HELLO.items():
        r = run("-l", language, "-c", code)
        kit.equal((r.code, r.text, r.errtext), (0, "hello\n", ""), language)


@kit.test
def aliases_of_languages():
    for alias, code in (("py", "python"), ("python3", "python"), ("js", "javascript"), ("node", "javascript"), ("sh", "bash")):
        kit.equal(result(HELLO[code], language=alias)["language"], code, alias)


@kit.test
def language_by_file_name():
    directory = kit.tmp()
    for name, language in (("a.py", "python"), ("a.js", "javascript"), ("a.sh", "bash")):
        path = kit.write(f"{directory}/{name}", HELLO[language])
        r = run(path, "--json")
        kit.equal((r.code, r.json["language"], r.json["stdout"]), (0, language, "hello\n"), name)


@kit.test
def language_by_interpreter_line():
    directory = kit.tmp()
    for line, language in (
        ("#!/usr/bin/python3", "python"),
        ("#!/usr/bin/env node", "javascript"),
        ("#!/bin/bash -e", "bash"),
    ):
        path = kit.write(f"{directory}/script", f"{line}\n{HELLO[language]}\n")
        kit.equal(run(path, "--json").json["language"], language, line)


@kit.test
def odd_files_of_code():
    directory = kit.tmp()
    for name, content, out in (
        ("empty.py", b"", ""),
        ("crlf.py", b"print('a')\r\nprint('b')\r\n", "a\nb\n"),
        ("mark.py", b"\xef\xbb\xbfprint('mark')", "mark\n"),
        ("-dash.py", b"print('dash')", "dash\n"),
        ("two words 'ü.py", b"print('name')", "name\n"),
    ):
        kit.write(f"{directory}/{name}", content)
        r = run(f"./{name}", cwd=directory)
        kit.equal((r.code, r.text, r.errtext), (0, out, ""), name)
    r = kit.command(["/bin/bash", "-c", f"{kit.built()} run -l python <(echo 'print(1)')"])
    kit.equal((r.code, r.text), (0, "1\n"), "code from a pipe that has a name")


@kit.test
def the_option_beats_the_file_name():
    path = kit.write(f"{kit.tmp()}/a.py", "echo hello")
    kit.equal(run(path, "-l", "bash").text, "hello\n")


@kit.test
def code_from_standard_input():
    r = run("-l", "python", "-", stdin=b"print('from stdin')")
    kit.equal((r.code, r.text), (0, "from stdin\n"))
    r = run("-", stdin=b"#!/usr/bin/env bash\necho $((6*7))")
    kit.equal((r.code, r.text), (0, "42\n"))


@kit.test
def where_the_code_lies():
    r = python("import os; print(os.getcwd(), os.path.realpath(__file__))")
    kit.equal(r.text, "/sandbox/code /sandbox/code/main.py\n")
    kit.equal(result("console.log(process.cwd(), __filename)", language="js")["stdout"], "/sandbox/code /sandbox/code/main.js\n")
    kit.equal(result('echo "$PWD" "$(realpath "$0")"', language="sh")["stdout"], "/sandbox/code /sandbox/code/main.sh\n")


@kit.test
def who_the_program_is():
    r = run("-l", "bash", "-c", "id -u; id -g; id -un")
    kit.equal((r.code, r.text), (0, "1000\n1000\nsandbox\n"))


ODD_ARGUMENTS = ["plain", "", "two words", "new\nline", "'quote\"", "$(id)", "`id`", "*", "--json", "-x", "ü", "\\"]


@kit.test
def arguments_are_data():
    code = "import sys, json; print(json.dumps(sys.argv[1:]))"
    kit.equal(json.loads(python(code, "--", *ODD_ARGUMENTS).text), ODD_ARGUMENTS, "python")
    code = "console.log(JSON.stringify(process.argv.slice(2)))"
    kit.equal(json.loads(run("-l", "js", "-c", code, "--", *ODD_ARGUMENTS).text), ODD_ARGUMENTS, "node")
    r = run("-l", "bash", "-c", 'printf "<%s>" "$@"', "--", *ODD_ARGUMENTS)
    kit.equal(r.text, "".join(f"<{word}>" for word in ODD_ARGUMENTS), "bash")


@kit.test
def words_after_the_file_are_arguments():
    path = kit.write(f"{kit.tmp()}/a.sh", 'echo "$#:$*"')
    kit.equal(run(path, "one", "two").text, "2:one two\n")
    kit.equal(run(path, "one", "--", "--timeout", "x").text, "3:one --timeout x\n")


@kit.test
def the_environment_is_clean():
    code = "print(open('/proc/self/environ').read())"
    r = python(code, env={"SECRET_OF_CALLER": "x", "LD_LIBRARY_PATH": "/tmp", "PYTHONSTARTUP": "/x"})
    names = sorted(entry.partition("=")[0] for entry in r.text.strip("\0\n").split("\0"))
    kit.equal(names, ["HOME", "LANG", "PATH", "TERM"])
    kit.contains(r.text, "HOME=/sandbox/temp\0")


@kit.test
def variables_that_the_caller_gives():
    code = "import os; print(ascii([os.environ.get(k) for k in ('A', 'B', 'EMPTY', 'HOME')]))"
    r = python(code, "--env", "A=1=2", "--env", "B=$(id)\nü", "--env", "EMPTY=", "--env", "HOME=/tmp")
    kit.equal(r.text, ascii(["1=2", "$(id)\nü", "", "/tmp"]) + "\n")


@kit.test
def a_variable_given_twice_is_there_once():
    code = "print(open('/proc/self/environ').read())"
    r = python(code, "--env", "A=1", "--env", "PATH=/x", "--env", "A=2")
    entries = r.text.strip("\0\n").split("\0")
    kit.equal(sorted(e for e in entries if e.startswith(("A=", "PATH="))), ["A=2", "PATH=/x"])


@kit.test
def standard_input_reaches_the_program():
    data = bytes(range(256)) * 4096
    r = run("-l", "bash", "-c", "cat", stdin=data)
    kit.true(r.out == data, f"{len(r.out)} of {len(data)} bytes came back, or other ones")


@kit.test
def standard_input_from_a_file():
    path = kit.write(f"{kit.tmp()}/input", "from a file\n")
    kit.equal(run("-l", "bash", "-c", "cat", "--stdin", path).text, "from a file\n")
    kit.equal(run("-l", "bash", "-c", "cat", "--stdin", "-", stdin=b"dash").text, "dash")
    kit.equal(run("-", "-l", "bash", "--stdin", path, stdin=b"cat").text, "from a file\n")


@kit.test
def no_input_is_the_end_of_input():
    kit.equal(python("import sys; print(repr(sys.stdin.read()))").text, "''\n")


@kit.test
def input_that_nobody_reads():
    r = run("-l", "bash", "-c", "exit 3", stdin=b"x" * (4 << 20))
    kit.equal(r.code, 3)


@kit.test
def exit_codes_pass_through():
    for code in (0, 1, 2, 42, 124, 125, 126, 127, 137, 255):
        kit.equal(run("-l", "bash", "-c", f"exit {code}").code, code)


@kit.test
def signals_are_128_and_more():
    for name in ("SIGSEGV", "SIGTERM", "SIGABRT", "SIGKILL"):
        r = python(f"import os, signal; os.kill(os.getpid(), signal.{name})", "--json")
        want = (128 + getattr(signal, name), "failed", name, False)
        kit.equal((r.code, r.json["status"], r.json["signal"], r.json["timeout"]), want, name)
        kit.equal(r.json["exit_code"], r.code, name)


NUMBER = (int, float)
FIELDS = {
    "id": str,
    "status": str,
    "success": bool,
    "exit_code": int,
    "signal": (str, type(None)),
    "stdout": str,
    "stderr": str,
    "stdout_bytes": int,
    "stderr_bytes": int,
    "truncated": bool,
    "execution_time": NUMBER,
    "cpu_time": NUMBER,
    "memory_used": int,
    "timeout": bool,
    "error_message": (str, type(None)),
    "language": str,
    "timestamp": str,
    "error": (dict, type(None)),
    "outputs": list,
    "files": list,
    "meta": dict,
}
META = {
    "runtime": str,
    "language_version": str,
    "start": str,
    "timings": dict,
    "resource_limits": dict,
    "isolation": list,
    "blocked_imports": list,
    "truncated": bool,
}
LIMITS = {"timeout": 30, "cpu_time": None, "memory": 512 << 20, "cpus": 1, "pids": 64, "disk": 1 << 30, "max_output": 20480}
LAYERS = """user-namespace pid-namespace mount-namespace network-namespace ipc-namespace uts-namespace cgroup-namespace
    root capabilities no-new-privs rlimits seccomp landlock fds""".split()


def check_types(value, fields, where):
    for name, types in fields.items():
        kit.true(name in value, f"{where} has no {name}")
        good = isinstance(value[name], types) and (types is bool or not isinstance(value[name], bool))
        kit.true(good, f"{where}.{name} is {value[name]!r}")


@kit.test
def the_result_has_every_field():
    for code in ("print('ü')", "import sys; sys.exit('wrong')"):
        r = result(code)
        check_types(r, FIELDS, "result")
        check_types(r["meta"], META, "meta")
        check_types(r["meta"]["timings"], dict.fromkeys(("queue", "start", "run", "collect"), NUMBER), "timings")


@kit.test
def a_good_result():
    r = result("print('ü')")
    kit.equal((r["status"], r["success"], r["exit_code"], r["signal"]), ("ok", True, 0, None))
    kit.equal((r["stdout"], r["stdout_bytes"], r["stderr"], r["stderr_bytes"]), ("ü\n", 3, "", 0))
    kit.equal((r["truncated"], r["timeout"], r["error_message"], r["error"]), (False, False, None, None))
    kit.equal((r["meta"]["runtime"], r["meta"]["start"], r["meta"]["blocked_imports"]), ("local", "cold", []))
    kit.matches(r["meta"]["language_version"], r"3\.\d+")
    kit.true(0 < r["execution_time"] < 20, f"execution_time {r['execution_time']}")
    kit.true(0 < r["cpu_time"] < 20, f"cpu_time {r['cpu_time']}")
    kit.true(1 << 20 < r["memory_used"] < 100 << 20, f"memory_used {r['memory_used']}")


@kit.test
def a_failed_result():
    r = result("import sys; print('out'); print('first', file=sys.stderr); sys.exit('the last line')")
    kit.equal((r["status"], r["success"], r["exit_code"], r["signal"]), ("failed", False, 1, None))
    kit.equal((r["stdout"], r["stderr"]), ("out\n", "first\nthe last line\n"))
    kit.equal(r["error_message"], "Execution failed: the last line")


@kit.test
def syntax_errors_are_named():
    for language, code, display in (("python", "print(", "Python"), ("js", "let = = 1", "JavaScript"), ("bash", "if ;", "Bash")):
        r = result(code, language=language)
        kit.equal((r["status"], r["success"]), ("failed", False), language)
        kit.matches(r["error_message"], rf"^{display} syntax error: \S", language)


@kit.test
def limits_in_force_are_told():
    kit.equal(result("1")["meta"]["resource_limits"], LIMITS)
    given = "--timeout 5 --cpu-time 2.5 --memory 128m --cpus 0.5 --pids 16 --disk 8m --max-output 4k".split()
    want = {"timeout": 5, "cpu_time": 2.5, "memory": 128 << 20, "cpus": 0.5, "pids": 16, "disk": 8 << 20, "max_output": 4096}
    kit.equal(result("1", *given)["meta"]["resource_limits"], want)


@kit.test
def isolation_names_every_layer():
    told = result("1")["meta"]["isolation"]
    names = [entry.partition(":")[0] for entry in told]
    for layer in LAYERS:
        kit.equal(names.count(layer), 1, f"{layer} in {told}")
    limits = "cgroup" if kit.mode == "root" else "accounting"
    kit.true(limits in names or "cgroup" in names, f"neither {limits} nor cgroup in {told}")


@kit.test
def ids_and_times_sort():
    first, second = result("1"), result("1")
    kit.true(first["id"] < second["id"], f"{first['id']} is not before {second['id']}")
    when = datetime.datetime.fromisoformat(first["timestamp"].replace("Z", "+00:00"))
    age = datetime.datetime.now(datetime.timezone.utc) - when
    kit.true(0 <= age.total_seconds() < 60, f"timestamp {first['timestamp']}")


@kit.test
def json_is_one_object_and_nothing_else():
    r = run("-l", "bash", "-c", "echo out; echo err >&2; exit 3", "--json")
    kit.equal((r.code, r.err, r.out.count(b"\n")), (3, b"", 1))


@kit.test
def output_that_looks_like_a_result_is_output():
    r = result("""print('{"status": "timeout", "exit_code": 0}')""")
    kit.equal((r["status"], r["stdout"]), ("ok", '{"status": "timeout", "exit_code": 0}\n'))


@kit.test
def quiet_says_nothing_of_its_own():
    loud = python("while True: pass", "--timeout", "0.2")
    quiet = python("while True: pass", "--timeout", "0.2", "--quiet")
    kit.equal((loud.code, loud.errtext), (124, "emberbox: Code execution timed out after 0.2s\n"))
    kit.equal((quiet.code, quiet.errtext), (124, ""))


@kit.test
def explain_runs_nothing():
    r = run("-l", "bash", "-c", "echo this-is-not-run; exit 9", "--explain")
    kit.equal((r.code, r.errtext), (0, ""))
    kit.contains(r.text, "pivot")
    kit.contains(r.text, "seccomp")
    kit.true("\nthis-is-not-run" not in "\n" + r.text, "the program ran")


@kit.test
def signals_mask_and_umask_are_the_defaults():
    def odd_caller():
        os.umask(0o077)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGTERM, signal.SIGCHLD])

    # cat has no handlers of its own, and bash passes on what it was started with. posix_spawn() of the C library
    # ignores two real-time signals of its own in the child, which sigaction() there cannot undo.
    code = "umask; cat /proc/self/status; touch /sandbox/temp/f; stat -c %a /sandbox/temp/f"
    spawn = "import os, sys; os.waitpid(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ), 0)"
    for before in ([], ["/usr/bin/python3", "-c", spawn]):
        r = kit.command([*before, kit.built(), "run", "-l", "bash", "-c", code], preexec_fn=odd_caller)
        kit.equal(r.code, 0, repr(r))
        lines = r.text.splitlines()
        fields = dict(line.split(":\t") for line in lines if ":\t" in line)
        kit.equal((lines[0], lines[-1]), ("0022", "644"))
        for name in ("SigBlk", "SigIgn", "SigCgt"):
            kit.equal(int(fields[name], 16), 0, name)


@kit.test
def closed_standard_descriptors_of_the_caller():
    def close_all():
        for fd in (0, 1, 2):
            os.close(fd)

    # Nothing can be read from it, so the program's own exit code tells that it ran.
    r = run("-l", "bash", "-c", "echo x && echo y >&2; exit 7", preexec_fn=close_all)
    kit.equal(r.code, 7)


@kit.test
def environment_variables_of_the_command_line():
    r = python("1", "--json", env={"SANDBOX_TIMEOUT_SEC": "7", "SANDBOX_MAX_OUTPUT_KB": "3", "SANDBOX_TYPE": "local"})
    limits = r.json["meta"]["resource_limits"]
    kit.equal((limits["timeout"], limits["max_output"]), (7, 3072))
    r = python("1", "--json", "--timeout", "9", env={"SANDBOX_TIMEOUT_SEC": "7"})
    kit.equal(r.json["meta"]["resource_limits"]["timeout"], 9, "an option beats the environment")
    r = python("1", env={"SANDBOX_TIMEOUT_SEC": "soon"})
    kit.equal(r.code, 2)
    kit.contains(r.errtext, "SANDBOX_TIMEOUT_SEC")


@kit.test
def options_that_change_nothing_yet():
    kit.equal(python("print(1)", "--cold", "--engine", "local", "--net", "none").text, "1\n")


@kit.test
def languages_lists_what_runs_here():
    r = kit.emberbox("languages", "--json")
    kit.equal(r.code, 0)
    text = json.dumps(r.json)
    for language in HELLO:
        kit.contains(text, f'"{language}"')
    kit.contains(kit.emberbox("languages").text, "python")


@kit.test
def help_and_version():
    kit.contains(kit.emberbox("--help").text, "run")
    r = run("--help")
    kit.equal(r.code, 0)
    for option in "language timeout cpu-time memory cpus pids disk max-output stdin env file project output json".split():
        kit.contains(r.text, f"--{option}")
    kit.matches(kit.emberbox("--version").text, r"^emberbox \d+\.\d+\.\d+")


kit.main()
