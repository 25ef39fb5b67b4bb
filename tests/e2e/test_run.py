#!/usr/bin/python3
# tests/run: args=--as root | --as user
# tests/run: timeout=120
"""emberbox run: languages, code, arguments, environment, exit codes, the result object."""

import datetime
import json
import os
import resource
import signal
import subprocess
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
    for alias, code in (("py", "python"), ("python3", "python"), ("js", "javascript"), ("node", "javascript"), ("shell", "bash")):
        kit.equal(result(HELLO[code], language=alias)["language"], code, alias)


@kit.test
def a_file_keeps_its_name():
    place = kit.tmp()
    code = "import sys; print(sys.argv[0])"
    for name, want in (("tool.py", "tool.py"), ("TOOL.PY", "TOOL.PY"), ("two words.py", "two words.py"), ("tool.txt", "main.py"), ("tool", "main.py")):
        r = run("-l", "python", kit.write(f"{place}/{name}", code))
        kit.equal((r.code, r.text), (0, f"/sandbox/code/{want}\n"), name)
    kit.equal(run("-l", "python", "--entry", "mine.py", f"{place}/tool.py").text, "/sandbox/code/mine.py\n")
    kit.equal(run("-", "-l", "python", stdin=code.encode()).text, "/sandbox/code/main.py\n")
    # The ending means something to Node.
    kit.equal(run(kit.write(f"{place}/x.mjs", "console.log(typeof import.meta.url)")).text, "string\n")
    kit.equal(run(kit.write(f"{place}/x.cjs", "console.log(typeof require)")).text, "function\n")


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
    kit.equal(names, ["HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "USER"])
    for entry in ("HOME=/sandbox/temp", "USER=sandbox", "LOGNAME=sandbox", "SHELL=/bin/sh"):
        kit.contains(r.text, entry + "\0")


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
    "language": (str, type(None)),
    "timestamp": str,
    "error": (dict, type(None)),
    "outputs": list,
    "files": list,
    "meta": dict,
}
META = {
    "runtime": str,
    "language_version": (str, type(None)),
    "start": str,
    "timings": dict,
    "resource_limits": dict,
    "isolation": list,
    "blocked_imports": list,
    "terminal": bool,
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


SYNTAX = (
    ("python", "1\n2\ndef f(:", "Python syntax error: invalid syntax (line 3)"),
    ("python", "  x = 1", "Python syntax error: unexpected indent (line 1)"),
    ("js", "1\nlet = = 1", "JavaScript syntax error: Unexpected token '=' (line 2)"),
    ("bash", "echo before\nif ;", "Bash syntax error: near unexpected token `;' (line 2)"),
)
NO_SYNTAX = (
    ("python", "exec('def f(:')", "Execution failed: SyntaxError: "),
    ("python", "import sys; sys.exit('SyntaxError: x')", "Execution failed: SyntaxError: x"),
    ("js", "JSON.parse('{bad')", "Execution failed: SyntaxError: "),
    ("js", "eval('let = = 1')", "Execution failed: SyntaxError: "),
    ("bash", "echo 'syntax error here' >&2; exit 3", "Execution failed: syntax error here"),
)


@kit.test
def only_syntax_errors_of_the_program_are_called_so():
    for language, code, sentence in SYNTAX:
        kit.equal(result(code, language=language)["error_message"], sentence, code)
    for language, code, start in NO_SYNTAX:
        kit.contains(result(code, language=language)["error_message"], start, code)


def cores(r):
    """What the result has to say about a limit of one core: without a cpu controller there is none."""
    told = next(entry for entry in r["meta"]["isolation"] if entry.startswith(("cgroup:", "accounting:")))
    return None if "no cpu limit" in told else 1


@kit.test
def limits_in_force_are_told():
    r = result("1")
    kit.equal(r["meta"]["resource_limits"], {**LIMITS, "cpus": cores(r)})
    given = "--timeout 5 --cpu-time 2.5 --memory 128m --pids 16 --disk 8m --max-output 4k".split()
    want = {"timeout": 5, "cpu_time": 2.5, "memory": 128 << 20, "cpus": cores(r), "pids": 16, "disk": 8 << 20, "max_output": 4096}
    kit.equal(result("1", *given)["meta"]["resource_limits"], want)


@kit.test
def a_limit_on_cores_is_enforced_or_refused():
    enforced = cores(result("1"))
    r = python("print('ran')", "--cpus", "0.5", "--json")
    if enforced:
        kit.equal((r.code, r.json["meta"]["resource_limits"]["cpus"]), (0, 0.5))
    else:
        kit.equal((r.code, r.json["status"], r.json["stdout"]), (125, "error", ""))
        kit.contains(r.json["error_message"], "--cpus")
        kit.contains(r.json["error_message"], "--allow-weaker cgroup")
    r = python("print('ran')", "--cpus", "0.5", "--allow-weaker", "cgroup", "--json")
    want = 0.5 if enforced else None
    kit.equal((r.code, r.json["stdout"], r.json["meta"]["resource_limits"]["cpus"]), (0, "ran\n", want))


@kit.test
def more_cores_than_there_are_is_said():
    there = os.sysconf("SC_NPROCESSORS_ONLN")
    sentence = f"emberbox: --cpus 1000: this machine has {there} core{'' if there == 1 else 's'}, and the program gets no more\n"
    for cpus, options, said in (("1000", (), sentence), ("1000", ("--quiet",), ""), ("1000", ("--json",), ""), (str(there), (), "")):
        r = python("1", "--cpus", cpus, "--allow-weaker", "cgroup", *options)
        kit.equal((r.code, r.errtext), (0, said), f"{cpus} {options}")


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
def json_is_an_object_also_when_nothing_runs():
    for code, args, words in (
        (127, ["-l", "cobol", "-c", "1"], "Unknown language"),
        (2, ["-c", "1"], "the language of the code is unknown"),
        (2, ["--zzzzzz", "-l", "bash", "-c", "1"], "--zzzzzz"),
        (2, ["-l", "bash", "-c", "1", "--memory", "lots"], "memory"),
        (2, ["-l", "bash", "-c", "1", "--explain"], "--explain"),
        (2, ["-l", "bash", "-c", "1", "--file", "/absent"], "/absent"),
        (2, ["/absent/x.py"], "/absent/x.py"),
        (2, [], "nothing to run"),
    ):
        r = run(*args, "--json")
        kit.equal((r.code, r.out.count(b"\n")), (code, 1), repr(r))
        check_types(r.json, FIELDS, str(args))
        check_types(r.json["meta"], META, str(args))
        kit.equal((r.json["status"], r.json["success"], r.json["exit_code"]), ("error", False, code), str(args))
        kit.contains(r.json["error_message"], words, str(args))
        # Whoever looks at a log finds it there, too.
        kit.contains(r.errtext, words, str(args))
    kit.equal(run("-l", "cobol", "-c", "1", "--json").json["language"], None)
    kit.equal(run("-l", "bash", "-c", "1", "--zz", "--json").json["language"], "bash")


@kit.test(modes=("root",))
def a_language_that_is_not_installed():
    hide = 'for p in /usr/bin/node /usr/local/bin/node; do [ ! -e $p ] || mount --bind /dev/null $p; done; exec "$@"'
    argv = ["unshare", "-m", "/bin/bash", "-c", hide, "hide", kit.built(), "run", "-l", "js", "-c", "1"]
    sentence = "JavaScript is not installed on this machine; install it with: sudo apt-get install nodejs"
    r = kit.command([*argv, "--json"])
    kit.equal((r.code, r.json["status"], r.json["exit_code"], r.json["language"]), (127, "error", 127, "javascript"))
    kit.equal(r.json["error_message"], sentence)
    check_types(r.json, FIELDS, "result")
    r = kit.command(argv)
    kit.equal((r.code, r.text, r.errtext), (127, "", f"emberbox: {sentence}\n"))
    # The list of what is available leaves it out.
    argv[argv.index("js")] = "cobol"
    said = kit.command(argv).errtext
    kit.matches(said, r'^emberbox: Unknown language "cobol"; available: bash, .*\bpython\b')
    kit.true("javascript" not in said, said)


@kit.test
def a_host_without_descriptors():
    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))

    r = run("-l", "bash", "-c", "echo ran", "--json", preexec_fn=few)
    kit.equal((r.code, r.json["status"], r.json["exit_code"]), (125, "error", 125))
    kit.contains(r.json["error_message"], "Too many open files")


