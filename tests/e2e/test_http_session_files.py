#!/usr/bin/python3
# tests/run: args=--as root | --as user
# tests/run: timeout=300
"""Files of a live session over HTTP: read, written, listed, moved and removed beside a program that is hostile to it."""

import http.client
import json
import os
import signal
import socket
import sys
import threading
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from service import Service
from web import Gone, Web


class Session:
    """A session of Python, and its files by a client that checks every answer."""

    def __init__(self, running, **fields):
        self.running = running
        self.web = Web(running)
        self.id = self.ask("POST", "/v1/sessions", {"language": "python", **fields}, (200, 201))["id"]

    def connect(self):
        connection = http.client.HTTPConnection("localhost")
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(30)
        connection.sock.connect(self.running.path)
        return connection

    def ask(self, method, target, body=None, statuses=(200,)):
        connection = self.connect()
        connection.request(method, target, json.dumps(body) if body is not None else None)
        answer = connection.getresponse()
        said = json.loads(answer.read())
        kit.true(answer.status in statuses, f"{method} {target}: {answer.status} {said}")
        connection.close()
        return said

    def cell(self, code):
        result = self.ask("POST", f"/v1/sessions/{self.id}/execute", {"code": code, "timeout": 20})
        kit.equal(result["status"], "ok", repr(result))
        return result["stdout"]

    def at(self, path):
        return f"/v1/sessions/{self.id}/files/{urllib.parse.quote(path)}"

    def get(self, path, **headers):
        return self.web.get(self.at(path), headers)

    def put(self, path, data, query=""):
        return self.web.request("PUT", self.at(path) + query, data)

    def delete(self, path):
        return self.web.request("DELETE", self.at(path))

    def move(self, path, to):
        return self.web.post(self.at(path), {"move": to})

    def list(self, path):
        return self.web.get(f"/v1/sessions/{self.id}/files?path={urllib.parse.quote(path)}")


def begin(**fields):
    return Session(Service(listen=True), **fields)


def end(session):
    session.running.process.send_signal(signal.SIGTERM)
    kit.equal(session.running.process.wait(20), 0)


@kit.test(timeout=60)
def both_sides_see_the_same():
    s = begin()
    a = s.put("data/deep/in.bin", bytes(range(256)) * 300)
    kit.equal((a.status, a.json), (201, {"size": 76800}))
    kit.equal(s.cell("import os\ndata = open('/sandbox/data/deep/in.bin', 'rb').read()\n"
                     "st = os.stat('/sandbox/data/deep/in.bin')\n"
                     "print(data == bytes(range(256)) * 300, st.st_uid, st.st_gid, oct(st.st_mode))\n"
                     "open('/sandbox/data/deep/in.bin', 'a').write('mine')\n"
                     "os.makedirs('/sandbox/output/p q')\nopen('/sandbox/output/p q/é.txt', 'w').write('0123456789')"),
              "True 1000 1000 0o100644\n")
    kit.equal(s.get("data/deep/in.bin").body, bytes(range(256)) * 300 + b"mine")
    a = s.get("output/p q/é.txt", Range="bytes=2-4")
    kit.equal((a.status, a.body, a.headers["content-range"]), (206, b"234", "bytes 2-4/10"))
    kit.equal(s.get("output/p q/é.txt", Range="bytes=99-").status, 416)
    a = s.put("output/p q/é.txt", b"AB", "?offset=3")
    kit.equal((a.status, s.get("output/p q/é.txt").body), (200, b"012AB56789"))
    a = s.list("output/p q")
    kit.equal([(e["name"], e["type"], e["size"]) for e in a.json["entries"]], [("é.txt", "file", 10)])
    kit.equal([e["name"] for e in s.web.get(f"/v1/sessions/{s.id}/files").json["entries"]],
              ["code", "data", "output", "temp"])
    kit.equal(s.move("output/p q/é.txt", "data/e").json, {"moved": True})
    kit.equal(s.cell("print(open('/sandbox/data/e').read(), os.listdir('/sandbox/output'))"), "012AB56789 ['p q']\n")
    kit.equal(s.delete("data/e").json, {"removed": True})
    kit.equal(s.delete("output/p q").status, 200)
    kit.equal(s.get("data/e").status, 404)
    kit.equal(s.put("temp/empty", b"").status, 201)
    kit.equal((s.get("temp/empty").status, s.get("temp/empty").body), (200, b""))
    end(s)


