/*
 * Objects of JSON that a driver sent, and that may be anything: what a cell
 * failed by, and answers to complete and inspect.
 *
 * The keeper has capabilities and no filter, so it makes no tree of them: that
 * happens in a process that is forked for it (kernel/confined.h), which leaves a
 * struct of fixed size. Known keys of the right kind are taken, nothing else.
 * The struct's text is JSON again, and goes into results and answers as it
 * stands; it is looked at first, without making anything of it.
 */
#pragma once

#include "base/heap.h"
#include "live/driver_wire.h"

#include <stdbool.h>
#include <stddef.h>

enum driver_told_what {
	DRIVER_TOLD_ERROR,    /* of a cell */
	DRIVER_TOLD_COMPLETE, /* the answer to complete */
	DRIVER_TOLD_INSPECT,  /* the answer to inspect */
};

enum {
	/* What is known is printed with all its keys: so much more than the payload for an error's frames. */
	DRIVER_TOLD_MAX = DRIVER_SMALL_MAX + (16 << 10),
	DRIVER_TOLD_DEPTH = 4 /* levels of objects and lists in the text */
};

struct driver_told_input {
	enum driver_told_what what; /* which */
	const char *payload;        /* the driver's */
	size_t size;                /* of it */
	const char *code;           /* COMPLETE: what was asked about */
	size_t code_size;           /* of it */
};

struct driver_told {
	char type[64];              /* ERROR: for the sentence… */
	char message[384];          /* …as far as it fits */
	char file[256];             /* its place; "": not told */
	long line, column;          /* counted from 1; 0: not told */
	size_t size;                /* of the text; 0: it told nothing that is known */
	char text[DRIVER_TOLD_MAX]; /* one object, terminated */
};

/* Pure; the heap may be NULL: malloc(). *out is all 0 before. Not for threads: it is called in a process of its own. */
void driver_told_make(const struct driver_told_input *in, struct heap *heap, struct driver_told *out);
/* Ends the texts, and takes the text away unless it is one object; whoever filled it. */
void driver_told_settle(struct driver_told *told);
/* The same in a process of its own. NULL: nothing is known. */
struct driver_told *driver_told_read(const struct driver_told_input *in);
/* NULL is fine. */
void driver_told_free(struct driver_told *told);
