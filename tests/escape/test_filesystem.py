"""F: the file system.

tests/run: args=--as root | --as user | --as userns | --as root --warm | --as user --warm
tests/run: timeout=90
"""

import hashlib
import os
import sys
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import box
import kit


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


@kit.test
def F1_create_outside_the_writable_directories():
    box.holds("F1")


@kit.test
def F2_secrets_of_the_host():
    box.holds("F2")


@kit.test
def F3_canaries_of_the_host_are_not_found():
    name = f"canary-{uuid.uuid4().hex}"
    places = [kit.tmp()]
    # Where the probe has its own directories too, the host's must not shine through.
    places += [d for d in ("/", "/tmp", "/home", "/var/tmp", "/root") if os.access(d, os.W_OK)]
    made = [kit.write(os.path.join(d, name), "canary") for d in places]
    try:
        r = box.run(f"walk={name}", "walk=main.sh")
    finally:
        for path in made:
            os.unlink(path)
    kit.equal(r[f"walk={name}"], "nothing")
    # The walk does find what there is.
    kit.equal(r["walk=main.sh"], "/sandbox/code/main.sh")


@kit.test
def F4_symlinks_to_the_host():
    box.holds("F4")
    canary = kit.write(os.path.join(kit.tmp(), "canary"), "canary", 0o666)
    r = box.run(f"symlink-read={canary}", f"symlink-write={canary}")
    kit.equal(r[f"symlink-read={canary}"], "ENOENT")
    kit.equal(r[f"symlink-write={canary}"], "ENOENT")
    with open(canary, encoding="utf-8") as file:
        kit.equal(file.read(), "canary")


@kit.test
def F5_twenty_times_up_is_the_root_of_the_box():
    box.holds("F5")


@kit.test
def F6_chroot():
    box.holds("F6")


@kit.test
def F7_mounts():
    box.holds("F7")


@kit.test
def F8_devices():
    box.holds("F8")


@kit.test
def F9_file_handles():
    box.holds("F9")


@kit.test
def F10_only_three_descriptors():
    box.holds("F10")
    # One that the caller holds open, without close-on-exec, does not come through.
    directory = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.set_inheritable(directory, True)
        args = box.arguments(box.script("fds", "fd-kinds"), "--json")
        r = kit.emberbox(*args, pass_fds=[directory])
    finally:
        os.close(directory)
    found = box.answers(r.json["stdout"])
    kit.equal(found["fds"], ["0 1 2"])
    kit.true("directory" not in found["fd-kinds"][0] and "file" not in found["fd-kinds"][0], found["fd-kinds"][0])


@kit.test
def F11_the_working_directory_is_not_the_callers_choice():
    box.holds("F11")
    r = kit.emberbox("run", "-l", "bash", "--workdir", "/proc/self/fd/7/../../..", "-c", "pwd")
    kit.equal((r.code, r.out), (2, b""))
    kit.contains(r.errtext, "--workdir")


@kit.test
def F12_programs_of_the_host_are_not_overwritten():
    before = digest(kit.built()), digest("/usr/bin/bash")
    box.holds("F12")
    # The shell's own file, through the magic link of a process that runs it.
    r = box.run(code="true; exec 9>>/proc/self/exe && echo opened")
    kit.true(r.json["exit_code"] != 0 and "opened" not in r.json["stdout"], r.json)
    kit.equal((digest(kit.built()), digest("/usr/bin/bash")), before)


@kit.test
def F13_what_is_planted_does_not_run():
    plant = """
site=$(python3 -c 'import site; print(site.getusersitepackages())')
mkdir -p "$site" && cd "$site" && echo 'print("PLANTED")' >sitecustomize.py && cp sitecustomize.py usercustomize.py
echo 'import sys; print("PLANTED")' >planted.pth
for d in /tmp /sandbox/code /sandbox/temp /dev/shm; do cp sitecustomize.py usercustomize.py planted.pth $d; done
python3 -c pass
echo /tmp/x.so >/etc/ld.so.preload
"""
    r = box.run(code=plant)
    # In its own run it works: that is the control.
    kit.contains(r.json["stdout"], "PLANTED")
    kit.contains(r.json["stderr"], "/etc/ld.so.preload: Read-only file system")
    r = kit.emberbox("run", "--cold", "-l", "python", "-c", "print('clean')")
    kit.equal((r.code, r.text), (0, "clean\n"))
    # The loader complains once for each program that it starts with a preload it cannot find: only the box's.
    r = kit.emberbox("run", "--cold", "-l", "bash", "--env", "LD_PRELOAD=/sandbox/data/none.so", "-c", "echo up")
    kit.equal((r.code, r.text), (0, "up\n"))
    kit.equal(r.errtext.count("none.so"), 1, r.errtext)


@kit.test
def F14_set_user_id_gives_nothing():
    box.holds("F14")


@kit.test
def F15_hard_links():
    box.holds("F15")


@kit.test
def F16_dev_is_minimal():
    box.holds("F16")


@kit.test
def F17_awkward_trees_are_removed():
    trace = box.Trace()
    where = [f"awkward-tree={d}" for d in ("/sandbox/output", "/sandbox/temp", "/tmp")]
    r = trace.run(box.script(*where))
    for attempt in where:
        kit.equal(r[attempt], "64 deep")
    kit.equal(r.json["status"], "ok")
    trace.check()


@kit.test
def F18_the_page_cache_of_read_only_files():
    before = digest("/usr/lib/os-release")
    box.holds("F18")
    kit.equal(digest("/usr/lib/os-release"), before)


kit.main()
