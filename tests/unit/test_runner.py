#!/usr/bin/python3
# tests/run: timeout=60
"""tests/run itself: what fails is counted, and it always comes to an end."""

import importlib.machinery
import importlib.util
import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit


def run(tests, *args, env=None, before=()):
    """A repository with these tests {path: text}, and what tests/run says of it."""
    directory = kit.tmp()
    kit.write(f"{directory}/build/.keep", "")
    os.mkdir(f"{directory}/tests")
    shutil.copy(os.path.join(kit.REPO, "tests", "run"), f"{directory}/tests/run")
    for path, text in tests.items():
        kit.write(f"{directory}/tests/{path}", text)
    settings = {"CI": "false", "EB_BUILD": "", "EB_NIGHTLY": "", **(env or {})}
    return kit.command([*before, f"{directory}/tests/run", *args], env=settings)


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
def what_failed_can_be_repeated_from_the_last_lines():
    """Ten lines, whatever there is above them: the programs that failed, each with its command."""
    bad = "import sys; print('ok ' + ' '.join(sys.argv[1:])); print('not ok b: why'); raise SystemExit(1)"
    r = run({"e2e/test_bad.py": "# tests/run: args=--as root\n" + bad, "e2e/test_good.py": "print('ok a')"}, "-j", "1")
    last(r, "2 passed, 1 failed, 0 skipped", 1)
    kit.contains(r.text.splitlines()[-2:][0], "failed: e2e/test_bad.py --as root: EB_BUILD=build e2e/test_bad.py --as root".replace("e2e/", "tests/e2e/"))
    r = run({f"e2e/test_{n}.py": bad for n in range(20)}, "-j", "1")
    lines = r.text.splitlines()[-10:]
    kit.equal(sum(line.startswith("failed: tests/e2e/test_") for line in lines), 7)
    kit.equal(lines[-2], "failed: 13 more, see above")
    last(r, "20 passed, 20 failed, 0 skipped", 1)


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


NAMED = """import os, re
for name in ("alpha", "beta"):
    if re.search(os.environ.get("EB_TEST", ""), name):
        print(f"ok {name}")
"""


@kit.test
def single_tests_can_be_chosen():
    programs = {"e2e/test_a.py": NAMED, "e2e/test_b.py": NAMED.replace("beta", "gamma")}
    last(run(programs), "4 passed, 0 failed, 0 skipped", 0)
    r = run(programs, "-t", "bet")
    last(r, "1 passed, 0 failed, 0 skipped", 0)
    kit.true("test_b.py" not in r.text, r.text)
    r = run(programs, "-t", "delta")
    kit.contains(r.text, "not ok tests/run: no test found")
    last(r, "0 passed, 1 failed, 0 skipped", 1)
    # A program that dies has failed, whatever was chosen.
    last(run({"e2e/test_a.py": "raise SystemExit(1)"}, "-t", "delta"), "0 passed, 1 failed, 0 skipped", 1)


@kit.test
def the_tests_in_c_are_chosen_too():
    """By the same variable, in the one program that has all of tests/unit."""
    unit = kit.built("tests/unit/unit")
    every = kit.command([unit, "test_text"]).text.splitlines()
    kit.true(len(every) > 5 and all(line.startswith("ok ") for line in every), every)
    name = every[0].split(" ", 1)[1]
    kit.equal(kit.command([unit, "test_text"], env={"EB_TEST": f"^{name}$"}).text.splitlines(), every[:1])
    r = kit.command([unit, "test_nonesuch"])
    kit.equal((r.code, r.errtext), (2, "unit: there is no test_nonesuch; `unit` alone lists the names\n"))
    kit.contains(kit.command([unit]).text.splitlines(), "test_text")


@kit.test
def a_quick_run_leaves_the_rest_out():
    programs = {"e2e/test_run.py": "print('ok a')", "e2e/test_other.py": "print('ok b')", "unit/test_c.py": "print('ok c')"}
    last(run(programs, "--quick"), "2 passed, 0 failed, 0 skipped", 0)


@kit.test
def once_for_each_set_of_arguments():
    r = run({"e2e/test_a.py": "# tests/run: args=--as root | --as user\nimport sys\nprint('ok', sys.argv[2])"})
    last(r, "2 passed, 0 failed, 0 skipped", 0)
    kit.contains(r.text, "test_a.py --as root: 1 passed")
    kit.contains(r.text, "test_a.py --as user: 1 passed")


# The directives of a test in a string may not begin a line here, or they would be ours.
KIT = "# tests/run: args=--as user\n# tests/run: nightly=--as userns\n" + """import sys
sys.path.insert(0, %r)
import kit
@kit.test
def short(): pass
@kit.test(nightly="short proves it")
def long(): pass
kit.main()
""" % os.path.join(kit.REPO, "tests", "lib")


