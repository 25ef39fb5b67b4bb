"""The part of the bench that goes over HTTP: what it and MCP cost beside the frames, how fast it is alone, and idle streams."""

import json
import os
import re
import secrets
import subprocess
import time

import census
import series

STREAMS = 1000
HEALTH = (1, 10, 100)  # connections
ANSWER = '"stdout":"1\\n"'  # of Python hello, as it stands in the JSON
WAITING = {"language": "python", "code": "import time\ntime.sleep(3600)", "timeout": 3600}


def address_of(service, seconds=10):
    """HOST:PORT, which the service says when it listens."""
    end = time.monotonic() + seconds
    while not (found := re.search(r"127\.0\.0\.1:[1-9]\d*", service.said())):
        if time.monotonic() > end:
            raise RuntimeError(f"the service names no address: {service.said().strip()[-300:]}")
        time.sleep(0.02)
    return found[0]


def body_of(bench, request):
    path = os.path.join(bench.scratch, "body.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(request, file)
    return path


def requests(bench, to, request, token, *words):
    """A series of runs; ends early when too many are cold."""
    bench.check_budget()
    most = min(100, bench.cold_left)
    figures = bench.run_load(["--to", to, "--path", "/v1/execute", "--body", body_of(bench, request), "--token", token,
                              "--contains", ANSWER, "--samples", "--max-cold", str(most), *words], program="http_load")
    bench.cold_left -= figures["cold"]
    return figures


def hello(bench, service, address, token, request, count, pause):
    """The same runs by four ways to the same service, in turns."""
    frames = ("--expect", "1\n", *pause, *count)
    contenders = {
        "service": lambda: bench.requests(service, request, *frames),
        "http": lambda: requests(bench, address, request, token, *pause, *count),
        "http_socket": lambda: requests(bench, service.socket, request, token, *pause, *count),
        "mcp": lambda: bench.requests(service, request, *frames, mcp=True),
    }
    for measure in contenders.values():
        measure()
    return series.take_turns(bench, contenders, 5)


def health(bench, address, seconds):
    """{connections: figures} of a path that asks nobody else."""
    found = {}
    for connections in HEALTH:
        bench.wait_idle()
        found[str(connections)] = bench.run_load(
            ["--to", address, "--path", "/v1/health", "--connections", str(connections), "--seconds", str(seconds)], program="http_load")
    return found


def sizes(pid):
    return {role: census.pss(one) for role, one in census.roles(pid).items()}


def efforts(pid):
    return {role: census.effort(one) for role, one in census.roles(pid).items()}


def streams(bench, request):
    """One program sleeps, and all the others wait for their turn with their streams open: nothing happens on any.

    The first is warm, and nobody else's program ever starts; so no cold box is made."""
    token = secrets.token_urlsafe(24)
    service = bench.service("--listen", "127.0.0.1:0", "--max-running", "1", "--max-queued", str(2 * STREAMS), env={"EMBERBOX_TOKEN": token})
    try:
        address = address_of(service)
        if not bench.warm_up(service, request):
            return {"left_out": "never warm"}
        before, available = sizes(service.pid), census.memory_available()
        words = [bench.http_load, "--to", address, "--path", "/v1/execute", "--body", body_of(bench, WAITING), "--token", token,
                 "--streams", str(STREAMS)]
        with subprocess.Popen(words, env=bench.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as held:
            try:
                opened = json.loads(held.stdout.readline())
                time.sleep(1)
                after, used = sizes(service.pid), available - census.memory_available()
                start = efforts(service.pid)
                time.sleep(bench.options.idle)
                end = efforts(service.pid)
            finally:
                held.stdin.close()
                try:
                    held.wait(20)
                except subprocess.TimeoutExpired:
                    held.kill()
        return {
            "streams": opened["open"], "failed": opened["failed"], "problem": opened["problem"], "open_seconds": opened["seconds"],
            "pss": sum(after.values()) - sum(before.values()), "machine": used, "seconds": bench.options.idle,
            "cpu": sum(end[role][1] - start[role][1] for role in end), "wakeups": sum(end[role][0] - start[role][0] for role in end),
        }
    finally:
        service.stop()


def http(bench, request, count, pause):
    token = secrets.token_urlsafe(24)
    service = bench.service("--listen", "127.0.0.1:0", env={"EMBERBOX_TOKEN": token})
    found = {}
    try:
        address = address_of(service)
        if bench.warm_up(service, request):
            bench.say("bench:   Python hello over HTTP")
            found["hello"] = hello(bench, service, address, token, request, count, pause)
        else:
            found["hello"] = {"left_out": "never warm"}
        bench.say("bench:   /v1/health")
        found["health"] = health(bench, address, bench.options.seconds / 2)
    finally:
        service.stop()
    bench.say(f"bench:   {STREAMS} event streams")
    found["streams"] = streams(bench, request)
    return found
