/*
 * Errors: what *we* failed at, never what the program did.
 *
 * A function that can fail takes `struct error *err` last, fills it, and
 * returns -1. A caller adds context with error_prefix() and passes it on. Only
 * src/cli prints. Between clone and exec nothing of this is used: code there
 * returns -1 with errno set, and the parent makes the sentence.
 */
#pragma once

enum error_kind {
	ERROR_NONE,     /* nothing went wrong */
	ERROR_FAILED,   /* emberbox or the host failed: exit code 125 */
	ERROR_USAGE,    /* the request cannot be meant: exit code 2 */
	ERROR_LANGUAGE, /* the language is unknown or not installed: exit code 127 */
	ERROR_LAYER,    /* a layer of isolation is missing and not waived: 125 */
	ERROR_BLOCKED,  /* a policy forbids it, or nobody agreed to it: 126 */
};

struct error {
	enum error_kind kind; /* decides the exit code */
	int errnum;           /* the errno behind it, or 0 */
	char text[1024];      /* one sentence for a person, no newline */
};

#define EB_PRINTF(a, b) __attribute__((format(printf, a, b)))

/* All three return -1, so that `return error_set(…)` reads well. With an errnum, its description is appended after a
 * colon. */
int error_set(struct error *err, enum error_kind kind, int errnum, const char *format, ...) EB_PRINTF(4, 5);
int error_errno(struct error *err, const char *format, ...) EB_PRINTF(2, 3);
int error_usage(struct error *err, const char *format, ...) EB_PRINTF(2, 3);
/* Adds to the end of the sentence, if there is room. */
void error_hint(struct error *err, const char *hint);
int error_prefix(struct error *err, const char *format, ...) EB_PRINTF(2, 3);
