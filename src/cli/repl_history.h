/*
 * The history of typed cells, in a file: one JSON string a line, the newest
 * last.
 *
 * Each cell is appended with one write, so concurrent REPLs do not lose each
 * other's cells. A large file is shortened when it is opened. History is
 * optional: a missing directory or a damaged line is no error.
 */
#pragma once

#include <stddef.h>

struct line_history {
	int fd; /* the file, for appending; 0 or less: none */
};

/* Opens NAME in the directory `repl` of the state directory. */
void line_history_open(struct line_history *history, const char *name);
/* Calls the function for the last `most` cells, the oldest first. */
void line_history_each(struct line_history *history, size_t most, void (*each)(const char *cell, void *userdata),
		       void *userdata);
void line_history_add(struct line_history *history, const char *cell);
void line_history_close(struct line_history *history);
