"""Dot commands of the sqlite3 shell that scripts have. Loaded when the first one comes."""

import __main__ as program

DEPTH_MAX = 20  # of .read in a file that was read
IGNORED = "mode headers header width separator nullvalue timer echo bail changes eqp stats binary".split()

settings = {}  # what .mode and .separator said: .import goes by it


def run(text, start, line, depth):
    """A line that starts with a dot."""
    words = split(line[1:])
    name = words.pop(0) if words else ""
    if name == "tables":
        listing(words, "type in ('table', 'view') and name not like 'sqlite^_%' escape '^'")
    elif name in ("indexes", "indices"):
        listing([], "type = 'index'" + (f" and tbl_name like {literal(words[0])}" if words else ""))
    elif name == "schema":
        like = f" and tbl_name like {literal(words[0])}" if words else ""
        for (sql,) in program.database.execute(
            f"select sql from sqlite_schema where sql is not null and name not like 'sqlite^_%' escape '^'{like}"
        ):
            program.output.text(sql + ";\n")
    elif name == "print":
        program.output.text(" ".join(words) + "\n")
    elif name == "read" and len(words) == 1:
        if depth >= DEPTH_MAX:
            text.fail(start, f".read goes deeper than {DEPTH_MAX} files")
        program.script(opened(text, start, words[0]), depth + 1)
    elif name in ("output", "once"):
        redirect(text, start, name, words)
    elif name == "import":
        imported(text, start, words)
    elif name in ("quit", "exit"):
        raise program.Quit(int(words[0]) & 255 if words and words[0].isdigit() else 0)
    elif name in IGNORED:
        if name == "mode" and words:
            settings["mode"] = words[0]
        if name == "separator" and words:
            settings["separator"] = words[0].replace("\\t", "\t")
        if name in ("mode", "nullvalue", "separator", "width"):
            text.say(start, f".{name} changes nothing here: results are tables, and JSON in the outputs")
    else:
        known = ".tables, .indexes, .schema, .read FILE, .import FILE TABLE, .output FILE, .once FILE, .print and .quit"
        text.fail(start, f"{line} is not known here; there are {known}")


def split(line):
    """Words of a dot command; quotes keep blanks."""
    words, at = [], 0
    while at < len(line):
        if line[at].isspace():
            at += 1
        elif line[at] in "'\"":
            end = line.find(line[at], at + 1) % (len(line) + 1)
            words.append(line[at + 1 : end])
            at = end + 1
        else:
            end = at
            while end < len(line) and not line[end].isspace():
                end += 1
            words.append(line[at:end])
            at = end
    return words


def literal(text):
    return "'" + text.replace("'", "''") + "'"


def identifier(text):
    return '"' + text.replace('"', '""') + '"'


def listing(words, where):
    """Names in columns, as many as fit into 80."""
    like = f" and name like {literal(words[0])}" if words else ""
    found = program.database.execute(f"select name from sqlite_schema where {where}{like} order by 1")
    names = [row[0] for row in found]
    if names:
        longest = max(map(len, names))
        rows = -(-len(names) // max(1, 80 // (longest + 2)))
        for i in range(rows):
            program.output.text("  ".join([name.ljust(longest) for name in names[i::rows]]) + "\n")


def redirect(text, start, name, words):
    """Results go to a file from here on, or that of the next statement does."""
    program.output.back()
    if not words or words[0] == "stdout":
        return
    try:
        program.output.to(open(words[0], "wb"), name == "once")
    except OSError as error:
        text.fail(start, f'cannot open "{words[0]}": {error.strerror}')


def opened(text, start, path):
    try:
        return program.Text(path)
    except OSError as error:
        text.fail(start, f'cannot open "{path}": {error.strerror}')


def imported(text, start, words):
    """.import FILE TABLE: rows of a file with separators. Without the table it is made, with the names of the first
    row; what is missing in a row is NULL."""
    separator, drop, names, options = settings.get("separator"), 0, [], iter(words)
    for word in options:
        option = word.removeprefix("-").removeprefix("-")
        if word[:1] != "-":
            names.append(word)
        elif option == "csv":
            separator = ","
        elif option == "skip":
            drop = int(next(options, "0"))
        elif option != "v":
            text.fail(start, f".import has no option {word}; there are --csv and --skip N")
    if len(names) != 2:
        text.fail(start, "use .import FILE TABLE [--csv] [--skip N]")
    path, name = names
    if separator is None:
        modes = {"csv": ",", "tsv": "\t", "tabs": "\t"}
        separator = modes.get(settings.get("mode")) or modes.get(path.rpartition(".")[2])
        separator = separator or ("," if path.startswith("/dev/") else "|")
    import _csv

    try:
        with open(path, encoding="utf-8-sig", errors="replace", newline="") as file:
            rows = _csv.reader(file, delimiter=separator)
            for _ in range(drop):
                next(rows, None)
            into = identifier(name)
            if not program.database.execute("select 1 from pragma_table_info(?)", (name,)).fetchone():
                columns = ", ".join([identifier(column) + " TEXT" for column in next(rows, [])])
                program.database.execute(f"create table {into} ({columns})")
            width = program.database.execute("select count(*) from pragma_table_info(?)", (name,)).fetchone()[0]
            insert = f"insert into {into} values ({', '.join('?' * width)})"
            whole = not program.database.in_transaction
            if whole:
                program.database.execute("begin")
            program.database.executemany(insert, ((row + [None] * width)[:width] for row in rows if row))
            if whole:
                program.database.execute("commit")
    except OSError as error:
        text.fail(start, f'cannot open "{path}": {error.strerror}')
    except (program._sqlite3.Error, _csv.Error) as error:
        text.fail(start, f"{path}: {error}")
