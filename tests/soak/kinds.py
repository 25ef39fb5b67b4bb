"""The runs of the soak: programs that mean well, and a tenth that do not.

Each prints its own token, which no other run has. What a run has to answer is exact
where the program decides it, and a choice where the machine's speed does.
"""

import collections
import os

# `output`: the whole stdout with T for the token; None: it begins with the token's line.
Kind = collections.namedtuple("Kind", "name language code statuses output fields hostile")
TOKEN = "@TOKEN@"
SHORT = 0.3  # seconds: a timeout that is waited for


def _kind(name, language, code, statuses="ok", output="T\n", hostile=False, **fields):
    return Kind(name, language, code, tuple(statuses.split()), output, fields, hostile)


PYTHON_EMPTY_HANDED = """import os
print("@TOKEN@", flush=True)
os.close(1)
os.close(2)
"""
PYTHON_FILES = """import json, os
os.makedirs("/sandbox/output", exist_ok=True)
with open("/sandbox/output/a.json", "w") as file:
    json.dump({"a": "@TOKEN@"}, file)
print(json.load(open("/sandbox/output/a.json"))["a"])
"""
PYTHON_THREADS = """import threading
found = []
workers = [threading.Thread(target=found.append, args=(i,)) for i in range(4)]
[w.start() for w in workers]
[w.join() for w in workers]
print("@TOKEN@" if sorted(found) == [0, 1, 2, 3] else found)
"""
PYTHON_FLOOD = """import sys
print("@TOKEN@", flush=True)
while True:
    sys.stdout.write("x" * 65536)
"""
PYTHON_HOG = """print("@TOKEN@", flush=True)
x = []
while True:
    x.append(bytearray(1 << 20))
"""
PYTHON_CRASH = """import ctypes
print("@TOKEN@", flush=True)
ctypes.string_at(8)
"""

GOOD = [
    _kind("python", "python", 'print("@TOKEN@")'),
    _kind("python, stdin", "python", "print(input())", stdin="@TOKEN@\n"),
    _kind("python, arguments", "python", "import sys\nprint(sys.argv[1])", args=["@TOKEN@"]),
    _kind("python, environment", "python", 'import os\nprint(os.environ["MINE"])', env={"MINE": "@TOKEN@"}),
    _kind("python, files", "python", PYTHON_FILES),
    _kind("python, threads", "python", PYTHON_THREADS),
    _kind("python, fails", "python", 'print("@TOKEN@")\nraise SystemExit(3)', "failed"),
    _kind("node", "node", 'console.log("@TOKEN@")'),
    _kind("node, a promise", "node", 'setTimeout(() => console.log("@TOKEN@"), 1)'),
    _kind("bash", "bash", "echo @TOKEN@"),
    _kind("bash, a pipe", "bash", "echo @TOKEN@ | cat"),
    _kind("ruby", "ruby", 'puts "@TOKEN@"'),
    _kind("perl", "perl", 'print "@TOKEN@\\n";'),
]
HOSTILE = [
    _kind("fork bomb", "bash", "echo @TOKEN@; :(){ :|:& };:", "ok failed", hostile=True),
    _kind("flood", "python", PYTHON_FLOOD, "output_limit", None, hostile=True),
    _kind("kill -9 -1", "bash", "echo @TOKEN@; kill -9 -1; echo end", "ok", "T\nend\n", hostile=True),
    _kind("sleeper", "bash", "echo @TOKEN@; sleep 60", "timeout", hostile=True, timeout=SHORT),
    _kind("spinner", "python", 'print("@TOKEN@", flush=True)\nwhile True: pass', "timeout", hostile=True, timeout=SHORT),
    _kind("memory hog", "python", PYTHON_HOG, "out_of_memory", hostile=True, limits={"memory": "32m"}),
    _kind("crash", "python", PYTHON_CRASH, "failed", hostile=True),
    _kind("left behind", "bash", "for i in 1 2 3; do setsid sleep 60 & done; echo @TOKEN@", hostile=True),
    _kind("stdout closed", "python", PYTHON_EMPTY_HANDED, hostile=True),
    _kind("disk filler", "bash", "echo @TOKEN@; head -c 4m /dev/zero 2>&- >/sandbox/temp/x; echo $?", "ok", "T\n1\n",
          hostile=True, limits={"disk": "1m"}),
]
NEEDED = {"python": "/usr/bin/python3", "node": "/usr/bin/node", "bash": "/usr/bin/bash", "ruby": "/usr/bin/ruby",
          "perl": "/usr/bin/perl"}


def installed(kinds):
    return [kind for kind in kinds if os.path.exists(NEEDED[kind.language])]


def _filled(value, token):
    if isinstance(value, str):
        return value.replace(TOKEN, token)
    if isinstance(value, list):
        return [_filled(one, token) for one in value]
    if isinstance(value, dict):
        return {key: _filled(one, token) for key, one in value.items()}
    return value


def request(kind, token):
    return _filled({"language": kind.language, "code": kind.code, **kind.fields}, token)


def wrong(kind, token, result):
    """What is wrong with a result, or None."""
    if result["status"] not in kind.statuses:
        return f'status {result["status"]!r} ({result.get("error_message")}), not {" or ".join(kind.statuses)}'
    stdout = result["stdout"]
    if kind.output is None:
        return None if stdout.startswith(token + "\n") else f"stdout begins with {stdout[:80]!r}"
    want = kind.output.replace("T", token, 1)
    return None if stdout == want else f"stdout is {stdout[:120]!r}, not {want!r}"
