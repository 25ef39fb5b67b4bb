#!/usr/bin/python3
# tests/run: args=--as root | --as user
# tests/run: builds=release asan
# tests/run: asan=--as root
# tests/run: timeout=240
"""Languages as data: a user's own folder, prepared trees, the build cache, profiles, entries."""

import glob
import os
import re
import shutil
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from service import Service
from web import Web

# A language of nobody's: an upper-caser that a shell script compiles, with a prepared dictionary.
YAML = """
display: Shout
aliases: [loud]
extensions: [shout]
interpreters: [shouter]
file: main.shout
tools:
  shell: [/nonexistent/shout, /bin/sh]
version: ["{shell}", -c, "echo shout 4.2"]
install: make a wish
environment: {VOICE: "loud at {memory_mb}"}
limits: {memory: 128m, pids: 32}
prepare:
  run: ["{shell}", "{drivers}/prepare", one]
compile:
  run: ["{shell}", "{drivers}/compile", "{entry}", "{prepared}/mark", "{sources}"]
  sources: ["*.shout"]
  artifact: loud.sh
  limits: {timeout: 5, memory: 64m}
run: ["{shell}", "{artifact}", "{args}"]
errors:
  syntax: [{exit: 3, match: '^{file}:(?<line>\\d+): (?<message>.*)'}]
  compile: ['^(?<file>[^:]+):(?<line>\\d+):(?<column>\\d+): error: (?<message>.*)']
notes: a test's own
"""
PREPARE = "echo prepared-$1 > /sandbox/output/mark; mkdir /sandbox/output/empty\n"
# `!` is a syntax error, `?` a compile error; else a script that prints the upper-cased source.
COMPILE = """entry=$1 mark=$2; shift 2
if grep -n '!' "$entry" >/tmp/found; then echo "$entry:$(cut -d: -f1 /tmp/found): no shouting" >&2; exit 3; fi
if grep -qF '?' "$entry"; then echo "$entry:1:2: error: no questions" >&2; exit 1; fi
echo "compiled $#" >&2
{ echo "cat <<'END'"; cat "$mark"; cat "$@" | tr a-z A-Z; echo END; echo 'echo "$VOICE" "$@"'; } > /sandbox/output/loud.sh
"""


def shout(yaml=YAML, **files):
    """A home with the language, and how to call emberbox with it."""
    home = kit.tmp()
    files = {"runtime.yaml": yaml, "prepare": PREPARE, "compile": COMPILE, **files}
    for name, text in files.items():
        kit.write(f"{home}/runtimes/shout/{name}", text)
    return {"EMBERBOX_HOME": home}


def run(env, *args, **options):
    return kit.emberbox("run", *args, env=env, **options)


def builds(env):
    return sorted(glob.glob(env["EMBERBOX_HOME"] + "/builds/*"))


@kit.test
def a_folder_is_a_language():
    env = shout()
    r = run(env, "-l", "shout", "-c", "hello\n", "--", "a b", "c")
    kit.equal((r.code, r.text, r.errtext), (0, "prepared-one\nHELLO\nloud at 128 a b c\n", ""))
    # By alias, by the file's name, by its first line.
    kit.equal(run(env, "-l", "LOUD", "-c", "x").code, 0)
    path = kit.write(f"{kit.tmp()}/x.shout", "by name")
    kit.contains(run(env, path).text, "BY NAME")
    path = kit.write(f"{kit.tmp()}/x", "#!/usr/bin/env shouter\n")
    kit.equal(run(env, path).code, 3)  # the ! is a syntax error of it
    listed = kit.emberbox("languages", env=env).text
    kit.matches(listed, r"(?m)^shout +4\.2 +loud +/bin/sh$")
    # Without the folder there is no such language.
    r = kit.emberbox("run", "-l", "shout", "-c", "x", env={"EMBERBOX_HOME": kit.tmp()})
    kit.equal(r.code, 127)
    kit.contains(r.errtext, 'Unknown language "shout"; available: ')


@kit.test
def the_examples_of_the_manual():
    home = kit.tmp()
    with open(os.path.join(kit.REPO, "docs/runtimes.md"), encoding="utf-8") as file:
        found = re.findall(r"```(?:yaml|sh)\n# ~/\.local/share/emberbox/(runtimes/[\w./]+)[^\n]*\n(.*?)```", file.read(), re.S)
    kit.equal([name for name, _ in found], ["runtimes/awk/runtime.yaml", "runtimes/bf/runtime.yaml", "runtimes/bf/compile"])
    for name, text in found:
        kit.write(f"{home}/{name}", text)
    env = {"EMBERBOX_HOME": home}
    kit.equal(run(env, "-l", "awk", "-c", "BEGIN { print 6 * 7 }").text, "42\n")
    r = run(env, "-l", "bf", "-c", "++++++++[>++++++++<-]>+.+.+.")
    kit.equal((r.code, r.text, r.errtext), (0, "ABC", ""))


