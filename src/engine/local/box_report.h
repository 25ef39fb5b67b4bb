/* What a box tells its supervisor over the control socket. */
#pragma once

#include <stdint.h>

/* The name of a process that only holds the memory of a program that has ended (engine/ember/leave.c). */
#define REPORT_HOLDER "(ended)"

enum report_kind {
	REPORT_READY = 1, /* the directories are handed over (with REPORT_FDS descriptors) */
	REPORT_FAILED,    /* an operation failed: op, index, errnum */
	REPORT_STARTED,   /* the program is about to run */
	REPORT_ENDED,     /* it ended: status, cpu_usec */
	REPORT_WARM,      /* an ember waits for its program: cpu_usec so far */
	REPORT_TERMINAL,  /* the other side of the program's terminal, as the one descriptor */
	REPORT_HEARD,     /* the filter is in force, and tells of what it refuses by the one descriptor */
	REPORT_PLANTED,   /* sockets of the box's network, as many as one message holds; index: how many are to come */
	REPORT_UNFIT,     /* an ember could not enter its box: index is an enum ember_step, errnum */
};

enum {
	REPORT_FD_OUTPUT,
	REPORT_FD_PROC,
	REPORT_FD_WORK,
	REPORT_FD_RICH,     /* only if the plan says so; with segments otherwise another of the output directory */
	REPORT_FD_SEGMENTS, /* a file, only if the plan says so: what /proc/sysvipc/shm lists is its opener's */
	REPORT_FD_RULESET,  /* of an ember's box: Landlock's rules, for who enters */
	REPORT_FDS
};

/* What the box sends over the control socket; a fixed size, and nothing in it is trusted to be an index. */
struct report {
	uint32_t kind;     /* enum report_kind */
	uint32_t index;    /* of the operation */
	int32_t errnum;    /* why it failed */
	int32_t status;    /* as waitpid() gives it */
	uint64_t cpu_usec; /* of the program and its reaped descendants */
	uint64_t memory;   /* REPORT_ENDED: what its largest process had resident at most; bytes */
	uint64_t at_usec;  /* REPORT_STARTED, REPORT_ENDED, REPORT_WARM: when, on the monotonic clock */
};
