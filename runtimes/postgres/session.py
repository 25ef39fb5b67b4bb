"""The session: passes the statements of the script to the server and shows what comes back. See run.py."""

import posix
import sys

import table
import wire
from script import CODE, Stop, Text

SOCKETS = "/tmp/.pg"
LOG = SOCKETS + "/log"
SEEDS = (".sql", ".pgsql", ".psql")
QUERIES = ("select", "insert", "update", "delete", "with", "values", "merge", "table")  # that can have parameters


class Quit(Exception):
    """\\q"""


class Session:
    """One connection after the other, \\c makes another."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.depth = 0
        self.database = self.user = "postgres"
        self.variables = {}  # of \\set
        self.server = None
        self.output = output

    def connect(self, database, user):
        self.server = wire.Server(SOCKETS + "/.s.PGSQL.5432", user, database)
        self.database, self.user = database, user
        self.variables |= {"DBNAME": database, "USER": user}

    def say(self, text, at, message):
        output.file.flush()
        sys.stderr.write(f"{text.where(at)}{message}\n")

    def quit(self):
        raise Quit

    def script(self, text):
        """All of a file."""
        self.depth += 1
        while text.skip():
            start, end, ended, parameters, colons = text.next()
            if ended == "\\":
                # A command may stand after a statement that it ends (\g), or in the middle of one.
                self.command(text, start, end, colons)
            else:
                self.statement(text, start, end, parameters, colons)
            output.file.flush()
        self.depth -= 1

    def command(self, text, start, at, colons):
        import meta

        text.at = at + 1
        line = text.rest()
        pending = text.text[start:at].strip()
        name = line.split(None, 1)[0] if line.strip() else ""
        if pending and name in ("g", "gx"):
            self.statement(text, start, at, False, colons)
        elif pending and name in meta.ENDS:
            text.fail(at, f"\\{name} is not known here: {meta.ENDS[name]}")
        elif pending:
            text.fail(at, f"\\{name} stands in the middle of a statement; only \\g may")
        else:
            meta.run(self, text, at, line)

    def statement(self, text, start, end, parameters, colons):
        sql, filled = text.text[start:end], None
        if colons:
            import variables

            sql, filled = variables.fill(sql, [at - start for at in colons], self.variables)
        if parameters and self.arguments and sql.split(None, 1)[0].lower() in QUERIES:
            self.answer(text, start, sql, wire.bound(self.server, sql, self.arguments), filled=filled)
        else:
            self.answer(text, start, sql, wire.query(self.server, sql), filled=filled)

    def answer(
        self, text, start, sql, messages, source=None, target=None, command=None, title=None, footer=None, filled=None
    ):
        """Shows what the server answers. `source` is what COPY reads instead, `target` where it writes; `command` is
        the backslash command whose statement it is; `filled` tells where variables were put into it."""
        result = None
        failed = copied = False
        for kind, body in messages:
            if kind == b"D" and result.full:
                result.count += 1
            elif kind == b"D":
                texts = wire.row(body)
                result.add(texts, lambda: ["null" if cell is None else to(cell) for to, cell in zip(encoders, texts)])
            elif kind == b"T":
                names, types = wire.columns(body)
                encoders = [ENCODERS.get(oid, table.quote) for oid in types]
                right = [oid in NUMBERS for oid in types]
                result = table.Result(output, names, right, command or sql.strip().rstrip(";"), title, footer)
            elif kind == b"C":
                tag = body[:-1].decode()
                if result:
                    result.finish()
                # Like psql, silent about what only showed something.
                if tag.startswith(("INSERT", "UPDATE", "DELETE", "MERGE")) if result else target or not copied:
                    output.text(tag + "\n")
                result = None
            elif kind == b"G":
                self.copy_in(text, source)
            elif kind == b"H":
                copied = True
            elif kind == b"d":
                if target is None:
                    output.text(body.decode("utf-8", "replace"))
                else:
                    target.write(body)
            elif kind == b"N":
                self.notice(text, start, sql, body, command, filled)
            elif kind == b"E":
                self.notice(text, start, sql, body, command, filled)
                failed = True
            elif kind == b"A":
                pid = int.from_bytes(body[:4], "big")
                channel, payload = body[4:-1].decode().split("\0")
                payload = f' with payload "{payload}"' if payload else ""
                output.text(
                    f'Asynchronous notification "{channel}"{payload} received from server process with PID {pid}.\n'
                )
        if failed:
            raise Stop

    def copy_in(self, text, source):
        data = text.inline() if source is None else None
        if data is not None:
            wire.send_copy(self.server, [data.encode()])
        else:
            wire.send_copy(self.server, chunks(source or sys.stdin.buffer))

    def notice(self, text, start, sql, body, command, filled):
        """An error or a notice, with the file's lines instead of the statement's."""
        fields = wire.fields(body)
        lines = []
        at = start
        if "P" in fields and not command:
            place = min(int(fields["P"]) - 1, len(sql))
            if filled:
                sql, place = filled.before(place)
            at += place
            begin = sql.rfind("\n", 0, place) + 1
            line = sql[begin:].partition("\n")[0].rstrip()
            if begin == 0:  # the whole line of the file
                begin = text.text.rfind("\n", 0, start) + 1 - start
                line = text.text[start + begin :].partition("\n")[0].rstrip()
            place -= begin
            if len(line) > 160:
                cut = max(0, place - 60)
                line, place = line[cut : cut + 160], place - cut
            number = f"LINE {text.line(at)}: "
            lines.append(number + line)
            blank = "".join([char if char == "\t" else " " * table.width(char) for char in line[:place]])
            lines.append(" " * len(number) + blank + "^")
        names = {"D": "DETAIL", "H": "HINT", "q": "QUERY", "W": "CONTEXT"}
        error = fields.get("V", fields["S"]) in ("ERROR", "FATAL", "PANIC")
        for key, name in names.items():
            if key in fields and (error or key in "DH"):
                lines.append(f"{name}:  {fields[key]}")
        output.file.flush()
        message = f"{text.where(at)}{fields['S']}:  {fields['M']}"
        sys.stderr.write("\n".join([message, *lines]) + "\n")
        sys.stderr.flush()


def ready(server, data, news):
    """Waits until the server takes connections: it says so as to systemd, if it was built for it, and in a file."""
    while not wire.heard(news, b"READY=1"):
        try:
            with open(data + "/postmaster.pid", "rb", 0) as file:
                if b"\nready" in file.read():
                    break
        except FileNotFoundError:
            pass
        if posix.waitpid(server, posix.WNOHANG)[0]:
            raise wire.Lost


def chunks(file):
    while data := file.read(1 << 16):
        yield data


def integer(text):
    return text if len(text) < 16 else table.integer(int(text))


def real(text):
    return f'"{text}"' if text[-1] in "Ny" else text


def numeric(text):
    """Up to 15 digits are the same as a double."""
    digits = text.removeprefix("-").replace(".", "")
    return text if len(digits) < 16 and digits.isdigit() else f'"{text}"'


def boolean(text):
    return "true" if text == "t" else "false"


def json(text):
    """As it is, unless a reader could take offence: at escapes, numbers it cannot hold, depth."""
    import re

    if text.count("[") + text.count("{") > 200 or re.search(r"\\u|\d{16}|\d[eE][+-]?\d{3}", text):
        return table.quote(text)
    return text.replace("\n", " ").replace("\r", " ")


# By the type's oid, which never changes.
ENCODERS = {16: boolean, 20: integer, 21: integer, 23: integer, 26: integer, 700: real, 701: real, 1700: numeric}
ENCODERS |= {114: json, 3802: json}
NUMBERS = {20, 21, 23, 26, 28, 29, 700, 701, 790, 1700, 5069}  # what psql aligns to the right


def seeds(entry, files):
    """The given files to load before the script: those it does not include itself."""
    own = set()
    for line in entry.text.split("\n"):
        if line.startswith(("\\i ", "\\ir ", "\\include ")) and len(line.split()) > 1:
            own.add(line.split()[1].strip("'"))
    for path in files:
        name = path.removeprefix(CODE)
        if name.endswith(SEEDS) and name != entry.name and name not in own and path not in own:
            yield path


def lost():
    """The server is gone, or did not start."""
    output.file.flush()
    try:
        with open(LOG, errors="replace") as file:
            log = file.read()[-2000:].strip()
    except OSError:
        log = ""
    sys.stderr.write("FATAL:  the server closed the connection" + (f"; its last words:\n{log}" if log else "") + "\n")


def main(process, data):
    """Runs the script in the server that was just started; the exit code."""
    news = wire.listen(SOCKETS + "/notify")
    separator = sys.argv.index("--", 4)
    files = sys.argv[4:separator]
    session = Session(sys.argv[separator + 1 :])
    code = 1
    try:
        entry = Text(files[0])
        ready(process, data, news)
        session.connect("postgres", "postgres")
        output.quiet = True
        for path in seeds(entry, files[1:]):
            session.script(Text(path))
        output.quiet = False
        session.script(entry)
        code = 0
    except Quit:
        code = 0
    except Stop:
        pass
    except wire.Lost:
        lost()
    output.file.flush()
    sys.stderr.flush()
    return code


output = table.Output(sys.argv[3])