@kit.test
def a_word_that_is_called_json_is_a_word():
    r = run("-l", "bash", "-c", "echo $1", "--zz", "--", "--json")
    kit.equal((r.code, r.text), (2, ""))


@kit.test
def output_that_looks_like_a_result_is_output():
    r = result("""print('{"status": "timeout", "exit_code": 0}')""")
    kit.equal((r["status"], r["stdout"]), ("ok", '{"status": "timeout", "exit_code": 0}\n'))


@kit.test
def quiet_says_nothing_of_its_own():
    loud = python("import time; time.sleep(9)", "--timeout", "0.2")
    quiet = python("import time; time.sleep(9)", "--timeout", "0.2", "--quiet")
    kit.equal((loud.code, loud.errtext), (124, "emberbox: Code execution timed out after 0.2s\n"
              "emberbox: hint: It waited nearly all of the time: look for a read of standard input (stdin), a network or "
              "server that does not answer, a sleep or a lock; or allow more with --timeout 0.4 (limits.timeout).\n"))
    kit.equal((quiet.code, quiet.errtext), (124, ""))


@kit.test
def a_hint_is_one_line_in_a_pipe():
    hint = "There is no /etc/shadow: no file was given; give it with --file (files), or make it first."
    code = "open('/etc/shadow')"
    bare, quiet, json = python(code), python(code, "--quiet"), python(code, "--json")
    kit.equal((bare.code, bare.text), (1, ""))
    kit.equal(bare.errtext.splitlines()[-2:],
              ["FileNotFoundError: [Errno 2] No such file or directory: '/etc/shadow'", f"emberbox: hint: {hint}"])
    kit.equal((quiet.code, quiet.text, quiet.errtext), (1, "", bare.errtext.rpartition("emberbox: hint")[0]))
    kit.equal((json.code, json.errtext, json.json["error"]["suggestion"]), (1, "", hint))
    # Nor is there one where nothing went wrong, or nothing is known.
    kit.equal(python("print(1)").errtext, "")
    kit.equal(python("import sys; sys.exit('broken')").errtext, "broken\n")


