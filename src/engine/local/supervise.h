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
#include "result/verdict.h"

#include <stdbool.h>
#include <stdint.h>

struct supervise_io {
	void (*on_output)(int stream, const void *data, size_t size, void *userdata); /* or NULL */
	/* The same, of much output: the bytes are in a file, which is not changed any more; or NULL. */
	void (*on_kept)(int stream, int file, uint64_t offset, size_t size, void *userdata);
	/* The program is about to run, and the box's directories are there; or NULL. */
	void (*on_started)(void *userdata);
	void *userdata; /* for all of them */
	int cancel_fd;  /* readable: end the run; -1: never */
	int stdin_fd;   /* the program's input; -1: the spec's */
	int window_fd;  /* of a run with a terminal: a pipe of struct terminal_size; 0 or less: its size stays */
};

/* Returns when the box is dead and its output is drained, whatever happened; the box's remains are for launch_end(). */
void supervise_box(struct box *box, const struct job *job, const struct supervise_io *io, struct output outputs[2],
		   struct verdict *verdict);
