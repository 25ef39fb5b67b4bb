"""One server of tests/lib/world.py: `world_server.py KIND ADDRESS PORT LOG CERTIFICATE KEY`. Says "ready" when it listens.

What it sees goes to LOG, a line of JSON each; lines of different servers never mix, because each is one write().
"""

import json
import os
import socket
import ssl
import struct
import sys
import threading
import time

KIND, ADDRESS, PORT, LOG, CERTIFICATE, KEY = sys.argv[1:7]
PORT = int(PORT)
log_file = os.open(LOG, os.O_WRONLY | os.O_APPEND)


def log(kind, **members):
    os.write(log_file, (json.dumps({"kind": kind, **members}) + "\n").encode())


def packets():
    """Every destination of what comes in by the veth, once."""
    s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.ntohs(3))
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    s.bind(("in", 3))
    print("ready", flush=True)
    seen = set()
    while True:
        data, where = s.recvfrom(65535)
        if where[2] == 4:  # our own
            continue
        to = destination(data, where[1])
        if to and to not in seen:
            seen.add(to)
            log("packet", to=to)


def destination(data, protocol):
    names = {1: "icmp", 6: "tcp", 17: "udp"}
    if protocol == 0x0800 and len(data) >= 20:
        size, what = (data[0] & 15) * 4, data[9]
        address = socket.inet_ntop(socket.AF_INET, data[16:20])
    elif protocol == 0x86DD and len(data) >= 40:
        size, what = 40, data[6]
        address = socket.inet_ntop(socket.AF_INET6, data[24:40])
        if what in (0, 58):  # neighbours and multicast are the kernel's own
            return None
    else:
        return None
    port = struct.unpack("!H", data[size + 2 : size + 4])[0] if what in (6, 17) and len(data) >= size + 4 else 0
    return (names.get(what, str(what)), address, port)


def answer(stream, first, secure):
    """HTTP/1.1 for one request after the other."""
    data = first
    while True:
        while b"\r\n\r\n" not in data:
            more = stream.recv(65536)
            if not more:
                return
            data += more
        head, _, data = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        method, target = (lines[0].split(" ") + ["", ""])[:2]
        fields = {k.strip().lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:])}
        size = int(fields.get("content-length", 0))
        while len(data) < size:
            data += stream.recv(65536)
        body, data = data[:size], data[size:]
        log("request", method=method, target=target, fields=fields, body=body.decode("latin-1"), secure=secure)
        if KIND.startswith("redirect:"):
            reply = b""
            status = f"302 Found\r\nLocation: {KIND[9:]}"
        elif target.startswith("/bytes/"):
            reply, status = b"x" * int(target[7:]), "200 OK"
        elif target == "/echo":
            reply, status = json.dumps({"fields": fields, "body": body.decode("latin-1")}).encode(), "200 OK"
        else:
            reply, status = f"{method} {target} from {fields.get('host', '')}\n".encode(), "200 OK"
        stream.sendall(f"HTTP/1.1 {status}\r\nContent-Length: {len(reply)}\r\nContent-Type: text/plain\r\n\r\n".encode() + reply)
        if fields.get("connection", "").lower() == "close":
            return


def serve(connection, peer):
    entry = {"address": ADDRESS, "port": PORT, "peer": peer[0], "sni": None, "first": ""}
    stream = connection
    try:
        if KIND in ("tls", "tls-retry"):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(CERTIFICATE, KEY)
            if KIND == "tls-retry":  # a group that no client sends a share of at first: TLS 1.3 asks for another hello
                context.set_ecdh_curve("secp521r1")
            context.sni_callback = lambda _, name, __: entry.update(sni=name)
            context.set_alpn_protocols(["http/1.1"])
            stream = context.wrap_socket(connection, server_side=True)
        if KIND == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            log("connection", **entry)
            return
        if KIND == "greet":
            stream.sendall(b"220 hello\r\n")
        if KIND == "half":  # sends no more, and counts what it gets
            stream.sendall(b"over")
            stream.shutdown(socket.SHUT_WR)
            entry["first"] = sum(map(len, iter(lambda: stream.recv(65536), b"")))
            log("connection", **entry)
            return
        if KIND == "flood":
            log("connection", **entry)
            while True:
                stream.sendall(b"x" * 65536)
        if KIND == "silent":
            log("connection", **entry)
            while stream.recv(65536):
                pass
            return
        first = stream.recv(65536)
        entry["first"] = first[:200].decode("latin-1")
        log("connection", **entry)
        if KIND in ("http", "tls", "tls-retry") or KIND.startswith("redirect:"):
            answer(stream, first, KIND == "tls")
        elif KIND == "slow":
            for byte in first:
                stream.sendall(bytes([byte]))
                time.sleep(0.05)
        else:
            while first:
                stream.sendall(first)
                first = stream.recv(65536)
    except (OSError, ValueError) as error:
        log("error", address=ADDRESS, port=PORT, error=str(error), sni=entry["sni"])
    finally:
        stream.close()


def main():
    if KIND == "packets":
        packets()
    listener = socket.socket(socket.AF_INET6 if ":" in ADDRESS else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((ADDRESS, PORT))
    listener.listen(1024)
    print("ready", flush=True)
    while True:
        connection, peer = listener.accept()
        threading.Thread(target=serve, args=(connection, peer), daemon=True).start()


main()
