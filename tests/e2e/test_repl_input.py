#!/usr/bin/python3
"""What is typed while a cell of emberbox repl runs: its input if it reads, the next prompt's if it does not."""
# tests/run: args=--as user
# tests/run: nightly=--as root
# tests/run: timeout=200

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from repl import Pty, Tmux
from service import Service
from web import Web

kit.uses_service = True

# A cell that reads nothing, until it is interrupted.
WAITS = "import signal\nprint('begun', end='', flush=True)\ntry: signal.pause()\nexcept KeyboardInterrupt: pass"


@kit.test
def what_a_cell_left_unread_is_told():
    web = Web(Service(listen=True))
    path = "/v1/sessions/" + web.post("/v1/sessions", {"language": "python"}).json["id"]
    for typed, left in (("one\ntwo\nhal", None), ("é" * 10, None), ("x" * 200000, 65536), ("", 0)):
        with web.connect() as wire:
            wire.stream(f"{path}/execute", {"code": WAITS, "input": "stream"})
            kit.equal(wire.until("stdout"), {"text": "begun"})
            for at in range(0, len(typed), 50000):
                kit.equal(web.post(path + "/input", {"data": typed[at : at + 50000]}).status, 200)
            kit.equal(web.post(path + "/interrupt", {}).json["interrupted"], True)
            done = wire.until("result")
        unread = done["session"].get("unread")
        if left is None:
            kit.equal(unread, typed)
        elif left == 0:
            kit.true("unread" not in done["session"], done["session"])
        else:
            kit.true(unread and set(unread) == {"x"} and left <= len(unread) <= 3 * left, len(unread or ""))
    # What was read is not told, and no other cell finds the rest.
    with web.connect() as wire:
        wire.stream(f"{path}/execute", {"code": "import os; os.read(0, 4)", "input": "stream"})
        kit.equal(web.post(path + "/input", {"data": "one\ntwo\n"}).status, 200)
        done = wire.until("result")
    kit.equal((done["outputs"][-1]["text/plain"], done["session"].get("unread")), ("b'one\\n'", "two\n"))
    with web.connect() as wire:
        wire.stream(f"{path}/execute", {"code": "os.read(0, 9)", "input": "stream"})
        kit.equal(web.post(path + "/input", {"data": "", "eof": True}).status, 200)
        kit.equal(wire.until("result")["outputs"][-1]["text/plain"], "b''")


@kit.test
def lines_typed_while_a_cell_works_are_run_after_it():
    for term in "xterm-256color", "dumb":
        repl = Pty("python", "--quiet", TERM=term)
        repl.until(b">>>")
        repl.type("import time; print('be' + 'gun', flush=True); time.sleep(1.5)\r")
        repl.until(b"begun")
        # Long after the moment from which on it is taken for the cell's.
        time.sleep(0.5)
        repl.type("20 + 22\rprint('sec' + 'ond')\r6 *")
        repl.until(b"42")
        repl.until(b"second")
        repl.type(" 7 + 1\r")
        repl.until(b"43")
        # And what it does read is its own: the line, not what follows.
        repl.until(b">>>")
        repl.type("name = input('wh' + 'o? '); time.sleep(0.5)\r")
        repl.until(b"who? ")
        repl.type("Ada\r")
        repl.until(b">>>")
        repl.type("'hello ' + name\r")
        repl.until(b"'hello Ada'")
        repl.until(b">>>")
        repl.type(b"\x04")
        kit.equal(repl.code(), 0)


@kit.test
def the_same_in_tmux():
    with Tmux("python") as repl:
        repl.prompt(1)
        repl.type("import time; print('be' + 'gun', flush=True); time.sleep(2)")
        repl.until("^begun$")
        repl.type("20 + 22")
        repl.until(r"^\[2\] >>> 20 \+ 22\n42$")
        repl.prompt(3)


kit.main()