@kit.test
def times_have_units():
    kit.equal(python("pass", "--timeout", "1h30m", "--cpu-time", "1500ms", "--json").json["meta"]["resource_limits"]["timeout"], 5400)
    r = python("while True: pass", "--timeout", "300ms", "--json").json
    kit.equal((r["status"], r["error_message"]), ("timeout", "Code execution timed out after 0.3s"))
    kit.equal((r["meta"]["resource_limits"]["timeout"]), 0.3)


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


def closing(*fds):
    def close():
        for fd in fds:
            os.close(fd)

    return close


@kit.test
def closed_standard_descriptors_of_the_caller():
    r = run("-l", "bash", "-c", "cat; echo x; echo y >&2; exit 7", preexec_fn=closing(0, 2))
    kit.equal((r.code, r.text), (7, "x\n"))
    # Nothing can be read from it, so the program's own exit code tells that it ran.
    r = run("-l", "bash", "-c", "echo y >&2; exit 7", preexec_fn=closing(0, 1, 2))
    kit.equal(r.code, 7)


@kit.test
def output_that_has_nowhere_to_go_is_not_lost_silently():
    for args in ([], ["--json"]):
        kit.equal(run("-l", "bash", "-c", "echo x", *args, preexec_fn=closing(1)).code, 128 + signal.SIGPIPE, str(args))
        kit.equal(run("-l", "bash", "-c", "echo x", *args).code, 0, "the control")


