#!/usr/bin/python3
# tests/run: args=--as root | --as user
# tests/run: timeout=180
"""Every limit: what exceeds it ends as the contract says, what stays just below does not notice."""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit

MIB = 1 << 20


def run(code, *args, language="python", **options):
    return kit.emberbox("run", "-l", language, "-c", code, "--json", *args, **options)


def ended(r, status, code, message):
    """The run was ended by a limit, and says so the same way everywhere."""
    j = r.json
    got = (j["status"], j["success"], r.code, j["exit_code"], j["error_message"])
    kit.equal(got, (status, False, code, code, message), f"stderr {j['stderr'][-300:]!r}")
    kit.equal(j["timeout"], status == "timeout")
    return j


def fine(r, stdout=None):
    j = r.json
    kit.equal((j["status"], r.code, j["error_message"]), ("ok", 0, None), f"stderr {j['stderr'][-300:]!r}")
    if stdout is not None:
        kit.equal(j["stdout"], stdout)
    return j


# Wall time


@kit.test
def timeout_of_the_readme():
    # The machine may be busy with another test; once of three must be quick enough.
    seconds = []
    for _ in range(3):
        r = kit.emberbox("run", "-l", "python", "-c", "while True: pass", "--timeout", "1")
        # Whether it computed or waited for a core, which the hint is about, depends on who else runs.
        kit.equal((r.code, r.text, r.errtext.partition("emberbox: hint: ")[0]),
                  (124, "", "emberbox: Code execution timed out after 1s\n"))
        seconds.append(r.seconds)
        if 1.0 <= r.seconds <= 1.2:
            return
    kit.fail(f"took {seconds} s")


@kit.test
def timeout_of_a_sleeper():
    for language, code in (("python", "import time; time.sleep(60)"), ("js", "setInterval(() => 0, 1000)"), ("bash", "sleep 60")):
        r = run(code, "--timeout", "0.5", language=language)
        j = ended(r, "timeout", 124, "Code execution timed out after 0.5s")
        kit.near(j["execution_time"], 0.6, 0.3, language)


@kit.test
def timeout_with_signals_ignored():
    code = """
import signal, os, time
for number in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(60)
while True:
    pass
"""
    ended(run(code, "--timeout", "0.5"), "timeout", 124, "Code execution timed out after 0.5s")


@kit.test
def timeout_with_everything_stopped():
    code = "kill -STOP -1; kill -STOP $$"
    ended(run(code, "--timeout", "0.5", language="bash"), "timeout", 124, "Code execution timed out after 0.5s")


@kit.test
def timeout_keeps_the_output_so_far():
    j = ended(run("print('before'); input_ = 0\nwhile True: pass", "--timeout", "0.5"), "timeout", 124,
              "Code execution timed out after 0.5s")
    kit.equal((j["stdout"], j["signal"]), ("before\n", "SIGKILL"))


@kit.test
def timeout_is_not_extended_by_output():
    code = "import time\nwhile True: print('.', flush=True); time.sleep(0.01)"
    ended(run(code, "--timeout", "0.5"), "timeout", 124, "Code execution timed out after 0.5s")


@kit.test
def below_the_timeout():
    fine(run("import time; time.sleep(0.7); print('done')", "--timeout", "5"), "done\n")


@kit.test
def a_child_that_holds_stdout_ends_with_the_program():
    r = run("sleep 60 & echo parent", language="bash")
    fine(r, "parent\n")
    kit.true(r.seconds < 10, f"took {r.seconds:.1f} s")


# CPU time


@kit.test
def cpu_time_exceeded():
    r = run("while True: pass", "--cpu-time", "0.5", "--timeout", "20")
    kit.equal((r.code, r.json["status"], r.json["timeout"]), (124, "timeout", True))
    kit.matches(r.json["error_message"], r"\b0\.5s")
    kit.near(r.json["cpu_time"], 0.6, 0.3)


@kit.test
def cpu_time_of_children_counts():
    code = "import os\nos.fork()\nos.fork()\nwhile True: pass"
    r = run(code, "--cpu-time", "0.6", "--timeout", "20")
    kit.equal((r.code, r.json["status"]), (124, "timeout"))
    kit.true(r.json["cpu_time"] < 1.5, f"cpu_time {r.json['cpu_time']}")


@kit.test
def cpu_time_of_dead_children_counts():
    code = "import os, time\nwhile True:\n  if os.fork() == 0:\n    end = time.process_time() + 0.1\n" \
           "    while time.process_time() < end: pass\n    os._exit(0)\n  os.wait()"
    r = run(code, "--cpu-time", "0.6", "--timeout", "10")
    kit.equal((r.code, r.json["status"]), (124, "timeout"))
    kit.true(r.json["execution_time"] < 8, f"execution_time {r.json['execution_time']}")


@kit.test
def below_the_cpu_time():
    fine(run("import time; time.sleep(1)", "--cpu-time", "0.8", "--timeout", "20"))


# Memory


