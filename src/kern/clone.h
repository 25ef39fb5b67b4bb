/* clone3(2), the one way in which boxes are made. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/*
 * Forks into new namespaces (CLONE_NEW…) and, with cgroup_fd >= 0, straight
 * into a v2 group. The parent gets the pid and a pidfd (close-on-exec), the
 * child 0. -1 with errno, and *pidfd -1. Without clone3 (before 5.3, or filtered) clone(2)
 * serves, which cannot enter a group: then ENOSYS stays.
 */
pid_t clone_into(uint64_t namespaces, int cgroup_fd, int *pidfd);
