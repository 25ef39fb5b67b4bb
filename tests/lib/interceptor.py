"""The interceptor without egress: this process hands it connections, as egress does.

    with Interceptor() as interceptor:
        box = interceptor.box("GET https://api.example.com/repos/*", secrets=[secret("TOKEN", "s3cret-value", "api.example.com")])
        with box.tls("api.example.com") as s:              # as a program that trusts the authority
            s.sendall(…)
        with box.programs({"api.example.com": 443}) as run:  # programs in a network where these names lead to the interceptor
            r = run(["curl", "https://api.example.com/"])
        box.events()                                       # what egress would be told

Servers are those of world.py. Needs root.
"""

import array
import base64
import contextlib
import fcntl
import json
import os
import secrets as chance
import socket
import ssl
import struct
import subprocess
import threading
from types import SimpleNamespace

import kit
from world import Namespace, _socket_in, world

POLICY, FLOW, REQUEST, ENDED = 1, 2, 3, 4
EVENT = struct.Struct("=IIIBB32s512s512s2x")
REASONS = ["rule", "no-rule", "port", "narrowed", "scope", "own-address", "name", "sni", "no-sni", "request", "http", "unresolved",
           "unreachable", "certificate", "connections", "total", "udp", "queries", "secret"]
PREFIX = "ember-secret-"


def secret(name, value, *hosts, header=None, format=None):
    made = SimpleNamespace(name=name, value=value, hosts=hosts, header=header, format=format, placeholder=PREFIX + chance.token_hex(16))
    made.text = f"secret {name}\nplaceholder {made.placeholder}\nvalue {_base64(value)}\n"
    made.text += "".join(f"host {host if ':' in host else host + ':443'}\n" for host in hosts)
    if header:
        made.text += f"header {header}\nformat {_base64(format or '{}')}\n"
    made.text += "end\n"
    return made


def _base64(text):
    return base64.b64encode(text.encode()).decode()


def policy_text(*lists):
    return "rate 0\ntotal 0\nconnections 64\nconnections-total 0\nhost 0\n" + "".join(f"list {rules}\n" for rules in lists)


def _high(fd):
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 50)


