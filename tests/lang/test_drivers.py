#!/usr/bin/python3
"""Session drivers of Bash, Ruby and SQLite, outside of a box; PostgreSQL's is tested in one (test_session_languages.py)."""
# tests/run: args=--as root
# tests/run: timeout=200

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import driver
import kit

FOLDER = os.path.join(kit.REPO, "runtimes")
COMMANDS = {
    "bash": ["/usr/bin/bash", FOLDER + "/bash/session.sh"],
    "ruby": ["/usr/bin/ruby", f"-r{FOLDER}/ruby/sync.rb", FOLDER + "/ruby/session.rb"],
    "sqlite": ["/usr/bin/python3", "-I", "-S", "-B", FOLDER + "/sqlite/session.py"],
}
MIB = 1 << 20


def start(language):
    return driver.Driver(COMMANDS[language])


def test(language):
    def register(function):
        def run():
            with start(language) as session:
                function(session)

        kit.test(run, name=f"{language}.{function.__name__}", timeout=60)
        return function

    return register


def ticks(session):
    """Processor time of the driver so far."""
    with open(f"/proc/{session.process.pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[11])


# Bash


@test("bash")
def state(session):
    kit.matches(session.ready["driver"], r"^bash \d+\.\d+")
    session.execute("x=5; declare -A map=([k]=v); f() { echo \"f$1\"; return 3; }; cd /; shopt -s extglob; alias l=ls; export E=1")
    kit.equal(session.says("echo $x ${map[k]} $E; pwd"), "5 v 1\n/\n")
    cell = session.execute("f 1")
    kit.equal((cell.ok, cell.exit, cell.stdout, cell.outputs, cell.error), (False, 3, "f1\n", [], None))
    kit.equal(session.says("echo $?"), "3\n")
    kit.equal(session.says("echo $?"), "0\n")
    kit.equal(session.says("declare y=7; local z=1 2>/dev/null; echo $y"), "7\n")
    kit.equal(session.says("echo $y"), "7\n")
    kit.equal(session.says("echo $#; echo é | cat"), "0\né\n")
    session.execute("set -- a b")
    kit.equal(session.says("printf '%s\\n' 'one\ntwo'"), "one\ntwo\n")
    kit.equal(session.execute("(exit 7)").exit, 7)
    kit.equal(session.says("sleep 60 & echo started; kill %1"), "started\n")


@test("bash")
def errors(session):
    cell = session.execute("echo before\nif then\necho after")
    kit.equal((cell.ok, cell.exit, cell.stdout), (False, 2, "before\n"))
    kit.matches(cell.stderr, r"cell-1: line 2: syntax error near unexpected token `then'")
    kit.equal(session.execute("nothing-of-the-kind").exit, 127)
    for code in ("break", "continue 5", "return 4", "echo $((1/0))", "((", "'"):
        session.execute(code)
    kit.equal(session.says("echo alive"), "alive\n")


@test("bash")
def ends(session):
    code, cell = session.dies("trap 'echo bye' EXIT; echo now; exit 3")
    kit.equal((code, cell.stdout), (3, "now\nbye\n"))
    with start("bash") as other:
        kit.equal(other.dies("kill -KILL $$")[0], -9)


@test("bash")
def standard_input(session):
    kit.equal(session.says("cat"), "")
    kit.equal(session.says("read x; echo \"got $x\"; cat", "one\nzwö\n".encode()), "got one\nzwö\n")
    kit.equal(session.says("cat"), "")
    session.begin("read -r y; echo \"hi $y\"", pipe=True)
    session.feed(b"Ada\n")
    kit.equal(session.finish().stdout, "hi Ada\n")
    kit.equal(session.says("wc -c", b"x" * 200000), "200000\n")


@test("bash")
def interrupts(session):
    session.execute("kept=42")
    for code in (
        "echo ready; while :; do :; done; echo no",
        "echo ready; sleep 60; echo no",
        "g() { echo ready; while true; do true; done; echo no; }; g; echo no",
        "for i in 1 2 3; do echo ready; sleep 60; done; echo no",
        "echo ready; sleep 60 | cat; echo no",
        "echo ready; wait; sleep 60; echo no",
    ):
        cell = session.interrupted(code)
        kit.equal((cell.ok, cell.exit, cell.error["type"]), (False, 130, "KeyboardInterrupt"), f"{code}: {cell!r}")
        kit.true("no" not in cell.stdout, cell.stdout)
        kit.equal(session.says("echo $? $kept"), "130 42\n", code)
    for _ in range(20):
        session.interrupt()
        kit.equal(session.says("echo on"), "on\n")


@test("bash")
def hides_its_channel(session):
    kit.equal(session.says("ls /proc/$BASHPID/fd | grep -v 255 | head -3"), "0\n1\n2\n")
    kit.equal(session.says("sh -c 'ls /proc/$$/fd; :'"), "0\n1\n2\n")
    session.begin("declare -p; set; env")
    secret = session.secret
    kit.true(secret not in session.finish().stdout, "the secret is among the variables")


@test("bash")
def completion(session):
    session.execute("value=1 valley=2; area() { :; }")
    got = session.complete("echo $val|")
    kit.equal((got["matches"], got["start"], got["end"]), (["$valley", "$value"], 5, 9))
    kit.true("area" in session.complete("are|")["matches"], "a function")
    kit.equal(session.complete("cat /etc/hostn|")["matches"], ["/etc/hostname"])
    kit.contains(session.inspect("area|")["text/plain"], "area is a function")
    kit.contains(session.inspect("$val|ue")["text/plain"], "value=")
    kit.equal(session.inspect("nothing-here|")["found"], False)


# Ruby


@test("ruby")
def values(session):
    session.execute("x = 5; def f(n) = n + 1; require 'set'")
    kit.equal(session.value("f(x)"), "6")
    kit.equal(session.value("_ + 1"), "7")
    kit.equal(session.value("{ 'a' => [1, nil] }"), '{"a"=>[1, nil]}')
    kit.equal(session.execute("nil").outputs, [])
    kit.equal(session.value("('a'..'z').map { |c| c * 5 }").count("\n"), 25)
    kit.equal(session.value("local_variables.include?(:payload)"), "false")
    kit.equal(session.value("self.to_s"), '"main"')
    text = session.value("'x' * (3 << 20)")
    kit.true(len(text) < MIB + 100 and text.endswith("more characters]"), text[-50:])
    session.execute("class R; def to_html = '<b>r</b>'; def to_png = 'P'; def inspect = 'r'; end")
    kit.equal(session.execute("R.new").outputs, [{"text/plain": "r", "text/html": "<b>r</b>", "image/png": "UA=="}])
    kit.equal(session.execute("display_rich(1, R.new); nil").outputs[0], {"text/plain": "1"})


@test("ruby")
def errors(session):  # noqa: F811
    session.execute("def bad\n  raise ArgumentError, 'no'\nend")
    cell = session.execute("bad")
    kit.equal((cell.ok, cell.exit, cell.error["type"], cell.error["message"]), (False, 1, "ArgumentError", "no"))
    kit.equal(cell.stderr, "cell-1:2:in `bad': no (ArgumentError)\n\tfrom cell-2:1:in `<main>'\n")
    kit.equal((cell.error["file"], cell.error["line"], len(cell.error["frames"])), ("cell-1", 2, 2))
    cell = session.execute("y = 1\nz = = 2")
    kit.equal((cell.error["type"], cell.error["line"]), ("SyntaxError", 2))
    kit.true("session.rb" not in cell.stderr, cell.stderr)
    kit.equal(session.execute("def r = r()\nr").error["type"], "SystemStackError")
    kit.equal(session.execute("throw :x").error["type"], "UncaughtThrowError")
    kit.equal(session.value("1 + 1"), "2")
    code, cell = session.dies("at_exit { puts 'bye' }; exit 3")
    kit.equal((code, cell.stdout), (3, "bye\n"))


@test("ruby")
def input_and_interrupts(session):
    kit.equal(session.execute("gets").outputs, [])
    kit.equal(session.execute("gets", b"one\ntwo\n").text, '"one\\n"')
    kit.equal(session.execute("$stdin.read", b"three").text, '"three"')
    session.begin("print 'name? '; gets", pipe=True)
    session.until("name? ")
    session.feed(b"Ada\n")
    kit.equal(session.finish().text, '"Ada\\n"')
    session.execute("kept = 42")
    for code in ("puts 'ready'; loop {}", "puts 'ready'; sleep 60", "system('echo ready; exec sleep 60'); loop {}"):
        cell = session.interrupted(code)
        kit.equal((cell.ok, cell.exit, cell.error["type"]), (False, 130, "Interrupt"), f"{code}: {cell!r}")
    for _ in range(20):
        session.interrupt()
        kit.equal(session.value("kept"), "42")
    kit.equal(session.says("system('ls /proc/$PPID/fd > /dev/null; sh -c \"ls /proc/\\$\\$/fd\"'); nil"), "0\n1\n2\n")
    kit.equal(session.says("pid = fork { }; Process.wait(pid); puts 'parent'"), "parent\n")


@test("ruby")
def assists(session):
    session.execute("value = 'text'; def area(w, h = 1) = w * h")
    got = session.complete("x = value.upc|")
    kit.equal((got["matches"], got["start"], got["end"]), (["upcase", "upcase!"], 10, 13))
    kit.true("value" in session.complete("val|")["matches"], "a variable")
    kit.equal(session.complete("Math::P|")["matches"], ["PI"])
    kit.equal(session.complete("nothing.|")["matches"], [])
    # Literals; what an index or a block gives is not known.
    kit.equal(session.complete("[1, 2].flat_m|")["matches"], ["flat_map"])
    kit.equal(session.complete("x = {a: 1}.each_p|")["matches"], ["each_pair"])
    kit.equal(session.complete("value[0].flat_m|")["matches"], [])
    kit.equal(session.complete("value.each_char { 1 }.each_p|")["matches"], [])
    kit.contains(session.inspect("area|")["text/plain"], "area(w, h = …)")
    kit.contains(session.inspect("val|ue")["text/plain"], "String")
    kit.equal(session.inspect("nowhere|")["found"], False)


# SQLite


@test("sqlite")
def results(session):
    session.execute("create table t (n int, s text); insert into t values (1, 'a<b'), (2, null);")
    cell = session.execute("select * from t; select 1 as one")
    kit.equal(cell.stdout, "")
    kit.equal([o["application/json"]["columns"] for o in cell.outputs], [["n", "s"], ["one"]])
    first = cell.outputs[0]
    kit.equal(first["text/plain"], " n |  s   \n---+------\n 1 | a<b\n 2 | NULL\n(2 rows)")
    kit.contains(first["text/html"], "<td>a&lt;b</td>")
    kit.equal(first["application/json"]["rows"], [{"n": 1, "s": "a<b"}, {"n": 2, "s": None}])
    kit.equal(session.says(".tables\n.print done"), "t\ndone\n")
    session.execute("begin; delete from t")
    session.execute("rollback")
    kit.equal(session.execute("select count(*) as c from t").outputs[0]["application/json"]["rows"], [{"c": 2}])
    big = session.execute("with recursive r(n) as (select 1 union all select n + 1 from r limit 300000) select n, 'x' || n as t from r")
    kit.true(big.ok and big.outputs[0]["application/json"]["truncated"], repr(big)[:300])
    kit.true(len(big.outputs[0]["text/plain"]) < MIB + 100, "")


@test("sqlite")
def errors_and_interrupts(session):
    cell = session.execute("select 1;\nselect * frm t")
    kit.equal((cell.ok, cell.exit, cell.error["type"], cell.error["line"]), (False, 1, "SQLError", 2))
    kit.equal((cell.error["column"], len(cell.outputs)), (10, 1))
    kit.contains(cell.stderr, "cell-1:2: error: ")
    session.execute("create table kept (n); insert into kept values (42)")
    session.begin(".print ready\nwith recursive r(n) as (select 1 union all select n + 1 from r) select count(*) from r")
    before = ticks(session)
    kit.eventually(lambda: ticks(session) > before + 5, "the statement does not run")
    session.interrupt()
    cell = session.finish()
    kit.equal((cell.ok, cell.exit, cell.error["type"]), (False, 130, "KeyboardInterrupt"))
    kit.equal(session.execute("select n from kept").outputs[0]["application/json"]["rows"], [{"n": 42}])
    got = session.complete("select n from ke|")
    kit.equal((got["matches"], got["start"], got["end"]), (["kept", "key"], 14, 16))
    kit.equal(session.dies(".quit 3")[0], 3)


kit.main()
