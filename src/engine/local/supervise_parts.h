/* What the files of the supervisor share: supervise.c, supervise_output.c. */
#pragma once

#include "engine/local/account.h"
#include "engine/local/witness.h"
#include "engine/local/peek.h"
#include "engine/local/supervise.h"
#include "engine/local/box_terminal.h"
#include "kernel/refusals.h"

enum {
	WATCH_BLOCK = 65536,     /* bytes read at once: what a pipe holds */
	WATCH_QUIET_USEC = 1000, /* for so long output waits in its pipe, if nobody needs it at once */
};

struct watch {
	struct box *box;                  /* what is watched */
	const struct job *job;            /* its limits */
	const struct engine_io *io;       /* the caller's side */
	struct output *outputs;           /* stdout and stderr */
	struct verdict *verdict;          /* being made */
	struct account *account;          /* of a box without a group */
	struct refusals *refusals;        /* of a box that we listen to */
	bool counting;                    /* account is open */
	bool plenty[2];                   /* so much comes on a stream that it is not looked at */
	bool large[2];                    /* its pipe was made larger */
	bool killed;                      /* by us; the verdict's status says why */
	bool dead;                        /* init is gone */
	bool reported;                    /* the program's end was reported */
	bool over;                        /* nothing of the program is left, and its output is read: no need to wait */
	uint64_t own_cpu_usec;            /* of the program's process, before it was the program's */
	uint64_t killed_usec;             /* when */
	uint64_t launch_usec;             /* when watching began */
	uint64_t cpu_check_usec;          /* when the CPU limit is looked at next; 0: never */
	uint64_t sample_usec;             /* when the box is counted next; 0: never */
	uint64_t quiet_usec;              /* not before this its output is watched; 0: it is */
	bool window_lost;                 /* no more sizes come */
	bool source_open;                 /* io->stdin_fd still has something */
	bool typing_end;                  /* what is pending is the end of the terminal's input */
	struct terminal_again end_again;  /* of that end, once it was typed */
	char last_typed;                  /* the last byte that went to the terminal; 0: none yet */
	char end_typed[TERMINAL_END_MAX]; /* its end */
	size_t end_size;                  /* of it */
	const char *pending;              /* input not yet written */
	size_t pending_size;              /* how much */
	char *input_block;                /* input on its way, WATCH_BLOCK bytes */
	char *block;                      /* output on its way, WATCH_BLOCK bytes */
	char *due;                        /* what of it was not shown already */
	struct peek peek;                 /* at output that is not written yet */
};

/* Ends the box; the first to do so says why. Its last output is read before. */
void watch_end(struct watch *w, enum status status, const char *limit);
/* The same, because we failed. */
void watch_fail(struct watch *w, const struct error *err);

/* ---- supervise_output.c */

/* Something waits in the pipe of standard output (0) or error (1), or it is at its end. */
void watch_output(struct watch *w, int index);
/* Output of the program's, which is kept and handed on. */
void watch_take_output(struct watch *w, int index, const char *data, size_t size);
/* What the program has printed and not written: shown to whoever watches, and kept where memory becomes short. */
void watch_peek(struct watch *w, uint64_t now);
/* Of a box that is about to be killed: nothing of what it has printed is to be lost. */
void watch_last_words(struct watch *w);
