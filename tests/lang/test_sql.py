#!/usr/bin/python3
"""SQLite and PostgreSQL: tables and rows, databases and files given, errors by place, commands of their shells."""
# tests/run: args=--as user
# tests/run: nightly=--as root
# tests/run: timeout=300

import os
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit

RUNTIMES = os.path.join(kit.REPO, "runtimes")
FIRST = 240  # seconds: the first run of PostgreSQL prepares a cluster


def run(language, code, *options, words=(), stdin=None):
    """The result of a script."""
    argv = ["run", "--json", "-l", language, "-c", code, *options, *(("--", *words) if words else ())]
    state = {"EMBERBOX_HOME": os.path.join(kit.home(), "emberbox")}
    return kit.emberbox(*argv, stdin=stdin, env=state, timeout=FIRST).json


def sqlite(code, *options, **more):
    return run("sqlite", code, *options, **more)


def postgres(code, *options, **more):
    return run("postgres", code, *options, **more)


def printed(result, stdout, stderr=""):
    kit.equal((result["status"], result["stderr"]), ("ok", stderr), str(result["error_message"]))
    kit.equal(result["stdout"], stdout)


def failed(result, message, stderr, stdout=""):
    kit.equal((result["status"], result["exit_code"]), ("failed", 1))
    kit.equal(result["stderr"], stderr)
    kit.equal(result["error_message"], message)
    kit.equal(result["stdout"], stdout)


def rows(result):
    """The outputs without their frame: what each statement gave."""
    for output in result["outputs"]:
        kit.equal(list(output), ["application/json"])
    return [output["application/json"] for output in result["outputs"]]


def given(name, content):
    return kit.write(os.path.join(kit.tmp(), name), content)


@kit.test(modes=("root",))
def both_print_alike():
    copies = []
    for name in ("sqlite", "postgres"):
        with open(os.path.join(RUNTIMES, name, "table.py"), "rb") as file:
            copies.append(file.read())
    kit.true(copies[0] == copies[1], "runtimes/sqlite/table.py and runtimes/postgres/table.py differ")


# SQLite


@kit.test
def sqlite_table_and_rows():
    result = sqlite(
        "create table t (id integer primary key, name text, price real);\n"
        "insert into t values (1, 'tea; green', 2.5), (20, null, 10), (3, '', -0.125);\n"
        "select * from t order by id;"
    )
    printed(
        result,
        " id |    name    | price  \n"
        "----+------------+--------\n"
        "  1 | tea; green |    2.5\n"
        "  3 |            | -0.125\n"
        " 20 | NULL       |   10.0\n"
        "(3 rows)\n\n",
    )
    want = {
        "columns": ["id", "name", "price"],
        "rows": [
            {"id": 1, "name": "tea; green", "price": 2.5},
            {"id": 3, "name": "", "price": -0.125},
            {"id": 20, "name": None, "price": 10.0},
        ],
        "row_count": 3,
        "statement": "select * from t order by id",
    }
    kit.equal(rows(result), [want])


@kit.test
def sqlite_values_that_json_has_not():
    result = sqlite("select 9007199254740992 a, 9007199254740993 b, x'00ff' c, 9e999 d, -9e999 e, 0.1 + 0.2 f, 1 a;")
    printed(
        result,
        "        a         |        b         |    c    |  d  |  e   |  f  | a \n"
        "------------------+------------------+---------+-----+------+-----+---\n"
        " 9007199254740992 | 9007199254740993 | X'00ff' | Inf | -Inf | 0.3 | 1\n"
        "(1 row)\n\n",
    )
    (got,) = rows(result)
    kit.equal(got["columns"], ["a", "b", "c", "d", "e", "f", "a_2"])
    near = got["rows"][0].pop("f")
    kit.near(near, 0.3, 1e-12)
    want = {"a": 9007199254740992, "b": "9007199254740993", "c": "X'00ff'", "d": "Infinity", "e": "-Infinity", "a_2": 1}
    kit.equal(got["rows"], [want])


