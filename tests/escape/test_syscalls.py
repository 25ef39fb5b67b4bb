"""S: system calls and privileges.

tests/run: args=--as root | --as user | --as userns | --as root --warm | --as user --warm | --as userns --warm
"""

import fcntl
import os
import sys
import termios

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import box
import kit


@kit.test
def S1_no_capabilities_in_any_thread():
    box.holds("S1")


@kit.test
def S2_namespaces():
    box.holds("S2")


@kit.test
def S3_calls_for_administrators():
    box.holds("S3")


@kit.test
def S4_other_doors_into_the_kernel():
    box.holds("S4")


@kit.test
def S5_terminal_input():
    box.holds("S5")
    # With a terminal as the caller's: the box has none, however it asks.
    master, slave = os.openpty()
    try:
        args = box.arguments(box.script("open=/dev/tty", "ioctl=TIOCSTI", "fd-kinds"), "--json")
        process = kit.start(
            [kit.built(), *args], stdin=slave, stderr=slave, preexec_fn=lambda: fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        )
        found = box.answers(box.json.loads(process.stdout.read())["stdout"])
        kit.equal(process.wait(10), 0)
    finally:
        os.close(master)
        os.close(slave)
    kit.equal((found["open=/dev/tty"], found["ioctl=TIOCSTI"]), (["ENXIO"], ["EPERM"]))
    kit.true("device" not in found["fd-kinds"][0], found["fd-kinds"][0])


@kit.test
def S6_another_user():
    box.holds("S6")
    r = box.run("content=/proc/self/uid_map", "groups")
    inside, outside, count = r["content=/proc/self/uid_map"].split()
    kit.equal((inside, count), ("1000", "1"))
    if kit.mode == "root":
        kit.true(int(outside) >= 0x7E000000, f"the host's uid is {outside}")
    elif kit.mode == "user" and not kit.warm:
        kit.equal(int(outside), kit.UID)
    else:
        # Root of `unshare -r`, and of a stem, is an ordinary user outside; seen from the namespace above the box it is 0.
        kit.equal(int(outside), 0)
    # Groups of the host, were there any, would show as the overflow group.
    kit.true(set(r["groups"].split()) <= {"nothing", "1000"}, r["groups"])


@kit.test
def S7_new_mount_calls():
    box.holds("S7")


@kit.test
def S8_filters_of_its_own():
    box.holds("S8")


@kit.test
def S9_unknown_calls():
    box.holds("S9")


@kit.test
def S10_sudo_su_pkexec():
    tried = ["exec=sudo -n id -u", "exec=su root -c id", "exec=pkexec id -u", "exec=newgrp root", "exec=mount --bind /usr /tmp"]
    code = "; ".join(f"{box.PLACE} {box.shlex.quote(t)}" for t in [*tried, "exec=id -u"])
    r = box.run(code=code)
    lines = r.json["stdout"].splitlines()
    kit.true("0" not in lines and not any("uid=0" in line for line in lines), r.json["stdout"])
    for attempt in tried:
        # 127: not there; anything but 0 otherwise.
        kit.matches(r.json["stdout"], rf"(?m)^{box.re.escape(attempt)} exit ([1-9]\d*)$")
    kit.equal(lines[-2:], ["1000", "exec=id -u exit 0"])


kit.main()
