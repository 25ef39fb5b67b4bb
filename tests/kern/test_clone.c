/* clone_into: new namespaces, a pidfd, a group; also where clone3 is missing. */
// clang-format off
/*
 * tests/run: args=--as root | --as user | --as userns | --as root --no clone3 | --as user --no clone3 | --as userns --no clone3
 */
// clang-format on
#include "../check.h"
#include "as.h"
#include "enosys.h"

#include "kernel/clone.h"

#include <linux/magic.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>

static enum as_mode mode;

static const struct {
	const char *name;
	uint64_t flag;
} kinds[] = {
	{ "user", CLONE_NEWUSER }, { "pid", CLONE_NEWPID }, { "mnt", CLONE_NEWNS },        { "ipc", CLONE_NEWIPC },
	{ "uts", CLONE_NEWUTS },   { "net", CLONE_NEWNET }, { "cgroup", CLONE_NEWCGROUP },
};
enum {
	KINDS = sizeof(kinds) / sizeof(kinds[0])
};

static ino_t ns_number(const char *who, const char *name)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%s/ns/%s", who, name);
	return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* A child in the namespaces that ends with `code` when `gate` is closed. */
static pid_t held_child(uint64_t namespaces, int *pidfd, int *gate, int code)
{
	int ends[2];
	char byte;
	pid_t pid;

	*pidfd = *gate = -1;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	fflush(stdout);
	pid = clone_into(namespaces, -1, pidfd);
	if (pid == 0) {
		close(ends[1]);
		_exit(read(ends[0], &byte, 1) == 0 ? code + (getpid() == 1) : 99);
	}
	close(ends[0]);
	*gate = ends[1];
	return pid;
}

static void check_namespaces(uint64_t flags)
{
	int pidfd, gate, status = -1;
	pid_t pid = held_child(flags, &pidfd, &gate, 40);
	char who[16];

	CHECK(pid > 0);
	if (pid <= 0)
		return;
	snprintf(who, sizeof(who), "%d", (int)pid);
	for (size_t i = 0; i < KINDS; i++) {
		ino_t ours = ns_number("self", kinds[i].name), theirs = ns_number(who, kinds[i].name);

		if (ours == 0 || theirs == 0 || (ours != theirs) != ((flags & kinds[i].flag) != 0))
			check_fail("%s namespace: %lu outside, %lu inside, flags 0x%llx", kinds[i].name,
				   (unsigned long)ours, (unsigned long)theirs, (unsigned long long)flags);
	}
	close(gate);
	close(pidfd);
	CHECK_INT(waitpid(pid, &status, __WALL), pid);
	CHECK_INT(status, W_EXITCODE(flags & CLONE_NEWPID ? 41 : 40, 0));
}

static void namespaces_are_new(void)
{
	check_namespaces(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS);
}

static void only_those_asked_for(void)
{
	check_namespaces(0);
	check_namespaces(CLONE_NEWUSER);
	check_namespaces(CLONE_NEWUSER | CLONE_NEWNET);
}

static void without_a_user_namespace(void)
{
	int pidfd = -1;

	if (mode != AS_USER) {
		check_namespaces(CLONE_NEWPID | CLONE_NEWNS);
		return;
	}
	CHECK_ERRNO(clone_into(CLONE_NEWNS, -1, &pidfd), EPERM);
	CHECK_INT(pidfd, -1);
	check_namespaces(CLONE_NEWUSER | CLONE_NEWNS);
}

static void impossible_flags(void)
{
	int pidfd = -1;

	CHECK_ERRNO(clone_into(CLONE_NEWUSER | CLONE_FS, -1, &pidfd), EINVAL);
	CHECK_INT(pidfd, -1);
}

static void pidfd_is_the_childs(void)
{
	struct pollfd end;
	siginfo_t info = { 0 };
	int pidfd, gate;
	pid_t pid = held_child(CLONE_NEWUSER | CLONE_NEWPID, &pidfd, &gate, 6);

	CHECK(pid > 0 && pidfd >= 0);
	CHECK_INT(fcntl(pidfd, F_GETFD), FD_CLOEXEC);
	end = (struct pollfd){ .fd = pidfd, .events = POLLIN };
	CHECK_INT(poll(&end, 1, 0), 0);
	CHECK_INT(syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0), 0);
	close(gate);
	CHECK_INT(poll(&end, 1, 20000), 1);
	CHECK_INT(waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | __WALL), 0);
	CHECK_INT(info.si_pid, pid);
	CHECK_INT(info.si_code, CLD_EXITED);
	CHECK_INT(info.si_status, 7);
	CHECK_ERRNO(syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0), ESRCH);
	close(pidfd);
}

