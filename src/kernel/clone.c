#include "kernel/clone.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Blocks all signals, including the two that the C library reserves. */
static void signal_mask(const uint64_t *set, uint64_t *before)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, set, before, sizeof(*set));
}

pid_t clone_into(uint64_t flags, int cgroup_fd, int *pidfd)
{
	struct clone_args args = {
		.flags = (flags & ~(uint64_t)CSIGNAL) | CLONE_PIDFD | (cgroup_fd >= 0 ? CLONE_INTO_CGROUP : 0),
		.exit_signal = flags & CSIGNAL,
		.pidfd = (uint64_t)(uintptr_t)pidfd,
		.cgroup = cgroup_fd >= 0 ? (uint64_t)cgroup_fd : 0,
	};
	const uint64_t all = UINT64_MAX;
	uint64_t before;
	long pid;

	signal_mask(&all, &before);
	pid = syscall(SYS_clone3, &args, sizeof(args));
	/* The raw clone takes the address of the pidfd in the argument that threads use for their parent's tid. */
	if (pid < 0 && errno == ENOSYS && cgroup_fd < 0)
		pid = syscall(SYS_clone, flags | CLONE_PIDFD, NULL, pidfd, NULL, NULL);
	if (pid == 0)
		return 0;
	/* The kernel writes the descriptor's number before the last step that can fail. After a failure, closing it
	 * could close a descriptor of another thread. */
	if (pid < 0)
		*pidfd = -1;
	int errnum = errno;
	signal_mask(&before, NULL);
	errno = errnum;
	return (pid_t)pid;
}

int clone_wait(pid_t pid, int *status)
{
	int n;

	do
		n = waitpid(pid, status, __WALL);
	while (n < 0 && errno == EINTR);
	return n == pid ? 0 : -1;
}
