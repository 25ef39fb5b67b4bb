#!/usr/bin/python3
"""src/engine/ember/python.c: a fork of a Python that is running already is like one that was started, without boxes."""
# tests/run: timeout=400

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lang"))
import alone
import cases_python
import kit

PYTHON = "/usr/bin/python3"
COMMAND = [PYTHON, "-u", "-B"]
DRIVER = os.path.join(kit.REPO, "runtimes/python/ember.py")


def clear():
    for name in os.listdir("/tmp"):
        if name.startswith("emberbox-case"):
            os.unlink(os.path.join("/tmp", name))


def normal(result):
    return result[0], cases_python.same(result[1]), cases_python.same(result[2])


ZYGOTE = alone.Zygote(COMMAND, COMMAND, "main.py", {"ALONE_DRIVER": DRIVER})


def compare(case):
    clear()
    want = normal(ZYGOTE.cold(case))
    clear()
    kit.equal(normal(ZYGOTE.warm(case)), want)
    clear()


for one in cases_python.CASES:
    kit.test(lambda one=one: compare(one), timeout=3 * alone.LONGEST, name="same_" + "_".join(one.name.split()))


def lines(source):
    status, out, err = ZYGOTE.warm(cases_python.Case("", source))
    kit.equal((status, err), (0, b""))
    return out.decode().splitlines()


@kit.test
def chance_differs_between_forks():
    source = """
import os, random, secrets, tempfile, uuid
for value in (random.random(), random.getrandbits(64), random.Random().random(), random.SystemRandom().random(),
              uuid.uuid1(), uuid.uuid4(), secrets.token_hex(8), os.urandom(8), tempfile.mktemp()):
    print(value)
"""
    first, second = lines(source), lines(source)
    kit.equal(len(first), 9)
    kit.equal([number for number in range(9) if first[number] == second[number]], [])


@kit.test
def nothing_of_a_run_is_left_for_the_next():
    lines("""
import builtins, json, os, random, sys, threading
random.random = lambda: 4
json.dumps = builtins.left = sys.left = threading.left = None
os.environ["LEFT"] = "1"
sys.path.append("/left")
sys.setrecursionlimit(5000)
""")
    source = """
import builtins, json, os, random, sys, threading
print(random.random() == 4, json.dumps([1]), hasattr(builtins, "left"), hasattr(sys, "left"), hasattr(threading, "left"))
print("LEFT" in os.environ, "/left" in sys.path, sys.getrecursionlimit())
"""
    kit.equal(lines(source), ["False [1] False False False", "False False 1000"])


@kit.test
def modules_are_there_and_the_driver_is_not():
    known = lines("import sys\nprint(*sorted(sys.modules), sep='\\n')")
    kit.equal([name for name in ("json", "dataclasses", "typing") if name not in known], [])
    kit.equal([name for name in known if "ember" in name or name.startswith("urllib")], [])


try:
    kit.main()
finally:
    ZYGOTE.stop()
