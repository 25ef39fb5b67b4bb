#!/usr/bin/python3
# tests/run: args=--as user
# tests/run: nightly=--as root
# tests/run: timeout=180
"""Files of a live session, watched over HTTP beside a program that is hostile to it."""

import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from service import Service
from web import Web

EVERY = 0.5  # seconds over which idleness is looked at


class Session:
    def __init__(self):
        self.running = Service(listen=True)
        self.web = Web(self.running)
        self.id = self.web.post("/v1/sessions", {"language": "python"}).json["id"]
        self.cell("import os, threading\nos.chdir('/sandbox/output')")

    def cell(self, code):
        result = self.web.post(f"/v1/sessions/{self.id}/execute", {"code": code, "timeout": 20}).json
        kit.equal(result["status"], "ok", repr(result))
        return result["stdout"]

    def watch(self, query="path=output&watch=1"):
        """A connection that gets events, and its first."""
        client = self.web.connect()
        answer = client.stream(f"/v1/sessions/{self.id}/files?{query}", method="GET")
        kit.equal(answer.status, 200, repr(answer))
        name, first = client.event()
        kit.equal(name, "watching", repr(first))
        return client, first

    def end(self):
        self.running.process.send_signal(signal.SIGTERM)
        kit.equal(self.running.process.wait(20), 0)


def take(client, *names):
    """The next events, which have to be these; what is told of them."""
    return [kit.equal((got := client.event())[0], name, repr(got)) or got[1] for name in names]


@kit.test(timeout=60)
def what_happens_is_told():
    s = Session()
    client, first = s.watch()
    kit.equal(first, {"path": "output", "recursive": False, "directories": 1})
    s.cell("f = open('a.txt', 'w'); f.write('12345'); f.flush()")
    kit.equal(take(client, "created")[0]["path"], "output/a.txt")
    kit.equal(take(client, "changed"), [{"path": "output/a.txt", "type": "file", "size": 5}])
    s.cell("f.close(); os.rename('a.txt', 'b.txt')")
    kit.equal(take(client, "moved"), [{"path": "output/b.txt", "from": "output/a.txt", "type": "file", "size": 5}])
    s.cell("os.rename('b.txt', '/sandbox/data/b.txt')")
    kit.equal(take(client, "deleted"), [{"path": "output/b.txt"}])
    s.cell("os.rename('/sandbox/data/b.txt', 'c.txt'); os.symlink('/etc/passwd', 'link'); os.mkdir('d')")
    kit.equal(take(client, "created", "created", "created"),
              [{"path": "output/c.txt", "type": "file", "size": 5},
               {"path": "output/link", "type": "link", "size": len("/etc/passwd")},
               {"path": "output/d", "type": "directory", "size": 40}])
    # What is below is not watched, what a caller writes is, by its own name alone.
    s.cell("open('d/unseen', 'w').write('x')")
    target = f"/v1/sessions/{s.id}/files/output/put"
    kit.equal(s.web.request("PUT", target, b"new").status, 201)
    kit.equal(take(client, "created"), [{"path": "output/put", "type": "file", "size": 3}])
    kit.equal(s.web.request("PUT", target, b"newer").status, 200)
    kit.equal(take(client, "changed"), [{"path": "output/put", "type": "file", "size": 5}])
    s.cell("os.remove('put')")
    kit.equal(take(client, "deleted"), [{"path": "output/put"}])
    s.web.request("DELETE", f"/v1/sessions/{s.id}")
    kit.equal(take(client, "ended"), [{"reason": "the session has ended"}])
    kit.equal(client.event(), None)
    s.end()


@kit.test(timeout=60)
def what_is_below_is_told_if_that_is_asked_for():
    s = Session()
    s.cell("os.makedirs('old/deep')")
    client, first = s.watch("path=output&watch=1&recursive=1")
    kit.equal(first, {"path": "output", "recursive": True, "directories": 3})
    s.cell("open('old/deep/x', 'w')")
    kit.equal(take(client, "created")[0]["path"], "output/old/deep/x")
    # A directory of a new name is watched under that, one that left is not.
    s.cell("os.rename('old', 'new')")
    kit.equal(take(client, "moved")[0]["path"], "output/new")
    s.cell("os.remove('new/deep/x')")
    kit.equal(take(client, "deleted")[0]["path"], "output/new/deep/x")
    s.cell("os.rename('new', '/sandbox/data/new')")
    kit.equal(take(client, "deleted"), [{"path": "output/new", "type": "directory"}])
    s.cell("open('/sandbox/data/new/deep/unseen', 'w'); os.mkdir('last')")
    kit.equal(take(client, "created")[0]["path"], "output/last")
    s.cell("open('last/y', 'w')")
    kit.equal(take(client, "created")[0]["path"], "output/last/y")
    s.end()


