"""X: processes.

tests/run: args=--as root | --as user | --as userns | --as root --warm | --as user --warm
tests/run: timeout=90
"""

import os
import signal
import subprocess
import sys
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import box
import kit


@kit.test
def X1_fork_bomb():
    bomb = box.Held(box.script("fork-bomb"), "--pids", "20")
    count, error = bomb.line().split()[1:]
    kit.equal(error, "EAGAIN")
    # The probe is one of the twenty; what more the limit counts (init) may take one away.
    kit.true(18 <= int(count) <= 20, f"{count} forks")
    # It still holds them all, and the host forks as ever.
    for _ in range(20):
        kit.equal(subprocess.run(["/bin/true"], timeout=5, check=False).returncode, 0)
    kit.equal(bomb.end().code, 0)


def no_survivor(how):
    mark = uuid.uuid4().hex
    r = box.run(f"survivor={how}:{mark}", "ids", options=["--timeout", "10"])
    kit.equal(r[f"survivor={how}:{mark}"], "OK")
    kit.equal((r.json["status"], r.json["exit_code"]), ("ok", 0))
    kit.equal(box.marked(mark), [], "alive after the run")
    return r


@kit.test
def X2_daemons_are_dead_when_the_run_returns():
    no_survivor("setsid")


@kit.test
def X3_a_child_that_keeps_the_output_open():
    r = no_survivor("stdout")
    kit.true(r.process.seconds < 5, f"{r.process.seconds:.1f} s of a limit of 10")


@kit.test
def X4_no_signal_reaches_init():
    # A handler in pid 1 would let the program end its own box and have that called something else.
    code = """
import os, time
time.sleep(0.1)
for number in range(1, 65):
    try:
        os.kill(1, number)
    except PermissionError:
        pass  # who enters a box is in a Landlock domain that its init is not in
time.sleep(0.1)
print("alive")
"""
    r = kit.emberbox("run", "-l", "python", "-c", code, "--json")
    kit.equal((r.json["status"], r.json["stdout"], r.json["stderr"]), ("ok", "alive\n", ""))


@kit.test
def X4_init_cannot_be_slowed_down():
    # An init that the scheduler forgets is slow to die, and everything else in the box lives as long.
    code = """
import errno, os
def attempt(name, call, *args):
    try:
        call(*args)
        print(name, "OK")
    except OSError as e:
        print(name, errno.errorcode[e.errno])
for pid in (1, 0):
    attempt("class", os.sched_setscheduler, pid, os.SCHED_IDLE, os.sched_param(0))
    attempt("niceness", os.setpriority, os.PRIO_PROCESS, pid, 19)
    attempt("affinity", os.sched_setaffinity, pid, {0})
attempt("group", os.setpriority, os.PRIO_PGRP, 1, 19)
attempt("user", os.setpriority, os.PRIO_USER, 0, 19)
"""
    r = kit.emberbox("run", "-l", "python", "-c", code)
    denied, allowed = "class {0}\nniceness {0}\naffinity {0}\n".format("EPERM"), "class OK\nniceness OK\naffinity OK\n"
    kit.equal(r.text, denied + allowed + "group EPERM\nuser EPERM\n")


@kit.test
def X5_a_signal_of_ones_own_is_no_verdict():
    r = kit.emberbox("run", "-l", "bash", "-c", "kill -XCPU $$", "--cpu-time", "10", "--json")
    kit.equal((r.json["status"], r.json["signal"]), ("failed", "SIGXCPU"))


@kit.test
def X4_killing_everything():
    other = box.Held(box.script("wait"))
    kit.equal(other.line(), "wait ready")
    killer = box.Held(box.script("kill-everything"))
    # init takes the signal and ignores it: that is what pid 1 does. Alone, kill(-1) has nobody else to reach.
    kit.contains(killer.line(), "kill-everything all ")
    ended = killer.end()
    kit.equal((ended.code, ended.text), (0, "kill-everything alive\n"))
    ended = other.end()
    kit.equal((ended.code, ended.text), (0, "wait released\n"))


@kit.test
def X5_stopping_the_parent_does_not_stop_the_clock():
    r = box.run("stop-parent", options=["--timeout", "1"])
    kit.equal((r.json["status"], r.process.code), ("timeout", 124))
    kit.contains(r.json["stdout"], "stopped")
    kit.true(r.process.seconds < 1.6, f"{r.process.seconds:.2f} s")


@kit.test
def X6_looking_into_other_processes():
    box.holds("X6")


@kit.test
def X7_stubborn_children():
    no_survivor("stubborn")


@kit.test
def X8_killing_emberbox_kills_the_box():
    mark = uuid.uuid4().hex
    held = box.Held(f"{box.PLACE} survivor=setsid:{mark}; {box.PLACE} linger={mark} & exec {box.PLACE} wait")
    kit.contains(held.line(), "OK")
    kit.equal(held.line(), "wait ready")
    alive = box.marked(mark)
    kit.true(len(alive) >= 1, "the control: they are there before")
    # Under unshare or setpriv the command replaces itself, so this is emberbox.
    os.kill(held.process.pid, signal.SIGKILL)
    for pid in alive:
        kit.true(box.gone(pid), f"{pid} lives 3 s after emberbox was killed")
    # One that had not yet executed its program when they were looked for dies as the others do.
    for pid in box.marked(mark):
        kit.true(box.gone(pid), f"{pid} lives 3 s after emberbox was killed")
    kit.equal(box.marked(mark), [])


@kit.test
def X9_precedence():
    box.holds("X9")


@kit.test
def X10_ten_thousand_zombies():
    trace = box.Trace()
    r = trace.run(box.script("zombies=10000", "ids"), "--timeout", "25")
    kit.equal((r.json["status"], r["zombies=10000"]), ("ok", "10000"))
    # They are waited for while the box runs: else the second attempt could not have been forked.
    kit.equal(r["ids"].split()[0], "1000")
    trace.check()


kit.main()
