#!/usr/bin/python3
# tests/run: args=--as root | --as user
# tests/run: builds=release asan
# tests/run: asan=--as root
# tests/run: timeout=240
"""emberbox history, show, stats and audit: every run is there, whole, and nobody changes it unseen."""

import fcntl
import glob
import hashlib
import json
import os
import pty
import re
import shutil
import signal
import stat
import struct
import subprocess
import sys
import termios

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from service import Service
from web import Web

NOTHING = "nothing has been run yet; try: emberbox run -c 'print(1)' -l python\n"
BIG = "import sys; sys.stdout.write('é' * 30000 + 'end')"
BYTES = "import sys; sys.stdout.buffer.write(bytes(range(256))); sys.stderr.buffer.write(b'\\xff\\x00bad')"


def uid():
    return 0 if kit.mode == "root" else kit.UID


def run_in(home, *args, env=None, **options):
    return kit.emberbox(*args, env={"EMBERBOX_HOME": home, "TZ": "UTC", **(env or {})}, **options)


def python(home, code, *args, env=None):
    return run_in(home, "run", "-l", "python", "-c", code, *args, env=env)


def listed(home, *args):
    r = run_in(home, "history", "--json", *args)
    kit.equal((r.code, r.errtext), (0, ""), str(args))
    return r.json["executions"]


def shown(home, which, *args):
    r = run_in(home, "show", which, "--json", *args)
    kit.equal((r.code, r.errtext), (0, ""), which)
    return r.json


_past = {}


def past():
    """A home with five runs, made once: the ids by name, the oldest first. Nobody changes it but by looking."""
    if kit.mode not in _past:
        home = os.path.join(kit.home(), "past")
        os.mkdir(home)
        os.chown(home, uid(), uid())
        results = {}
        for name, code, args in (
            ("ok", "print('hällo')", ()),
            ("failed", "print('before')\nraise ValueError('a \\x1b[31m bad ✗ value')", ()),
            ("big", BIG, ()),
            ("bytes", BYTES, ()),
            ("timeout", "while True: pass", ("--timeout", "0.3")),
        ):
            r = python(home, code, "--json", *args)
            results[name] = json.loads(r.out)
        _past[kit.mode] = home, results
    return _past[kit.mode]


def copied():
    """The same, for who changes it."""
    home, results = past()
    run_in(home, "history")
    copy = os.path.join(kit.tmp(), "home")
    shutil.copytree(home, copy)
    for path in [copy, *glob.glob(f"{copy}/**", recursive=True)]:
        os.chown(path, uid(), uid())
    return copy, results


@kit.test
def nothing_was_run():
    home = kit.tmp()
    r = run_in(home, "history")
    kit.equal((r.code, r.text, r.errtext), (0, NOTHING, ""))
    kit.equal(listed(home), [])
    r = run_in(home, "show", "last")
    kit.equal((r.code, r.text, r.errtext), (1, "", "emberbox: " + NOTHING))
    r = run_in(home, "stats")
    kit.equal((r.code, r.text, r.errtext), (0, NOTHING, ""))
    r = run_in(home, "audit")
    kit.equal((r.code, r.text, r.errtext), (0, "the audit log is empty\n", ""))
    r = run_in(home, "audit", "verify")
    kit.equal((r.code, r.text, r.errtext), (0, "0 entries, the chain holds\n", ""))
    # One that is there and cannot be looked into is not taken for an empty one.
    plain = os.path.join(home, "plain")
    with open(plain, "w", encoding="ascii"):
        pass
    for command, code in ((["history"], 125), (["stats"], 125), (["audit"], 125), (["audit", "verify"], 1)):
        r = run_in(plain, *command)
        kit.equal((r.code, r.text, r.errtext), (code, "", f"emberbox: {plain} is not a directory; EMBERBOX_HOME has to name one\n"))
    open_to_all = os.path.join(home, "open")
    os.mkdir(open_to_all)
    os.chown(open_to_all, uid(), uid())
    os.chmod(open_to_all, 0o777)
    r = run_in(open_to_all, "audit", "verify")
    kit.equal((r.code, r.text), (1, ""))
    kit.true("can be written by others" in r.errtext and f"chmod go-w {open_to_all}" in r.errtext, r.errtext)
    # A home that is not there is not made by looking.
    missing = os.path.join(home, "none")
    for command in (["history"], ["stats"], ["audit"], ["audit", "verify"]):
        kit.equal(run_in(missing, *command).code, 0, str(command))
    kit.true(not os.path.exists(missing), "looking made a home")


@kit.test(timeout=60)
def every_run_is_listed():
    home, results = past()
    rows = listed(home)
    kit.equal([row["id"] for row in rows], [results[name]["id"] for name in ("timeout", "bytes", "big", "failed", "ok")])
    kit.equal([row["status"] for row in rows], ["timeout", "ok", "ok", "failed", "ok"])
    for row in rows:
        kit.equal((row["language"], row["caller"], row["door"]), ("python", f"uid {uid()}", "cli"))
    kit.equal(rows[3]["error_message"], results["failed"]["error_message"])
    for row, name in ((rows[3], "failed"), (rows[4], "ok")):
        for field in ("timestamp", "execution_time", "memory_used", "exit_code"):
            kit.equal(row[field], results[name][field], field)


