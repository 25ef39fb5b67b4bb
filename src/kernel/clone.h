/* clone3(2): boxes are created here only. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/*
 * Forks into new namespaces (CLONE_NEW…) and, with cgroup_fd >= 0, directly into a v2 group. The parent gets the pid
 * and a pidfd (close-on-exec), the child 0. On failure -1 with errno, and *pidfd is -1. If clone3 is missing (before
 * 5.3, or filtered), clone(2) is used, which cannot enter a group: then the error is ENOSYS.
 *
 * The child starts with all signals blocked, because the caller's handlers must not run in it. Its end sends no signal:
 * otherwise a caller that ignores SIGCHLD would make the kernel reap it, and a caller that waits for any child would
 * take it. A process of ours that reaps all children adds the signal to the flags, as for clone(2).
 */
pid_t clone_into(uint64_t flags, int cgroup_fd, int *pidfd);

/* Waits for a child of clone_into(). Returns 0, or -1 with errno. */
int clone_wait(pid_t pid, int *status);
