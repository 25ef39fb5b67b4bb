#!/usr/bin/python3
"""The session driver of JavaScript and TypeScript, outside of a box."""
# tests/run: args=--as root | --as root --node 18
# tests/run: timeout=240

import glob
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import driver
import kit

FOLDER = os.path.join(kit.REPO, "runtimes", "javascript")
ESBUILD = glob.glob("/usr/l*/lib/node_modules/esbuild/node_modules/@esbuild/linux-*/bin/esbuild")
ESBUILD += glob.glob("/usr/lib/node_modules/esbuild/node_modules/@esbuild/linux-*/bin/esbuild")
ESBUILD += glob.glob("/usr/l*/lib/node_modules/@esbuild/linux-*/bin/esbuild")
ESBUILD += glob.glob("/usr/l*/lib/node_modules/esbuild/bin/esbuild")
MIB = 1 << 20


def start(types=False, **options):
    words = []
    if types:
        kit.true(ESBUILD, "esbuild is not installed: tools/setup test")
        words = ["--esbuild", ESBUILD[0]]
    flags = ["--no-force-async-hooks-checks"]  # as the definition has it
    flags += ["--single-threaded"] if os.environ.get("DRIVER_SINGLE") else []
    return driver.Driver(["/usr/bin/node", *flags, os.path.join(FOLDER, "session.cjs"), *words], **options)


def test(function=None, *, types=False, timeout=60):
    def register(function):
        def run():
            with start(types) as session:
                function(session)

        name = f"{'typescript' if types else 'javascript'}.{function.__name__}"
        kit.test(run, name=name, timeout=timeout)
        return function

    return register(function) if function else register


def fails(session, code, kind, message=None):
    cell = session.execute(code)
    kit.equal((cell.ok, cell.exit, cell.error and cell.error["type"]), (False, 1, kind), f"{code!r}: {cell!r}")
    if message is not None:
        kit.equal(cell.error["message"], message)
    return cell


@test
def state_and_values(session):
    kit.matches(session.ready["driver"], r"^node \d+\.\d+")
    session.execute("let n = 20; function f(x) { return x + n }")
    kit.equal(session.value("f(22)"), "42")
    kit.equal(session.value("({ a: [1, 2], s: 'x' })"), "{ a: [ 1, 2 ], s: 'x' }")
    kit.equal(session.value("{ a: 1 }"), "{ a: 1 }", "an object, as Node.js has it")
    kit.equal(session.value("{ let b = 1; b + 1; }"), "2", "a block")
    kit.equal(session.value("new Map([[1, { a: 2 }]])"), "Map(1) { 1 => { a: 2 } }")
    for code, text in (("'text'", "'text'"), ("-0", "-0"), ("10n ** 20n", "100000000000000000000n"), ("null", "null"),
                       ("NaN", "NaN"), ("Symbol('s')", "Symbol(s)"), ("(x) => x", "[Function (anonymous)]")):  # fmt: skip
        kit.equal(session.value(code), text)
    for code in ("undefined", "let q = 1", "", "// nothing", "if (false) 1"):
        kit.equal(session.execute(code).outputs, [], code)
    session.execute("41")
    kit.equal(session.value("_ + 1"), "42")
    kit.equal(session.value("process.chdir('/'); process.cwd()"), "'/'")


@test
def names_can_be_declared_again(session):
    for first in ("const x = 1", "let x = 1", "var x = 1", "class x {}", "function x() {}", "async function x() {}"):
        for second, value in (("const x = 2; x", "2"), ("let x = 3; x", "3"), ("var x = 4; x", "4"),
                              ("class x {}\nnew x", "x {}"), ("function x() { return 5 }\nx()", "5")):  # fmt: skip
            kit.true(session.execute(first).ok, first)
            kit.equal(session.value(second), value, f"{second!r} after {first!r}")
    session.execute("const { a, b: [c] } = { a: 1, b: [2] }")
    kit.equal(session.value("const { a, b: [c] } = { a: 3, b: [4] }; a + c"), "7")
    kit.equal(session.value("let t = 'const x'; const re = /const \\/ `/; const u = `const ${(() => { const v = 1; return v })()}`; u"), "'const 1'")
    kit.equal(session.value("let later; later === undefined"), "true")
    fails(session, "let twice = 1; let twice = 2", "SyntaxError", "Identifier 'twice' has already been declared")
    fails(session, "{ const inside = 1; inside = 2 }", "TypeError")
    kit.equal(session.value("const crypto = require('crypto'); crypto.createHash('md5').update('a').digest('hex').length"), "32")


