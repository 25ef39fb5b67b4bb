/*
 * A result of rows as a table: {"columns": [names], "rows": [[values]…]}, as SQL
 * and data frames come in `outputs`.
 *
 * Columns are as wide as what is in them, in a terminal's cells; numbers stand
 * to the right. What is too wide for the terminal is cut: the widest columns
 * first, then the last ones are left out, and a line says so. Pure.
 */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum {
	GRID_ROWS_MAX = 200, /* shown */
};

/* False: that is no such object; nothing is added. `width` 0: nothing is cut. */
bool grid_print(const json_t *result, unsigned width, bool colour, struct buf *out);
