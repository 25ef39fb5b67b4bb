#!/usr/bin/python3
"""Control groups on a kernel with a pure v2 tree, by booting one.

tests/run: timeout=120

tests/kern/test_cgroup runs there as root, in a systemd service of root's that
was or was not given its group, as an ordinary user with a group of its own,
with and without company in it, and as one without any; and on the v1
hierarchies of the same kernel, before and after root has done what the program
asked for. Its lines are passed on, each with the case before it.
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
mark() { # GROUP NAME VALUE: as systemd marks what it delegates
	python3 -c 'import os, sys; os.setxattr(sys.argv[1], sys.argv[2], sys.argv[3].encode())' "$@"
}
enter() { # GROUP COMMAND...: the command alone in the group
	sh -c 'echo $$ >/sys/fs/cgroup/$0/cgroup.procs; exec "$@"' "$@"
}
join() { # GROUP COMMAND...: the command beside a shell
	sh -c 'echo $$ >/sys/fs/cgroup/$0/cgroup.procs; "$@"; :' "$@"
}
as_user='setpriv --reuid=54321 --regid=54321 --clear-groups --'
# Where an ordinary user may run it, whatever the permissions of the directories above the build are.
test=/tmp/test_cgroup
cp "$1" $test
# Where the groups are made, and one with members in it: the rest depends on who one is, not on where.
quick="$test --site"

# The v1 hierarchies of this kernel first: a controller that v2 has had does not come back at once.
umount /sys/fs/cgroup
mount -t tmpfs none /sys/fs/cgroup
for name in memory pids cpu,cpuacct; do
	mkdir /sys/fs/cgroup/$name
	mount -t cgroup -o $name none /sys/fs/cgroup/$name
done
echo "case v1_user"; $as_user $quick
echo "case v1_userns"; $as_user unshare -r $quick
# What it says, by root itself: sudo need not be there.
$as_user $quick | sed -n 's/.* with: sudo //p' >/tmp/command
sh /tmp/command
echo "case v1_given"; $as_user $quick
mount -t tmpfs none /sys/fs/cgroup
echo "case v1_hidden"; $quick
umount /sys/fs/cgroup
for name in memory pids cpu,cpuacct; do
	rmdir /sys/fs/cgroup/$name/emberbox
	umount /sys/fs/cgroup/$name
done
umount /sys/fs/cgroup
echo "case none"; $quick

mount -t cgroup2 none /sys/fs/cgroup
# A hierarchy that is gone gives its controllers back a moment later.
for _ in 1 2 3 4 5 6 7 8 9 10; do
	grep -q "cpu.*memory.*pids" /sys/fs/cgroup/cgroup.controllers && break
	sleep 0.2
done
echo "case root"; $test

echo "+memory +pids +cpu" >/sys/fs/cgroup/cgroup.subtree_control

# A service of root's: without Delegate=yes; with it; beside others; and beside others with DelegateSubgroup=.
make_case service
echo "case root_service"; enter service.slice/scope $quick
mark /sys/fs/cgroup/service.slice/scope user.delegate 0
echo "case root_marked_no"; enter service.slice/scope $quick
mark /sys/fs/cgroup/service.slice/scope user.delegate 1
echo "case root_delegated"; enter service.slice/scope $quick
make_case crew; mark /sys/fs/cgroup/crew.slice/scope trusted.delegate 1
echo "case root_crowded"; join crew.slice/scope $quick
mkdir /sys/fs/cgroup/crew.slice/scope/main
echo "case root_subgroup"; join crew.slice/scope/main $quick
# Not above what was delegated, though root could.
make_case above; mark /sys/fs/cgroup/above.slice/scope user.delegate 1
echo "case root_above"; join above.slice/scope $quick
cat /sys/fs/cgroup/above.slice/cgroup.subtree_control; [ ! -e /sys/fs/cgroup/above.slice/emberbox ] || echo made

# The group holds the test alone: it moves itself and divides the rest.
make_case alone; give /sys/fs/cgroup/alone.slice/scope
echo "case alone"; enter alone.slice/scope $as_user $test

# Not alone, but the group above is the user's too, as in systemd's user@.service.
make_case shared; give /sys/fs/cgroup/shared.slice/scope; give /sys/fs/cgroup/shared.slice
echo "case shared"; join shared.slice/scope $as_user $quick

# Not alone, and nothing above.
make_case crowded; give /sys/fs/cgroup/crowded.slice/scope
echo "case crowded"; join crowded.slice/scope $as_user $quick

echo "case user"; $as_user $quick
echo "case userns"; join crowded.slice/scope $as_user unshare -r $quick

make_case mapped; give /sys/fs/cgroup/mapped.slice/scope
echo "case userns_alone"; enter mapped.slice/scope $as_user unshare -r $quick

# Root of a container: its part of the tree is all of the tree, and holds the container's first process.
make_case container
own_tree='umount /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup'
echo "case container"; enter container.slice/scope unshare -C -m sh -c "$own_tree; exec \"\$@\"" sh $quick
make_case full
echo "case container_full"; enter full.slice/scope unshare -C -m sh -c "$own_tree; \"\$@\"; :" sh $quick
echo "case container_read_only"
enter full.slice/scope unshare -C -m sh -c "$own_tree; mount -o remount,bind,ro /sys/fs/cgroup; exec \"\$@\"" sh $quick

mount -t tmpfs none /sys/fs/cgroup
echo "case hidden"; $quick
umount /sys/fs/cgroup

echo "case end"
find /sys/fs/cgroup -name 'box-*'
"""

