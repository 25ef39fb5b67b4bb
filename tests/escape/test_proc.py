"""P: proc, sys, and what they tell.

tests/run: args=--as root | --as user | --as userns | --as root --warm | --as user --warm | --as userns --warm
"""

import os
import re
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import box
import kit


@kit.test
def P1_the_environment_is_clean():
    box.holds("P1")
    r = box.run("env", "getenv=GIVEN", env={"CANARY_SECRET": "canary"}, options=["--env", "GIVEN=value"])
    # PWD, SHLVL and _ are Bash's own.
    kit.equal(set(r["env"].split()) - {"PWD", "OLDPWD", "SHLVL", "_"}, {"GIVEN", "HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "USER"})
    kit.equal(r["getenv=GIVEN"], "value")


@kit.test
def P2_only_the_boxs_own_processes():
    # Two attempts, so that the probe forks: init, the probe, and the one that looks.
    r = box.run("pids", "ids")
    kit.equal(r["pids"], "1 parent self")


@kit.test
def P3_process_1_leads_nowhere():
    box.holds("P3")


@kit.test
def P4_kernel_settings():
    box.holds("P4")


@kit.test
def P5_revealing_files():
    box.holds("P5")


@kit.test
def P6_mountinfo_names_no_path_of_the_host():
    r = box.run("mount-roots", "content=/proc/self/mounts")
    # Where the host's own root is a directory or subvolume of its file system, the kernel shows that part too.
    with open("/proc/self/mountinfo") as mounts:
        above = [line.split()[3] for line in mounts if line.split()[4] == "/"][-1].rstrip("/")
    pairs = [pair.split("<") for pair in r["mount-roots"].replace("<" + above, "<").split()]
    kit.true(len(pairs) > 5, r["mount-roots"])
    for at, root in pairs:
        # What is shared with the host is where everybody has it, and known: system directories, devices, masks.
        known = root == "/" or re.match(r"/(usr|lib|lib32|lib64|libx32|bin|sbin)(/|$)|/etc/(alternatives|ld\.so\.cache|mime\.types|protocols|services|ssl/certs|ssl/openssl\.cnf)$", root)
        own = re.match(r"/(sandbox|sandbox/code|code|data|output|temp|tmp|shm|null|zero|full|random|urandom|tty|var/empty|empty|cores)$", root)
        kit.true(known or own, f"{at} shows {root}")
    for word in (kit.REPO, kit.BUILD, kit.home(), "/home", "/root", "emberbox-test"):
        kit.true(not any(word in root for _, root in pairs) and word not in r["content=/proc/self/mounts"], f"{word} in mountinfo")


@kit.test
def P7_control_groups():
    box.holds("P7")


@kit.test
def P8_the_hosts_name():
    box.holds("P8")
    r = box.run("hostname", "domainname")
    kit.equal(r["hostname"], "emberbox")
    kit.true(r["hostname"] != socket.gethostname(), "the host is called emberbox too")


@kit.test
def P9_the_hosts_log():
    box.holds("P9")


@kit.test
def P10_keyrings():
    box.holds("P10")


@kit.test
def P11_a_second_proc():
    box.holds("P11")


kit.main()
