#!/usr/bin/python3
"""Control groups on a kernel with a pure v2 tree, by booting one.

tests/run: timeout=120

tests/kern/test_cgroup runs there as root, as an ordinary user with a group of
its own, with and without company in it, and as one without any. Its lines are
passed on, each with the case before it.
"""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
REPO = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.realpath(os.path.join(REPO, os.environ.get("EB_BUILD") or "build"))
TREE = "/sys/fs/cgroup"

# systemd's delegation in small: a slice and a scope in it, given to a user by their directory and two files.
INSIDE = r"""
give() { chown 54321:54321 $1 $1/cgroup.procs $1/cgroup.subtree_control $1/cgroup.threads; }
make_case() { # NAME: a slice with a scope in it
	mkdir -p /sys/fs/cgroup/$1.slice/scope
	echo "+memory +pids +cpu" >/sys/fs/cgroup/$1.slice/cgroup.subtree_control
}
as_user='setpriv --reuid=54321 --regid=54321 --clear-groups --'
test=$1

echo "case root"; $test

echo "+memory +pids +cpu" >/sys/fs/cgroup/cgroup.subtree_control

# The group holds the test alone: it moves itself and divides the rest.
make_case alone; give /sys/fs/cgroup/alone.slice/scope
echo "case alone"
sh -c 'echo $$ >/sys/fs/cgroup/alone.slice/scope/cgroup.procs; exec "$@"' sh $as_user $test

# Not alone, but the group above is the user's too, as in systemd's user@.service.
make_case shared; give /sys/fs/cgroup/shared.slice/scope; give /sys/fs/cgroup/shared.slice
echo "case shared"
sh -c 'echo $$ >/sys/fs/cgroup/shared.slice/scope/cgroup.procs; "$@"; :' sh $as_user $test

# Not alone, and nothing above.
make_case crowded; give /sys/fs/cgroup/crowded.slice/scope
echo "case crowded"
sh -c 'echo $$ >/sys/fs/cgroup/crowded.slice/scope/cgroup.procs; "$@"; :' sh $as_user $test

echo "case user"; $as_user $test

# Root of a container: its part of the tree is all of the tree, and holds the container's first process.
make_case container
echo "case container"
sh -c 'echo $$ >/sys/fs/cgroup/container.slice/scope/cgroup.procs; exec "$@"' sh \
	unshare -C -m sh -c 'umount /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup; exec "$@"' sh $test

echo "case end"
find /sys/fs/cgroup -name 'box-*'
"""

# What each case must say about where the groups are made.
WANTED = {
    "root": f"# version 2: {TREE}/emberbox",
    "alone": f"# version 2: {TREE}/alone.slice/scope",
    "shared": f"# version 2: {TREE}/shared.slice/emberbox",
    "crowded": "systemd-run --user --scope -p Delegate=yes",
    "user": "systemd-run --user --scope -p Delegate=yes",
    "container": f"# version 2: {TREE}",
}


def main():
    test = os.path.join(BUILD, "tests/kern/test_cgroup")
    if not os.path.exists(test):
        print(f"not ok v2: {test} is not built")
        return 1
    run = subprocess.run([os.path.join(HERE, "boot"), "--timeout", "100", "--share", BUILD, "sh", "-c", INSIDE, "sh", test],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=115, check=False)
    if run.returncode == 77:
        print("skip v2: user-mode-linux is not installed")
        return 0
    failed = 0
    cases = {}
    case = None
    for line in run.stdout.splitlines():
        if line.startswith("case "):
            case = line[5:]
            cases[case] = []
        elif case:
            cases[case].append(line)
    for name, want in WANTED.items():
        lines = cases.get(name, [])
        # In the cases without a site the test skips itself: that is what is wanted, not a gap.
        for line in lines:
            word = line.split(" ", 1)[0]
            if word == "ok":
                print(f"ok v2_{name}/{line[3:]}")
            elif line.startswith("not ok "):
                failed += 1
                print(f"not ok v2_{name}/{line[7:]}")
        said = [line for line in lines if line.startswith(("# version", "skip "))]
        found = said and (said[0] == want if want.startswith("#") else want in said[0])
        if found:
            print(f"ok v2_{name}/site")
        else:
            failed += 1
            print(f"not ok v2_{name}/site: it says {said!r}, not {want!r}; status {run.returncode}, "
                  f"stderr {run.stderr[-300:]!r}")
    left = cases.get("end")
    if left == []:
        print("ok v2_nothing_is_left")
    else:
        failed += 1
        print(f"not ok v2_nothing_is_left: {left!r}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
