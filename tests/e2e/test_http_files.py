#!/usr/bin/python3
# tests/run: args=--as root | --as user
# tests/run: builds=release asan
# tests/run: asan=--as root
# tests/run: timeout=300
"""Files that a run left in /sandbox/output, read back over HTTP and by `emberbox show --file`."""

import json
import os
import signal
import sys
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit
from service import Service
from web import Web

NO_PATH = "there is no such file: give a path from the result's files"


def typed(running, *words):
    return kit.emberbox(*words, env={"EMBERBOX_HOME": running.home})


def address(run, path):
    return f"/v1/executions/{run}/files/{urllib.parse.quote(path)}"


def not_kept(path, run):
    return f'there is no kept file "{path}" of execution "{run}"'


def kept(result):
    return {file["path"]: file["kept"] for file in result["files"]}


def directories(running):
    """What is in the state directory of files."""
    found = os.listdir(os.path.join(running.home, "executions"))
    return sorted(name for name in found if ".files" in name)


@kit.test(timeout=60)
def files_are_read_back():
    running = Service(listen=True)
    asking = Web(running)
    wanted = {"plain.txt": b"text\n", "empty": b"", "a/b/c d.txt": b"deep", "ü/ß %2e&?#+;\\.txt": b"odd",
              "page.html": b"<script>alert(1)</script>", "..data": b"dots", "bytes": bytes(range(256))}
    code = "import os\n" + "".join(
        f"p = '/sandbox/output/' + {path!r}\nos.makedirs(os.path.dirname(p), exist_ok=True)\n"
        f"open(p, 'wb').write({content!r})\n" for path, content in wanted.items())
    result = asking.run(code, "python")
    kit.equal(kept(result), {path: True for path in wanted}, result["stderr"])
    with asking.connect() as wire:
        for path, content in wanted.items():
            answer = wire.get(address(result["id"], path))
            kit.equal((answer.status, answer.body, answer.headers["content-type"], answer.headers["accept-ranges"],
                       answer.headers["x-content-type-options"]),
                      (200, content, "application/octet-stream", "bytes", "nosniff"), path)
            headed = wire.request("HEAD", address(result["id"], path))
            kit.equal((headed.status, headed.headers["content-length"]), (200, str(len(content))), path)
        kit.equal(wire.get(address(result["id"], "empty"), {"Range": "bytes=0-"}).status, 416)
        kit.equal(wire.request("DELETE", address(result["id"], "empty")).error[:2], (405, "method_not_allowed"))
        # What history shows is what was answered.
        kit.equal(wire.get(f"/v1/executions/{result['id']}").json["files"], result["files"])
    for path, content in wanted.items():
        kit.equal(typed(running, "show", result["id"], "--file", path).out, content, path)
    shown = typed(running, "show", result["id"])
    kit.contains(shown.text, "\nfiles\n..data (4 B)\na/b/c d.txt (4 B)\nbytes (256 B)\nempty (0 B)\n")
    # A run without files leaves nothing there.
    without = asking.run("echo")
    kit.equal((without["files"], directories(running)), ([], [f"{result['id']}.files"]))
    kit.equal(asking.get(address(without["id"], "plain.txt")).message, not_kept("plain.txt", without["id"]))


@kit.test(timeout=60)
def large_files_and_ranges():
    running = Service(listen=True)
    asking = Web(running)
    size = 5_000_000
    result = asking.run("block = bytes(i * i % 251 for i in range(100003))\n"
                        f"open('/sandbox/output/large', 'wb').write((block * 50)[:{size}])\n", "python")
    whole = (bytes(i * i % 251 for i in range(100003)) * 50)[:size]
    kit.equal(result["files"], [{"path": "large", "size": size, "kept": True}])
    path = address(result["id"], "large")
    with asking.connect() as wire:
        kit.true(wire.get(path).body == whole, "other bytes")
        for range_, status, part, said in (
            ("bytes=0-0", 206, whole[:1], f"bytes 0-0/{size}"),
            ("bytes=1000000-3999999", 206, whole[1000000:4000000], f"bytes 1000000-3999999/{size}"),
            ("bytes=-7", 206, whole[-7:], f"bytes {size - 7}-{size - 1}/{size}"),
            (f"bytes={size - 1}-", 206, whole[-1:], f"bytes {size - 1}-{size - 1}/{size}"),
            (f"bytes={size}-", 416, None, f"bytes */{size}"),
            ("bytes=0-1,5-6", 200, whole, None),
        ):
            answer = wire.get(path, {"Range": range_})
            kit.equal((answer.status, answer.headers.get("content-range")), (status, said), range_)
            kit.true(part in (answer.body, None), f"{range_}: other bytes")
    kit.true(typed(running, "show", "last", "--file", "large").out == whole, "other bytes")