@kit.test
def its_json_is_whole():
    env = shout()
    rows = {row["name"]: row for row in kit.emberbox("languages", "--json", env=env).json}
    kit.equal(
        rows["shout"],
        {
            "name": "shout",
            "display": "Shout",
            "aliases": ["loud"],
            "extensions": ["shout"],
            "file": "main.shout",
            "available": True,
            "version": "4.2",
            "path": "/bin/sh",
            "install": "make a wish",
            "compiled": True,
            "profiles": [],
            "session": False,
            "notes": "a test's own",
            "broken": None,
        },
    )


@kit.test
def errors_are_told_apart():
    env = shout()
    r = run(env, "-l", "shout", "-c", "fine\nloud!\n", "--json")
    kit.equal((r.code, r.json["status"], r.json["error_message"]), (3, "failed", "Shout syntax error: no shouting (line 2)"))
    kit.equal(r.json["error"]["type"], "SyntaxError")
    kit.equal((r.json["error"]["file"], r.json["error"]["line"]), ("main.shout", 2))
    kit.equal(r.json["meta"]["phase"], "compile")
    r = run(env, "-l", "shout", "-c", "why?", "--json")
    kit.equal((r.code, r.json["error_message"]), (1, "Shout compile error: no questions (line 1)"))
    kit.equal((r.json["error"]["type"], r.json["error"]["column"]), ("CompileError", 2))
    # What the compiler said is shown as it is, also without --json.
    r = run(env, "-l", "shout", "-c", "why?")
    kit.equal((r.text, r.errtext), ("", "/sandbox/code/main.shout:1:2: error: no questions\n"))
    # A build that works is quiet, and says so.
    r = run(env, "-l", "shout", "-c", "fine", "--json")
    kit.equal((r.json["status"], r.json["stderr"], r.json["error"], r.json["meta"]["phase"]), ("ok", "", None, "run"))


@kit.test
def the_same_source_is_built_once():
    env = shout()
    first = run(env, "-l", "shout", "-c", "same", "--json").json
    again = run(env, "-l", "shout", "-c", "same", "--json").json
    other = run(env, "-l", "shout", "-c", "other", "--json").json
    kit.equal([x["meta"]["build"]["cached"] for x in (first, again, other)], [False, True, False])
    kit.equal(first["stdout"], again["stdout"])
    kit.equal(len(builds(env)), 2)
    # A run-time setting is no source; a driver, the definition's command line and another file are.
    kit.equal(run(env, "-l", "shout", "-c", "same", "--timeout", "9", "--env", "A=1", "--json").json["meta"]["build"]["cached"], True)
    extra = kit.write(f"{kit.tmp()}/extra.shout", "extra")
    with_file = run(env, "-l", "shout", "-c", "same", "--file", extra, "--json").json
    kit.equal(with_file["meta"]["build"]["cached"], False)
    kit.contains(with_file["stdout"], "SAMEEXTRA")
    data = kit.write(f"{kit.tmp()}/data.txt", "no source")
    kit.equal(run(env, "-l", "shout", "-c", "same", "--file", data, "--json").json["meta"]["build"]["cached"], True)
    kit.write(env["EMBERBOX_HOME"] + "/runtimes/shout/compile", COMPILE + "# changed\n")
    kit.equal(run(env, "-l", "shout", "-c", "same", "--json").json["meta"]["build"]["cached"], False)


@kit.test
def a_source_that_changes_is_built_again():
    env = shout()
    path = kit.write(f"{kit.tmp()}/x.shout", "before")
    kit.contains(run(env, path).text, "BEFORE")
    kit.write(path, "beyond")  # as long as it was, and within the clock's coarseness
    kit.contains(run(env, path).text, "BEYOND")


@kit.test
def damaged_builds_are_made_again():
    env = shout()
    want = run(env, "-l", "shout", "-c", "damage").text
    (entry,) = builds(env)
    os.truncate(entry, 40)
    kit.equal(run(env, "-l", "shout", "-c", "damage").text, want)
    with open(entry, "wb") as file:
        file.write(b"not an entry")
    kit.equal(run(env, "-l", "shout", "-c", "damage").text, want)


@kit.test
def a_program_cannot_reach_the_cache():
    """It has a copy of its own build, and no way to the host's: not by path, not by descriptor, not by changing it."""
    env = shout(YAML.replace('run: ["{shell}", "{artifact}", "{args}"]', 'run: ["{shell}", "{drivers}/evil", "{artifact}"]'),
                evil='echo poison > "$1"; rm -f "$1"; ls -a /sandbox/build; ls /proc/self/fd | wc -l; cat /proc/self/mountinfo\n')
    r = run(env, "-l", "shout", "-c", "first")
    kit.contains(r.text, "loud.sh\n")  # still there: the place cannot be written
    kit.true(env["EMBERBOX_HOME"] not in r.text, "the host's path shows in the mount table")
    kit.contains(r.errtext, "cannot create /sandbox/build/loud.sh")
    before = {path: open(path, "rb").read() for path in builds(env)}
    kit.equal(run(env, "-l", "shout", "-c", "first", "--json").json["meta"]["build"]["cached"], True)
    kit.equal({path: open(path, "rb").read() for path in builds(env)}, before)