SCOPE = "with: systemd-run --user --scope -p Delegate=yes emberbox run ..."

# What each case must say about where the groups are made, or how it can be had.
WANTED = {
    "v1_user": f"The caller may not create control groups under {TREE}/memory; root can delegate one with: sudo install -d -o 54321 "
               f"{TREE}/memory/emberbox {TREE}/pids/emberbox {TREE}/cpu,cpuacct/emberbox",
    "v1_userns": f"root can delegate one with: sudo install -d -o 54321 {TREE}/memory/emberbox",
    "v1_given": f"# version 1: {TREE}/memory/emberbox {TREE}/pids/emberbox {TREE}/cpu,cpuacct/emberbox",
    "v1_hidden": f"Another mount covers the control group file system at {TREE}/memory; mount it with: "
                 f"mkdir -p {TREE}/memory && mount -t cgroup -o memory none {TREE}/memory",
    "none": "No control group file system is mounted; mount it with: mount -t cgroup2 none /sys/fs/cgroup",
    "root": f"# version 2: {TREE}/emberbox",
    "root_service": f"# version 2: {TREE}/emberbox",
    "root_marked_no": f"# version 2: {TREE}/emberbox",
    "root_delegated": f"# version 2: {TREE}/service.slice/scope",
    "root_crowded": f"# version 2: {TREE}/emberbox",
    "root_subgroup": f"# version 2: {TREE}/crew.slice/scope/emberbox",
    "root_above": f"# version 2: {TREE}/emberbox",
    "alone": f"# version 2: {TREE}/alone.slice/scope",
    "shared": f"# version 2: {TREE}/shared.slice/emberbox",
    "crowded": f"The control group {TREE}/crowded.slice/scope is not delegated to the caller; start it in a scope of its "
               f"own {SCOPE}",
    "user": SCOPE,
    "userns": SCOPE,
    "userns_alone": f"# version 2: {TREE}/mapped.slice/scope",
    "container": f"# version 2: {TREE}",
    "container_full": f"The control group {TREE} holds other processes and cannot be divided; move them into one below it with: ",
    "container_read_only": f"The control groups under {TREE} are read-only; make them writable with: mount -o remount,rw {TREE}",
    "hidden": f"Another mount covers the control group file system at {TREE}; mount it with: "
              f"mount -t cgroup2 none {TREE}",
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
    if cases.get("root_above", [])[-1:] == ["cpu memory pids"]:
        print("ok v2_root_above/nothing_is_made_there")
    else:
        failed += 1
        print(f"not ok v2_root_above/nothing_is_made_there: {cases.get('root_above')!r}")
    left = cases.get("end")
    if left == []:
        print("ok v2_nothing_is_left")
    else:
        failed += 1
        print(f"not ok v2_nothing_is_left: {left!r}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