@kit.test(timeout=60)
def what_is_too_much_is_not_kept():
    running = Service(listen=True)
    asking = Web(running)
    result = asking.run("cd /sandbox/output; head -c 16777210 /dev/zero > a; echo 1234567 > b; echo 123 > c; "
                        "truncate -s 900M d; : > e")
    kit.equal((result["status"], kept(result)),
              ("ok", {"a": True, "b": False, "c": True, "d": False, "e": True}), result["stderr"])
    with asking.connect() as wire:
        kit.equal(wire.get(address(result["id"], "c")).body, b"123\n")
        kit.equal(wire.get(address(result["id"], "a"), {"Range": "bytes=16777200-"}).body, bytes(10))
        for path in "bd":
            answer = wire.get(address(result["id"], path))
            kit.equal((answer.error[:2], answer.message), ((404, "not_found"), not_kept(path, result["id"])))
    kit.contains(typed(running, "show", "last").text, "\nb (8 B, not kept)\nc (4 B)\n")
    # A thousand files, and no more.
    result = asking.run("cd /sandbox/output; for i in {1..1100}; do echo $i > $i; done")
    kit.equal((len(result["files"]), set(kept(result).values())), (1000, {True}))
    # Whatever is kept of code.
    running.stop()
    running = Service(listen=True, env={"SANDBOX_STORE_CODE": "never"})
    asking = Web(running)
    ran = asking.run("echo x > /sandbox/output/x; exit 1")
    kit.equal(asking.get(address(ran["id"], "x")).body, b"x\n")
    kit.equal(asking.get(f"/v1/executions/{ran['id']}").json["code"], None)


@kit.test(timeout=60)
def only_plain_files():
    running = Service(listen=True)
    asking = Web(running)
    result = asking.run("cd /sandbox/output; echo good > good; ln -s /etc/passwd link; ln -s good inside; ln -s .. up; "
                        "mkfifo pipe; mkdir sub; ln -s /etc sub/etc; echo x > $'a\\nb'; echo x > $'\\377'; "
                        "ln good twin; mkdir closed; echo x > closed/x; chmod 0 closed")
    found = kept(result)
    kit.equal((found["good"], found["twin"], found["a\nb"], found["\ufffd"]), (True, True, False, False))
    kit.equal(sorted(set(found) - {"closed/x"}), ["a\nb", "good", "twin", "\ufffd"])
    with asking.connect() as wire:
        kit.equal(wire.get(address(result["id"], "good")).body, b"good\n")
        for path in ("link", "inside", "up", "up/executions", "pipe", "sub", "sub/etc", "sub/etc/passwd", "absent",
                     "good/x", "\ufffd"):
            kit.equal(wire.get(address(result["id"], path)).error[:2], (404, "not_found"), path)
    # And none but those is on the disk.
    top = os.path.join(running.home, "executions", f"{result['id']}.files")
    there = [os.path.relpath(os.path.join(at, name), top) for at, _, names in os.walk(top) for name in names]
    kit.equal(sorted(there), sorted(path for path in found if found[path]))


