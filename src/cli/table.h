/*
 * Tables for a terminal.
 *
 * Columns are as wide as their content, counted in cells, so they are aligned
 * also with accents and wide characters. The column that yields, then the last
 * column, is truncated to the terminal's width. Control characters in untrusted
 * text (such as errors) are replaced.
 */
#pragma once

#include "base/buf.h"
#include "term/cells.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	TABLE_COLUMNS = 12 /* maximum */
};

struct table {
	size_t columns;               /* number of columns */
	bool right[TABLE_COLUMNS];    /* right-aligned */
	size_t widths[TABLE_COLUMNS]; /* widths so far */
	struct table_cell {
		char *text;       /* plain text, owned */
		enum paint paint; /* its colour */
	} * cells;                /* by rows */
	size_t count;             /* number of cells */
	size_t yields;            /* the column that is truncated before the last one, from 1; 0: none */
	bool failed;              /* memory ran out */
};

/* `titles` is a list of names separated by '|', each with a '>' before it if its column is right-aligned. */
void table_begin(struct table *table, const char *titles);
void table_add(struct table *table, enum paint paint, const char *text);
void table_addf(struct table *table, enum paint paint, const char *format, ...) EB_PRINTF(3, 4);
/* Appends the text to `out`. `width` 0: no truncation. */
void table_print(const struct table *table, unsigned width, bool colour, struct buf *out);
void table_free(struct table *table);
#define _cleanup_table_ _cleanup_(table_free)

/* Properties of standard output: its width (0: no terminal, no truncation), and whether to use colours. */
unsigned terminal_width(void);
bool terminal_colour(void);

/* "850 µs", "12.3 ms", "1.25 s", "2 min 05 s". */
#define TABLE_WORD 32
const char *duration_text(double seconds, char out[TABLE_WORD]);
/* "12.5 MiB". */
const char *bytes_text(double bytes, char out[TABLE_WORD]);
