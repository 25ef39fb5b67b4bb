/*
 * The box's first process, between clone and its end.
 *
 * It is a copy of the supervisor in new namespaces: it interprets the plan,
 * confines itself, starts the program, and stays as pid 1 to reap and to tell
 * how the program ended. It allocates nothing, prints nothing, and uses nothing
 * of the supervisor's but what is listed here.
 */
#pragma once

#include "base/fd.h"
#include "box/plan.h"

#include <stdint.h>
#include <sys/types.h>

enum report_kind {
	REPORT_READY = 1, /* the directories are handed over (with REPORT_FDS descriptors) */
	REPORT_FAILED,    /* an operation failed: op, index, errnum */
	REPORT_STARTED,   /* the program is about to run */
	REPORT_ENDED,     /* it ended: status, cpu_usec */
};

enum {
	REPORT_FD_OUTPUT,
	REPORT_FD_PROC,
	REPORT_FD_WORK,
	REPORT_FD_RICH,     /* only if the plan says so; with segments otherwise another of the output directory */
	REPORT_FD_SEGMENTS, /* a file, only if the plan says so: what /proc/sysvipc/shm lists is its opener's */
	REPORT_FDS
};

/* What the supervisor sends once, when the maps are written: this byte, with the files of the v1 groups to enter. */
#define INSIDE_GO 'g'
_Static_assert(CGROUP_CONTROLLERS <= FD_MESSAGE_MAX, "the groups fit into one message");

/* What the box sends over the control socket; a fixed size, and nothing in it is trusted to be an index. */
struct report {
	uint32_t kind;     /* enum report_kind */
	uint32_t index;    /* of the operation */
	int32_t errnum;    /* why it failed */
	int32_t status;    /* as waitpid() gives it */
	uint64_t cpu_usec; /* of the program and its reaped descendants */
	uint64_t memory;   /* REPORT_ENDED: what its largest process had resident at most; bytes */
	uint64_t at_usec;  /* REPORT_STARTED, REPORT_ENDED: when, on the monotonic clock */
};

struct inside {
	const struct plan *plan;  /* what to do */
	int control;              /* the socket to the supervisor */
	int stdio[3];             /* the program's 0, 1, 2 */
	int lock_fd;              /* keeps the uid taken while this process lives; -1: none */
	const int *file_fds;      /* by index in the job, -1: no host file */
	int trees[JOB_TREES_MAX]; /* by index in the job: with translated owners, detached; -1: take it here */
	int plain[JOB_TREES_MAX]; /* the same as they are, where the box's uid could not reach them; -1: take it here */
	int fault_kind;           /* fault injection: this kind of operation… */
	int fault_index;          /* …the n-th of it fails with EIO; kind -1: none */
};

/* Never returns. */
_Noreturn void inside_run(const struct inside *inside);
