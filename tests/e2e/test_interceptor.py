#!/usr/bin/python3
"""The interceptor: TLS ended for a box, requests by rules, secrets that never enter. Servers are the world's."""
# tests/run: args=--as root
# tests/run: timeout=240

import base64
import contextlib
import json
import os
import socket
import ssl
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from interceptor import ENDED, REQUEST, Interceptor, ask, denied, read_response, secret
from world import _socket_in, world

API = "api.example.com"
ANY = f"* https://{API}/*"


@contextlib.contextmanager
def server(name, handle, port=443, context=None):
    """A server of the test's own: handle(stream) for each connection, in a thread."""
    address = world().address()
    world().name(name, address)
    listener = _socket_in(world().outside.path, socket.AF_INET, socket.SOCK_STREAM)
    listener.bind((address, port))
    listener.listen(16)
    if context is None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(world().certificate, world().key)

    def accept():
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=one, args=(connection,), daemon=True).start()

    def one(connection):
        with contextlib.suppress(OSError):
            with context.wrap_socket(connection, server_side=True) if context else connection as stream:
                handle(stream)

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield address
    finally:
        listener.close()


def read_head(stream):
    data = b""
    while b"\r\n\r\n" not in data:
        more = stream.recv(65536)
        if not more:
            raise OSError("the end")
        data += more
    return data


def children(pid):
    return [int(child) for child in open(f"/proc/{pid}/task/{pid}/children", encoding="ascii").read().split()]


@kit.test
def a_request_passes_and_another_does_not():
    world().tls(API)
    with Interceptor() as interceptor:
        box = interceptor.box(f"GET https://{API}/repos/*")
        with box.tls(API) as s:
            kit.equal(s.selected_alpn_protocol(), "http/1.1")
            r = ask(s, "/repos/a?b=c", API)
            kit.equal((r.status, r.body), (200, f"GET /repos/a?b=c from {API}\n"))
            r = ask(s, "/repos/a", API, method="POST")
            kit.equal((r.status, r.fields["x-emberbox-denied"]), (403, "request"))
            kit.equal(denied(r), f"POST https://{API}/repos/a is not allowed; allow it with --net 'POST https://{API}/repos/a'.")
            kit.equal(ask(s, "/repos/b", API).status, 200)
        events = [box.event() for _ in range(3)]
    kit.equal([(e.kind, e.flow, e.allowed, e.reason, e.method, e.path, e.rule) for e in events],
              [(REQUEST, 1, True, "rule", "GET", "/repos/a", f"GET https://{API}/repos/*"),
               (REQUEST, 1, False, "request", "POST", "/repos/a", f"GET https://{API}/repos/*"),
               (REQUEST, 1, True, "rule", "GET", "/repos/b", f"GET https://{API}/repos/*")])


@kit.test
def the_policy_can_change():
    world().tls(API)
    with Interceptor() as interceptor:
        box = interceptor.box(ANY)
        with box.tls(API) as s:
            kit.equal(ask(s, "/x", API, method="POST").status, 200)
            kit.equal(box.event().rule, ANY)
            box.policy(f"GET https://{API}/*")
            kit.equal(ask(s, "/x", API, method="POST").status, 403)
            kit.equal(ask(s, "/x", API).status, 200)
            box.policy("none")
            kit.equal(ask(s, "/x", API).status, 403)


@kit.test
def only_the_name_that_was_asked_for():
    world().tls(API)
    world().tls("other.example.com")
    with Interceptor() as interceptor:
        box = interceptor.box("* https://*.example.com/*")
        for sni, reason in (("other.example.com", "sni"), ("API.example.com.evil.example", "sni"), (None, "no-sni")):
            try:
                box.tls(API, sni=sni).close()
                kit.fail(f"{sni} is taken")
            except ssl.SSLError as error:
                kit.contains(str(error).lower(), "unrecognized")
            event = box.event()
            kit.equal((event.kind, event.allowed, event.reason), (ENDED, False, reason))
        # The control, in capitals; and a hello without a name where a rule says so.
        with box.tls(API, sni="API.Example.COM") as s:
            kit.equal(ask(s, "/", API).status, 200)
            # Fronting by Host.
            r = ask(s, "/", "other.example.com")
            kit.equal((r.status, r.fields["x-emberbox-denied"]), (403, "http"))
        with box.tls(API, sni=None, without_sni=True) as s:
            kit.equal(ask(s, "/", API).status, 200)
        kit.equal([c["sni"] for c in world().connections(first="")], [])