@test
def await_at_the_top(session):
    kit.equal(session.value("await new Promise((r) => setTimeout(r, 5, 'waited'))"), "'waited'")
    kit.equal(session.value("const w = await Promise.resolve(6)\nw * 7"), "42")
    kit.equal(session.value("for await (const n of (async function* () { yield 1; yield 2 })()) w + n"), "8")
    fails(session, "await Promise.reject(new RangeError('far'))", "RangeError", "far")
    kit.equal(session.value("Promise.resolve(1)"), "Promise { 1 }")


@test
def imports(session):
    code = "import fs, { readFileSync as read } from 'fs'\nimport * as path from 'node:path';\nimport 'os'\n[typeof fs, typeof read, path.basename('/a/b')]"
    cell = session.execute(code)
    kit.equal((cell.stderr, cell.text), ("", "[ 'object', 'function', 'b' ]"))
    kit.equal(session.value("import {\n  join,\n  sep as s\n} from 'path'\njoin('a', 'b') + s"), "'a/b/'")
    kit.equal(session.value("(await import('node:util')).inspect.name"), "'inspect'")
    kit.equal(session.value("import path, { sep } from 'path'; import * as all from 'path'; all.sep === sep"), "true")
    for name, text in (("m.mjs", "export default 1; export const two = 2"), ("c.cjs", "exports.three = 3"), ("d.json", '{"four": 4}')):
        kit.write(os.path.join(session.cwd, name), text)
    kit.write(os.path.join(session.cwd, "node_modules/pkg/index.js"), "module.exports = 'package'")
    kit.equal(session.value("import one, { two } from './m.mjs'\n[one, two]"), "[ 1, 2 ]")
    kit.equal(session.value("[require('./c.cjs').three, require('./d.json').four, require('pkg')]"), "[ 3, 4, 'package' ]")
    kit.equal(session.value("import pkg from 'pkg'; pkg"), "'package'")
    kit.equal(session.value("(await import('./m.mjs')).default"), "1")
    kit.equal(session.value("'import(x)' + /import\\(/.source"), "'import(x)import\\\\('")
    kit.equal(session.value("path.sep + os.EOL"), "'/\\n'", "built-in modules are there")
    fails(session, "import x from './nothing.mjs'", "Error")
    kit.equal(session.value("export const e = 5\ne"), "5")


@test
def output_and_rich_results(session):
    cell = session.execute("console.log('out'); console.error('err'); console.table([{ a: 1 }]); 'v'")
    kit.equal((cell.stderr, cell.text), ("err\n", "'v'"))
    kit.contains(cell.stdout, "out\n┌─")
    kit.contains(cell.stdout, "│ (index) │ a │")
    cell = session.execute("display({ a: 1 }, 2); display({ [Symbol.for('Jupyter.display')]() { return { 'text/html': '<b>x</b>' } } })")
    kit.equal(cell.outputs[:2], [{"text/plain": "{ a: 1 }"}, {"text/plain": "2"}])
    kit.equal(cell.outputs[2]["text/html"], "<b>x</b>")
    text = session.value("'x'.repeat(3 << 20)")
    kit.true(MIB < len(text) < MIB + 100, len(text))
    kit.matches(text[-50:], r"\[… \d+ more characters\]$")
    text = session.value("({ [Symbol.for('nodejs.util.inspect.custom')]: () => 'y'.repeat(2 << 20) })")
    kit.true(text.endswith(f"[… {MIB} more characters]"), text[-50:])
    cell = session.execute("for (let i = 0; i < 30; i++) display('z'.repeat(1 << 20)); 1")
    kit.true(cell.ok and len(cell.outputs) < 20, len(cell.outputs))
    kit.contains(cell.outputs[-1]["text/plain"], "left out: more than 15 MiB")


