#!/usr/bin/python3
# tests/run: args=--as root | --as user
# tests/run: builds=release asan
# tests/run: asan=--as root
# tests/run: timeout=240
"""`emberbox session`: each verb, how sessions are called, and what is said when it cannot be meant."""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
import web
from service import Service
from web import Web

kit.uses_service = True
ID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")


class Shell:
    """`emberbox session` beside a service of its own."""

    def __init__(self, **options):
        self.service = Service(**options)
        self.env = {"EMBERBOX_HOME": self.service.home}

    def __call__(self, *args, code=0, **options):
        r = kit.emberbox("session", *args, env=self.env, **options)
        kit.equal(r.code, code, f"session {args}: {r}")
        return r

    def start(self, *args):
        text = self("start", *args).text
        kit.true(ID.fullmatch(text.rstrip("\n")), repr(text))
        return text.strip()


@kit.test(timeout=90)
def a_session_from_its_start_to_its_end():
    sh = Shell()
    kit.equal(sh("list").text, "no session is running; start one: emberbox session start python\n")
    kit.equal(sh("list", "--json").json, {"sessions": []})
    one = sh.start("python", "--memory", "300m")
    kit.equal(sh("exec", one, "-c", "x = 41").out, b"")
    kit.equal(sh("exec", one, "-c", "x + 1").out, b"42\n")
    kit.equal(sh("exec", one, "-", stdin=b"print(x)").out, b"41\n")
    kit.equal(sh("exec", one, "--json", "-c", "x").json["session"]["cells"], 4)
    row = sh("list").text.splitlines()[1]
    kit.matches(row, rf"^{one}  python +idle +4 +\d+\.\d [KM]iB +\d+ s  uid \d+")
    shown = sh("show", one).text
    kit.matches(shown, rf"(?m)^session    {one}$")
    kit.matches(shown, r"(?m)^memory +300 MiB$")
    object = sh("show", one, "--json").json
    web.conforms(object, web._pointer("components", "schemas", "Session"), "show --json")
    kit.equal(sh("restart", one).out, b"")
    r = sh("exec", one, "-c", "x", code=1)
    kit.contains(r.errtext, "NameError: name 'x' is not defined")
    kit.equal(sh("stop", one, "--json").json, {"sessions": [{"id": one, "status": "ended"}]})
    kit.equal(sh("list").text, "no session is running; start one: emberbox session start python\n")
    kit.matches(sh("list", "--all").text, rf"{one}  python +ended .*it was ended\n\Z")
    kit.equal([each["id"] for each in sh("list", "-a", "--json").json["sessions"]], [one])
    # As others call them. One who takes rm for remove loses no session by it.
    two = sh.start("python", "--timeout", "1m", "--ttl", "2h", "--name", "two")
    listed = [[(each["id"], each["name"], each["status"]) for each in sh(word, "--json").json["sessions"]] for word in ("ls", "list")]
    kit.equal(listed, [[(two, "two", "idle")]] * 2)
    kit.equal(sh("show", two, "--json").json["limits"]["timeout"], 60)
    r = sh("rm", "two", "x.txt", code=2)
    kit.equal(r.errtext.splitlines()[-1],
              "emberbox: rm has stopped no session; to remove a file of a session: emberbox session remove ID PATH")
    kit.equal([each["id"] for each in sh("ls", "--json").json["sessions"]], [two])
    kit.equal(sh("rm", "two", "--json").json, {"sessions": [{"id": two, "status": "ended"}]})
    kit.equal(sh("ls", "--json").json, {"sessions": []})


@kit.test(timeout=90)
def an_error_is_told_once():
    sh = Shell()
    for language, code, line in (("python", "1/0", "ZeroDivisionError: division by zero"),
                                 ("python", "def f(", "SyntaxError: '(' was never closed"),
                                 ("javascript", "null.x", "TypeError: Cannot read properties of null (reading 'x')"),
                                 ("ruby", "raise 'no'", "no (RuntimeError)"),
                                 ("sqlite", "select * from absent;", "no such table: absent")):
        session = sh.start(language)
        r = sh("exec", session, "-c", code, code=1)
        kit.equal(r.errtext.count(line), 1, f"{language}: {r.errtext!r}")
        sh("stop", session)


