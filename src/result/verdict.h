/* The engine's findings: how a box ended, and which limits its program met. The result is made of them. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* The purpose of a box. */
enum job_kind {
	JOB_PREPARE, /* creates files for later boxes of the language */
	JOB_COMPILE, /* compiles the program */
	JOB_RUN,     /* runs the program */
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

/* Findings that only the box has, read before its end if its program failed. */
struct witness {
	uint64_t forks_refused;  /* how often the limit of processes was met */
	bool disk_full;          /* no free blocks on its disk */
	bool inodes_full;        /* no free inodes on its disk */
	const char *refused;     /* name of the last call that the filter refused; NULL: none known */
	char biggest[16];        /* the process with the most memory when the limit was met; empty: unknown */
	uint64_t biggest_memory; /* its peak memory; 0: unknown */
};

struct verdict {
	enum status status;     /* status of the program; STATUS_ERROR: emberbox failed */
	int wait_status;        /* as waitpid() returns it; meaningless if `ended` is false */
	bool ended;             /* the program ended by itself */
	bool cancelled;         /* the caller ended it */
	const char *limit;      /* the limit that ended it: "timeout", "memory"…; NULL: none */
	uint64_t started_usec;  /* on the monotonic clock; 0: not started */
	uint64_t ended_usec;    /* end of the program */
	uint64_t memory_peak;   /* bytes */
	uint64_t cpu_usec;      /* CPU time of the whole box */
	struct witness witness; /* if it failed or was ended: the limits that it met */
	struct error failure;   /* STATUS_ERROR: the error */
};
