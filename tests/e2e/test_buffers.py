#!/usr/bin/python3
# tests/run: args=--as root --warm | --as user
# tests/run: nightly=--as root
# tests/run: timeout=180
"""Output waits in the program's buffers as with any pipe, and is seen all the same."""

import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit

HEAD = "#define _GNU_SOURCE\n#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <sys/mman.h>\n#include <sys/wait.h>\n#include <unistd.h>\n"


def c(code):
    return HEAD + "int main(void) { " + code + " return 0; }"


def run(language, code, *args, **options):
    return kit.emberbox("run", "-l", language, "-c", code, *args, timeout=60, **options)


def bare(code, *command):
    return subprocess.run(
        [*(command or ["/usr/bin/python3", "-c"]), code], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, env={}, check=False,
    ).stdout


# Interpreters whose buffers have a form of their own; what each needs to be asked with its code as an argument.
OTHERS = {"ruby": ["/usr/bin/ruby", "-e"], "perl": ["/usr/bin/perl", "-e"], "lua": ["/usr/bin/lua5.4", "-e"]}


def others(cases):
    return [case for case in cases if os.path.exists(OTHERS[case[0]][0])]


@kit.test(timeout=60)
def what_a_pipe_does():
    """The bytes of a program that nobody watches are those that it writes to any pipe."""
    for code in (
        "import os; print('x'); os.fork() and os.wait()",
        "import os; print('x'); os._exit(0)",
        "import os; print('x'); os.write(1, b'y\\n')",
        "import os; print('x'); os.execv('/bin/echo', ['echo', 'y'])",
        "import subprocess; print('x'); subprocess.run(['echo', 'y'])",
        "import os; print('x', flush=True); os.fork() and os.wait()",
        "import sys; print('x'); sys.stdout.reconfigure(line_buffering=True); print('y'); __import__('os')._exit(0)",
    ):
        kit.equal(run("python", code, "--json").json["stdout"].encode(), bare(code), code)
    for language, code in others((
        ("ruby", "puts 'x'; fork { }; Process.wait"),
        ("ruby", "puts 'x'; exit!"),
        ("ruby", "puts 'x'; $stdout.syswrite('y') rescue p $!.class"),
        ("ruby", "puts 'x'; system('echo y'); exec('echo z')"),
        ("ruby", "puts 'x'; STDERR.puts 'e'; p $stdout.sync; $stdout.sync = true; puts 'y'; exit!"),
        ("ruby", "$stdout.reopen('/dev/null'); puts 'x'; STDOUT.puts 'y'"),
        ("perl", 'use POSIX; print "x\\n"; fork; '),
        ("perl", 'use POSIX; print "x\\n"; POSIX::_exit(0);'),
        ("perl", 'print "x\\n"; syswrite(STDOUT, "y\\n"); print "$|\\n"; $| = 1; print "z\\n"; kill 9, $$;'),
        ("perl", 'binmode STDOUT, ":encoding(UTF-8)"; print "\\x{e4}\\n"; system("echo y");'),
        ("perl", 'print "x\\n"; close STDOUT; open STDOUT, ">", "/dev/null"; print "y\\n";'),
        ("lua", 'io.write("x\\n"); os.execute("echo y"); io.write("z")'),
        ("lua", 'io.write("x\\n"); os.exit(0, false)'),
    )):
        kit.equal(run(language, code, "--json").json["stdout"].encode(), bare(code, *OTHERS[language]), code)
    kit.equal(run("c", c('puts("x"); if (fork()) wait(NULL);'), "--json").json["stdout"], "x\nx\n")
    kit.equal(run("c", c('puts("x"); _exit(0);'), "--json").json["stdout"], "")


@kit.test(timeout=60)
def a_buffer_is_written_when_it_is_full():
    """Of 20 000 lines, which are more than 100 KiB, by what the kernel counts: as few writes as a bare one needs."""
    for language, code in (
        ("python", "import sys\nfor i in range(20000): print(i)\nsys.stderr.write(open('/proc/self/io').read())"),
        ("c", c('FILE *f = fopen("/proc/self/io", "r"); char t[999]; for (int i = 0; i < 20000; i++) printf("%d\\n", i);'
                " fwrite(t, 1, fread(t, 1, sizeof t, f), stderr);")),
        *others((
            ("ruby", "20000.times { |i| puts i }; STDERR.write File.read('/proc/self/io')"),
            ("perl", 'for (my $i = 0; $i < 20000; $i++) { print "$i\\n"; } open(F, "/proc/self/io"); print STDERR <F>;'),
            ("lua", 'for i = 1, 20000 do io.write(i, "\\n") end io.stderr:write(io.open("/proc/self/io"):read("a"))'),
        )),
    ):
        r = run(language, code, "--max-output", "1m")
        writes = int(r.errtext.split("syscw: ")[1].split()[0])
        kit.true(r.text.count("\n") == 20000 and writes < 100, f"{language}: {writes} writes")