@kit.test(timeout=60)
def other_runs_do_not_suffer():
    """A compiler's box is made by a namespace of the keeper's child, which it has to be able to open afterwards."""
    session = begin()
    program = {"language": "c", "code": '#include <stdio.h>\nint main(void) { return puts("compiled") < 0; }\n'}
    session.put("code/x", b"1")
    session.web.get(f"/v1/sessions/{session.id}/files?path=code")
    with session.web.connect() as wire:
        wire.stream(f"/v1/sessions/{session.id}/files?watch=1&recursive=1", method="GET")
        wire.until("watching")
        for number in range(3):
            kit.equal(session.get("code/x").body, b"1")
            result = session.web.post("/v1/execute", dict(program, code=program["code"] + f"/* {number} */")).json
            kit.equal((result["status"], result["stdout"], result["error_message"]), ("ok", "compiled\n", None))
    end(session)


@kit.test(timeout=60)
def what_cannot_be_is_told():
    s = begin(limits={"disk": "1m"})
    s.cell("import os, socket\nos.chdir('/sandbox/output')\nos.mkfifo('fifo')\nos.symlink('/etc/passwd', 'link')\n"
           "os.symlink('/', 'root')\nsocket.socket(socket.AF_UNIX).bind('socket')\nos.mkdir('full')\nopen('full/x', 'w')\n"
           "os.mkdir('closed', 0)\nopen('locked', 'w').write('x')\nos.chmod('locked', 0)")
    for path, status, code in (("fifo", 409, "no_plain_file"), ("socket", 409, "no_plain_file"),
                               ("link", 409, "no_plain_file"), ("root/etc/passwd", 409, "no_plain_file"),
                               ("full", 409, "no_plain_file"), ("none", 404, "not_found"),
                               ("closed/x", 403, "forbidden_file"), ("locked", 403, "forbidden_file")):
        a = s.get(f"output/{path}")
        kit.equal(a.error, (status, code, "path"), path)
        a = s.put(f"output/{path}", b"x")
        # A file that cannot be read can be replaced by its owner, who has the directory.
        wanted = {"none": 201, "locked": 200}.get(path, status)
        kit.equal(a.status, wanted, f"PUT {path}")
    kit.equal(s.delete("output/full").error[1], "not_empty")
    # Without the name of a directory of /sandbox it is where programs begin; /sandbox itself cannot be changed.
    kit.equal((s.put("new", b"x").status, s.get("code/new").body), (201, b"x"))
    kit.equal((s.move("new", "other").status, s.get("code/other").body), (200, b"x"))
    kit.equal(s.delete("output").error[1], "forbidden_file")
    kit.equal(s.move("output/none", "data").error[1], "forbidden_file")
    kit.equal(s.move("output/none", "output/nowhere/x").error[1], "not_found")
    a = s.put("data/large", b"x" * (2 << 20))
    kit.equal((a.status, a.error[1]), (507, "disk_full"))
    # Nothing is left of it, and there is room for what fits.
    kit.equal(s.list("data").json["entries"], [])
    kit.equal(s.put("data/small", b"x" * 1000).status, 201)
    kit.equal(s.web.get("/v1/sessions/01ARZ3NDEKTSV4RRFFQ69G5FAV/files/data/x").status, 404)
    kit.equal(s.web.request("PUT", s.at("data/x") + "?offset=-1", b"x").error[2], "offset")
    kit.equal(s.web.request("PUT", s.at("data/x") + "?off=1", b"x").error[2], "off")
    # A hole takes no room, but a file cannot end behind the disk either: nothing is made then.
    for offset in (1 << 20, 1 << 62, (1 << 63) - 1):
        a = s.put("data/hole", b"x", f"?offset={offset}")
        kit.equal((a.status, a.error[1:]), (400, ("bad_request", "offset")))
        kit.equal(s.get("data/hole").status, 404)
    kit.equal(s.put("data/hole", b"x", f"?offset={(1 << 20) - 1}").status, 201)
    kit.equal(s.web.get(f"/v1/sessions/{s.id}/files?path=../etc").error[2], "path")
    # A client that is generated encodes the slashes of a path; the checks are those of any path.
    files = f"/v1/sessions/{s.id}/files/"
    kit.equal(s.web.request("PUT", files + "data%2Fsub%2fh.txt", b"h").status, 201)
    kit.equal((s.get("data/sub/h.txt").body, s.web.get(files + "data%2Fsub/h.txt").body), (b"h", b"h"))
    for path, status in (("data%2F..%2Fsub%2Fh.txt", 404), ("..%2F..%2Fetc%2Fpasswd", 404), ("data%2Fsub%2F%2e%2e%2Fsmall", 404), ("data%2F.%2Fsmall", 404),
                         ("%2Fetc%2Fpasswd", 400), ("data%2F%2Fsmall", 400), ("data%2F/small", 400), ("data%2Fsmall%2F", 400), ("data%2Fsm%00all", 400),
                         ("data%252Fsmall", 404), ("data%2F%252e%252e%2Fsmall", 404)):
        for method in ("GET", "PUT", "DELETE"):
            answer = s.web.request(method, files + path, b"x" if method == "PUT" else None)
            if method == "GET" or status != 404 or ".." in path:
                kit.equal(answer.status, status, f"{method} {path}")
    kit.equal(s.get("data/small").body, b"x" * 1000)
    # Only there: what leads to a file is written out.
    kit.equal(s.web.get(f"/v1%2Fsessions/{s.id}/files/data/small").status, 404)
    kit.equal(s.web.get(f"/v1/sessions/{s.id}/files%2Fdata/small").status, 404)
    s.ask("DELETE", f"/v1/sessions/{s.id}")
    kit.equal(s.get("data/small").status, 404)
    end(s)


