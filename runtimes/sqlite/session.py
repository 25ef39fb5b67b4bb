"""Keeps a SQLite session: one open database, cells of SQL and dot commands. session.py [DATABASE]"""

import sys

sys.path.insert(0, sys.argv[0].rpartition("/")[0])

import posix

import _sqlite3
import channel
import run

sys.modules["__main__"] = run  # the dot commands look for the program there


class Text(run.Text):
    """A cell."""

    def __init__(self, name, text):
        self.name, self.text = name, text


def execute(code, name):
    text = Text(name, code)
    try:
        run.script(text)
    except run.Quit as quit:
        run.output.spill()
        posix._exit(quit.args[0])
    except run.Stop as stop:
        about, at, message, pointer = stop.args
        run.output.spill()
        run.report(*stop.args)
        begin = about.text.rfind("\n", 0, at) + 1
        return channel.failure(message, about.name, about.line(at), at - begin + 1 if pointer else None)
    except MemoryError:
        return channel.failure("out of memory", name, None, None)
    return None


def complete(before):
    typed = channel.last_word(before)
    sql = "select name from sqlite_schema where name not like 'sqlite^_%' escape '^'"
    names = [row[0] for row in run.database.execute(sql)]
    for table in list(names):
        names += [row[0] for row in run.database.execute("select name from pragma_table_info(?)", (table,))]
    upper = typed.isupper()
    names += [word.upper() if upper else word for word in channel.WORDS]
    return [name for name in set(names) if typed and name.lower().startswith(typed.lower())], typed


talk = channel.Channel(f"sqlite {_sqlite3.sqlite_version}")
run.output = talk.output
run.arguments = []
run.database = _sqlite3.connect(sys.argv[1] if len(sys.argv) > 1 else ":memory:", isolation_level=None)
run.database.text_factory = lambda data: data.decode("utf-8", "replace")
run.database.create_function("regexp", 2, run.regexp, deterministic=True)
# The handler of a signal runs between two looks: this is one.
run.database.set_progress_handler(lambda: talk.stopped, 1000)
talk.serve(execute, complete)
