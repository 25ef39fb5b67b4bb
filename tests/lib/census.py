"""What the machine holds: processes and what each has, mounts, cgroups, namespaces.

Read from /proc and the cgroup hierarchies only; nothing is started and nothing is changed.
A process that is gone while it is looked at counts as not there.
"""

import collections
import glob
import os
import re
import time

Process = collections.namedtuple("Process", "pid parent name words")
TICK = os.sysconf("SC_CLK_TCK")


def _read(path):
    with open(path, "rb") as file:
        return file.read()


def process(pid):
    """One process, or None. `name` is comm, `words` its command line."""
    try:
        stat = _read(f"/proc/{pid}/stat")
        words = _read(f"/proc/{pid}/cmdline").decode("utf-8", "replace").rstrip("\0").split("\0")
    except OSError:
        return None
    head, _, tail = stat.rpartition(b")")
    if tail.split()[0] in (b"Z", b"X"):
        return None
    return Process(int(pid), int(tail.split()[1]), head.partition(b"(")[2].decode("utf-8", "replace"), words)


def processes():
    found = (process(entry) for entry in os.listdir("/proc") if entry.isdigit())
    return {one.pid: one for one in found if one}


def descendants(root, every=None):
    """Everything below a process, itself not included, parents first."""
    children = collections.defaultdict(list)
    for one in (every or processes()).values():
        children[one.parent].append(one)
    found, queue = [], [root]
    while queue:
        below = children[queue.pop(0)]
        found += below
        queue += [one.pid for one in below]
    return found


def unreaped(root):
    """How many processes below one have ended and are waited for by nobody yet: each still has its namespaces."""
    parents, ended = {}, []
    for entry in os.listdir("/proc"):
        try:
            fields = _read(f"/proc/{entry}/stat").rpartition(b")")[2].split() if entry.isdigit() else None
        except OSError:
            continue
        if fields:
            parents[int(entry)] = int(fields[1])
            ended += [int(entry)] if fields[0] == b"Z" else []

    def is_below(pid):
        while pid in parents and pid != root:
            pid = parents[pid]
        return pid == root

    return sum(is_below(pid) for pid in ended)


def roles(supervisor):
    """{name: pid} of a service: the supervisor and its children, by the word that tells which they are."""
    every = processes()
    found = {"supervisor": supervisor} if supervisor in every else {}
    for one in every.values():
        if one.parent == supervisor:
            match = re.search(r"\b(front|keeper|egress|store)\b", " ".join([one.name, *one.words]))
            found[match[1] if match else f"{one.name}-{one.pid}"] = one.pid
    return found


def namespace(pid, kind):
    try:
        return os.readlink(f"/proc/{pid}/ns/{kind}")
    except OSError:
        return None


def boxes(pid):
    """{pid namespace: [processes]} of what is below a process, in other pid namespaces than its own."""
    found = collections.defaultdict(list)
    own = namespace(pid, "pid")
    for one in descendants(pid):
        where = namespace(one.pid, "pid")
        if where and where != own:
            found[where].append(one)
    return dict(found)


def _field(path, name):
    for line in _read(path).decode("ascii", "replace").splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1])
    return 0


def _sized(path, name, pid):
    try:
        return _field(path.format(pid), name) * 1024
    except OSError:
        return 0


def pss(pid):
    """Its share of the memory it has, in bytes; 0 when it is gone."""
    return _sized("/proc/{}/smaps_rollup", "Pss", pid)


def rss(pid):
    return _sized("/proc/{}/status", "VmRSS", pid)


def memory_available():
    return _field("/proc/meminfo", "MemAvailable") * 1024


def effort(pid):
    """(times that its threads woke up, seconds of CPU), since it began."""
    wakeups = 0
    for path in glob.glob(f"/proc/{pid}/task/*/status"):
        try:
            wakeups += _field(path, "voluntary_ctxt_switches") + _field(path, "nonvoluntary_ctxt_switches")
        except OSError:
            pass
    try:
        fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    except OSError:
        return wakeups, 0.0
    return wakeups, (int(fields[11]) + int(fields[12])) / TICK


def descriptors(pid, but=None):
    """How many a process has; without those whose names begin so."""
    try:
        names = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return 0
    return len(names) - sum(bool(but) and _link(f"/proc/{pid}/fd/{name}").startswith(but) for name in names)


def _link(path):
    try:
        return os.readlink(path)
    except OSError:
        return ""


def mounts(pid="self"):
    """Lines of its mount table, without the numbers that each mount gets anew."""
    try:
        text = _read(f"/proc/{pid}/mountinfo").decode("utf-8", "replace")
    except OSError:
        return []
    return sorted(" ".join(line.split()[3:]) for line in text.splitlines())


def cgroups():
    """Every cgroup below a part of ours, in every hierarchy."""
    roots = [line.split()[1] for line in _read("/proc/mounts").decode().splitlines()
             if line.split()[2] in ("cgroup", "cgroup2")]
    found = set()
    for root in roots:
        for base, directories, _ in os.walk(root):
            found.update(os.path.join(base, name) for name in directories
                         if name.startswith("box-") or "emberbox" in base + name)
    return found


def network_namespaces():
    return {namespace(pid, "net") for pid in processes()} - {None}


def cpu_idle(seconds):
    """The share of all cores that did nothing for so long."""

    def sample():
        fields = [int(word) for word in _read("/proc/stat").split(b"\n", 1)[0].split()[1:9]]
        return fields[3] + fields[4], sum(fields)

    idle, whole = sample()
    time.sleep(seconds)
    idle_now, whole_now = sample()
    return (idle_now - idle) / max(1, whole_now - whole)
