/*
 * Prints a table: {"columns": [names], "rows": [[values]…]}, as SQL and data
 * frames are in `outputs`.
 *
 * Columns are as wide as their content, in cells; numbers are right-aligned. A
 * table that is too wide is truncated: the widest columns first, then the last
 * columns are left out, with a note. Pure.
 */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum {
	GRID_ROWS_MAX = 200, /* maximum of rows shown */
};

/* False if the object is no table; nothing is appended. `width` 0: no truncation. */
bool grid_print(const json_t *result, unsigned width, bool colour, struct buf *out);