def token(running, name, *options):
    made = kit.emberbox("token", "add", name, *options, env={"EMBERBOX_HOME": running.home}).text
    web = Web(running, token=next(word for word in made.split() if word.startswith("ebt_")))
    kit.eventually(lambda: web.get("/v1/languages").status != 401, "the token is not known")
    return web


@kit.test(timeout=120)
def files_are_the_boxs_memory():
    """What is written from outside counts as if the program had written it, and no more fits than its memory is."""
    s = begin(limits={"memory": "96m"})
    disk = "import os\nv = os.statvfs('/sandbox')\nprint(v.f_blocks * v.f_bsize >> 20)"
    kit.equal(s.cell(disk), "96\n")

    # The same of a box that was made ahead, whoever may change its disk.
    def starts_warm():
        s.web.request("DELETE", f"/v1/sessions/{s.id}")
        begun = s.ask("POST", "/v1/sessions", {"language": "python", "limits": {"memory": "96m"}}, (201,))
        s.id = begun["id"]
        return begun["start"] == "warm"

    kit.eventually(starts_warm, "no session is warm")
    kit.equal(s.cell(disk), "96\n")
    # Positive control, and the bytes are the box's: its own group or account has them.
    kit.equal(s.put("data/0", b"x" * (20 << 20)).status, 201)
    used = s.ask("GET", f"/v1/sessions/{s.id}")["memory_used"]
    kit.true(used >= 20 << 20, f"{used} bytes are counted")
    answers = [s.put(f"data/{i}", b"x" * (20 << 20)) for i in range(1, 12)]
    kit.equal({a.status for a in answers}, {201, 507}, repr([a.status for a in answers]))
    refused = next(a for a in answers if a.status == 507)
    kit.equal(refused.error[1:], ("disk_full", "path"))
    kit.contains(refused.message, "files are part of the box's memory, and ")
    kit.contains(refused.message, " of its 96 MiB are left; remove files, or start the session with more memory")
    total = int(s.cell("import os\nprint(sum(os.stat('/sandbox/data/' + n).st_size for n in os.listdir('/sandbox/data')))"))
    kit.true(total <= 96 << 20, f"{total} bytes are there")
    # What fits is taken again once there is room, also in place.
    for entry in s.list("data").json["entries"]:
        kit.equal(s.delete("data/" + entry["name"]).status, 200)
    kit.equal(s.put("data/again", b"y" * (20 << 20)).status, 201)
    kit.equal(s.put("data/again", b"z", "?offset=5").status, 200)
    kit.equal(s.cell("print(open('/sandbox/data/again').read(8))"), "yyyyyzyy\n")
    # Larger than its memory only when asked for; a token's bound of the one bounds the other.
    s.id, first = s.ask("POST", "/v1/sessions", {"language": "python", "limits": {"memory": "96m", "disk": "200m"}},
                        (201,))["id"], s.id
    kit.equal(s.cell(disk), "200\n")
    s.id = first
    small = token(s.running, "small", "--memory", "64m")
    a = small.post("/v1/sessions", {"language": "python", "limits": {"disk": "100g"}})
    kit.equal(a.error, (400, "bad_request", "limits.disk"))
    kit.equal(a.message, 'limits.disk: "100g" is more than the token "small" allows: at most 64m')
    a = small.post("/v1/execute", {"language": "python", "code": "import os\nv = os.statvfs('/sandbox')\n"
                                   "print(v.f_blocks * v.f_bsize >> 20)\nopen('/tmp/x', 'wb').truncate(65 << 20)"})
    kit.equal((a.json["stdout"], a.json["meta"]["resource_limits"]["disk"]), ("64\n", 64 << 20))
    kit.contains(a.json["stderr"], "File too large")
    if kit.mode == "root":
        kit.equal(a.json["meta"]["start"], "warm")
    end(s)


