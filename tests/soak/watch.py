"""What a service and the machine held before a soak, and whether they hold the same after it."""

import os
import re
import time

import census

QUIET = 75.0  # seconds without a run: by then the pool keeps one ember of a kind
SETTLE = 240.0  # seconds for that, at most
MEMORY_GROWTH = 4 << 20  # bytes of one role: allocators keep some


def host_state():
    """What could be left behind: on the machine, and by processes that came to us when their parents ended."""
    ours = census.descendants(os.getpid())
    return {"mounts": census.mounts(), "cgroups": sorted(census.cgroups()), "processes": [one.name for one in ours],
            "network namespaces": sorted({census.namespace(one.pid, "net") for one in ours} - {None})}


def service_state(pid):
    """What the service holds: how many of each, by role."""
    every = census.descendants(pid)
    roles = census.roles(pid)
    groups = [group for group in census.cgroups() if any(f"box-{role_pid}-" in group for role_pid in roles.values())]
    state = {"processes": len(every), "not reaped": census.unreaped(pid), "cgroups": len(groups),
             "mounts": len(census.mounts()),
             "network namespaces": len({census.namespace(one.pid, "net") for one in every})}
    for role, role_pid in roles.items():
        state[f"{role}: descriptors"] = census.descriptors(role_pid)
        state[f"{role}: mounts"] = len(census.mounts(role_pid))
    return state


def memory(pid):
    return {role: census.rss(role_pid) for role, role_pid in census.roles(pid).items()}


def settled(pid, want=None):
    """The state once it has been the same for QUIET seconds, or for a moment what is wanted; or at the end."""
    end = time.monotonic() + SETTLE
    state, since = service_state(pid), time.monotonic()
    while time.monotonic() < end:
        time.sleep(0.5)
        now = service_state(pid)
        if now != state:
            state, since = now, time.monotonic()
        elif time.monotonic() - since > (3 if now == want else QUIET):
            break
    return state


class Report:
    def __init__(self):
        self.failed = 0

    def line(self, good, name, detail=""):
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {name}{': ' + detail if detail else ''}", flush=True)

    def equal(self, name, got, want):
        self.line(got == want, name, "" if got == want else f"{got}, before {want}")


def gone(pids, seconds=15.0):
    """Those that are still there after so long. A pid may be another process by then: its start is compared."""
    end = time.monotonic() + seconds
    while True:
        left = [one for one in pids if (now := census.process(one.pid)) and now.name == one.name]
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.1)


def _is_anothers(group):
    """A box's cgroup has the pid of who made it; ours have ended by now."""
    maker = re.search(r"/box-(\d+)-", group)
    return bool(maker and census.process(int(maker[1])))


def same_host(report, before, when):
    end = time.monotonic() + 15
    while (now := host_state()) != before and time.monotonic() < end:
        time.sleep(0.2)
    for key, want in before.items():
        more = [one for one in now[key] if one not in want and not (key == "cgroups" and _is_anothers(one))]
        report.line(not more, f"{key} {when}", f"{len(more)} more, such as {more[0]}" if more else "")