@kit.test
def memory_of_the_readme():
    r = run("x=[]\nwhile True: x.append(bytearray(1<<20))", "--memory", "64m")
    j = ended(r, "out_of_memory", 137, "Memory limit of 64m exceeded")
    # Without a group the box is counted every 10 ms, and it may grow by what it writes in some of those.
    grouped = any(layer.startswith("cgroup: ") for layer in j["meta"]["isolation"])
    kit.near(j["memory_used"], 64 * MIB, (12 if grouped else 96) * MIB)


@kit.test
def memory_below():
    j = fine(run("x = bytearray(b'x') * (32 << 20); print(len(x))", "--memory", "64m"), f"{32 * MIB}\n")
    kit.near(j["memory_used"], 44 * MIB, 12 * MIB)


@kit.test
def memory_is_that_of_all_processes():
    code = """
import os, signal
for _ in range(4):
    if os.fork() == 0:
        x = bytearray(b'x') * (24 << 20)
        signal.pause()
signal.pause()
"""
    ended(run(code, "--memory", "64m", "--timeout", "20"), "out_of_memory", 137, "Memory limit of 64m exceeded")


@kit.test
def memory_of_files_counts():
    for place in ("/tmp", "/dev/shm", "/sandbox/temp"):
        code = f"with open('{place}/f', 'wb') as f:\n    while True: f.write(bytes(1 << 20))"
        r = run(code, "--memory", "64m", "--disk", "1g", "--timeout", "20")
        ended(r, "out_of_memory", 137, "Memory limit of 64m exceeded")


@kit.test
def memory_limit_of_node_and_bash():
    code = "const x = []; for (;;) x.push(Buffer.alloc(1 << 20, 1))"
    ended(run(code, "--memory", "128m", language="js"), "out_of_memory", 137, "Memory limit of 128m exceeded")
    code = "x=xxxxxxxxxxxxxxxx; while :; do x=$x$x; done"
    ended(run(code, "--memory", "64m", language="bash"), "out_of_memory", 137, "Memory limit of 64m exceeded")


# Processors


@kit.test(modes=("root",), timeout=60)
def cpus_bound_the_speed():
    r = run("while True: pass", "--cpus", "0.25", "--timeout", "2")
    share = r.json["cpu_time"] / r.json["execution_time"]
    kit.true(share < 0.4, f"{share:.2f} of a core")
    # The control, which gets less where others want the cores as well: then it is held against what we get ourselves, and
    # the best of five counts.
    shares = []
    for _ in range(5):
        r = run("import os\nos.fork()\nwhile True: pass", "--cpus", "1", "--timeout", "2")
        share = r.json["cpu_time"] / r.json["execution_time"]
        began, used = time.monotonic(), time.process_time()
        while time.monotonic() < began + 0.5:
            pass
        bare = (time.process_time() - used) / (time.monotonic() - began)
        kit.true(share < 1.25, f"{share:.2f} of a core")
        shares.append(f"{share:.2f} of a core, where a loop outside gets {bare:.2f}")
        if share > min(0.4, bare / 2):
            return
    kit.fail("; ".join(shares))


# Processes

FORK_UNTIL = """
import os, signal
made = 0
try:
    while made < {most}:
        if os.fork() == 0:
            signal.pause()
        made += 1
except OSError as error:
    print(error.errno)
print(made)
"""


@kit.test
def pids_exceeded():
    lines = fine(run(FORK_UNTIL.format(most=100), "--pids", "8"))["stdout"].split()
    kit.equal(lines[0], "11", "EAGAIN")
    # The program itself is one of the eight, and so may be our pid 1.
    kit.true(int(lines[1]) in (6, 7), f"{lines[1]} children")


@kit.test
def pids_of_threads_count():
    code = "import threading\nn = 0\ntry:\n  while n < 100:\n    threading.Thread(target=threading.Event().wait, daemon=True).start()\n    n += 1\n" \
           "except RuntimeError: print('refused')\nprint(n, flush=True)\nimport os; os._exit(0)"
    lines = fine(run(code, "--pids", "8"))["stdout"].split()
    kit.equal(lines[0], "refused")
    kit.true(int(lines[1]) in (6, 7), f"{lines[1]} threads")


@kit.test
def pids_below():
    fine(run(FORK_UNTIL.format(most=6), "--pids", "8"), "6\n")


@kit.test
def pids_by_default():
    lines = fine(run(FORK_UNTIL.format(most=200)))["stdout"].split()
    kit.equal(lines[0], "11", "EAGAIN")
    kit.true(int(lines[1]) in (62, 63), f"{lines[1]} children")


@kit.test
def one_process_is_enough_for_hello():
    fine(run("print('alone')", "--pids", "2"), "alone\n")


# Disk

FILL = """
import errno, os
written = 0
for place in {places}:
    try:
        with open(place + '/big', 'wb', buffering=0) as file:
            for _ in range(64):
                written += file.write(bytes(65536))
    except OSError as error:
        print(place, errno.errorcode[error.errno])
print(written)
"""