@kit.test(timeout=60)
def a_time_limit_loses_nothing():
    long = "é" * 3000 + "€" * 3000
    for language, code, want in (
        ("python", "import time; print('one'); print('two', end=''); time.sleep(60)", "one\ntwo"),
        ("python", f"print('one'); print('{long}')\nwhile True: pass", f"one\n{long}\n"),
        ("python", "import sys, time; sys.stdout.buffer.write(b'bytes'); print('text'); time.sleep(60)", "bytestext\n"),
        ("python", "for i in range(300): print(i)\nimport time; time.sleep(60)", "".join(f"{i}\n" for i in range(300))),
        ("python", "import time; print('same', flush=True); print('same'); time.sleep(60)", "same\nsame\n"),
        *others((
            ("ruby", "puts 'one'; print 'two'; sleep", "one\ntwo"),
            ("ruby", f"puts 'one', '{long}'; loop {{ }}", f"one\n{long}\n"),
            ("ruby", "Thread.new { loop { sleep 0.001 } }; 300.times { |i| puts i }; sleep", "".join(f"{i}\n" for i in range(300))),
            ("perl", 'print "one\\ntwo"; sleep 60', "one\ntwo"),
            ("perl", f'print "one\\n{long}\\n"; 1 while 1', f"one\n{long}\n"),
            ("perl", 'print "a"; binmode STDOUT, ":encoding(UTF-8)"; print "\\x{e4}\\x{20ac}"; sleep 60', "aä€"),
            ("perl", 'binmode STDOUT, ":crlf"; print "a\\n"; sleep 60', "a\r\n"),
            ("lua", 'io.write("one\\n", "two"); while true do end', "one\ntwo"),
        )),
        ("c", c('puts("one"); printf("two"); for (;;) pause();'), "one\ntwo"),
        ("c", c('puts("one"); for (;;) ;'), "one\n"),
    ):
        j = run(language, code, "--json", "--timeout", "1.5").json
        kit.equal((j["status"], j["stdout"]), ("timeout", want), code[:80])


@kit.test(timeout=60)
def what_children_hold_back_is_seen_once():
    """What a child has from its parent is the parent's."""
    code = "import os, time\nprint('start')\nfor i in range(2):\n    if os.fork() == 0:\n        print('child', i)\n        break\ntime.sleep(60)"
    j = run("python", code, "--json", "--timeout", "1.5").json
    kit.equal((j["status"], sorted(j["stdout"].split("\n"))), ("timeout", ["", "child 0", "child 1", "start"]))


@kit.test(timeout=60)
def a_memory_limit_loses_nothing():
    # More than half of it for a moment, so that the supervisor knows that it may be short; the rest at once.
    code = "import time\nprint('before')\nx = b'x' * (40 << 20)\ntime.sleep(1)\ny = [x + b'y' for i in range(9)]"
    j = run("python", code, "--json", "--memory", "64m").json
    kit.equal((j["status"], j["stdout"]), ("out_of_memory", "before\n"))
    for language, code in others((
        ("ruby", "puts 'before'; x = 'x' * (40 << 20); sleep 1; y = (0..9).map { |i| x + i.to_s }"),
        ("perl", 'print "before\\n"; my $x = "x" x (40 << 20); sleep 1; my @y = map { $x . $_ } 0..9;'),
    )):
        j = run(language, code, "--json", "--memory", "64m").json
        kit.equal((j["status"], j["stdout"]), ("out_of_memory", "before\n"), code)


@kit.test(timeout=60)
def what_waits_is_shown_meanwhile():
    """A line comes long before the program ends, and is not shown again when it does."""
    for language, code in (
        ("python", "import time; print('working'); time.sleep(60)"),
        ("python", "print('working')\nwhile True: pass"),
        ("c", c('puts("working"); sleep(60);')),
        *others((("ruby", "puts 'working'; sleep"), ("perl", 'print "working\\n"; sleep 60'), ("lua", 'io.write("working\\n"); while true do end'))),
    ):
        process = kit.start([kit.built(), "run", "-l", language, "-c", code])
        kit.equal(process.stdout.readline(), b"working\n", code)
        os.kill(process.pid, signal.SIGTERM)
        r = kit.finish(process)
        kit.equal((r.code, r.out), (143, b""), code)
    code = "import time\nfor i in range(4):\n    print('line', i, flush=i == 1)\n    print('the same')\n    time.sleep(0.15)"
    kit.equal(run("python", code).text, "".join(f"line {i}\nthe same\n" for i in range(4)))
    code = "import os, time\nprint('mine')\ntime.sleep(0.3)\nos.write(1, b'other\\nmi')\nprint('more')"
    # Whoever is slow to look finds the order of a pipe.
    kit.true(run("python", code).text in ("mine\nother\nmimore\n", "other\nmimine\nmore\n"), "parts are lost or doubled")


