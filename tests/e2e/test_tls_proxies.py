#!/usr/bin/python3
"""The configurations of docs/tls.md work, with Debian's nginx and Caddy.

Each is taken from the page; only names, addresses and certificates are replaced. Requests, events as they come, and
a terminal over a WebSocket go through it, by TLS 1.3. tools/setup unpacks the packages, and does not install them:
their scripts would start a server on port 80.
"""
# tests/run: args=--as root
# tests/run: timeout=120

import http.client
import json
import os
import re
import shutil
import socket
import ssl
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from service import Service

UNPACKED = "/usr/local/lib/emberbox-test/deb"
NAME = "boxes.example.org"


def configuration(kind):
    with open(os.path.join(kit.REPO, "docs", "tls.md"), encoding="utf-8") as file:
        found = re.findall(rf"^```{kind}\n(.*?)^```$", file.read(), re.M | re.S)
    kit.equal(len(found), 1, kind)
    return found[0]


def replaced(text, *pairs):
    for old, new in pairs:
        kit.equal(text.count(old), 1, f"{old!r} in {text!r}")
        text = text.replace(old, new)
    return text


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Behind:
    """A service behind a proxy, and requests through both."""

    def __init__(self, program):
        self.directory = kit.tmp()
        self.service = Service(listen=True, env={"EMBERBOX_HOSTS": NAME})
        self.certificate, self.key = os.path.join(self.directory, "cert.pem"), os.path.join(self.directory, "key.pem")
        made = kit.command(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                            "-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}", "-keyout", self.key, "-out", self.certificate])  # fmt: skip
        kit.equal(made.code, 0, made.errtext)
        self.program = shutil.which(program, path=f"{UNPACKED}/usr/sbin:{UNPACKED}/usr/bin")
        kit.true(self.program, f"{program} is not in {UNPACKED}; run: tools/setup test")
        self.port = free_port()
        self.context = ssl.create_default_context(cafile=self.certificate)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_3
        self.context.check_hostname = True

    def start(self, argv, **env):
        process = kit.start([self.program, *argv], cwd=self.directory, env={"HOME": self.directory, "PATH": kit.PATH, **env})
        kit.eventually(lambda: self.accepts() or process.poll() is not None, "the proxy does not listen")
        kit.equal(process.poll(), None, "the proxy ended")

    def accepts(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def connect(self):
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        return self.context.wrap_socket(plain, server_hostname=NAME)

    def ask(self, method, path, body=None, headers=()):
        wire = http.client.HTTPConnection(NAME)
        wire.sock = self.connect()
        kit.equal(wire.sock.version(), "TLSv1.3")
        wire.request(method, path, body and json.dumps(body), {"Authorization": f"Bearer {self.service.token}", **dict(headers)})
        return wire.getresponse()


def nginx():
    behind = Behind("nginx")
    server = replaced(configuration("nginx"), ("listen 443 ssl", f"listen 127.0.0.1:{behind.port} ssl"),
                      ("/etc/ssl/boxes.example.org.pem", behind.certificate), ("/etc/ssl/private/boxes.example.org.key", behind.key),
                      ("127.0.0.1:7320", "{}:{}".format(*behind.service.address)))  # fmt: skip
    places = "".join(f"{what}_temp_path {behind.directory}/{what};\n" for what in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    path = kit.write(os.path.join(behind.directory, "nginx.conf"), f"daemon off;\nmaster_process off;\npid {behind.directory}/pid;\n"
                     f"error_log stderr;\nevents {{}}\nhttp {{\naccess_log off;\n{places}{server}\n}}\n")  # fmt: skip
    behind.start(["-p", behind.directory, "-c", path, "-e", "stderr"])
    return behind


def caddy():
    behind = Behind("caddy")
    site = replaced(configuration("caddy"), ("boxes.example.org {\n", f"https://{NAME}:{behind.port} {{\n\tbind 127.0.0.1\n\ttls {behind.certificate} {behind.key}\n"),
                    ("127.0.0.1:7320", "{}:{}".format(*behind.service.address)))  # fmt: skip
    # Without its interface for administration, which has a port of its own, and without port 80.
    path = kit.write(os.path.join(behind.directory, "Caddyfile"), f"{{\n\tadmin off\n\tauto_https off\n}}\n{site}")
    behind.start(["run", "--config", path, "--adapter", "caddyfile"], XDG_DATA_HOME=behind.directory, XDG_CONFIG_HOME=behind.directory)
    return behind


def requests_events_and_terminals(behind):
    answer = behind.ask("POST", "/v1/execute", {"language": "python", "code": "print(6 * 7)"})
    kit.equal((answer.status, json.loads(answer.read())["stdout"]), (200, "42\n"))
    # Who is refused without the proxy is refused with it.
    kit.equal(behind.ask("GET", "/v1/languages", headers={"Authorization": "Bearer wrong"}).status, 401)
    # The first line is there while the program still waits for its input, which comes after that: nothing is held back.
    code = "print('one', flush=True); print('got ' + input(), flush=True)"
    answer = behind.ask("POST", "/v1/execute", {"language": "python", "code": code, "input": "stream", "timeout": 30}, {"Accept": "text/event-stream"})
    kit.equal((answer.status, answer.getheader("Content-Type")), (200, "text/event-stream"))
    seen, run = "", None
    while '{"text":"one' not in seen:
        line = answer.readline().decode()
        kit.true(line, f"the events ended: {seen!r}")
        seen += line
        run = run or (re.search(r'"id":"(\w+)"', line) or [None, None])[1]
    done = behind.ask("POST", f"/v1/executions/{run}/input", {"data": "two\n", "eof": True})
    kit.true(done.status < 300, f"{done.status} {done.read()!r}")
    seen += answer.read().decode()  # the result too
    kit.contains(seen, '"stdout":"one\\ngot two\\n"')
    # A terminal is a WebSocket.
    session = json.loads(behind.ask("POST", "/v1/sessions", {"language": "bash"}).read())
    wire = behind.connect()
    wire.sendall((f"GET /v1/sessions/{session['id']}/terminal HTTP/1.1\r\nHost: {NAME}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                  f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                  f"Authorization: Bearer {behind.service.token}\r\n\r\n").encode())  # fmt: skip
    text = b""
    while b"\r\n\r\n" not in text:
        data = wire.recv(4096)
        kit.true(data, f"it ended: {text!r}")
        text += data
    kit.contains(text.decode("latin-1"), "101 Switching Protocols")
    kit.contains(text.decode("latin-1"), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    command = b"echo $((6 * 7))x\r"
    wire.sendall(bytes([0x82, 0x80 | len(command)]) + b"\0\0\0\0" + command)
    end = time.monotonic() + 30
    while b"42x" not in text and time.monotonic() < end:
        text += wire.recv(4096)
    kit.contains(text, b"42x")


@kit.test(timeout=60)
def through_nginx():
    requests_events_and_terminals(nginx())


@kit.test(timeout=60)
def through_caddy():
    requests_events_and_terminals(caddy())


kit.main()
