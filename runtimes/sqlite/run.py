"""Runs a script of SQL statements, one after the other, in SQLite.

    run.py OUTPUTS ENTRY FILES… -- ARGS…

The database is the first argument if it names one (NAME.db, .sqlite, .sqlite3),
else the first given file that is one, else an empty one in memory. If a run
changes it, it is left in /sandbox/output. Given *.sql files are loaded before
the script, in their order, unless it reads them itself. The other arguments are
bound to parameters: ?1, $1, or any in their order; what looks like a number is.

Results are printed as psql prints them and written to OUTPUTS as JSON: blobs as
SQLite writes them, X'6869', infinite numbers and integers beyond 2^53 as strings.
"""

import sys

sys.path.insert(0, sys.argv[0].rpartition("/")[0])

import posix

import _sqlite3
import table

HEADER = b"SQLite format 3\0"
SUFFIXES = (".db", ".sqlite", ".sqlite3")
OUTPUT = "/sandbox/output/"


class Stop(Exception):
    """An error that ends the run: a message, the text it is about and the place there."""


class Quit(Exception):
    """.quit, with the exit code"""


class Text:
    """A file of statements."""

    def __init__(self, path):
        self.name = path.removeprefix("/sandbox/code/")
        with open(path, "rb") as file:
            self.text = file.read().decode("utf-8-sig", "replace")

    def line(self, at):
        return self.text.count("\n", 0, at) + 1

    def say(self, at, message):
        output.file.flush()
        sys.stderr.write(f"{self.name}:{self.line(at)}: {message}\n")

    def fail(self, at, message, pointer=False):
        """Says what is wrong in which line, and shows it; with a caret if the place in it is known."""
        raise Stop(self, at, message, pointer)


def report(text, at, message, pointer):
    text.say(at, f"error: {message}")
    start = text.text.rfind("\n", 0, at) + 1
    line = text.text[start:].partition("\n")[0].rstrip()
    at -= start
    if len(line) > 160:  # a part of a very long line, around the place
        cut = max(0, at - 60)
        line, at = line[cut : cut + 160], at - cut
    if line:
        sys.stderr.write(f"  {line}\n")
        if pointer:
            blank = "".join([char if char == "\t" else " " * table.width(char) for char in line[:at]])
            sys.stderr.write(f"  {blank}^\n")


def skip(text, at):
    """Past blanks and comments."""
    size = len(text)
    while at < size:
        if text[at].isspace() or text[at] == ";":
            at += 1
        elif text.startswith("--", at):
            at = text.find("\n", at) + 1 or size
        elif text.startswith("/*", at):
            at = text.find("*/", at + 2) + 2
            at = at if at > 1 else size
        else:
            break
    return at


ENDS = {"'": "'", '"': '"', "`": "`", "[": "]", "--": "\n", "/*": "*/"}


def statements(text):
    """(place, statement) for each; a line that starts with a dot is one."""
    size, at = len(text), 0
    found = dict.fromkeys((*ENDS, ";"), -1)  # the next of each mark, looked for once
    while (start := skip(text, at)) < size:
        at = start
        if text[start] == ".":
            end = text.find("\n", start) % (size + 1)
            yield start, text[start:end].rstrip()
            at = end
            continue
        while at < size:
            for mark, place in found.items():
                if place < at:
                    found[mark] = text.find(mark, at) % (size + 1)
            mark = min(found, key=found.get)
            at = found[mark]
            if at == size:
                break
            at += len(mark)
            if mark != ";":
                end = text.find(ENDS[mark], at)
                at = size if end < 0 else end + len(ENDS[mark])
            elif text[start : start + 6].lower() != "create" or _sqlite3.complete_statement(text[start:at]):
                break  # the body of a trigger has semicolons of its own
        yield start, text[start:at].rstrip()


def near(text, start, sql, message):
    """Where in the file the error is, and whether that is known. SQLite's parser stops at the first token it cannot
    take, so what is before it and the token give the same message; EXPLAIN does not run what turns out to be whole."""
    if message == "incomplete input":
        return start + len(sql), True
    word = message.partition('"')[2]
    if message.endswith(": syntax error"):
        word = word[: -len('": syntax error')]
    elif message.startswith("unrecognized token: "):
        word = word[:-1]
    elif message.startswith(("no such column: ", "no such table: ", "no such function: ")):
        word = message.partition(": ")[2]
        word = word.removeprefix("main.")
        once = sql.count(word) == 1
        return (start + sql.find(word), True) if once else (start, False)
    else:
        return start, False
    at = sql.find(word)
    while word and at >= 0:
        try:
            database.execute("EXPLAIN " + sql[: at + len(word)])
        except _sqlite3.Error as error:
            if str(error) == message:
                return start + at, True
        at = sql.find(word, at + 1)
    return start, False


def number(text):
    """An argument as the value it looks like; 007 is a text."""
    for kind in (int, float):
        try:
            value = kind(text)
            if str(value) == text and value - value == 0:
                return value
        except (ValueError, OverflowError):
            pass
    return text