@kit.test
def sqlite_lines_in_values():
    printed(
        sqlite("select 'one' || char(10) || 'three' as a, '日本' as b, 7 as c;"),
        "   a   |  b   | c \n"
        "-------+------+---\n"
        " one  +| 日本 | 7\n"
        " three |      | \n"
        "(1 row)\n\n",
    )


@kit.test
def sqlite_rows_without_end_are_bounded():
    result = sqlite(
        "with recursive s(n) as (select 1 union all select n + 1 from s where n < 400000) "
        "select n, 'abcdefghij' t from s;",
        "--max-output",
        "1k",
    )
    kit.equal(result["status"], "ok")
    kit.true(3 << 20 < result["stdout_bytes"] < 5 << 20, f"{result['stdout_bytes']} bytes")
    kit.matches(result["stdout"], r"\n\(400000 rows, the first \d{6} of them shown\)\n\n$")
    (got,) = rows(result)
    kit.equal((got["row_count"], got["truncated"]), (400000, True))
    kit.equal(got["rows"][0], {"n": 1, "t": "abcdefghij"})


@kit.test
def sqlite_syntax_error():
    failed(
        sqlite("select 1 as one;\n\n  selec 2;\nselect 3;"),
        'SQLite syntax error: near "selec": syntax error (line 3)',
        'main.sql:3: error: near "selec": syntax error\n    selec 2;\n    ^\n',
        " one \n-----\n   1\n(1 row)\n\n",
    )


@kit.test
def sqlite_syntax_error_at_the_right_word():
    failed(
        sqlite("create table t (a, b);\nselect a,\n  b from from t where 'from' = '日本' from t;"),
        'SQLite syntax error: near "from": syntax error (line 3)',
        'main.sql:3: error: near "from": syntax error\n'
        "    b from from t where 'from' = '日本' from t;\n"
        "           ^\n",
    )


@kit.test
def sqlite_unfinished():
    failed(
        sqlite("select (1 +"),
        "SQLite syntax error: incomplete input (line 1)",
        "main.sql:1: error: incomplete input\n  select (1 +\n             ^\n",
    )


@kit.test
def sqlite_wrong_name():
    failed(
        sqlite("create table t (a);\nselect a,\n  nosuch\nfrom t;"),
        "Execution failed: main.sql:3: error: no such column: nosuch",
        "main.sql:3: error: no such column: nosuch\n    nosuch\n    ^\n",
    )


@kit.test
def sqlite_what_ran_before_an_error_stays_printed():
    failed(
        sqlite("create table t (a check (a > 0));\ninsert into t values (1) returning a;\ninsert into t values (0);"),
        "Execution failed: main.sql:3: error: CHECK constraint failed: a > 0",
        "main.sql:3: error: CHECK constraint failed: a > 0\n  insert into t values (0);\n",
        " a \n---\n 1\n(1 row)\n\n",
    )


def database(path):
    with sqlite3.connect(path) as connection:
        connection.executescript("create table pet (name text); insert into pet values ('cat'), ('dog');")
    connection.close()
    with open(path, "rb") as file:
        return file.read()


PETS = " name \n------\n cat\n dog\n(2 rows)\n\n"


@kit.test
def sqlite_given_database():
    path = given("zoo.bin", database(os.path.join(kit.tmp("root"), "made")))
    result = sqlite("select * from pet;", "--file", path)
    printed(result, PETS)
    kit.equal(result["files"], [], "it was not changed")


@kit.test
def sqlite_changed_database_is_left():
    before = database(os.path.join(kit.tmp("root"), "made"))
    path = given("zoo.db", before)
    out = os.path.join(kit.tmp(), "out")
    result = sqlite("insert into pet values (?1);", "--file", path, "--output", out, words=("zoo.db", "owl"))
    printed(result, "")
    kit.equal(result["files"], [{"path": "zoo.db", "size": os.path.getsize(os.path.join(out, "zoo.db")), "kept": True}])
    with open(os.path.join(out, "zoo.db"), "rb") as file:
        after = file.read()
    copy = os.path.join(kit.tmp("root"), "copy")
    with open(copy, "wb") as file:
        file.write(after)
    connection = sqlite3.connect(copy)
    kit.equal(connection.execute("select * from pet").fetchall(), [("cat",), ("dog",), ("owl",)])
    connection.close()
    with open(path, "rb") as file:
        kit.true(file.read() == before, "the caller's own file was changed")


