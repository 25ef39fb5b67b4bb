#!/usr/bin/python3
# tests/run: args=--as root
# tests/run: nightly=--as user
# tests/run: timeout=300
"""The terminal of a session over a WebSocket: a shell beside the driver, as confined as that."""

import hashlib
import http.client
import json
import os
import signal
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from service import Service
from web import Web
from websocket import PONG, Refused, Socket


class Session:
    def __init__(self, before=(), env=None, **fields):
        self.running = Service(listen=True, before=before, env=env)
        self.id = self.ask("POST", "/v1/sessions", {"language": "python", **fields})["id"]

    def ask(self, method, target, body=None):
        connection = http.client.HTTPConnection("localhost")
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(30)
        connection.sock.connect(self.running.path)
        connection.request(method, target, json.dumps(body) if body is not None else None)
        answer = connection.getresponse()
        said = json.loads(answer.read())
        kit.true(answer.status in (200, 201), f"{method} {target}: {answer.status} {said}")
        connection.close()
        return said

    def cell(self, code):
        result = self.ask("POST", f"/v1/sessions/{self.id}/execute", {"code": code, "timeout": 20})
        kit.equal(result["status"], "ok", repr(result))
        return result["stdout"]

    def connect(self, query="", headers=None, token=True, id=None):
        connected = socket.create_connection(self.running.address, timeout=20)
        if token:
            headers = {"Authorization": f"Bearer {self.running.token}", **(headers or {})}
        return Socket(connected, f"/v1/sessions/{id or self.id}/terminal{query}", headers)

    def refused(self, *args, **options):
        try:
            self.connect(*args, **options)
        except Refused as refusal:
            return refusal.args[0]
        kit.fail("it was taken")

    def end(self):
        self.running.process.send_signal(signal.SIGTERM)
        kit.equal(self.running.process.wait(20), 0)


@kit.test(timeout=60)
def a_shell_beside_the_driver():
    s = Session()
    s.cell("x = 41\nopen('/sandbox/data/from_cell', 'w').write('hello')")
    t = s.connect("?rows=30&cols=100")
    t.send(b"stty size; cat /sandbox/data/from_cell; echo; echo 'made' > /sandbox/data/from_shell\r")
    t.until(b"30 100\r\nhello\r\n")
    # It echoes, edits and interrupts as a terminal does.
    t.send("echo né\x7fè | od -An -tx1\r".encode())
    t.until(b" 6e c3 a8 0a\r\n")
    t.send(b"sleep 50\r")
    kit.eventually(lambda: "'sleep'" in s.cell(
        "import subprocess\nprint([l.strip() for l in subprocess.run(['ps', '-eo', 'comm'], capture_output=True, text=True).stdout.splitlines()])"), "no sleep")
    t.send('{"signal": "SIGINT"}')
    t.send(b"echo after=$?\r")
    t.until(b"after=130")
    t.send('{"resize": {"rows": 50, "cols": 132}}')
    t.send(b"stty size\r")
    t.until(b"50 132\r\n")
    # The driver has its state, and sees what the shell did.
    kit.equal(s.cell("print(x + 1, open('/sandbox/data/from_shell').read())"), "42 made\n\n")
    t.send(b"exit 3\r")
    kit.equal(t.end(), (1000, "the shell ended"))
    kit.equal(s.cell("print(x)"), "41\n")
    s.end()


@kit.test(timeout=60)
def it_is_confined_as_the_driver_is():
    s = Session(limits={"pids": 20})
    look = """
import ctypes, errno, json, os, resource
status = dict((part.strip() for part in line.split(':', 1)) for line in open('/proc/self/status'))
libc = ctypes.CDLL(None, use_errno=True)
def asked(call, *args):
    return 'ok' if call(*args) >= 0 else errno.errorcode[ctypes.get_errno()]
def made(path):
    try: open(path, 'x').close(); return 'ok'
    except OSError as e: return errno.errorcode[e.errno]
print('SAID', json.dumps({
    **{key: status[key] for key in ('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb', 'NoNewPrivs', 'Seccomp', 'Uid', 'Gid')},
    'namespaces': {n: os.readlink('/proc/self/ns/' + n) for n in ('user', 'pid', 'mnt', 'net', 'ipc', 'uts', 'cgroup')},
    'cgroup': open('/proc/self/cgroup').read(),
    'limits': [resource.getrlimit(r) for r in (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE, resource.RLIMIT_CORE, resource.RLIMIT_NPROC)],
    'unshare': asked(libc.unshare, 0x10000000), 'mount': asked(libc.mount, b'x', b'/tmp', b'tmpfs', 0, None),
    'sti': asked(libc.ioctl, 0, 0x5412, b'x'), 'root': made('/x'), 'usr': made('/usr/x'), 'sandbox': made('/sandbox/x'),
    'output': made('/sandbox/output/x'), 'etc': os.path.exists('/etc/shadow'), 'home': os.path.exists('/root'),
}, sort_keys=True))
"""
    driver = json.loads(s.cell(look).split("SAID ", 1)[1])
    s.cell("import os; os.remove('/sandbox/output/x')")
    t = s.connect()
    t.send(b"cat > /sandbox/temp/look.py <<'EOF'\r" + look.strip().replace("\n", "\r").encode() + b"\rEOF\r")
    t.send(b"stty -echo; stty cols 9999; python3 /sandbox/temp/look.py; ls -l /proc/self/fd | wc -l; echo over\r")
    t.until(b"SAID {")
    t.until(b"over\r\n")
    line = t.text[t.text.index(b"SAID {") + 5:].split(b"\r\n")[0]
    shell = json.loads(line)
    kit.equal(shell["sti"], "EPERM")
    driver.pop("sti"), shell.pop("sti")
    kit.equal(shell, driver)
    kit.equal((shell["CapEff"], shell["CapBnd"], shell["NoNewPrivs"], shell["Seccomp"]), ("0" * 16, "0" * 16, "1", "2"))
    # 0, 1, 2 and the directory that ls reads; and the line of the total.
    kit.contains(t.text, b"\r\n5\r\nover")
    t.close()
    s.end()


