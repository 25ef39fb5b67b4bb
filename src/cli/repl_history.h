/*
 * The cells that were typed, in a file: one JSON string a line, the newest last.
 *
 * Each is one write to the end of it, so two REPLs at once lose nothing of each
 * other's. A file that has grown is made short when it is opened. No place to
 * keep it, or a line that is damaged, is no error: history is a convenience.
 */
#pragma once

#include <stddef.h>

struct line_history {
	int fd; /* of the file, for adding; 0 or less: there is none */
};

/* NAME in the directory `repl` of the state directory. */
void line_history_open(struct line_history *history, const char *name);
/* The last `most` of them, the oldest first. */
void line_history_each(struct line_history *history, size_t most, void (*each)(const char *cell, void *userdata),
		       void *userdata);
void line_history_add(struct line_history *history, const char *cell);
void line_history_close(struct line_history *history);