@kit.test
def the_cache_is_bounded():
    env = dict(shout(), EMBERBOX_CACHE_SIZE="4k")
    for word in ("one", "two", "three"):
        kit.equal(run(env, "-l", "shout", "-c", word * 400).code, 0)
    kit.true(sum(os.path.getsize(path) for path in builds(env)) <= 4096, f"{builds(env)}")
    r = run(dict(env, EMBERBOX_CACHE_SIZE="lots"), "-l", "bash", "-c", "true")
    kit.equal(r.code, 2)
    kit.contains(r.errtext, 'EMBERBOX_CACHE_SIZE: "lots" is not a size')


@kit.test
def limits_of_the_compiler_are_its_own():
    env = shout(compile="while :; do :; done\n", yaml=YAML.replace("timeout: 5", "timeout: 1"))
    r = run(env, "-l", "shout", "-c", "x", "--timeout", "20", "--json")
    kit.equal((r.code, r.json["status"], r.json["error_message"]), (124, "timeout", "Code execution timed out after 1s while compiling"))
    kit.equal(r.json["meta"]["resource_limits"]["timeout"], 1.0)
    env = shout(compile="x=$(head -c 100000000 /dev/zero | tr '\\0' a); echo ${#x}\n")
    r = run(env, "-l", "shout", "-c", "x", "--memory", "1g", "--json")
    kit.equal((r.code, r.json["status"], r.json["error_message"]), (137, "out_of_memory", "Memory limit of 64m exceeded while compiling"))
    # A short limit of the program's leaves the compiler alone.
    env = shout(compile=COMPILE + "sleep 0.3\n", yaml=YAML.replace("timeout: 5", "timeout: 10"))
    kit.equal(run(env, "-l", "shout", "-c", "x", "--timeout", "0.25").code, 0)


PROBE = """id; ls /; ls -d /home /root /var/lib /run 2>&1
grep -E '^(Cap|Seccomp|NoNewPrivs|Uid|Groups)' /proc/self/status
cut -d: -f1 /proc/net/dev; cat /proc/sys/kernel/hostname
touch /usr/x /etc/x /sandbox/x 2>&1
set -- /proc/[0-9]*; echo $# processes; cat /proc/1/comm
/bin/bash -c 'echo >/dev/tcp/192.0.2.1/80' 2>&1 | tail -n 1
unshare -U true 2>&1; mount -t tmpfs x /tmp 2>&1
ulimit -c; ulimit -n; ulimit -l
"""


@kit.test
def the_compiler_is_as_isolated_as_the_program():
    """The same questions from both boxes have the same answers."""
    env = shout(YAML.replace("limits: {timeout: 5, memory: 64m}", "limits: {timeout: 20}"), compile="exec 2>&1\n" + PROBE + "exit 9\n")
    compiling = run(env, "-l", "shout", "-c", "x", "--json").json
    kit.equal((compiling["exit_code"], compiling["meta"]["phase"]), (9, "compile"))
    env = shout(YAML.replace('run: ["{shell}", "{artifact}", "{args}"]', 'run: ["{shell}", "{drivers}/probe"]'), probe="exec 2>&1\n" + PROBE)
    running = run(env, "-l", "shout", "-c", "x", "--json").json
    kit.equal((running["exit_code"], running["meta"]["phase"]), (0, "run"), running["stdout"])
    kit.equal(compiling["stdout"].splitlines(), running["stdout"].splitlines())
    for part in ("uid=1000(sandbox)", "CapEff:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2", "Network is unreachable",
                 "cannot access '/home'", "'/usr/x': Read-only file system", "unshare failed"):
        kit.contains(compiling["stdout"], part)
    same = lambda r: [re.sub(r"host uid \d+", "host uid N", x) for x in r["meta"]["isolation"]]
    kit.equal(same(compiling), same(running))


@kit.test
def a_compiler_that_leaves_nothing():
    env = shout(compile="exit 0\n")
    r = run(env, "-l", "shout", "-c", "x")
    kit.equal((r.code, r.errtext), (125, "emberbox: the compile step of Shout created no file loud.sh in /sandbox/output\n"))
    # Nor is a link, a device or a directory a program.
    for trick in ("ln -s /etc/passwd", "mkdir", "mkfifo"):
        env = shout(compile=f"{trick} /sandbox/output/loud.sh\n")
        kit.equal(run(env, "-l", "shout", "-c", "x").code, 125, trick)