def token_less(s):
    connected = socket.socket(socket.AF_UNIX)
    connected.settimeout(20)
    connected.connect(s.running.path)
    return Socket(connected, f"/v1/sessions/{s.id}/terminal")


def is_refused(s, id):
    try:
        return not s.connect(id=id)
    except Refused:
        return True


# Stops whatever process appears in the box next, before it is what it is to be.
HUNT = """
import os, signal
if os.fork() == 0:
    at = os.getpid()
    while True:
        for pid in range(at + 1, at + 4):
            try: os.kill(pid, signal.SIGSTOP)
            except OSError: continue
            with open(f'/proc/{pid}/cmdline', 'rb') as cmdline, open('/sandbox/data/seen', 'wb') as seen:
                seen.write(cmdline.read().strip(b'\\0'))
            os.rename('/sandbox/data/seen', '/sandbox/data/stopped')
            signal.pause()
"""


def hunted():
    """A shell that is stopped while it begins: what its client hears; None when the hunter came too late."""
    # From Linux 6.12 on Landlock keeps signals in; this is what holds without it.
    s = Session(before=[kit.built("tests/kern/enosys"), "--no", "landlock_create_ruleset", "--"],
                env={"EMBERBOX_SERVICE_WEAKER": "landlock"}, allow_weaker=["landlock"])
    other = s.ask("POST", "/v1/sessions", {"language": "python", "allow_weaker": ["landlock"]})["id"]
    s.cell(HUNT)
    refusals = []

    def connect():
        try:
            s.connect()
            refusals.append(None)
        except Refused as refused:
            refusals.append(refused.args[0])

    client = threading.Thread(target=connect, daemon=True)
    client.start()
    # Each of these has an answer while the shell hangs; that is for some seconds.
    kit.eventually(lambda: refusals or any(e["name"] == "stopped" for e in s.ask("GET", f"/v1/sessions/{s.id}/files?path=data")["entries"]),
                   "nothing was stopped, and nothing began")
    # How the service was called is nothing to a box. A shell that was stopped late is a shell.
    if refusals != [None]:
        seen = Web(s.running).get(f"/v1/sessions/{s.id}/files/data/stopped")
        kit.true(seen.status == 404 or b"emberbox" not in seen.body, repr(seen.body))
    began = time.monotonic()
    kit.equal(len(s.ask("GET", "/v1/sessions")["sessions"]), 2)
    kit.equal(s.ask("POST", f"/v1/sessions/{other}/execute", {"code": "print(6 * 7)"})["stdout"], "42\n")
    kit.true(time.monotonic() - began < 4, "others wait for the shell")
    # And what the service has open is not open in it: the end of another's input is an end.
    kit.equal(s.ask("POST", "/v1/execute", {"language": "python", "code": "import sys; print(sys.stdin.read())",
                                            "allow_weaker": ["landlock"], "stdin": "in", "timeout": 5})["stdout"], "in\n")
    client.join(20)
    kit.equal(len(refusals), 1, "the client of the shell has no answer")
    kit.equal(s.ask("DELETE", f"/v1/sessions/{s.id}")["status"], "ended")
    s.end()
    return refusals[0]


@kit.test(timeout=90)
def a_shell_that_is_stopped_while_it_begins_stops_nobody_else():
    seen = next((status for _ in range(8) if (status := hunted()) is not None), None)
    kit.equal(seen, 500, "the shell was never stopped while it began")


@kit.test(timeout=90)
def one_caller_does_not_take_all_terminals():
    s = Session(limits={"pids": 100})
    # By the token; the session of s is the other caller's, who came by the Unix socket.
    token = Web(s.running)
    id = token.post("/v1/sessions", {"language": "python", "limits": {"pids": 100}}).json["id"]
    shells = [s.connect(id=id) for _ in range(32)]
    kit.equal(s.refused(id=id), 429)
    other = token_less(s)
    other.send(b"echo $((6 * 7))\r")
    other.until(b"42\r\n")
    # One that ends makes room.
    shells[0].send(b"exit\r")
    kit.equal(shells[0].end()[0], 1000)
    kit.eventually(lambda: not is_refused(s, id), "there is no room")
    s.end()


