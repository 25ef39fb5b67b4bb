#!/usr/bin/python3
"""TypeScript: what is checked, what is built of several files, and where errors point."""
# tests/run: args=--as root
# tests/run: timeout=240

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit

FIRST = 120  # seconds: the first run prepares the toolchain


def run(files, *options, entry="main.ts", words=(), timeout=FIRST):
    """The result of a program of several files, {place: content}; `entry` is the one that runs."""
    directory = kit.tmp()
    argv = ["run", "--json", "-l", "typescript", "--entry", entry, *options]
    for place, content in files.items():
        argv += ["--file", f"{kit.write(os.path.join(directory, place), content)}:{place}"]
    env = {"EMBERBOX_HOME": os.path.join(kit.home(), "emberbox")}
    return kit.emberbox(*argv, *(("--", *words) if words else ()), env=env, timeout=timeout).json


def good(result, stdout):
    why = f"{result['error_message']}; {result['stderr'][-400:]}"
    kit.equal((result["status"], result["exit_code"]), ("ok", 0), why)
    kit.equal(result["stdout"], stdout)


MISTAKE = 'console.log("ran");\n\nconst count: number = "three";\nconsole.log(count);\n'


@kit.test(timeout=FIRST)
def a_type_error_stops_the_program():
    result = run({"main.ts": MISTAKE})
    kit.equal((result["status"], result["exit_code"], result["stdout"]), ("failed", 2, ""))
    kit.equal(result["stderr"], "main.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.\n")
    kit.equal(
        result["error_message"],
        "TypeScript compile error: Type 'string' is not assignable to type 'number'. (line 3)",
    )


@kit.test(timeout=FIRST)
def without_the_check_it_runs():
    good(run({"main.ts": MISTAKE}, "--no-check"), "ran\nthree\n")


@kit.test(timeout=FIRST)
def a_syntax_error_is_one_with_and_without_the_check():
    code = {"main.ts": "let a = 1;\n\nlet b = = 2;\n"}
    result = run(code)
    kit.equal((result["exit_code"], result["stderr"]), (2, "main.ts(3,9): error TS1109: Expression expected.\n"))
    kit.equal(result["error_message"], "TypeScript syntax error: Expression expected. (line 3)")
    result = run(code, "--no-check")
    kit.equal((result["exit_code"], result["stdout"]), (1, ""))
    kit.equal(result["error_message"], 'TypeScript syntax error: Unexpected "=" (line 3)')


@kit.test(timeout=FIRST)
def only_what_cannot_be_read_is_a_syntax_error():
    decorated = "function d(n: number): number { return n; }\nclass A { @d m() {} }\nnew A();\n"
    result = run({"main.ts": decorated})
    kit.contains(result["stderr"], "main.ts(2,12): error TS1241: ")
    message = "Unable to resolve signature of method decorator when called as an expression."
    kit.equal(result["error_message"], f"TypeScript compile error: {message} (line 2)")
    # The checker's first error counts, also before one about the program's grammar.
    result = run({"main.ts": 'const n: number = "x";\nconst q;\nconsole.log(n, q);\n'})
    kit.contains(result["stderr"], "main.ts(2,7): error TS1155: ")
    want = "TypeScript compile error: Type 'string' is not assignable to type 'number'. (line 1)"
    kit.equal(result["error_message"], want)
    # Nothing is checked when something cannot be read.
    result = run({"main.ts": 'const n: number = "x";\n\nlet b = = n;\n'})
    kit.equal(result["stderr"], "main.ts(3,9): error TS1109: Expression expected.\n")
    kit.equal(result["error_message"], "TypeScript syntax error: Expression expected. (line 3)")


@kit.test(timeout=FIRST)
def an_error_of_settings_is_not_one_of_the_code():
    files = {"main.ts": "console.log(1);\n", "tsconfig.json": '{"compilerOptions": {"paths": {"@x/*": ["x/*"]}}}'}
    result = run(files)
    message = "Non-relative paths are not allowed. Did you forget a leading './'?"
    kit.equal(result["stderr"], f"tsconfig.json: error TS5090: {message}\n")
    error = result["error"]
    kit.equal((error["file"], error["line"], error["message"]), ("tsconfig.json", None, message))
    place = 'a&|"b'
    result = run({f"{place}/{name}": content for name, content in files.items()}, entry=f"{place}/main.ts")
    kit.equal(result["stderr"], f"{place}/tsconfig.json: error TS5090: {message}\n")
    files["tsconfig.json"] = files["tsconfig.json"].replace('"x/', '"./x/')
    good(run(files), "1\n")


@kit.test(timeout=FIRST)
def the_check_is_strict_and_knows_node():
    result = run({"main.ts": "function f(a) { return a; }\nf(1);\n"})
    kit.contains(result["stderr"], "main.ts(1,12): error TS7006: Parameter 'a' implicitly has an 'any' type.")
    result = run({"main.ts": "document.title = 'x';\n"})
    kit.contains(result["stderr"], "main.ts(1,1): error TS2584: Cannot find name 'document'.")
    code = """
        const known: unknown[] = [console.log, fetch, setTimeout, Buffer.from, process.pid, URL, performance.now];
        console.log(known.every(Boolean), [3, 1, 2].sort().at(-1));
    """
    good(run({"main.ts": code}), "true 3\n")