@kit.test
def prepared_once_and_shown_read_only():
    env = shout(YAML.replace("{drivers}/compile", "{drivers}/compile2"),
                compile2='ls -la {p} >&2; echo x > {p}/new || echo "cannot write" >&2; exit 9\n'.replace("{p}", "/opt/emberbox/prepared"))
    r = run(env, "-l", "shout", "-c", "x")
    kit.equal(r.code, 9)
    kit.contains(r.errtext, "empty")
    kit.contains(r.errtext, "cannot write")
    r = kit.emberbox("prepare", "shout", env=env)
    kit.equal((r.code, r.text), (0, "shout: ready\n"))
    trees = [path for path in glob.glob(env["EMBERBOX_HOME"] + "/prepared/shout-*") if os.path.isdir(path)]
    kit.equal(len(trees), 1)
    # Another preparation takes its place.
    kit.write(env["EMBERBOX_HOME"] + "/runtimes/shout/prepare", PREPARE + "echo more > /sandbox/output/more\n")
    kit.equal(kit.emberbox("prepare", "shout", env=env).code, 0)
    trees = [path for path in glob.glob(env["EMBERBOX_HOME"] + "/prepared/shout-*") if os.path.isdir(path)]
    kit.equal([sorted(os.listdir(path)) for path in trees], [["empty", "mark", "more"]])


@kit.test
def a_writable_preparation_is_a_copy():
    env = shout(YAML.replace("  run: [\"{shell}\", \"{drivers}/prepare\", one]", "  run: [\"{shell}\", \"{drivers}/prepare\", one]\n  writable: true")
                .replace('run: ["{shell}", "{artifact}", "{args}"]', 'run: ["{shell}", "{drivers}/change", "{prepared}"]'),
                change='cat $1/mark; echo changed > $1/mark; rm -r $1/empty; stat -c %U $1/mark; cat $1/mark; ls $1\n')
    want = "prepared-one\nsandbox\nchanged\nmark\n"
    for _ in range(2):
        r = run(env, "-l", "shout", "-c", "x")
        kit.equal((r.code, r.text, r.errtext), (0, want, ""))


@kit.test
def a_preparation_that_fails_is_said():
    env = shout(prepare="echo out of ink >&2; exit 4\n")
    r = run(env, "-l", "shout", "-c", "x")
    kit.equal((r.code, r.errtext), (125, "emberbox: cannot prepare Shout: Execution failed: out of ink\n"))
    r = kit.emberbox("prepare", "cobol", env=env)
    kit.equal(r.code, 127)


@kit.test
def mistakes_in_a_definition_are_named():
    env = shout(YAML.replace("artifact: loud.sh", "artefact: loud.sh"))
    r = run(env, "-l", "shout", "-c", "x")
    kit.equal(r.code, 127)
    kit.matches(r.errtext, r"^emberbox: shout cannot be used: runtimes/shout/runtime\.yaml:\d+:\d+: .*artefact.*did you mean .artifact")
    kit.matches(kit.emberbox("languages", env=env).text, r"(?m)^shout +- +- +broken: .*artefact")
    # Whatever else is asked.
    given = kit.write(f"{kit.tmp()}/given", "x")
    kit.equal(run(env, "-l", "shout", "-c", "x", "--file", given, "--profile", "restricted", "--json").code, 127)
    kit.equal(run(env, "-l", "shout", "-c", "x", "--explain").code, 127)
    # The other languages are none the worse.
    kit.equal(run(env, "-l", "bash", "-c", "echo well").text, "well\n")


NOVEL = """
display: Novel
file: main.novel
tools: {sh: [/bin/sh]}
version: ["{sh}", -c, "echo 1.0"]
install: none
environment: {VOICE: first}
run: ["{sh}", "{drivers}/tell", "{entry}"]
"""