@test
def errors(session):
    session.execute("function bad() {\n  throw new TypeError('no')\n}")
    first = session.count
    cell = fails(session, "1;\nbad()", "TypeError", "no")
    kit.equal(cell.stderr, f"Uncaught TypeError: no\n    at bad (cell-{first}:2:9)\n    at cell-{first + 1}:2:1\n")
    error = cell.error
    kit.equal((error["file"], error["line"], error["column"]), (f"cell-{first}", 2, 9))
    kit.equal([(f["line"], f["function"], f["text"], f["user"]) for f in error["frames"]],
              [(2, "<cell>", "bad()", True), (2, "bad", "throw new TypeError('no')", True)])  # fmt: skip
    cell = fails(session, "let ok = 1\n  let b = = 2", "SyntaxError", "Unexpected token '='")
    kit.equal((cell.error["line"], cell.error["column"], cell.error["frames"]), (2, 11, []))
    kit.contains(cell.stderr, f"cell-{session.count}:2\n  let b = = 2\n          ^\n")
    fails(session, "ok", "ReferenceError")
    fails(session, "throw { odd: 1 }", "Uncaught", "{ odd: 1 }")
    fails(session, "throw undefined", "Uncaught", "undefined")
    fails(session, "(function r() { r() })()", "RangeError")
    fails(session, "Promise.reject(new Error('nobody waits')); 1", "Error", "nobody waits")
    fails(session, "setTimeout(() => { throw new Error('later') }, 1); await new Promise(() => {})", "Error", "later")
    fails(session, "throw Object.assign(new Error('x'.repeat(3 << 20)), { name: 'Big' })", "Big")
    fails(session, "({ get [Symbol.for('nodejs.util.inspect.custom')]() { throw new EvalError('trap') } })", "EvalError")
    kit.equal(session.value("6 * 7"), "42")


@test
def ends(session):
    kit.equal(session.dies("console.log('bye'); process.exit(3)")[0], 3)
    with start() as other:
        kit.equal(other.dies("process.abort()")[0], -6)
    with start() as other:
        kit.equal(other.dies("process.kill(process.pid, 'SIGKILL')")[0], -9)
    with start() as other:
        other.channel.shutdown(1)
        kit.equal(other.end(), 0)


@test
def standard_input(session):
    read = "fs.readFileSync(0, 'utf8')"
    kit.equal(session.value(read), "''")
    kit.equal(session.execute(read, b"given").text, "'given'")
    kit.equal(session.execute(read).text, "''")
    code = "let all = ''; for await (const part of process.stdin) all += part; all"
    kit.equal(session.execute(code, b"streamed").text, "'streamed'")
    kit.equal(session.execute(code).text, "''")
    kit.equal(session.execute("child_process.execSync('cat', { stdio: ['inherit'] }).toString()", b"child").text, "'child'")
    session.begin("const rl = readline.createInterface({ input: process.stdin, output: process.stdout })\nawait new Promise((r) => rl.question('name? ', r))", pipe=True)
    session.until("name? ")
    session.feed(b"Ada\n")
    kit.equal(session.finish().text, "'Ada'")
    kit.equal(session.execute(read).text, "''")
    session.begin("const two = Buffer.alloc(3); fs.readSync(0, two); String(two)", pipe=True)
    session.feed(b"abc")
    kit.equal(session.finish().text, "'abc'")


@test
def interrupts(session):
    session.execute("let kept = 42")
    for code in (
        "console.log('ready'); while (true);",
        "console.log('ready'); await new Promise(() => {})",
        "await 0; console.log('ready'); for (;;);",
        "await new Promise((r) => setTimeout(r, 5)); console.log('ready'); for (;;);",
        "child_process.execSync('echo ready; exec sleep 60', { stdio: 'inherit' })",
        "console.log('ready'); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)",
    ):
        for _ in range(2):
            cell = session.interrupted(code)
            kit.equal((cell.ok, cell.exit, cell.error["type"]), (False, 130, "Interrupted"), f"{code}: {cell!r}")
            kit.true(cell.seconds < 2, f"{code}: {cell.seconds}")
    kit.equal(session.value("kept"), "42")
    for _ in range(20):
        session.interrupt()
        kit.true(session.execute("1").ok, "it was for the cell before")
    for _ in range(100):
        session.begin("for (let i = 0; i < 1000; i++);")
        session.interrupt()
        cell = session.finish()
        kit.true(cell.ok or cell.exit == 130, repr(cell))
    kit.equal(session.value("await new Promise((r) => setTimeout(r, 100)); 7"), "7")
    session.execute("process.on('SIGINT', () => console.log('mine'))")
    session.begin("const heard = new Promise((r) => process.once('SIGINT', r)); setTimeout(() => console.log('ready'), 5); await heard; 'heard'")
    session.until("ready")
    session.interrupt()
    kit.equal(session.finish().text, "'heard'")


