#!/usr/bin/python3
"""emberbox repl: at real terminals (tmux, and ptys of our own), and in pipes."""
# tests/run: args=--as user
# tests/run: nightly=--as root
# tests/run: timeout=300

import base64
import json
import os
import re
import signal
import struct
import sys
import time
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from repl import PATIENCE, Pty, Tmux, environment
from service import Service

kit.uses_service = True


def png(width=8, height=8):
    """A red picture, made by hand."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"\xff\0\0" * width for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


PICTURE = (
    "import base64\n"
    "class Picture:\n"
    f"    def _repr_png_(self): return base64.b64decode('{base64.b64encode(png()).decode()}')\n"
    "\n"
)


def piped(text, *args, home=None, code=0, **env):
    result = kit.emberbox("repl", *args, stdin=text.encode(), env=environment(home or kit.tmp(), **env))
    if code is not None:
        kit.equal(result.code, code, f"{result.text} {result.errtext}")
    return result


# Pipes


@kit.test
def a_pipe_is_run_cell_by_cell():
    result = piped("x = 20\ndef double(n):\n    return n * 2\n\ndouble(x)\nprint('hi')\n{'a': [1, None]}\nx += 1\nx\n", "python")
    kit.equal(result.text, "40\nhi\n{'a': [1, None]}\n21\n")
    kit.equal(result.errtext, "")


@kit.test
def the_last_status_counts():
    result = piped("1/0\n", "python", code=1)
    kit.contains(result.errtext, "ZeroDivisionError: division by zero\n")
    result = piped("1/0\nprint('still here')\n", "python")
    kit.equal(result.text, "still here\n")
    kit.contains(result.errtext, "ZeroDivisionError")
    # Who leaves by himself says with what.
    result = piped("import sys\nsys.exit(3)\nprint('not here')\n", "python", code=3)
    kit.equal(result.text, "")
    kit.equal(piped("", "python").text, "")


@kit.test
def a_time_limit_keeps_the_session():
    result = piped("x = 1\nimport time; time.sleep(60)\nx\n", "python", "--timeout", "1")
    kit.equal(result.text, "1\n")
    kit.contains(result.errtext, "emberbox: Code execution timed out after 1s\n")
    kit.equal(piped("while True: pass\n", "python", "--timeout", "1", code=124).text, "")


@kit.test
def a_session_that_is_lost_is_told():
    result = piped("import os\nos.kill(os.getpid(), 9)\nprint('not here')\n", "python", code=137)
    kit.equal(result.text, "")
    kit.contains(result.errtext, "The session's state is lost")


@kit.test
def what_cannot_be_meant():
    for args, code, sentence in [
        ((), 2, "emberbox: name a language, as in: emberbox repl python\nSee: emberbox repl --help\n"),
        (("python", "--memroy", "1g"), 2, "emberbox: unknown option --memroy; did you mean --memory?\nSee: emberbox repl --help\n"),
        (("python", "ruby"), 2, "emberbox: unexpected argument \"ruby\"\nSee: emberbox repl --help\n"),
        (("python", "--ttl", "soon"), 2, "emberbox: --ttl: expected a time such as 600, 30m or 2h, not \"soon\"\nSee: emberbox repl --help\n"),
    ]:
        result = piped("", *args, code=code)
        kit.equal(result.errtext, sentence)
    kit.contains(piped("", "klingon", code=127).errtext, 'emberbox: Unknown language "klingon"')
    kit.contains(piped("", "python", "--memory", "lots", code=2).errtext, 'memory: "lots" is not a size')
    kit.contains(piped("", "python", "--load", "/nonexistent", code=2).errtext, "/nonexistent")
    kit.contains(piped("", "python", "--project", "/nonexistent", code=2).errtext, "--project: cannot open \"/nonexistent\"")
    kit.contains(piped("", "--session", "X", "--memory", "1g", code=2).errtext, "--session joins a session with the limits")
    kit.matches(piped("", "--session", "X", code=125).errtext, "emberbox: no service is running at .*, so there is no session\n")
    kit.contains(piped("", "python", "--keep", code=2).errtext, "--keep: no service is running")


@kit.test
def commands_in_a_pipe():
    result = piped(":help\n:nonsense\n", "python", code=2)
    kit.contains(result.text, ":save FILE")
    kit.contains(result.errtext, "Unknown command :nonsense")
    result = piped("x = 1\n:reset\nx\n", "python", code=1)
    kit.contains(result.errtext, "A new session has begun")
    kit.contains(result.errtext, "NameError: name 'x' is not defined")
    kit.contains(piped(":inspect str.join\n", "python").text, "Concatenate any number of strings")
    kit.contains(piped("?len\n", "python").text, "Return the number of items in a container")
    kit.contains(piped(":inspect nonsuch\n", "python").errtext, '"nonsuch" is unknown.')
    kit.contains(piped(":limits\n", "python", "--memory", "300m").text, "memory                   300 MiB")
    kit.contains(piped(":save\n", "python", code=2).errtext, "Usage: :save FILE")
    kit.contains(piped(":reload\n", "python", code=2).errtext, "There is no project")


@kit.test
def a_project_is_there_and_edits_come():
    home, project = kit.tmp(), kit.tmp()
    os.mkdir(os.path.join(project, "inner"))
    os.mkdir(os.path.join(project, ".git"))
    kit.write(os.path.join(project, "shape.py"), "def sides(): return 3\n", 0o644)
    kit.write(os.path.join(project, "inner", "data.txt"), "seven", 0o644)
    kit.write(os.path.join(project, ".git", "config"), "secret", 0o644)
    os.symlink("/etc/hostname", os.path.join(project, "way_out"))
    Service(home=home)
    with Tmux("python", "--project", project, home=home) as repl:
        repl.prompt(1)
        repl.type("import os, shape; shape.sides(), open('inner/data.txt').read()")
        repl.until(r"^\(3, 'seven'\)$")
        repl.type("sorted(os.listdir('.'))")
        kit.true("'.git'" not in (seen := repl.until(r"^\[.*'shape.py'.*\]$").group()) and "way_out" not in seen, seen)
        repl.prompt(3)
        # What changes in the session stays there, what changes on the host comes when it is asked for.
        repl.type("open('mine.txt', 'w').write('x')")
        repl.prompt(4)
        kit.write(os.path.join(project, "shape.py"), "def sides(): return 4\n", 0o644)
        kit.write(os.path.join(project, "later.py"), "answer = 42\n", 0o644)
        repl.type("shape.sides()")
        repl.until(r"^3$")
        repl.prompt(5)
        repl.type(":reload")
        repl.until(r"^2 files changed\.$")
        repl.type("import later; shape.sides(), later.answer")
        repl.until(r"^\(4, 42\)$")
        kit.true(not os.path.exists(os.path.join(project, "mine.txt")), "the session wrote to the host")
        # A new session has it again.
        repl.type(":reset")
        repl.until("A new session has begun")
        repl.type("import shape; 10 + shape.sides()")
        repl.until(r"^14$")
    kit.contains(piped("", "python", "--project", os.path.join(project, "shape.py"), code=2).errtext, "Not a directory")


@kit.test
def cells_are_saved_and_replayed():
    directory = kit.tmp()
    saved = os.path.join(directory, "saved.py")
    piped(f"x = 6\ndef f(n):\n    return n * 7\n\n1/0\nimport time; time.sleep(60)\nf(x)\n:save {saved}\n", "python", "--timeout", "1")
    with open(saved, encoding="utf-8") as file:
        text = file.read()
    kit.matches(text, r"\A# emberbox session: python \S+, saved \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n")
    kit.contains(text, "\n# %% 1 ok\nx = 6\n\n# %% 2 ok\ndef f(n):\n    return n * 7\n\n# %% 3 failed\n1/0\n\n# %% 4 timeout\n")
    # It is a program as it stands, but for what failed in it.
    result = piped("f(2)\n", "python", "--load", saved)
    kit.equal(result.text, "42\n14\n")
    kit.contains(result.errtext, "cell 3 failed, as before it was saved\n")
    kit.contains(result.errtext, 'cell 4 was not replayed: its status was "timeout" when it was saved\n')
    kit.contains(result.errtext, "4 of 5 cells replayed, 0 failed, 1 not replayed.\n")
    # Edited by hand, so that something is missing.
    kit.write(saved, text.replace("x = 6\n", "y = 6\n"))
    result = piped("", "python", "--load", saved, code=1)
    kit.contains(result.errtext, "NameError: name 'x' is not defined")
    kit.contains(result.errtext, "cell 5 failed\n3 of 5 cells replayed, 1 failed, 1 not replayed.\n")


@kit.test
def files_of_the_session():
    here = os.path.join(kit.tmp(), "got.txt")
    result = piped(
        "import os; os.makedirs('sub'); n = open('here.txt', 'w').write('x' * 2048)\n"
        "n = open('/sandbox/output/ab.txt', 'w').write('hello')\n"
        f":files\n:files /sandbox/output\n:get ab.txt {here}\n:files /sandbox/code/sub\n", "python")
    kit.equal(result.text, "NAME         SIZE\nhere.txt  2.0 KiB\nsub/\nNAME    SIZE\nab.txt   5 B\n")
    kit.contains(result.errtext, f"5 B written to {here}.\n")
    kit.contains(result.errtext, "No files in /sandbox/code/sub.\n")
    with open(here, encoding="utf-8") as file:
        kit.equal(file.read(), "hello")
    # What is not there, and what is not the session's.
    for path in "nonsuch", "/etc/passwd", "/sandbox/../etc/passwd":
        result = piped(f":get {path} {here}.2\n", "python", code=None)
        kit.true(result.code != 0 and "path" in result.errtext, f"{path}: {result.code} {result.errtext}")
        kit.true(not os.path.exists(here + ".2"), path)


# (language, what is typed, what it prints, what it says of the error in the middle)
LANGUAGES = [
    ("javascript", "const a = 1\nconst f = (n) => {\n  return n + a\n}\nf(2)\nnull.x\nawait f(3)\n", "3\n4\n",
     "Uncaught TypeError: Cannot read properties of null (reading 'x')\n    at cell-4:1:6\n"),
    ("typescript", "const a: number = 1\ninterface P {\n  x: number\n}\nconst p: P = { x: 2 }\nthrow new Error('bad')\np.x + a\n",
     "3\n", "Uncaught Error: bad\n    at cell-4:1:7\n"),
    ("bash", "x=5\nif true; then\n  echo $x\nfi\ncd /tmp\nnonsuch\necho $?\nf() {\n  pwd\n}\nf\ncat <<E\nhere\nE\n",
     "5\n127\n/tmp\nhere\n", "/tmp/.cells/cell-4: line 1: nonsuch: command not found\n"),
    ("ruby", "x = 5\ndef f(n)\n  n + 1\nend\nf(x)\nraise 'bad'\n[1, 2].map do |n|\n  f(n)\nend\n", "5\n:f\n6\n[2, 3]\n",
     "cell-4:1:in `<main>': bad (RuntimeError)\n"),
    ("sqlite", "create table t (a int, b text);\ninsert into t\n values (1, 'x;y');\nselect nonsuch;\nselect * from t;\n",
     " a |  b  \n---+-----\n 1 | x;y\n(1 row)\n", "cell-3:1: error: no such column: nonsuch\n  select nonsuch;\n         ^\n"),
    ("postgres", "create table t (a int, b text);\ninsert into t\n values (1, 'x;y');\nselect nonsuch;\nselect a from t;\n",
     "CREATE TABLE\nINSERT 0 1\n a \n---\n 1\n(1 row)\n",
     'cell-3:1: ERROR:  column "nonsuch" does not exist\nLINE 1: select nonsuch;\n               ^\n'),
]


@kit.test(timeout=120)
def every_language_with_sessions():
    for language, typed, printed, told in LANGUAGES:
        result = piped(typed, language)
        kit.equal((result.text, result.errtext), (printed, told), language)
        # The last cell counts.
        kit.true(piped(typed[: typed.index("\n") + 1], language, code=0) is not None, language)
    kit.equal(piped("false\n", "bash", code=1).text, "")
    kit.contains(piped("", "c", code=None).errtext, "session")


@kit.test(timeout=60)
def a_conversation_in_javascript():
    with Tmux("javascript") as repl:
        repl.prompt(1)
        repl.type("const wonderfulName = { k: [1, null] }")
        repl.prompt(2)
        repl.type("wonderfulN", enter=False)
        repl.keys("Tab")
        repl.until(r"^\[2\] >>> wonderfulName\s*\Z")
        repl.type(".k")
        repl.until(r"^\[ 1, null \]$")
        repl.prompt(3)
        repl.type("for (const n of [1, 2]) {")
        repl.until(r"^    \.\.\.\s*\Z")
        repl.type("console.log(`n${n}`)")
        repl.type("}")
        repl.until(r"^n1\nn2$")
        repl.prompt(4)
        repl.type("while (true) {}")
        repl.until(r"^\[4\] >>> while \(true\) {}$\s*\Z")
        repl.keys("C-c")
        repl.prompt(5)
        repl.type("wonderfulName.k.length")
        repl.until(r"^2$")


@kit.test
def a_session_of_the_service():
    service = Service()
    first = kit.emberbox("repl", "python", "--keep", stdin=b"x = 41\n", env=environment(service.home))
    kit.equal(first.code, 0, first.errtext)
    found = re.search(r"The session stays: emberbox repl --session (\w+)\n", first.errtext)
    kit.true(found, first.errtext)
    second = piped("x + 1\n", "--session", found.group(1), home=service.home)
    kit.equal(second.text, "42\n")
    # Joined, and so left alone.
    kit.equal(piped("x\n", "--session", found.group(1), home=service.home).text, "41\n")
    kit.contains(piped("x\n", "--session", "nonsuch", home=service.home, code=2).errtext,
                 'there is no session "nonsuch"; `emberbox session list` names them')
    kit.equal(piped("x\n", "--session", found.group(1)[:-1], home=service.home).text, "41\n")
    # One that nobody keeps is gone when its REPL is.
    piped("x = 1\n", "python", home=service.home)
    listed = kit.command(["/usr/bin/curl", "-s", "--unix-socket", service.path, "http://localhost/v1/sessions"])
    alive = [session["id"] for session in listed.json["sessions"] if session["status"] != "ended"]
    kit.equal(alive, [found.group(1)])


# A service for one REPL


def private(home):
    try:
        return os.listdir(os.path.join(home, "private"))
    except FileNotFoundError:
        return []


def service_of(repl):
    """Its processes, held: whose parent was killed is a zombie for as long as who inherits it likes, and has ended."""
    return kit.Watch(kit.descendants(repl.process.pid))


def ended(service):
    kit.equal(service.survivors(PATIENCE), [], "the service lives on")


@kit.test
def a_private_service_ends_with_its_repl():
    repl = Pty("python")
    repl.until(b">>>")
    service = service_of(repl)
    kit.true(len(service.fds) >= 3, f"no service below the REPL: {service.fds}")
    kit.equal(len(private(repl.home)), 1)
    repl.type(b"\x04")
    kit.equal(repl.code(), 0)
    ended(service)
    kit.equal(private(repl.home), [])


@kit.test
def a_private_service_ends_with_a_repl_that_is_killed():
    repl = Pty("python")
    repl.until(b">>>")
    service = service_of(repl)
    repl.type(b"import time; time.sleep(100)\n")
    repl.until(b"sleep(100)")
    repl.process.kill()
    repl.process.wait(timeout=PATIENCE)
    ended(service)
    # Whoever comes next tidies up.
    piped("1\n", "python", home=repl.home)
    kit.equal(private(repl.home), [])


@kit.test
def two_at_once_are_apart():
    home = kit.tmp()
    one, two = Pty("python", home=home), Pty("python", home=home)
    for repl in one, two:
        repl.until(b">>>")
    kit.equal(len(private(home)), 2)
    one.type("x = 'mine'\r")
    one.until(b"[2]")
    two.type("x\r")
    two.until(b"NameError")
    for repl in one, two:
        repl.type(b"\x04")
        kit.equal(repl.code(), 0)


# Terminals


@kit.test(timeout=60)
def a_conversation():
    with Tmux("python") as repl:
        repl.until(r"^Python 3\.\S+ in a box\. :help lists the commands, Ctrl-D ends\.$")
        repl.prompt(1)
        repl.type('x = {"a": [1, None], "b": "日本"}')
        repl.prompt(2)
        repl.type("x")
        repl.until(r"^{'a': \[1, None\], 'b': '日本'}$")
        repl.prompt(3)
        # A block goes on until an empty line.
        repl.type("def f(n):")
        repl.until(r"^    \.\.\.\s*\Z")
        repl.type("    return n / 0")
        repl.type("")
        repl.prompt(4)
        repl.type("f(1)")
        repl.until(r"^ZeroDivisionError: division by zero$")
        repl.prompt(5)
        # The colours of it all.
        screen = repl.screen(escapes=True)
        kit.contains(screen, "\033[32m'日本'")
        kit.contains(screen, "\033[36m1")
        kit.contains(screen, "\033[35mNone")
        # tmux says only what is another colour than before.
        kit.matches(screen, "\033\\[1m(\033\\[31m)?ZeroDivisionError")
        repl.type("1 +", enter=False)
        repl.keys("C-c")
        repl.until(r"^\[5\] >>> 1 \+\^C$")
        repl.prompt(5)
        repl.keys("C-d")
        repl.until(r"^ENDED 0$")


@kit.test(timeout=60)
def an_interrupt_keeps_the_state():
    with Tmux("python") as repl:
        repl.prompt(1)
        repl.type("x = 5")
        repl.prompt(2)
        repl.type("while True: pass")
        repl.type("")
        repl.until(r"^    \.\.\.\s*\Z")
        kit.true(not re.search(r"^\[3\]", repl.screen(), re.M), "it should run for ever")
        repl.keys("C-c")
        repl.until(r"^\^C$\n^Traceback")
        repl.until(r"^KeyboardInterrupt$")
        repl.prompt(3)
        repl.type("x")
        repl.until(r"^5$")


@kit.test(timeout=60)
def a_program_that_asks_is_answered():
    with Tmux("python") as repl:
        repl.prompt(1)
        repl.type("name = input('who? ')")
        repl.until(r"^who\? \Z|^who\?\s*\Z")
        repl.type("Bob")
        repl.prompt(2)
        repl.type("name * 2")
        repl.until(r"^'BobBob'$")
        # Nothing is left over, and no empty line between.
        kit.contains(repl.screen(), "who? Bob\n[2] >>> name * 2\n'BobBob'\n")


@kit.test(timeout=60)
def what_is_pasted_is_for_the_next_cells():
    with Tmux("python") as repl:
        repl.prompt(1)
        repl.tmux("set-buffer", "import time; time.sleep(1)\nx = 3\nx * 5\n")
        repl.tmux("paste-buffer")
        repl.until(r"^15$")
        repl.prompt(4)


@kit.test(timeout=60)
def tab_completes_from_the_session():
    with Tmux("python") as repl:
        repl.prompt(1)
        repl.type("wonderful_name = {'k': 1}")
        repl.prompt(2)
        repl.type("wonderf", enter=False)
        repl.keys("Tab")
        repl.until(r"^\[2\] >>> wonderful_name\s*\Z")
        repl.type(".ke", enter=False)
        repl.keys("Tab")
        repl.until(r"wonderful_name\.keys")
        repl.keys("C-u")
        repl.type("str.is", enter=False)
        repl.keys("Tab", "Tab")
        repl.until(r"str\.isalnum +str\.\w+")
        repl.until(r"^\[2\] >>> str\.is\s*\Z")
        repl.keys("C-u")
        # At the beginning of a line it indents.
        repl.type("if 1:")
        repl.keys("Tab")
        repl.type("print(6*7)")
        repl.type("")
        repl.until(r"^    \.\.\.     print\(6\*7\)$")
        repl.until(r"^42$")


@kit.test(timeout=60)
def lines_are_edited_and_remembered():
    home = kit.tmp()
    with Tmux("python", home=home, columns=40) as repl:
        repl.prompt(1)
        # Wide characters are one character and two cells.
        repl.type("'日本語'", enter=False)
        repl.keys("Left", "Left", "BSpace")
        repl.type("X")
        repl.until(r"^'日X語'$")
        repl.prompt(2)
        repl.type("def f():")
        repl.type("    return 'long enough to be wrapped in forty columns'")
        repl.type("")
        repl.prompt(3)
        repl.type("f()")
        repl.until(r"^'long enough to be wrapped in forty columns'$")
        repl.prompt(4)
        repl.keys("C-d")
        repl.until(r"^ENDED 0$")
    with Tmux("python", home=home) as repl:
        repl.prompt(1)
        # The whole cell comes back, with all its lines.
        repl.keys("Up", "Up", "Enter")
        repl.keys("Enter")
        repl.prompt(2)
        repl.type("f()[:4]")
        repl.until(r"^'long'$")
        repl.prompt(3)
        repl.keys("C-r")
        repl.type("日", enter=False)
        repl.keys("Enter")
        repl.until(r"^'日X語'$")
    path = os.path.join(home, "repl", "python.history")
    kit.equal(os.stat(path).st_mode & 0o777, 0o600)
    with open(path, encoding="utf-8") as file:
        kit.equal(json.loads(file.readline()), "'日X語'")


@kit.test(timeout=60)
def a_window_that_changes():
    with Tmux("python", columns=60) as repl:
        repl.prompt(1)
        repl.type("'" + "a" * 30, enter=False)
        repl.tmux("resize-window", "-x", "30", "-y", "20")
        repl.type("b" * 10 + "'")
        repl.until(r"^'a{30}b{10}'$")
        repl.prompt(2)
        # Tables fit the new width.
        repl.type("class T:")
        repl.type("    def _repr_json_(s): return {'columns': ['n', 'text'], 'rows': [[1, 'x' * 99], [10, '日本']]}")
        repl.type("")
        repl.prompt(3)
        repl.type("T()")
        repl.until(r"^\(2 rows\)$")
        kit.contains(repl.screen(), "\n n  text\n──  " + "─" * 26 + "\n 1  " + "x" * 25 + "…\n10  日本\n(2 rows)\n")


@kit.test(timeout=60)
def programs_do_not_steer_the_terminal():
    with Tmux("python") as repl:
        repl.prompt(1)
        repl.type(r"print('a\x1b[6n\x1b[c\x1b]0;evil\x07\x1bP$q\"p\x1b\\b')")
        repl.until(r"^ab$")
        # An answer of the terminal's would stand here, as if it were typed.
        repl.prompt(2)
        kit.true("evil" not in repl.tmux("display-message", "-p", "#{pane_title}"), "the title was set")
        # Colours are fine, and end with the cell.
        repl.type(r"print('\x1b[31mred', end='')")
        repl.until(r"^red$")
        repl.prompt(3)
        kit.matches(repl.screen(escapes=True), "\033\\[31mred")
        repl.type("'plain'", enter=False)
        repl.until(r"'plain'\Z|'plain'\s*\Z")
        kit.true(not re.search("\033\\[31m[^\n]*plain", repl.screen(escapes=True)), "the colour goes on")


@kit.test(timeout=60)
def pictures_are_files_where_the_terminal_shows_none():
    with Tmux("python", columns=120) as repl:
        repl.prompt(1)
        for line in PICTURE.splitlines():
            repl.type(line)
        repl.type("")
        repl.until(r"^\[\d\] >>>\s*\Z")
        repl.type("Picture()")
        path = repl.until(r"^\[image/png, \d+ B: (\S+\.png)\]$").group(1)
        repl.until(r"^\[\d\] >>>\s*\Z")
        with open(path, "rb") as file:
            kit.equal(file.read(), png())
        kit.true(path.startswith(repl.env["TMPDIR"] + "/emberbox-repl-"), path)


@kit.test(timeout=60)
def a_session_that_dies_gets_a_successor():
    with Tmux("python") as repl:
        repl.prompt(1)
        repl.type("import os; os.kill(os.getpid(), 9)")
        repl.until(r"^The session's state is lost.*A new session has begun\.$")
        repl.prompt(1)
        repl.type("6 * 7")
        repl.until(r"^42$")
        repl.prompt(2)
        repl.type("exit(3)")
        repl.until(r"^ENDED 3$")


def shown(terminal, answer, **env):
    """What a terminal gets that answers so, when a picture is to be shown; it asks for nothing else."""
    repl = Pty("python", "--quiet", TERM=terminal, **env)
    repl.until(b">>>")
    repl.type(PICTURE.replace("\n", "\r"))
    repl.until(b"[3]")
    repl.until(b">>>")
    repl.type("Picture()\r")
    asked = repl.until(b"\033[c")
    repl.type(answer)
    after = repl.until(b"[4]")
    repl.until(b">>>")
    # What was typed while it was asked is not lost.
    repl.type("'alive'\r")
    repl.until(b"'alive'\033[0m\r\n")
    # While a cell runs, Ctrl-D would be the end of its input.
    repl.until(b">>>")
    repl.type(b"\x04")
    kit.equal(repl.code(), 0)
    return asked, after


@kit.test(timeout=60)
def pictures_by_the_protocol_of_kitty():
    asked, after = shown("xterm-kitty", b"\033_Gi=31;OK\033\\\033[?62;c")
    kit.contains(asked, b"\033_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\033\\\033[c")
    kit.contains(after, b"\033_Ga=T,f=100,q=2,m=0;" + base64.b64encode(png()) + b"\033\\")
    kit.true(b".png" not in after, after)
    # A terminal that knows the words and not the thing.
    asked, after = shown("xterm-kitty", b"\033[?62;c")
    kit.true(b"\033_Ga=T" not in after and b".png" in after, after)


@kit.test(timeout=60)
def other_terminals_are_not_sent_what_they_might_print():
    asked, after = shown("xterm-256color", b"\033[?64;1;2c")
    kit.true(b"\033_G" not in asked + after, after)
    kit.contains(after, b".png")


@kit.test(timeout=60)
def pictures_by_sixel():
    asked, after = shown("xterm-256color", b"\033[?64;4c")
    kit.true(b"\033_G" not in asked + after, after)
    kit.matches(after.decode("latin-1"), "\033P0;1q\"1;1;8;8#0;2;0;0;0.*#180!8~\\$-#180!8B\\$-\033\\\\")


@kit.test
def a_terminal_that_can_do_nothing():
    for env in {"TERM": "dumb"}, {"NO_COLOR": "1", "TERM": "dumb"}, {"TERM": ""}:
        repl = Pty("python", **env)
        said = repl.until(b"[1] >>> ")
        repl.type("{'a': None}\n")
        said += repl.until(b"{'a': None}\r\n[2] >>> ")
        repl.type("1/0\n")
        said += repl.until(b"ZeroDivisionError: division by zero\r\n[3] >>> ")
        repl.type(PICTURE)
        said += repl.until(b"[5] >>> ")
        repl.type("Picture()\n")
        said += repl.until(b".png")
        # A cell that has run for a while takes what is typed; this one may have, on a machine that is busy.
        said += repl.until(b"[6] >>> ")
        kit.true(b"\033" not in said, f"{env}: {said!r}")
        repl.type(b"\x04")
        kit.equal(repl.code(), 0)


@kit.test
def no_color_has_editing_all_the_same():
    repl = Pty("python", NO_COLOR="1")
    repl.until(b">>>")
    repl.type("{'a': Nine\b\b\bone}\r")
    repl.until(b"{'a': None}\r\n[2] >>> ")
    repl.type("1/0\r")
    said = repl.until(b"ZeroDivisionError: division by zero\r\n[3] >>> ")
    kit.true(b"m" not in re.sub(rb"[^\033]|\033\[[\d;]*([A-Za-z])", rb"\1", said), said)
    repl.type(b"\x04")
    kit.equal(repl.code(), 0)


@kit.test(timeout=120)
def what_is_typed_ahead_is_for_the_next_prompt():
    for term in "xterm-256color", "dumb":
        # Before the first prompt.
        repl = Pty("python", "--quiet", TERM=term)
        repl.type(b"\x04")
        kit.equal(repl.code(), 0)
        # Behind a cell, and behind the line after it, all at once.
        repl = Pty("python", "--quiet", TERM=term)
        repl.until(b">>>")
        repl.type(b"6 * 7\r2 + 3\r\x04")
        kit.equal(repl.code(), 0)
        kit.matches(repl.text.decode(), r"(?s)42.*\[2\].*5.*\[3\]")
        # While a quick cell runs, which the terminal itself has shown.
        repl = Pty("python", "--quiet", TERM=term)
        repl.until(b">>>")
        repl.type("import time; print('be' + 'gun', flush=True); time.sleep(0.05); 6 * 7\r")
        repl.until(b"begun")
        repl.type(b"\x04")
        kit.equal(repl.code(), 0)
        kit.contains(repl.text, b"42")
        # At a line that is not empty, Ctrl-D is no end.
        repl = Pty("python", "--quiet", TERM=term)
        repl.until(b">>>")
        repl.type("import time; print('be' + 'gun', flush=True); time.sleep(0.05)\r")
        repl.until(b"begun")
        repl.type(b"6 *\x04 7\r")
        repl.until(b"42")
        repl.until(b">>>")
        repl.type(b"\x04")
        kit.equal(repl.code(), 0)


@kit.test
def the_end_of_the_terminal():
    repl = Pty("python")
    repl.until(b">>>")
    service = service_of(repl)
    os.close(repl.ours)
    kit.true(repl.process.wait(timeout=PATIENCE) is not None, "it goes on")
    ended(service)


@kit.test
def a_signal_ends_it_and_its_service():
    repl = Pty("python")
    repl.until(b">>>")
    service = service_of(repl)
    repl.type("while True: pass\r\r")
    repl.until(b"...")
    repl.process.send_signal(signal.SIGTERM)
    repl.code()
    ended(service)


kit.main()