@kit.test(timeout=90)
def a_service_reads_them_when_they_change():
    running = Service(listen=True)
    asking, folder = Web(running), f"{running.home}/runtimes/novel"
    yaml = f"{folder}/runtime.yaml"
    answer = lambda: asking.post("/v1/execute", {"language": "novel", "code": "echo $VOICE"})
    told = lambda want: kit.eventually(lambda: answer().json.get("stdout") == want, f"it does not say {want!r}", timeout=20)
    row = lambda: next(row for row in asking.get("/v1/languages").json if row["name"] == "novel")
    gone = lambda: kit.eventually(lambda: (answer().json["error"] or {}).get("code") == "unknown_language", "it is there", 20)

    def renamed(text):
        """As editors do it, with a copy aside."""
        kit.write(f"{folder}/.runtime.yaml.swp", "aside")
        os.rename(kit.write(f"{folder}/runtime.yaml~", text), yaml)
        os.unlink(f"{folder}/.runtime.yaml.swp")

    gone()
    roles = [running.role(name) for name in ("front", "keeper")]
    # Not even the folder of folders was there.
    kit.write(f"{folder}/tell", 'echo tell; . "$1"\n')
    kit.write(yaml, NOVEL)
    told("tell\nfirst\n")
    kit.equal((row()["available"], row()["broken"]), (True, None))
    # The definition, by another file in its place and in place, and what is beside it.
    renamed(NOVEL.replace("first", "second"))
    told("tell\nsecond\n")
    kit.write(yaml, NOVEL.replace("first", "third"))
    told("tell\nthird\n")
    kit.write(f"{folder}/tell", 'echo say; . "$1"\n')
    told("say\nthird\n")
    # A mistake is told with its place, and what was there stays.
    for write in (renamed, lambda text: kit.write(yaml, text)):
        write(NOVEL.replace("first", "lost").replace("install:", "instal:"))
        said = running.heard(r"; the definition of before stays\n")
        kit.matches(said, r'emberbox: runtimes/novel/runtime\.yaml:6:1: unknown key "instal"; did you mean "install"\?; the def')
        kit.equal(answer().json["stdout"], "say\nthird\n")
        kit.equal(row()["available"], True)
        kit.matches(row()["broken"], r'\Aruntimes/novel/runtime\.yaml:6:1: unknown key "instal"')
        table = kit.emberbox("languages", env={"EMBERBOX_HOME": running.home}).text
        kit.matches(table, r'(?m)^novel +- +- +broken: runtimes/novel/runtime\.yaml:6:1: unknown key "instal"')
        write(NOVEL.replace("first", "mended"))
        told("say\nmended\n")
        kit.equal(row()["broken"], None)
        write(NOVEL.replace("first", "third"))
        told("say\nthird\n")
    # SIGHUP keeps it as well.
    renamed(NOVEL.replace("install:", "instal:"))
    running.heard(r"; the definition of before stays\n")
    os.kill(running.pid, signal.SIGHUP)
    running.heard(r"; the definition of before stays\n")
    running.heard(r"emberbox: reloaded\n")
    told("say\nthird\n")
    # One that somebody still has open for writing is not read, whatever else is touched.
    with open(yaml, "w", encoding="utf-8") as writing:
        writing.write(NOVEL[:60])
        writing.flush()
        kit.write(f"{folder}/other", "")
        running.heard(r"novel/runtime\.yaml: it is being written; the definition of before stays until that is done\n")
        kit.equal(answer().json["stdout"], "say\nthird\n")
        writing.seek(0)
        writing.write(NOVEL.replace("first", "whole"))
    told("say\nwhole\n")
    # A link's target is elsewhere.
    target = kit.write(f"{kit.tmp()}/tell", 'echo far; . "$1"\n')
    os.unlink(f"{folder}/tell")
    os.symlink(target, f"{folder}/tell")
    told("far\nwhole\n")
    kit.write(target, 'echo farther; . "$1"\n')
    told("farther\nwhole\n")
    # One that is taken away does not stay, nor does one that others can write to; and one that is wrong at first is said.
    os.chmod(folder, 0o777)
    kit.eventually(lambda: answer().status == 422, "it is still used", 20)
    kit.contains(row()["broken"], "others can write to it")
    os.chmod(folder, 0o755)
    told("farther\nwhole\n")
    shutil.rmtree(folder)
    gone()
    kit.write(f"{running.home}/runtimes/odd/runtime.yaml", NOVEL.replace("Novel", "[Odd]"))
    running.heard(r"emberbox: odd cannot be used: runtimes/odd/runtime\.yaml:2:10: ")
    # What others ask for goes on all the time, and nothing was restarted.
    kit.equal(asking.post("/v1/execute", {"language": "sh", "code": "echo well"}).json["stdout"], "well\n")
    kit.equal([running.role(name) for name in ("front", "keeper")], roles)
    kit.equal(running.stop().code, 0)


@kit.test
def what_others_can_write_is_not_used():
    env = shout()
    folder = env["EMBERBOX_HOME"] + "/runtimes"
    os.chmod(f"{folder}/shout", 0o777)
    r = run(env, "-l", "shout", "-c", "x")
    kit.equal((r.code, r.errtext), (127, "emberbox: shout cannot be used: runtimes/shout belongs to another user, or others can write to it\n"))
    os.chmod(f"{folder}/shout", 0o755)
    kit.equal(run(env, "-l", "shout", "-c", "x").code, 0)
    for name in ("runtime.yaml", "compile"):
        os.chmod(f"{folder}/shout/{name}", 0o666)
        r = run(env, "-l", "shout", "-c", "x")
        kit.equal((r.code, r.errtext), (127, f"emberbox: shout cannot be used: runtimes/shout/{name} belongs to another user, or others can write to it\n"))
        os.chmod(f"{folder}/shout/{name}", 0o644)
    os.chmod(folder, 0o777)
    kit.equal(run(env, "-l", "shout", "-c", "x").code, 127)
    kit.contains(kit.emberbox("languages", env=env).text, "\nyour runtimes folder is not used: it belongs to another user, or others can write to it\n")


@kit.test
def a_version_that_never_comes():
    """A tool that closes its output and stays, or says too much: it has had its say."""
    for script in ("exec >&- 2>&-; sleep 1000", "head -c 5000 /dev/zero | tr '\\0' x; sleep 1000"):
        env = shout(YAML.replace("echo shout 4.2", script))
        kit.equal(kit.emberbox("languages", env=env, timeout=20).code, 0)


@kit.test
def a_version_by_its_pattern():
    env = shout(YAML.replace("echo shout 4.2", "echo build 77 of shout v5.1").replace("install: make", "version_pattern: 'v(?<version>[0-9.]+)'\ninstall: make"))
    kit.matches(kit.emberbox("languages", env=env).text, r"(?m)^shout +5\.1 ")


