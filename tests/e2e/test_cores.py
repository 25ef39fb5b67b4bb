#!/usr/bin/python3
# tests/run: args=--as root | --as root --warm | --as user
# tests/run: timeout=180
"""Programs find as many processors as they have, whole or in part, and not those of the host."""

import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit

HOST = len(os.sched_getaffinity(0))


def bounded():
    """Whether there is a limit at all: an ordinary user mostly has no control group for it."""
    layers = kit.emberbox("run", "-l", "bash", "-c", ":", "--json").json["meta"]["isolation"]
    return any(layer.startswith("cgroup:") and layer.endswith(", cpu") for layer in layers)


def printed(language, code, *options):
    r = kit.emberbox("run", "--quiet", "-l", language, *options, "-c", code, timeout=60)
    kit.equal((r.code, r.errtext), (0, ""), code)
    return r.text.split()


PYTHON = "import os; print(os.cpu_count(), len(os.sched_getaffinity(0)))"
BASH = "nproc; nproc --all; getconf _NPROCESSORS_ONLN; grep -c '^cpu[0-9]' /proc/stat"
C = """
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static cpu_set_t set;

static void *count(void *of) { pthread_getaffinity_np(pthread_self(), sizeof(set), &set); *(int *)of = CPU_COUNT(&set); return NULL; }

int main(void)
{
	int own, other;
	pthread_t thread;

	count(&own);
	pthread_create(&thread, NULL, count, &other);
	pthread_join(thread, NULL);
	printf("%d %d %ld\\n", own, other, sysconf(_SC_NPROCESSORS_ONLN));
	/* What the kernel refuses it refuses. */
	printf("%d ", syscall(SYS_sched_getaffinity, 0, 0, &set) < 0 ? errno : 0);
	printf("%d ", syscall(SYS_sched_getaffinity, 0, sizeof(set) - 1, &set) < 0 ? errno : 0);
	printf("%d ", syscall(SYS_sched_getaffinity, 0, sizeof(set), 8) < 0 ? errno : 0);
	printf("%d\\n", syscall(SYS_sched_getaffinity, 99999, sizeof(set), &set) < 0 ? errno : 0);
	/* Any of the host's can be chosen: the last. */
	count(&own);
	for (int i = 0; i < 1024; i++) {
		CPU_ZERO(&set);
		CPU_SET(i, &set);
		if (sched_setaffinity(0, sizeof(set), &set) == 0)
			own = i;
	}
	count(&other);
	printf("%d %d\\n", other, CPU_ISSET(own, &set));
	return 0;
}
"""


@kit.test(timeout=90)
def programs_see_their_cores():
    if not bounded():
        # Nothing is taken from it then.
        kit.equal(printed("python", PYTHON), [str(HOST)] * 2)
        return
    for options, want in (([], 1), (["--cpus", "2"], min(2, HOST)), (["--cpus", "0.5"], 1), (["--cpus", "1.2"], min(2, HOST)),
                          (["--cpus", "64"], min(64, HOST))):
        kit.equal(printed("python", PYTHON, *options), [str(want)] * 2, options)
        kit.equal(printed("bash", BASH, *options), [str(want)] * 4, options)
    kit.equal(printed("c", C), ["1", "1", "1", "22", "22", "14", "3", "1", "1"])


@kit.test(timeout=120)
def languages_see_their_cores():
    if not bounded():
        kit.skip("no delegated cgroup bounds them here")
    for language, tool, code in (
        ("go", "go", 'package main\nimport ("fmt"; "runtime")\nfunc main() { fmt.Println(runtime.NumCPU(), runtime.GOMAXPROCS(0)) }'),
        ("javascript", "node", "const os = require('os'); console.log(os.cpus().length, os.availableParallelism?.() ?? os.cpus().length)"),
        ("ruby", "ruby", "require 'etc'; puts Etc.nprocessors, Etc.nprocessors"),
        ("java", "java", "class Main { public static void main(String[] a) { int n = Runtime.getRuntime().availableProcessors();"
                         ' System.out.println(n + " " + n); } }'),
    ):
        if shutil.which(tool):
            kit.equal(printed(language, code), ["1", "1"], language)
            kit.equal(printed(language, code, "--cpus", "2"), [str(min(2, HOST))] * 2, language)


@kit.test
def tools_read_what_is_told_instead():
    """ps needs to know when the machine was started; what the processors do is nobody's business."""
    code = "ps -o lstart= -p $$ | grep -c 20; grep -c '^btime [1-9]' /proc/stat; (echo x > /proc/stat) 2>/dev/null || echo no"
    kit.equal(printed("bash", code), ["1", "1", "no"])
    if bounded():
        kit.equal(printed("bash", "head -1 /proc/stat"), ["cpu"] + ["0"] * 10)


@kit.test(timeout=60)
def whoever_asks_often_is_answered():
    """Beyond the first thousand answers come in turn; the box ends in time all the same."""
    code = "import os\nfor i in range(1100): n = len(os.sched_getaffinity(0))\nprint(n)"
    kit.equal(printed("python", code), ["1" if bounded() else str(HOST)])


kit.main()
