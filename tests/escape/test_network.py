"""N: the network.

tests/run: args=--as root | --as user | --as userns | --as root --warm | --as user --warm
"""

import os
import socket
import subprocess
import sys
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import box
import kit

NAMES = """
import socket, time
for name in ("example.com", "metadata.google.internal", "localhost"):
    began = time.monotonic()
    try:
        socket.create_connection((name, 80), timeout=5)
        answer = "connected"
    except socket.gaierror as e:
        answer = "no name"
    except OSError as e:
        answer = "refused" if isinstance(e, ConnectionRefusedError) else repr(e)
    print(name, answer, "fast" if time.monotonic() - began < 1 else "slow")
"""


def names():
    """What connecting by name gives; one box for N1 and N3."""
    if not hasattr(names, "found"):
        r = kit.emberbox("run", "--cold", "-l", "python", "-c", NAMES)
        kit.equal((r.code, r.err), (0, b""))
        names.found = dict(line.split(" ", 1) for line in r.text.splitlines())
    return names.found


def own_addresses():
    """Addresses of the host's interfaces, and of its gateways."""
    found = set()
    text = subprocess.run(["/usr/bin/hostname", "-I"], stdout=subprocess.PIPE, timeout=10, check=False).stdout.decode()
    found.update(a for a in text.split() if ":" not in a)
    with open("/proc/net/route", encoding="ascii") as file:
        for line in file.readlines()[1:]:
            gateway = bytes.fromhex(line.split()[2])[::-1]
            if any(gateway):
                found.add(socket.inet_ntoa(gateway))
    return sorted(found)


@kit.test
def N1_connections_fail_at_once():
    box.holds("N1")
    kit.equal(names()["example.com"], "no name fast")
    # The control: a name that is known, and nobody there.
    kit.equal(names()["localhost"], "refused fast")


@kit.test
def N2_udp_icmp_dns():
    box.holds("N2")


@kit.test
def N3_metadata_services():
    box.holds("N3")
    kit.equal(names()["metadata.google.internal"], "no name fast")


def listeners():
    """A TCP port, an abstract name and a path that the host listens on, tried from one box: {kind: [answer…]}."""
    if hasattr(listeners, "found"):
        return listeners.found
    name = f"emberbox-{uuid.uuid4().hex}"
    path = os.path.join(kit.tmp(), "host.sock")
    with (
        socket.create_server(("0.0.0.0", 0)) as tcp,
        socket.socket(socket.AF_UNIX) as abstract,
        socket.socket(socket.AF_UNIX) as named,
    ):
        port = tcp.getsockname()[1]
        abstract.bind("\0" + name)
        abstract.listen()
        named.bind(path)
        os.chmod(path, 0o777)
        named.listen()
        outside = [f"tcp={a}:{port}" for a in own_addresses() if not a.startswith("127.")]
        r = box.run(f"tcp=127.0.0.1:{port}", *outside, f"abstract={name}", f"path-socket={path}", "walk-sockets")
        # The control: from outside a box all three can be reached.
        for family, address in ((socket.AF_INET, ("127.0.0.1", port)), (socket.AF_UNIX, "\0" + name), (socket.AF_UNIX, path)):
            with socket.socket(family) as s:
                s.connect(address)
    listeners.found = {
        "loopback": r[f"tcp=127.0.0.1:{port}"],
        "addresses": [r[attempt] for attempt in outside],
        "abstract": r[f"abstract={name}"],
        "path": r[f"path-socket={path}"],
        "sockets": r["walk-sockets"],
    }
    return listeners.found


@kit.test
def N4_ports_of_the_host():
    kit.equal(listeners()["loopback"], "ECONNREFUSED")
    kit.true(set(listeners()["addresses"]) <= {"ENETUNREACH"}, listeners()["addresses"])


@kit.test
def N5_abstract_sockets_of_the_host():
    kit.equal(listeners()["abstract"], "ECONNREFUSED")


@kit.test
def N6_path_sockets_of_the_host():
    box.holds("N6")
    kit.equal(listeners()["path"], "ENOENT")
    kit.equal(listeners()["sockets"], "/sandbox/temp/own.sock")
    # One that lies in the project is seen, but leads nowhere.
    project = kit.tmp()
    with socket.socket(socket.AF_UNIX) as named:
        named.bind(os.path.join(project, "host.sock"))
        os.chmod(os.path.join(project, "host.sock"), 0o777)
        named.listen()
        r = box.run("path-socket=host.sock", "open=/dev/null", options=["--project", project])
        named.setblocking(False)
        try:
            named.accept()
            kit.fail("the box reached a socket of the host in its project")
        except BlockingIOError:
            pass
    kit.equal(r["path-socket=host.sock"], "ECONNREFUSED")


@kit.test
def N7_special_sockets():
    box.holds("N7")


@kit.test
def N9_a_port_inside_is_not_seen_from_another_box():
    a = box.Held(box.script("listen"))
    port = int(a.line().split()[1])
    r = box.run(f"tcp=127.0.0.1:{port}", "loopback=4")
    kit.equal(r[f"tcp=127.0.0.1:{port}"], "ECONNREFUSED")
    kit.equal(r["loopback=4"], "OK")
    with socket.socket() as s:
        kit.true(s.connect_ex(("127.0.0.1", port)) != 0, "the host reaches a port of the box")
    ended = a.end()
    kit.equal((ended.code, ended.text), (0, "listen alone\n"))


@kit.test
def N10_loopback_of_its_own():
    box.holds("N10")


kit.main()
