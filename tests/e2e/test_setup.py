#!/usr/bin/python3
"""tools/setup: what it lists, that it does nothing twice, and what an ordinary user is told."""
# tests/run: args=--as root | --as user

import os
import pty
import re
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit

GROUPS = ("build", "page", "run", "test", "bench", "fuzz", "lint", "deb", "coverage")


def setup(*words, path=None):
    """A copy is run: the tree may not be readable to the user."""
    with open(os.path.join(kit.REPO, "tools", "setup"), "rb") as file:
        copy = kit.write(os.path.join(kit.tmp(), "setup"), file.read(), 0o755)
    return kit.command([copy, *words], env={"PATH": path} if path else None)


def listed(*groups):
    r = setup("--list", *groups)
    kit.equal((r.code, r.errtext), (0, ""))
    return r.text.splitlines()


@kit.test
def every_group_has_packages():
    for group in GROUPS:
        names = listed(group)
        kit.true(names, f"{group} is empty")
        kit.equal(names, sorted(set(names)), group)
        for name in names:
            kit.matches(name, r"^(deb-test:[a-z]+|npm(-test)?:(@[a-z0-9-]+/)?[a-z0-9-]+@(npm:[a-z0-9-]+@)?[0-9]+\.[0-9]+\.[0-9]+(-alpha\.[0-9]+)?|[a-z0-9][a-z0-9.+-]+)$", group)
    kit.equal(listed("build", "run"), sorted({*listed("build"), *listed("run")}))


@kit.test
def languages_are_in_their_groups():
    run, test, bench = set(listed("run")), set(listed("test")), set(listed("bench"))
    kit.equal(run, {"python3", "bash", "curl"}, "what the demonstration needs beside the compiler")
    first = {"python3", "nodejs", "bash", "ruby", "golang-go", "gcc", "g++", "sqlite3", "postgresql"}
    kit.equal((first - bench, first - test), (set(), set()))
    kit.equal(run - test, set(), "in run, but not in test")
    second = {"rustc", "php-cli", "perl", "lua5.4", "default-jdk-headless", "r-base-core", "zsh", "dash"}
    kit.equal(second - test, set())
    of_npm = {name.rpartition("@")[0] for name in bench if name.startswith("npm:")}
    kit.equal(of_npm, {"npm:typescript", "npm:esbuild", "npm:@types/node"})
    python = os.path.basename(os.path.realpath("/usr/bin/python3"))
    kit.contains(test, f"lib{python}-testsuite")
    kit.equal({"libyaml-dev", "libpcre2-dev", "libmd-dev"} - set(listed("build")), set())


@kit.test
def emberbox_names_the_same_packages():
    """What `emberbox languages` tells to install is what tools/setup installs."""
    ours = {re.sub(r"^npm(?:-test)?:(.+?)(?:@npm:.*)?@.*", r"\1", name) for name in listed("test")}
    r = kit.emberbox("languages", "--json", timeout=60)
    for row in r.json:
        packages = row["install"].split(" install ", 1)[1].split()
        packages = {word for word in packages if not word.startswith("-")}
        kit.equal(packages - ours, set(), row["name"])
    kit.true(len(r.json) >= 18, f"only {len(r.json)} languages")


@kit.test
def an_unknown_group_is_refused():
    r = setup("tset")
    kit.equal(r.code, 2)
    kit.equal(r.errtext, f'tools/setup: unknown group "tset"; groups are: {" ".join(GROUPS)}\n')


@kit.test
def nothing_is_done_when_all_is_there():
    r = setup("build", "test")
    kit.equal((r.code, r.out, r.errtext), (0, b"", ""))


@kit.test(modes=("user",))
def an_ordinary_user_is_told_the_commands():
    """With a dpkg-query that knows of no package."""
    path = kit.tmp()
    kit.write(os.path.join(path, "dpkg-query"), "#!/bin/sh\nexit 0\n", 0o755)
    r = setup("lint", path=f"{path}:{kit.PATH}")
    kit.equal((r.code, r.out), (1, b""))
    missing = "tools/setup: packages are missing and only root can install them; run: sudo "
    kit.matches(r.errtext, rf"^{missing}\S+/setup lint\n")
    kit.contains(r.errtext, "\n  sudo apt-get install -y --no-install-recommends clang-format clang-tidy\n")
    kit.equal("npm" in r.errtext or "PostgreSQL" in r.errtext, False)
    r = setup("bench", path=f"{path}:{kit.PATH}")
    kit.matches(r.errtext, r"\n  sudo apt-get install .* postgresql python3 ruby sqlite3 util-linux\n")
    kit.contains(r.errtext, "PostgreSQL")


@kit.test
def help_names_every_target():
    r = kit.command(["make", "-C", kit.REPO, "--no-print-directory", "help"])
    kit.equal((r.code, r.errtext), (0, ""))
    with open(os.path.join(kit.REPO, "Makefile"), encoding="utf-8") as file:
        targets = re.search(r"^\.PHONY: (.*)", file.read(), re.M)[1].split()
    told = set(re.findall(r"^make ([a-z-]+)", r.text, re.M))
    kit.equal({*targets} - told - {"all", "asan"}, set(), "targets that are not told")
    kit.equal([line for line in r.text.splitlines() if len(line) > 80], [], "lines that a terminal wraps")


def until(fd, wanted, out=b""):
    """What a terminal shows, up to that; the test's alarm is the bound."""
    while wanted is None or wanted not in out:
        try:
            data = os.read(fd, 1 << 16)
        except OSError:
            data = b""
        if not data:
            kit.true(wanted is None, f"it ended before {wanted!r}: {out[-2000:]!r}")
            break
        out += data
    return out


@kit.test(modes=("root",), timeout=150)
def control_c_ends_the_demonstration_well():
    """Under make, which takes what ends by a signal for an error; and nothing is left in the temporary directory."""
    temporary, place, home = kit.tmp(), kit.tmp(), kit.tmp()
    kit.write(os.path.join(place, "Makefile"), f"run:\n\t@{kit.REPO}/tools/demo --serve {kit.built()}\n")
    pid, terminal = pty.fork()
    if pid == 0:
        env = {"HOME": home, "EMBERBOX_HOME": home, "EMBERBOX_LISTEN": "127.0.0.1:0", "TMPDIR": temporary}
        os.chdir(place)
        os.execve("/usr/bin/make", ["make", "run"], {**env, "PATH": kit.PATH, "TERM": "xterm"})
    try:
        out = until(terminal, b"Ctrl-C ends it.")
        for wanted in (b"hello from C", b"refused: ENETUNREACH", b'"stdout":"42\\n"', b"/#token=ebt_"):
            kit.true(wanted in out, f"{wanted!r} is not in {out[-2000:]!r}")
        os.write(terminal, b"\x03")
        out = until(terminal, None, out)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        pid = None
    finally:
        os.close(terminal)  # hangs up: who is still there ends
        if pid:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    kit.equal((status, b"make:" in out), (0, False), repr(out[-500:]))
    kit.equal(os.listdir(temporary), [])


kit.main()