@test
def completion_and_inspection(session):
    session.execute("const value = { first: 1, second: 2, get trap() { process.exit(9) } }; let valley; function area(w, h) { return w * h }")
    got = session.complete("x = val|")
    kit.equal((got["matches"], got["start"], got["end"]), (["valley", "value"], 4, 7))
    kit.equal(session.complete("'é' + value.f|")["matches"], ["first"])
    kit.equal(session.complete("'é' + value.f|")["start"], 13)
    kit.equal(session.complete("value.trap.|")["matches"], [])
    kit.true("isArray" in session.complete("Array.is|")["matches"], "a method")
    kit.equal(session.complete("os.hostn|")["matches"], ["hostname"])
    kit.equal(session.complete("nothing.|")["matches"], [])
    kit.true("typeof" in session.complete("typ|")["matches"], "a word")
    kit.contains(session.inspect("area|")["text/plain"], "function area(w, h)")
    kit.contains(session.inspect("area(|")["text/plain"], "function area(w, h)")
    kit.contains(session.inspect("val|ue")["text/plain"], "first: 1")
    kit.equal(session.inspect("nowhere|"), {"found": False, "text/plain": ""})
    seconds = min(session.ask("complete", "value.|")[1] for _ in range(5))
    kit.true(seconds < 0.05, seconds)


@test
def hostile_cells(session):
    for code in (
        "Array.prototype.map = Array.prototype.push = null",
        "JSON.stringify = null; Buffer.from = null; console.log = null",
        "globalThis.process = null",
        "Object.defineProperty = null; delete globalThis.Promise",
        "process.stdout.write = () => { throw 1 }",
        "Error.prepareStackTrace = () => { throw new Error('x') }",
        "Symbol.for = null; setImmediate = null; process.emit = null",
    ):
        with start() as other:
            other.execute("var kept = 42")
            other.begin(code)
            try:
                other.finish()
                kit.equal(other.execute("kept").outputs, [{"text/plain": "42"}], code)
            except driver.Ended:
                pass  # who takes the interpreter apart may end his session, but not confuse it
    with start() as other:
        other.begin("fs.writeSync(3, 'done ' + '0'.repeat(32) + ' 2\\n{}'); 1")
        kit.equal(other.message(time.monotonic() + 10)[:2], ("done", "0" * 32))
        kit.equal(other.message(time.monotonic() + 10)[:2], ("output", other.secret))
        kit.equal(other.message(time.monotonic() + 10)[:2], ("done", other.secret))
    with start() as other:
        other.loses_channel("fs.closeSync(3)")
    kit.equal(session.says("child_process.spawnSync('sh', ['-c', 'ls /proc/$$/fd'], { stdio: 'inherit' }); undefined"), "0\n1\n2\n")


@test
def a_long_life(session):
    def some(count):
        began = time.monotonic()
        for _ in range(count):
            session.execute("const x = 1; x + 1")
        return (time.monotonic() - began) / count

    some(500)
    first = min(some(300) for _ in range(2))
    some(3000)
    last = min(some(300) for _ in range(3))
    kit.true(last < 3 * first, f"{first} s a cell at first, {last} s later")


@test(types=True)
def types_are_taken_out(session):
    kit.equal(session.value("interface P { x: number }\nconst p: P = { x: 6 }\nfunction twice(n: number): number { return 2 * n }\ntwice(p.x)"), "12")
    kit.equal(session.value("let p: string = 'again'; p as unknown as string"), "'again'")
    kit.equal(session.value("enum Color { Red = 1, Green }\nColor.Green"), "2")
    kit.equal(session.value("enum Color { Blue = 7 }\nColor.Blue"), "7")
    kit.equal(session.value("import { join } from 'path'\nimport type { Stats } from 'fs'\n0"), "0")
    kit.equal(session.value("join('a', 'b')"), "'a/b'", "an import that only another cell uses")
    kit.equal(session.value("class A<T> { constructor(public v: T) {} }\nnew A<number>(5).v"), "5")
    kit.equal(session.value("await Promise.resolve<number>(3)"), "3")
    kit.equal(session.value("const y = <number>(4 as any); y"), "4")
    cell = fails(session, "type T = {\n  a: number\n}\n\nfunction f(t: T): never {\n  throw new Error('there')\n}\nf({ a: 1 })", "Error", "there")
    kit.equal((cell.error["line"], cell.error["column"]), (6, 9), repr(cell))
    kit.contains(cell.stderr, f"at f (cell-{session.count}:6:9)\n    at cell-{session.count}:8:1\n")
    cell = fails(session, "let a: number = 1\nlet b: = 2", "SyntaxError")
    kit.equal(cell.error["line"], 2)
    cell = session.interrupted("console.log('ready' as string); while (true);")
    kit.equal((cell.exit, session.value("1 as number")), (130, "1"))


kit.main()
