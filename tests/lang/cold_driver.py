"""Runs many programs one after the other in one cold box, each by the language's own command line.

test_embers.py puts this into a box of the language, beside cases.json, and the box's program starts it: so the command
line and the environment are those that this program was started with. One box for all, for every box is a filter.
"""

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import zlib

CODE = "/sandbox/code"
LIBRARY = "/opt/emberbox/drivers/libember.so"  # says where output waits, see src/engine/ember/notice.h
LONGEST = 20  # seconds of a case


def clean():
    for place in (CODE, "/tmp", "/sandbox/temp", "/sandbox/output"):
        for name in os.listdir(place):
            path = os.path.join(place, name)
            shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)


def end_others():
    """What a program leaves running ends with its box."""
    mine = {"1", str(os.getpid()), str(os.getppid())}
    for name in os.listdir("/proc"):
        if name.isdigit() and name not in mine:
            try:
                os.kill(int(name), signal.SIGKILL)
            except ProcessLookupError:
                pass


class Reader(threading.Thread):
    def __init__(self, file):
        super().__init__(daemon=True)
        self.file, self.data = file, b""
        self.start()

    def run(self):
        with self.file:
            self.data = self.file.read()


def texts(name):
    """What the box's program was started with."""
    with open(f"/proc/{os.getppid()}/{name}", "rb") as file:
        return file.read().decode().split("\0")[:-1]


def run(command, environment, case):
    clean()
    for name, content in case["files"].items():
        path = os.path.join(CODE, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(base64.b64decode(content))
    entry = os.path.join(CODE, case["entry"])
    argv = [entry if word is None else word for word in command] + case["args"]
    # As in a box: what is given comes first, the last of it foremost.
    given = dict(reversed(case["env"].items()))
    if os.path.exists(LIBRARY) and not any(name.startswith("LD_") for name in given):
        environment = {**environment, "LD_PRELOAD": LIBRARY, "EMBERBOX_EMBER": f"notice:{entry}"}
    process = subprocess.Popen(
        argv,
        cwd=CODE,
        env={**given, **{name: value for name, value in environment.items() if name not in given}},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    readers = Reader(process.stdout), Reader(process.stderr)
    try:
        process.stdin.write(base64.b64decode(case["stdin"]))
        process.stdin.close()
    except BrokenPipeError:
        pass  # it does not read
    try:
        code = process.wait(LONGEST)
    except subprocess.TimeoutExpired:
        code = "too long"
    end_others()
    process.wait()
    for reader in readers:
        reader.join()
    return [code, *(base64.b64encode(zlib.compress(reader.data)).decode() for reader in readers)]


def main():
    with open("/sandbox/data/cases.json", encoding="utf-8") as file:
        cases = json.load(file)
    command = texts("cmdline")
    environment = dict(text.split("=", 1) for text in texts("environ") if text)
    # {entry} and then {args}, of which there are none.
    at = max(number for number, word in enumerate(command) if word.startswith(CODE + "/"))
    command[at] = None
    for case in cases:
        print(json.dumps([case["name"], *run(command, environment, case)]), flush=True)


if __name__ == "__main__":
    sys.exit(main())