def execute(sql):
    """With the arguments for its parameters. How many it has SQLite's module only tells in a message."""
    try:
        return database.execute(sql)
    except _sqlite3.ProgrammingError as error:
        message = str(error)
        words = message.partition(" uses ")[2].replace(",", " ").split()
        if not words or not words[0].isdigit():
            raise
    count = int(words[0])
    if count > len(arguments):
        given = f"{len(arguments) or 'no'} argument" + "s" * (len(arguments) != 1)
        raise _sqlite3.ProgrammingError(f"the statement has {count} parameter{'s' * (count > 1)}, but {given} given")
    return database.execute(sql, arguments[:count])


def shown(value):
    """A value in the table."""
    kind = type(value)
    if kind is str:
        return value
    if kind is float:
        if value - value != 0:
            return "Inf" if value > 0 else "-Inf"
        text = f"{value:.15g}"
        return text if "." in text or "e" in text else text + ".0"
    if kind is bytes:
        return f"X'{value.hex()}'"
    return None if value is None else str(value)


def encoded(value):
    """A value as JSON."""
    kind = type(value)
    if kind is str:
        return table.quote(value)
    if kind is int:
        return table.integer(value)
    if kind is float:
        return repr(value) if value - value == 0 else '"Infinity"' if value > 0 else '"-Infinity"'
    return "null" if value is None else f"\"X'{value.hex()}'\""


def run(text, start, sql):
    try:
        cursor = execute(sql)
        if cursor.description is None:
            return
        names = [column[0] for column in cursor.description]
        right = [True] * len(names)
        result = table.Result(output, names, right, sql.rstrip(";"))
        for row in cursor:
            for i, value in enumerate(row):
                if right[i] and isinstance(value, (str, bytes)):
                    right[i] = False
            result.add([shown(value) for value in row], lambda: [encoded(value) for value in row])
            if result.full:
                result.count += sum(1 for _ in cursor)
        result.finish()
    except (_sqlite3.Error, _sqlite3.Warning, ValueError) as error:
        message = str(error)
        at, known = near(text, start, sql, message)
        text.fail(at, message, known)


def script(text, depth=0):
    for start, sql in statements(text.text):
        if sql[0] == ".":
            import commands

            commands.run(text, start, sql, depth)
        else:
            run(text, start, sql)
            if output.once:
                output.back()
        output.file.flush()


def regexp(pattern, value):
    """X REGEXP Y is regexp(Y, X), which SQLite leaves to its host."""
    import re

    return None if pattern is None or value is None else re.search(str(pattern), str(value)) is not None


def head(path, size):
    try:
        with open(path, "rb") as file:
            return file.read(size)
    except OSError:
        return b""


def choose(files):
    """The database's path. An argument that names it is taken off."""
    if arguments and (arguments[0].endswith(SUFFIXES) or head(arguments[0], 16) == HEADER):
        return arguments.pop(0)
    for path in files:
        if head(path, 16) == HEADER:
            return path
    return ":memory:"


def state(path):
    """What tells whether a database was changed: its header counts changes, but not all of those through a log."""
    try:
        found = posix.stat(path)
        return head(path, 100), found.st_mtime_ns, found.st_size
    except OSError:
        return None


def leave(path, before):
    """Copies a changed database to where results are collected."""
    if path == ":memory:" or path.startswith(OUTPUT) or state(path) == before:
        return
    with open(path, "rb") as source, open(OUTPUT + path.rpartition("/")[2], "wb") as target:
        while data := source.read(1 << 20):
            target.write(data)


def main(files):
    entry = Text(files.pop(0))
    read = [line[6:].strip().strip("'\"") for line in entry.text.split("\n") if line.startswith(".read ")]
    output.quiet = True
    for path in files:
        name = path.removeprefix("/sandbox/code/")
        if name.endswith(".sql") and name != entry.name and name not in read and path not in read:
            script(Text(path))
    output.quiet = False
    script(entry)


if __name__ == "__main__":
    separator = sys.argv.index("--", 2)
    output = table.Output(sys.argv[1])
    given = sys.argv[2:separator]
    arguments = sys.argv[separator + 1 :]
    path = choose(given[1:])
    before = state(path)
    code = 0
    try:
        database = _sqlite3.connect(path, isolation_level=None)
        database.text_factory = lambda data: data.decode("utf-8", "replace")
        database.create_function("regexp", 2, regexp, deterministic=True)
        arguments = [number(word) for word in arguments]
        try:
            main(given)
        except Quit as quit:
            code = quit.args[0]
        except Stop as stop:
            report(*stop.args)
            code = 1
        except MemoryError:
            output.file.flush()
            sys.stderr.write("error: out of memory\n")
            code = 1
        database.close()
        leave(path, before)
    except _sqlite3.Error as error:
        sys.stderr.write(f"{path}: error: {error}\n")
        code = 1
    output.file.flush()
    sys.stderr.flush()
    posix._exit(code)
