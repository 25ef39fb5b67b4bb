/*
 * What a program has printed and not written yet.
 *
 * To a pipe, a program writes when its buffer is full, and so it should here: a
 * million lines are then some thousand writes. But the last of them may stay in
 * the buffer for long, and is lost if the program is killed. So the supervisor
 * reads it there, in the memory of the process (see engine/ember/notice.h), and shows
 * it; the program is neither stopped nor changed for that. When it writes the
 * same later, what is shown already is left out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PENDING_MAX = 64 << 10 /* bytes that are looked at */
};

/* Bytes that a process of the box holds back for the pipe whose reading end is `output`, into `text` of PENDING_MAX
 * bytes. `pid` is its name in the box's /proc. -1: nothing can be read, or not now. */
long pending_read(int proc, const char *pid, int output, char *text);

/* Stops every process of the box but its init, and waits until they are, for some milliseconds at most. For a box that
 * is about to be killed: that they were stopped can be seen. */
void pending_stop(int proc);
/* Lets a process that was stopped go on. */
void pending_continue(int proc, const char *pid);
/* Where its first thread is. */
enum pending_place {
	PENDING_RUNS,   /* on a processor, or waiting for one: in its own code, or on its way out of a call */
	PENDING_WRITES, /* in a write */
	PENDING_LOCKS,  /* waiting for another thread */
	PENDING_WAITS,  /* in any other call */
};
enum pending_place pending_place(int proc, const char *pid);
/* For how long its first thread has had a processor, in nanoseconds; 0: not known. */
uint64_t pending_run_time(int proc, const char *pid);

/* What was shown before it was written. Zeroed: nothing. */
struct ahead {
	char *text;     /* it */
	uint32_t *back; /* for each place how much of the beginning stands before it, as Knuth, Morris and Pratt have it
			 */
	size_t size;    /* of it */
	size_t room;    /* for it */
	size_t found;   /* of it, at the end of what has come */
};

/* `size` more bytes were shown. -1 with errno. */
int ahead_add(struct ahead *ahead, const char *text, size_t size);
/* What is to be shown of `size` bytes that have come: into `out`, which has room for `size` + ahead->found bytes.
 * How many. */
size_t ahead_take(struct ahead *ahead, const char *data, size_t size, char *out);
void ahead_clear(struct ahead *ahead);
