"""T: time.

tests/run: args=--as root | --as user | --as userns | --as root --warm | --as user --warm
tests/run: timeout=150
"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import box
import kit


TRIES = 10


def timed_out(r, after):
    kit.equal((r.json["status"], r.json["timeout"], r.process.code), ("timeout", True, 124), r.json)
    kit.equal(r.json["error_message"], f"Code execution timed out after {after}s")


def ended_in_time(limit, *attempts, **options):
    """A run that its time limit ended, with 0.2 s of grace for the program and as much for the start and the end of emberbox.
    On a busy machine any of them may wait for a processor: the best of some tries counts."""
    took = []
    for _ in range(TRIES):
        r = box.run(*attempts, options=["--timeout", str(limit)], **options)
        timed_out(r, str(limit))
        kit.true(limit <= r.json["execution_time"] and limit <= r.process.seconds, f"{r.json['execution_time']} s are too few")
        if r.json["execution_time"] <= limit + 0.2 and r.process.seconds <= limit + 0.4:
            return r
        took.append(f"{r.json['execution_time']:.3f} s, with start and end {r.process.seconds:.3f} s")
    kit.fail("; ".join(took))


@kit.test(timeout=60)
def T1_busy_loop():
    ended_in_time(1, "spin-threads=1:0")


@kit.test(timeout=60)
def T2_sleeping():
    r = ended_in_time(0.5, "linger")
    kit.true(r.json["cpu_time"] < 0.3, f"{r.json['cpu_time']} s of CPU time")


@kit.test(timeout=60)
def T3_deaf_to_signals():
    ended_in_time(0.5, "spin-deaf")


@kit.test(timeout=90)
def T4_cpu_time_of_children_counts():
    # Far more time than that, for a machine that has other work.
    r = box.run("spin-children=2:0", options=["--cpu-time", "1", "--timeout", "60", "--cpus", "2", "--allow-weaker", "cgroup"], timeout=80)
    kit.equal((r.json["status"], r.json["timeout"], r.process.code), ("timeout", True, 124), r.json)
    kit.equal(r.json["error_message"], "Code execution timed out after 1s of CPU time")
    kit.true(0.9 <= r.json["cpu_time"] <= 2, f"{r.json['cpu_time']} s of CPU time")
    r = box.run("spin-children=2:0.2", options=["--cpu-time", "2"])
    kit.equal((r.json["status"], r["spin-children=2:0.2"]), ("ok", "OK"))
    kit.true(r.json["cpu_time"] >= 0.3, f"{r.json['cpu_time']} s of CPU time of children")


@kit.test(timeout=60)
def T5_a_trickle_of_output():
    r = ended_in_time(1, code="while :; do echo drip; read -t 0.05 <> <(:); done")
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