@kit.test(timeout=60)
def filters():
    home, results = past()
    ids = {result["id"]: name for name, result in results.items()}

    def names(*args):
        return [ids[row["id"]] for row in listed(home, *args)]

    kit.equal(names("--status", "failed"), ["failed"])
    kit.equal(names("--status", "ok", "-n", "2"), ["bytes", "big"])
    kit.equal(names("--before", results["big"]["id"]), ["failed", "ok"])
    for name in results:
        for size in (4, 6, 12):
            kit.equal(shown(home, results[name]["id"][-size:])["id"], results[name]["id"])
    order = ["timeout", "bytes", "big", "failed", "ok"]
    for back, name in enumerate(order):
        kit.equal(shown(home, f"last~{back}")["id"], results[name]["id"])
    r = run_in(home, "show", "last~5")
    kit.equal((r.code, r.text, r.errtext), (1, "", 'emberbox: there is no run "last~5": the history has 5\n'))
    kit.equal([run["id"] for run in listed(home, "--before", "last~3")], [results["ok"]["id"]])
    # As much of an id as tells it from all others; what no id begins with, or several do, is said.
    big, others = results["big"]["id"], [i for i in ids if ids[i] != "big"]
    least = next(n for n in range(1, 27) if not any(i.startswith(big[:n]) for i in others))
    kit.equal(names("--before", big[:least]), ["failed", "ok"])
    r = run_in(home, "history", "--before", big[:1])
    kit.equal((r.code, r.text, r.errtext), (1, "", f'emberbox: several runs have an id that begins or ends with "{big[:1]}"\n'))
    r = run_in(home, "history", "--before", "ZZ")
    kit.equal((r.code, r.text, r.errtext), (1, "", 'emberbox: there is no run "ZZ"\n'))
    r = run_in(home, "history", "--before", "x.y")
    kit.equal((r.code, r.text, r.errtext), (2, "", 'emberbox: "x.y" is not an id, the beginning or the end of one, last, or last~N\nSee: emberbox history --help\n'))
    kit.equal(names("-l", "python", "-n", "1"), ["timeout"])
    kit.equal(names("--language", "ruby"), [])
    kit.equal(names("-l", "PY", "-n", "1"), ["timeout"])
    for command in ("history", "stats"):
        r = run_in(home, command, "-l", "pyhton")
        kit.equal((r.code, r.text, r.errtext), (2, "", 'emberbox: --language: "pyhton" is not known, and has no runs; '
                                               f"did you mean python?\nSee: emberbox {command} --help\n"))
    kit.equal(run_in(home, "stats", "-l", "py", "--json").json["total"], 5)
    kit.equal(run_in(home, "stats", "--caller", f"uid {uid()}", "--json").json["total"], 5)
    kit.equal(run_in(home, "stats", "--caller", "uid 4242", "--json").json["total"], 0)
    kit.equal(run_in(home, "stats", "--caller", "uid 4242").text, "no such run\n")
    kit.equal(names("--caller", f"uid {uid()}", "-n", "1"), ["timeout"])
    kit.equal(names("--caller", "uid 4242"), [])
    kit.equal(len(names("--since", "7d")), 5)
    kit.equal(len(names("--since", results["big"]["timestamp"])), 3)
    kit.equal(names("--since", "2099-01-01T00:00:00Z"), [])
    r = run_in(home, "history", "--language", "ruby")
    kit.equal((r.code, r.text, r.errtext), (0, "no such run\n", ""))
    r = run_in(home, "history", "--json", "-n", "2")
    kit.equal((len(r.json["executions"]), r.json["next"]), (2, results["bytes"]["id"]))


@kit.test(timeout=60)
def the_table():
    home, results = past()
    r = run_in(home, "history")
    kit.equal((r.code, r.errtext), (0, ""))
    lines = r.text.splitlines()
    kit.equal(lines[0].split(), ["ID", "TIME", "STATUS", "LANGUAGE", "DURATION", "MEMORY", "CALLER", "ERROR"])
    kit.equal(len(lines), 6)
    failed, ok = lines[4], lines[5]
    when = results["ok"]["timestamp"][:19].replace("T", " ")
    kit.true(ok.startswith(f"{results['ok']['id']}  {when}  ok       python"), ok)
    # What all errors begin with is left out.
    kit.true(failed.endswith("  ValueError: a \ufffd[31m bad ✗ value"), failed)
    # Every column begins where its title does; numbers end there.
    for line in lines[1:]:
        kit.equal(line.index("python"), lines[0].index("LANGUAGE"))
        kit.equal(line.index("uid "), lines[0].index("CALLER"))
        kit.matches(line, r"  \d+(\.\d+)? (µs|ms|s)  +\d+(\.\d+)? MiB  uid ")
    kit.contains(lines[1], "Code execution timed out after 0.3s")
    # Another zone.
    r = run_in(home, "history", "-n", "1", env={"TZ": "UTC-14"})
    kit.true(results["timeout"]["timestamp"][:19].replace("T", " ") not in r.text, r.text)