@kit.test
def what_is_nightly_runs_with_all_or_when_it_is_chosen():
    programs = {"e2e/test_a.py": KIT}
    r = run(programs)
    last(r, "1 passed, 0 failed, 0 skipped", 0)
    kit.contains(r.text, "test_a.py --as user: 1 passed")
    for args in (["--all"], ["-k", "test_a"]):
        r = run(programs, *args, "-v")
        last(r, "4 passed, 0 failed, 0 skipped", 0)
        for test in ("ok short[user]", "ok long[user]", "ok short[userns]", "ok long[userns]"):
            kit.contains(r.text, test)
    last(run(programs, "-t", "^long$"), "2 passed, 0 failed, 0 skipped", 0)


@kit.test
def nightly_arguments_are_of_both_builds_only_with_all():
    programs = {"e2e/test_a.py": "# tests/run: args=--as user\n# tests/run: builds=release asan\n# tests/run: nightly=--as root\n"
                "# tests/run: asan=--as root\nimport os, sys\nprint('ok', os.environ['EB_BUILD'].rpartition('/')[2], *sys.argv[1:])"}
    for args, ran in (([], ["asan --as root", "build --as user"]),
                      (["-k", "test_a"], ["asan --as root", "build --as user"]),
                      (["--all"], ["asan --as root", "build --as root", "build --as user"])):
        r = run({**programs, "../asan/.keep": ""}, "--asan", "asan", "-v", *args)
        kit.equal(sorted(line[5:] for line in r.text.splitlines() if line.startswith("  ok ")), ran, r.text)


@kit.test
def more_run_while_processors_are_idle():
    loader = importlib.machinery.SourceFileLoader("runner", os.path.join(kit.REPO, "tests", "run"))
    runner = importlib.util.module_from_spec(importlib.util.spec_from_loader("runner", loader))
    loader.exec_module(runner)
    for running, idle, may in ((3, None, True), (4, None, False), (4, 0.1, False), (4, 0.5, True), (7, 0.5, True), (8, 1.0, False)):
        kit.equal(runner.more_may_run(running, 4, idle), may, f"{running} running, {idle} idle")
    ticks = 100 * (os.cpu_count() or 1)
    stat = kit.write(os.path.join(kit.tmp(), "stat"), "cpu  10 0 10 70 10 0 0 0 0 0\n")
    idle = runner.Idle(stat)
    kit.write(stat, "cpu  11 0 11 70 10 0 0 0 0 0\n")
    kit.equal(idle.share(), None, "of two ticks")
    # Waiting for a disk is idle as well; time of guests counts as the user's already.
    kit.write(stat, f"cpu  {10 + ticks // 2} 0 10 {70 + ticks // 4} {10 + ticks // 4} 0 0 0 99 99\n")
    kit.equal(idle.share(), 0.5)
    kit.equal(idle.share(), None)


@kit.test
def what_this_repository_asks_for_can_be_read():
    """Where it cannot, tests/run does not even begin: this is for whoever starts this program by itself."""
    r = kit.command([os.path.join(kit.REPO, "tests", "run"), "-k", "^$", "--build", kit.BUILD])
    kit.equal((r.text, r.errtext), ("  not ok tests/run: no test found\n0 passed, 1 failed, 0 skipped\n", ""))


@kit.test
def what_is_asked_too_late_is_an_error():
    r = run({"e2e/test_a.py": "\n" * 10 + "# tests/run: timeout=5\nprint('ok a')"})
    kit.equal(r.code, 1)
    kit.contains(r.errtext, "'# tests/run: timeout=5' is not in the first ten lines")


@kit.test
def a_test_that_hangs_is_killed_with_its_children():
    code = "# tests/run: timeout=6\nimport subprocess\nprint('ok a', flush=True)\n" \
           "subprocess.run(['sleep', '1000'], start_new_session=True)"
    r = run({"e2e/test_a.py": code})
    last(r, "1 passed, 1 failed, 0 skipped", 1)
    kit.contains(r.text, "still running after 6 s")
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


@kit.test
def signals_that_were_ignored_are_not():
    code = "import signal\nprint('ok a' if signal.getsignal(signal.SIGQUIT) == signal.SIG_DFL else 'not ok a: ignored')"
    last(run({"e2e/test_a.py": code}, before=["/usr/bin/env", "--ignore-signal=QUIT"]), "1 passed, 0 failed, 0 skipped", 0)