@kit.test
def sqlite_new_database_by_name():
    result = sqlite("create table t (a); .tables\n", words=("new.sqlite",))
    kit.equal([file["path"] for file in result["files"]], ["new.sqlite"])


@kit.test
def sqlite_seeds_in_their_order():
    names = ("z.sql", "a.sql")
    files = ("create table t (a);", "insert into t values (7); select 'silent';")
    options = [word for name, text in zip(names, files) for word in ("--file", given(name, text))]
    printed(sqlite("select * from t;", *options), " a \n---\n 7\n(1 row)\n\n")


@kit.test
def sqlite_error_in_a_seed():
    failed(
        sqlite("select 1;", "--file", given("schema.sql", "create table t (a);\n\ncreate table t (b);")),
        "Execution failed: schema.sql:3: error: table t already exists",
        "schema.sql:3: error: table t already exists\n  create table t (b);\n",
    )


@kit.test
def sqlite_parameters():
    printed(
        sqlite("select ?1 + 1 as a, typeof(?2) as b, ?2 as c, typeof(?3) as d;", words=("41", "007", "2.5")),
        " a  |  b   |  c  |  d   \n----+------+-----+------\n 42 | text | 007 | real\n(1 row)\n\n",
    )
    failed(
        sqlite("select 1;\nselect ?1, ?2;", words=("one",)),
        "Execution failed: main.sql:2: error: the statement has 2 parameters, but 1 argument given",
        "main.sql:2: error: the statement has 2 parameters, but 1 argument given\n  select ?1, ?2;\n",
        " 1 \n---\n 1\n(1 row)\n\n",
    )


@kit.test
def sqlite_commands():
    code = (
        ".mode column\n"
        "create table fruit (name text, n integer);\n"
        "create index fruit_name on fruit(name);\n"
        ".import --csv --skip 1 fruit.csv fruit\n"
        ".import fresh.csv fresh\n"
        ".tables\n"
        ".indexes\n"
        ".schema fr%\n"
        ".print 'two  words' here\n"
        "select name, n + 1 as more from fruit;\n"
        "select * from fresh;\n"
        ".quit\n"
        "select 'not reached';"
    )
    csv = given("fruit.csv", 'name,n\napple,3\n"pear, ""soft""",4\n')
    printed(
        sqlite(code, "--file", csv, "--file", given("fresh.csv", "a,b\n1,x\n2\n")),
        "fresh  fruit\n"
        "fruit_name\n"
        "CREATE TABLE fruit (name text, n integer);\n"
        "CREATE INDEX fruit_name on fruit(name);\n"
        'CREATE TABLE "fresh" ("a" TEXT, "b" TEXT);\n'
        "two  words here\n"
        "     name     | more \n"
        "--------------+------\n"
        " apple        |    4\n"
        ' pear, "soft" |    5\n'
        "(2 rows)\n\n"
        " a |  b   \n"
        "---+------\n"
        " 1 | x\n"
        " 2 | NULL\n"
        "(2 rows)\n\n",
        "main.sql:1: .mode changes nothing here: results are tables, and JSON in the outputs\n",
    )


@kit.test
def sqlite_read():
    part = given("part.sql", "select 'part' as a;\n")
    printed(sqlite(".read part.sql\n", "--file", part), "  a   \n------\n part\n(1 row)\n\n")
    failed(
        sqlite("select 1 as a;\n.read loop.sql\n", "--file", given("loop.sql", "\n.read loop.sql\n")),
        "Execution failed: loop.sql:2: error: .read goes deeper than 20 files",
        "loop.sql:2: error: .read goes deeper than 20 files\n  .read loop.sql\n",
        " a \n---\n 1\n(1 row)\n\n",
    )


@kit.test
def sqlite_unknown_command():
    result = sqlite("select 1 as a;\n.shell ls\n")
    kit.equal((result["status"], result["exit_code"]), ("failed", 1))
    want = "Execution failed: main.sql:2: error: .shell ls is not known here; there are .tables, "
    kit.true(result["error_message"].startswith(want), result["error_message"])


