/*
 * Tables for a terminal.
 *
 * Columns are as wide as what is in them, counted in a terminal's cells, so
 * they stay aligned also with accents and wide characters. The last column is
 * cut to what the terminal has left, after the one that yields. What strangers
 * wrote (an error's text) cannot move the cursor or change colours: control
 * characters are replaced.
 */
#pragma once

#include "base/buf.h"
#include "term/cells.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	TABLE_COLUMNS = 12 /* at most */
};

struct table {
	size_t columns;               /* how many */
	bool right[TABLE_COLUMNS];    /* aligned to the right */
	size_t widths[TABLE_COLUMNS]; /* so far */
	struct table_cell {
		char *text;       /* plain, owned */
		enum paint paint; /* its colour */
	} * cells;                /* row by row */
	size_t count;             /* of the cells */
	size_t yields;            /* which column is cut before the last one, from 1; 0: none */
	bool failed;              /* memory ran out */
};

/* `titles` is a list of names separated by '|', each with a '>' before it if its column is aligned to the right. */
void table_begin(struct table *table, const char *titles);
void table_add(struct table *table, enum paint paint, const char *text);
void table_addf(struct table *table, enum paint paint, const char *format, ...) EB_PRINTF(3, 4);
/* Adds the text to `out`. `width` 0: nothing is cut. */
void table_print(const struct table *table, unsigned width, bool colour, struct buf *out);
void table_free(struct table *table);
#define _cleanup_table_ _cleanup_(table_free)

/* What standard output is: its width (0: it is no terminal, nothing is cut) and whether colours are wanted there. */
unsigned terminal_width(void);
bool terminal_colour(void);

/* For people: "850 µs", "12.3 ms", "1.25 s", "2 min 05 s". */
#define TABLE_WORD 32
const char *duration_text(double seconds, char out[TABLE_WORD]);
/* "12.5 MiB". */
const char *bytes_text(double bytes, char out[TABLE_WORD]);
