"""Many clients of the HTTP API at once, in one process: most mean well, a tenth do not.

    mix = Mix(("127.0.0.1", port), socket_path, token, seed=1)
    mix.go(clients=200, seconds=60)
    mix.problems, mix.answered, mix.abandoned

Every run prints a token that no other run has (soak/kinds.py), so that an answer which is another's is seen. What was
answered, and which runs were left by their clients, is kept by id: history has to have exactly these.

Cold runs load a seccomp filter each, and some kernels stall when filters are loaded and freed by the thousand: only
languages with embers are run, the clients slow down while many runs are cold, and stop after `cold_most`.
"""

import asyncio
import collections
import json
import os
import random
import re
import secrets
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "soak"))
import kinds  # noqa: E402

DEADLINE = 60.0  # seconds that any client waits for an answer
COLD_SHARE = 0.05  # of the last 200 runs: above it the clients slow down…
COLD_PAUSE = 0.5  # …by so many seconds for each cold run
PROBLEMS_MOST = 50  # then it is known that something is wrong
TOKENS = re.compile(r"tok[0-9a-f]{16}")
WARM = ("python", "bash")  # languages with embers
CHANGED_LIMITS = ("memory hog", "disk filler")  # an ember has those that are usual
TOO_LARGE = (64 << 20) + 1


class Gone(Exception):
    """The connection ended without (all of) an answer."""


class Answer:
    def __init__(self, status, headers, body=b""):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)


class Link:
    """One connection. Reads answers as strictly as it needs them."""

    def __init__(self, reader, writer, token):
        self.reader, self.writer, self.token = reader, writer, token

    def head(self, method, path, size=None, token=None, **fields):
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {token or self.token}"]
        lines += [f"Content-Length: {size}"] if size is not None else []
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
        return "\r\n".join([*lines, "", ""]).encode()

    def execute(self, request, **fields):
        body = json.dumps(request).encode()
        return self.head("POST", "/v1/execute", len(body), **fields) + body

    async def send(self, data):
        self.writer.write(data)
        await self.writer.drain()

    async def answer_head(self):
        try:
            text = await self.reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as error:
            raise Gone(f"the connection ended after {error.partial[:80]!r}") from error
        first, *lines = text.decode("latin-1").split("\r\n")[:-2]
        return Answer(int(first.split()[1]), dict((name.lower(), value.strip()) for name, _, value in
                                                  (line.partition(":") for line in lines)))

    async def exactly(self, size):
        try:
            return await self.reader.readexactly(size)
        except asyncio.IncompleteReadError as error:
            raise Gone("the connection ended in the middle of an answer") from error

    async def answer(self):
        found = await self.answer_head()
        found.body = await self.exactly(int(found.headers["content-length"]))
        return found

    async def chunk(self):
        line = await self.reader.readline()
        if not line:
            raise Gone("the connection ended in the middle of a stream")
        data = await self.exactly(int(line, 16))
        await self.exactly(2)
        return data

    async def event(self):
        """(name, object); None at the end. A chunk is an event, here."""
        while True:
            chunk = await self.chunk()
            if not chunk:
                return None
            if chunk.startswith(b":"):
                continue
            name, _, data = chunk.decode().rstrip("\n").partition("\n")
            return name.removeprefix("event: "), json.loads(data.removeprefix("data: "))

    async def get(self, path):
        await self.send(self.head("GET", path))
        return await self.answer()

    def abort(self):
        self.writer.transport.abort()

    async def close(self):
        self.writer.close()
        try:
            await self.writer.wait_closed()
        except OSError:
            pass