@kit.test
def versions_and_protocols():
    world().tls(API)
    v = ssl.TLSVersion
    with Interceptor() as interceptor:
        box = interceptor.box(ANY)
        for version in (v.TLSv1_2, v.TLSv1_3):
            with box.tls(API, versions=(version, version)) as s:
                kit.equal(s.version(), "TLSv1." + version.name[-1])
                kit.equal(ask(s, "/", API).status, 200)
        for protocols, agreed in ((["h2", "http/1.1"], "http/1.1"), (["http/1.1", "h2"], "http/1.1")):
            with box.tls(API, protocols=protocols) as s:
                kit.equal(s.selected_alpn_protocol(), agreed)
        try:
            box.tls(API, protocols=["h2"])
            kit.fail("h2 alone is taken")
        except ssl.SSLError as error:
            kit.contains(str(error).lower(), "no application protocol")
        events = [box.event() for _ in range(3)]
    kit.equal([(e.kind, e.reason) for e in events], [(REQUEST, "rule"), (REQUEST, "rule"), (ENDED, "http")])


@kit.test
def a_server_without_a_valid_certificate():
    world().tls(API)
    world().tls("wrong.name.test")
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    old.load_cert_chain(world().certificate, world().key)
    old.set_ciphers("ALL:@SECLEVEL=0")
    old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    names = ["wrong.name.test", "old.example.com", "plain.example.com", "closed.example.com"]
    with Interceptor() as interceptor, server("old.example.com", read_head, context=old), \
         server("plain.example.com", lambda s: s.sendall(b"HTTP/1.1 200 OK\r\n\r\n"), context=False), \
         server("closed.example.com", lambda s: None, context=False):
        box = interceptor.box(",".join(f"* https://{name}/*" for name in names))
        got = []
        for name in names:
            with box.tls(name) as s:
                r = ask(s, "/", name)
                got.append((r.status, r.fields["x-emberbox-denied"], r.fields["connection"], denied(r)))
                kit.equal(s.recv(10), b"")
            event = box.event()
            kit.equal((event.kind, event.allowed, event.reason), (REQUEST, False, got[-1][1]))
    kit.equal(got[0], (502, "certificate", "close", "The certificate of wrong.name.test:443 is not valid: hostname mismatch."))
    kit.equal([g[:3] for g in got[1:]], [(502, "unreachable", "close")] * 3)
    for name, g in zip(names[1:], got[1:]):
        kit.matches(g[3], rf"The TLS handshake with {name}:443 failed: .+\.")
    # An authority that the host does not trust.
    with Interceptor(trusts="/etc/ssl/certs/ca-certificates.crt") as interceptor:
        box = interceptor.box(ANY)
        with box.tls(API) as s:
            kit.contains(denied(ask(s, "/", API)), "is not valid: unable to get local issuer certificate.")


@kit.test
def plain_http_on_its_port():
    world().http(API)
    with Interceptor() as interceptor:
        box = interceptor.box(f"{API}:80#terminate", secrets=[secret("TOKEN", "s3cret-value", API)])
        with box.connect(API, 80) as s:
            kit.equal(ask(s, "/x", API).body, f"GET /x from {API}\n")
            r = ask(s, "/x", API, fields=f"Authorization: Bearer {box.secrets[0].placeholder}\r\n")
            kit.equal((r.status, r.fields["x-emberbox-denied"]), (403, "secret"))
        kit.equal([box.event().reason for _ in range(2)], ["rule", "secret"])
        # Not on that of TLS, and nothing that is neither.
        for port, data in ((443, b"GET / HTTP/1.1\r\n"), (443, b"\x80\x2e\x01\x00\x02"), (80, b"\0\0\0\1"), (443, b"SSH-2.0-x\r\n")):
            world().serve("silent", world()._names[API][0], 443)
            with box.connect(API, port) as s:
                s.sendall(data)
                with contextlib.suppress(ConnectionResetError):
                    kit.equal(s.recv(10), b"")
            kit.equal((lambda e: (e.kind, e.reason))(box.event()), (ENDED, "http"))
    kit.true(not any("s3cret" in json.dumps(r) or "ember-secret" in json.dumps(r) for r in world()._seen("request")),
             "a secret or a placeholder went out in clear")


