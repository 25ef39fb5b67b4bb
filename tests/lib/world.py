"""A machine and the internet behind it: network namespaces of the test program's own, with real servers in them.

    world = World()                              # once for a test program; ended at its exit
    world.tls("api.example.com")                 # a name, an address of its own, a server with a certificate
    r = kit.emberbox("run", "--net", "api.example.com", …)   # with world.inside(): in the machine's namespace
    world.connections()                          # what the servers saw
    world.packets()                              # every destination that a packet of the machine had

    host  ── veth ──  world
    10.99.0.2         10.99.0.1 (dnsmasq), and every address that a test gives to a server; fd99::2, fd99::1

Nothing of it is visible outside these namespaces, so the addresses may be public ones: what emberbox refuses by an address's
kind has to be tested with real kinds. The servers are tests/lib/world_server.py; certificates are of an authority
of the test's own (world.authority is its file). Needs root, because it makes namespaces for all modes.
"""

import atexit
import contextlib
import functools
import ipaddress
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

import kit

SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "world_server.py")
MACHINE, GATEWAY = "10.99.0.2", "10.99.0.1"
MACHINE6, GATEWAY6 = "fd99::2", "fd99::1"
IP = "/usr/sbin/ip" if os.path.exists("/usr/sbin/ip") else "/sbin/ip"


