#!/usr/bin/python3
"""What is planted in a box's network, on a kernel without nftables for IPv4 and IPv6, by booting one.

tests/run: timeout=240

One boot runs tests/kern/test_net_plant.c and test_net_public.c as every caller: without IPv6 and netfilter, with IPv6,
and with nf_tables, which knows no family of addresses there.
"""
import ctypes
import glob
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import kit  # noqa: E402

MODULES = ("", "ipv6", "nf_tables")  # loaded one after the other; "": none
PROGRAMS = ("test_net_plant", "test_net_public")
CALLERS = ("root", "user", "userns")
FINIT_MODULE = 313


def load(name):
    """Loads a module of the running kernel, and those that it needs."""
    call = ctypes.CDLL(None, use_errno=True).syscall
    (tree,) = glob.glob("/usr/lib/uml/modules/" + os.uname().release)
    with open(f"{tree}/modules.dep", encoding="ascii") as file:
        needs = dict(line.split(":") for line in file.read().splitlines())
    (path,) = [path for path in needs if path.endswith(f"/{name}.ko")]
    for one in [*reversed(needs[path].split()), path]:
        with open(os.path.join(tree, one), "rb") as file:
            if call(FINIT_MODULE, file.fileno(), b"", 0) != 0 and ctypes.get_errno() != 17:
                raise OSError(ctypes.get_errno(), f"{one} was not loaded")


def inside(programs):
    """Under the other kernel: runs every program as every caller and prints what it said."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True, timeout=10)
    said = {}
    for module in MODULES:
        if module:
            load(module)
        for program in programs:
            for caller in CALLERS:
                run = subprocess.run([program, "--as", caller], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                     timeout=60, check=False)
                said[f"{module}-{os.path.basename(program)}-{caller}"] = [run.returncode, run.stdout]
    json.dump(said, sys.stdout)


@kit.test(timeout=230)
def bound_listeners_serve_where_nftables_are_missing():
    programs = [os.path.join(os.path.realpath(kit.BUILD), "tests/kern", name) for name in PROGRAMS]
    for program in programs:
        kit.true(os.path.exists(program), f"{program} is not built")
    run = subprocess.run([os.path.join(HERE, "boot"), "--timeout", "200", "--share", kit.BUILD, "--share", kit.REPO,
                          sys.executable, os.path.abspath(sys.argv[0]), "--inside", *programs],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=210, check=False)
    if run.returncode == 77:
        kit.skip("user-mode-linux is not installed")
    kit.true(run.returncode == 0, f"the boot ended with {run.returncode}: {run.stderr[-600:]!r}")
    said = json.loads(run.stdout)
    kit.equal(len(said), len(MODULES) * len(PROGRAMS) * len(CALLERS))
    for name, (code, text) in said.items():
        lines = text.splitlines()
        kit.equal((code, [line for line in lines if line.startswith("not ok")]), (0, []), name)
        kit.true("connections_arrive_with_their_destination_bound" in text or "test_net_public" in name, f"{name}: {text!r}")
        kit.true("ok without_steering_it_is_refused" in lines or "test_net_plant" in name, f"{name}: {text!r}")
        kit.equal("ok without_ipv6_bound" in lines, "test_net_plant" in name and not name.startswith("-"), name)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(sys.argv[2:])
    else:
        kit.main()
