/*
 * Finds the error in a program's standard error, by the patterns of its language.
 *
 * The input is hostile: the program wrote it. Patterns are matched line by line, as bytes, each match with a bounded
 * effort; a slower one does not match (pattern.h). At most 16 KiB of a line, 16384 lines and 1 MiB are read: the first
 * of a compiler, the last of a program. A call takes at most some 40 ms.
 *
 * A syntax error is found by reading the lines from the first, without blank ones. `match` is the error, with its own
 * line number or the last one that `place` found; if there is a `place`, one of them is required. A line like `unless`,
 * before or after the error, rules it out. If `ends` is set, a later line unlike it shows that the program went on, and
 * rules the error out; another may follow. The first form that applies is used. If the language has a compile step,
 * only the compiler reports errors.
 */
#pragma once

#include "language/pattern.h"
#include "language/runtime.h"

enum errors_kind {
	ERRORS_NONE,    /* none found: a failure at run time, or an unknown one */
	ERRORS_SYNTAX,  /* the code is not a program of its language */
	ERRORS_COMPILE, /* the code is valid, but does not compile */
};

struct errors_input {
	const char *text;  /* standard error, terminated by a NUL */
	size_t size;       /* its size */
	const char *file;  /* the code file's path in the box */
	int exit_code;     /* exit code of the program or the compiler */
	bool printed;      /* standard output is not empty */
	bool compiling;    /* the text is a compiler's: `compile` applies as well, after `syntax` */
	struct heap *heap; /* memory for matching; NULL: malloc() */
};

struct errors_found {
	enum errors_kind kind;
	char message[384]; /* one line: (?<message>), or the whole line */
	char code[16];     /* (?<code>) of a compiler's error; empty: unknown */
	char file[256];    /* the path below /sandbox/code if it is there; empty: the code file */
	long line;         /* 0: unknown */
	long column;       /* 0: unknown */
};

void errors_find(const struct runtime *runtime, const struct errors_input *input, struct errors_found *found);

/* All errors that a compiler reports, by `compile` alone and in order. Returns their number; at most `max` are in
 * `found`. */
size_t errors_list(const struct runtime *runtime, const struct errors_input *input, struct errors_found *found,
		   size_t max);

/* The line that says why a program failed: the last that matches `cause` (or its (?<message>)), otherwise the last that
 * is neither blank nor `noise`; empty if there is none. {file} matches nothing in these patterns. */
void errors_cause(const struct runtime *runtime, const struct errors_input *input, char *line, size_t size);
