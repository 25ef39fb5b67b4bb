/* clone3(2), the one way in which boxes are made. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/*
 * Forks into new namespaces (CLONE_NEW…) and, with cgroup_fd >= 0, straight
 * into a v2 group. The parent gets the pid and a pidfd (close-on-exec), the
 * child 0. -1 with errno, and *pidfd -1. Without clone3 (before 5.3, or filtered) clone(2)
 * serves, which cannot enter a group: then ENOSYS stays.
 *
 * The child begins with every signal blocked: the caller's handlers must not
 * run in it. It sends no signal when it ends, so that a caller which ignores
 * SIGCHLD does not make the kernel reap it, and one that waits for any child of
 * its own does not take ours. A process of our own that reaps whatever ends adds
 * the signal to the flags, as for clone(2).
 */
pid_t clone_into(uint64_t flags, int cgroup_fd, int *pidfd);

/* Waits for such a child. 0, or -1 with errno. */
int clone_wait(pid_t pid, int *status);
