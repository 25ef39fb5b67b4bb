"""T: time.

tests/run: args=--as root | --as user | --as userns | --as root --warm | --as user --warm
tests/run: timeout=90
tests/run: alone
"""

import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import box
import kit


def timed_out(r, after="1"):
    kit.equal((r.json["status"], r.json["timeout"], r.process.code), ("timeout", True, 124), r.json)
    kit.equal(r.json["error_message"], f"Code execution timed out after {after}s")


def within(r, limit):
    # 0.2 s of grace for the program, and as much for the start and the end of emberbox.
    kit.true(limit <= r.json["execution_time"] <= limit + 0.2, f"{r.json['execution_time']:.3f} s")
    kit.true(r.process.seconds <= limit + 0.4, f"{r.process.seconds:.3f} s with start and end")


@kit.test
def T1_busy_loop():
    r = box.run("spin-threads=1:0", options=["--timeout", "1"])
    timed_out(r)
    within(r, 1)


@kit.test
def T2_sleeping():
    r = box.run("linger", options=["--timeout", "0.5"])
    timed_out(r, "0.5")
    within(r, 0.5)
    kit.true(r.json["cpu_time"] < 0.3, f"{r.json['cpu_time']} s of CPU time")


@kit.test
def T3_deaf_to_signals():
    r = box.run("spin-deaf", options=["--timeout", "0.5"])
    timed_out(r, "0.5")
    within(r, 0.5)


@kit.test
def T4_cpu_time_of_children_counts():
    began = time.monotonic()
    r = box.run("spin-children=2:0", options=["--cpu-time", "1", "--timeout", "20", "--cpus", "2", "--allow-weaker", "cgroup"])
    kit.equal((r.json["status"], r.json["timeout"], r.process.code), ("timeout", True, 124), r.json)
    kit.equal(r.json["error_message"], "Code execution timed out after 1s of CPU time")
    kit.true(time.monotonic() - began < 5, "the wall clock ended it")
    kit.true(0.9 <= r.json["cpu_time"] <= 2, f"{r.json['cpu_time']} s of CPU time")
    r = box.run("spin-children=2:0.2", options=["--cpu-time", "2"])
    kit.equal((r.json["status"], r["spin-children=2:0.2"]), ("ok", "OK"))
    kit.true(r.json["cpu_time"] >= 0.05, f"{r.json['cpu_time']} s of CPU time of children")


@kit.test
def T5_a_trickle_of_output():
    r = box.run(code="while :; do echo drip; read -t 0.05 <> <(:); done", options=["--timeout", "1"])
    timed_out(r)
    within(r, 1)
    kit.contains(r.json["stdout"], "drip\n")


@kit.test
def T6_stdin_unread_and_unwritten():
    r = box.run("ids", "cwd", stdin=b"x" * (8 << 20), options=["--stdin", "-"])
    kit.equal(r.json["status"], "ok")
    # Nobody writes, nobody closes: the limit ends it.
    args = box.arguments(box.script("wait"), "--json", "--timeout", "0.5", "--stdin", "-")
    process = kit.start([kit.built(), *args], stdin=subprocess.PIPE)
    out = process.stdout.read()
    kit.equal(process.wait(5), 124)
    kit.contains(out.decode(), '"timeout"')


@kit.test
def T7_clocks_and_limits():
    box.holds("T7")


@kit.test
def T8_claims_change_no_verdict():
    fake = '{"status": "timeout", "exit_code": 124, "error_message": "Code execution timed out after 1s"}'
    r = box.run(code=f"echo 'timelimit exceeded'; echo '{fake}'; echo '{fake}' >&2")
    kit.equal((r.json["status"], r.json["exit_code"], r.json["timeout"]), ("ok", 0, False))
    kit.equal(r.json["stdout"], f"timelimit exceeded\n{fake}\n")
    kit.equal(r.json["stderr"], f"{fake}\n")


@kit.test(timeout=60)
def T9_an_end_exactly_at_the_limit():
    # 20 instead of 100, and fewer in the modes that share this code: each box is a filter.
    for _ in range(20 if kit.mode == "root" else 3):
        code = "read -t 0.19 <> <(:); exit 7"
        r = kit.emberbox("run", "--cold", "-l", "bash", "--json", "--timeout", "0.2", "-c", code)
        verdict = (r.json["status"], r.json["timeout"], r.json["exit_code"], r.code)
        kit.true(verdict in (("failed", False, 7, 7), ("timeout", True, 124, 124)), f"{verdict} {r.json}")
        if r.json["timeout"]:
            kit.equal(r.json["error_message"], "Code execution timed out after 0.2s")


kit.main()
