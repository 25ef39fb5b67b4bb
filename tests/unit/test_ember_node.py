#!/usr/bin/python3
"""src/engine/ember/node*.c: a fork of a Node.js that is running already is like one that was started, without boxes."""
# tests/run: timeout=120

import collections
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import alone
import kit

NODE = "/usr/bin/node"
DRIVERS = os.path.join(kit.REPO, "runtimes/javascript")
COLD = [NODE, "-r", f"{DRIVERS}/modules.cjs"]
WAITS = [NODE, "--no-memory-reducer", *COLD[1:], "-r", f"{DRIVERS}/ember.cjs"]

Case = collections.namedtuple("Case", "name source args stdin files env entry", defaults=((), "", {}, {}, "main.js"))

CLOCKS = """
const { timeOrigin, nodeTiming } = performance;
console.log(process.uptime() < 5, performance.now() < 5000, Math.abs(timeOrigin + performance.now() - Date.now()) < 1000,
    nodeTiming.bootstrapComplete < 5000);
"""
# Each makes threads of its own, which get the ids of threads that were the zygote's, and ends in another way.
POOL = "require('fs').promises.readFile(__filename).then(() => { %s });"
CASES = [
    Case("hello", "console.log(6 * 7);"),
    Case("options", "console.log(process.execArgv, process.argv.length, process._preload_modules);"),
    Case("clocks", CLOCKS),
    Case("pool", POOL % "console.log('read')"),
    Case("pool_exit", POOL % "process.exit(3)"),
    Case("pool_exit_code", POOL % "process.exitCode = 4"),
    Case("pool_throw", "process.once('exit', (n) => console.log(n));" + POOL % "throw new TypeError('read')"),
    Case("pool_throw_many", "const fs = require('fs'); let n = 0; for (let i = 0; i < 64; i++)"
         " fs.readFile(__filename, () => { if (++n === 64) null.x; });"),
    Case("worker_throw", "const w = new (require('worker_threads').Worker)('1', { eval: true });"
         " w.on('exit', () => { throw 5; });"),
]  # fmt: skip

# The second has its numbers elsewhere than usual: malloc() could not grow.
ZYGOTES = {
    "usual": alone.Zygote(COLD, WAITS, "main.js", {}),
    "blocked": alone.Zygote(COLD, WAITS, "main.js", {"ALONE_NO_BREAK": "1"}),
}


def compare(zygote, case):
    kit.equal(zygote.warm(case), zygote.cold(case))


for which, one in [(which, one) for which in ZYGOTES for one in CASES]:
    kit.test(lambda which=which, one=one: compare(ZYGOTES[which], one), timeout=2 * alone.LONGEST,
             name=f"{which}_{one.name}")  # fmt: skip

BORN = time.monotonic()


@kit.test
def a_fork_of_an_old_zygote_collects_no_garbage_and_starts_no_thread():
    # V8 would plan a collection 8 s after its last, and give back memory where little is allocated.
    time.sleep(max(0, BORN + 10 - time.monotonic()))
    count = "console.log(require('fs').readdirSync('/proc/self/task').length);"
    kit.equal(ZYGOTES["usual"].warm(Case("threads", count)), (0, b"1\n", b""))


try:
    kit.main()
finally:
    for each in ZYGOTES.values():
        each.stop()