@kit.test(timeout=60)
def paths_that_lead_elsewhere():
    running = Service(listen=True)
    asking = Web(running)
    ran = asking.run("mkdir /sandbox/output/d; echo x | tee /sandbox/output/x > /sandbox/output/d/y")["id"]
    kit.equal(asking.get(f"/v1/executions/{ran}/files/d/y").body, b"x\n")
    # An encoded slash is one: clients that are generated encode the path of a file whole.
    kit.equal(asking.get(f"/v1/executions/{ran}/files/d%2Fy").body, b"x\n")
    for path in ("../x", "d/../x", "./x", "d/.", "..", "%2e%2e/x", "d/%2E%2E/x", "..%2fx", "%2fetc%2fpasswd", "d%2F%2Fy", "d%252Fy",
                 "d%2F..%2Fx", "d%2F%2e%2e%2Fx", "d%2F", "%2Fx", "d%2F.%2Fy",
                 "/etc/passwd", "/x", "d//y", "x/", "d/", "d", "%252e%252e%252fx", "..%5cx", "x%20", "X", "",
                 f"../{ran}.files/x", "../../../history.db", "x" * 900, "d/" * 300 + "y"):
        # Those are refused by their form already, before anybody looks what they are of.
        kit.equal(asking.get(f"/v1/executions/{ran}/files/{path}").error[:2], (404, "not_found"), path)
    for path in ("x%00", "%00", "x%0a", "%ff", "x\\y", "%zz"):
        kit.equal(asking.get(f"/v1/executions/{ran}/files/{path}").error[:2], (400, "bad_request"), path)
    kit.equal(asking.get(f"/v1/executions/{ran}/files/" + "x" * 1000).status, 414)
    kit.equal(asking.get(f"/v1/executions/{ran}/files//x").message, NO_PATH)
    for other in ("0" * 26, "..", "x", f"{ran}.files", "%2e%2e"):
        kit.equal(asking.get(f"/v1/executions/{other}/files/x").error[:2], (404, "not_found"), other)
    for path in ("../x", "/etc/passwd", "", "d/", "d/../x", "."):
        done = typed(running, "show", ran, "--file", path)
        kit.equal((done.code, done.out, done.errtext), (1, b"", f"emberbox: {NO_PATH}\n"), path)
    done = typed(running, "show", ran, "--file", "z")
    kit.equal((done.code, done.errtext), (1, f"emberbox: {not_kept('z', ran)}\n"))
    done = typed(running, "show", ran, "--file", "x", "--json")
    kit.equal(done.code, 2)
    kit.contains(done.errtext, "--json, --code, --stdout, --stderr and --file exclude each other")


@kit.test(timeout=60)
def while_it_runs_there_are_none():
    running = Service(listen=True)
    asking = Web(running)
    with asking.connect() as wire:
        code = "echo x > /sandbox/output/x; echo ready; sleep 1000"
        began = wire.stream("/v1/execute", {"language": "bash", "code": code, "timeout": 30})
        ran = began.headers["x-execution-id"]
        wire.until("stdout")
        answer = asking.get(address(ran, "x"))
        kit.equal((answer.status, answer.message), (409, "it is still running: its files are kept when it ends"))
        # What was there when it was ended is kept.
        kit.equal(asking.request("DELETE", f"/v1/executions/{ran}").status, 202)
        kit.equal(kept(wire.until("result")), {"x": True})
        kit.equal(asking.get(address(ran, "x")).body, b"x\n")


@kit.test(timeout=60)
def others_do_not_see_them():
    running = Service(listen=True)
    made = {}
    for name, options in (("first", ()), ("second", ()), ("reader", ("--scope", "read")),
                          ("counter", ("--scope", "metrics"))):
        done = typed(running, "token", "add", name, *options)
        made[name] = next(word for word in done.text.split() if word.startswith("ebt_"))
    kit.eventually(lambda: Web(running, token=made["counter"]).get("/metrics").status != 401, "the token is not known")
    ran = Web(running, token=made["first"]).run("echo x > /sandbox/output/x")["id"]
    path = address(ran, "x")
    kit.equal(Web(running, token=made["first"]).get(path).body, b"x\n")
    kit.equal(Web(running, token=made["reader"]).get(path).body, b"x\n")
    kit.equal(Web(running, unix=True).get(path).body, b"x\n")
    answer = Web(running, token=made["second"]).get(path)
    absent = Web(running, token=made["second"]).get(path.replace(ran, "0" * 26))
    kit.equal((answer.error, answer.message), (absent.error, f"there is no execution \"{ran}\""))
    kit.equal(Web(running, token=made["counter"]).get(path).error[:2], (403, "forbidden_scope"))
    kit.equal(Web(running, token=None).get(path).error[:2], (401, "unauthorized"))


