/*
 * What a program's standard error tells, by the patterns of its language.
 *
 * Hostile input: it is the program that wrote it. Patterns are matched line by
 * line, as bytes, each match with a bounded effort; what takes longer does not
 * match (pattern.h). Looked at are 16 KiB of a line, 16384 lines and 1 MiB, of a compiler's
 * the first, of a program's the last; a call takes some 40 ms at most.
 *
 * A syntax error is told by walking the lines from the first, blank ones aside:
 * `match` is the error, with its own line number or the last that `place` kept;
 * if there is a `place`, one of them has to be there. A line like `unless`,
 * before or after, says that it is none. If `ends` is set, a later line unlike
 * it says that the program went on: it was none, but another may follow. Of
 * several forms the first that applies counts. Where there is a compile step,
 * only the compiler tells of errors.
 */
#pragma once

#include "language/pattern.h"
#include "language/runtime.h"

enum errors_kind {
	ERRORS_NONE,    /* nothing is told: a failure at run time, or one that no pattern knows */
	ERRORS_SYNTAX,  /* the program is no program of its language */
	ERRORS_COMPILE, /* it is, but does not compile */
};

struct errors_input {
	const char *text;  /* standard error, with a zero at its end */
	size_t size;       /* its size */
	const char *file;  /* the code file's path in the box */
	int exit_code;     /* of the program or the compiler */
	bool printed;      /* something is on standard output */
	bool compiling;    /* it was the compiler: `compile` applies as well, after `syntax` */
	struct heap *heap; /* for all that is made on the way; NULL: malloc() */
};

struct errors_found {
	enum errors_kind kind;
	char message[384]; /* what is wrong: (?<message>), else the line; one line in any case */
	char code[16];     /* of a compiler's error, (?<code>); empty: not told */
	char file[256];    /* where, below /sandbox/code if it is there; empty: the code file */
	long line;         /* 0: not told */
	long column;       /* 0: not told */
};

void errors_find(const struct runtime *runtime, const struct errors_input *input, struct errors_found *found);

/* All errors that a compiler names, by `compile` alone and in its order: how many of at most `max` are in `found`. */
size_t errors_list(const struct runtime *runtime, const struct errors_input *input, struct errors_found *found,
		   size_t max);

/* The line that says why a program failed: the last that matches `cause`, or what (?<message>) is of it; else the last
 * that is neither blank nor `noise`; empty when there is none. {file} is nothing in these. */
void errors_cause(const struct runtime *runtime, const struct errors_input *input, char *line, size_t size);
