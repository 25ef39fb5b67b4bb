/* When the supervisor looks for output that is not written yet, and what it makes of it. See pending.h. */
#pragma once

#include "result/output.h"
#include "engine/local/pending.h"

#include <stdbool.h>
#include <stdint.h>

/* The program is the first process of its box after init. */
#define PEEK_PROGRAM "2"

struct peek {
	bool on;              /* the program may keep its output back */
	bool shows;           /* somebody watches: what is found is shown at once */
	uint64_t due_usec;    /* when to look next; 0: never */
	uint64_t memory;      /* the box's limit; 0: nobody but us ends it for that */
	char *text;           /* what was read, PENDING_MAX bytes */
	int odd;              /* looks in turn that found something else than what was shown */
	struct ahead ahead;   /* what was shown */
	uint64_t doubt_nsec;  /* the program's run time when what it holds back looked like what it had just written; 0:
				 no doubt */
	uint64_t doubt_bytes; /* of output, then */
	uint64_t sure_bytes;  /* of output, when there was no doubt the last time */
	char *last;           /* what was found when memory became short… */
	size_t last_size;     /* …of it */
	uint64_t last_at;     /* …after so many bytes of output */
};

/* Of a program that begins now. */
void peek_begin(struct peek *peek, bool shows, uint64_t memory, uint64_t now);
void peek_end(struct peek *peek);

/* Sets the next time, by what the box uses of its memory. False: nothing is to be done yet. */
bool peek_is_due(struct peek *peek, uint64_t used, uint64_t now);

/* What the program holds back and was not shown: its bytes at *news, and how many. All that came by the pipe before has
 * been taken from it, into `so_far`. 0: nothing new, or nothing that is certain. */
size_t peek_read(struct peek *peek, int proc, int output, const struct output *so_far, const char **news);

/* The same of every process of a box that is stopped, one after the other: `show` is called for each that has
 * something. What a process has from its parent is shown once. `place` is where the program was before it was stopped.
 * False: the program has to go on for a moment, and to be stopped again. */
bool peek_last(struct peek *peek, int proc, int output, const struct output *so_far, enum pending_place place,
	       void (*show)(const char *text, size_t size, void *data), void *data);

/* Remembers what was found, after `bytes` of output; it is lost with the process that the kernel ends. */
void peek_keep(struct peek *peek, const char *text, size_t size, uint64_t bytes);
