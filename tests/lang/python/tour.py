"""What the standard library can do in a box; each part checks itself."""
import asyncio
import collections
import concurrent.futures
import csv
import dataclasses
import datetime
import decimal
import enum
import functools
import hashlib
import heapq
import http.client
import http.server
import io
import itertools
import json
import multiprocessing
import os
import pathlib
import re
import shutil
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import unicodedata
import zlib
import zoneinfo


def check(got, want):
    assert got == want, f"{got!r} is not {want!r}"


def files():
    with tempfile.TemporaryDirectory() as place:
        path = pathlib.Path(place) / "a" / "b.txt"
        path.parent.mkdir()
        path.write_text("é\nb\n", encoding="utf-8")
        check(path.stat().st_size, 5)
        with path.open(encoding="utf-8") as file:
            check([line.rstrip() for line in file], ["é", "b"])
        os.symlink(path, path.with_suffix(".link"))
        check(path.with_suffix(".link").read_bytes(), b"\xc3\xa9\nb\n")
        check(sorted(p.name for p in path.parent.iterdir()), ["b.link", "b.txt"])
        shutil.copytree(path.parent, pathlib.Path(place) / "c")
        check(sorted(p.relative_to(place).as_posix() for p in pathlib.Path(place).rglob("*.txt")), ["a/b.txt", "c/b.txt"])
    check(os.path.exists(place), False)
    table = io.StringIO()
    csv.writer(table).writerows([["a", "b,c"], [1, 'd"e']])
    check(list(csv.reader(io.StringIO(table.getvalue()))), [["a", "b,c"], ["1", 'd"e']])


def text():
    found = re.search(r"(?P<key>\w+)\s*=\s*(?P<value>[^;]+);", "  name = Ember ; rest")
    check(found.groupdict(), {"key": "name", "value": "Ember "})
    check(re.sub(r"(\d+)", lambda m: str(int(m[1]) * 2), "a1 b22"), "a2 b44")
    check(unicodedata.normalize("NFD", "é"), "e\u0301")
    check("ß".upper(), "SS")
    check(f"{3.14159:.2f}|{42:>5}|{255:#x}", "3.14|   42|0xff")


def data():
    check(json.loads(json.dumps({"a": [1, 2.5, None, True, "é"]})), {"a": [1, 2.5, None, True, "é"]})
    check(hashlib.sha256(b"ember").hexdigest()[:16], hashlib.new("sha256", b"ember").hexdigest()[:16])
    check(zlib.decompress(zlib.compress(b"x" * 1000)), b"x" * 1000)
    with sqlite3.connect(":memory:") as db:
        db.execute("create table t(a, b)")
        db.executemany("insert into t values (?, ?)", [(1, "x"), (2, "y"), (3, "x")])
        check(db.execute("select b, sum(a) from t group by b order by b").fetchall(), [("x", 4), ("y", 2)])


def numbers():
    check(decimal.Decimal("0.1") + decimal.Decimal("0.2"), decimal.Decimal("0.3"))
    check(2**200 % 1000007, pow(2, 200, 1000007))
    check(statistics.median([3, 1, 2]), 2)
    heap = [5, 3, 8]
    heapq.heapify(heap)
    check([heapq.heappop(heap) for _ in range(3)], [3, 5, 8])


def types():
    @dataclasses.dataclass(order=True)
    class Point:
        x: int
        y: int = 0

    class Color(enum.Enum):
        RED = 1

    check(max(Point(1), Point(0, 9)), Point(1, 0))
    check(Color(1).name, "RED")
    check(collections.Counter("hello").most_common(1), [("l", 2)])
    check(list(itertools.accumulate([1, 2, 3])), [1, 3, 6])
    fib = functools.lru_cache(lambda n: n if n < 2 else fib(n - 1) + fib(n - 2))
    check(fib(80), 23416728348467685)


def dates():
    day = datetime.datetime(2024, 2, 28, 23, 59, 59, tzinfo=datetime.timezone.utc)
    check((day + datetime.timedelta(seconds=1)).isoformat(), "2024-02-29T00:00:00+00:00")
    check(day.strftime("%a %d %b %Y"), "Wed 28 Feb 2024")
    check(datetime.date.fromisoformat("2024-12-30").isocalendar()[:2], (2025, 1))
    check(day.astimezone(zoneinfo.ZoneInfo("UTC")), day)
    check(time.strftime("%Y", time.gmtime(0)), "1970")


def square(n):
    return n * n


def threads():
    lock, total = threading.Lock(), [0]

    def add():
        for _ in range(1000):
            with lock:
                total[0] += 1

    workers = [threading.Thread(target=add) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    check(total, [4000])
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        check(list(pool.map(square, range(5))), [0, 1, 4, 9, 16])


def processes():
    check(subprocess.run(["/bin/sh", "-c", "cat; exit 3"], input=b"in", capture_output=True).returncode, 3)
    check(subprocess.check_output([sys.executable, "-c", "print(6 * 7)"], text=True), "42\n")
    with multiprocessing.Pool(2) as pool:
        check(pool.map(square, [1, 2, 3]), [1, 4, 9])


def sockets():
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(self.path.encode())

        def log_message(self, *arguments):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        client = http.client.HTTPConnection("localhost", server.server_port, timeout=10)
        client.request("GET", "/ember")
        check(client.getresponse().read(), b"/ember")
        client.close()
        server.shutdown()
    left, right = socket.socketpair()
    left.sendall(b"pair")
    check(right.recv(10), b"pair")
    left.close()
    right.close()


async def echo(reader, writer):
    writer.write((await reader.readline()).upper())
    await writer.drain()
    writer.close()


async def asynchronous():
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b"async\n")
        check(await reader.read(), b"ASYNC\n")
        writer.close()
    check(await asyncio.gather(*(asyncio.sleep(0, n) for n in range(3))), [0, 1, 2])


if __name__ == "__main__":
    for part in (files, text, data, numbers, types, dates, threads, processes, sockets):
        part()
    asyncio.run(asynchronous())
    print("tour ok")