@kit.test
def sqlite_reaches_nothing_of_the_host():
    for path in ("/etc/shadow", "/root/x.db", "/usr/x.db"):
        failed(
            sqlite(f"attach '{path}' as host;\ncreate table host.t (a);"),
            f"Execution failed: main.sql:1: error: unable to open database: {path}",
            f"main.sql:1: error: unable to open database: {path}\n  attach '{path}' as host;\n",
        )
    code = "attach '/tmp/x.db' as box;\ncreate table box.t (a);\nselect count(*) as n from box.t;"
    printed(sqlite(code), " n \n---\n 0\n(1 row)\n\n")


# PostgreSQL


@kit.test(timeout=FIRST + 30)
def postgres_table_and_rows():
    result = postgres(
        "create table t (id int primary key, name text, price numeric(8, 2));\n"
        "insert into t values (1, 'tea; green', 2.5), (20, null, 10), (3, '', -0.12) returning id;\n"
        "select * from t order by id;"
    )
    printed(
        result,
        "CREATE TABLE\n"
        " id \n----\n  1\n 20\n  3\n(3 rows)\n\n"
        "INSERT 0 3\n"
        " id |    name    | price \n"
        "----+------------+-------\n"
        "  1 | tea; green |  2.50\n"
        "  3 |            | -0.12\n"
        " 20 | NULL       | 10.00\n"
        "(3 rows)\n\n",
    )
    first, second = rows(result)
    kit.equal((first["columns"], first["rows"]), (["id"], [{"id": 1}, {"id": 20}, {"id": 3}]))
    want = {
        "columns": ["id", "name", "price"],
        "rows": [
            {"id": 1, "name": "tea; green", "price": 2.5},
            {"id": 3, "name": "", "price": -0.12},
            {"id": 20, "name": None, "price": 10.0},
        ],
        "row_count": 3,
        "statement": "select * from t order by id",
    }
    kit.equal(second, want)


@kit.test(timeout=FIRST)
def postgres_values():
    code = (
        "select true a, 9007199254740993 b, 12345678901234567.5 c, 'NaN'::float8 d, '-Infinity'::float4 e,\n"
        "  '{\"k\": [1, null]}'::jsonb f, '\\x00ff'::bytea g, date '2024-02-29' h, '{1,2}'::int[] i, 1 a;\n"
        "select '{\"a\": 12345678901234567890}'::json as big, E'[1,\\n2]'::json as lines;"
    )
    result = postgres(code)
    one, two = rows(result)
    kit.equal(one["columns"], ["a", "b", "c", "d", "e", "f", "g", "h", "i", "a_2"])
    want = {"a": True, "b": "9007199254740993", "c": "12345678901234567.5", "d": "NaN", "e": "-Infinity"}
    want |= {"f": {"k": [1, None]}, "g": "\\x00ff", "h": "2024-02-29", "i": "{1,2}", "a_2": 1}
    kit.equal(one["rows"], [want])
    kit.equal(two["rows"], [{"big": '{"a": 12345678901234567890}', "lines": [1, 2]}])
    kit.contains(result["stdout"], "             big             | lines \n-----------------------------+-------\n")


@kit.test(timeout=FIRST)
def postgres_lines_in_values():
    printed(
        postgres("select E'one\\nthree' as a, '日本' as b, E'x\\ty\\x01' as c, 7 as d;"),
        "   a   |  b   |       c       | d \n"
        "-------+------+---------------+---\n"
        " one  +| 日本 | x       y\\x01 | 7\n"
        " three |      |               | \n"
        "(1 row)\n\n",
    )


@kit.test(timeout=FIRST)
def postgres_syntax_error():
    failed(
        postgres("select 1 as one;\n\n  select 日本 from\n  selec 2;\nselect 3;"),
        'PostgreSQL syntax error: syntax error at or near "2" (line 4)',
        'main.pgsql:4: ERROR:  syntax error at or near "2"\nLINE 4:   selec 2;\n                ^\n',
        " one \n-----\n   1\n(1 row)\n\n",
    )