@kit.test
def a_secret_goes_out_and_never_in():
    world().tls(API)
    world().tls("other.example.com")
    token, key = secret("TOKEN", "sk-Zm9v/0123+45", API), secret("KEY", "key-value-9", "*.example.com", header="X-Key", format="Key {}")
    with Interceptor() as interceptor:
        box = interceptor.box(f"{ANY},* https://other.example.com/*", secrets=[token, key])
        with box.tls(API) as s:
            basic = base64.b64encode(f"me:{token.placeholder}".encode()).decode()
            r = ask(s, "/echo", API, fields=f"Authorization: Basic {basic}\r\nX-Other: a{token.placeholder}b\r\n")
        seen = world()._seen("request")[-1]
        kit.equal(seen["fields"]["authorization"], "Basic " + base64.b64encode(b"me:sk-Zm9v/0123+45").decode())
        kit.equal((seen["fields"]["x-other"], seen["fields"]["x-key"]), ("ask-Zm9v/0123+45b", "Key key-value-9"))
        kit.equal(r.status, 200)
        echo = json.loads(r.body)["fields"]
        kit.equal((echo["authorization"], echo["x-other"], echo["x-key"]), ("Basic " + "*" * 24, "a" + "*" * 15 + "b", "Key " + "*" * 11))
        # To another host only what is its own.
        with box.tls("other.example.com") as s:
            r = ask(s, "/echo", "other.example.com", fields=f"X-Other: {token.placeholder}\r\n")
            kit.equal((r.status, r.fields["x-emberbox-denied"]), (403, "secret"))
            kit.contains(denied(r), f"the secret TOKEN, which is not for other.example.com:443; it is only for {API}:443")
            r = ask(s, "/echo", "other.example.com", body="12345", fields="Content-Length: 5\r\n", method="POST")
            kit.equal(json.loads(r.body)["fields"]["x-key"], "Key " + "*" * 11)


@kit.test
def redirects_carry_nothing():
    address = world().serve("redirect:https://other.example.com/", port=443)
    world().name("moved.example.com", address)
    sent = secret("TOKEN", "s3cret-value", "moved.example.com")

    def moved(stream):
        read_head(stream)
        stream.sendall(b"HTTP/1.1 302 Found\r\nLocation: https://other.example.com/?t=s3cret-value\r\nContent-Length: 0\r\n\r\n")

    with Interceptor() as interceptor, server("moved.example.com", moved):
        box = interceptor.box("* https://moved.example.com/*", secrets=[sent])
        with box.tls("moved.example.com") as s:
            r = ask(s, "/", "moved.example.com", fields=f"Authorization: {sent.placeholder}\r\n")
    kit.equal((r.status, r.fields["location"]), (302, "https://other.example.com/?t=************"))


@kit.test
def web_sockets_pass():
    def answer(stream):
        head = read_head(stream)
        kit.contains(head.decode(), "\r\nUpgrade: websocket\r\n")
        stream.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x05hello")
        while data := stream.recv(65536):
            stream.sendall(data)

    with Interceptor() as interceptor, server("ws.example.com", answer):
        box = interceptor.box("GET https://ws.example.com/chat")
        with box.tls("ws.example.com") as s:
            asked = "GET {} HTTP/1.1\r\nHost: ws.example.com\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
            s.sendall(asked.format("/other").encode())
            kit.equal(read_response(s).status, 403)
            s.sendall(asked.format("/chat").encode())
            data = b""
            while not data.endswith(b"\r\n\r\n\x81\x05hello"):
                data += s.recv(65536)
            kit.true(data.startswith(b"HTTP/1.1 101 "), data)
            for message in (b"\x81\x03abc", b"x" * 100000):
                s.sendall(message)
                got = b""
                while len(got) < len(message):
                    got += s.recv(65536)
                kit.equal(got, message)


@kit.test
def large_bodies_stream():
    size = 20 << 20

    def answer(stream):
        data = read_head(stream)
        head, _, body = data.partition(b"\r\n\r\n")
        if head.startswith(b"PUT"):
            got = len(body)
            while got < size:
                got += len(stream.recv(1 << 16))
            stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            read_head(stream)
        stream.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode())
        for _ in range(size >> 16):
            stream.sendall(b"d" * (1 << 16))

    with Interceptor() as interceptor, server("big.example.com", answer):
        box = interceptor.box("* https://big.example.com/*", secrets=[secret("TOKEN", "ddddddde", "big.example.com")])
        with box.tls("big.example.com") as s:
            s.sendall(f"PUT / HTTP/1.1\r\nHost: big.example.com\r\nContent-Length: {size}\r\n\r\n".encode())
            for _ in range(size >> 16):
                s.sendall(b"u" * (1 << 16))
            kit.equal(read_response(s).body, "ok")
            s.sendall(b"GET / HTTP/1.1\r\nHost: big.example.com\r\n\r\n")
            data = b""
            while b"\r\n\r\n" not in data:
                data += s.recv(65536)
            # Nobody reads for a while: what is held is bounded, by us and by the sockets.
            process, = children(interceptor.pid)
            kit.eventually(lambda: waits(process), "the interceptor does not come to rest")
            kit.true(resident(process) < 12 << 20, f"{resident(process)} bytes")
            got = len(data.partition(b"\r\n\r\n")[2])
            while got < size:
                got += len(s.recv(1 << 16))
            kit.equal(got, size)
            kit.true(resident(process) < 12 << 20, f"{resident(process)} bytes")