@kit.test(timeout=60)
def closing_ends_the_shell_and_the_session_ends_both():
    s = Session()
    t = s.connect()
    t.send(b"sleep 100\r")
    names = """
import os
def name(pid):
    try: return open(f'/proc/{pid}/comm').read().strip()
    except OSError: return ''
print([n for n in map(name, filter(str.isdigit, os.listdir('/proc'))) if n in ('sleep', 'bash', 'sh')])"""
    # Not before sleep runs: a shell that begins has forked as well, and one that is hung up between a fork and the
    # choice of the foreground group leaves a child that no hang-up reaches.
    kit.eventually(lambda: "sleep" in s.cell(names), "no shell runs")
    t.close()
    kit.eventually(lambda: s.cell(names) == "[]\n", "the shell runs on")
    t = s.connect()
    t.send(b"echo up\r")
    t.until(b"up\r\n")
    s.ask("DELETE", f"/v1/sessions/{s.id}")
    kit.equal(t.end(), (1000, "the shell ended"))
    kit.equal(s.refused(), 404)
    s.end()


@kit.test(timeout=60)
def who_may_and_how():
    s = Session()
    token = s.running.token
    kit.equal(s.refused(token=False), 401)
    kit.equal(s.refused(token=False, headers={"Sec-WebSocket-Protocol": "emberbox.terminal, emberbox.token.wrong"}), 401)
    kit.equal(s.refused(headers={"Origin": "http://evil.example"}), 403)
    kit.equal(s.refused(headers={"Host": "evil.example"}), 403)
    kit.equal(s.refused(id="01ARZ3NDEKTSV4RRFFQ69G5FAV"), 404)
    kit.equal(s.refused("?rows=0"), 400)
    for wrong in ("24x", "2.5", "10000", "999999999999999", "-1"):
        kit.equal(s.refused(f"?rows={wrong}"), 400, wrong)
    kit.equal(s.refused("?token=x"), 400)
    kit.equal(s.refused(headers={"Upgrade": None}), 426)
    kit.equal(s.refused(headers={"Sec-WebSocket-Version": "8"}), 426)
    # As a browser's page does it.
    t = s.connect(token=False, headers={"Origin": "http://127.0.0.1:1",
                                        "Sec-WebSocket-Protocol": f"emberbox.terminal, emberbox.token.{token}"})
    kit.equal(t.headers["sec-websocket-protocol"], "emberbox.terminal")
    t.send(b"echo $((6*7))\r")
    t.until(b"42\r\n")
    t.close()
    s.end()


@kit.test(timeout=60)
def what_is_no_websocket_is_closed():
    s = Session()
    for send, code in ((lambda t: t.raw(0x82, b"x", masked=False), 1002), (lambda t: t.raw(0x83, b"x"), 1002),
                       (lambda t: t.raw(0xC2, b"x"), 1002), (lambda t: t.raw(0x80, b"x"), 1002),
                       (lambda t: t.raw(0x81, b"\xff"), 1007), (lambda t: t.raw(0x82, b"", size=2 << 20), 1009),
                       (lambda t: t.send("[]"), 1008), (lambda t: t.send('{"resize": {"rows": 0, "cols": 1}}'), 1008),
                       (lambda t: t.send('{"signal": "SIGKILL"}'), 1008), (lambda t: t.raw(0x88, b"\x03\xe8"), 1000)):
        t = s.connect()
        send(t)
        kit.equal(t.end()[0], code)
    # In parts, with a ping between.
    t = s.connect()
    t.raw(0x02, b"echo $((")
    t.raw(0x89, b"there?")
    t.raw(0x80, b"20+3))\r")
    t.until(b"23\r\n")
    t.raw(0x89, b"still?")
    while (frame := t.frame())[0] != PONG:
        pass
    kit.equal(frame, (PONG, b"still?"))
    t.close()
    s.end()


@kit.test(timeout=60)
def bytes_go_through_and_do_not_flood():
    s = Session()
    t = s.connect()
    t.send(b"stty raw -echo; printf re''ady; head -c 65536 | od -An -v -tx1 -w16 | md5sum; printf ov''er\r")
    t.until(b"ready")
    data = bytes(range(256)) * 256
    for at in range(0, len(data), 5000):
        t.send(data[at:at + 5000])
    t.until(b"over")
    lines = "".join("".join(f" {byte:02x}" for byte in data[i:i + 16]) + "\n" for i in range(0, len(data), 16))
    kit.contains(t.text, hashlib.md5(lines.encode()).hexdigest().encode())
    t.close()
    # A client that does not read holds up its own shell, and the front keeps little for it.
    t = s.connect()
    t.send(b"yes\r")
    t.until(b"y\r\ny\r\n")
    before = kit.eventually(lambda: held(s), "no front")
    s.cell("import time; time.sleep(0.5)")
    kit.true(held(s) - before < 20 << 10, f"{before} KiB grew to {held(s)} KiB")
    t.close()
    s.end()


def held(s):
    with open(f"/proc/{s.running.role('front')}/status") as file:
        return int(next(line for line in file if line.startswith("VmRSS")).split()[1])


kit.main()