@kit.test(timeout=FIRST)
def postgres_place_of_an_error():
    failed(
        postgres("create table t (a int); select '日本',\tnosuch from t;"),
        'Execution failed: main.pgsql:1: ERROR:  column "nosuch" does not exist',
        'main.pgsql:1: ERROR:  column "nosuch" does not exist\n'
        "LINE 1: create table t (a int); select '日本',\tnosuch from t;\n"
        "                                              \t^\n",
        "CREATE TABLE\n",
    )


@kit.test(timeout=FIRST)
def postgres_syntax_error_of_a_text_that_it_made():
    failed(
        postgres("do $$\nbegin\n  execute 'selec 1';\nend $$;"),
        'Execution failed: main.pgsql:1: ERROR:  syntax error at or near "selec"',
        'main.pgsql:1: ERROR:  syntax error at or near "selec"\nQUERY:  selec 1\n'
        "CONTEXT:  PL/pgSQL function inline_code_block line 3 at EXECUTE\n",
    )


@kit.test(timeout=FIRST)
def postgres_each_statement_is_kept():
    code = (
        "create table t (a int primary key);\n"
        "insert into t values (1);\n"
        "begin;\n"
        "insert into t values (2);\n"
        "insert into t values (1);\n"
        "commit;"
    )
    failed(
        postgres(code),
        'Execution failed: main.pgsql:5: ERROR:  duplicate key value violates unique constraint "t_pkey"',
        'main.pgsql:5: ERROR:  duplicate key value violates unique constraint "t_pkey"\n'
        "DETAIL:  Key (a)=(1) already exists.\n",
        "CREATE TABLE\nINSERT 0 1\nBEGIN\nINSERT 0 1\n",
    )
    printed(
        postgres("create table t (a int);\nbegin;\ninsert into t values (1);\nrollback;\nselect count(*) from t;"),
        "CREATE TABLE\nBEGIN\nINSERT 0 1\nROLLBACK\n count \n-------\n     0\n(1 row)\n\n",
    )


@kit.test(timeout=FIRST)
def postgres_notices():
    printed(
        postgres(
            "do $$ begin\n  raise notice 'n %', 1;\n  raise warning 'w' using hint = 'h';\nend $$;\n"
            "drop table if exists t;"
        ),
        "DO\nDROP TABLE\n",
        "main.pgsql:1: NOTICE:  n 1\nmain.pgsql:1: WARNING:  w\nHINT:  h\n"
        'main.pgsql:5: NOTICE:  table "t" does not exist, skipping\n',
    )


@kit.test(timeout=FIRST)
def postgres_copy():
    code = (
        "create table t (a int, b text);\n"
        "copy t from stdin;\n"
        "1\tsemi;colon\n"
        "2\t\\N\n"
        "\\.\n"
        "copy t from stdin with (format csv);\n"
        "copy t to stdout with (format csv, header);\n"
        "\\copy (select b from t where a = 3) to '/sandbox/output/b.txt'\n"
    )
    out = os.path.join(kit.tmp(), "out")
    result = postgres(code, "--output", out, stdin=b'3,"the program\'s input"\n')
    printed(result, "CREATE TABLE\nCOPY 2\nCOPY 1\na,b\n1,semi;colon\n2,\n3,the program's input\nCOPY 1\n")
    with open(os.path.join(out, "b.txt"), encoding="utf-8") as file:
        kit.equal(file.read(), "the program's input\n")


