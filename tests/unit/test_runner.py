#!/usr/bin/python3
# tests/run: timeout=60
"""tests/run itself: what fails is counted, and it always comes to an end."""

import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit


def run(tests, *args, env=None):
    """A repository with these tests {path: text}, and what tests/run says of it."""
    directory = kit.tmp()
    kit.write(f"{directory}/build/.keep", "")
    os.mkdir(f"{directory}/tests")
    shutil.copy(os.path.join(kit.REPO, "tests", "run"), f"{directory}/tests/run")
    for path, text in tests.items():
        kit.write(f"{directory}/tests/{path}", text)
    settings = {"CI": "false", "EB_BUILD": "", **(env or {})}
    return kit.command([f"{directory}/tests/run", *args], env=settings)


def last(r, line, code):
    kit.equal((r.text.splitlines()[-1], r.code), (line, code), r.text)


@kit.test
def counts_lines():
    r = run({"e2e/test_a.py": "print('ok a\\nnoise\\nskip b: why\\nok c')"})
    last(r, "2 passed, 0 failed, 1 skipped", 0)
    kit.contains(r.text, "skip b: why")
    r = run({"e2e/test_a.py": "print('ok a\\nnot ok b: why'); raise SystemExit(1)"})
    last(r, "1 passed, 1 failed, 0 skipped", 1)
    kit.contains(r.text, "not ok b: why")


@kit.test
def a_test_that_says_nothing_failed():
    last(run({"e2e/test_a.py": ""}), "0 passed, 1 failed, 0 skipped", 1)
    last(run({"e2e/test_a.py": "print('ok a'); raise SystemExit(1)"}), "1 passed, 1 failed, 0 skipped", 1)
    r = run({"e2e/test_a.py": "import os; print('ok a', flush=True); os.abort()"})
    last(r, "1 passed, 1 failed, 0 skipped", 1)
    kit.contains(r.text, "SIGABRT")


@kit.test
def a_program_that_was_not_built_failed():
    r = run({"unit/test_a.c": ""})
    last(r, "0 passed, 1 failed, 0 skipped", 1)
    kit.contains(r.text, "not built")


@kit.test
def no_test_at_all_failed():
    last(run({}), "0 passed, 1 failed, 0 skipped", 1)


@kit.test
def once_for_each_set_of_arguments():
    r = run({"e2e/test_a.py": "# tests/run: args=--as root | --as user\nimport sys\nprint('ok', sys.argv[2])"})
    last(r, "2 passed, 0 failed, 0 skipped", 0)
    kit.contains(r.text, "test_a.py --as root: 1 passed")
    kit.contains(r.text, "test_a.py --as user: 1 passed")


@kit.test
def a_test_that_hangs_is_killed_with_its_children():
    code = "# tests/run: timeout=1\nimport subprocess\nprint('ok a', flush=True)\n" \
           "subprocess.run(['sleep', '1000'], start_new_session=True)"
    r = run({"e2e/test_a.py": code})
    last(r, "1 passed, 1 failed, 0 skipped", 1)
    kit.contains(r.text, "still running after 1 s")
    kit.true("left behind" not in r.text, r.text)


@kit.test
def a_process_left_behind_failed():
    code = "import subprocess\nsubprocess.Popen(['sleep', '1000'], start_new_session=True)\nprint('ok a')"
    r = run({"e2e/test_a.py": code})
    last(r, "1 passed, 1 failed, 0 skipped", 1)
    kit.contains(r.text, "left behind: sleep 1000")


@kit.test
def the_deadline_ends_everything():
    hangs = "import time\ntime.sleep(1000)"
    r = run({f"e2e/test_{name}.py": hangs for name in "abc"}, "--deadline", "1")
    last(r, "0 passed, 3 failed, 0 skipped", 1)
    kit.true(r.seconds < 10, f"took {r.seconds:.1f} s")


@kit.test
def a_signal_is_a_deadline():
    directory = kit.tmp()
    os.mkdir(f"{directory}/tests")
    shutil.copy(os.path.join(kit.REPO, "tests", "run"), f"{directory}/tests/run")
    os.mkfifo(f"{directory}/started")
    kit.write(f"{directory}/tests/e2e/test_a.py", f"import time\nopen('{directory}/started', 'w').close()\ntime.sleep(1000)")
    process = kit.start([f"{directory}/tests/run"], stdout=subprocess.PIPE)
    with open(f"{directory}/started", encoding="utf-8"):
        pass
    process.send_signal(signal.SIGTERM)
    last(kit.finish(process), "0 passed, 1 failed, 0 skipped", 1)


@kit.test
def under_ci_only_known_skips_pass():
    tests = {"e2e/test_a.py": "print('skip a: no delegated cgroup\\nskip b: not in the mood')"}
    last(run(tests), "0 passed, 0 failed, 2 skipped", 0)
    last(run(tests, env={"CI": "true"}), "0 passed, 1 failed, 1 skipped", 1)


kit.main()
