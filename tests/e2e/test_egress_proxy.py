#!/usr/bin/python3
"""Egress behind the host's proxy: CONNECT for every connection but those that NO_PROXY names."""
# tests/run: args=--as root
# tests/run: builds=release asan
# tests/run: timeout=240

import contextlib
import os
import select
import socket
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from egress import NOERROR, NXDOMAIN, Keeper, expect_refused, read_all
from world import GATEWAY, _socket_in, world

OK = b"HTTP/1.1 200 Connection established\r\nX-Proxy: yes\r\n\r\n"


class Proxy:
    """In the world's namespace. It knows where names lead, which the world's resolver need not, and what was asked."""

    def __init__(self, names, answer=OK, greeting=b""):
        self.names, self.answer, self.greeting, self.heads = names, answer, greeting, []
        self.listener = _socket_in(world().outside.path, socket.AF_INET, socket.SOCK_STREAM)
        self.listener.bind((GATEWAY, 0))
        self.listener.listen(64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    @property
    def targets(self):
        return [head.split()[1].decode() for head in self.heads]

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=(self.listener.accept()[0],), daemon=True).start()

    def _serve(self, client):
        with client, contextlib.suppress(OSError):
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += client.recv(1)
            self.heads.append(head)
            if not self.answer.startswith(b"HTTP/1.1 200"):
                client.sendall(self.answer)
                return
            host, _, port = head.split()[1].decode().rpartition(":")
            server = _socket_in(world().outside.path, socket.AF_INET, socket.SOCK_STREAM)
            with server:
                server.connect((self.names.get(host, host), int(port)))
                client.sendall(self.answer + self.greeting)
                both = {client: server, server: client}
                while both:
                    for s in select.select(list(both), [], [], 20)[0]:
                        data = s.recv(65536)
                        if data:
                            both_of(s, client, server).sendall(data)
                        else:
                            both_of(s, client, server).shutdown(socket.SHUT_WR)
                            del both[s]


def both_of(one, client, server):
    return server if one is client else client


def behind(proxy, **env):
    return Keeper(env={"HTTPS_PROXY": f"http://us%65r:pass@{GATEWAY}:{proxy.port}/", **env})


@kit.test
def a_name_goes_to_the_proxy_and_nobody_else_is_asked():
    """The world's resolver does not know it: where there is a proxy there is often none that does."""
    address = world().serve("http", port=8080)
    before = len(world().queries())
    with Proxy({"inside.proxy.test": address}) as proxy, behind(proxy) as keeper:
        box = keeper.open("inside.proxy.test:8080")
        kit.equal(box.ask("other.proxy.test").code, NXDOMAIN)
        kit.equal(box.ask("inside.proxy.test").code, NOERROR)
        data = box.get("inside.proxy.test", 8080)
        kit.contains(data, b"200 OK")
        report = box.finish()
    kit.equal(proxy.heads, [b"CONNECT inside.proxy.test:8080 HTTP/1.1\r\nHost: inside.proxy.test:8080\r\n"
                            b"Proxy-Authorization: Basic dXNlcjpwYXNz\r\n\r\n"])
    kit.equal(world().queries()[before:], [])
    kit.equal([(c.host, c.address, c.allowed, c.reason, c.received) for c in report.connections[1:]],
              [("inside.proxy.test", "", True, "rule", len(data))])


@kit.test
def what_the_server_says_first_is_not_lost():
    """In one piece with the answer of the proxy, which is not part of the stream."""
    address = world().serve("silent", port=25)
    with Proxy({"mail.proxy.test": address}, greeting=b"220 hello\r\n") as proxy, behind(proxy) as keeper:
        box = keeper.open("mail.proxy.test:25")
        with box.connect("mail.proxy.test", 25) as s:
            kit.equal(s.recv(100), b"220 hello\r\n")
        report = box.finish()
    kit.equal([c.received for c in report.connections], [11])


@kit.test
def tls_is_looked_at_as_always():
    address = world().serve("tls", port=443)
    import ssl

    with Proxy({"tls.example.com": address}) as proxy, behind(proxy) as keeper:
        box = keeper.open("tls.example.com")
        context = ssl.create_default_context(cafile=world().authority)
        with context.wrap_socket(box.connect("tls.example.com", 443), server_hostname="tls.example.com") as s:
            s.sendall(b"GET / HTTP/1.0\r\nConnection: close\r\n\r\n")
            kit.contains(read_all(s), b"200 OK")
        context.check_hostname = False
        with contextlib.suppress(ConnectionResetError):
            context.wrap_socket(box.connect("tls.example.com", 443), server_hostname="other.example.com")
            kit.fail("another name went through")
        kit.equal([(c.reason, c.level) for c in box.finish().connections], [("rule", "sni"), ("sni", "name")])


