/*
 * What a box without a control group uses, summed from its own /proc.
 *
 * The descriptor on the box's /proc is the boundary: its numeric entries are
 * the box's processes, all of them and no others, whatever they do. Memory is
 * what the kernel would charge a group for: resident and swapped pages, page
 * tables (which a program can grow without any resident page, by reading a
 * huge empty mapping), the files on the box's tmpfs, and what its sockets may
 * hold (kernel/netns.h bounds one).
 *
 * Adding up resident pages counts shared ones several times, so the cheap sum
 * is an upper bound. It decides nothing by itself: above the limit, the
 * proportional shares are read, and mapped files of the box's tmpfs are counted
 * once. A sum above the limit is confirmed by another.
 *
 * Memory that pages of no process show (segments, anonymous shared mappings,
 * which stay when they are unmapped in part) is not to be had in such a box:
 * the filter "accounted" of kernel/seccomp_rules.def denies it. A language that
 * asks for segments has each counted whole, whoever else shows its pages.
 */
#pragma once

#include "base/error.h"
#include "engine/local/account_parse.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ACCOUNT_TRACKED 512 /* processes whose CPU time is kept when they vanish; more than a box may usually have */

/* A process that waits for children to exec. */
struct account_parent {
	uint64_t pid; /* in the box */
	int children; /* not counted, as they have its memory */
};

struct account {
	int proc_fd;     /* the box's /proc, opened for reading */
	int work_fd;     /* the box's work tmpfs, or -1 */
	int segments_fd; /* its /proc/sysvipc/shm, opened by one of its own processes; -1: it can have none */
	dev_t work_dev;  /* its device, to know mappings of its files */
	uint64_t
		limit; /* bytes: the exact pass is made above it. UINT64_MAX after account_open(); the caller sets it */
	uint64_t peak; /* bytes, over all samples */
	uint64_t cpu_usec;    /* the most seen: a sample may miss a process between its end and its parent's wait */
	uint64_t tick_usec;   /* one clock tick */
	uint64_t lost_ticks;  /* of processes that were seen, are gone, and that nobody waited for */
	uint64_t doubt_ticks; /* what the last sample added to that */
	size_t tracked;       /* in seen[turn] */
	int turn;             /* which of the two lists the last sample wrote */
	struct account_process seen[2][ACCOUNT_TRACKED]; /* by ascending pid */
	size_t parent_count;                             /* in parents */
	struct account_parent parents[ACCOUNT_TRACKED];  /* of the pass under way */
	bool hiding;         /* this sample found a process that shows its memory in no thread */
	unsigned hidden;     /* so many samples in a row have */
	char threads[4096];  /* of the directory of one process's threads */
	char entries[16384]; /* of the directory; samples allocate nothing */
	char text[8192];     /* of one file */
};

struct account_usage {
	uint64_t memory_now;  /* bytes; an upper bound while it is below the limit, exact above */
	uint64_t memory_peak; /* bytes, over all samples */
	uint64_t cpu_usec;  /* user and system, of the living, of the dead that were waited for, and of those seen alive
			     */
	uint64_t processes; /* zombies included */
	uint64_t threads;   /* of all processes */
};

/* Takes no ownership: duplicates both. proc_fd may be O_PATH; work_fd may be -1. segments_fd is the caller's to set and
 * account_close()'s to close. */
int account_open(int proc_fd, int work_fd, struct account *out, struct error *err);

/*
 * Returns 0, or -1 with errno when the box's /proc cannot be read (for want of a descriptor, say): then nobody knows
 * what the box uses, and it has to end. Above the limit it looks twice, 1 ms apart.
 */
int account_sample(struct account *account, struct account_usage *usage);

/* Closes; an account that was never opened must have both descriptors -1. */
void account_close(struct account *account);