@kit.test
def disk_exceeded():
    places = ["/sandbox/code", "/sandbox/data", "/sandbox/output", "/sandbox/temp", "/tmp"]
    lines = fine(run(FILL.format(places=places), "--disk", "1m"))["stdout"].split("\n")
    kit.equal(lines[:5], [f"{place} ENOSPC" for place in places])
    kit.true(900 << 10 <= int(lines[5]) <= 1 << 20, f"{lines[5]} bytes were written")


@kit.test
def disk_below():
    fine(run(FILL.format(places=["/tmp"]), "--disk", "5m"), f"{4 * MIB}\n")


@kit.test
def disk_of_giants():
    code = "import os\nfd = os.open('/tmp/f', os.O_CREAT | os.O_RDWR)\ntry: os.posix_fallocate(fd, 0, 1 << 40)\n" \
           "except OSError as error: print(error.errno)"
    j = fine(run(code))
    kit.true(j["stdout"] in ("28\n", "27\n"), f"neither ENOSPC nor EFBIG: {j['stdout']!r}")


@kit.test(timeout=60)
def inodes_exceeded():
    code = """
import os
made = 0
try:
    while made < 200000:
        os.close(os.open(f'/tmp/{made}', os.O_CREAT | os.O_WRONLY))
        made += 1
except OSError as error:
    print(error.errno)
print(made)
"""
    lines = fine(run(code, "--memory", "1g", "--timeout", "30"))["stdout"].split()
    kit.equal(lines[0], "28", "ENOSPC")
    kit.true(99900 <= int(lines[1]) < 100000, f"{lines[1]} files")


# Output


@kit.test
def output_of_the_default_size_is_whole():
    j = fine(run("print('x' * 20479)"))
    kit.equal((len(j["stdout"]), j["stdout_bytes"], j["truncated"], j["meta"]["truncated"]), (20480, 20480, False, False))


@kit.test
def output_over_the_default_size_keeps_head_and_tail():
    code = "import sys\nfor stream in sys.stdout, sys.stderr:\n  print('HEAD' + 'x' * 99990 + 'TAIL', file=stream)"
    j = fine(run(code))
    for name in ("stdout", "stderr"):
        text = j[name]
        kit.true(text.startswith("HEADxxx") and text.endswith("xxxTAIL\n"), f"{name} has lost an end: {text[:20]!r} {text[-20:]!r}")
        kit.equal(j[f"{name}_bytes"], 99999)
        kit.true(20480 - 200 <= len(text) <= 20480 + 200, f"{name} is {len(text)} long")
        marker = text.strip("HEADTILx\n")
        kept = len(text) - text.count(marker) * len(marker)
        numbers = [int(word) for word in "".join(c if c.isdigit() else " " for c in marker).split()]
        kit.true(numbers and abs(numbers[0] - (99999 - kept)) <= 2, f"marker {marker!r}, {kept} bytes kept")
    kit.equal((j["truncated"], j["meta"]["truncated"]), (True, True))


@kit.test
def max_output_sets_what_is_shown():
    j = fine(run("print('a' * 5000 + 'b' * 5000)", "--max-output", "1k"))
    kit.true(len(j["stdout"]) < 1300 and j["stdout"].startswith("aaa") and j["stdout"].endswith("bbb\n"), j["stdout"])
    kit.equal((j["stdout_bytes"], j["truncated"]), (10001, True))
    j = fine(run("print('a' * 99999)", "--max-output", "100000"), "a" * 99999 + "\n")
    kit.equal(j["truncated"], False)


@kit.test
def max_output_does_not_cut_what_is_streamed():
    r = kit.emberbox("run", "-l", "python", "-c", "print('a' * 300000)", "--max-output", "1k")
    kit.equal((r.code, len(r.out)), (0, 300001))


@kit.test
def output_up_to_the_spool_is_fine():
    code = "import sys\nfor _ in range(16): sys.{}.buffer.write(bytes(b'x' * (1 << 20)))"
    for name in ("stdout", "stderr"):
        kit.equal(fine(run(code.format(name)))[f"{name}_bytes"], 16 * MIB)


@kit.test
def output_over_the_spool_ends_the_run():
    code = "import sys\nwhile True: sys.{}.buffer.write(bytes(b'x' * (1 << 20)))"
    for name in ("stdout", "stderr"):
        r = run(code.format(name), "--timeout", "20")
        j = ended(r, "output_limit", 137, "Output limit of 16m exceeded")
        kit.true(j["truncated"], "not told as truncated")
        kit.true(len(j[name]) < 21000, f"{len(j[name])} bytes shown")


@kit.test
def output_limit_on_the_command_line():
    r = kit.emberbox("run", "-l", "bash", "-c", "yes")
    r.err = r.err.partition(b"emberbox: hint: ")[0]
    kit.equal((r.code, r.errtext), (137, "emberbox: Output limit of 16m exceeded\n"))
    kit.equal(len(r.out), 16 * MIB)


kit.main()
