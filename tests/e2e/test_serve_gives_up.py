#!/usr/bin/python3
# tests/run: args=--as root
"""A service that cannot be.

As root alone, who may set the limits of a process that no other may touch, and not under a sanitizer, which needs the
room that is taken here."""

import os
import resource
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import census
import kit
from service import Service


@kit.test
def a_role_that_never_serves_ends_the_service():
    running = Service()
    with running.connect() as client:
        client.ask({"language": "bash", "code": "echo ready; sleep 1000", "timeout": 300}, stream=True)
        kit.equal(client.until("1")[-1][1], b"ready\n")
        watch, keeper = kit.Watch(kit.descendants(running.pid)), running.role("keeper")
        kit.true(any(f"/box-{keeper}-" in name for name in census.cgroups()), "the control: it has groups")
        # What is started from now on has no room for itself.
        resource.prlimit(running.pid, resource.RLIMIT_AS, (1 << 20, 1 << 20))
        os.kill(running.role("front"), signal.SIGKILL)
        r = kit.finish(running.process)
    kit.equal(r.code, 125, r.errtext)
    kit.matches(r.errtext.splitlines()[-1], r"emberbox: the front .*; it ended 5 times in a row soon after its start")
    kit.equal(watch.survivors(), [])
    kit.true(not os.path.exists(running.path), "the socket is still there")
    # The keeper was told, and took its boxes' groups with it.
    kit.equal([name for name in census.cgroups() if f"/box-{keeper}-" in name], [])


kit.main()