class Mix:
    def __init__(self, address, path, token, seed, hostile=0.1, cold_most=200):
        self.address, self.path, self.token = address, path, token
        self.random = random.Random(seed)
        self.hostile, self.cold_most = hostile, cold_most
        self.good = [kind for kind in kinds.installed(kinds.GOOD) if kind.language in WARM]
        self.bad = [kind for kind in kinds.installed(kinds.HOSTILE)
                    if kind.language in WARM and kind.name not in CHANGED_LIMITS]
        self.asked = 0  # requests begun that are to be answered
        self.heard = 0  # and were
        self.answered = {}  # id: (status, token) of every result that came
        self.abandoned = set()  # ids of runs whose client left
        self.unknown = 0  # runs whose client left without knowing the id
        self.counts = collections.Counter()  # by what was done
        self.starts = collections.Counter()  # warm, cold
        self.recent = collections.deque(maxlen=200)  # whether each was cold
        self.seconds = []  # that good runs took
        self.problems = []
        self.stop_reason = None
        self.end = 0.0

    # Judging

    def problem(self, text):
        self.problems.append(text)
        if len(self.problems) >= PROBLEMS_MOST:
            self.stop_reason = "too much is wrong"

    def want(self, what, found, status, code=None):
        got = found.json.get("error", {}).get("code") if code else None
        if found.status != status or got != code:
            self.problem(f"{what}: {found.status} {found.body[:200]!r}, not {status} {code or ''}")

    async def judge(self, kind, token, result):
        wrong = kinds.wrong(kind, token, result)
        if wrong:
            self.problem(f"{kind.name}: {wrong}")
        strangers = set(TOKENS.findall(result["stdout"] + result["stderr"])) - {token}
        if strangers:
            self.problem(f"{kind.name}: heard the output of another run: {sorted(strangers)[:3]}")
        if result["id"] in self.answered:
            self.problem(f"{kind.name}: the id {result['id']} was another's")
        self.answered[result["id"]] = (result["status"], token)
        self.heard += 1
        start = result["meta"]["start"]
        self.starts[start] += 1
        self.recent.append(start == "cold")
        if self.starts["cold"] >= self.cold_most:
            self.stop_reason = f"{self.starts['cold']} cold runs are enough"
        if start == "cold" and sum(self.recent) > COLD_SHARE * 200:
            await asyncio.sleep(COLD_PAUSE)

    # Clients that mean well; `link` is theirs until they close it

    async def connect(self):
        if self.path and self.random.random() < 0.2:
            return Link(*await asyncio.open_unix_connection(self.path, limit=1 << 20), self.token)
        return Link(*await asyncio.open_connection(*self.address, limit=1 << 20), self.token)

    def chosen(self, pool):
        kind, token = self.random.choice(pool), "tok" + secrets.token_hex(8)
        self.asked += 1
        return kind, token, kinds.request(kind, token)

    async def finish(self, link, kind, token):
        found = await link.answer()
        if found.status != 200:
            self.problem(f"{kind.name}: {found.status} {found.body[:200]!r}")
            return
        if found.headers.get("x-execution-id") != found.json["id"]:
            self.problem(f"{kind.name}: the head names another run")
        await self.judge(kind, token, found.json)

    async def plain(self, link, pool):
        kind, token, request = self.chosen(pool)
        await link.send(link.execute(request))
        await self.finish(link, kind, token)

    async def pipelined(self, link, pool):
        first, second = self.chosen(pool), self.chosen(pool)
        await link.send(link.execute(first[2]) + link.head("GET", "/v1/health") + link.execute(second[2]))
        await self.finish(link, *first[:2])
        self.want("health", await link.answer(), 200)
        await self.finish(link, *second[:2])

    async def chunked(self, link, pool):
        kind, token, request = self.chosen(pool)
        body, cut = json.dumps(request).encode(), self.random.randrange(1, 20)
        parts = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:cut], body[cut:]))
        await link.send(link.head("POST", "/v1/execute", Transfer_Encoding="chunked") + parts + b"0\r\n\r\n")
        await self.finish(link, kind, token)

    async def in_pieces(self, link, pool):
        kind, token, request = self.chosen(pool)
        data = link.execute(request)
        for at in range(0, len(data), 37):
            await link.send(data[at:at + 37])
            await asyncio.sleep(0.002)
        await self.finish(link, kind, token)

    async def streamed(self, link, pool):
        kind, token, request = self.chosen(pool)
        await link.send(link.execute(request, Accept="text/event-stream"))
        head = await link.answer_head()
        if head.status != 200:
            self.problem(f"{kind.name}, streamed: {head.status}")
            raise Gone("no stream")
        parts, last = {"stdout": "", "stderr": ""}, None
        while (event := await link.event()) is not None:
            if event[0] in parts:
                parts[event[0]] += event[1]["text"]
            last = event
        if last is None or last[0] != "result":
            self.problem(f"{kind.name}, streamed: the last event is {str(last)[:200]}")
            return
        # Of more than is kept the result has the beginning and the end.
        shown = last[1]["stdout"][:1024] if last[1]["truncated"] else last[1]["stdout"]
        if not parts["stdout"].startswith(shown) or head.headers["x-execution-id"] != last[1]["id"]:
            self.problem(f"{kind.name}, streamed: not what the result says: {parts['stdout'][:80]!r}")
        await self.judge(kind, token, last[1])

    async def asks(self, link, pool):
        self.want("languages", await link.get("/v1/languages"), 200)
        self.want("executions", await link.get("/v1/executions?limit=3"), 200)
        self.want("containers", await link.get("/containers"), 200)

    # Clients that do not

    async def wrong_token(self, link):
        if self.is_local(link):
            return
        for token in ("x" * 47, "", self.token[:-1]):
            await link.send(link.head("GET", "/v1/executions", token=token or "-"))
            self.want("a wrong token", await link.answer(), 401, "unauthorized")

    async def bad_json(self, link):
        for body in (b'{"language":', b"[]", b'{"language":"python","code":1}', b'{"language":"python","nonsense":1}'):
            await link.send(link.head("POST", "/v1/execute", len(body)) + body)
            self.want("bad JSON", await link.answer(), 400, "bad_request")

    async def half_a_request(self, link):
        data = link.execute({"language": "bash", "code": "echo half"})
        await link.send(data[:self.random.randrange(1, len(data) - 1)])
        link.abort()

    async def slow_head(self, link):
        for byte in link.head("GET", "/v1/health")[:self.random.randrange(10, 60)]:
            await link.send(bytes([byte]))
            await asyncio.sleep(0.01)
        link.abort()

    async def huge_body(self, link):
        await link.send(link.head("POST", "/v1/execute", TOO_LARGE))
        for _ in range(16):
            await link.send(b"x" * 65536)
        self.want("a huge body", await link.answer(), 413, "too_large")
        link.abort()

    async def smuggled(self, link):
        await link.send(link.head("POST", "/v1/execute", 5, Transfer_Encoding="chunked") + b"0\r\n\r\n")
        self.want("two lengths", await link.answer(), 400, "bad_request")
        link.abort()

    async def leave_a_stream(self, link):
        request = {"language": "bash", "code": "echo here; sleep 60", "timeout": 5}
        await link.send(link.execute(request, Accept="text/event-stream"))
        head = await link.answer_head()
        self.abandoned.add(head.headers["x-execution-id"])
        if self.random.random() < 0.7:
            while (event := await link.event()) and event[0] != "stdout":
                pass
        link.abort()

    async def leave(self, link):
        self.unknown += 1
        await link.send(link.execute({"language": "bash", "code": "sleep 60", "timeout": 5}))
        await asyncio.sleep(self.random.random() * 0.05)
        link.abort()

    async def hostile_program(self, link):
        way = self.random.choice((self.plain, self.streamed))
        await way(link, self.bad)

    def is_local(self, link):
        return isinstance(link.writer.get_extra_info("peername"), (str, bytes)) or not link.writer.get_extra_info("peername")

    # All of them

    async def one(self, link):
        """One turn; whether the connection can be used further."""
        if self.random.random() < self.hostile:
            way = self.random.choice((self.wrong_token, self.bad_json, self.half_a_request, self.slow_head, self.huge_body,
                                      self.smuggled, self.leave_a_stream, self.leave, *[self.hostile_program] * 8))
            self.counts[way.__name__] += 1
            await way(link)
        else:
            way = self.random.choice((self.plain, self.plain, self.plain, self.pipelined, self.chunked, self.in_pieces,
                                      self.streamed, self.streamed, self.asks))
            self.counts[way.__name__] += 1
            began = time.monotonic()
            await way(link, self.good)
            self.seconds.append(time.monotonic() - began)
        return not link.writer.is_closing() and self.random.random() < 0.9

    async def client(self):
        link = None
        while time.monotonic() < self.end and not self.stop_reason:
            try:
                link = link or await self.connect()
                if not await asyncio.wait_for(self.one(link), DEADLINE):
                    await link.close()
                    link = None
            except asyncio.TimeoutError:
                self.problem(f"nothing came within {DEADLINE:g} s")
                link.abort()
                link = None
            except (Gone, OSError, asyncio.IncompleteReadError) as error:
                self.problem(f"{type(error).__name__}: {error}")
                if link:
                    link.abort()
                link = None
        if link:
            await link.close()

    async def _go(self, clients):
        await asyncio.gather(*(self.client() for _ in range(clients)))

    def go(self, clients, seconds):
        self.end = time.monotonic() + seconds
        asyncio.run(self._go(clients))

    async def _first(self):
        link = await self.connect()
        for kind in self.good + self.bad:
            await self.plain(link, [kind])
            await self.streamed(link, [kind])
        await link.close()

    def first(self):
        """Every kind once or twice, alone, so that what is made once is there."""
        asyncio.run(self._first())

    def percentile(self, share):
        return sorted(self.seconds)[int(share * (len(self.seconds) - 1))] if self.seconds else 0.0

    # Afterwards

    async def _history(self):
        link, before, rows = await self.connect(), None, []
        while True:
            found = await link.get("/v1/executions?limit=1000" + (f"&before={before}" if before else ""))
            page = found.json
            rows += page["executions"]
            before = page.get("next")
            if not before or not page["executions"]:
                break
        await link.close()
        return rows

    def history_problems(self, seconds=30.0):
        """What is wrong with the history: it lacks a run that was answered, or has one that nobody asked for."""
        end = time.monotonic() + seconds
        while True:
            rows = asyncio.run(self._history())
            ids = {row["id"] for row in rows}
            waits = [row for row in rows if row["status"] == "running"]
            if (self.answered.keys() <= ids and not waits) or time.monotonic() > end:
                break
            time.sleep(0.2)
        lost = [one for one in self.answered if one not in ids]
        other = [row["id"] for row in rows if row["id"] in self.answered and row["status"] != self.answered[row["id"]][0]]
        strange = ids - self.answered.keys() - self.abandoned
        found = [f"{len(lost)} answered runs are not there, such as {lost[0]}"] if lost else []
        found += [f"{len(other)} have another status, such as {other[0]}"] if other else []
        found += [f"{len(rows) - len(ids)} are there twice"] if len(rows) != len(ids) else []
        found += [f"{len(waits)} still run"] if waits else []
        found += [f"{len(strange)} nobody asked for"] if len(strange) > self.unknown else []
        return found

    async def _outputs(self, count):
        link, wrong = await self.connect(), []
        for one in self.random.sample(sorted(self.answered), min(count, len(self.answered))):
            found = await link.get(f"/v1/executions/{one}/stdout")
            if found.status != 200 or not found.body.startswith(self.answered[one][1].encode() + b"\n"):
                wrong.append(f"{one}: {found.status} {found.body[:80]!r}")
        await link.close()
        return wrong

    def output_problems(self, count=50):
        """Runs of a sample whose stored output is not their own."""
        return asyncio.run(self._outputs(count))

    async def _busy(self):
        link = await self.connect()
        status = (await link.get("/v1/health")).json["status"]
        text = (await link.get("/metrics")).body.decode()
        await link.close()
        gauges = re.findall(r"^emberbox_(running|queued|event_streams|held_bytes|connections) (\d+)$", text, re.M)
        return status, {name: int(value) for name, value in gauges}

    def rest_problems(self, seconds=15.0):
        """What the service still does when nobody asks for anything, after some time; the one connection is ours."""
        want = "ok", {"running": 0, "queued": 0, "event_streams": 0, "held_bytes": 0, "connections": 1}
        end = time.monotonic() + seconds
        while (found := asyncio.run(self._busy())) != want and time.monotonic() < end:
            time.sleep(0.1)
        return [] if found == want else [f"{found}, not {want}"]