@kit.test
def orphans_that_ended_are_not_kept():
    code = "import os, time\nout, into = os.pipe()\nif os.fork() == 0:\n    if os.fork() == 0:\n" \
           "        os.write(into, b'%d' % os.getpid())\n    os._exit(0)\nos.wait()\npid = int(os.read(out, 20))\n" \
           "end = time.monotonic() + 20\nwhile os.path.exists(f'/proc/{pid}') and time.monotonic() < end: time.sleep(0.01)\n" \
           "print('ok a' if not os.path.exists(f'/proc/{pid}') else 'not ok a: it is a zombie')"
    last(run({"e2e/test_a.py": code}), "1 passed, 0 failed, 0 skipped", 0)


# What a test does the first time that it is run, and not the second.
SHY = """
import os, sys, time
here = os.path.dirname(os.path.abspath(__file__))
first = not os.path.exists(f"{here}/{sys.argv[0].rpartition('/')[2]}.ran")
open(f"{here}/{sys.argv[0].rpartition('/')[2]}.ran", "w").close()
print("ok a")
if first:
    %s
"""
FAILS = SHY % "print('not ok b: too slow'); sys.exit(1)"
PASSES = "print('ok c')"
# One that goes on until so many of those have begun: they run beside it.
KEEPS = """
import os, time
end = time.monotonic() + 20
while len([name for name in os.listdir(os.path.dirname(os.path.abspath(__file__))) if name.endswith(".ran")]) < %d:
    if time.monotonic() > end: raise SystemExit("nobody came")
    time.sleep(0.01)
print('ok c')
"""


def beside(tests, *args):
    """These, which begin beside one that ends when all of them have begun."""
    directory = {path.rpartition("/")[0] for path in tests}.pop()
    return run({f"{directory}/test_0.py": "# tests/run: timeout=100\n" + KEEPS % len(tests), **tests}, *args)


@kit.test
def what_failed_beside_others_is_run_again_alone():
    r = beside({"e2e/test_a.py": FAILS})
    last(r, "2 passed, 0 failed, 0 skipped", 0)
    kit.equal(r.text.splitlines()[-2],
              "unsteady: tests/e2e/test_a.py failed beside others (b: too slow), passed alone")
    kit.contains(r.text, "tests/e2e/test_a.py: once more, alone\n")
    # One that fails both times has failed, and is counted once.
    r = beside({"e2e/test_a.py": (SHY % "pass") + "print('not ok b: wrong'); sys.exit(1)"})
    last(r, "2 passed, 1 failed, 0 skipped", 1)
    kit.equal(r.text.count("not ok b: wrong"), 2, r.text)
    kit.true("unsteady" not in r.text, r.text)


@kit.test
def a_test_that_was_too_slow_beside_others_is_run_again():
    r = beside({"e2e/test_a.py": "# tests/run: timeout=8" + SHY % "sys.stdout.flush(); time.sleep(1000)"})
    last(r, "2 passed, 0 failed, 0 skipped", 0)
    kit.contains(r.text, "unsteady: tests/e2e/test_a.py failed beside others (still running after 8 s), passed alone\n")


@kit.test
def strict_gives_no_second_chance():
    r = beside({"e2e/test_a.py": FAILS}, "--strict")
    last(r, "2 passed, 1 failed, 0 skipped", 1)
    kit.true("once more" not in r.text, r.text)


@kit.test
def what_nothing_ran_beside_has_failed():
    last(run({"e2e/test_a.py": FAILS}), "1 passed, 1 failed, 0 skipped", 1)
    last(run({"e2e/test_a.py": FAILS, "e2e/test_b.py": PASSES}, "-j", "1"), "2 passed, 1 failed, 0 skipped", 1)


@kit.test
def attacks_and_faults_get_no_second_chance():
    for directory in ("escape", "fault"):
        last(beside({f"{directory}/test_a.py": FAILS}), "2 passed, 1 failed, 0 skipped", 1)


@kit.test
def a_crash_gets_no_second_chance():
    for code, says in (("os.abort()", "SIGABRT"),
                       ("print('not ok b: ==7==ERROR: AddressSanitizer: heap'); sys.exit(1)", "AddressSanitizer"),
                       ("print('x.c:1:2: runtime error: overflow'); sys.exit(1)", "runtime error")):
        r = beside({"e2e/test_a.py": SHY % ("sys.stdout.flush(); " + code)})
        last(r, "2 passed, 1 failed, 0 skipped", 1)
        kit.contains(r.text, says)
        kit.true("once more" not in r.text, r.text)


@kit.test
def three_are_unsteady_and_four_are_broken():
    three = {f"e2e/test_{name}.py": FAILS for name in "abc"}
    r = beside(three, "-j", "9")
    last(r, "4 passed, 0 failed, 0 skipped", 0)
    kit.equal(r.text.count("\nunsteady: "), 3, r.text)
    r = beside({**three, "e2e/test_d.py": FAILS}, "-j", "9")
    last(r, "5 passed, 4 failed, 0 skipped", 1)
    kit.contains(r.text, "4 programs failed beside others: too many to try them alone\n")


kit.main()
