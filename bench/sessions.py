"""Sessions: how long one takes to start, what a cell costs, and what a thousand that do nothing hold."""

import http.client
import json
import socket
import statistics
import time

import wire

STARTS = 100
CELLS = 10000
IDLE = 1000
PAUSE = 0.03  # seconds between two starts: the ember that was used is made anew


class Asking(http.client.HTTPConnection):
    """HTTP over the service's own socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)

    def ask(self, method, target, body=None):
        self.request(method, target, None if body is None else json.dumps(body))
        answer = self.getresponse()
        return answer.status, json.loads(answer.read())


def start(asking):
    status, session = asking.ask("POST", "/v1/sessions", {"language": "python"})
    if status != 201:
        raise RuntimeError(session["error"]["message"])
    return session


def warm_up(asking):
    for _ in range(200):
        session = start(asking)
        asking.ask("DELETE", f"/v1/sessions/{session['id']}")
        if session["start"] == "warm":
            return True
        time.sleep(0.1)
    return False


def starts(asking):
    took = []
    for _ in range(STARTS):
        time.sleep(PAUSE)
        begun = time.perf_counter()
        session = start(asking)
        if session["start"] == "warm":
            took.append(time.perf_counter() - begun)
        asking.ask("DELETE", f"/v1/sessions/{session['id']}")
    return {"count": len(took), "p50": statistics.median(took), "p90": sorted(took)[len(took) * 9 // 10]}


def cells(asking, path):
    session, took = start(asking)["id"], []
    with wire.Client(path) as client:
        client.run({"session": session, "code": "x = 1"})
        begun = time.perf_counter()
        for _ in range(CELLS):
            at = time.perf_counter()
            done = client.run({"session": session, "code": "x + 1"})
            took.append(time.perf_counter() - at)
        seconds = time.perf_counter() - begun
    if done["status"] != "ok" or done["session"]["cells"] != CELLS + 1:
        raise RuntimeError("a cell did not do what it should")
    tenth = CELLS // 10
    return {"count": CELLS, "p50": statistics.median(took), "p99": sorted(took)[CELLS * 99 // 100], "per_second": CELLS / seconds,
            "first": statistics.median(took[:tenth]), "last": statistics.median(took[-tenth:])}  # fmt: skip


def used():
    """Bytes of memory that nobody else could have."""
    with open("/proc/meminfo", encoding="ascii") as file:
        sizes = {line.split(":")[0]: int(line.split()[1]) for line in file}
    return (sizes["MemTotal"] - sizes["MemAvailable"]) * 1024


def idle(asking):
    before, reached, reason = used(), 0, None
    try:
        while reached < IDLE:
            start(asking)
            reached += 1
    except RuntimeError as error:
        reason = str(error)  # descriptors, where the hard limit is low
    time.sleep(1)
    return {"reached": reached, "bytes": used() - before, "stopped": reason}


def sessions(bench):
    service = bench.service()
    try:
        asking = Asking(service.socket)
        if not warm_up(asking):
            return {"left_out": "never warm"}
        bench.wait_idle()
        found = {"start": starts(asking), "cell": cells(asking, service.socket)}
        bench.say("bench:   idle sessions")
        found["idle"] = idle(asking)
        return found
    finally:
        service.stop()
