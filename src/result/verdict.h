/* What an engine found: how one box ended, and which limits its program met. The result is made of it. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* What a box was made for. */
enum job_kind {
	JOB_PREPARE, /* what later boxes of the language are shown */
	JOB_COMPILE, /* the artifact */
	JOB_RUN,     /* the program */
};

enum status {
	STATUS_OK,
	STATUS_FAILED,
	STATUS_TIMEOUT,
	STATUS_OUT_OF_MEMORY,
	STATUS_OUTPUT_LIMIT,
	STATUS_KILLED,
	STATUS_BLOCKED,
	STATUS_ERROR,
};

/* What only the box can tell, asked before it is gone and only when its program failed. */
struct witness {
	uint64_t forks_refused;  /* times that the limit of processes was met */
	bool disk_full;          /* no block is left of what it may write */
	bool inodes_full;        /* the same of files */
	const char *refused;     /* the last call that the filter refused, by name; NULL: none, as far as is known */
	char biggest[16];        /* the process with the most memory when the limit was met; empty: not known */
	uint64_t biggest_memory; /* that, at its most; 0: not known */
};

struct verdict {
	enum status status;     /* what the program did; STATUS_ERROR: what we failed at */
	int wait_status;        /* as waitpid() gives it; meaningless when `ended` is false */
	bool ended;             /* the program ended by itself */
	bool cancelled;         /* the caller ended it */
	const char *limit;      /* the limit that ended it: "timeout", "memory"…; NULL */
	uint64_t started_usec;  /* on the monotonic clock; 0: never */
	uint64_t ended_usec;    /* when the program, or we, ended it */
	uint64_t memory_peak;   /* bytes */
	uint64_t cpu_usec;      /* of the whole box */
	struct witness witness; /* of one that failed or was ended: the limits that it met */
	struct error failure;   /* STATUS_ERROR: the sentence */
};