@kit.test(timeout=FIRST)
def an_error_at_run_time_points_into_the_source():
    result = run(
        {
            "main.ts": 'import { parse } from "./lib/parse";\n\ninterface Unused { a: 1 }\nconsole.log(parse("x"));\n',
            "lib/parse.ts": "export type Parsed = { value: number };\n\n"
            "export function parse(text: string): Parsed {\n"
            "\tconst value = Number(text);\n"
            "\tif (Number.isNaN(value))\n"
            "\t\tthrow new SyntaxError(`no number: ${text}`);\n"
            "\treturn { value };\n}\n",
        }
    )
    kit.equal((result["status"], result["exit_code"], result["stdout"]), ("failed", 1, ""))
    kit.contains(result["stderr"], "/sandbox/code/lib/parse.ts:6\n")
    kit.contains(result["stderr"], "at parse (/sandbox/code/lib/parse.ts:6:9)\n")
    kit.contains(result["stderr"], "(/sandbox/code/main.ts:4:13)\n")
    kit.equal(result["error_message"], "Execution failed: SyntaxError: no number: x")


@kit.test(timeout=FIRST)
def imports_of_every_kind():
    files = {
        "main.ts": """
            import fs from "node:fs";
            import { join } from "path";
            import plain from "./plain";
            import { named } from "./named.js";
            import { exact } from "./exact.ts";
            import { script } from "./script.js";
            import data from "./data.json";
            import old = require("./old.cjs");
            import { inner } from "./folder";
            import type { Shape } from "./types";
            const shape: Shape = { sides: 4 };
            const { late } = await import("./late");
            const os = require("node:os") as typeof import("node:os");
            console.log(plain, named, exact, script, data.list[1], old.value, inner, shape.sides, late, os.EOL.length);
            console.log(fs.existsSync(join(__dirname, "data.json")));
        """,
        "plain.ts": "export default 1;\n",
        "named.ts": "export const named = 2;\n",
        "exact.ts": "export const exact: number = 3;\n",
        "script.js": "export const script = 4;\n",
        "data.json": '{"list": [0, 5]}',
        "old.cjs": "module.exports = { value: 6 };\n",
        "folder/index.ts": "export const inner = 7;\n",
        "types.d.ts": "export interface Shape { sides: number }\n",
        "late.mts": "export const late = 9;\n",
    }
    files["main.ts"] = files["main.ts"].replace("./late", "./late.mjs")
    good(run(files), "1 2 3 4 5 6 7 4 9 1\ntrue\n")


@kit.test(timeout=FIRST)
def what_a_module_knows_of_itself():
    code = """
        import { fileURLToPath } from "node:url";
        const here: string = fileURLToPath(import.meta.url);
        console.log(here, __filename, __dirname, import.meta.filename, import.meta.dirname);
        console.log(process.argv[1], process.argv.slice(2).join("|"), process.argv.length);
        if (require.main === module) console.log("main");
        console.log(await Promise.resolve("awaited"));
    """
    directory = "/sandbox/code/src"
    good(
        run({"src/app.ts": code}, entry="src/app.ts", words=("a b", "-c")),
        f"{directory}/app.ts {directory}/app.ts {directory} {directory}/app.ts {directory}\n"
        f"{directory}/app.ts a b|-c 4\nmain\nawaited\n",
    )


@kit.test(timeout=FIRST)
def names_that_a_program_may_declare_itself():
    code = """
        import { createRequire } from "node:module";
        import path from "node:path";
        import { fileURLToPath } from "node:url";
        const require = createRequire(import.meta.url);
        const __filename = fileURLToPath(import.meta.url);
        const __dirname = path.dirname(__filename);
        console.log(__dirname, import.meta.dirname, require("node:path").basename(__filename));
    """
    good(run({"main.ts": code}), "/sandbox/code /sandbox/code main.ts\n")


@kit.test(timeout=FIRST)
def syntax_that_is_more_than_types():
    code = """
        enum Colour { Red = 1, Green }
        const enum Size { Large = "L" }
        namespace Geometry { export const sides = (n: number): number => n * 2; }
        function logged<This, Args extends unknown[], Result>(
            method: (this: This, ...args: Args) => Result,
            context: ClassMethodDecoratorContext<This, (this: This, ...args: Args) => Result>,
        ) {
            return function (this: This, ...args: Args): Result {
                console.log(`call ${String(context.name)}`);
                return method.apply(this, args);
            };
        }
        abstract class Base<T> {
            constructor(protected readonly value: T) {}
            abstract show(): string;
        }
        class Box extends Base<number> {
            @logged
            override show(): string { return `box ${this.value}`; }
        }
        const list = [1, 2] as const satisfies readonly number[];
        console.log(Colour[2], Size.Large, Geometry.sides(2), new Box(3).show(), list.length);
    """
    good(run({"main.ts": code}), "call show\nGreen L 4 box 3 2\n")


