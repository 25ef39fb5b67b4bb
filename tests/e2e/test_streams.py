#!/usr/bin/python3
# tests/run: args=--as root | --as user
# tests/run: builds=release asan
# tests/run: asan=--as root
# tests/run: timeout=120
"""Output as it comes, bytes as they are, and what happens when someone leaves in the middle."""

import glob
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit


def run(language, code, *args, **options):
    return kit.emberbox("run", "-l", language, "-c", code, *args, **options)


def start(language, code, *args, **options):
    """emberbox in the background; each `kit.start` process leads its own session."""
    return kit.start([kit.built(), "run", "-l", language, "-c", code, *args], **options)


def emberbox_pid(process):
    """setpriv and unshare -r exec what follows, so the process we started is emberbox itself."""
    return process.pid


@kit.test
def output_arrives_while_the_program_runs():
    for language, code in (
        ("python", "print('first')\nprint('got ' + input())"),
        ("js", "console.log('first'); process.stdin.once('data', d => { console.log('got ' + d.toString().trim()); process.exit() })"),
        ("bash", "echo first; read -r line; echo got $line"),
    ):
        process = start(language, code, stdin=subprocess.PIPE)
        # The program waits for what we send only after its first line arrived here.
        kit.equal(process.stdout.readline(), b"first\n", language)
        process.stdin.write(b"answer\n")
        process.stdin.flush()
        kit.equal(process.stdout.readline(), b"got answer\n", language)
        process.stdin.close()
        process.stdin = None
        kit.equal(kit.finish(process).code, 0, language)


@kit.test
def stderr_arrives_while_the_program_runs():
    process = start("bash", "echo problem >&2; read -r line", stdin=subprocess.PIPE)
    kit.equal(process.stderr.readline(), b"problem\n")
    kit.equal(kit.finish(process, b"\n").code, 0)


@kit.test
def the_streams_stay_apart():
    r = run("bash", "for i in 1 2 3; do echo out$i; echo err$i >&2; done")
    kit.equal((r.text, r.errtext), ("out1\nout2\nout3\n", "err1\nerr2\nerr3\n"))


@kit.test
def binary_output_is_exact():
    data = bytes(range(256)) * 8192
    r = run("python", "import sys; sys.stdout.buffer.write(bytes(range(256)) * 8192)")
    kit.true(r.out == data, f"{len(r.out)} bytes, or other ones")


@kit.test
def one_long_line():
    r = run("python", "print('x' * 5000000)")
    kit.equal((r.code, len(r.out)), (0, 5000001))


@kit.test
def json_of_odd_bytes_is_valid():
    code = r"import sys; sys.stdout.buffer.write(b'\0 \xff \xed\xa0\x80 \x1b[31m \xc3\xa9 \xf0\x9f\x94\xa5 \xf0\x9f')"
    r = run("python", code, "--json")
    j = r.json
    kit.equal(j["stdout_bytes"], 24)
    kit.true(j["stdout"].startswith("\0 \ufffd ") and " \x1b[31m é 🔥 \ufffd" in j["stdout"], repr(j["stdout"]))


@kit.test
def output_at_the_very_end_is_not_lost():
    for _ in range(5):
        r = run("bash", "head -c 200000 /dev/zero; echo end >&2; kill -KILL $$")
        kit.equal((r.code, len(r.out), r.errtext[:4]), (137, 200000, "end\n"))


def interrupted(number):
    process = start("bash", "echo ready; sleep 60")
    kit.equal(process.stdout.readline(), b"ready\n")
    watch = kit.Watch(kit.descendants(process.pid))
    kit.true(len(watch.fds) >= 2, "no process of the box was found")
    os.kill(emberbox_pid(process), number)
    r = kit.finish(process, timeout=10)
    kit.equal(r.code, 128 + number)
    kit.equal(watch.survivors(), [])


@kit.test
def sigint_ends_the_box():
    interrupted(signal.SIGINT)


@kit.test
def sigterm_ends_the_box():
    interrupted(signal.SIGTERM)


@kit.test
def sighup_ends_the_box():
    interrupted(signal.SIGHUP)


@kit.test
def an_ended_run_gives_a_result():
    # With --json nothing is streamed, so the box tells that it runs through a descendant of ours.
    process = start("bash", "echo ready; echo ready >&2; sleep 60", "--json")
    while not any(command(pid).startswith(b"sleep") for pid in kit.descendants(process.pid)):
        if process.poll() is not None:
            kit.fail(f"ended with {process.returncode}")
    os.kill(emberbox_pid(process), signal.SIGTERM)
    r = kit.finish(process, timeout=10)
    # The object and the exit code say the same: that the program was killed.
    kit.equal((r.code, r.json["exit_code"], r.json["status"], r.json["signal"]), (137, 137, "killed", "SIGKILL"))
    kit.equal((r.json["success"], r.json["stdout"]), (False, "ready\n"))
    kit.equal(r.json["error_message"], "Execution was cancelled")


