#!/usr/bin/python3
"""A module is a module with each Node.js that Debian or npm has, cold and in a service, whether that can be forked or not."""
# tests/run: args=--as root --node 18 | --as root --node 24
# tests/run: timeout=180

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
import service

IMPORT = 'import os from "node:os"; import { x } from "./lib.js"; console.log(typeof os.EOL, x, typeof require);'
LIB = {"lib.js": "export const x = 7;"}
TYPE = {"package.json": '{"type": "module"}'}

# name: request, exit code, standard output, what stands in standard error
CASES = {
    "import": ({"code": IMPORT, "files": LIB}, 0, "string 7 undefined\n", ""),
    "package": ({"code": IMPORT, "files": {**LIB, **TYPE}}, 0, "string 7 undefined\n", ""),
    "await": ({"code": "console.log(await Promise.resolve(5));"}, 0, "5\n", ""),
    "name": ({"code": "console.log(await 1, import.meta.url);", "entry": "other.js"}, 0, "1 file:///sandbox/code/other.js\n", ""),
    "mjs": ({"code": "console.log(await 6);", "entry": "main.mjs"}, 0, "6\n", ""),
    "throws": ({"code": 'import "node:os"; throw new TypeError("top");'}, 1, "", "TypeError: top"),
    "unsettled": ({"code": "console.log(1); await new Promise(() => {});"}, 13, "1\n", ""),
    "script": ({"code": "console.log(typeof require, require('./lib.cjs'));", "files": {"lib.cjs": "module.exports = 8;"}},
               0, "function 8\n", ""),
    "syntax": ({"code": "let a = ;"}, 1, "", "SyntaxError"),
}  # fmt: skip

CASES["await in a call"] = ({"code": "const f = async () => 9;\nconsole.log(1, [await f()].map(String), `${await f()}`);"}, 0, "1 [ '9' ] 9\n", "")
CASES["await in no async function"] = ({"code": "function f() {\n  await 1;\n}"}, 1, "", "SyntaxError: await is only valid in async functions")
CASES["await of a script"] = ({"code": "const await = 3; console.log(await, typeof require);"}, 0, "3 function\n", "")
CASES["await and an error"] = ({"code": "console.log(await Promise.resolve(5);"}, 1, "", "SyntaxError: missing ) after argument list")


def answers(client, name):
    asked, code, out, err = CASES[name]
    result = client.request({"language": "javascript", **asked})[1]
    kit.equal((result["exit_code"], result["stdout"]), (code, out), f"{name}: {result['stderr']}")
    kit.true(err in result["stderr"], f"{name}: {result['stderr']}")
    kit.equal(result["meta"]["start"], "warm", name)


@kit.test
def the_version_is_the_one_asked_for():
    row = next(row for row in kit.emberbox("languages", "--json", timeout=60).json if row["name"] == "javascript")
    kit.equal(row["version"].split(".")[0], sys.argv[sys.argv.index("--node") + 1])


@kit.test(timeout=120)
def modules_run_in_the_service():
    """A Node.js that cannot be forked is started in a box that was made ahead."""
    s = service.Service("--embers", "2")
    with s.connect() as client:
        until = time.monotonic() + 30
        while client.request({"language": "javascript", "code": ""})[1]["meta"]["start"] != "warm":
            kit.true(time.monotonic() < until, "no run is warm")
            time.sleep(0.2)  # every one that is not warm yet is a filter
        for name in CASES:
            answers(client, name)
    s.stop()


@kit.test(timeout=120)
def modules_run_cold():
    for name, (asked, code, out, err) in CASES.items():
        place = kit.tmp()
        for path, text in asked.get("files", {}).items():
            kit.write(os.path.join(place, path), text)
        entry = kit.write(os.path.join(place, asked.get("entry", "main.js")), asked["code"])
        r = kit.emberbox("run", "--cold", "--json", "--project", place, os.path.basename(entry), cwd=place)
        kit.equal((r.json["exit_code"], r.json["stdout"]), (code, out), f"{name}: {r.json['stderr']}")
        kit.true(err in r.json["stderr"], f"{name}: {r.json['stderr']}")


kit.main()
