/*
 * Control groups: limits and usage of boxes.
 *
 * Three kinds of hosts are supported: a unified (v2) tree, separate (v1)
 * hierarchies, and hybrids where some controllers are v1. A site is the place
 * on this host where groups of boxes may be created. A group belongs to one
 * box; it is created before the box and removed after it.
 *
 * On v2, root's site is inside the caller's own group if that group has been
 * delegated: systemd's Delegate=yes marks it with an attribute `delegate`, and
 * a container has a part of the tree. So the limits of the caller hold for its
 * boxes too. Only if nothing has been delegated, root uses a group `emberbox`
 * at the top of the tree and enables controllers in the root group for it,
 * which systemd would rather do itself. A delegated group with processes beside
 * the caller cannot be divided (the kernel's rule "no internal processes"):
 * systemd's DelegateSubgroup= avoids this; otherwise root also uses the top. An
 * ordinary user's site is a group that the user may write to. On v1, which has
 * no such rule, the site is `emberbox` at the top of each hierarchy if the
 * caller may write there, otherwise inside the caller's own group.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <limits.h>

enum cgroup_controller {
	CGROUP_MEMORY,
	CGROUP_PIDS,
	CGROUP_CPU,
	CGROUP_CPUACCT, /* v1 only: on v2 every group counts its CPU time */
	CGROUP_CONTROLLERS,
};

/* The smallest set of hierarchies with the controllers that we need: one on v2, up to four on v1. */
struct cgroup_site {
	int version;  /* 0: none is usable; 1: at least one controller is v1; 2: all are v2 */
	size_t count; /* hierarchies in use */
	char base[CGROUP_CONTROLLERS][PATH_MAX]; /* the directory of each hierarchy in which groups are created */
	int where[CGROUP_CONTROLLERS];           /* controller -> index into base, or -1 */
	bool unified[CGROUP_CONTROLLERS];        /* base[i] is on a v2 tree */
	char why[512];                           /* version 0: "REASON; … with: COMMAND" */
};

struct cgroup_limits {
	uint64_t memory; /* bytes, swap excluded */
	uint64_t pids;   /* processes and threads */
	double cpus;     /* cores, 0 for no limit */
};

struct cgroup_usage {
	uint64_t memory_peak; /* bytes; 0 if the kernel does not count it, see cgroup_knows_peak() */
	uint64_t memory_now;  /* bytes */
	uint64_t cpu_usec;    /* user and system */
	uint64_t oom_kills;   /* processes killed by the kernel because of memory */
};

struct cgroup;

/* Finds a site and enables controllers below it. It is no error if there is none: version is 0 and `why` has the
 * reason. */
int cgroup_find(struct cgroup_site *site, struct error *err);

/* Creates a group `name`, sets its limits and reads them back. The caller frees *out with cgroup_free(). */
int cgroup_make(const struct cgroup_site *site, const char *name, const struct cgroup_limits *limits,
		struct cgroup **out, struct error *err);

/* Changes the limits of a group that was created with `before`; they are set and read back. */
int cgroup_change(struct cgroup *group, const struct cgroup_limits *before, const struct cgroup_limits *limits,
		  struct error *err);

/* The v2 directory for CLONE_INTO_CGROUP, or -1 on v1. */
int cgroup_clone_fd(const struct cgroup *group);

/*
 * The v1 `tasks` files, opened for writing. The child joins by writing "0" to
 * each. This is a hundred times cheaper than moving the child from outside,
 * which waits for a grace period. Returns the number of files; fds has room for
 * CGROUP_CONTROLLERS.
 */
size_t cgroup_join_fds(const struct cgroup *group, int *fds);

/*
 * The files by which a process of another user namespace joins: as
 * cgroup_join_fds(), and cgroup.procs on v2, where the kernel checks the
 * permissions of the opener (5.16). The group owns the descriptors. Returns
 * their number, or -1 with errno.
 */
int cgroup_enter_fds(struct cgroup *group, int *fds);

/* Closes the descriptors of cgroup_enter_fds() when all processes have joined, to save descriptors. */
void cgroup_entered(struct cgroup *group);

/* In the child after clone: writes "0" to each file. Returns 0, or -1 with errno. */
int cgroup_join(const int *fds, size_t count);

/* A descriptor that becomes ready with *events (poll flags) at an out-of-memory event, or -1. The group owns it. */
int cgroup_oom_fd(const struct cgroup *group, short *events);

int cgroup_usage(const struct cgroup *group, struct cgroup_usage *usage, struct error *err);

/* cgroup_usage() that does not consume the event of cgroup_oom_fd(), for other callers than the supervisor. */
int cgroup_usage_aside(const struct cgroup *group, struct cgroup_usage *usage, struct error *err);

/* False on v2 before 5.19: then the largest value of cgroup_memory_now() is the best known peak. */
bool cgroup_knows_peak(const struct cgroup *group);

/* The number of processes and threads in the group. Returns 0, or -1 with errno. */
int cgroup_tasks_now(const struct cgroup *group, uint64_t *tasks);

/* A file of the memory controller. A process that writes "0" to it joins the group, so that its writes to a tmpfs count
 * as memory of the group. The caller closes it; -1 with errno. */
int cgroup_charge_fd(const struct cgroup *group);

/* Bytes of `limit` that are free or reclaimable (page cache of files on a disk). Returns 0, or -1 with errno. */
int cgroup_memory_room(const struct cgroup *group, uint64_t limit, uint64_t *room);

/* How often the limit of processes refused a fork. Returns 0, or -1 with errno. */
int cgroup_forks_refused(const struct cgroup *group, uint64_t *times);

/* Bytes in use, by one read of a descriptor of the group. Returns 0, or -1 with errno. */
int cgroup_memory_now(const struct cgroup *group, uint64_t *bytes);

/*
 * The number of processes that the kernel killed because of memory, by one read
 * of a descriptor of the group. On v2 the read also clears the event of
 * cgroup_oom_fd(). Returns 0, or -1 with errno: ENODATA if the kernel does not
 * count them (v1 before 4.13).
 */
int cgroup_oom_kills(const struct cgroup *group, uint64_t *kills);

/* Lifts the CPU limit, and kills every member if the kernel can do so in one step (v2, 5.14). Returns 0, or -1 with
 * ENOTSUP if it cannot: the end of the pid namespace kills them then. */
int cgroup_kill(const struct cgroup *group);

/* Removes the group's directories. Fails with EBUSY in err->errnum while the group has members. */
int cgroup_remove(struct cgroup *group, struct error *err);

/* Kills all members and waits up to a second for their end. For a box whose init is dead: the remaining members are
 * processes of ours that worked for the box from outside its pid namespace. */
void cgroup_evict(const struct cgroup *group);

/* Removes the site's groups that a killed emberbox left behind: the name is "box-PID-RANDOM", no process PID exists,
 * and nobody holds the lock. */
void cgroup_sweep(const struct cgroup_site *site);

/* Closes and frees the group; NULL is allowed. Does not remove the directories. */
void cgroup_free(struct cgroup *group);
static inline void cgroup_freep(struct cgroup **group)
{
	cgroup_free(*group);
}
