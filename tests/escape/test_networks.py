"""L, N: the networks of warm boxes. One in which no socket was asked for serves again; no other does.

tests/run: args=--as root --warm | --as user --warm
tests/run: timeout=180
"""

import errno
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import census
import kit
import service

WHERE = "import os\nprint(os.readlink('/proc/self/ns/net'))\n"
# A number that the kernel gives to each network, and to no other ever: SO_NETNS_COOKIE.
COOKIE = "import socket, struct\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\nprint(struct.unpack('Q', s.getsockopt(1, 71, 8))[0])\n"
# Everything that has ever been counted in it.
COUNTED = """
import re
total = 0
for name in ("snmp", "netstat", "snmp6"):
    lines = open(f"/proc/net/{name}").read().splitlines()
    pairs = zip(lines[::2], lines[1::2]) if name != "snmp6" else (line.rsplit(None, 1) for line in lines)
    for names, values in pairs:
        names, values = names.split()[-len(values.split()):], values.split()
        # These are settings, not counts.
        total += sum(int(v) for n, v in zip(names, values) if n not in ("Forwarding", "DefaultTTL", "RtoAlgorithm", "RtoMin", "RtoMax", "MaxConn") and v.isdigit())
total += sum(map(int, re.search(r"lo:(.*)", open("/proc/net/dev").read())[1].split()))
print(total, len(open("/proc/net/unix").read().splitlines()) - 1, len(open("/proc/net/tcp").read().splitlines()) - 1)
"""
PACKETS = "import socket\na = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); a.bind(('127.0.0.1', 0)); a.sendto(b'x', a.getsockname()); print(a.recv(9))\n"
ASKING = {
    "tcp": "import socket\ns = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); c = socket.create_connection(s.getsockname()); s.accept()",
    "udp": PACKETS,
    "udp6": "import socket\nsocket.socket(socket.AF_INET6, socket.SOCK_DGRAM)",
    "netlink": "import socket\nsocket.if_nameindex()\nsocket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)",
    "abstract": "import socket\ns = socket.socket(socket.AF_UNIX); s.bind('\\0name'); s.listen()",
    "pair": "import socket\na, b = socket.socketpair(); a.send(b'x'); print(b.recv(1))",
    "child": "import subprocess\nsubprocess.run(['/usr/bin/python3', '-c', 'import socket; socket.socket()'], check=True)",
    "thread": "import threading, socket\nt = threading.Thread(target=socket.socket); t.start(); t.join()",
}


def ask(client, code, language="python"):
    _, result = client.request({"language": language, "code": code, "timeout": 20})
    kit.equal((result.get("status"), result["meta"]["start"]), ("ok", "warm"), repr(result))
    return result["stdout"]


def begun(*options):
    """A service with few boxes, each of which is warm by now."""
    own = service.Service("--embers", "2", *options)
    client = own.connect()
    for _ in range(100):
        _, result = client.request({"language": "python", "code": "pass"})
        if result["meta"]["start"] == "warm":
            return own, client
    raise kit.Failed("never warm")


@kit.test(timeout=90)
def one_without_sockets_serves_again():
    own, client = begun()
    found = [ask(client, WHERE) for _ in range(40)]
    # Two wait, some are being taken down, eight may be spare.
    kit.true(len(set(found)) <= 14, sorted(set(found)))
    client.close()
    own.stop()


@kit.test(timeout=150)
def N_one_with_a_socket_does_not():
    own, client = begun()
    for name, code in ASKING.items():
        cookie = ask(client, code + "\n" + COOKIE).splitlines()[-1]
        cookies = [cookie, *(ask(client, COOKIE).strip() for _ in range(5))]
        kit.equal(len(set(cookies)), 6, f"{name}: two runs in one network")
        kit.equal([ask(client, COUNTED) for _ in range(4)], ["0 0 0\n"] * 4, f"after {name}")
    client.close()
    own.stop()


@kit.test(timeout=90)
def L_counters_and_names_of_one_run_are_not_in_the_next():
    own, client = begun()
    kit.true(int(ask(client, PACKETS + COUNTED).split()[1]) > 0, "the control: packets are counted")
    for _ in range(10):
        ask(client, PACKETS)
        kit.equal(ask(client, COUNTED), "0 0 0\n")
    client.close()
    own.stop()