@kit.test(timeout=90)
def containers_and_other_doors():
    home = kit.tmp()
    kit.write(os.path.join(home, "registry.yaml"), "containers:\n  shell: {language: bash}\n", 0o600)
    running = Service(listen=True, home=home)
    asking = Web(running)
    with asking.connect() as wire:
        started = wire.post("/containers/start", {"container": "shell", "code": "echo 1 > /sandbox/output/one"}).json
        first = started["result"]
        second = wire.post("/containers/exec", {"id": started["id"], "command":
                                                "cd /sandbox/output; echo 2 > one; mkdir d; echo 3 > d/two"}).json
        kit.equal((kept(first), kept(second)), ({"one": True}, {"d/two": True, "one": True}))
        # Each has what was there at its end.
        for run, path, content in ((first, "one", b"1\n"), (second, "one", b"2\n"), (second, "d/two", b"3\n")):
            kit.equal(wire.get(address(run["id"], path)).body, content, path)
        kit.equal(wire.get(address(first["id"], "d/two")).status, 404)
        # A program that would go on while its files are copied leads nobody elsewhere.
        racing = ("cd /sandbox/output; rm -rf *; for i in {1..50}; do echo safe > f$i; done; mkdir d; "
                  "echo safe > d/passwd; (while :; do ln -sfn /etc l; mv -T l f1; echo safe > g; mv -T g f1; mv d e; "
                  "ln -s /etc d; rm d; mv e d; done) > /dev/null 2>&1 & true")
        for _ in range(5):
            ran = wire.post("/containers/exec", {"id": started["id"], "code": racing}).json
            for path, stays in kept(ran).items():
                answer = wire.get(address(ran["id"], path))
                kit.equal(answer.status, 200 if stays else 404, path)
                if stays:
                    kit.true(answer.body in (b"safe\n", b""), f"{path}: {answer.body[:100]!r}")
        wire.post("/containers/stop", {"id": started["id"]})
    with running.connect() as client:
        framed = client.request({"language": "bash", "code": "echo frame > /sandbox/output/x"})[1]
    kit.equal(asking.get(address(framed["id"], "x")).body, b"frame\n")
    out = os.path.join(kit.tmp(), "out")
    code = "echo cold > /sandbox/output/x"
    cold = typed(running, "run", "--cold", "--json", "--output", out, "-l", "bash", "-c", code).json
    kit.equal(kept(cold), {"x": True})
    kit.equal(typed(running, "show", cold["id"], "--file", "x").out, b"cold\n")
    with open(os.path.join(out, "x"), "rb") as file:
        kit.equal(file.read(), b"cold\n")
    kit.eventually(lambda: asking.get(address(cold["id"], "x")).body == b"cold\n", "the service does not have it")


@kit.test(timeout=60)
def a_disk_that_cannot_be_written_is_no_failure():
    running = Service(listen=True)
    asking = Web(running)
    executions = os.path.join(running.home, "executions")
    if os.path.exists(executions):
        os.rename(executions, executions + ".aside")
    kit.write(executions, "in the place of the directory")
    result = asking.run("echo x > /sandbox/output/x; echo fine")
    kit.equal((result["status"], result["stdout"], kept(result)), ("ok", "fine\n", {"x": False}))
    kit.equal(asking.get(address(result["id"], "x")).error[:2], (404, "not_found"))
    os.unlink(executions)
    if os.path.exists(executions + ".aside"):
        os.rename(executions + ".aside", executions)
    result = asking.run("echo x > /sandbox/output/x; echo fine")
    kit.equal((kept(result), asking.get(address(result["id"], "x")).body), ({"x": True}, b"x\n"))


@kit.test(timeout=60)
def old_and_half_made_ones_go():
    running = Service(listen=True)
    asking = Web(running)
    ran = [asking.run(f"cd /sandbox/output; echo {i} > x; head -c 2000000 /dev/zero > y")["id"] for i in range(2)]
    kit.equal(asking.get(address(ran[1], "x")).body, b"1\n")
    executions = os.path.join(running.home, "executions")
    for name in (f".{ran[0][:-4]}0000.files.tmp", f"{ran[0][:-4]}0000.files"):
        for path in (os.path.join(executions, name), os.path.join(executions, name, "half")):
            os.mkdir(path)
            os.chown(path, os.stat(executions).st_uid, -1)
        kit.write(os.path.join(executions, name, "half", "made"), "x")
        os.utime(os.path.join(executions, name), (1000, 1000))
    running.stop(signal.SIGTERM)
    again = Service(listen=True, home=running.home)
    kit.eventually(lambda: directories(again) == sorted(f"{one}.files" for one in ran), "leftovers are still there")
    kit.equal(Web(again).get(address(ran[0], "x")).body, b"0\n")
    again.stop()
    # A bound that none of them fits into.
    last = Service(listen=True, home=running.home, env={"EMBERBOX_HISTORY_SIZE": "1m"})
    kit.eventually(lambda: directories(last) == [], "they are still there")
    kit.equal(Web(last).get(address(ran[0], "x")).error[:2], (404, "not_found"))


@kit.test(timeout=60)
def what_was_answered_survives_a_kill():
    running = Service(listen=True)
    asking = Web(running)
    result = asking.run("echo x > /sandbox/output/x")
    for role in ("keeper", "store"):
        os.kill(running.role(role), signal.SIGKILL)
    os.kill(running.pid, signal.SIGKILL)
    kit.equal(json.loads(typed(running, "show", result["id"], "--json").text)["files"], result["files"])
    kit.equal(typed(running, "show", result["id"], "--file", "x").out, b"x\n")


kit.main()