@kit.test(timeout=60)
def who_types_sees_each_line():
    """Where input is streamed, lines go out as they are printed: what a later _exit() would lose is there."""
    process = kit.start([kit.built(), "run", "-l", "python", "-c", "import os; print('asked'); input(); os._exit(0)"], stdin=subprocess.PIPE)
    kit.equal(process.stdout.readline(), b"asked\n")
    r = kit.finish(process, b"\n")
    kit.equal((r.code, r.errtext), (0, ""))
    for language, code in others((
        ("ruby", "puts 'asked'; gets; exit!(true)"),
        ("perl", 'use POSIX; print "asked\\n"; <STDIN>; POSIX::_exit(0);'),
    )):
        process = kit.start([kit.built(), "run", "-l", language, "-c", code], stdin=subprocess.PIPE)
        kit.equal(process.stdout.readline(), b"asked\n", code)
        kit.equal(kit.finish(process, b"\n").code, 0, code)
    r = run("c", c('puts("asked"); getchar(); _exit(0);'), stdin=b"x")
    kit.equal((r.code, r.text), (0, "asked\n"), r.errtext)


# Each overwrites what the supervisor looks for; what it then shows is bounded, and the run ends in time.
LIES = (
    "n[0] = 0x6563697465626d45; n[1] = 1; n[3] = ~0ull;",
    "n[0] = 0x6563697465626d45; n[1] = 1; n[3] = (uintptr_t)file; file[4] = 1; file[5] = ~0ull; ((int *)file)[28] = 1;",
    "n[0] = 0x6563697465626d45; n[1] = 1; n[3] = (uintptr_t)file; file[4] = (uintptr_t)zero; file[5] = file[4] + 65536; ((int *)file)[28] = 1;",
    "n[0] = 0x6563697465626d45; n[1] = 2 | 100ull << 60; n[2] = ~0ull; n[3] = n[5] = (uintptr_t)file;",
    # A list of itself, of strings without end, and of one that is as long as there is room.
    "n[0] = 0x6563697465626d45; n[1] = 2; n[3] = n[5] = (uintptr_t)list; n[9] = list[1] = n[4] = n[6] = 7; list[2] = 8192; list[3] = (uintptr_t)zero;",
    # Ruby's: before the buffer, more than there is, another descriptor. n[2]: where that stands.
    "n[0] = 0x6563697465626d45; n[1] = 3; n[2] = 24ull << 32; n[3] = (uintptr_t)file; ((int *)file)[6] = 1; file[0] = (uintptr_t)zero; ((int *)file)[2] = -4096; ((int *)file)[3] = 65536;",
    "n[0] = 0x6563697465626d45; n[1] = 3; n[2] = 24ull << 32; n[3] = (uintptr_t)file; ((int *)file)[6] = 1; file[0] = ~0ull - 4; ((int *)file)[3] = 0x7fffffff;",
    # Perl's: a layer above itself, and one that holds more than there is.
    "n[0] = 0x6563697465626d45; n[1] = 4; n[3] = (uintptr_t)list; list[0] = (uintptr_t)file; file[0] = (uintptr_t)file; file[1] = (uintptr_t)(list + 8); list[9] = (uintptr_t)\"perlio\\0\"; file[2] = 0x20000; file[4] = 1; file[6] = ~0ull;",
    "n[0] = 0x6563697465626d45; n[1] = 4; n[3] = (uintptr_t)list; list[0] = (uintptr_t)file; file[0] = (uintptr_t)(file + 20); file[21] = (uintptr_t)(list + 16); list[17] = (uintptr_t)\"unix\\0\\0\\0\"; file[24] = 1;"
    " file[1] = (uintptr_t)(list + 8); list[9] = (uintptr_t)\"perlio\\0\"; file[2] = 0x20000; file[4] = (uintptr_t)zero; file[6] = file[4] + (1 << 20);",
    "n[0] = 0x6563697465626d45; n[1] = 2 | 8ull << 32; n[3] = n[5] = (uintptr_t)file; n[7] = 9; file[1] = (uintptr_t)list; file[2] = 9; list[1] = 9; list[2] = ~0ull;",
)


@kit.test(timeout=90)
def lies_about_buffers():
    start = (
        "uint64_t *n = (void *)0x3e00000000, *list = calloc(99, 8), *file = calloc(99, 8); char *zero = calloc(1, 1 << 17);"
        "mmap(n, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0); (void)zero; (void)list; (void)file;"
    )
    for lie in LIES:
        j = run("c", c(start + lie + " for (;;) pause();"), "--json", "--timeout", "0.5").json
        kit.equal(j["status"], "timeout", lie)
        kit.true(j["stdout_bytes"] <= 65536, f"{j['stdout_bytes']} bytes: {lie}")


kit.main()