@kit.test(timeout=60)
def called_by_id_beginning_or_name():
    sh = Shell()
    work, other = sh.start("bash", "--name", "work"), sh.start("bash", "--name", "other")
    sh("exec", "work", "-c", "x=1")
    same = len(os.path.commonprefix([work, other]))
    kit.equal(sh("exec", work[:same + 1], "-c", "echo $x").out, b"1\n")
    kit.equal(sh("exec", other[:same + 1], "-c", "echo $x").out, b"\n")
    for given in ("work", work[:same + 1], work[-6:], work):
        kit.equal(kit.emberbox("run", "--session", given, "-c", "echo $x", env=sh.env).out, b"1\n", given)
        kit.equal(kit.emberbox("repl", "--session", given, env=sh.env, stdin=b"echo $x").out, b"1\n", given)
    r = kit.emberbox("run", "--session", "nobody", "-c", "1", "--json", env=sh.env)
    kit.equal((r.code, r.json["status"], r.json["error_message"]),
              (2, "error", 'there is no session "nobody"; `emberbox session list` names them'))
    for args in (["show"], ["exec"]):
        r = sh(*args, work[:same], code=2)
        kit.equal(r.errtext, f'emberbox: several sessions have the name "{work[:same]}", or an id that begins or ends with it; `emberbox session list` names them\n')
    kit.equal(sh("show", "nobody", code=2).errtext, 'emberbox: there is no session "nobody"; `emberbox session list` names them\n')
    # Two of a caller's that live are not called the same.
    r = sh("start", "bash", "--name", "work", code=2)
    kit.equal((r.text, r.errtext), ("", f'emberbox: name: the session {work} is called "work" already; end it first, or choose another name\n'))
    sh("restart", work)
    # What lives is meant before what has ended, and several are ended at once.
    sh("stop", "work")
    again = sh.start("bash", "--name", "work")
    kit.matches(sh("show", "work").text, again)
    r = sh("stop", "nobody", "work", "other", code=2)
    kit.equal([each["status"] for each in sh("list", "--all", "--json").json["sessions"]], ["ended"] * 3, repr(r))


@kit.test(timeout=60)
def files_go_in_and_out():
    sh = Shell()
    sh.start("python", "--name", "f")
    here = kit.tmp()
    kit.write(os.path.join(here, "data.bin"), bytes(range(256)))
    kit.equal(sh("files", "f").errtext, "emberbox: no files in /sandbox/code\n")
    sh("put", "f", os.path.join(here, "data.bin"))
    sh("put", "f", "-", "/sandbox/data/typed", stdin=b"typed")
    kit.equal(sh("exec", "f", "-c", "open('data.bin', 'rb').read() == bytes(range(256)), open('/sandbox/data/typed').read()").out,
              b"(True, 'typed')\n")
    kit.equal(sh("files", "f").text, "NAME       SIZE\ndata.bin  256 B\n")
    kit.equal([each["name"] for each in sh("files", "f", "/sandbox/data", "--json").json["entries"]], ["typed"])
    sh("exec", "f", "-c", "open('/sandbox/output/made', 'wb').write(b'a\\0b')")
    kit.equal(sh("get", "f", "made", "-").out, b"a\0b")
    sh("get", "f", "made", cwd=here)
    with open(os.path.join(here, "made"), "rb") as file:
        kit.equal(file.read(), b"a\0b")
    sh("remove", "f", "data.bin")
    kit.equal(sh("files", "f", "--json").json["entries"], [])
    kit.contains(sh("get", "f", "none", code=125).errtext, "none")
    kit.equal(sh("put", "f", "-", code=2).errtext.splitlines()[0],
              "emberbox: put: standard input has no name; give the PATH in the session as well")
    kit.contains(sh("put", "f", here, code=2).errtext, here)


