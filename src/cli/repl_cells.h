/*
 * Cells as a source file that can be read, edited and run elsewhere: each
 * begins with a comment `# %% N STATUS` (`//` or `--` in some languages), which
 * editors recognize. Pure.
 */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct cell {
	char *code;      /* terminated; owned */
	char status[24]; /* its status when it was saved; "": unknown */
	unsigned number; /* number by the mark, or by its position */
};

struct cells {
	struct cell *items; /* owned */
	size_t count;       /* number of them */
};

/* `cells` is the list of GET …/cells: objects with code and status. `title` is a line about their origin. */
void cells_write(const json_t *cells, const char *comment, const char *title, struct buf *out);
/* Splits a file at its marks. A text without marks is one cell. False if memory ran out. */
bool cells_read(const char *text, size_t size, const char *comment, struct cells *cells);
/* Splits a program from a pipe where its statements end, or at marks if it has them. */
bool cells_split(const char *text, size_t size, const char *language, struct cells *cells);
void cells_free(struct cells *cells);
#define _cleanup_cells_ _cleanup_(cells_free)