@kit.test(timeout=FIRST)
def files_of_other_kinds():
    markup = """
        declare global {
            namespace JSX { interface IntrinsicElements { b: { id: string } } type Element = string; }
        }
        const React = {
            createElement: (tag: string, set: { id: string }, inner: string): string => `${tag}#${set.id}:${inner}`,
        };
        console.log(<b id="x">bold</b>);
        export {};
    """
    good(run({"page.tsx": markup}, entry="page.tsx"), "b#x:bold\n")
    good(run({"m.mts": "export {};\nconsole.log(typeof await 1);\n"}, entry="m.mts"), "number\n")
    code = 'import os = require("os");\nmodule.exports = {};\nconsole.log(os.EOL.length, require.main === module);\n'
    good(run({"c.cts": code}, entry="c.cts"), "1 true\n")


@kit.test(timeout=FIRST)
def tsconfig_is_respected():
    loose = '{"compilerOptions": {"strict": false, "paths": {"@lib/*": ["./lib/*"]}}, "include": ["elsewhere"]}'
    files = {
        "main.ts": 'import { twice } from "@lib/twice";\nfunction f(a) { return a; }\nconsole.log(twice(f(4)));\n',
        "lib/twice.ts": "export const twice = (n: number): number => n * 2;\n",
    }
    kit.contains(run(files)["stderr"], "error TS2307: Cannot find module '@lib/twice'")
    good(run({**files, "tsconfig.json": loose}), "8\n")

    code = {"main.ts": "const left = 1;\nconsole.log(2);\nexport {};\n"}
    good(run(code), "2\n")
    result = run({**code, "tsconfig.json": '{"compilerOptions": {"noUnusedLocals": true}}'})
    kit.equal(result["stderr"], "main.ts(1,7): error TS6133: 'left' is declared but its value is never read.\n")

    factory = '{"compilerOptions": {"jsx": "react", "jsxFactory": "h"}}'
    markup = """
        declare global { namespace JSX { interface IntrinsicElements { i: object } type Element = string; } }
        const h = (tag: string): string => `made ${tag}`;
        console.log(<i />);
        export {};
    """
    good(run({"main.tsx": markup, "tsconfig.json": factory}, entry="main.tsx"), "made i\n")


@kit.test(timeout=FIRST)
def tsconfig_of_another_kind_of_build_does_no_harm():
    settings = """{
        // As for a library that is published.
        "compilerOptions": {
            "target": "es2017", "module": "commonjs", "outDir": "dist", "rootDir": "src", "composite": true,
            "declaration": true, "incremental": true, "tsBuildInfoFile": "x.tsbuildinfo",
            "plugins": [{ "name": "none" }], "experimentalDecorators": true,
        },
        "files": ["nothing.ts"], "references": [{ "path": "../nowhere" }],
    }"""
    code = """
        import { value } from "./lib/value";
        function mark(target: object, key: string): void { console.log(key); }
        class A { @mark method(): number { return value; } }
        console.log(new A().method(), await Promise.resolve(2));
    """
    files = {"main.ts": code, "lib/value.ts": "export const value = 1;\n", "tsconfig.json": settings}
    good(run(files), "method\n1 2\n")


@kit.test(timeout=FIRST)
def without_the_types_of_node_it_is_not_there_but_for_no_check():
    """`available` is what a run would say: 127 with the command; --no-check needs none of them."""
    hidden = [place for place in ("/usr/local/lib/node_modules/@types", "/usr/lib/node_modules/@types", "/usr/share/nodejs/@types",
              "/usr/local/lib/node_modules/typescript/node_modules/@types") if os.path.isdir(place)]  # fmt: skip
    kit.true(hidden, "@types/node is nowhere")
    home = kit.tmp()

    def apart(*words):
        mounts = " && ".join(f"mount -t tmpfs none {place}" for place in hidden)
        argv = ["/usr/bin/unshare", "-m", "/bin/sh", "-c", f'{mounts} && exec "$@"', "sh", kit.built(), *words]
        return kit.command(argv, env={"PATH": kit.PATH, "EMBERBOX_HOME": home}, timeout=FIRST)

    row = next(row for row in apart("languages", "--json").json if row["name"] == "typescript")
    kit.equal((row["available"], row["install"]), (False, "sudo npm install -g typescript esbuild @types/node"))
    code = "const n: number = 'six'; console.log(n)"
    r = apart("run", "--cold", "-l", "typescript", "-c", code)
    kit.equal((r.code, r.text), (127, ""))
    kit.equal(r.errtext, "emberbox: TypeScript is not installed on this machine; install it with: "
              "sudo npm install -g typescript esbuild @types/node\n")
    r = apart("run", "--cold", "-l", "typescript", "--no-check", "-c", code)
    kit.equal((r.code, r.text), (0, "six\n"), r.errtext)
    # What --no-check prepared without them is not what a check is made with afterwards.
    r = kit.emberbox("run", "--cold", "-l", "typescript", "-c", code, env={"EMBERBOX_HOME": home}, timeout=FIRST)
    kit.equal((r.code, r.text), (2, ""), r.errtext)
    kit.contains(r.errtext, "Type 'string' is not assignable to type 'number'")


kit.main()