@kit.test(timeout=60)
def what_cannot_be_watched_is_told():
    s = Session()
    s.cell("os.symlink('/etc', 'link'); open('file', 'w'); os.mkdir('closed', 0)")
    for query, wanted in (("path=output/link&watch=1", (409, "no_plain_file", "path")),
                          ("path=output/file&watch=1", (409, "no_plain_file", "path")),
                          ("path=output/none&watch=1", (404, "not_found", "path")),
                          ("path=output/closed&watch=1", (403, "forbidden_file", "path")),
                          ("path=../etc&watch=1", (400, "bad_request", "path")),
                          ("watch=yes", (400, "bad_request", "watch")),
                          ("recursive=1", (400, "bad_request", "recursive"))):
        kit.equal(s.web.get(f"/v1/sessions/{s.id}/files?{query}").error, wanted, query)
    # As many as may be, and again as soon as one has gone.
    clients = [s.watch()[0] for _ in range(16)]
    kit.equal(s.web.get(f"/v1/sessions/{s.id}/files?watch=1").error[:2], (429, "busy"))
    clients.pop().close()
    for _ in range(1000):
        client = s.web.connect()
        answer = client.stream(f"/v1/sessions/{s.id}/files?watch=1", method="GET")
        if answer.status == 200:
            break
        client.close()
    kit.equal(answer.status, 200, "a watch whose client has gone is free again")
    s.end()


def keeper_ticks(s):
    """CPU time of the service and all below it but boxes, in ticks."""
    total, todo = 0, [s.running.process.pid]
    while todo:
        pid = todo.pop()
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                ours = "emberbox" in file.read()
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                fields = file.read().rpartition(")")[2].split()
            with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
                todo += [int(child) for child in file.read().split()]
        except OSError:
            continue
        total += int(fields[11]) + int(fields[12]) if ours else 0
    return total


@kit.test(timeout=60)
def an_idle_watch_costs_nothing():
    s = Session()
    clients = [s.watch("watch=1&recursive=1")[0] for _ in range(16)]
    before = keeper_ticks(s)
    # Nothing is to happen: time is what this is about.
    s.cell(f"import time\ntime.sleep({EVERY})")
    spent = keeper_ticks(s) - before
    kit.true(spent <= 3, f"{spent} ticks while 16 watches were idle")
    s.cell("open('after', 'w')")
    for client in clients:
        kit.equal(take(client, "created")[0]["path"], "output/after")
    s.end()


STORM = """
import itertools, shutil
def attempt(do, *what):
    try:
        do(*what)
    except OSError:
        pass
def swap(own):
    for i in itertools.count():
        if done:
            return
        d, g = f'd{own}', f'g{own}-{i % 5}'
        attempt(os.makedirs, f'{d}/e{i % 7}')
        attempt(lambda: open(f'{d}/e{i % 7}/f', 'w').write('x' * (i % 50)))
        attempt(shutil.rmtree, g)
        attempt(os.rename, d, g)
        attempt(os.symlink, '/etc', d)
        attempt(os.listdir, d)
        attempt(os.remove, d)
        attempt(os.mkfifo, d)
        attempt(os.remove, d)
done = False
threads = [threading.Thread(target=swap, args=(n,)) for n in range(3)]
[t.start() for t in threads]
"""


@kit.test(timeout=90)
def a_hostile_program_leads_nowhere_and_fills_nothing():
    s = Session()
    client, _ = s.watch("watch=1&recursive=1")
    s.cell(STORM)
    seen, overflows = 0, 0
    for _ in range(4000):
        name, told = client.event()
        seen += 1
        overflows += name == "overflow"
        path = told.get("path", "output")
        kit.true(path == "output" or path.startswith("output/"), repr(told))
        # Nothing of what the links lead to.
        kit.true("passwd" not in path and "hostname" not in path, repr(told))
    # One that is not read is held up, and the service is not.
    s.cell("done = True\n[t.join() for t in threads]\n"
           "for i in range(20000): open(f'flood{i % 9}', 'w').close(); os.remove(f'flood{i % 9}')")
    kit.equal(s.web.get("/v1/health").status, 200)
    while overflows == 0:
        overflows += client.event()[0] == "overflow"
    # And it goes on: what happens after it was told to look again is told.
    mark = 0
    s.cell(f"open('/sandbox/data/mark{mark}', 'w')")
    while (got := client.event())[0] != "created" or got[1]["path"] != f"data/mark{mark}":
        if got[0] == "overflow":
            mark += 1
            s.cell(f"open('/sandbox/data/mark{mark}', 'w')")
    s.end()


kit.main()