@kit.test(timeout=120)
def large_files_are_streamed():
    s = begin()
    part = os.urandom(1 << 20) * 20
    for i in range(4):
        kit.equal(s.put("data/large", part, f"?offset={i * len(part)}").status, 201 if i == 0 else 200)
    connection = s.connect()
    connection.request("GET", s.at("data/large"))
    kit.true(connection.getresponse().read() == part * 4, "not what was written")
    # The next request of the same connection is heard.
    connection.request("GET", s.at("data/large"), headers={"Range": "bytes=-3"})
    kit.equal(connection.getresponse().read(), part[-3:])
    connection.close()
    # The front holds none of it: what it has resident does not grow with the file.
    with open(f"/proc/{s.running.role('front')}/status") as file:
        resident = int(next(line for line in file if line.startswith("VmHWM")).split()[1])
    kit.true(resident < 80 << 10, f"the front had {resident} KiB")
    # A file that is cut while it is sent: the client sees that it is not whole.
    with s.web.connect() as wire:
        wire.send("GET", s.at("data/large"))
        wire.socket.recv(1000)
        s.cell("open('/sandbox/data/large', 'w')")
        got = 0
        while data := wire.socket.recv(1 << 20):
            got += len(data)
        kit.true(got < len(part) * 4, f"{got} bytes")
    end(s)


@kit.test(timeout=120)
def a_program_that_swaps_meanwhile():
    """A3, A4, A17: a cell exchanges a directory and a link to outside as fast as it can, from another thread."""
    s = begin()
    s.cell("""
import ctypes, os, threading
libc = ctypes.CDLL(None)
os.chdir('/sandbox/output')
os.mkdir('d'); open('d/passwd', 'w').write('inside')
os.symlink('/etc', 'evil')
def swap():
    while True:
        for _ in range(200): libc.renameat2(-100, b'd', -100, b'evil', 2)
threading.Thread(target=swap, daemon=True).start()
""")
    seen = {}

    def client():
        with s.web.connect() as wire:
            for i in range(400):
                a = wire.request("GET", s.at("output/d/passwd"))
                seen.setdefault(a.status, set()).add(a.body if a.status == 200 else a.error[1])
                a = wire.request("PUT", s.at(f"output/d/new{i % 10}"), b"x")
                seen.setdefault(a.status, set()).add("put" if a.status < 300 else a.error[1])
                wire.request("GET", f"/v1/sessions/{s.id}/files?path=output/d")

    threads = [threading.Thread(target=client) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kit.equal(seen.get(200, set()) - {"put"}, {b"inside"})
    kit.equal(set(seen) - {200, 201, 409, 404}, set(), repr(seen))
    kit.contains(seen[409], "no_plain_file")
    kit.true(not os.path.exists("/etc/new0"), "a file was made outside")
    end(s)


kit.main()
