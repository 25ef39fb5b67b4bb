/*
 * Control groups: what a box may use, and what it used.
 *
 * Three shapes of host are served: a unified (v2) tree, separate (v1)
 * hierarchies, and hybrids where some controllers are v1. A site is the place
 * on this host where groups of boxes may be made; a group is one box's, made
 * before the box and removed after it.
 *
 * On v2 the site is, for root, inside the caller's own group where that has
 * been delegated (systemd's Delegate=yes, which it marks with an attribute
 * `delegate`, or a container's part of the tree), so that what bounds the
 * caller bounds its boxes too. Only root that nobody has given a part of the
 * tree uses a group `emberbox` at the top, and enables controllers in the root
 * for it, which systemd would rather do itself. A delegated group that holds
 * other processes beside the caller cannot be divided (no internal processes):
 * with DelegateSubgroup= it can, without it root falls back to the top as well.
 * An ordinary user has what it may write to. On v1, where there is no such
 * rule, the site is `emberbox` at the top of each hierarchy if the caller may
 * write there, else inside its own group.
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

/* The fewest hierarchies that hold the controllers we need: one on v2, up to four on v1. */
struct cgroup_site {
	int version;                             /* 0: none usable; 1: at least one controller is v1; 2: all v2 */
	size_t count;                            /* hierarchies in use */
	char base[CGROUP_CONTROLLERS][PATH_MAX]; /* each hierarchy's directory under which groups are made */
	int where[CGROUP_CONTROLLERS];           /* controller -> index into base, or -1 */
	bool unified[CGROUP_CONTROLLERS];        /* base[i] is on a v2 tree */
	char why[512];                           /* version 0: "WHAT IS MISSING; … with: COMMAND" */
};

struct cgroup_limits {
	uint64_t memory; /* bytes, swap excluded */
	uint64_t pids;   /* processes and threads */
	double cpus;     /* cores, 0 for no limit */
};

struct cgroup_usage {
	uint64_t memory_peak; /* bytes; 0 when the kernel does not say, see cgroup_knows_peak() */
	uint64_t memory_now;  /* bytes */
	uint64_t cpu_usec;    /* user and system */
	uint64_t oom_kills;   /* processes that the kernel killed for memory */
};

struct cgroup;

/* Looks for a site and prepares it (enables controllers below it). No usable site is not an error: version is 0 and why
 * says why. */
int cgroup_find(struct cgroup_site *site, struct error *err);

/* Makes a group `name` with its limits set and read back. *out is owned by the caller, see cgroup_free(). */
int cgroup_make(const struct cgroup_site *site, const char *name, const struct cgroup_limits *limits,
		struct cgroup **out, struct error *err);

/* Other limits for a group that was made with `before`; set and read back. */
int cgroup_change(struct cgroup *group, const struct cgroup_limits *before, const struct cgroup_limits *limits,
		  struct error *err);

/* The v2 directory for CLONE_INTO_CGROUP, or -1 when there is none. */
int cgroup_clone_fd(const struct cgroup *group);

/*
 * The v1 `tasks` files, opened for writing: the child joins by writing "0" to
 * each, which is a hundred times cheaper than being moved from outside (moving
 * another process waits for a grace period, moving oneself does not). Returns
 * how many; fds has room for CGROUP_CONTROLLERS.
 */
size_t cgroup_join_fds(const struct cgroup *group, int *fds);

/*
 * The files by which a process of another user namespace enters: as
 * cgroup_join_fds(), and cgroup.procs on v2, where the kernel judges by who
 * opened it (5.16). The descriptors are the group's. Returns how many, or -1
 * with errno.
 */
int cgroup_enter_fds(struct cgroup *group, int *fds);

/* Everybody has entered: closes what only that needs, for who keeps many groups. */
void cgroup_entered(struct cgroup *group);

/* In the child, after clone: writes "0" to each. Returns 0, or -1 with errno. */
int cgroup_join(const int *fds, size_t count);

/* A descriptor that becomes ready with *events (poll flags) at an out-of-memory event, or -1. The group keeps it. */
int cgroup_oom_fd(const struct cgroup *group, short *events);

int cgroup_usage(const struct cgroup *group, struct cgroup_usage *usage, struct error *err);

/* The same for others than the one who waits at cgroup_oom_fd(): that is not made quiet. */
int cgroup_usage_aside(const struct cgroup *group, struct cgroup_usage *usage, struct error *err);

/* False on v2 before 5.19: then the most that cgroup_memory_now() was seen to give is all there is. */
bool cgroup_knows_peak(const struct cgroup *group);

/* Processes and threads in it now. Returns 0, or -1 with errno. */
int cgroup_tasks_now(const struct cgroup *group, uint64_t *tasks);

/* A file of the memory controller's: a process that writes "0" to it is a member from then on, so that what it writes
 * to a tmpfs is the group's memory. The caller closes it; -1 with errno. */
int cgroup_charge_fd(const struct cgroup *group);

/* Bytes of `limit` that are not in use, or that the kernel can take back (pages of files on a disk). Returns 0, or -1
 * with errno. */
int cgroup_memory_room(const struct cgroup *group, uint64_t limit, uint64_t *room);

/* Times that a fork was refused because of the limit of processes. Returns 0, or -1 with errno. */
int cgroup_forks_refused(const struct cgroup *group, uint64_t *times);

/* Bytes in use now, by one read of a descriptor that the group keeps. Returns 0, or -1 with errno. */
int cgroup_memory_now(const struct cgroup *group, uint64_t *bytes);

/*
 * Processes that the kernel killed for memory, by one read of a descriptor
 * that the group keeps; on v2 the read also makes cgroup_oom_fd() quiet until
 * the next event. Returns 0, or -1 with errno: ENODATA where the kernel does
 * not count them (v1 before 4.13).
 */
int cgroup_oom_kills(const struct cgroup *group, uint64_t *kills);

/* Lifts the CPU limit, and kills every member where the kernel can do it in one step (v2, 5.14). Returns 0, or -1 with
 * errno ENOTSUP where it cannot: the pid namespace does it there. */
int cgroup_kill(const struct cgroup *group);

/* Removes the group's directories. Fails with EBUSY in err->errnum while a member lives. */
int cgroup_remove(struct cgroup *group, struct error *err);

/* Kills who is still a member, and waits a second for them to be gone. For the end of a box whose init is dead: its
 * members are processes of ours that worked for it from outside its pid namespace. */
void cgroup_evict(const struct cgroup *group);

/* Removes groups that a killed emberbox left behind under the site: names are "box-PID-CHANCE", PID is gone, and nobody
 * holds its lock. */
void cgroup_sweep(const struct cgroup_site *site);

/* Closes and frees; NULL is fine. Does not remove the directories. */
void cgroup_free(struct cgroup *group);
static inline void cgroup_freep(struct cgroup **group)
{
	cgroup_free(*group);
}
