#!/usr/bin/python3
"""tests/lib/world.py itself: what the network tests lean on sees what it says it sees."""
# tests/run: args=--as root

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from world import GATEWAY, world


def curl(*words):
    return subprocess.run(world().host.enter(["/usr/bin/curl", "-sS", "-m", "10", *words]), capture_output=True, text=True, timeout=20)


@kit.test
def servers_log_what_reaches_them():
    address = world().tls("api.example.com")
    done = curl("--cacert", world().authority, "--resolve", f"api.example.com:443:{address}", "https://api.example.com/hello")
    kit.equal(done.stdout, "GET /hello from api.example.com\n", done.stderr)
    seen = world().connections(address=address)
    kit.equal([(c["port"], c["sni"]) for c in seen], [(443, "api.example.com")])


@kit.test
def no_packet_goes_unseen():
    world().address("203.0.113.77")
    kit.equal(curl("http://203.0.113.77:81/").returncode, 7, "nothing listens there")
    world().settled()
    kit.true(("tcp", "203.0.113.77", 81) in world().packets(), world().packets())
    kit.true(("tcp", "203.0.113.77", 82) not in world().packets(), "only what was sent")


@kit.test
def the_resolver_says_what_it_was_told():
    world().name("alias.example.com", alias="real.example.com")
    world().name("real.example.com", "93.184.216.200")
    with world().asks(2) as s:
        s.settimeout(5)
        s.sendto(b"\1\2\1\0\0\1\0\0\0\0\0\0\5alias\7example\3com\0\0\1\0\1", (GATEWAY, 53))
        reply = s.recv(512)
    kit.equal(reply[-4:], bytes([93, 184, 216, 200]))
    kit.contains(world().queries(), ("A", "alias.example.com"))


@kit.test
def the_machine_is_apart_from_this_one():
    with world().inside():
        kit.contains(kit.command(["/usr/sbin/ip", "-br", "addr"]).text, "10.99.0.2/24")
    kit.true("10.99.0.2" not in kit.command(["/usr/sbin/ip", "-br", "addr"]).text, "the tests' own machine has it too")


kit.main()