@kit.test
def a_signal_is_named():
    r = run("-l", "bash", "-c", "kill -SEGV $$")
    kit.equal((r.code, r.errtext), (139, "emberbox: ended by signal SIGSEGV (Segmentation fault)\n"))
    kit.equal(run("-l", "bash", "-c", "kill -SEGV $$", "--quiet").errtext, "")
    kit.equal(run("-l", "bash", "-c", "exit 139").errtext, "")


@kit.test
def environment_variables_of_the_command_line():
    r = python("1", "--json", env={"SANDBOX_TIMEOUT_SEC": "7", "SANDBOX_MAX_OUTPUT_KB": "3", "SANDBOX_TYPE": "local"})
    limits = r.json["meta"]["resource_limits"]
    kit.equal((limits["timeout"], limits["max_output"]), (7, 3072))
    r = python("1", "--json", "--timeout", "9", env={"SANDBOX_TIMEOUT_SEC": "7"})
    kit.equal(r.json["meta"]["resource_limits"]["timeout"], 9, "an option beats the environment")
    r = python("1", "--json", env={"DOCKER_MEMORY_LIMIT": "64m"})
    kit.equal(r.json["meta"]["resource_limits"]["memory"], 64 << 20)
    r = python("1", "--json", "--allow-weaker", "cgroup", env={"DOCKER_CPU_LIMIT": "0.5"})
    kit.true(r.json["meta"]["resource_limits"]["cpus"] in (0.5, None), repr(r))
    for name, value in (
        ("SANDBOX_TIMEOUT_SEC", "soon"),
        ("SANDBOX_MAX_OUTPUT_KB", "3k"),
        ("SANDBOX_MAX_OUTPUT_KB", "16385"),
        ("SANDBOX_TYPE", "podman"),
        ("SANDBOX_STORE_CODE", "sometimes"),
        ("SANDBOX_BLOCK_DANGEROUS_IMPORTS", "yes"),
        ("DOCKER_MEMORY_LIMIT", "64q"),
        ("DOCKER_CPU_LIMIT", "many"),
        ("EMBERBOX_HOME", "relative"),
    ):
        # Also when an option says something else.
        overriding = "--timeout 9 --max-output 4k --engine local --memory 64m".split()
        for args in ([], overriding):
            r = python("1", *args, env={name: value})
            kit.equal((r.code, r.text), (2, ""), f"{name}={value} {args}")
            kit.contains(r.errtext, f'emberbox: {name}: "{value}" is not ' if name != "SANDBOX_TYPE" else f'{name}: "{value}" is not one of')
    for name, value in (("SANDBOX_STORE_CODE", "on_error"), ("SANDBOX_BLOCK_DANGEROUS_IMPORTS", "false"), ("SANDBOX_TYPE", "auto")):
        kit.equal(python("print(1)", env={name: value}).text, "1\n", name)
    kit.equal(python("print(1)", "--engine", "local", env={"SANDBOX_TYPE": "docker"}).text, "1\n")
    kit.equal(python("print(1)", env={"SANDBOX_TYPE": "docker"}).code, 2)


@kit.test
def versions_are_kept_in_the_home():
    home = kit.tmp()
    kit.equal(python("1", "--json", env={"EMBERBOX_HOME": home}).code, 0)
    kit.equal(sorted(os.listdir(home)), ["journal", "version-python", "writers"])


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
    # Other names that -l takes, and a line as wide as a terminal for all that a path of 35 characters has room in.
    lines = kit.emberbox("languages").text.splitlines()
    kit.equal(lines[0], "LANGUAGE     VERSION   ALIASES               WHERE")
    kit.matches("\n".join(lines), r"(?m)^python +[0-9.]+ +py,python3 +/")
    kit.matches("\n".join(lines), r"(?m)^c +\S+ +- +\S")
    for row in r.json:
        line = next(x for x in lines if x.split(" ")[0] == row["name"])
        kit.equal(line[23:45].rstrip(), ",".join(row["aliases"]) or "-")
        if row["path"] and len(row["path"]) <= 35:
            kit.true(len(line) <= 80, f"too wide: {line}")


