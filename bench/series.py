"""How a series is measured: by load, with a budget for cold boxes, and in turns."""

import json
import math
import os
import subprocess
import time

import census
import wire

REPO = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COLD_MOST = 700  # starts of cold boxes in one bench
IDLE_SHARE = 0.9  # of the cores, before a series begins
IDLE_PATIENCE = 20.0  # seconds
PATH = "/usr/local/bin:/usr/bin:/bin"


class Bench:
    """Where things are, what was spent of the budget, and how a series is measured."""

    def __init__(self, options, scratch):
        self.options = options
        self.scratch = scratch
        self.emberbox = os.path.join(REPO, options.build, "emberbox")
        self.load = os.path.join(REPO, options.build, "bench", "load")
        self.http_load = os.path.join(REPO, options.build, "bench", "http_load")
        self.env = {"PATH": PATH, "HOME": scratch, "LANG": "C.UTF-8"}
        self.cold_left = COLD_MOST
        self.busy = 0  # series that began although the machine was not idle
        self.peers = []
        self.missing = {}
        self.homes = 0

    def say(self, text):
        print(text, flush=True)

    def wait_idle(self):
        end = time.monotonic() + IDLE_PATIENCE
        while census.cpu_idle(0.25) < IDLE_SHARE:
            if time.monotonic() > end:
                self.busy += 1
                return

    def service(self, *words, env=None):
        """A service with nothing kept from before; it is the caller's to stop."""
        self.homes += 1
        home = os.path.join(self.scratch, f"home-{self.homes}")
        os.mkdir(home, 0o700)
        service = wire.Service(self.emberbox, home, *words, env=env)
        reason = service.wait_ready()
        if reason:
            service.stop()
            raise RuntimeError(reason)
        return service

    def run_load(self, words, around=(), env=None, seconds=None, program="load"):
        """The report of load or http_load, which is killed rather than waited for for ever."""
        limit = seconds or 600
        done = subprocess.run([*around, getattr(self, program), *words], env=env or self.env, timeout=limit, capture_output=True, check=False)
        if done.returncode != 0 or not done.stdout:
            raise RuntimeError(done.stderr.decode("utf-8", "replace").strip()[-300:] or f"{program} ended with {done.returncode}")
        return json.loads(done.stdout)

    def check_budget(self):
        if self.cold_left <= 0:
            raise RuntimeError("enough cold boxes were started")

    def command(self, argv, *words, around=(), env=None, cold=0):
        """A series of a command. `cold`: how many cold boxes of ours each is; they count against the budget."""
        if cold:
            self.check_budget()
        figures = self.run_load([*words, "--command", "--samples", "--", *argv], around, env)
        if cold:
            self.cold_left -= cold * (figures["count"] + figures["failed"])
        return figures

    def requests(self, service, request, *words, builds=False, mcp=False):
        """A series of requests; ends early when too many are cold. `builds`: a cold box compiles each. `mcp`: by a server
        on stdin and stdout, which uses that service."""
        path = os.path.join(self.scratch, "request.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(request, file)
        self.check_budget()
        most = min(100, self.cold_left)
        way = ["--mcp"] if mcp else ["--socket", service.socket]
        server = ["--", self.emberbox, "mcp", "--socket", service.socket] if mcp else []
        figures = self.run_load([*way, "--request", path, "--samples", "--max-cold", str(most), *words, *server])
        self.cold_left -= figures["cold"] + (figures["count"] + figures["failed"] if builds else 0)
        return figures

    def warm_up(self, service, request, tries=8):
        """Asks until an answer is warm; whether one was."""
        with wire.Client(service.socket) as client:
            for _ in range(tries):
                result = client.run(request)
                if result["meta"]["start"] == "warm":
                    return True
                self.cold_left -= 1
                time.sleep(0.25)
        return False


def merge(series):
    """One set of figures out of several series of the same thing."""
    merged = {key: sum(one[key] for one in series) for key in ("count", "warm", "cold", "refused", "failed", "bytes", "seconds")}
    for name, key in (("", "samples"), ("first_", "first_samples"), ("transfer_", "transfer_samples")):
        values = sorted(value for one in series for value in one[key])
        for percent, rank in (("p50", 50), ("p95", 95), ("p99", 99), ("max", 100)):
            merged[name + percent] = values[max(0, math.ceil(len(values) * rank / 100) - 1)] if values else None
    merged["per_second"] = merged["count"] / merged["seconds"] if merged["seconds"] else None
    merged["stopped"] = any(one["stopped"] for one in series)
    merged["problem"] = next((one["problem"] for one in series if one["problem"]), None)
    return merged


def take_turns(bench, contenders, rounds):
    """{name: figures}. Each contender is a function that measures a part of its runs; None: it has done enough."""
    series = {name: [] for name in contenders}
    failed = {}
    for _ in range(rounds):
        bench.wait_idle()
        for name, measure in contenders.items():
            if name in failed:
                continue
            try:
                figures = measure()
            except (RuntimeError, subprocess.SubprocessError) as error:
                failed[name] = str(error)
                continue
            if figures:
                series[name].append(figures)
    merged = {name: merge(some) for name, some in series.items() if some}
    return merged | {name: {"count": 0, "left_out": why} for name, why in failed.items()}
