#!/usr/bin/python3
# tests/run: args=--as root | --as user
# tests/run: builds=release asan
# tests/run: asan=--as root
# tests/run: timeout=240
"""read_only: a program cannot change its code and data, and can write everywhere else that it could.

Every denial is EROFS, which only the mount says: Landlock, which denies the same behind it, would say EACCES. Each box
here is cold, and so a filter: there are few.
"""

import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit  # noqa: E402
import service  # noqa: E402

LAYER = "read-only: /sandbox/code, /sandbox/data"

# {place: {what was tried: the errno's name, or "done"}}; in each place there is a file called `given`.
TRY = r"""
import errno, json, os

def tried(action):
    try:
        action()
        return "done"
    except OSError as error:
        return errno.errorcode[error.errno]

def attempts(place):
    given, new = place + "/given", place + "/new"
    return {
        "read": tried(lambda: open(given).read()),
        "write": tried(lambda: os.close(os.open(given, os.O_WRONLY))),
        "truncate": tried(lambda: os.truncate(given, 1)),
        "chmod": tried(lambda: os.chmod(given, 0o600)),
        "times": tried(lambda: os.utime(given)),
        "create": tried(lambda: os.close(os.open(new, os.O_WRONLY | os.O_CREAT))),
        "mkdir": tried(lambda: os.mkdir(new + "-directory")),
        "symlink": tried(lambda: os.symlink("x", new + "-link")),
        "rename": tried(lambda: os.rename(given, place + "/other")),
        "unlink": tried(lambda: os.unlink(place + "/" + ("given" if os.path.exists(given) else "other"))),
    }

print(json.dumps({place: attempts(place) for place in PLACES}))
"""
CLOSED = ("/sandbox/code", "/sandbox/data")
OPEN = ("/sandbox/output", "/sandbox/temp", "/tmp")
DENIED = {**dict.fromkeys(("write", "truncate", "chmod", "times", "create", "mkdir", "symlink", "rename", "unlink"), "EROFS"), "read": "done"}
ALLOWED = dict.fromkeys(DENIED, "done")


def code(places=CLOSED + OPEN):
    return f"PLACES = {places!r}\n{TRY}"


def expected(closed=CLOSED):
    return {place: DENIED if place in closed else ALLOWED for place in CLOSED + OPEN}


def run(*args):
    given = kit.write(f"{kit.tmp()}/given", "content")
    files = [word for place in CLOSED + OPEN for word in ("--file", f"{given}:{place}/given")]
    r = kit.emberbox("run", "-l", "python", "-c", code(), *files, "--json", *args)
    result = json.loads(r.text)
    kit.equal((r.code, result["status"], result["stderr"]), (0, "ok", ""), "the run")
    return result


@kit.test(timeout=60)
def code_and_data_cannot_be_changed():
    result = run("--read-only")
    kit.equal(json.loads(result["stdout"]), expected())
    kit.true(LAYER in result["meta"]["isolation"], f"{result['meta']['isolation']} does not name it")


@kit.test(timeout=60)
def without_it_they_can():
    result = run()
    kit.equal(json.loads(result["stdout"]), expected(closed=()))
    kit.true(LAYER not in result["meta"]["isolation"], "it is named, and not asked for")


@kit.test(timeout=60)
def a_project_cannot_be_changed_either():
    """Nor its copy in the box; and the host's own is as it was, as always."""
    project = kit.tmp()
    kit.write(f"{project}/given", "content")
    kit.write(f"{project}/main.py", code(("/sandbox/code", "/sandbox/temp")))
    kit.write(f"{project}/sub/deep", "x")
    r = kit.emberbox("run", f"{project}/main.py", "--project", project, "--read-only", "--file", f"{project}/given:/sandbox/temp/given")
    kit.equal((r.code, r.errtext), (0, ""))
    kit.equal(json.loads(r.text), {"/sandbox/code": DENIED, "/sandbox/temp": ALLOWED})
    with open(f"{project}/given") as file:
        kit.equal(file.read(), "content")
    r = kit.emberbox("run", "-l", "bash", "--project", project, "--read-only", "-c", "echo y > sub/deep || cat sub/deep")
    kit.equal((r.code, r.text), (0, "x"), r.errtext)
    kit.contains(r.errtext, "sub/deep: Read-only file system")


@kit.test(timeout=60)
def what_a_program_leaves_is_taken_all_the_same():
    output = f"{kit.tmp()}/out"
    r = kit.emberbox("run", "-l", "bash", "--read-only", "--output", output, "-c", "echo made > /sandbox/output/x; ! echo made > x")
    kit.equal(r.code, 0, r.errtext)
    with open(f"{output}/x") as file:
        kit.equal(file.read(), "made\n")


@kit.test(timeout=60)
def the_mounts_stay_where_they_are():
    """What they cover would be writable, but for Landlock."""
    probe = "import os, errno\nfor a, b in (('/sandbox/code', '/sandbox/temp/x'), ('/sandbox/temp', '/sandbox/code')):\n" \
            " try: os.rename(a, b); print('moved')\n except OSError as e: print(errno.errorcode[e.errno])\n"
    r = kit.emberbox("run", "-l", "python", "--read-only", "-c", probe)
    kit.equal((r.code, r.errtext), (0, ""))
    kit.equal(r.text, "EACCES\n" * 2)


@kit.test(timeout=60)
def a_compiled_program_is_compiled_as_ever():
    """The compiler works beside the sources; only the program may not."""
    source = '#include <errno.h>\n#include <fcntl.h>\n#include <stdio.h>\n#include <string.h>\n' \
             'int main(void) { int a = open("new", O_CREAT | O_WRONLY, 0600); printf("%s\\n", a < 0 ? strerrorname_np(errno) : "made");\n' \
             ' int b = open("/tmp/new", O_CREAT | O_WRONLY, 0600); printf("%s\\n", b < 0 ? strerrorname_np(errno) : "made"); }\n'
    r = kit.emberbox("run", "-l", "c", "--read-only", "-c", "#define _GNU_SOURCE\n" + source)
    if r.code == 127:
        kit.skip("no C compiler here")
    kit.equal((r.code, r.text), (0, "EROFS\nmade\n"), r.errtext)


@kit.test(timeout=120)
def a_service_runs_it_cold():
    """A box that was made ahead cannot serve it; the next plain run is warm again."""
    files = {f"{place}/given": "content" for place in CLOSED + OPEN}
    with service.Service("--embers", "2").connect(60) as client:
        def ask(**more):
            frames, result = client.request({"language": "python", "code": code(), "files": files, **more})
            kit.equal(frames[-1][0], "J", f"refused: {result}")
            kit.equal((result["status"], result["stderr"]), ("ok", ""))
            return result

        until = time.monotonic() + 30
        while (plain := ask())["meta"]["start"] != "warm":
            kit.true(time.monotonic() < until, "no run is warm")
            time.sleep(0.2)
        kit.equal(json.loads(plain["stdout"]), expected(closed=()), "warm, without it")
        closed = ask(read_only=True)
        kit.equal(closed["meta"]["start"], "cold")
        kit.equal(json.loads(closed["stdout"]), expected(), "through the service")
        kit.true(LAYER in closed["meta"]["isolation"], f"{closed['meta']['isolation']} does not name it")
        again = ask(read_only=False)
        kit.equal((again["meta"]["start"], json.loads(again["stdout"])), ("warm", expected(closed=())))
        kit.true(LAYER not in again["meta"]["isolation"], "it is named, and not asked for")


kit.main()