@kit.test(modes=("root",))
def the_home_of_another_is_left_alone():
    # As by sudo: a fifo there would block root, and a directory of root's would lock its owner out.
    home = kit.tmp()
    cache = os.path.join(home, ".cache", "emberbox")
    os.makedirs(cache)
    os.mkfifo(os.path.join(cache, "version-python"))
    for path in (home, os.path.join(home, ".cache"), cache, os.path.join(cache, "version-python")):
        os.chown(path, 54321, 54321)
    r = python("1", "--json", env={"HOME": home})
    kit.matches(r.json["meta"]["language_version"], r"^3\.")
    kit.equal(os.listdir(cache), ["version-python"])
    # The control: one's own is used.
    own = kit.tmp()
    kit.equal(python("1", "--json", env={"HOME": own}).code, 0)
    kit.equal(os.listdir(os.path.join(own, ".cache", "emberbox")), ["version-python"])
    kit.equal(sorted(os.listdir(os.path.join(own, ".local", "state", "emberbox"))), ["journal", "writers"])


@kit.test
def help_and_version():
    kit.contains(kit.emberbox("--help").text, "run")
    r = run("--help")
    kit.equal(r.code, 0)
    for option in "language timeout cpu-time memory cpus pids disk max-output stdin env file project output json".split():
        kit.contains(r.text, f"--{option}")
    kit.equal(kit.emberbox("help").text, kit.emberbox("--help").text)
    kit.equal(kit.emberbox("help", "run").text, r.text)
    kit.equal(kit.emberbox("help", "rnu").code, 2)
    # Whoever reports a defect names the commit with the version. A build without git and without an archive has none.
    kit.matches(kit.emberbox("--version").text, r"^emberbox \d+\.\d+\.\d+( \([0-9a-f]{7,40}(-dirty)?\))?\n$")
    head = subprocess.run(["git", "-C", kit.REPO, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    if head.returncode == 0:
        kit.matches(kit.emberbox("--version").text, r" \([0-9a-f]{7,40}(-dirty)?\)\n$", "built in a checkout, without its commit")
    for typed in ("-V", "version"):
        kit.equal(kit.emberbox(typed).text, kit.emberbox("--version").text)


@kit.test
def a_caller_with_many_descriptors():
    """More than a box may have: its init has copies of all of them until it is confined."""
    code = (
        "import os, resource, sys\n"
        "soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))\n"
        "for _ in range(1100): os.set_inheritable(os.open('/dev/null', os.O_RDONLY), True)\n"
        "os.execv(sys.argv[1], sys.argv[1:])\n"
    )
    command = [kit.built(), "run", "--cold", "-l", "bash", "-c", "ls /proc/self/fd; ulimit -n"]
    r = kit.finish(kit.start([sys.executable, "-c", code, *command]))
    kit.equal((r.code, r.errtext), (0, ""))
    kit.equal(r.text.split()[:3], ["0", "1", "2"])
    kit.true(int(r.text.split()[-1]) <= 1024, f"the limit of open files is in force: {r.text}")


@kit.test
def mistakes_of_a_first_try_are_told_with_what_to_do():
    place = kit.tmp()
    r = kit.emberbox("run", "-l", "python", place)
    kit.equal((r.code, r.text), (2, ""))
    kit.contains(r.errtext, f'"{place}" is a directory; run a project by --project DIR --entry FILE\n')
    r = kit.emberbox("run", "-l", "python", "-c", "print(1)", "--verbose")
    kit.equal(r.code, 2)
    kit.contains(r.errtext, "unknown option --verbose; before options of the program's own put --\n")
    # The control: that is what helps.
    kit.equal(kit.emberbox("run", "-l", "python", "-c", "import sys; print(sys.argv[1:])", "--", "--verbose").text, "['--verbose']\n")
    kit.equal(kit.emberbox("run", "--verbose").errtext, "emberbox: unknown option --verbose\nSee: emberbox run --help\n")


kit.main()
