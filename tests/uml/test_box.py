#!/usr/bin/python3
"""Whole boxes on a kernel with a pure v2 tree and no Landlock, by booting one.

tests/run: timeout=240

One boot runs every case (that is this program with --inside, under the other
kernel), then each result is judged here.
"""
import json
import os
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import kit  # noqa: E402
from other_kernel import EAT, EXCEPTIONS, FORKS, NO_GROUP, NOT_TRIED, USER, WEAKER  # noqa: E402
from other_kernel import attacks_fail, booted, expected, result  # noqa: E402

# name: (who, code, options)
CASES = {
    "refused": ([], "print(1)", []),
    "plain": ([], "print(1)", WEAKER),
    "memory": ([], EAT, [*WEAKER, "--memory", "64m"]),
    "memory_enough": ([], EAT, [*WEAKER, "--memory", "192m"]),
    "pids": ([], FORKS, [*WEAKER, "--pids", "8"]),
    "cpu_time": ([], "while True: pass", [*WEAKER, "--cpu-time", "1", "--timeout", "20"]),
    "timeout": ([], "import time; time.sleep(60)", [*WEAKER, "--timeout", "1"]),
    "user": (USER, "print(1)", WEAKER),
    "user_memory": (USER, EAT, [*WEAKER, "--memory", "64m"]),
    # Other languages: a prepared tree, a compiler and an artifact; a root of a few files.
    "compiled": ([], "#include <stdio.h>\nint main(void) { puts(\"built\"); return 7; }", [*WEAKER, "-l", "c"]),
    "restricted": ([], "echo a | tr a b; python3", [*WEAKER, "-l", "bash", "--profile", "restricted"]),
    "user_restricted": (USER, "echo a | tr a b; python3", [*WEAKER, "-l", "bash", "--profile", "restricted"]),
}


def inside(emberbox, probe):
    """Under the other kernel: runs every case and prints what came of it."""
    # Where an ordinary user may run it, whatever the build directory's permissions are.
    emberbox = shutil.copy(emberbox, "/tmp/emberbox")
    attempts = dict.fromkeys(attempt for _, attempt, _ in expected(probe) if attempt not in NOT_TRIED)
    attack = f"import os; os.execv('/sandbox/data/probe', {['probe', *attempts]!r})"
    probe = shutil.copy(probe, "/tmp/probe")
    options = [*WEAKER, "--file", f"{probe}:/sandbox/data/probe", "--max-output", "1m", "--timeout", "50"]
    cases = {**CASES, "attack": ([], attack, options), "user_attack": (USER, attack, options)}
    results = {}
    for name, (who, code, options) in cases.items():
        began = time.monotonic()
        run = subprocess.run([*who, emberbox, "run", "-l", "python", "-c", code, "--json", *options], check=False,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=90)
        results[name] = {"code": run.returncode, "out": run.stdout.decode(errors="replace"),
                         "err": run.stderr.decode(errors="replace"), "seconds": time.monotonic() - began}
    left = [os.path.join(path, name) for path, names, _ in os.walk("/sys/fs/cgroup") for name in names
            if name.startswith("box-")]
    json.dump({"results": results, "left": left, "site": os.path.isdir("/sys/fs/cgroup/emberbox")}, sys.stdout)


# Whichever test comes first waits for the boot.
in_root = kit.test(timeout=220, modes=["root"])


@in_root
def a_missing_landlock_is_refused():
    got = booted()["results"]["refused"]
    kit.equal(got["code"], 125)
    kit.contains((got["out"] + got["err"]).lower(), "landlock")
    kit.equal(result("refused", 125)["status"], "error")


@in_root
def and_works_when_waived():
    got = result("plain", 0)
    kit.equal(got["status"], "ok")
    kit.equal(got["stdout"], "1\n")
    layers = got["meta"]["isolation"]
    kit.true(any(layer.startswith("cgroup: v2") for layer in layers), f"no v2 cgroup in {layers!r}")
    kit.true(not any(layer.startswith("landlock: abi") for layer in layers), f"landlock claimed in {layers!r}")


@in_root
def memory_limit():
    got = result("memory", 137)
    kit.equal(got["status"], "out_of_memory")
    kit.equal(got["error_message"], "Memory limit of 64m exceeded")
    kit.equal(got["stdout"], "")
    kit.true(48 << 20 <= got["memory_used"] <= 64 << 20, f"memory_used {got['memory_used']}")
    got = result("memory_enough", 0)
    kit.equal(got["stdout"], f"{96 << 20}\n")
    kit.true(96 << 20 <= got["memory_used"] <= 192 << 20, f"memory_used {got['memory_used']}")


@in_root
def attacks_fail_without_landlock():
    attacks_fail("attack", EXCEPTIONS)


@in_root
def attacks_fail_without_landlock_and_group():
    attacks_fail("user_attack", {**EXCEPTIONS, **NO_GROUP})


@in_root
def process_limit():
    got = result("pids", 0)
    kit.matches(got["stdout"], r"^refused after [3-7]\n$")


@in_root
def cpu_time_limit():
    got = result("cpu_time", 124)
    kit.equal(got["status"], "timeout")
    kit.near(got["cpu_time"], 1.0, 0.5)


@in_root
def wall_time_limit():
    got = result("timeout", 124)
    kit.equal(got["status"], "timeout")
    kit.equal(got["error_message"], "Code execution timed out after 1s")
    kit.equal(got["meta"]["limit"], "timeout")


@in_root
def user_without_a_group_is_accounted():
    layers = result("user", 0)["meta"]["isolation"]
    kit.true(any(layer.startswith("accounting:") for layer in layers), f"no accounting in {layers!r}")
    got = result("user_memory", 137)
    kit.equal(got["status"], "out_of_memory")
    kit.equal(got["error_message"], "Memory limit of 64m exceeded")


@in_root
def compiled_and_run():
    """A prepared tree, a compiler and its program, each in a box, on a kernel without overlays."""
    got = result("compiled", 7)
    kit.equal((got["status"], got["stdout"], got["stderr"]), ("failed", "built\n", ""))
    kit.equal(got["meta"]["build"]["cached"], False)


@in_root
def a_restricted_shell():
    for case in ("restricted", "user_restricted"):
        got = result(case, 127)
        kit.equal(got["stdout"], "b\n")
        kit.contains(got["stderr"], "python3: command not found")


@in_root
def no_group_is_left():
    kit.true(booted()["site"], "no group was ever made")
    kit.equal(booted()["left"], [])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(*sys.argv[2:])
    else:
        kit.main()
