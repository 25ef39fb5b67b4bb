"""Keeps a PostgreSQL session: one server, one connection, cells as psql reads them. cells.py POSTGRES PREPARED"""

import sys

sys.path.insert(0, sys.argv[0].rpartition("/")[0])

import posix
import signal

import run

posix.set_inheritable(3, False)  # the channel: neither the server nor what COPY … PROGRAM starts has it
process, data = run.start(*sys.argv[1:3])
sys.argv = [*sys.argv[:3], "", "--"]

import channel
import session
import wire
from script import Stop, Text


class Cell(Text):
    """A cell's text."""

    def __init__(self, name, text):
        self.name, self.text = name, text
        self.size, self.at = len(text), 0
        self.found = dict.fromkeys(("'", '"', "--", "/*", "$", ":", ";", "(", ")", "\\"), -1)

    def fail(self, at, message):
        told.append(channel.failure(message, self.name, self.line(at), None))
        super().fail(at, message)


class Session(session.Session):
    """A session that knows of its last error, and how to end a statement."""

    backend = None  # (connection, the server's process for it)

    def notice(self, text, start, sql, body, command, filled):
        talk.output.spill()
        super().notice(text, start, sql, body, command, filled)
        fields = wire.fields(body)
        if fields.get("V", fields["S"]) in ("ERROR", "FATAL", "PANIC"):
            line = column = None
            if "P" in fields and not command and not filled:
                at = start + int(fields["P"]) - 1
                line, column = text.line(at), at - text.text.rfind("\n", 0, at)
            told.append(channel.failure(fields["M"], text.name, line or text.line(start), column))

    def cancel(self, *_):
        """Ends the statement that runs. A server that has not read it yet hears nothing, so it is told again."""
        if talk.stopped and talk.secret:
            if self.backend:
                posix.kill(self.backend[1], signal.SIGINT)
            signal.setitimer(signal.ITIMER_REAL, 0.02)

    def find(self):
        """The process of the connection: \\c makes another."""
        if not self.backend or self.backend[0] is not self.server:
            messages = wire.query(self.server, "select pg_backend_pid()")
            pid = [wire.row(body)[0] for kind, body in messages if kind == b"D"]
            self.backend = self.server, int(pid[0])


def execute(code, name):
    told.clear()
    try:
        client.find()
        client.depth = 0
        client.script(Cell(name, code))
    except session.Quit:
        talk.output.spill()
        posix._exit(0)
    except Stop:
        return told[-1] if told else channel.failure("the statement failed", name, None, None)
    except wire.Lost:
        session.lost()
        posix._exit(1)
    return None


def complete(before):
    typed = channel.last_word(before)
    found = []
    if typed:
        word = typed.lower().replace("'", "''").replace("_", "\\_")
        sql = f"""select relname from pg_class c join pg_namespace n on n.oid = relnamespace where relkind in ('r','v','m','p')
            and relname like '{word}%' and (nspname = 'public' or relname like 'pg%') union select attname from pg_attribute a
            join pg_class c on c.oid = attrelid join pg_namespace n on n.oid = relnamespace
            where nspname not in ('pg_catalog', 'information_schema', 'pg_toast') and attnum > 0 and attname like '{word}%'"""
        found = [wire.row(body)[0] for kind, body in wire.query(client.server, sql) if kind == b"D"]
        words = [name.upper() if typed.isupper() else name for name in channel.WORDS]
        found += [name for name in words if name.startswith(typed)]
    return set(found), typed


told = []  # errors of the cell
news = wire.listen(session.SOCKETS + "/notify")
talk = channel.Channel("postgres")
session.output = talk.output
client = Session([])
talk.cancel = client.cancel
signal.signal(signal.SIGALRM, client.cancel)
try:
    session.ready(process, data, news)
    client.connect("postgres", "postgres")
except wire.Lost:
    session.lost()
    posix._exit(1)
talk.serve(execute, complete)