@kit.test
def no_proxy_names_what_is_reached_directly():
    direct = world().http("direct.example.com", 8080)
    proxied = world().http("proxied.example.com", 8080)
    with Proxy({}) as proxy, behind(proxy, NO_PROXY="direct.example.com,10.0.0.0/8") as keeper:
        proxy.names["proxied.example.com"] = proxied
        box = keeper.open("*.example.com:8080")
        kit.contains(box.get("direct.example.com", 8080), b"200 OK")
        kit.contains(box.get("proxied.example.com", 8080), b"200 OK")
        report = box.finish()
    kit.equal(proxy.targets, ["proxied.example.com:8080"])
    kit.equal([c.address for c in report.connections], [direct, ""])


@kit.test
def public_names_are_checked_before_the_proxy_hears_of_them():
    address = world().http("api.example.com", 8080)
    world().name("inside.example.com", "10.1.2.3")
    with Proxy({}) as proxy, behind(proxy) as keeper:
        box = keeper.open("public")
        kit.contains(box.get("api.example.com", 8080), b"200 OK")
        with box.connect(address, 8080) as s:
            s.sendall(b"GET / HTTP/1.0\r\nConnection: close\r\n\r\n")
            kit.contains(read_all(s), b"200 OK")
        expect_refused(box, "inside.example.com", 8080)
        report = box.finish()
    kit.equal(proxy.targets, [f"{address}:8080", f"{address}:8080"])
    kit.equal([(c.address, c.reason) for c in report.connections],
              [(address, "rule"), (address, "rule"), ("10.1.2.3", "scope")])


@kit.test
def addresses_that_are_not_public_are_reached_directly():
    world().address("10.1.2.9")
    world().serve("http", "10.1.2.9", 8080)
    world().serve("http", "127.0.0.1", 8098, on_machine=True)
    with Proxy({}) as proxy, behind(proxy) as keeper:
        box = keeper.open("10.1.2.9:8080", "host:8098", host_allowed=1)
        with box.connect("10.1.2.9", 8080) as s:
            s.sendall(b"GET / HTTP/1.0\r\nConnection: close\r\n\r\n")
            kit.contains(read_all(s), b"200 OK")
        kit.contains(box.get("host", 8098), b"200 OK")
        box.finish()
    kit.equal(proxy.heads, [])


@kit.test
def a_proxy_that_refuses_or_babbles_is_an_unreachable_server():
    for answer in (b"HTTP/1.1 403 Forbidden\r\n\r\n", b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", b"220 hello\r\n", b"",
                   b"HTTP/1.1 2", b"HTTP/1.1 204" + b"x" * 9000):
        with Proxy({}, answer=answer) as proxy, behind(proxy) as keeper:
            box = keeper.open("inside.proxy.test:8080")
            expect_refused(box, "inside.proxy.test", 8080)
            kit.equal([(c.allowed, c.reason) for c in box.finish().connections], [(False, "unreachable")], answer)
            kit.equal(len(proxy.heads), 1)


@kit.test
def a_proxy_has_a_name_too():
    world().name("proxy.example.net", GATEWAY)
    address = world().serve("http", port=8080)
    with Proxy({"inside.proxy.test": address}) as proxy:
        for name, works in (("proxy.example.net", True), ("nowhere.example.net", False)):
            with Keeper(env={"https_proxy": f"{name}:{proxy.port}", "HTTPS_PROXY": "ignored:1"}) as keeper:
                box = keeper.open("inside.proxy.test:8080")
                if works:
                    kit.contains(box.get("inside.proxy.test", 8080), b"200 OK")
                else:
                    expect_refused(box, "inside.proxy.test", 8080)
                # The proxy's own name is none of the box's.
                kit.equal(box.ask(name).code, NXDOMAIN)
                box.finish()


@kit.test
def half_closed_connections_stay_so():
    address = world().serve("half", port=7)
    with Proxy({"half.proxy.test": address}) as proxy, behind(proxy) as keeper:
        box = keeper.open("half.proxy.test:7")
        with box.connect("half.proxy.test", 7) as s:
            kit.equal(read_all(s), b"over")
            s.sendall(b"y" * 100000)
        kit.eventually(lambda: world().connections(address=address), "the server saw no end")
        kit.equal(world().connections(address=address)[0]["first"], 100000)


kit.main()
