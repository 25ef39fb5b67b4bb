#!/usr/bin/python3
# tests/run: args=--as root
# tests/run: nightly=--as user
# tests/run: timeout=600
"""Interrupts of cells at any moment, from another connection: each try ends with a true answer, the state is kept, and the
cell after it is not hit by what was meant for the one before.

Where in the driver an interrupt falls is chance here; tests/lang/test_driver_interrupts.py has the orders one by one."""

import os
import random
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from service import Service
from web import Web

TRIES = 90
FIRST = 120  # seconds: the first session may prepare the toolchain
SQL = ("with recursive r(n) as (select 1 union all select n + 1 from r) select count(*) from r", "select 1", "select 42 as n")

# An endless cell, one that takes about as long as an interrupt needs, one that is over at once and makes 42.
CELLS = {
    "python": ("while True: pass", "import time; time.sleep(0.002)", "6 * 7"),
    "javascript": ("while (true);", "await new Promise((go) => setTimeout(go, 2))", "6 * 7"),
    "typescript": ("while (true);", "await new Promise((go) => setTimeout(go, 2))", "6 * 7 as number"),
    "bash": ("while :; do :; done", "sleep 0.002", "echo 42"),
    "ruby": ("loop {}", "sleep 0.002", "6 * 7"),
    "sqlite": SQL,
    "postgres": ("select count(*) from generate_series(1, 1e12)", "select pg_sleep(0.002)", "select 42 as n"),
}


GRACE = "The session ended while this ran: the cell did not end within 2s of being interrupted"
# Bash's own race (docs/sessions.md): a child that it was about to wait for, and it signals itself for ever.
RACE = {"bash": ("killed", 137, "lost")}


def session_of(web, language):
    answer = web.post("/v1/sessions", {"language": language})
    kit.equal(answer.status, 201, answer.body[:500])
    return "/v1/sessions/" + answer.json["id"]


def at_any_moment(language):
    running = Service(listen=True)
    web, other = Web(running, timeout=FIRST), Web(running)
    path = session_of(web, language)
    chance = random.Random(language)
    hits = races = 0
    for number in range(TRIES):
        code = CELLS[language][number % 3]
        found = {}
        cell = threading.Thread(target=lambda: found.update(web.post(path + "/execute", {"code": code}).json))
        until = time.perf_counter() + chance.random() * 0.005
        cell.start()
        while time.perf_counter() < until:
            pass  # a sleep would be longer
        hit = other.post(path + "/interrupt", {}).json["interrupted"]
        while number % 3 == 0 and not hit:
            hit = other.post(path + "/interrupt", {}).json["interrupted"]
        cell.join(60)
        kit.true(not cell.is_alive(), "the cell goes on")
        told = (found["status"], found["exit_code"], found["session"]["state"])
        if told == RACE.get(language) and number % 3 == 1 and not races:
            kit.equal(found["error_message"], GRACE)
            races += 1
            path = session_of(web, language)
            continue
        allowed = [("failed", 130, "kept")] * hit + [("ok", 0, "kept")] * (number % 3 > 0)
        kit.true(told in allowed, f"{number}: {told}, interrupted {hit}: {str(found)[:1000]}")
        hits += told[0] == "failed"
        after = web.post(path + "/execute", {"code": CELLS[language][2]}).json
        kit.equal((after["status"], after["error_message"]), ("ok", None), f"the cell after {number}, {told}")
        kit.contains(after["stdout"] or after["outputs"][-1]["text/plain"], "42")
    kit.true(hits >= TRIES / 3, f"only {hits} were interrupted")


for name in CELLS:
    kit.test(lambda name=name: at_any_moment(name), name=name, timeout=FIRST)

kit.main()