@kit.test(timeout=90)
def one_that_others_could_enter_does_not():
    own, client = begun()

    def http(path, body):
        r = kit.command(["curl", "-s", "--unix-socket", own.path, f"http://localhost{path}", "-d", json.dumps(body)])
        return json.loads(r.out)

    name = f"/v1/sessions/{http('/v1/sessions', {'language': 'python'})['id']}"
    where = http(f"{name}/execute", {"code": WHERE})["stdout"]
    holders = [one.pid for members in census.boxes(own.role("keeper")).values() for one in members
               if census.namespace(one.pid, "net") and f"{census.namespace(one.pid, 'net')}\n" == where]
    kit.true(holders, f"nobody is in {where}")
    # A number may be another's when its network is gone; not while it is held.
    held = os.open(f"/proc/{holders[0]}/ns/net", os.O_RDONLY)
    kit.command(["curl", "-s", "-X", "DELETE", "--unix-socket", own.path, f"http://localhost{name}"])
    kit.true(where not in [ask(client, WHERE) for _ in range(20)], where)
    os.close(held)
    client.close()
    own.stop()


MARKS = """
import fcntl, os, struct
def attempt(action):
    try:
        return action()
    except OSError as error:
        return error.errno
fd = os.open("/proc/self/ns/net", os.O_RDONLY)
print(attempt(lambda: os.chmod("/proc/net/route", 0o400)), attempt(lambda: os.chmod("/proc/sys/net/ipv4/ip_forward", 0o600)),
      attempt(lambda: open("/proc/sys/net/ipv4/ip_forward", "w")), attempt(lambda: os.fchmod(fd, 0o400)),
      attempt(lambda: os.utime(fd, (0, 0))), attempt(lambda: fcntl.fcntl(fd, 1036, struct.pack("Q", 4))))
"""


@kit.test
def L_nothing_can_be_marked_without_a_socket():
    own, client = begun()
    read_only, not_permitted = str(errno.EROFS), str(errno.EPERM)
    found = ask(client, MARKS).split()
    kit.equal((found[:3], found[5]), ([read_only] * 3, not_permitted))
    # Of another user's, or on a file system without times and modes of its own.
    kit.true(set(found[3:5]) <= {read_only, not_permitted, str(errno.EINVAL), str(errno.EOPNOTSUPP)}, found)
    client.close()
    own.stop()


# What is asked for, again and again; the second is refused.
FLOODS = {"sockets": "socket.socket().close()", "the forbidden": "libc.ptrace(0, 0, 0, 0)"}
FLOOD = """
import ctypes, socket, threading, time
libc = ctypes.CDLL(None)
end = time.monotonic() + 2
count = [0] * 8
def flood(n):
    while time.monotonic() < end:
        ASK
        count[n] += 1
threads = [threading.Thread(target=flood, args=(n,)) for n in range(8)]
for t in threads: t.start()
for t in threads: t.join()
print(min(count) > 0, sum(count) > 200)
"""


def who_asks_all_the_time_hinders_nobody(flood):
    own, client = begun("--max-running", "8")
    others = [own.connect() for _ in range(4)]
    for other in others:
        other.ask({"language": "python", "code": FLOOD.replace("ASK", flood), "timeout": 20})
    # Made anew meanwhile, by the same stem, and taken down.
    unreaped = []
    for _ in range(20):
        _, result = client.request({"language": "python", "code": "print(1)"})
        kit.equal((result["status"], result["stdout"]), ("ok", "1\n"), repr(result))
        unreaped.append(census.unreaped(own.pid))
    kit.true(min(unreaped[10:]) < 6, f"nobody is reaped: {unreaped}")
    for other in others:
        _, result = other.answer()
        kit.equal((result["status"], result["stdout"]), ("ok", "True True\n"), repr(result))
        other.close()
    client.close()
    own.stop()


for name, flood in FLOODS.items():
    kit.test(lambda flood=flood: who_asks_all_the_time_hinders_nobody(flood), name=f"who asks for {name} all the time hinders nobody", timeout=90)

kit.main()
