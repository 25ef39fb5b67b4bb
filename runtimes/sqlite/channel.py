"""The channel of a session of SQL: requests come and answers go on descriptor 3. The same file is in sqlite/ and
postgres/; a test compares them. docs/sessions.md has what a session does.

Results are rich results: the table as text, as html, and the rows as JSON; what else is said goes to standard output.
"""

import json
import posix
import signal
import sys

import table

CHANNEL = 3
HTML_ROWS = 1000
CELL_MAX = 15 << 20
GOOD = b'{"ok":true,"exit":0}'


class Result(table.Result):
    """A result whose table is kept until its rows are there too."""

    def __init__(self, output, *arguments):
        output.spill()
        super().__init__(output, *arguments)


class Output(table.Output):
    """Where results go: the channel."""

    def __init__(self, send):
        super().__init__(None)
        self.send, self.own, self.parts, self.spent = send, self.file, [], 0
        self.outputs = self  # so that rows are made

    def text(self, text):
        if self.quiet or self.file is not self.own:
            super().text(text)
        else:
            self.parts.append(text)

    def line(self, line):
        if self.quiet or self.file is not self.own:
            return
        text, self.parts = "".join(self.parts), []
        if len(text) > 1 << 20:
            text = f"{text[: 1 << 20]} [… {len(text) - (1 << 20)} more characters]"
        rows = json.loads(line)["application/json"]
        body = json.dumps({"text/plain": text.rstrip("\n"), "text/html": html(rows), "application/json": rows}).encode()
        before, self.spent = self.spent, self.spent + len(body)
        if self.spent <= CELL_MAX and len(body) < 7 << 20:
            self.send(b"output", body)
        elif before <= CELL_MAX:
            self.send(b"output", b'{"text/plain":"[this and further results of the cell are left out: too large]"}')

    def spill(self):
        """What was said beside results."""
        text, self.parts = "".join(self.parts), []
        self.own.write(text.encode("utf-8", "replace"))
        self.own.flush()


def html(rows):
    """The rows as a table, the first thousand of them."""

    def cell(value):
        text = "NULL" if value is None else value if isinstance(value, str) else json.dumps(value)
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

    out = ["<table><thead><tr>", *[f"<th>{cell(name)}</th>" for name in rows["columns"]], "</tr></thead><tbody>"]
    for row in rows["rows"][:HTML_ROWS]:
        out += ["<tr>", *[f"<td>{cell(value)}</td>" for value in row.values()], "</tr>"]
    return "".join(out) + "</tbody></table>"


class Channel:
    """Serves requests by functions of the language's own."""

    def __init__(self, about):
        posix.set_inheritable(CHANNEL, False)
        self.about, self.secret, self.stopped = about, b"-", False
        self.early = False  # an interrupt came that a cell has not looked at
        self.file = open(CHANNEL, "rb", closefd=False)
        self.pipe = posix.dup(0)
        self.output = Output(self.send)
        table.Result = Result
        self.cancel = None  # what ends a statement that runs

    def send(self, word, body):
        data = b"%s %s %d\n%s" % (word, self.secret, len(body), body)
        while data:
            data = data[posix.write(CHANNEL, data) :]

    def interrupt(self, *_):
        self.early = True  # it may be the next one's, whose request was not read yet
        if self.secret is not None:
            self.stopped = True
            if self.cancel:
                self.cancel()

    def is_interrupted(self):
        """Whether the channel says that the one that came early is this cell's."""
        self.early = False
        posix.set_blocking(CHANNEL, False)
        try:
            return (self.file.peek(1) or b"").startswith(b"interrupt %s " % self.secret)
        finally:
            posix.set_blocking(CHANNEL, True)

    def serve(self, execute, complete):
        """execute(code, name) gives None or an error as the protocol has it; complete(before) gives (names, typed)."""
        signal.signal(signal.SIGINT, self.interrupt)
        self.send(b"ready", json.dumps({"driver": self.about, "complete": True, "inspect": False, "interrupt": True}).encode())
        self.secret = None
        while line := self.file.readline():
            words = line.split()
            payload = self.file.read(int(words[2]))
            if words[0] == b"interrupt":
                continue  # of a cell that is over
            self.secret, self.stopped, self.output.spent = words[1], False, 0
            if words[0] == b"execute":
                self.cell(payload, int(words[3]), words[4], execute)
            elif words[0] == b"complete":
                before = payload[: int(words[3])]
                names, typed = complete(before.decode("utf-8", "replace"))
                start = len(before) - len(typed.encode())
                told = {"matches": sorted(names)[:1000], "start": start, "end": len(before)}
                self.send(b"reply", json.dumps(told).encode())
            else:
                self.send(b"reply", b'{"found":false,"text/plain":""}')
            self.secret = None
        posix._exit(0)

    def cell(self, payload, count, stdin, execute):
        data = b""
        if stdin.isdigit():
            size = len(payload) - int(stdin)
            payload, data = payload[:size], payload[size:]
        self.give(stdin, data)
        if self.early and self.is_interrupted():
            self.stopped = True
        error = None if self.stopped else execute(payload.decode("utf-8", "replace"), f"cell-{count}")
        self.output.back()
        self.output.spill()
        sys.stderr.flush()
        if error is None and not self.stopped:
            self.send(b"done", GOOD)
            return
        if self.stopped:
            error = {**(error or failure("the cell was interrupted", None, None, None)), "type": "KeyboardInterrupt"}
        self.send(b"error", json.dumps(error).encode())
        self.send(b"done", b'{"ok":false,"exit":%d}' % (130 if self.stopped else 1))

    def give(self, stdin, data):
        if stdin == b"pipe":
            posix.dup2(self.pipe, 0)
        else:
            fd = posix.open("/dev/null", posix.O_RDONLY)
            if data:
                posix.close(fd)
                fd = posix.open("/tmp", posix.O_TMPFILE | posix.O_RDWR, 0o600)
                while data:
                    data = data[posix.write(fd, data) :]
                posix.lseek(fd, 0, 0)
            posix.dup2(fd, 0)
            posix.close(fd)
        sys.stdin = open(0, encoding="utf-8", errors="replace", closefd=False)


def failure(message, name, line, column):
    """An error as the protocol has it."""
    return {"type": "SQLError", "message": message, "file": name, "line": line, "column": column, "frames": []}


def last_word(before):
    """The name that is being typed."""
    at = len(before)
    while at and (before[at - 1].isalnum() or before[at - 1] == "_"):
        at -= 1
    return before[at:]


WORDS = """select from where group by having order limit offset insert into values update set delete create table view index
drop alter add column join left inner outer on as and or not null is in like between exists union all distinct case when
then else end primary key foreign references default unique check begin commit rollback with recursive count sum avg min
max""".split()
