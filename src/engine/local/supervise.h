/*
 * Watching a box until nothing of it lives.
 *
 * One loop over descriptors: the box's reports, its death (pidfd), its output,
 * an out-of-memory event, the nearest deadline, the caller's input and
 * its wish to stop. What the program writes decides nothing: verdicts come from
 * the kernel and from the box's init.
 */
#pragma once

#include "base/error.h"
#include "engine/local/launch.h"
#include "result/output.h"
#include "engine/local/witness.h"

#include <stdbool.h>
#include <stdint.h>

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

struct supervise_io {
	void (*on_output)(int stream, const void *data, size_t size, void *userdata); /* or NULL */
	/* The same, of much output: the bytes are in a file, which is not changed any more; or NULL. */
	void (*on_kept)(int stream, int file, uint64_t offset, size_t size, void *userdata);
	/* The program is about to run, and the box's directories are there; or NULL. */
	void (*on_started)(struct box *box, void *userdata);
	void *userdata; /* for all of them */
	int cancel_fd;  /* readable: end the run; -1: never */
	int stdin_fd;   /* the program's input; -1: the spec's */
	int window_fd;  /* of a run with a terminal: a pipe of struct terminal_size; 0 or less: its size stays */
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

/* Returns when the box is dead and its output is drained, whatever happened; the box's remains are for launch_end(). */
void supervise_box(struct box *box, const struct job *job, const struct supervise_io *io, struct output outputs[2],
		   struct verdict *verdict);
