#!/usr/bin/python3
# tests/run: args=--as root
# tests/run: nightly=--as user
# tests/run: timeout=400
"""Hostile cells of JavaScript, Ruby and Bash: each gets the right answer, tells truly whether the state was kept, and none
makes up a verdict. Those of Python are in test_sessions.py, with what they have in common."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from service import Service
from web import Web

# The answers: (status, exit code, signal), the session's state, why it was lost, a part of error_message.
KEPT, LOST = "kept", "lost"
TIMEOUT = ("timeout", 124, None), KEPT, None, "Code execution timed out after 1s"
DEAF = ("timeout", 124, "SIGKILL"), LOST, "the cell did not end within 2s of being interrupted", "Code execution timed out after 1s"
WROTE = "the program wrote to its driver's channel"
CLOSED = "the program closed its driver's channel"
KILLED = ("killed", 137, "SIGKILL")


def written(why):
    return KILLED, LOST, why, f"The session ended while this ran: {why}"


def left(code):
    return ("failed" if code else "ok", code, None), LOST, f"its driver ended with exit code {code}", None


def crashed(signal, code):
    return ("failed", code, signal), LOST, f"its driver was ended by signal {signal}", None


FINE = ("ok", 0, None), KEPT, None, None


def failed(message):
    return ("failed", 1, None), KEPT, None, message


CELLS = {
    "javascript": {
        "a fork bomb": ("while (true) try { child_process.spawn('/bin/sh', ['-c', 'sh -c \"sleep 9\" & sleep 9']).on('error', () => {}) } catch {}",
                        TIMEOUT),
        "leaving": ("process.exit(0)", left(0)),
        "leaving with a code": ("process.exit(7)", left(7)),
        "leaving past all handlers": ("process.reallyExit(9)", left(9)),
        "an abort": ("process.abort()", crashed("SIGABRT", 134)),
        "a segfault": ("process.kill(process.pid, 'SIGSEGV'); while (true);", crashed("SIGSEGV", 139)),
        "closing the channel": ("fs.closeSync(3)", written(CLOSED)),
        "closing every descriptor": ("for (let fd = 0; fd < 4096; fd++) try { fs.closeSync(fd) } catch {}", crashed("SIGABRT", 134)),
        "writing to every descriptor": ("for (let fd = 3; fd < 4096; fd++) try { fs.writeSync(fd, 'done x 2\\n{}') } catch {}", written(WROTE)),
        "replacing streams": ("process.stdout.write = () => { throw 1 }; for (const name of ['stdout', 'stderr'])"
                              " Object.defineProperty(process, name, { get() { throw 2 } }); console.log = null", FINE),
        "endless recursion": ("function f() { return f() + 1 } f()", failed("Maximum call stack size exceeded")),
        "endless recursion that waits": ("async function f() { await f() } await f()", failed("Maximum call stack size exceeded")),
        "ignoring SIGINT while computing": ("process.on('SIGINT', () => {}); while (true);", TIMEOUT),
        "ignoring SIGINT while waiting": ("process.on('SIGINT', () => {}); await new Promise(() => {})", DEAF),
        "endless promises": ("(function f() { Promise.resolve().then(f) })()", TIMEOUT),
        "taking the driver apart": ("Symbol.for = JSON.stringify = Buffer.from = Buffer.concat = setImmediate = process.emit = null", FINE),
        "a forged verdict": ("fs.writeSync(3, 'done ' + '0'.repeat(32) + ' 20\\n{\"ok\":true,\"exit\":0}'); throw 1", written(WROTE)),
    },
    "ruby": {
        "a fork bomb": ("loop { begin; fork; rescue SystemCallError; end }", None),
        "leaving": ("exit!(0)", left(0)),
        "leaving with a code": ("exit!(7)", left(7)),
        "an abort": ("Process.kill(:ABRT, Process.pid); sleep", crashed("SIGABRT", 134)),
        "a segfault": ("require 'fiddle'; Fiddle::Function.new(1, [], Fiddle::TYPE_VOID).call", crashed("SIGSEGV", 139)),
        "closing every descriptor": ("(0..4096).each { |fd| IO.for_fd(fd).close rescue SystemCallError }", written(CLOSED)),
        "writing to every descriptor": ("(3..4096).each { |fd| IO.for_fd(fd, autoclose: false).syswrite('done') rescue SystemCallError }", written(WROTE)),
        "replacing streams": ("class Bad; def write(*) = raise('no'); end; $stdout = $stderr = Bad.new; nil", FINE),
        "endless recursion": ("def f = f() + 1\nf", failed("stack level too deep")),
        "ignoring SIGINT": ("trap('INT', 'IGNORE'); loop {}", DEAF),
        "catching interrupts": ("loop { begin; sleep; rescue Interrupt; end }", DEAF),
        "a forged verdict": ("IO.for_fd(3, autoclose: false).syswrite('done ' + '0' * 32 + %( 20\\n{\"ok\":true,\"exit\":0})); raise 'x'", written(WROTE)),
    },
    "bash": {
        "a fork bomb": ("f() { f | f & }; f; while :; do :; done", TIMEOUT),
        "leaving": ("exit 0", left(0)),
        "leaving with a code": ("exit 7", left(7)),
        "a segfault": ("kill -SEGV $$", crashed("SIGSEGV", 139)),
        "closing every descriptor": ("for fd in /proc/$$/fd/*; do eval \"exec ${fd##*/}>&-\"; done 2>/dev/null", written(CLOSED)),
        # One of them is the driver's own script: it must not be read on before the session is ended.
        "writing to every descriptor": ("for fd in {3..300}; do eval \"echo done >&$fd\" 2>/dev/null; done; sleep 9", written(WROTE)),
        "replacing streams": ("exec 1>&- 2>&-", FINE),
        "functions of any name": ("printf() { return 1; }; read() { return 1; }; trap() { :; }; rm() { echo no; }", FINE),
        "forgetting the driver": ("unset -f $(compgen -A function __emberbox) 2>/dev/null; true", FINE),
        "ignoring SIGINT": ("trap '' INT; while :; do :; done", DEAF),
    },
}  # fmt: skip
# A cell that tells that the state is there, and how it does.
KNOWS = {"javascript": ("var x = 41", "x + 1"), "ruby": ("x = 41", "x + 1"), "bash": ("x=41", "(exit $((x + 1)))")}


def cell(web, path, code, **fields):
    answer = web.post(path + "/execute", {"code": code, **fields})
    kit.equal(answer.status, 200, answer.body[:500])
    return answer.json


def hostile(language):
    web = Web(Service(listen=True), timeout=60)
    for what, (code, wanted) in CELLS[language].items():
        made = web.post("/v1/sessions", {"language": language, "limits": {"pids": 40, "memory": "256m"}})
        kit.equal(made.status, 201, made.body[:500])
        path = "/v1/sessions/" + made.json["id"]
        kit.equal(cell(web, path, KNOWS[language][0])["status"], "ok")
        done = cell(web, path, code, timeout=1)
        if wanted is None:  # a race with its own children: the answer is a time limit, and true about the state
            wanted = TIMEOUT if done["session"]["state"] == KEPT else DEAF
        answer, state, reason, message = wanted
        found = (done["status"], done["exit_code"], done["signal"]), done["session"]["state"], done["session"]["reason"]
        kit.equal(found, (answer, state, reason), f"{what}: {str(done)[:800]}")
        if message:
            kit.contains(done["error_message"] or "", message, what)
        if state == KEPT:
            known = cell(web, path, KNOWS[language][1], timeout=10)
            # Where streams are gone the exit code tells.
            kit.equal(known["exit_code"] if language == "bash" else known["outputs"][-1:], 42 if language == "bash" else [{"text/plain": "42"}],
                      f"{what}: {str(known)[:800]}")
        else:
            kit.equal(web.get(path).json["reason"], reason, what)
            kit.equal(web.post(path + "/execute", {"code": "1"}).error, (404, "not_found", "session"), what)
        web.request("DELETE", path)


for name in CELLS:
    kit.test(lambda name=name: hostile(name), name=name, timeout=120)

kit.main()