@kit.test(timeout=FIRST)
def postgres_commands():
    code = (
        "\\set ON_ERROR_STOP on\n"
        "\\timing\n"
        "create table dept (id serial primary key, name text not null unique);\n"
        "create table emp (id int primary key, dept int references dept,"
        " pay numeric(8,2) default 1.5 check (pay > 0));\n"
        "\\dt\n"
        "\\d emp\n"
        "\\echo 'two  words' here\n"
        "select 1 as a \\g\n"
        "create database other;\n"
        "\\c other\n"
        "select current_database() as name;\n"
        "\\q\n"
        "select 'not reached';"
    )
    printed(
        postgres(code),
        "CREATE TABLE\n"
        "CREATE TABLE\n"
        "        List of relations\n"
        " Schema | Name | Type  |  Owner   \n"
        "--------+------+-------+----------\n"
        " public | dept | table | postgres\n"
        " public | emp  | table | postgres\n"
        "(2 rows)\n\n"
        '                   Table "public.emp"\n'
        " Column |     Type     | Collation | Nullable | Default \n"
        "--------+--------------+-----------+----------+---------\n"
        " id     | integer      |           | not null | \n"
        " dept   | integer      |           |          | \n"
        " pay    | numeric(8,2) |           |          | 1.5\n"
        "Indexes:\n"
        '    "emp_pkey" PRIMARY KEY, btree (id)\n'
        "Check constraints:\n"
        '    "emp_pay_check" CHECK (pay > 0::numeric)\n'
        "Foreign-key constraints:\n"
        '    "emp_dept_fkey" FOREIGN KEY (dept) REFERENCES dept(id)\n\n'
        "two  words here\n"
        " a \n---\n 1\n(1 row)\n\n"
        "CREATE DATABASE\n"
        'You are now connected to database "other" as user "postgres".\n'
        " name  \n-------\n other\n(1 row)\n\n",
        "main.pgsql:2: \\timing changes nothing here: results are tables, and JSON in the outputs\n",
    )


@kit.test(timeout=FIRST)
def postgres_variables():
    code = (
        "\\set who 'O''Brien \\\\ co'\n"
        "\\set part emp\n"
        "\\set name :part _2\n"
        '\\set column "a b"\n'
        'create table :name (:column int, time time default \'10:20\', ":part" int);\n'
        "\\set n 4\n"
        "insert into emp_2 (\"a b\") values (:n), (:n::int + 1);\n"
        "select :'who' as who, ':n' as kept, $$:n$$ as also, '{1,2,3}'::int[] as list /* :n */ -- :n\n"
        ", (array[7, 8, 9])[2:3] as slice, :{?n} as here, :{?m} as there;\n"
        "select count(*) as :\"who\" from :name where \"a b\" >= :n and time = '10:20' \\g\n"
        "\\echo :n :'who' :m a:n 'x :n'\n"
        "select :'DBNAME' as d, :'USER' as u;\n"
        "\\unset n\n"
        "\\echo :n\n"
    )
    printed(
        postgres(code),
        "CREATE TABLE\nINSERT 0 2\n"
        "     who      | kept | also |  list   | slice | here | there \n"
        "--------------+------+------+---------+-------+------+-------\n"
        " O'Brien \\ co | :n   | :n   | {1,2,3} | {8,9} | t    | f\n(1 row)\n\n"
        " O'Brien \\ co \n--------------\n            2\n(1 row)\n\n"
        "4  E'O''Brien \\\\ co' :m a4 x :n\n"
        "    d     |    u     \n----------+----------\n postgres | postgres\n(1 row)\n\n"
        ":n\n",
    )
    # Errors are where the script has them, before a variable, in it and behind it.
    head = "\\set long 'one, rather, many'\n"
    columns = "create table t (one int, rather int, many int);\n"
    for code, caret in (
        ("select nope, :long from t;", 7),
        ("select one, :long, :nope from t;", 19),
        ("select :long,\n  nope from t;", 2),
    ):
        result = postgres(head + columns + code)
        lines = result["stderr"].split("\n")
        line = code.split("\n")[-1]
        number = 3 + code.count("\n")
        kit.equal(lines[1:3], [f"LINE {number}: {line}", " " * (len(f"LINE {number}: ") + caret) + "^"], code)
        kit.true(lines[0].startswith(f"main.pgsql:{number}: ERROR:  "), lines[0])
    result = postgres(head + "select 1,\n  :long;")
    kit.equal(result["stderr"].split("\n")[1:3], ["LINE 3:   :long;", "          ^"], "in the variable itself")
    result = postgres("\\set now `date`\n")
    kit.equal(
        result["error_message"], "Execution failed: main.pgsql:1: ERROR:  \\set runs no command in backquotes here"
    )


