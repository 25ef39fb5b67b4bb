/*
 * Lines for people or for programs, on standard error.
 *
 * A line is one write(2) of at most LOG_LINE_MAX bytes, so that lines of several processes do not mix, also in a pipe.
 * Texts are cleaned: what is not UTF-8 becomes U+FFFD, what would end a line or move a terminal's cursor is escaped; so
 * nothing that a caller sent can forge a line. What does not fit is cut, and the line stays whole: JSON stays JSON.
 * Nothing fails: when standard error is gone, the line is.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define LOG_LINE_MAX 4096 /* PIPE_BUF */

enum log_format {
	LOG_EVENTS, /* what a person has to know, and no requests */
	LOG_TEXT,   /* that, and each event as a line of key=value */
	LOG_JSON,   /* both as one object a line */
};

struct log_field {
	const char *key;  /* NULL ends the list */
	const char *text; /* or NULL: the number */
	double number;    /* whatever is not finite is null */
};

/* Which role speaks: "serve", "front", "keeper", "store". Kept, not copied. Before it is called: LOG_EVENTS. Call it
 * before there are threads. */
void log_open(enum log_format format, const char *role);
/* A sentence for a person: "emberbox: SENTENCE", in LOG_TEXT "TIME ROLE SENTENCE", or JSON {"time", "level": "notice",
 * "role", "message"}. */
void log_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Something that happened, with its fields (or NULL): nothing in LOG_EVENTS. Text: TIME ROLE EVENT key=value…, where a
 * value that is not one plain word is quoted as in JSON, and an empty one left out. JSON: {"time", "level": "info",
 * "role", "event", fields…}. A field that does not fit is left out. */
void log_event(const char *event, const struct log_field *fields);
