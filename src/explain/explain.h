/*
 * Why a program failed, and what would have helped.
 *
 * Standard error becomes a type, a message, a place, frames of which the
 * program's own are told apart, the lines of code around the place, and one
 * sentence: the smallest change that would have helped. All of it by data, the
 * explain.yaml of the language (language/definition_explain.h) and the table of
 * what can happen in any of them (common.c).
 *
 * Hostile input: it is the program that wrote it, and who sent the code. So
 * explain_make() is pure, asks the kernel for nothing, has a bounded effort and
 * memory that was got before; and explain_confined() calls it in a process of
 * its own that can do nothing but that. What comes back is a struct of fixed
 * size, whose texts are ended and whose counts are bounded again by who asked.
 */
#pragma once

#include "language/errors.h"

enum {
	EXPLAIN_FRAMES = 32, /* of a trace: the newest, and of a very deep one the oldest eight as well */
	EXPLAIN_LINES = 5,   /* of code around the place */
};

struct explain_source {
	const char *name; /* below /sandbox/code */
	const char *data; /* its text */
	size_t size;      /* of it */
};

struct explain_input {
	const struct runtime *runtime;     /* the language */
	const struct runtime *const *all;  /* every language, NULL at the end: whose program it looks like */
	const char *text;                  /* standard error, with a zero at its end */
	size_t size;                       /* its size */
	const char *file;                  /* the code file's path in the box */
	const char *told_file;             /* where it failed, by an interpreter's own word; NULL or empty: not told */
	long told_line, told_column;       /* 0: not told */
	bool exited;                       /* it ended by itself, with … */
	int exit_code;                     /* … this, or … */
	const char *signal;                /* … "SIGSEGV"; or NULL */
	bool printed;                      /* something is on standard output */
	bool compiling;                    /* it was the compiler */
	const struct explain_source *code; /* what the caller gave, the code file first */
	size_t code_count;                 /* how many */
	const char *const *files;          /* names of all files that were given, NULL at the end */
};

struct explain_frame {
	char file[256];     /* below /sandbox/code if it is there; empty: not told */
	char function[128]; /* empty: not told */
	char text[160];     /* that line of the code, if it was given */
	long line;          /* 0: not told */
	long column;        /* 0: not told */
	bool user;          /* the program's own, not a library's */
};

struct explain_line {
	long line;      /* its number */
	bool mark;      /* it is where it failed */
	char text[240]; /* of it */
};

/* A change that a program can make: columns are counted in characters from 1; text replaces what is between. */
struct explain_fix {
	char file[256];
	long line, column, end_column; /* line 0: there is none */
	char text[160];
};

struct explanation {
	bool there;                                  /* it is an error of which something is known */
	struct errors_found found;                   /* a syntax or compile error */
	char cause[384];                             /* the line that says why; empty: none */
	char type[96];                               /* "ZeroDivisionError" */
	char message[384];                           /* without the type */
	char file[256];                              /* where; empty: not told */
	long line, column;                           /* 0: not told */
	char kind[48];                               /* the name in the tables; empty: none of them */
	char suggestion[512];                        /* one sentence; empty: none */
	char docs[200];                              /* a page; empty: none */
	char signature[200];                         /* the same for the same failure: without names and numbers */
	char call[32];                               /* of the kernel, that the box refused, by its words; or empty */
	char host[160];                              /* that it wanted to reach, by its words; or empty */
	struct explain_fix fix;                      /* the suggestion as a change */
	size_t frame_count;                          /* how many */
	size_t frame_total;                          /* how many there were */
	struct explain_frame frames[EXPLAIN_FRAMES]; /* the newest first */
	size_t context_count;                        /* how many */
	struct explain_line context[EXPLAIN_LINES];  /* in their order */
};

/* Pure. What needs more memory than there is in the heap is not told. */
void explain_make(const struct explain_input *in, struct heap *heap, struct explanation *out);

/*
 * The same in a process that is forked for it, has no descriptor, and may do
 * nothing but end (seccomp's strict mode); it gets EXPLAIN_MSEC. False when it
 * died, took too long or could not be made: then nothing is known, and *out is
 * empty.
 */
bool explain_confined(const struct explain_input *in, struct explanation *out);

/* Calls that the box refuses and programs know by these names; NULL at the end. */
const char *const *explain_calls(void);

/* Ends every text and bounds every count, whoever filled it. */
void explanation_settle(struct explanation *e);
