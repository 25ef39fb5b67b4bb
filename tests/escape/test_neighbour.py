"""R13: a warm box beside one that exhausts everything.

tests/run: args=--as root --warm | --as user --warm
tests/run: timeout=120
"""

import os
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import box
import kit
import service
from web import Web
from websocket import Socket


@kit.test(timeout=100)
def R13_a_neighbour_that_exhausts_everything():
    work = {"language": "python", "code": "sum(i * i for i in range(1_500_000))"}
    path = kit.warm.start().path

    def fastest(client):
        best = None
        for _ in range(4):
            began = time.monotonic()
            _, result = client.request(work)
            kit.equal(result["status"], "ok", repr(result))
            took = time.monotonic() - began
            best = took if best is None else min(best, took)
        return best

    accounted = box.accounted(box.run("ids"))
    spin = 1 if accounted else 8
    ratios = []
    for _ in range(5):
        with service.Client(path) as client:
            alone = fastest(client)
            greedy = box.Held(
                f"{box.PLACE} spin-threads={spin}:0 & {box.PLACE} write=/tmp/x:300m >/dev/null & "
                f"(while :; do {box.PLACE} alloc=200m; done) >/dev/null 2>&1 & "
                # Not more than is spooled: one that its limits end is no neighbour.
                f"yes | head -c 8000000 >&2 & {box.PLACE} fork-bomb >/dev/null & exec {box.PLACE} wait",
                "--cpus", "1", "--allow-weaker", "cgroup", "--memory", "1g", "--timeout", "60",
                # What nobody reads would hold its other output up as well.
                stderr=subprocess.DEVNULL,
            )
            ready = False
            try:
                while greedy.line(10) != "wait ready":
                    pass
                ready = True
            except kit.Failed:
                pass  # one of its limits ended it: it is measured again
            beside = fastest(client)
            kit.kill(greedy.process)
        ratios.append(beside / alone)
        if ready and ratios[-1] < 3:
            return
    kit.fail(f"it takes {[round(r, 1) for r in ratios]} times as long beside it")


# Descriptors on their way, until the kernel takes no more of this user's.
FLIGHT = """
import errno, os, signal, socket
pairs, sent = [], 0
try:
    while True:
        a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        a.setblocking(False)
        pairs.append((a, b))
        try:
            while True:
                socket.send_fds(a, [b'x'], [0] * 16)
                sent += 16
        except BlockingIOError:
            pass
except OSError as e:
    print(errno.errorcode[e.errno], sent, flush=True)
signal.pause()
"""


@kit.test(timeout=60)
def R13_a_neighbour_with_descriptors_in_flight():
    """They are counted for the user on the host, whom an ordinary user's boxes share."""
    held = kit.start([kit.built(), "run", "--cold", "-l", "python", "-c", FLIGHT])
    said = held.stdout.readline().decode().split()
    kit.equal(said[0], "ETOOMANYREFS", repr(said))
    accounted = box.accounted(box.run("ids"))
    quiet = "import ctypes, os\nctypes.CDLL(None).unshare(0x10000000)\nos._exit(3)"
    for cold in (True, False):
        r = kit.emberbox("run", *(["--cold"] if cold else []), "--json", "-l", "python", "-c", quiet)
        # Who supervises it still hears what it was refused.
        kit.equal((r.json["status"], (r.json["verdict"] or {}).get("call")), ("failed", "unshare"), repr(r.json))
    # Nor does it stop what else passes descriptors: a session that begins, its files and its terminal.
    web = Web(kit.warm.start(), unix=True)
    session = "/v1/sessions/" + web.post("/v1/sessions", {"language": "python"}).json["id"]
    kit.equal(web.request("PUT", f"{session}/files/data/x", b"put").status, 201)
    kit.equal(web.get(f"{session}/files/data/x").body, b"put")
    connected = socket.socket(socket.AF_UNIX)
    connected.settimeout(20)
    connected.connect(kit.warm.start().path)
    terminal = Socket(connected, f"{session}/terminal")
    terminal.send(b"ulimit -n -H; echo $((6 * 7))\r")
    terminal.until(b"42\r\n")
    kit.contains(terminal.text, b"\r256\r\n" if accounted else b"\r1024\r\n")
    terminal.close()
    kit.kill(held)


kit.main()
