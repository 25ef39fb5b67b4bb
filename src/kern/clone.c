#include "kern/clone.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

pid_t clone_into(uint64_t namespaces, int cgroup_fd, int *pidfd)
{
	struct clone_args args = {
		.flags = namespaces | CLONE_PIDFD | (cgroup_fd >= 0 ? CLONE_INTO_CGROUP : 0),
		.pidfd = (uint64_t)(uintptr_t)pidfd,
		.exit_signal = SIGCHLD,
		.cgroup = cgroup_fd >= 0 ? (uint64_t)cgroup_fd : 0,
	};
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	/* The raw clone takes the pidfd's address where threads have their parent's tid. */
	if (pid < 0 && errno == ENOSYS && cgroup_fd < 0)
		pid = syscall(SYS_clone, namespaces | CLONE_PIDFD | SIGCHLD, NULL, pidfd, NULL, NULL);
	/* The kernel tells the number before all that can fail has: it would be closed under whoever has it by then. */
	if (pid < 0)
		*pidfd = -1;
	return (pid_t)pid;
}