class Interceptor:
    def __init__(self, trusts=None):
        program = kit.built("src/interceptor")
        self.directory = kit.tmp()
        made = subprocess.run([program, "authority"], capture_output=True, timeout=30)
        kit.equal((made.returncode, made.stderr), (0, b""))
        self.authority = os.path.join(self.directory, "authority.crt")
        kit.write(self.authority, made.stdout[made.stdout.index(b"-----BEGIN CERTIFICATE"):].decode())
        self.pem = os.path.join(self.directory, "authority.pem")
        kit.write(self.pem, made.stdout.decode(), 0o600)
        self.main, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        files = [_high(theirs.fileno())]
        for path in (self.pem, trusts or world().authority):
            fd = os.open(path, os.O_RDONLY)
            files.append(_high(fd))
            os.close(fd)
        theirs.close()
        read, write = os.pipe()
        actions = [(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate(files, 3)] + [(os.POSIX_SPAWN_DUP2, write, 2)]
        self.pid = os.posix_spawn(program, ["interceptor"], {}, file_actions=actions)
        os.close(write)
        self.stderr = os.fdopen(read)
        for fd in files:
            os.close(fd)
        self.boxes = []

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        for box in self.boxes:
            box.close()
        self.main.close()
        _, status = os.waitpid(self.pid, 0)
        said = self.stderr.read()
        if kind is None:
            kit.equal((status, said), (0, ""), "the interceptor's end")

    def box(self, *lists, secrets=()):
        box = Box(self, lists, secrets)
        self.boxes.append(box)
        return box


class Box:
    def __init__(self, interceptor, lists, secrets):
        self.interceptor, self.secrets = interceptor, secrets
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        interceptor.main.sendmsg([b"b"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [theirs.fileno()]))])
        theirs.close()
        self.channel.settimeout(20)
        self.numbers = 0
        self.policy(*lists, secrets=secrets)

    def close(self):
        self.channel.close()

    def policy(self, *lists, secrets=()):
        policy = policy_text(*lists).encode()
        values = "".join(s.text for s in secrets).encode()
        self.channel.send(struct.pack("=III", POLICY, len(policy), len(values)) + policy + values)

    def hand(self, server, name, port=443, without_sni=False):
        """Our end of a stream to the interceptor, which has the socket of the server."""
        ours, theirs = socket.socketpair()
        self.numbers += 1
        message = struct.pack("=IIHB254s3x", FLOW, self.numbers, port, without_sni, name.encode())
        self.channel.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [theirs.fileno(), server.fileno()]))])
        theirs.close()
        server.close()
        ours.settimeout(20)
        return ours

    def connect(self, name, port=443, to=None, **how):
        server = world().asks()
        server.settimeout(20)
        server.connect((to or _address(name), port))
        server.setblocking(False)
        return self.hand(server, name, port, **how)

    def tls(self, name, port=443, sni="", versions=None, protocols=("http/1.1",), **how):
        """As a program: the authority is trusted, the name is checked."""
        context = ssl.create_default_context(cafile=self.interceptor.authority)
        # Python hides an end without a goodbye, unless it is told not to.
        context.options &= ~getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0x80)
        context.set_alpn_protocols(list(protocols))
        if versions:
            context.minimum_version, context.maximum_version = versions
        if sni != "":
            context.check_hostname = False
        stream = self.connect(name, port, **how)
        try:
            return context.wrap_socket(stream, server_hostname=name if sni == "" else sni,
                                       suppress_ragged_eofs=False)
        except BaseException:
            stream.close()
            raise

    def event(self):
        """The next one that is not the announcement of an end."""
        while (event := self.any_event()).kind == ENDED and event.allowed:
            pass
        return event

    def any_event(self):
        data = self.channel.recv(65536)
        kit.equal(len(data), EVENT.size)
        kind, number, lost, allowed, reason, method, path, rule = EVENT.unpack(data)
        texts = [text.split(b"\0", 1)[0].decode() for text in (method, path, rule)]
        return SimpleNamespace(kind=kind, flow=number, lost=lost, allowed=bool(allowed), reason=REASONS[reason],
                               method=texts[0], path=texts[1], rule=texts[2])

    @contextlib.contextmanager
    def programs(self, names, variables=None):
        """run(argv): a program in a network of its own, where the names (name: port) lead to the interceptor, with the
        authority among the certificates of its /etc."""
        namespace = Namespace()
        directory = kit.tmp()
        etc = {"hosts": "127.0.0.1 localhost\n" + "".join(f"127.0.0.{i} {name}\n" for i, name in enumerate(names, 10))}
        for name, content in etc.items():
            kit.write(os.path.join(directory, name), content)
        bundle = os.path.join(directory, "ca-certificates.crt")
        with open("/etc/ssl/certs/ca-certificates.crt", encoding="ascii") as host, open(self.interceptor.authority, encoding="ascii") as own:
            kit.write(bundle, host.read() + own.read())
        listeners = [self._listen(namespace, f"127.0.0.{i}", name, port) for i, (name, port) in enumerate(names.items(), 10)]
        script = ('mount --bind "$0/hosts" /etc/hosts && mount --bind "$0/ca-certificates.crt" /etc/ssl/certs/ca-certificates.crt && '
                  'exec "$@"')

        def run(argv, timeout=60, **environment):
            env = {"PATH": "/usr/local/go/bin:/usr/bin:/bin", "HOME": directory, "LANG": "C.UTF-8", **(variables or {}), **environment}
            whole = namespace.enter(["/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", script, directory, *argv])
            done = subprocess.run(whole, env=env, cwd=directory, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout)
            return SimpleNamespace(code=done.returncode, out=done.stdout.decode(errors="replace"), err=done.stderr.decode(errors="replace"))

        run.directory = directory
        try:
            yield run
        finally:
            for listener in listeners:
                listener.close()
            namespace.close()

    def _listen(self, namespace, address, name, port):
        listener = _socket_in(namespace.path, socket.AF_INET, socket.SOCK_STREAM)
        listener.bind((address, port))
        listener.listen(64)

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    stream = self.connect(name, port)
                    for pair in ((client, stream), (stream, client)):
                        threading.Thread(target=_pump, args=pair, daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        return listener


def _pump(source, target):
    with contextlib.suppress(OSError):
        source.settimeout(None)
        while data := source.recv(65536):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def _address(name):
    kit.true(name in world()._names, f"the world has no {name}")
    return world()._names[name][0]


def read_response(stream):
    """The head's first line, its fields, the body of Content-Length."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = stream.recv(65536)
        kit.true(more, f"the connection ended: {data!r}")
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    fields = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:])}
    while len(body) < int(fields.get("content-length", 0)):
        more = stream.recv(65536)
        kit.true(more, "the body was cut off")
        body += more
    return SimpleNamespace(line=lines[0], status=int(lines[0].split()[1]), fields=fields, body=body.decode("latin-1"))


def ask(stream, target, host, method="GET", fields="", body=""):
    stream.sendall(f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n{body}".encode("latin-1"))
    return read_response(stream)


def denied(response):
    """The sentence of a refusal."""
    return json.loads(response.body)["error"]["message"]