@kit.test(timeout=60)
def a_cell_is_interrupted():
    sh = Shell()
    session = sh.start("python")
    kit.equal(sh("interrupt", session).errtext, "emberbox: no cell is running in the session\n")
    cell = kit.start([kit.built(), "session", "exec", session, "-c", "x = 7\nwhile True: pass"], env=sh.env,
                     stdin=-3, stdout=-1, stderr=-1)
    kit.eventually(lambda: sh("show", session, "--json").json["status"] == "busy", "no cell runs")
    kit.eventually(lambda: sh("interrupt", session, "--json").json["interrupted"], "it was not interrupted")
    r = kit.finish(cell)
    kit.equal(r.code, 130, repr(r))
    kit.contains(r.errtext, "KeyboardInterrupt")
    kit.equal(sh("exec", session, "-c", "x").out, b"7\n")


@kit.test(timeout=60)
def sessions_of_others_are_seen_and_not_used():
    sh = Shell(listen=True)
    theirs = Web(sh.service).post("/v1/sessions", {"language": "python"}).json["id"]
    kit.matches(sh("list").text, rf"{theirs} .* default")
    # Another caller may use a name, over HTTP as well once.
    named = [Web(sh.service).post("/v1/sessions", {"language": "bash", "name": "work"}) for _ in range(2)]
    kit.equal([each.status for each in named], [201, 400])
    kit.contains(named[1].json["error"]["message"], f'name: the session {named[0].json["id"]} is called "work" already')
    sh("start", "bash", "--name", "work")
    r = sh("exec", theirs, "-c", "1", code=126)
    kit.contains(r.errtext, 'it belongs to the caller "default"')
    sh("stop", "--all")
    kit.equal(Web(sh.service).get(f"/v1/sessions/{theirs}").json["status"], "ended")


@kit.test
def without_a_service():
    env = {"EMBERBOX_HOME": kit.tmp()}
    for args in (["list"], ["start", "python"], ["exec", "x", "-c", "1"], ["stop", "x"]):
        r = kit.emberbox("session", *args, env=env)
        kit.equal((r.code, r.out), (125, b""))
        kit.equal(r.errtext, f'emberbox: no service is running at "{env["EMBERBOX_HOME"]}/emberbox.sock", '
                  "which sessions need; start it with: emberbox serve\n")


@kit.test
def what_cannot_be_meant():
    for args, sentence in (
        ([], "the action is missing: list, start, "),
        (["lst"], "; did you mean list?"),
        (["start"], "emberbox: LANG is missing: emberbox session start LANG\n"),
        (["show", "a", "b"], 'unexpected argument "b": emberbox session show ID\n'),
        (["get", "a"], "emberbox: PATH is missing: emberbox session get ID PATH [FILE]\n"),
        (["files"], "emberbox: ID is missing: emberbox session files ID [DIR]\n"),
        (["exec"], "exec: the session's id comes first: "),
        (["exec", "-c", "1"], "exec: the session's id comes first: "),
        (["list", "--memory", "1g"], "list takes no limits and settings; `emberbox session start` does"),
        (["get", "a", "b", "--json"], "get has no --json"),
        (["show", "a", "--all"], "show has no --all"),
        (["start", "python", "--ttl", "long"], '--ttl: expected a time such as 600, 30m or 2h, not "long"'),
        (["list", "--jsn"], "unknown option --jsn; did you mean --json?"),
    ):
        r = kit.emberbox("session", *args, env={"EMBERBOX_HOME": kit.tmp()})
        kit.equal((r.code, r.out), (2, b""), args)
        kit.contains(r.errtext, sentence, args)
        kit.contains(r.errtext, "See: emberbox session --help\n")
    # Of a language nothing is asked of the service but what is known to be there.
    sh = Shell()
    kit.contains(sh("start", "pyton", code=127).errtext, 'Unknown language "pyton"')
    kit.contains(sh("stop", code=2).errtext, "stop: give ids, or --all for all running sessions")
    kit.contains(sh("stop", "x", "--all", code=2).errtext, "stop: give ids or --all, not both")
    kit.contains(sh("start", "go", code=127).errtext, "no sessions")


kit.main()