static void pidfd_kills(void)
{
	int pidfd, gate, status = -1;
	pid_t pid = held_child(CLONE_NEWUSER | CLONE_NEWPID, &pidfd, &gate, 0);

	CHECK_INT(syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0), 0);
	CHECK_INT(waitpid(pid, &status, __WALL), pid);
	CHECK_INT(status, W_EXITCODE(0, SIGKILL));
	close(gate);
	close(pidfd);
}

/* Whether the end of such a child is told by SIGCHLD. */
static bool tells_its_end(uint64_t flags)
{
	int pidfd, gate, status = -1;
	sigset_t child, before, pending;
	pid_t pid;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &before);
	pid = held_child(flags, &pidfd, &gate, 0);
	close(gate);
	CHECK_INT(waitpid(pid, &status, __WALL), pid);
	close(pidfd);
	sigpending(&pending);
	if (sigismember(&pending, SIGCHLD))
		sigwaitinfo(&child, NULL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return sigismember(&pending, SIGCHLD);
}

static void sends_a_signal_if_asked(void)
{
	CHECK(!tells_its_end(CLONE_NEWUSER | CLONE_NEWPID));
	CHECK(tells_its_end(CLONE_NEWUSER | CLONE_NEWPID | SIGCHLD));
}

static void a_directory_is_no_group(void)
{
	int pidfd = -1, fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	/* Outside the group it must not run, whatever the kernel lacks. */
	CHECK_ERRNO(clone_into(0, fd, &pidfd), enosys_has("clone3") ? ENOSYS : EBADF);
	CHECK_INT(pidfd, -1);
	close(fd);
}

static const char *v2_mount(void)
{
	static const char *const places[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	struct statfs st;

	for (size_t i = 0; i < 2; i++)
		if (statfs(places[i], &st) == 0 && st.f_type == CGROUP2_SUPER_MAGIC)
			return places[i];
	return NULL;
}

static char group[256]; /* a fresh v2 group */

static void straight_into_a_group(void)
{
	int fd = open(group, O_RDONLY | O_DIRECTORY | O_CLOEXEC), pidfd = -1, status = -1, ends[2];
	char text[4096] = "", want[128];
	ssize_t n;
	pid_t pid;

	CHECK(fd >= 0);
	CHECK_INT(pipe(ends), 0);
	fflush(stdout);
	if (enosys_has("clone3")) {
		CHECK_ERRNO(clone_into(0, fd, &pidfd), ENOSYS);
	} else {
		pid = clone_into(0, fd, &pidfd);
		if (pid == 0) {
			int file = open("/proc/self/cgroup", O_RDONLY);

			n = read(file, text, sizeof(text));
			_exit(n > 0 && write(ends[1], text, (size_t)n) == n ? 0 : 1);
		}
		CHECK_INT(waitpid(pid, &status, __WALL), pid);
		CHECK_INT(status, 0);
		n = read(ends[0], text, sizeof(text) - 1);
		CHECK(n > 0);
		snprintf(want, sizeof(want), "%s\n", strrchr(group, '/'));
		CHECK(strstr(text, "0::/") && strstr(strstr(text, "0::/"), want));
		close(pidfd);
	}
	close(ends[0]);
	close(ends[1]);
	close(fd);
}

int main(int argc, char **argv)
{
	const char *no = enosys_argument(&argc, argv);

	mode = as_enter(argc, argv);
	enosys_enter(no);
	RUN(namespaces_are_new);
	RUN(only_those_asked_for);
	RUN(without_a_user_namespace);
	RUN(impossible_flags);
	RUN(pidfd_is_the_childs);
	RUN(pidfd_kills);
	RUN(sends_a_signal_if_asked);
	RUN(a_directory_is_no_group);
	if (mode == AS_ROOT) {
		snprintf(group, sizeof(group), "%s/kern-clone-%d", v2_mount() ?: "/nowhere", (int)getpid());
		if (mkdir(group, 0755) == 0) {
			RUN(straight_into_a_group);
			rmdir(group);
		} else {
			check_skip("straight_into_a_group", "no delegated cgroup");
		}
	}
	return check_failures ? 1 : 0;
}
