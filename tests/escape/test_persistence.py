"""L: what stays after a run.

tests/run: args=--as root | --as user | --as userns | --as root --warm | --as user --warm
tests/run: timeout=120
"""

import os
import sys
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import box
import kit


@kit.test
def L1_files_are_gone_in_the_next_run():
    name = f"left-{uuid.uuid4().hex}"
    code = f'for d in /tmp /var/tmp /dev/shm /run/lock "$HOME" /sandbox/code; do echo x >$d/{name} && echo $d; done 2>/dev/null'
    r = box.run(code=code)
    kit.equal(r.json["stdout"].split(), ["/tmp", "/var/tmp", "/dev/shm", "/sandbox/temp", "/sandbox/code"])
    kit.equal(box.run(f"walk={name}", "ids")[f"walk={name}"], "nothing")
    for directory in ("/tmp", "/var/tmp", "/dev/shm", kit.home()):
        kit.true(name not in os.listdir(directory), f"{name} is on the host in {directory}")


@kit.test
def L2_ipc_objects_are_gone_in_the_next_run():
    key = f"0x{uuid.uuid4().hex[:7]}"
    wants = None
    for _ in range(2):
        # Each makes them exclusively: had the first's survived, the second would get EEXIST.
        r = box.run(f"ipc-leave={key}", f"own-abstract={key}", "call=add_key")
        wants = "shm ENOSYS sem ENOSYS msg ENOSYS mq ENOSYS" if box.accounted(r) else "shm OK sem OK msg OK mq OK"
        kit.equal(r[f"ipc-leave={key}"], wants)
        kit.equal((r[f"own-abstract={key}"], r["call=add_key"]), ("OK", "EPERM"))
    with open("/proc/sysvipc/shm", encoding="ascii") as file:
        kit.true(str(int(key, 16)) not in file.read().split(), "a segment is on the host")


@kit.test(timeout=90)
def L6_nothing_is_left_after_many_runs():
    # 30 instead of 1,000 (and fewer in the other modes): each box is a filter, and kernels have been
    # seen to hang when a thousand of them are freed. A leak of one thing a run shows just as well.
    trace = box.Trace()
    # The control: a live box has traces.
    held = box.Held(f"exec {box.PLACE} wait", "--env", f"MARK={trace.mark}")
    kit.equal(held.line(), "wait ready")
    kit.equal(len(trace.processes()), 1)
    held.end()
    descriptors = len(os.listdir("/proc/self/fd"))
    for i in range(30 if kit.mode == "root" else 3):
        r = trace.run(f"(sleep 100 &) ; exit {i}")
        kit.equal(r.process.code, i)
    trace.check()
    kit.equal(len(os.listdir("/proc/self/fd")), descriptors)


@kit.test
def L7_no_uid_for_two_live_boxes():
    first = box.Held(f"cat /proc/self/uid_map; exec {box.PLACE} wait")
    a = first.line().split()
    kit.equal(first.line(), "wait ready")
    r = box.run("content=/proc/self/uid_map", "pids", "walk=own.sock")
    b = r["content=/proc/self/uid_map"].split()
    kit.equal((a[0], b[0], a[2], b[2]), ("1000", "1000", "1", "1"))
    if kit.mode == "root":
        kit.true(a[1] != b[1], f"both are {a[1]}")
        kit.true(min(int(a[1]), int(b[1])) >= 0x7E000000, f"{a[1]} and {b[1]}")
    else:
        # An ordinary user has but one uid: there it is the pid namespace and Landlock that keep boxes apart.
        kit.equal(a[1], b[1])
    kit.equal(r["pids"], "1 parent self")
    kit.equal(first.end().text, "wait released\n")


kit.main()
