/*
 * Log lines on standard error, for people or for programs.
 *
 * A line is one write(2) of at most LOG_LINE_MAX bytes, so that lines of several processes do not mix, even in a pipe.
 * Text is sanitized: invalid UTF-8 becomes U+FFFD, and line breaks and control characters are escaped, so a caller
 * cannot forge a line. Text that does not fit is truncated, and the line stays complete: JSON stays valid. Logging
 * never fails: without standard error, lines are lost.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define LOG_LINE_MAX 4096 /* PIPE_BUF */

enum log_format {
	LOG_EVENTS, /* notices for a person, no requests */
	LOG_TEXT,   /* notices, and each event as a line of key=value */
	LOG_JSON,   /* notices and events as one JSON object a line */
};

struct log_field {
	const char *key;  /* NULL ends the list */
	const char *text; /* NULL: use the number */
	double number;    /* NaN and infinity are written as null */
};

/* Sets the format and the role that logs: "serve", "front", "keeper" or "store". `role` is kept, not copied. Until then
 * the format is LOG_EVENTS. Call it before threads start. */
void log_open(enum log_format format, const char *role);
/* Logs a sentence: "emberbox: SENTENCE", in LOG_TEXT "TIME ROLE SENTENCE", or JSON {"time", "level": "notice", "role",
 * "message"}. */
void log_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Logs an event with its fields (or NULL). LOG_EVENTS writes nothing. LOG_TEXT writes TIME ROLE EVENT key=value…: empty
 * values are left out, and a value that is not one plain word is quoted as in JSON. LOG_JSON writes {"time", "level":
 * "info", "role", "event", fields…}. A field that does not fit is left out. */
void log_event(const char *event, const struct log_field *fields);
