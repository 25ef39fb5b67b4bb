"""O: output.

tests/run: args=--as root | --as user | --as userns | --as root --warm | --as user --warm
tests/run: timeout=90
"""

import hashlib
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import box
import kit

MIB = 1 << 20
SPOOL = 16 * MIB


def flood(stream):
    """An endless stream; the result, and the most memory that emberbox itself had."""
    args = box.arguments(box.script(f"flood={stream}:"), "--json", "--timeout", "20")
    process = kit.start([kit.built(), *args])
    out = process.stdout.read()
    # wait4 also tells of the children that emberbox waited for: its box is none of them once init is.
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return json.loads(out), process.returncode, usage.ru_maxrss * 1024


def cut(stream, other):
    result, code, resident = flood({"stdout": 1, "stderr": 2}[stream])
    kit.equal((result["status"], code, result["truncated"]), ("output_limit", 137, True))
    kit.equal(result["error_message"], "Output limit of 16m exceeded")
    kit.true(SPOOL <= result[f"{stream}_bytes"] <= SPOOL + MIB, result[f"{stream}_bytes"])
    # 20 KiB are shown, and a marker says how many are not.
    kit.true(20 * 1024 <= len(result[stream]) < 21 * 1024, len(result[stream]))
    kit.equal(result[f"{other}_bytes"], 0)
    kit.true(resident < 48 * MIB, f"emberbox took {resident} bytes")


@kit.test
def O1_endless_stdout():
    cut("stdout", "stderr")


@kit.test
def O2_endless_stderr():
    cut("stderr", "stdout")


@kit.test
def O3_bytes_that_are_no_text():
    code = r"printf '\0\377\376 \355\240\200 \033[31mred\033[0m \360\237\230\200 \302'"
    r = kit.emberbox("run", "--cold", "-l", "bash", "--json", "-c", code)
    text = r.json["stdout"]
    kit.equal(r.json["stdout_bytes"], 27)
    # Invalid bytes become U+FFFD; what is valid stays.
    kit.true(text.startswith("\0\ufffd\ufffd ") and text.endswith(" \x1b[31mred\x1b[0m \U0001f600 \ufffd"), text)
    kit.true(not any(0xD800 <= ord(c) < 0xE000 for c in text), text)
    # The bytes themselves, without --json.
    r = kit.emberbox("run", "--cold", "-l", "bash", "-c", code)
    kit.equal(r.out, b"\0\xff\xfe \xed\xa0\x80 \x1b[31mred\x1b[0m \xf0\x9f\x98\x80 \xc2")


@kit.test
def O4_a_hundred_megabytes_in_one_line():
    r = box.run("flood=1:100m", options=["--timeout", "20"])
    kit.equal(r.json["status"], "output_limit")
    kit.true(r.process.seconds < 5, f"{r.process.seconds:.1f} s")


@kit.test
def O5_no_result_can_be_forged():
    box.holds("O5")
    forged = '{"status": "error", "exit_code": 0}'
    code = f"for fd in 1 3 4 5 6 7 8 9; do echo '{forged}' >/proc/self/fd/$fd; done 2>/dev/null; exit 9"
    r = box.run(code=code)
    kit.equal((r.json["status"], r.json["exit_code"], r.json["stdout"]), ("failed", 9, forged + "\n"))


@kit.test
def O6_large_binary_input_and_output():
    data = b"".join(hashlib.sha256(str(i).encode()).digest() for i in range(4 * MIB // 32))
    r = kit.emberbox("run", "--cold", "-l", "bash", "--stdin", "-", "-c", "cat", stdin=data)
    kit.equal((r.code, len(r.out), hashlib.sha256(r.out).digest()), (0, len(data), hashlib.sha256(data).digest()))


@kit.test
def O7_exit_codes_and_signals():
    for code in (255, 124):
        r = kit.emberbox("run", "--cold", "-l", "bash", "--json", "-c", f"exit {code}")
        kit.equal((r.code, r.json["exit_code"], r.json["signal"], r.json["status"]), (code, code, None, "failed"))
        kit.equal(r.json["timeout"], False)
    for number, name in ((9, "SIGKILL"), (11, "SIGSEGV")):
        r = box.run(f"raise={number}")
        kit.equal((r.process.code, r.json["signal"], r.json["timeout"]), (128 + number, name, False))
        # Its own SIGKILL is not the memory limit's.
        kit.true(r.json["status"] in ("failed", "killed"), r.json["status"])


@kit.test
def O8_order_and_no_loss_at_the_end():
    lines = 20000
    process = kit.emberbox(*box.arguments(box.script(f"lines={lines}")))
    want = "".join(f"{i}\n" for i in range(lines)).encode()
    kit.equal((process.code, process.out == want, process.err == want), (0, True, True))


kit.main()
