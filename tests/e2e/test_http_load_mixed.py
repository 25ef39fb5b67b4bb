#!/usr/bin/python3
"""Fifty clients of the HTTP API at once, a tenth of them hostile: the short form of tests/soak/http."""
# tests/run: timeout=240

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import census  # noqa: E402
import kit  # noqa: E402
import web_mix  # noqa: E402
from service import Service  # noqa: E402

CLIENTS = 50
SECONDS = 6
SEED = 20

# Each of them is a box that was made ahead; few are not, and then the clients stop.
OPTIONS = ("--max-running", "4", "--embers", "32")


@kit.test(timeout=150, modes=("root", "user"))
def every_client_has_its_own_answer():
    running = Service(*OPTIONS, listen=True)
    mix = web_mix.Mix(running.address, running.path, running.token, SEED, cold_most=80)
    mix.first()
    kit.equal(mix.rest_problems(), [], "before")
    roles = census.roles(running.pid)
    kit.equal(sorted(roles), ["egress", "front", "keeper", "store", "supervisor"])
    held = {role: census.descriptors(roles[role]) for role in ("egress", "front", "store", "supervisor")}
    mix.go(CLIENTS, SECONDS)
    kit.equal(mix.problems[:5], [])
    kit.equal(mix.stop_reason, None)
    kit.equal(mix.heard, mix.asked, "answers")
    kit.true(mix.heard > CLIENTS, f"only {mix.heard} runs were answered")
    kit.equal(mix.rest_problems(), [], "after")
    kit.equal(mix.history_problems(), [])
    kit.equal(mix.output_problems(), [])
    kit.equal(census.roles(running.pid), roles, "no role was restarted")
    kit.eventually(lambda: {role: census.descriptors(roles[role]) for role in held} == held,
                   f"the roles had {held} descriptors, and have others now")
    r = kit.command([kit.built(), "audit", "verify"], env={"EMBERBOX_HOME": running.home})
    kit.equal((r.code, r.errtext), (0, ""))
    kit.matches(r.text, r"^\d+ entries, the chain holds\n$")
    kit.equal(running.stop().code, 0)


kit.main()