class Namespace:
    """A network namespace, held by a process that ends with its standard input."""

    def __init__(self):
        self.holder = subprocess.Popen(
            ["/usr/bin/unshare", "--net", "--", "/bin/cat"],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True,
        )
        own = os.readlink("/proc/self/ns/net")
        kit.eventually(lambda: self._link() not in (None, own), "unshare made no network namespace")
        self.ip("link", "set", "lo", "up")

    def _link(self):
        try:
            return os.readlink(f"/proc/{self.holder.pid}/ns/net")
        except OSError:
            return None

    @property
    def path(self):
        return f"/proc/{self.holder.pid}/ns/net"

    def enter(self, argv):
        return ["/usr/bin/nsenter", f"--net={self.path}", "--", *argv]

    def ip(self, *words):
        done = subprocess.run(self.enter([IP, *words]), capture_output=True, text=True, timeout=20)
        kit.equal(done.returncode, 0, f"ip {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def close(self):
        self.holder.stdin.close()
        self.holder.wait(timeout=10)


class World:
    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="world-", dir=kit._shared_directory())
        os.chmod(self.directory, 0o755)
        self.host, self.outside = Namespace(), Namespace()
        self._processes = []
        self._servers = {}  # (address, port, in the machine's namespace) -> kind
        self._addresses = 0
        self._names = {}  # name -> addresses
        self._aliases = {}  # name -> name
        self._forwards = {}  # domain -> port of a name server of the test's own
        self._resolver = None
        self._log = os.path.join(self.directory, "seen")
        atexit.register(self.close)
        self._connect()
        self._certificates()
        open(self._log, "w", encoding="utf-8").close()
        self._sniff()

    def close(self):
        for process in self._processes + ([self._resolver] if self._resolver else []):
            kit.kill(process)
        self._processes, self._resolver = [], None
        for namespace in (self.host, self.outside):
            with contextlib.suppress(Exception):
                namespace.close()

    # The network

    def _connect(self):
        self.host.ip("link", "add", "out", "type", "veth", "peer", "name", "in", "netns", str(self.outside.holder.pid))
        for namespace, link, address, address6 in (
            (self.host, "out", MACHINE, MACHINE6), (self.outside, "in", GATEWAY, GATEWAY6),
        ):
            namespace.ip("addr", "add", f"{address}/24", "dev", link)
            namespace.ip("-6", "addr", "add", f"{address6}/64", "dev", link, "nodad")
            namespace.ip("link", "set", link, "up")
        self.host.ip("route", "add", "default", "via", GATEWAY)
        self.host.ip("-6", "route", "add", "default", "via", GATEWAY6)

    def address(self, text=None):
        """Gives the world an address: a public one that is free, or the one that is named."""
        if text is None:
            self._addresses += 1
            text = f"93.184.216.{self._addresses}"
        if ipaddress.ip_address(text).version == 6:
            self.outside.ip("-6", "addr", "add", f"{text}/128", "dev", "lo", "nodad")
            if not ipaddress.ip_address(text) in ipaddress.ip_network("fd99::/64"):
                self.host.ip("-6", "route", "replace", f"{text}/128", "via", GATEWAY6)
        else:
            self.outside.ip("addr", "add", f"{text}/32", "dev", "lo")
            # Also where the machine would not send it: then it is emberbox that has to refuse.
            self.host.ip("route", "replace", f"{text}/32", "via", GATEWAY)
        return text

    # Names

    def name(self, name, *addresses, alias=None):
        """The resolver knows a name from now on."""
        if alias:
            self._aliases[name] = alias
        else:
            self._names[name] = addresses
        self._start_resolver()

    def forward(self, domain, port):
        """Questions below the domain go to a name server of the test's own, at GATEWAY:port."""
        self._forwards[domain] = port
        self._start_resolver()

    @property
    def resolver(self):
        self._resolver or self._start_resolver()
        return GATEWAY

    def _start_resolver(self):
        if self._resolver:
            kit.kill(self._resolver)
        argv = ["/usr/sbin/dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--user=root",
                "--pid-file=", "--bind-interfaces", f"--listen-address={GATEWAY}", "--local-ttl=1", "--log-queries",
                "--log-facility=" + os.path.join(self.directory, "queries")]
        argv += [f"--local=/{domain}/" for domain in ("com", "net", "org", "test", "invalid")]
        argv += [f"--host-record={name},{','.join(found)}" for name, found in self._names.items()]
        argv += [f"--cname={name},{target}" for name, target in self._aliases.items()]
        argv += [f"--server=/{domain}/{GATEWAY}#{port}" for domain, port in self._forwards.items()]
        self._resolver = subprocess.Popen(
            self.outside.enter(argv), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        kit.eventually(self._resolver_answers, "dnsmasq does not answer")

    def _resolver_answers(self):
        question = b"\x12\x34\x01\x00\x00\x01\0\0\0\0\0\0\x05ready\x04test\0\0\x01\0\x01"
        with self.asks(socket.SOCK_DGRAM) as s:
            s.settimeout(0.2)
            try:
                s.sendto(question, (GATEWAY, 53))
                return s.recv(512)[:2] == b"\x12\x34"
            except OSError:
                return False

    def queries(self):
        """Names that somebody asked the resolver for: [(type, name)]."""
        found = []
        with contextlib.suppress(FileNotFoundError), open(os.path.join(self.directory, "queries"), encoding="utf-8") as file:
            for line in file:
                _, at, rest = line.partition(" query[")
                if at:
                    kind, _, rest = rest.partition("] ")
                    if rest.split()[0] != "ready.test":
                        found.append((kind, rest.split()[0]))
        return found

    # Servers

    def serve(self, kind, address=None, port=80, on_machine=False):
        """A server of world_server.py: http, tls, tls-retry, echo, greet, silent, reset, half, flood, slow, redirect:URL. Its address."""
        address = address or self.address()
        key = (address, port, on_machine)
        if self._servers.get(key) != kind:
            namespace = self.host if on_machine else self.outside
            process = self._start(namespace, [kind, address, str(port), self._log, self.certificate, self.key])
            kit.equal(process.stdout.readline(), b"ready\n", f"the server {kind} at {address}:{port}")
            self._servers[key] = kind
        return address

    def http(self, name, port=80, address=None):
        address = self.serve("http", address, port)
        self.name(name, address)
        return address

    def tls(self, name, port=443, address=None):
        address = self.serve("tls", address, port)
        self.name(name, address)
        return address

    def _start(self, namespace, words):
        process = subprocess.Popen(
            namespace.enter([sys.executable, SERVER, *words]), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._processes.append(process)
        return process

    def _sniff(self):
        process = self._start(self.outside, ["packets", GATEWAY, "0", self._log, "", ""])
        kit.equal(process.stdout.readline(), b"ready\n", "the sniffer")

    def _seen(self, kind):
        found = []
        with open(self._log, encoding="utf-8") as file:
            for line in file:
                if line.endswith("\n") and (entry := json.loads(line))["kind"] == kind:
                    found.append(entry)
        return found

    def connections(self, **where):
        """What the servers accepted: {address, port, peer, sni, first, sent}. Filtered by members."""
        return [c for c in self._seen("connection") if all(c.get(key) == value for key, value in where.items())]

    def errors(self, **where):
        """What ended connections at the servers: {address, port, error}."""
        return [e for e in self._seen("error") if all(e.get(key) == value for key, value in where.items())]

    def packets(self):
        """{(protocol, destination, port)} of every packet that left the machine."""
        return {tuple(p["to"]) for p in self._seen("packet")}

    def settled(self):
        """Waits until every packet that was sent before is in packets(): one with a number of its own is the last."""
        port = 20000 + len(self._seen("packet")) % 20000
        with self.asks(socket.SOCK_DGRAM) as s:
            s.sendto(b"", (GATEWAY, port))
        kit.eventually(lambda: ("udp", GATEWAY, port) in self.packets(), "the sniffer sees nothing")

    # The machine

    def inside(self, resolver=True):
        """While it lasts, kit starts processes in the machine's namespace, with the world's resolver in the environment."""
        return _Inside(self, resolver)

    def asks(self, kind=socket.SOCK_STREAM, family=socket.AF_INET):
        """A socket of the machine's."""
        return _socket_in(self.host.path, family, kind)

    def web(self, running, **options):
        """Web of a service that listens in the machine's namespace."""
        from web import Web, Wire

        class There(Web):
            def connect(there, timeout=None):
                connected = self.asks()
                connected.settimeout(timeout or there.timeout)
                connected.connect(there.running.address)
                return Wire(connected, there.token, "{}:{}".format(*there.running.address))

        return There(running, **options)

    # Certificates

    @property
    def authority(self):
        return os.path.join(self.directory, "authority.pem")

    @property
    def certificate(self):
        return os.path.join(self.directory, "server.pem")

    @property
    def key(self):
        return os.path.join(self.directory, "server.key")

    def _certificates(self):
        names = ",".join(f"DNS:{name}" for name in (
            "example.com", "*.example.com", "example.net", "*.example.net", "example.org", "*.example.org", "*.example.test"))
        conf = os.path.join(self.directory, "openssl.cnf")
        with open(conf, "w", encoding="ascii") as file:
            file.write("[req]\ndistinguished_name=dn\n[dn]\n[ca]\nbasicConstraints=critical,CA:TRUE\nkeyUsage=keyCertSign\n"
                       f"subjectKeyIdentifier=hash\n[server]\nsubjectAltName={names}\nbasicConstraints=CA:FALSE\n")

        def openssl(*words):
            done = subprocess.run(["/usr/bin/openssl", *words], cwd=self.directory, capture_output=True, text=True, timeout=60)
            kit.equal(done.returncode, 0, done.stderr)

        key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-config", conf)
        openssl("req", "-x509", *key, "-keyout", "authority.key", "-out", self.authority, "-days", "2", "-subj", "/CN=Test authority", "-extensions", "ca")
        openssl("req", *key, "-keyout", self.key, "-out", "server.csr", "-subj", "/CN=server")
        openssl("x509", "-req", "-in", "server.csr", "-CA", self.authority, "-CAkey", "authority.key", "-CAcreateserial", "-out", self.certificate,
                "-days", "2", "-extfile", conf, "-extensions", "server")
        for path in (self.authority, self.certificate):
            os.chmod(path, 0o644)


class _Inside:
    """as_mode() of kit, with the machine's namespace in front, and the resolver in the environment."""

    def __init__(self, world, resolver):
        self.world, self.extra = world, {"EMBERBOX_RESOLVER": world.resolver} if resolver else {}

    def __enter__(self):
        self._as_mode, self._environment = kit.as_mode, kit.environment
        world, as_mode, environment = self.world, kit.as_mode, kit.environment
        kit.as_mode = lambda argv, for_mode=None: world.host.enter(as_mode(argv, for_mode))
        kit.environment = lambda extra=None, for_mode=None: environment(
            {**self.extra, **(extra or {})}, for_mode)
        return self.world

    def __exit__(self, *_):
        kit.as_mode, kit.environment = self._as_mode, self._environment


def _socket_in(path, family, kind):
    """A socket that was made in another network namespace; this thread comes back at once."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    home, there = os.open("/proc/thread-self/ns/net", os.O_RDONLY), os.open(path, os.O_RDONLY)
    try:
        if libc.setns(there, 0x40000000) != 0:
            raise OSError(ctypes.get_errno(), "setns")
        try:
            return socket.socket(family, kind)
        finally:
            if libc.setns(home, 0x40000000) != 0:
                os._exit(1)
    finally:
        os.close(home)
        os.close(there)


@functools.lru_cache(maxsize=None)
def world():
    """The one of this test program."""
    if os.geteuid() != 0:
        kit.skip("needs root, to make network namespaces")
    return World()
