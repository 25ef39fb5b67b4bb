#!/usr/bin/python3
"""The service and its embers on a kernel with a pure v2 tree and no Landlock, by booting one.

tests/run: timeout=240

As test_box.py: one boot runs every case, as root and as
an ordinary user, each with a service of its own.
"""
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import kit  # noqa: E402
import other_kernel as box  # noqa: E402

# name: (code, options)
CASES = {
    "plain": ("import os; print(os.getpid(), os.getuid())", []),
    "memory": (box.EAT, ["--memory", "64m"]),
    "memory_enough": (box.EAT, ["--memory", "192m"]),
    "pids": (box.FORKS, ["--pids", "8"]),
    "cpu_time": ("while True: pass", ["--cpu-time", "1", "--timeout", "20"]),
    "timeout": ("import time; time.sleep(60)", ["--timeout", "1"]),
}


class Unix(http.client.HTTPConnection):
    """HTTP over the service's socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(self.path)

    def ask(self, method, target, body=None):
        self.request(method, target, json.dumps(body) if isinstance(body, dict) else body)
        answer = self.getresponse()
        return answer.status, json.loads(answer.read())


def session_files(home):
    """A session of 64 MiB into which 96 MiB are put from outside, 8 at a time."""
    api = Unix(f"{home}/emberbox.sock")
    begun = api.ask("POST", "/v1/sessions", {"language": "python", "limits": {"memory": "64m"}, "allow_weaker": ["landlock"]})
    at = f"/v1/sessions/{begun[1].get('id')}"
    put = [api.ask("PUT", f"{at}/files/data/{i}", b"x" * (8 << 20))[0] for i in range(12)]
    disk = "import os\nv = os.statvfs('/sandbox')\nprint(v.f_blocks * v.f_bsize >> 20, len(os.listdir('/sandbox/data')))"
    return {"begun": begun, "put": put, "now": api.ask("GET", at), "cell": api.ask("POST", f"{at}/execute", {"code": disk})}


def serve(who, name, emberbox, attack, probe):
    """Results of every case, run by this user over a service of his own."""
    home = f"/tmp/{name}"
    env = {**os.environ, "HOME": home, "EMBERBOX_HOME": home, "EMBERBOX_SERVICE": "auto",
           "EMBERBOX_LISTEN": "none"}
    subprocess.run([*who, "mkdir", "-m", "700", home], check=True, timeout=10)
    ready, writer = os.pipe()
    service = subprocess.Popen([*who, emberbox, "serve", "--embers", "4", *box.WEAKER], stdin=subprocess.DEVNULL, pass_fds=[writer],
                               stderr=subprocess.PIPE, env={**env, "EMBERBOX_READY_FD": str(writer)})
    os.close(writer)
    os.read(ready, 1)

    def run(code, options):
        done = subprocess.run([*who, emberbox, "run", "-l", "python", "-c", code, "--json", *box.WEAKER, *options], env=env,
                              check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=90)
        return {"code": done.returncode, "out": done.stdout.decode(errors="replace"), "err": done.stderr.decode(errors="replace")}

    # The first is cold, and so is the next while the interpreter starts.
    for _ in range(50):
        if '"start":"warm"' in run("pass", [])["out"]:
            break
    cases = {**CASES, "attack": (attack, ["--file", f"{probe}:/sandbox/data/probe", "--max-output", "1m", "--timeout", "50"])}
    results = {f"{name}_{case}": run(*what) for case, what in cases.items()}
    results[f"{name}_files"] = session_files(home)
    service.terminate()
    said = service.communicate(timeout=30)[1].decode(errors="replace")
    return results, said


def inside(emberbox, probe):
    """Under the other kernel: runs every case and prints what came of it."""
    emberbox = shutil.copy(emberbox, "/tmp/emberbox")
    attempts = dict.fromkeys(attempt for _, attempt, _ in box.expected(probe) if attempt not in box.NOT_TRIED)
    attack = f"import os; os.execv('/sandbox/data/probe', {['probe', *attempts]!r})"
    probe = shutil.copy(probe, "/tmp/probe")
    results, said = {}, {}
    for name, who in (("root", []), ("user", box.USER)):
        part, said[name] = serve(who, name, emberbox, attack, probe)
        results.update(part)
    left = [os.path.join(path, name) for path, names, _ in os.walk("/sys/fs/cgroup") for name in names
            if name.startswith("box-")]
    json.dump({"results": results, "said": said, "left": left}, sys.stdout)


def result(name, code):
    got = box.result(name, code)
    kit.equal(got["meta"]["start"], "warm", f"start of {name}")
    return got


in_root = kit.test(timeout=220, modes=["root"])


@in_root
def a_fork_is_the_second_process_of_its_box():
    for name in ("root", "user"):
        got = result(f"{name}_plain", 0)
        kit.equal((got["status"], got["stdout"]), ("ok", "2 1000\n"))
    layers = result("root_plain", 0)["meta"]["isolation"]
    kit.true(any(layer.startswith("cgroup: v2") for layer in layers), f"no v2 cgroup in {layers!r}")
    kit.true(not any(layer.startswith("landlock: abi") for layer in layers), f"landlock claimed in {layers!r}")
    layers = result("user_plain", 0)["meta"]["isolation"]
    kit.true(any(layer.startswith("accounting: ") for layer in layers), f"no accounting in {layers!r}")


@in_root
def limits_are_those_of_the_request():
    for name in ("root", "user"):
        got = result(f"{name}_memory", 137)
        kit.equal((got["status"], got["error_message"]), ("out_of_memory", "Memory limit of 64m exceeded"))
        kit.equal(result(f"{name}_memory_enough", 0)["stdout"], f"{96 << 20}\n")
        kit.matches(result(f"{name}_pids", 0)["stdout"], r"^refused after [3-7]\n$")
        got = result(f"{name}_cpu_time", 124)
        kit.equal((got["status"], got["meta"]["limit"]), ("timeout", "cpu_time"))
        got = result(f"{name}_timeout", 124)
        kit.equal((got["status"], got["meta"]["limit"]), ("timeout", "timeout"))


def attacks_fail(name, exceptions):
    kit.equal(json.loads(box.booted()["results"][f"{name}_attack"]["out"])["meta"]["start"], "warm")
    box.attacks_fail(f"{name}_attack", exceptions)


@in_root
def files_put_from_outside_are_the_boxs_memory():
    """Root's is in the box's v2 group; an ordinary user has none here, and the supervisor's count bounds it."""
    for name in ("root", "user"):
        got = box.booted()["results"][f"{name}_files"]
        kit.equal((got["begun"][0], got["begun"][1].get("start")), (201, "warm"), repr(got))
        taken = got["put"].count(201)
        kit.true(2 <= taken <= 7, f"{name}: {got['put']}")
        kit.equal(got["put"], [201] * taken + [507] * (12 - taken), name)
        # They are counted, and the session goes on; its disk is no larger than its memory.
        kit.true(taken * (8 << 20) <= got["now"][1]["memory_used"] <= 64 << 20, repr(got["now"]))
        kit.equal((got["cell"][1]["status"], got["cell"][1]["stdout"]), ("ok", f"64 {taken}\n"), name)


@in_root
def attacks_fail_without_landlock():
    attacks_fail("root", box.EXCEPTIONS)


@in_root
def attacks_fail_without_landlock_and_group():
    attacks_fail("user", {**box.EXCEPTIONS, **box.NO_GROUP})


@in_root
def nothing_is_left_and_nothing_was_wrong():
    kit.equal(box.booted()["left"], [])
    for name, said in box.booted()["said"].items():
        usual = re.compile("emberbox: (serving at .*|ending; .*|ended)")
        lines = [line for line in said.splitlines() if not usual.fullmatch(line)]
        kit.equal(lines, [], f"what the service of {name} said")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(*sys.argv[2:])
    else:
        kit.main()