def on_terminal(home, columns, *args, env=None):
    """What a command prints on a terminal of this width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    if kit.mode != "root":
        os.fchown(theirs, kit.UID, kit.UID)
    process = kit.start([kit.built(), *args], env={"EMBERBOX_HOME": home, "TZ": "UTC", "TERM": "xterm", **(env or {})}, stdout=theirs)
    os.close(theirs)
    text = b""
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError:
            break
        if not data:
            break
        text += data
    os.close(ours)
    kit.equal(process.wait(timeout=20), 0)
    return text.decode().replace("\r\n", "\n")


@kit.test(timeout=60)
def colours_and_width_are_a_terminals():
    home, results = past()
    text = on_terminal(home, 140, "history")
    kit.contains(text, "\033[31mfailed\033[0m")
    kit.contains(text, "\033[32mok\033[0m")
    kit.contains(text, "\033[33mtimeout\033[0m")
    for columns in (140, 110, 80, 40, 10):
        text = on_terminal(home, columns, "history")
        plain = re.sub(r"\033\[\d*m", "", text)
        kit.true("\033" not in plain, "an escape of a program's reached the terminal")
        kit.true(max(len(line) for line in plain.splitlines()) <= columns, plain)
        if columns == 10:
            kit.contains(plain, "…")
        elif columns >= 80:
            kit.true(columns - plain.splitlines()[0].index("ERROR") >= 25, plain)
        # What is shown of an id is enough to ask for it.
        if columns > 30:
            kit.equal(shown(home, plain.splitlines()[2].split()[0])["id"], results["bytes"]["id"])
    kit.true("CALLER" not in on_terminal(home, 80, "history"), "all columns in 80")
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        kit.true("\033" not in on_terminal(home, 100, "history", env=env), str(env))
    kit.contains(on_terminal(home, 100, "history", env={"NO_COLOR": ""}), "\033[32mok\033[0m")
    kit.contains(on_terminal(home, 100, "show", "last"), "\033[33mtimeout\033[0m")
    # What there is room for is shown.
    kit.contains(on_terminal(home, 140, "history", "--status", "ok"), results["ok"]["id"])


@kit.test(timeout=60)
def the_audit_on_a_terminal():
    """Who and what; not ids, which leave no room for that."""
    home, results = past()
    for columns in (80, 120):
        text = on_terminal(home, columns, "audit", env={"NO_COLOR": "1"})
        lines = text.splitlines()
        kit.equal(lines[0].split(), ["ENTRY", "TIME", "EVENT", "WHO", "DETAILS"])
        kit.true(max(map(len, lines)) <= columns, text)
        when = results["failed"]["timestamp"][5:16].replace("T", " ")
        kit.matches(lines[2], rf"^    2  {when}:\d\d  execution  uid {uid()} +python failed - ValueError: ")
        kit.true(results["failed"]["id"] not in text, text)


@kit.test(timeout=60)
def a_page_fits_a_terminal():
    home, results = past()
    for columns in (80, 120):
        text = re.sub(r"\033\[\d*m", "", on_terminal(home, columns, "show", results["failed"]["id"]))
        lines = text.splitlines()
        begin = next(i for i, line in enumerate(lines) if line.startswith("  isolation  "))
        end = begin + 1
        while lines[end].startswith(" " * 13):
            end += 1
        kit.true(end - begin > 1 and max(map(len, lines[begin:end])) <= columns, text)
        wrapped = " ".join(line[13:] for line in lines[begin:end])
        kit.equal(wrapped, "; ".join(results["failed"]["meta"]["isolation"]))
    r = run_in(home, "show", "--verbose", results["failed"]["id"])
    kit.contains(r.text, "  isolation  " + "\n             ".join(results["failed"]["meta"]["isolation"]) + "\n\n")


@kit.test(timeout=60)
def one_run():
    home, results = past()
    whole = shown(home, results["failed"]["id"])
    for field, value in results["failed"].items():
        kit.equal(whole[field], value, field)
    kit.equal((whole["caller"], whole["door"]), (f"uid {uid()}", "cli"))
    kit.equal(shown(home, "last")["id"], results["timeout"]["id"])
    # As little of the id as tells it from the others.
    ids = [result["id"] for result in results.values()]
    wanted = results["big"]["id"]
    size = next(n for n in range(1, 27) if sum(other[:n] == wanted[:n] for other in ids) == 1)
    kit.equal(shown(home, wanted[:size])["id"], wanted)
    r = run_in(home, "show", wanted[:1])
    kit.equal((r.code, r.text, r.errtext), (1, "", f'emberbox: several runs have an id that begins or ends with "{wanted[:1]}"\n'))
    r = run_in(home, "show", "ZZ")
    kit.equal((r.code, r.text, r.errtext), (1, "", 'emberbox: there is no run "ZZ"\n'))
    r = run_in(home, "show", results["failed"]["id"])
    kit.equal((r.code, r.errtext), (0, ""))
    lines = r.text.splitlines()
    kit.equal(lines[0], f"{results['failed']['id']}  failed")
    kit.equal(lines[1], "  error      Execution failed: ValueError: a \ufffd[31m bad ✗ value")
    kit.true(lines[2].startswith(f"  language   python {results['failed']['meta']['language_version']} (cold)"), lines[2])
    kit.contains(r.text, f"\n  caller     uid {uid()} (cli)\n")
    kit.contains(r.text, "\n  exit code  1\n")
    kit.contains(r.text, "\nstdout (7 B)\nbefore\n")
    kit.contains(r.text, "\ncode (60 B)\nprint('before')\nraise ValueError('a \\x1b[31m bad ✗ value')\n\nstdout")
    kit.true("code (" not in run_in(home, "show", results["ok"]["id"]).text, "code that was not kept")
    kit.true("\033" not in r.text, "an escape of a program's is passed on")


@kit.test(timeout=60)
def the_whole_output_byte_for_byte():
    home, results = past()
    kit.equal((results["big"]["truncated"], results["big"]["stdout_bytes"]), (True, 60003))
    r = run_in(home, "show", results["big"]["id"], "--stdout")
    kit.equal((r.code, r.err, r.out), (0, b"", ("é" * 30000 + "end").encode()))
    r = run_in(home, "show", results["bytes"]["id"], "--stdout")
    kit.equal((r.code, r.err, r.out), (0, b"", bytes(range(256))))
    r = run_in(home, "show", results["bytes"]["id"], "--stderr")
    kit.equal((r.code, r.err, r.out), (0, b"", b"\xff\x00bad"))
    # What the result has whole is not kept twice, and can be had all the same.
    r = run_in(home, "show", results["ok"]["id"], "--stdout")
    kit.equal((r.code, r.err, r.out), (0, b"", "hällo\n".encode()))
    r = run_in(home, "show", results["ok"]["id"], "--stderr")
    kit.equal((r.code, r.err, r.out), (0, b"", b""))
    r = run_in(home, "show", results["bytes"]["id"])
    kit.equal((r.code, r.errtext), (0, ""))
    kit.true(not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", r.text), "control characters are shown as they are")


@kit.test(timeout=60)
def code_is_kept_by_the_policy():
    home = kit.tmp()
    for policy, kept_ok, kept_failed in ((None, False, True), ("on_error", False, True), ("always", True, True), ("never", False, False)):
        env = {"SANDBOX_STORE_CODE": policy} if policy else None
        for code, kept in ((f"print('{policy}')\n", kept_ok), (f"raise SystemExit('{policy} ✗')\n", kept_failed)):
            if policy == "on_error" and code.startswith("print"):
                continue
            before = set(glob.glob(f"{home}/executions/*.json"))
            ran = json.loads(python(home, code, "--json", env=env).out)
            r = run_in(home, "show", ran["id"], "--code")
            made = sorted(set(glob.glob(f"{home}/executions/*.json")) - before)
            if not kept:
                kit.equal((r.code, r.text, made), (1, "", []), f"{policy} {code}")
                kit.equal(r.errtext, f'emberbox: the code of execution "{ran["id"]}" was not kept: see SANDBOX_STORE_CODE\n')
                continue
            kit.equal((r.code, r.err, r.out), (0, b"", code.encode()), policy)
            kit.equal(len(made), 1, policy)
            kit.matches(os.path.basename(made[0]), r"^\d{8}T\d{6}[.0-9]*Z-[0-9a-f]+\.json$")
            kit.equal(stat.S_IMODE(os.stat(made[0]).st_mode), 0o600)
            with open(made[0], encoding="utf-8") as file:
                artifact = json.load(file)
            kit.equal((artifact["id"], artifact["code"], artifact["caller"]), (ran["id"], code, f"uid {uid()}"))
            kit.equal(artifact["code_sha256"], hashlib.sha256(code.encode()).hexdigest())
            kit.equal(artifact["result"]["status"], ran["status"])


@kit.test(timeout=60)
def a_page_shows_the_beginning_of_the_code():
    home = kit.tmp()
    code = "".join(f"x = {i}\n" for i in range(25))
    kit.equal(python(home, code, env={"SANDBOX_STORE_CODE": "always"}).code, 0)
    text = run_in(home, "show", "last").text
    kit.true(text.endswith(f"\ncode ({len(code)} B)\n" + "".join(f"x = {i}\n" for i in range(20)) + "… --code shows all\n"), text)
    kit.equal(run_in(home, "show", "last", "--code").text, code)
    kit.equal(python(home, code[:130], env={"SANDBOX_STORE_CODE": "always"}).code, 0)
    kit.true("--code" not in run_in(home, "show", "last").text, "20 lines are all")


@kit.test(timeout=60)
def the_policy_of_the_settings_file():
    home = kit.tmp()
    kit.write(f"{home}/.env", "SANDBOX_STORE_CODE=always\n")
    ran = json.loads(python(home, "print(1)", "--json").out)
    kit.equal(run_in(home, "show", ran["id"], "--code").out, b"print(1)")
    # The environment beats it.
    ran = json.loads(python(home, "print(1)", "--json", env={"SANDBOX_STORE_CODE": "never"}).out)
    kit.equal((run_in(home, "show", ran["id"], "--code").code, shown(home, ran["id"])["code"]), (1, None))


@kit.test(timeout=60)
def beside_a_service():
    """The service takes from the journal, whoever wrote to it; the commands see it all, also when it is gone."""
    served = Service("--embers", "0")
    with served.connect() as client:
        one = client.request({"language": "python", "code": "print('served')"})[1]
    # It is idle: nothing but who asks tells it of a run that was not its own.
    kit.eventually(lambda: len(listed(served.home)) == 1, "the service does not take what it ran")
    two = json.loads(python(served.home, "print('alone')", "--json").out)
    for gone in (False, True):
        rows = listed(served.home)
        kit.equal([(row["id"], row["door"], row["caller"]) for row in rows], [(two["id"], "cli", f"uid {uid()}"), (one["id"], "socket", f"uid {os.geteuid()}")])
        kit.equal(run_in(served.home, "show", one["id"], "--stdout").out, b"served\n")
        kit.equal(run_in(served.home, "show", "last", "--stdout").out, b"alone\n")
        r = run_in(served.home, "audit", "verify")
        kit.equal((r.code, r.errtext), (0, ""))
        events = [json.loads(line)["event"] for line in run_in(served.home, "audit", "--json").text.splitlines()]
        kit.equal(events[0], "service_started")
        kit.equal("service_stopped" in events, gone)
        if not gone:
            kit.equal(served.stop().code, 0)


@kit.test(timeout=60)
def code_that_is_no_text():
    home = kit.tmp()
    code = b"# \xe9\xff\nprint(1)\n"
    path = kit.write(f"{kit.tmp()}/latin.py", code)
    ran = run_in(home, "run", path, "--json", env={"SANDBOX_STORE_CODE": "always"}).json
    r = run_in(home, "show", ran["id"], "--code")
    kit.equal((r.code, r.err, r.out), (0, b"", code))


@kit.test(timeout=60)
def statistics():
    home, results = past()
    r = run_in(home, "stats", "--json")
    kit.equal((r.code, r.errtext), (0, ""))
    kit.equal((r.json["total"], r.json["warm"], r.json["cold"]), (5, 0, 5))
    kit.equal(r.json["by_status"], {"ok": 3, "failed": 1, "timeout": 1})
    only = r.json["by_language"][0]
    kit.equal((len(r.json["by_language"]), only["language"], only["count"], only["ok"], only["failed"]), (1, "python", 5, 3, 2))
    times = sorted(result["execution_time"] for result in results.values())
    kit.near(only["p50"], times[2], 0.0001)
    kit.near(only["p95"], times[4], 0.0001)
    r = run_in(home, "stats")
    kit.equal((r.code, r.errtext), (0, ""))
    lines = r.text.splitlines()
    kit.equal(lines[0], f"5 runs since {results['ok']['timestamp'][:19].replace('T', ' ')}, 0 warm and 5 cold")
    kit.equal(lines[2].split(), ["LANGUAGE", "RUNS", "OK", "FAILED", "P50", "P95"])
    kit.matches(lines[3], r"^python       5   3       2  +[\d.]+ ms  +[\d.]+ ms  █{24}$")
    kit.equal(lines[5].split(), ["STATUS", "RUNS"])
    kit.equal(lines[6:9], [f"ok          3  {'█' * 24}", f"failed      1  {'█' * 8}", f"timeout     1  {'█' * 8}"])
    kit.equal(lines[10].split(), ["FAILURE", "RUNS"])
    kit.equal(sorted(line.split()[0] for line in lines[11:]), ["ValueError", "timeout"])
    r = run_in(home, "stats", "--language", "ruby")
    kit.equal((r.code, r.text, r.errtext), (0, "no such run\n", ""))


@kit.test(timeout=60)
def a_run_that_is_killed_is_interrupted():
    home = kit.tmp()
    process = kit.start([kit.built(), "run", "-l", "python", "-c", "print('up', flush=True)\nimport time\ntime.sleep(60)"], env={"EMBERBOX_HOME": home}, cold=True)
    kit.equal(process.stdout.read(3), b"up\n")
    row = listed(home)[0]
    kit.equal((row["status"], row["exit_code"]), ("running", None))
    watch = kit.Watch([process.pid, *kit.descendants(process.pid)])
    # Whoever became the user is the program itself: setpriv replaces itself.
    os.kill(process.pid, signal.SIGKILL)
    process.wait(timeout=10)
    kit.equal(watch.survivors(), [])
    row = listed(home)[0]
    kit.equal((row["status"], row["error_message"]), ("interrupted", "Execution was interrupted: the process that ran it ended"))
    kit.equal(shown(home, "last")["status"], "interrupted")
    kit.contains(run_in(home, "show", "last").text, "\n  duration   -\n")
    kit.matches(run_in(home, "history").text.splitlines()[1], r"interrupted  python +-  ")
    # Its code goes with its end, which it had not.
    r = run_in(home, "show", "last", "--code")
    kit.equal((r.code, r.text, r.errtext), (1, "", f'emberbox: the code of execution "{row["id"]}" was not kept: '
                                                   "code is kept when a run ends, and this one was interrupted\n"))
    r = run_in(home, "stats")
    kit.matches(r.text, r"\A1 run since .*, 0 warm, 0 cold and 1 other\n")
    # It stays so, and the next run is recorded as ever.
    kit.equal(python(home, "print(1)").code, 0)
    kit.equal([row["status"] for row in listed(home)], ["ok", "interrupted"])
    kit.equal(run_in(home, "audit", "verify").code, 0)


@kit.test(timeout=60)
def what_is_kept_does_not_grow_for_ever():
    """Also where nobody ever asks for the history."""
    home = kit.tmp()
    kit.equal(python(home, "print(1)").code, 0)
    kit.true(not os.path.exists(f"{home}/history.db"), "a small run takes the journal")
    kit.equal(len(python(home, "print('x' * 2000000)").out), 2000001)
    kit.true(os.path.exists(f"{home}/history.db"), "a large output is left for ever")
    kit.equal(len(glob.glob(f"{home}/executions/*.out")), 1)
    # More than may be kept.
    kit.equal(len(python(home, "print('x' * 2000000)", env={"EMBERBOX_HISTORY_SIZE": "1m"}).out), 2000001)
    kit.equal(glob.glob(f"{home}/executions/*.out"), [])


@kit.test(timeout=60)
def no_place_for_history():
    """The run goes on, unless the audit log is required in so many words."""
    # Somebody else's, in any mode: the state directory must be ours alone.
    home = os.path.join(kit.tmp(), "open")
    os.mkdir(home)
    os.chown(home, uid(), uid())
    os.chmod(home, 0o777)
    missing = "emberbox: this run is not in the history: "
    for env, says in (({}, True), ({"EMBERBOX_AUDIT": "off"}, True), ({"EMBERBOX_AUDIT": "best_effort"}, False)):
        r = python(home, "print('ran')", env=env)
        kit.equal((r.code, r.text, r.errtext.startswith(missing)), (0, "ran\n", says), f"{env} {r}")
        kit.equal(len(r.errtext.splitlines()), int(says), str(env))
    r = python(home, "print('ran')", env={"EMBERBOX_AUDIT": "required"})
    kit.equal((r.code, r.text), (125, ""))
    kit.equal(
        r.errtext,
        "emberbox: this run cannot be recorded, and EMBERBOX_AUDIT is required: there is no state directory that only we can "
        "write to; set EMBERBOX_HOME to one\n",
    )
    r = python(home, "print('ran')", "--json", env={"EMBERBOX_AUDIT": "required"})
    kit.equal((r.code, r.json["status"]), (125, "error"))
    kit.equal(os.listdir(home), [])
    # The control: with a place it runs, and is there.
    os.chmod(home, 0o700)
    r = python(home, "print('ran')", env={"EMBERBOX_AUDIT": "required"})
    kit.equal((r.code, r.text, r.errtext), (0, "ran\n", ""))
    kit.equal(len(listed(home)), 1)


@kit.test(timeout=60)
def a_service_and_its_audit_log():
    """Without one history goes on; one that is not as it was left keeps programs from running, unless that is allowed."""

    def run_by(word):
        running = Service("--embers", "0", home=home, env={"EMBERBOX_AUDIT": word})
        r = python(home, "print('ran')", env={"EMBERBOX_SERVICE": "auto"})
        running.stop()
        return r

    home = kit.tmp()
    r = run_by("off")
    kit.equal((r.code, r.text, r.errtext), (0, "ran\n", ""))
    rows = run_in(home, "history", "--json", env={"EMBERBOX_AUDIT": "off"}).json["executions"]
    kit.equal([row["door"] for row in rows], ["socket"])
    kit.true(not os.path.exists(f"{home}/audit.log"), "there is an audit log")
    r = run_by("required")
    kit.equal((r.code, r.text), (0, "ran\n"))
    kit.write(f"{home}/audit.log", "")
    r = run_by("required")
    kit.equal((r.code, r.text), (125, ""))
    kit.matches(r.errtext, r"^emberbox: nothing is run while nothing can be written down: .*; EMBERBOX_AUDIT=best_effort allows it\n$")
    r = run_by("best_effort")
    kit.equal((r.code, r.text, r.errtext), (0, "ran\n", ""))


@kit.test(timeout=60)
def nobody_hears_what_the_store_says():
    home = kit.tmp()
    running = Service("--embers", "0", home=home)
    store = running.role("store")
    running.process.stderr.close()
    os.mkdir(f"{home}/elsewhere")
    os.rename(f"{home}/audit.log", f"{home}/elsewhere/audit.log")

    def refused():
        r = python(home, "print('ran')", env={"EMBERBOX_SERVICE": "auto"})
        return "audit.log was removed or replaced" in r.errtext

    kit.eventually(refused, "the store did not say that it cannot write")
    os.rename(f"{home}/elsewhere/audit.log", f"{home}/audit.log")
    kit.eventually(lambda: not refused(), "the store did not say that it can write again")
    kit.equal(running.role("store"), store, "the store was started anew")
    os.kill(running.pid, signal.SIGTERM)
    kit.equal(running.process.wait(20), 0)


@kit.test(timeout=60)
def a_new_audit_log_begins_when_its_files_are_moved_away():
    """As the sentence about a log that was changed tells, also under a service that has it open."""
    home = kit.tmp()
    running = Service("--embers", "0", home=home)
    ran = lambda: python(home, "print('ran')", env={"EMBERBOX_SERVICE": "auto"})  # noqa: E731
    kit.equal(ran().text, "ran\n")
    kit.eventually(lambda: "execution" in run_in(home, "audit").text, "the run is not in the log")
    os.mkdir(f"{home}/aside")
    for name in os.listdir(home):
        if name.startswith("audit"):
            os.rename(f"{home}/{name}", f"{home}/aside/{name}")
    kit.eventually(lambda: ran().code == 0, "it stays blind")
    kit.eventually(lambda: "execution" in run_in(home, "audit").text, "the run is not in the new log")
    running.stop()
    r = run_in(home, "audit", "verify")
    kit.equal((r.code, r.errtext), (0, ""))


@kit.test(timeout=60)
def verifying_takes_in_what_was_run():
    home = kit.tmp()
    for entries in ("1 entry", "2 entries"):
        kit.equal(python(home, "pass").code, 0)
        r = run_in(home, "audit", "verify")
        kit.equal((r.code, r.text, r.errtext), (0, f"{entries}, the chain holds\n", ""))


@kit.test(timeout=60)
def a_service_that_could_not_write_does_when_it_can():
    home = kit.tmp()
    os.mkdir(f"{home}/journal")
    running = Service("--embers", "0", home=home)
    r = python(home, "print('ran')", env={"EMBERBOX_SERVICE": "auto"})
    kit.equal((r.code, r.text), (125, ""))
    kit.contains(r.errtext, "cannot open the journal in the state directory: Is a directory")
    os.rmdir(f"{home}/journal")
    kit.eventually(lambda: python(home, "print('ran')", env={"EMBERBOX_SERVICE": "auto"}).code == 0, "it stays blind")
    kit.equal([(row["door"], row["status"]) for row in listed(home)], [("socket", "ok")])
    running.stop()


@kit.test(timeout=60)
def a_service_that_may_go_on_unrecorded_says_so():
    """One line when recording stops, one when it works again, and a count of the runs in between."""

    def ran(times):
        for _ in range(times):
            r = python(home, "print('ran')", env={"EMBERBOX_SERVICE": "auto"})
            kit.equal((r.code, r.text, r.errtext), (0, "ran\n", ""))

    home = kit.tmp()
    os.mkdir(f"{home}/journal")
    running = Service("--embers", "0", home=home, listen=True, env={"EMBERBOX_AUDIT": "best_effort"})

    # The keeper answers the client itself, and the front after it.
    def counted(runs):
        line = f'emberbox_events_total{{event="unrecorded"}} {runs}\n'
        kit.eventually(lambda: line in Web(running).get("/metrics").text, f"no {line!r} in /metrics")

    stops = (r"(?m)^emberbox: runs are not recorded, and EMBERBOX_AUDIT lets them go on: "
             r"cannot open the journal in the state directory: Is a directory$")
    ran(2)
    said = running.heard(stops)
    counted(2)
    os.rmdir(f"{home}/journal")
    ran(2)
    said += running.heard(r"(?m)^emberbox: runs are recorded again$")
    # The same of a journal that was there.
    kit.eventually(lambda: len(listed(home)) == 2, "the runs are not in the history")
    os.rename(f"{home}/journal", f"{home}/aside")
    os.mkdir(f"{home}/journal")
    ran(1)
    said += running.heard(stops)
    counted(3)
    kit.equal(len(re.findall("not recorded", said)), 2, said)
    kit.equal(running.stop().errtext.count("recorded"), 0)


@kit.test(timeout=60)
def what_cannot_run_is_in_the_history():
    home = kit.tmp()
    r = run_in(home, "run", "-l", "python", "--project", kit.tmp(), "--entry", "none.py")
    kit.equal(r.code, 2)
    row = listed(home)[0]
    kit.equal((row["status"], row["exit_code"]), ("error", 2))
    kit.contains(row["error_message"], "none.py")
    r = run_in(home, "audit", "--json")
    kit.contains([json.loads(line)["event"] for line in r.text.splitlines()], "execution_refused")


@kit.test(timeout=60)
def the_audit_log():
    home, results = past()
    r = run_in(home, "audit", "--json", "-n", "1000")
    kit.equal((r.code, r.errtext), (0, ""))
    entries = [json.loads(line) for line in r.text.splitlines()]
    kit.equal([entry["seq"] for entry in entries], list(range(1, len(entries) + 1)))
    ended = {entry["id"]: entry for entry in entries if "status" in entry}
    for name in ("ok", "failed", "timeout"):
        entry = ended[results[name]["id"]]
        kit.equal((entry["status"], entry["caller"], entry["language"]), (results[name]["status"], f"uid {uid()}", "python"))
    kit.equal(sorted(ended), sorted(result["id"] for result in results.values()))
    # By other means than ours: the chain is as it is documented.
    before = "0" * 64
    for line, entry in zip(r.text.splitlines(), entries):
        kit.equal(entry["previous"], before)
        before = hashlib.sha256((line[: line.rindex(',"hash":')] + "}").encode()).hexdigest()
        kit.equal(entry["hash"], before)
    r = run_in(home, "audit", "verify")
    kit.equal((r.code, r.text, r.errtext), (0, f"{len(entries)} entries, the chain holds\n", ""))
    r = run_in(home, "audit", "verify", "--json")
    kit.equal(r.json, {"holds": True, "entries": len(entries), "error": None})
    r = run_in(home, "audit", "-n", "2")
    kit.equal((r.code, r.text.splitlines()[0].split()), (0, ["ENTRY", "TIME", "EVENT", "DETAILS"]))
    kit.equal(len(r.text.splitlines()), 3)
    kit.equal(stat.S_IMODE(os.stat(f"{home}/audit.log").st_mode), 0o600)


@kit.test(timeout=60)
def tampering_is_found():
    home, _ = copied()
    path = f"{home}/audit.log"
    with open(path, "rb") as file:
        good = file.read()
    lines = good.splitlines(keepends=True)
    kit.true(len(lines) >= 5, f"only {len(lines)} entries")
    count = len(lines)
    flipped = bytearray(good)
    flipped[len(lines[0]) + len(lines[1]) + 40] ^= 1
    for content, sentence in (
        (bytes(flipped), "audit.log, line 3: entry 3 was changed: its hash is not that of its text"),
        (b"".join(lines[:3] + lines[4:]), "audit.log, line 4: entry 4 is missing before it"),
        (b"".join(lines[:3] + lines[2:]), "audit.log, line 4: entry 3 stands after entry 3: it was inserted or moved"),
        (b"".join(lines[:3] + [lines[4], lines[3]] + lines[5:]), "audit.log, line 4: entry 5 stands before entry 4: the order was changed"),
        (b"".join(lines[:-2]), f"the last 2 entries are missing: the log ends with entry {count - 2}, but audit.head has entry {count}"),
        (good + b"x", f"audit.log, line {count + 1}: the log ends in the middle of this line, and not because of a crash"),
    ):
        kit.equal((run_in(home, "audit", "verify").text, run_in(home, "audit", "verify").code), (f"{count} entries, the chain holds\n", 0))
        with open(path, "wb") as file:
            file.write(content)
        r = run_in(home, "audit", "verify")
        kit.equal((r.code, r.text, r.errtext), (1, "", f"emberbox: {sentence}\n"))
        r = run_in(home, "audit", "verify", "--json")
        kit.equal((r.code, r.json["holds"], r.json["error"]), (1, False, sentence))
        with open(path, "wb") as file:
            file.write(good)
    # The head made to fit: history.db knows the end as well.
    with open(path, "wb") as file:
        file.write(b"".join(lines[:-2]))
    with open(f"{home}/audit.head", "r+", encoding="ascii") as file:
        head = json.load(file)
        last = json.loads(lines[-3])
        head.update(seq=last["seq"], hash=last["hash"], size=len(b"".join(lines[:-2])))
        file.seek(0)
        file.truncate()
        file.write(json.dumps(head))
    r = run_in(home, "audit", "verify")
    kit.equal(
        (r.code, r.errtext),
        (1, f"emberbox: the last 2 entries are missing: the log ends with entry {count - 2}, but history.db has entry {count}\n"),
    )


@kit.test(timeout=60)
def what_came_with_the_code_is_shown():
    """It is kept with the code, and only then; of variables the names."""
    home = kit.tmp()
    given = kit.write(f"{kit.tmp()}/data.txt", "x")
    args = ("-l", "python", "--env", "KEY=a-secret", "--env", "B=1", "--file", f"{given}:/sandbox/data/d e", "--file", given,
            "--timeout", "20", "-c", "print(1)", "--", "one", "two words", "")
    for policy in ("always", "never"):
        r = kit.emberbox("run", "--cold", *args, env={"EMBERBOX_HOME": home, "SANDBOX_STORE_CODE": policy})
        kit.equal((r.code, r.text), (0, "1\n"), r.errtext)
        told = run_in(home, "show", "last", "--json").json["request"]
        page = run_in(home, "show", "last").text
        if policy == "never":
            kit.equal(told, None)
            kit.true("arguments" not in page and "variables" not in page, page)
            continue
        kit.equal((told["args"], told["env"], told["files"], told["limits"]),
                  (["one", "two words", ""], ["KEY", "B"], ["sandbox/data/d e", "sandbox/code/data.txt"], {"timeout": 20}))
        kit.contains(page, '\n  arguments  one "two words" ""\n  variables  KEY B\n  given      "/sandbox/data/d e" /sandbox/code/data.txt\n')
        kit.true("a-secret" not in page, page)


@kit.test
def bad_usage():
    home = kit.tmp()
    for args, sentence in (
        (["history", "x"], 'unexpected argument "x"'),
        (["history", "-n", "0"], '--limit: expected a number from 1 to 1000, not "0"'),
        (["history", "-n", "1001"], '--limit: expected a number from 1 to 1000, not "1001"'),
        (["history", "--since", "soon"], '--since: expected 30s, 10m, 2h, 7d or a time like 2026-01-31T12:00:00Z, not "soon"'),
        (["history", "--since", "-1h"], '--since: expected 30s, 10m, 2h, 7d or a time like 2026-01-31T12:00:00Z, not "-1h"'),
        (["history", "--statu", "ok"], "unknown option"),
        (["history", "--failed"], "unknown option --failed; did you mean --status failed?"),
        (["history", "--out_of_memory"], "unknown option --out_of_memory; did you mean --status out_of_memory?"),
        (["show"], "name the run: an id of `emberbox history`, or last"),
        (["show", "a", "b"], 'unexpected argument "b"'),
        (["show", "../../etc"], '"../../etc" is not an id, the beginning or the end of one, last, or last~N'),
        (["show", "last~"], '"last~" is not an id, the beginning or the end of one, last, or last~N'),
        (["show", "last~1000"], '"last~1000" is not an id, the beginning or the end of one, last, or last~N'),
        (["show", "last~-1"], '"last~-1" is not an id, the beginning or the end of one, last, or last~N'),
        (["show", ""], '"" is not an id, the beginning or the end of one, last, or last~N'),
        (["show", "last", "--json", "--stdout"], "--json, --code, --stdout, --stderr and --file exclude each other"),
        (["stats", "x"], 'unexpected argument "x"'),
        (["audit", "x"], 'unexpected argument "x"'),
        (["audit", "verfy"], 'unexpected argument "verfy"; did you mean verify?'),
        (["audit", "verify", "verify"], 'unexpected argument "verify"'),
        (["audit", "verify", "-n", "2"], "verify checks all entries; it cannot be combined with --limit"),
        (["audit", "-n", "x"], '--limit: expected a number from 1 to 100000, not "x"'),
    ):
        r = run_in(home, *args)
        kit.equal((r.code, r.text), (2, ""), str(args))
        kit.true(r.errtext.startswith(f"emberbox: {sentence}"), f"{args}: {r.errtext!r}")
        kit.true(r.errtext.endswith(f"See: emberbox {args[0]} --help\n"), f"{args}: {r.errtext!r}")


kit.main()