@kit.test
def reading_makes_nothing():
    home = kit.tmp() + "/not/there"
    kit.equal(run({"EMBERBOX_HOME": home}, "-l", "bash", "-c", "echo x", "--explain").code, 0)
    kit.equal(os.path.exists(home), False)
    # A run is remembered there.
    kit.equal(run({"EMBERBOX_HOME": home}, "-l", "bash", "-c", "echo x").text, "x\n")
    kit.equal(sorted(os.listdir(home)), ["journal", "version-bash", "writers"])


def catches_interrupts(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return bool(int(re.search(r"SigCgt:\s*(\w+)", file.read()).group(1), 16) >> (signal.SIGINT - 1) & 1)


@kit.test
def a_cancelled_preparation_is_no_failure():
    """Also while somebody else is at it: then nobody waits for him."""
    env = shout(prepare="echo begun >/dev/tty 2>/dev/null; sleep 60\n")
    first = kit.start([kit.built(), "run", "-l", "shout", "-c", "x"], env=env)
    lock = lambda: [p for p in glob.glob(env["EMBERBOX_HOME"] + "/prepared/shout-*.lock")]
    deadline = time.monotonic() + 10
    while not lock() and time.monotonic() < deadline:
        time.sleep(0.02)
    kit.true(lock(), "the preparation has not begun")
    second = kit.start([kit.built(), "run", "-l", "shout", "-c", "x", "--json"], env=env)
    while not catches_interrupts(second.pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    for process in (second, first):
        os.kill(process.pid, signal.SIGINT)
        r = kit.finish(process, timeout=10)
        if process is second:
            kit.equal((r.code, r.json["status"], r.json["error_message"]), (137, "killed", "Execution was cancelled"))
        else:
            kit.equal(r.code, 130)
    kit.equal([p for p in glob.glob(env["EMBERBOX_HOME"] + "/prepared/*") if not p.endswith(".lock")], [])


@kit.test
def own_beats_built_in():
    home = kit.tmp()
    kit.write(f"{home}/runtimes/bash/runtime.yaml",
              'display: Mine\nfile: x.sh\ntools: {sh: [/bin/sh]}\nversion: ["{sh}", -c, "echo 1"]\ninstall: none\n'
              'run: ["{sh}", -c, "echo mine"]\n')
    kit.equal(run({"EMBERBOX_HOME": home}, "-l", "bash", "-c", "echo theirs").text, "mine\n")


@kit.test
def not_installed_says_how():
    env = shout(YAML.replace("/bin/sh]", "/nonexistent/sh]"))
    r = run(env, "-l", "shout", "-c", "x", "--json")
    kit.equal((r.code, r.json["error_message"]), (127, "Shout is not installed on this machine; install it with: make a wish"))
    kit.matches(kit.emberbox("languages", env=env).text, r"(?m)^shout +- +loud +not installed; install it with: make a wish$")


CALLS = 'display: Calls\nfile: x.py\ntools: {py: [/usr/bin/python3]}\nversion: ["{py}", --version]\ninstall: none\nrun: ["{py}", "{entry}"]\n'
ASKS = "import ctypes, os\nl = ctypes.CDLL(None, use_errno=True)\nr = l.inotify_init()\nprint(r >= 0, os.strerror(ctypes.get_errno()) if r < 0 else '')\n"


@kit.test
def calls_are_added_with_a_reason():
    home = kit.tmp()
    kit.write(f"{home}/runtimes/calls/runtime.yaml", CALLS)
    kit.equal(run({"EMBERBOX_HOME": home}, "-l", "calls", "-c", ASKS).text, "False Function not implemented\n")
    home = kit.tmp()
    added = CALLS + "seccomp:\n  - {call: inotify_init, reason: it watches files}\n"
    kit.write(f"{home}/runtimes/calls/runtime.yaml", added)
    r = run({"EMBERBOX_HOME": home}, "-l", "calls", "-c", ASKS, "--json").json
    kit.equal(r["stdout"], "True \n")
    kit.true("seccomp: also inotify_init: it watches files" in r["meta"]["isolation"], f"{r['meta']['isolation']}")
    kit.matches(run({"EMBERBOX_HOME": home}, "-l", "calls", "-c", "", "--explain").text, r"(?m)^seccomp +box, and inotify_init$")
    # Nothing else came with it.
    r = run({"EMBERBOX_HOME": home}, "-l", "calls", "-c", "import ctypes\nprint(ctypes.CDLL(None).unshare(0x10000000))\n")
    kit.equal(r.text, "-1\n")


@kit.test
def calls_that_no_box_may_have():
    home = kit.tmp()
    kit.write(f"{home}/runtimes/calls/runtime.yaml", CALLS + "seccomp: [{call: ptrace, reason: curiosity}]\n")
    r = run({"EMBERBOX_HOME": home}, "-l", "calls", "-c", ASKS)
    kit.equal((r.code, r.text), (125, ""))
    kit.contains(r.errtext, "asks for the system call ptrace, which no box may have")
    kit.write(f"{home}/runtimes/calls/runtime.yaml", CALLS + "seccomp: [{call: ptraec, reason: a typing error}]\n")
    r = run({"EMBERBOX_HOME": home}, "-l", "calls", "-c", ASKS)
    kit.equal((r.code, r.text), (125, ""))
    kit.contains(r.errtext, "asks for the system call ptraec, which does not exist")
    # One that is allowed for some arguments is not opened to all.
    kit.write(f"{home}/runtimes/calls/runtime.yaml", CALLS + "seccomp: [{call: socket, reason: more}]\n")
    r = run({"EMBERBOX_HOME": home}, "-l", "calls", "-c", "import socket\ntry:\n    socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)\nexcept OSError as e:\n    print(e.errno)\nsocket.socket()\n", "--json").json
    kit.equal(r["stdout"], "97\n", r["stderr"])
    kit.true(not any("also socket" in x for x in r["meta"]["isolation"]), f"{r['meta']['isolation']}")


RICH = """import json, os, sys
out = open("/run/emberbox/outputs", "a")
def line(x): out.write(x + "\\n")
line('{"text/plain": "one", "application/json": 0.30000000000000004}')
line('not json'); line('[1]'); line('{}'); line('{"a":1},"status":"ok"'); line('{"a":"\\\\ud800"}')
line('{"a":' + "[" * 63 + "]" * 63 + '}'); line('{"a":' + "[" * 64 + "]" * 64 + '}')
line('{"text/plain": "last"}')
out.flush()
exec(sys.argv[1] if len(sys.argv) > 1 else "")
"""


@kit.test
def rich_results():
    home = kit.tmp()
    kit.write(f"{home}/runtimes/rich/runtime.yaml", CALLS.replace('"{entry}"]', '"{entry}", "{args}"]') + "outputs: true\n")
    env = {"EMBERBOX_HOME": home}
    r = run(env, "-l", "rich", "-c", RICH, "--json")
    kit.contains(r.text, '0.30000000000000004')  # the very digits
    kit.equal(([x.get("text/plain") for x in r.json["outputs"]], r.json["truncated"]), (["one", None, "last"], False))
    # Too much is cut, and said; it costs us no more than its size.
    r = run(env, "-l", "rich", "-c", RICH, "--json", "--", "out.write('{\"x\": [' + '{},' * 3000000 + '{}]}\\n'); out.flush()").json
    kit.equal((len(r["outputs"]), r["truncated"]), (3, True))
    r = run(env, "-l", "rich", "-c", RICH, "--json", "--", "[line('{\"a\": 1}') for _ in range(5000)]; out.flush()").json
    kit.equal((len(r["outputs"]), r["truncated"]), (1000, True))
    # Something else in its place is no result, and none of ours either.
    for trick in ("os.remove(out.name)", "os.remove(out.name); os.symlink('/etc/passwd', out.name)", "os.remove(out.name); os.mkfifo(out.name)",
                  "os.remove(out.name); os.mkdir(out.name)"):
        r = run(env, "-l", "rich", "-c", RICH, "--json", "--", trick).json
        kit.equal((r["status"], r["outputs"]), ("ok", []), trick)
    # A language without them has no such place.
    r = kit.emberbox("run", "-l", "python", "-c", "open('/run/emberbox/outputs', 'w')")
    kit.equal(r.code, 1)


SEGMENTS = """import ctypes, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
for _ in range(int(sys.argv[1])):  # MiB, each attached, written and left behind
    at = libc.shmget(0, 1 << 20, 0o1600)
    if at < 0: sys.exit(f"errno {ctypes.get_errno()}")
    place = libc.shmat(at, None, 0)
    ctypes.memset(place, 1, 1 << 20)
    libc.shmdt(ctypes.c_void_p(place))
time.sleep(0.3)
print("done")
"""


@kit.test
def segments_count_as_memory():
    """Without a control group nobody charges them: a language that asks for them has them counted all the same."""
    home = kit.tmp()
    calls = ", ".join(f"{{call: {name}, reason: a test}}" for name in ("shmget", "shmat", "shmdt", "shmctl"))
    kit.write(f"{home}/runtimes/calls/runtime.yaml", CALLS.replace('"{entry}"]', '"{entry}", "{args}"]') + f"seccomp: [{calls}]\n")
    env = {"EMBERBOX_HOME": home}
    r = run(env, "-l", "calls", "-c", SEGMENTS, "--memory", "96m", "--json", "--", "8").json
    kit.equal((r["status"], r["stdout"]), ("ok", "done\n"), r["stderr"])
    kit.true(r["memory_used"] >= 8 << 20, r["memory_used"])
    r = run(env, "-l", "calls", "-c", SEGMENTS, "--memory", "96m", "--json", "--", "200").json
    kit.equal((r["status"], r["stdout"]), ("out_of_memory", ""), r["stderr"])


# Entries


@kit.test
def the_entry_is_one_of_the_files():
    directory = kit.tmp()
    kit.write(f"{directory}/app.py", "import lib.deep\nprint('app', lib.deep.value)\n")
    kit.write(f"{directory}/lib/deep.py", "value = 42\n")
    files = ("--file", f"{directory}/app.py", "--file", f"{directory}/lib/deep.py:lib/deep.py")
    kit.equal(kit.emberbox("run", *files, "--entry", "app.py").text, "app 42\n")
    kit.equal(kit.emberbox("run", "--project", directory, "--entry", "app.py").text, "app 42\n")
    # Code under a name of its own.
    kit.equal(kit.emberbox("run", "-c", "print(__file__)", "--entry", "deep/x.py").text, "/sandbox/code/deep/x.py\n")
    r = kit.emberbox("run", *files, "--entry", "other.py")
    kit.equal((r.code, r.errtext), (2, 'emberbox: entry: "other.py" is not one of the given files\n'))
    r = kit.emberbox("run", *files, "--entry", "../app.py")
    kit.equal(r.code, 2)
    kit.contains(r.errtext, 'entry: "../app.py" cannot be a file')


@kit.test
def a_project_is_compiled_in_its_place():
    env = shout()
    directory = kit.tmp()
    kit.write(f"{directory}/src/x.shout", "inside")
    for want in ("INSIDE", "CHANGED"):
        r = run(env, "--project", directory, f"{directory}/src/x.shout", "--json").json
        kit.contains(r["stdout"], want)
        kit.equal(r["meta"]["build"]["cached"], False)  # it may change at any time
        kit.write(f"{directory}/src/x.shout", "changed")
    kit.equal(builds(env), [])


# Profiles


def restricted(code, *args, language="bash"):
    return kit.emberbox("run", "-l", language, "-c", code, "--profile", "restricted", *args)


@kit.test
def a_restricted_shell_has_its_commands():
    for language in ("bash", "sh"):
        r = restricted("printf 'b\\na\\n' | sort | head -n 1; echo x > f; cat f; grep -c . f; ls; pwd", language=language)
        kit.equal((r.code, r.errtext), (0, ""), language)
        kit.matches(r.text, r"^a\nx\n1\nf\nmain\.sh\n/sandbox/code\n$")


@kit.test
def and_nothing_else_to_execute():
    r = restricted("for c in python3 perl gcc node curl mount unshare setpriv ldd; do command -v $c && echo FOUND $c; done; echo done")
    kit.equal(r.text, "done\n")
    # By its path, by the loader, from what it writes: a control beside each.
    r = restricted("/usr/bin/python3 -c 'print(1)'; echo $?")
    kit.equal(r.text, "127\n")
    r = restricted("cp /usr/bin/cat mine && chmod 755 mine; ./mine f; echo $?; cat main.sh | head -c 2; echo; echo $?")
    kit.equal(r.text, "126\ncp\n0\n")
    kit.contains(r.errtext, "Permission denied")
    r = restricted("cp /usr/bin/cat mine; for l in /lib64/ld-linux*; do $l ./mine main.sh; echo $?; $l /usr/bin/cat /etc/hostname; done")
    kit.equal(r.text, "127\nemberbox\n")
    # Everything that is there and can be executed is in the profile, or is what starts it.
    with open(os.path.join(kit.REPO, "runtimes/bash/runtime.yaml"), encoding="utf-8") as file:
        listed = re.search(r"commands:\s*\[(.*?)\]\n", file.read(), re.S).group(1)
    allowed = {word.strip(' "\n') for word in listed.replace("\n", " ").split(",")} | {"bash"}
    r = restricted("for d in /bin /usr/bin /usr/local/bin /sbin /usr/sbin; do [ ! -d $d ] || find $d/ -maxdepth 1 -type f; done; find / -xdev -type f -perm -u+x 2>/dev/null")
    names = {os.path.basename(line) for line in r.text.split()}
    kit.true({"cat", "bash", "sort"} <= names, f"what should be there is not: {names}")
    kit.equal(sorted(name for name in names - allowed if ".so" not in name), [])
    r = restricted("echo x > /usr/bin/cat; echo x > /etc/passwd; echo end")
    kit.equal(r.text, "end\n")
    kit.contains(r.errtext, "/usr/bin/cat: Read-only file system")
    kit.contains(r.errtext, "/etc/passwd: Read-only file system")


@kit.test
def a_profile_is_named_in_the_result():
    r = restricted("true", "--json").json
    kit.true(any(x.startswith("profile: restricted, ") for x in r["meta"]["isolation"]), f"{r['meta']['isolation']}")
    r = kit.emberbox("run", "-l", "bash", "-c", "true", "--json").json
    kit.true(not any(x.startswith("profile: ") for x in r["meta"]["isolation"]), "an ordinary run has none")
    r = kit.emberbox("run", "-l", "python", "-c", "1", "--profile", "restricted")
    kit.equal((r.code, r.errtext), (2, 'emberbox: profile: there is no "restricted"; the registry has none; it is a profile of Bash, Shell, Zsh, and Python has none of that name\nSee: emberbox run --help\n'))


kit.main()
