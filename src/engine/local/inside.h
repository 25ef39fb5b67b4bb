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
#include "engine/local/plan.h"
#include "engine/local/box_report.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What the supervisor sends once, when the maps are written: this byte, with the files of the v1 groups to enter. */
#define INSIDE_GO 'g'
_Static_assert(CGROUP_CONTROLLERS <= FD_MESSAGE_MAX, "the groups fit into one message");

struct inside {
	const struct plan *plan;  /* what to do */
	int control;              /* the socket to the supervisor */
	int go;                   /* the socket on which the word comes that the maps are written */
	int stdio[3];             /* the program's 0, 1, 2 */
	int channel;              /* the program's 3; 0: it has none */
	int lock_fd;              /* keeps the uid taken while this process lives; -1: none */
	const int *file_fds;      /* by index in the job, -1: no host file */
	int trees[JOB_TREES_MAX]; /* by index in the job: with translated owners, detached; -1: take it here */
	int plain[JOB_TREES_MAX]; /* the same as they are, where the box's uid could not reach them; -1: take it here */
	bool heard;               /* whoever is behind `control` listens to what the filter tells, and answers */
	int fault_kind;           /* fault injection: this kind of operation… */
	int fault_index;          /* …the n-th of it fails with EIO; kind -1: none */
};

/* Never returns. */
_Noreturn void inside_run(const struct inside *inside);

/* For a copy of ours that who is in a box can see: clears the command line and the environment that we were called
 * with, from this copy, and hides its memory. While /proc is the host's. 0, or -1 with errno. */
int inside_veil(const char *name);

/* Every signal does what it does by itself, also those that the C library keeps. */
void inside_default_signals(void);

/* The operations alone, for a stem: 0, or -1 with errno and the index of the one that failed. */
int inside_perform(const struct inside *inside, uint32_t *index);
