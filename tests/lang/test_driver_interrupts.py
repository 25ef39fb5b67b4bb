#!/usr/bin/python3
"""Interrupts of session drivers that come when no cell runs: before the driver has read the cell they are meant for, which
they end, and after its end, when the next one is already there, which they leave alone.

The driver is stopped meanwhile, so that the order is certain: all of it is there when it goes on. Each interrupt is one
signal, without the keeper's second one. PostgreSQL's driver needs a box: test_session_interrupts.py."""
# tests/run: args=--as root
# tests/run: timeout=200

import contextlib
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import driver
import kit

FOLDER = os.path.join(kit.REPO, "runtimes")
PYTHON = ["/usr/bin/python3", "-u", "-B", FOLDER + "/python/session.py"]
# (command, an endless cell, one that works, its text)
DRIVERS = {
    "python": ([*PYTHON, "builtin"], "while True: pass", "6 * 7", "42"),
    "ipython": ([*PYTHON, "ipython"], "while True: pass", "6 * 7", "42"),
    "javascript": (["/usr/bin/node", FOLDER + "/javascript/session.cjs"], "while (true);", "6 * 7", "42"),
    "javascript.waiting": (["/usr/bin/node", FOLDER + "/javascript/session.cjs"], "await new Promise(() => {})",
                           "await new Promise((go) => setTimeout(go, 30, 42))", "42"),
    "bash": (["/usr/bin/bash", FOLDER + "/bash/session.sh"], "while :; do :; done", "echo 42", "42\n"),
    "ruby": (["/usr/bin/ruby", f"-r{FOLDER}/ruby/sync.rb", FOLDER + "/ruby/session.rb"], "loop {}", "6 * 7", "42"),
    "sqlite": (["/usr/bin/python3", "-I", "-S", "-B", FOLDER + "/sqlite/session.py"],
               "with recursive r(n) as (select 1 union all select n + 1 from r) select count(*) from r", "select 42 as n",
               " n  \n----\n 42\n(1 row)"),
}  # fmt: skip
TRIES = 20


@contextlib.contextmanager
def stopped(session):
    os.kill(session.process.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, session.process.pid, os.WSTOPPED | os.WNOWAIT)
    yield
    os.kill(session.process.pid, signal.SIGCONT)


def one(name):
    command, endless, good, text = DRIVERS[name]
    with driver.Driver(command) as session:
        kit.equal(session.ready["interrupt"], True)
        for _ in range(TRIES):
            # Before the cell was read.
            with stopped(session):
                session.begin(endless)
                session.interrupt()
            cell = session.finish(timeout=10)
            kit.equal((cell.ok, cell.exit), (False, 130), repr(cell))
            kit.contains(cell.error["type"], "Interrupt")
            # Behind the end of the cell, and before the next one.
            with stopped(session):
                session.interrupt()
                session.begin(good)
            cell = session.finish()
            kit.true(cell.ok, repr(cell))
            kit.equal(cell.stdout or cell.text, text)


for name in DRIVERS:
    kit.test(lambda name=name: one(name), name=name, timeout=100)

kit.main()
