/*
 * Cells as a source file that can be read, edited and run elsewhere: each begins
 * with a comment `# %% N STATUS` (`//` or `--` where that is the comment), as
 * editors know them. Pure.
 */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct cell {
	char *code;      /* terminated; owned */
	char status[24]; /* how it ended when it was saved; "": not said */
	unsigned number; /* in the file, or from the mark */
};

struct cells {
	struct cell *items; /* owned */
	size_t count;       /* how many */
};

/* `cells` is what GET …/cells lists: objects with code and status. `title` is a line about where they are from. */
void cells_write(const json_t *cells, const char *comment, const char *title, struct buf *out);
/* A text without marks is one cell. False without memory. */
bool cells_read(const char *text, size_t size, const char *comment, struct cells *cells);
/* A program that comes line by line, cut where a language's statements end; with marks, at those. */
bool cells_split(const char *text, size_t size, const char *language, struct cells *cells);
void cells_free(struct cells *cells);
#define _cleanup_cells_ _cleanup_(cells_free)