@kit.test(timeout=FIRST)
def postgres_what_has_no_meaning_here():
    result = postgres("\\pset null x\n\\x on\n\\timing\nselect 1 as a;\n")
    says = "changes nothing here: results are tables, and JSON in the outputs"
    printed(
        result,
        " a \n---\n 1\n(1 row)\n\n",
        "".join(f"main.pgsql:{n}: \\{name} {says}\n" for n, name in enumerate(("pset", "x", "timing"), 1)),
    )
    result = postgres("select 1 as a\n\\gset\n")
    kit.equal(
        (result["status"], result["error_message"]),
        (
            "failed",
            "Execution failed: main.pgsql:2: ERROR:  \\gset is not known here: "
            "\\set takes a text; a temporary table keeps the result of a query",
        ),
    )


@kit.test(timeout=FIRST)
def postgres_unknown_command():
    result = postgres("select 1 as a;\n\\watch 5\n")
    kit.equal((result["status"], result["exit_code"]), ("failed", 1))
    want = "Execution failed: main.pgsql:2: ERROR:  \\watch is not known here; there are \\d, "
    kit.true(result["error_message"].startswith(want), result["error_message"])


@kit.test(timeout=FIRST)
def postgres_seeds_in_their_order():
    names = ("z.sql", "a.sql", "own.sql")
    files = ("create table t (a int);", "insert into t values (7); select 'silent';", "update t set a = a + 1;")
    options = [word for name, text in zip(names, files) for word in ("--file", given(name, text))]
    printed(postgres("\\i own.sql\nselect * from t;", *options), "UPDATE 1\n a \n---\n 8\n(1 row)\n\n")


@kit.test(timeout=FIRST)
def postgres_parameters():
    code = "select $1::int + 1 as a, '$2' as b, $2 as c;\nprepare p as select $1::text as d;\nexecute p('own');"
    printed(
        postgres(code, words=("41", "it's")),
        " a  | b  |  c   \n----+----+------\n 42 | $2 | it's\n(1 row)\n\nPREPARE\n  d  \n-----\n own\n(1 row)\n\n",
    )
    failed(
        postgres("select 1 as a;\nselect $1, $2;", words=("one",)),
        "Execution failed: main.pgsql:2: ERROR:  the statement has 2 parameters, but 1 argument given",
        "main.pgsql:2: ERROR:  the statement has 2 parameters, but 1 argument given\n",
        " a \n---\n 1\n(1 row)\n\n",
    )


@kit.test(timeout=FIRST)
def postgres_semicolons_inside():
    code = (
        "create function f(n int) returns int begin atomic select 0; select case when n > 1 then 2 else 3 end; end;\n"
        "create table t (a text); create rule r as on insert to t do also (select 1 as x; select 2 as y);\n"
        "select f(2) as f, $a$;$b$;$a$ as b, /* ; /* ; */ ; */ E'\\';' as c, 'a;''b' as d -- ;\n;"
    )
    printed(
        postgres(code),
        "CREATE FUNCTION\nCREATE TABLE\nCREATE RULE\n"
        " f |   b   | c  |  d   \n---+-------+----+------\n 2 | ;$b$; | '; | a;'b\n(1 row)\n\n",
    )


@kit.test(timeout=FIRST)
def postgres_starts_afresh():
    # A program's changes, to the cluster too, end with its box.
    for _ in range(2):
        printed(
            postgres("create role own login; create table public.kept (a int); alter system set work_mem = '7MB';"),
            "CREATE ROLE\nCREATE TABLE\nALTER SYSTEM\n",
        )


@kit.test(timeout=FIRST)
def postgres_server_that_is_lost():
    result = postgres("select 1 as a;\nselect pg_terminate_backend(pg_backend_pid());\nselect 2;")
    kit.equal((result["status"], result["exit_code"]), ("failed", 1))
    kit.equal(result["stdout"], " a \n---\n 1\n(1 row)\n\n")
    kit.contains(result["stderr"], "main.pgsql:2: FATAL:  terminating connection due to administrator command\n")


kit.main()