def resident(pid):
    return int(open(f"/proc/{pid}/statm", encoding="ascii").read().split()[1]) * 4096


def waits(pid, spent=[None]):
    """It has used no processor time since the last look."""
    fields = open(f"/proc/{pid}/stat", encoding="ascii").read().rpartition(")")[2].split()
    now = (fields[0], fields[11], fields[12])
    before, spent[0] = spent[0], now
    return before == now and fields[0] == "S"


@kit.test
def an_answer_that_is_cut_off_is_no_answer():
    def cut(stream):
        head = read_head(stream)
        if b"/length" in head:
            stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        elif b"/end" in head:
            stream.sendall(b"HTTP/1.1 200 OK\r\n\r\nhalf")
        stream.shutdown(socket.SHUT_WR)  # without a goodbye of TLS

    with Interceptor() as interceptor, server("cut.example.com", cut):
        box = interceptor.box("* https://cut.example.com/*")
        for path in ("/length", "/end", "/nothing"):
            with box.tls("cut.example.com") as s:
                s.sendall(f"GET {path} HTTP/1.1\r\nHost: cut.example.com\r\n\r\n".encode())
                data = b""
                try:
                    while more := s.recv(65536):
                        data += more
                    kit.fail(f"{path}: a clean end behind {data!r}")
                except OSError:
                    pass
                kit.equal(data.endswith(b"half"), path != "/nothing")
            kit.equal([(e.kind, e.allowed, e.reason) for e in (box.event(), box.event())],
                      [(REQUEST, True, "rule"), (ENDED, False, "rule")])


@kit.test
def an_end_is_announced():
    world().tls(API)
    with Interceptor() as interceptor:
        box = interceptor.box(ANY)
        with box.tls(API) as s:
            kit.equal(ask(s, "/", API, fields="Connection: close\r\n").status, 200)
            kit.equal(s.recv(10), b"")
            # It is there before the end can be seen.
            box.channel.setblocking(False)
            kit.equal([(e.kind, e.allowed) for e in (box.any_event(), box.any_event())], [(REQUEST, True), (ENDED, True)])


@kit.test
def each_box_has_a_process_of_its_own():
    world().tls(API)
    with Interceptor() as interceptor:
        boxes = [interceptor.box(ANY, secrets=[secret("TOKEN", f"value-of-box-{i}-" + "x" * 9, API)]) for i in (1, 2)]
        for box in boxes:
            with box.tls(API) as s:
                kit.equal(ask(s, "/", API, fields=f"A: {box.secrets[0].placeholder}\r\n").status, 200)
        processes = children(interceptor.pid)
        kit.equal(len(processes), 2)
        found = [[text in memory(pid) for text in (b"value-of-box-1-", b"value-of-box-2-")] for pid in [interceptor.pid, *processes]]
        kit.equal(found, [[False, False], [True, False], [False, True]])
        for pid in processes:
            status = dict(line.split(":\t", 1) for line in open(f"/proc/{pid}/status", encoding="ascii").read().splitlines() if ":\t" in line)
            kit.equal((status["Seccomp"], status["NoNewPrivs"]), ("2", "1"))
            links = sorted(os.readlink(f"/proc/{pid}/fd/{fd}").split(":")[0] for fd in os.listdir(f"/proc/{pid}/fd") if int(fd) > 2)
            kit.equal(links, ["anon_inode", "socket"])
            limits = open(f"/proc/{pid}/limits", encoding="ascii").read()
            kit.matches(limits, r"(?s).*Max core file size +0 +0 .*Max processes +0 +0 ")
        boxes[0].close()
        kit.eventually(lambda: children(interceptor.pid) == processes[1:], "the process of a box outlives it")


def memory(pid):
    """All that can be written."""
    found = b""
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as file:
        for line in maps:
            span, permissions = line.split()[:2]
            if permissions.startswith("rw"):
                start, end = (int(part, 16) for part in span.split("-"))
                file.seek(start)
                found += file.read(end - start)
    return found


@kit.test
def a_broken_message_ends_the_box_alone():
    world().tls(API)
    with Interceptor() as interceptor:
        kept = interceptor.box(ANY)
        for data in (b"", b"x", b"\x09\0\0\0" * 40, b"\x01\0\0\0" + b"\xff" * 8, b"\x02\0\0\0" + b"\0" * 264,
                     b"\x01\0\0\0\x05\0\0\0\0\0\0\0rules"):
            box = interceptor.box(ANY)
            box.channel.send(data)
            kit.equal(box.channel.recv(100), b"", f"{data[:20]!r}")
        with kept.tls(API) as s:
            kit.equal(ask(s, "/", API).status, 200)


kit.main()