def command(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""


HARD_TO_KILL = """
import os, signal, sys, time
for number in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.close(1)
            os.close(2)
        time.sleep(60)
time.sleep(0)
print('ready', flush=True)
time.sleep(60)
"""


@kit.test
def kill_9_of_emberbox_leaves_no_process():
    process = start("python", HARD_TO_KILL)
    kit.equal(process.stdout.readline(), b"ready\n")
    watch = kit.Watch(kit.descendants(process.pid))
    kit.true(len(watch.fds) >= 4, f"{len(watch.fds)} processes of the box were found")
    os.kill(emberbox_pid(process), signal.SIGKILL)
    kit.equal(kit.finish(process, timeout=10).code, -signal.SIGKILL)
    kit.equal(watch.survivors(), [])


def groups_of(pid):
    """Control groups that the emberbox with this pid made."""
    with open("/proc/mounts", encoding="utf-8") as file:
        roots = [line.split()[1] for line in file if line.split()[2] in ("cgroup", "cgroup2")]
    return [path for root in roots for path in glob.glob(f"{root}/**/box-{pid}-*", recursive=True)]


@kit.test(modes=("root",))
def groups_of_a_killed_emberbox_go_with_the_next_run():
    process = start("bash", "echo ready; sleep 60")
    kit.equal(process.stdout.readline(), b"ready\n")
    watch = kit.Watch(kit.descendants(process.pid))
    kit.true(groups_of(process.pid), "the box has no group")
    os.kill(emberbox_pid(process), signal.SIGKILL)
    kit.finish(process, timeout=10)
    kit.equal(watch.survivors(), [])
    kit.equal(run("bash", "echo next").text, "next\n")
    kit.equal(groups_of(process.pid), [])


@kit.test
def a_normal_end_leaves_no_process():
    process = start("python", HARD_TO_KILL.replace("print('ready', flush=True)\ntime.sleep(60)", "print('ready', flush=True); input()"),
                    stdin=subprocess.PIPE)
    kit.equal(process.stdout.readline(), b"ready\n")
    watch = kit.Watch(kit.descendants(process.pid))
    kit.true(len(watch.fds) >= 4, f"{len(watch.fds)} processes of the box were found")
    kit.equal(kit.finish(process, b"\n", timeout=10).code, 0)
    # All are gone when emberbox ends, not some time after.
    kit.equal(watch.survivors(timeout=0.5), [])


@kit.test
def a_reader_that_leaves_ends_the_run():
    process = start("bash", "echo first; yes")
    kit.equal(process.stdout.readline(), b"first\n")
    watch = kit.Watch(kit.descendants(process.pid))
    process.stdout.close()
    process.stdout = None
    kit.equal(kit.finish(process, timeout=10).code, 128 + signal.SIGPIPE)
    kit.equal(watch.survivors(), [])


@kit.test
def a_slow_reader_loses_nothing():
    process = start("bash", "seq 200000")
    lines = 0
    while chunk := os.read(process.stdout.fileno(), 700):
        lines += chunk.count(b"\n")
    kit.equal(lines, 200000)
    kit.equal(kit.finish(process).code, 0)


@kit.test
def a_late_reader_loses_nothing():
    process = start("bash", "echo x >&2; read -r line; head -c 3000000 /dev/zero", stdin=subprocess.PIPE)
    kit.equal(process.stderr.readline(), b"x\n")
    watch = kit.Watch(kit.descendants(process.pid))
    kit.true(len(watch.fds) >= 2, "no process of the box was found")
    process.stdin.write(b"\n")
    process.stdin.flush()
    # The program does not wait for its reader: only when all of the box is gone the reading begins.
    kit.equal(watch.survivors(timeout=10), [])
    kit.equal(len(process.stdout.read()), 3000000)
    kit.equal(process.wait(timeout=10), 0)


@kit.test
def a_reader_that_never_reads_does_not_stop_the_clock():
    process = start("bash", "yes", "--timeout", "1")
    watch = kit.Watch([process.pid])
    try:
        kit.equal(watch.survivors(timeout=10), [], "the pipe is full and emberbox waits for its reader")
    finally:
        kit.kill(process)
    kit.true(process.wait() in (124, 137), f"ended with {process.returncode}")


@kit.test
def a_writer_that_never_closes_does_not_hold_the_run():
    process = start("bash", "echo done", stdin=subprocess.PIPE)
    kit.equal(process.stdout.read(), b"done\n")
    kit.equal(process.wait(timeout=10), 0)


@kit.test
def standard_output_that_is_full():
    if not os.path.exists("/dev/full"):
        kit.skip("no /dev/full")
    with open("/dev/full", "wb") as full:
        r = kit.finish(start("bash", "echo x", stdout=full))
    kit.equal(r.code, 125)
    kit.contains(r.errtext, "No space left on device")


kit.main()
