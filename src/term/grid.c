#include "term/grid.h"

#include "base/own.h"
#include "term/cells.h"

#include <stdlib.h>
#include <string.h>

enum {
	COLUMN_LEAST = 6, /* minimum width of a truncated column */
	GAP = 2,          /* cells between columns */
	NUMBER_SIZE = 40, /* bytes of a number as text */
};

struct grid_cell {
	char *text;  /* one line; owned */
	size_t wide; /* its width in cells */
};

struct grid {
	size_t columns, rows;    /* rows without the titles */
	size_t *widths;          /* of the columns; owned */
	bool *right;             /* whether all values of a column are numbers; owned */
	struct grid_cell *cells; /* by rows, the titles first; owned */
	bool failed;             /* memory ran out */
};

/* The text of a value on one line. */
static char *value_text(const json_t *value)
{
	struct buf line = { 0 };
	_cleanup_free_ char *dumped = NULL;
	const char *text = json_string_value(value);

	if (!text && json_is_null(value))
		text = "";
	if (!text)
		text = dumped = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
	text_line(text ? text : "", 0, &line);
	/* Only the first line of the text is shown. */
	if (text && strchr(text, '\n'))
		buf_text(&line, "…");
	buf_add(&line, "", 0);
	return buf_take(&line);
}

static void set_cell(struct grid *grid, size_t row, size_t column, const json_t *value)
{
	struct grid_cell *cell = &grid->cells[row * grid->columns + column];

	cell->text = value_text(value);
	if (!cell->text) {
		grid->failed = true;
		return;
	}
	cell->wide = text_cells(cell->text);
	if (cell->wide > grid->widths[column])
		grid->widths[column] = cell->wide;
	if (row > 0 && !json_is_number(value) && !json_is_null(value))
		grid->right[column] = false;
}

static void grid_free(struct grid *grid)
{
	for (size_t i = 0; grid->cells && i < grid->columns * (grid->rows + 1); i++)
		free(grid->cells[i].text);
	free(grid->cells);
	free(grid->widths);
	free(grid->right);
}

static bool grid_fill(struct grid *grid, const json_t *columns, const json_t *rows)
{
	grid->widths = calloc(grid->columns, sizeof(*grid->widths));
	grid->right = malloc(grid->columns * sizeof(*grid->right));
	grid->cells = calloc(grid->columns * (grid->rows + 1), sizeof(*grid->cells));
	if (!grid->widths || !grid->right || !grid->cells)
		return false;
	memset(grid->right, grid->rows > 0, grid->columns * sizeof(*grid->right));
	for (size_t c = 0; c < grid->columns; c++)
		set_cell(grid, 0, c, json_array_get(columns, c));
	for (size_t r = 0; r < grid->rows; r++)
		for (size_t c = 0; c < grid->columns; c++)
			set_cell(grid, r + 1, c, json_array_get(json_array_get(rows, r), c));
	return !grid->failed;
}

/* Shrinks the widest columns to fit; if this is not enough, returns a smaller number of columns. */
static size_t grid_fit(struct grid *grid, unsigned width)
{
	size_t used, widest, shown = 0, so_far = 0;

	for (;;) {
		used = 0;
		widest = 0;
		for (size_t c = 0; c < grid->columns; c++) {
			used += grid->widths[c] + (c > 0 ? GAP : 0);
			if (grid->widths[c] > grid->widths[widest])
				widest = c;
		}
		if (used <= width || grid->widths[widest] <= COLUMN_LEAST)
			break;
		grid->widths[widest] -= grid->widths[widest] - COLUMN_LEAST < used - width ? 1 : (used - width + 3) / 4;
	}
	while (shown < grid->columns && so_far + grid->widths[shown] <= width)
		so_far += grid->widths[shown++] + GAP;
	return shown > 0 ? shown : 1;
}

static void cell_pad(struct buf *out, size_t cells)
{
	while (cells-- > 0)
		buf_text(out, " ");
}

static void print_row(const struct grid *grid, size_t row, size_t shown, bool colour, struct buf *out)
{
	for (size_t c = 0; c < shown; c++) {
		const struct grid_cell *cell = &grid->cells[row * grid->columns + c];
		size_t wide = cell->wide, room = grid->widths[c], begin;
		enum paint paint = row == 0 ? PAINT_BOLD : PAINT_NONE;

		if (grid->right[c] && wide < room)
			cell_pad(out, room - wide);
		buf_text(out, paint_begin(paint, colour));
		begin = out->size;
		text_line(cell->text, wide > room ? room : 0, out);
		if (wide > room && !out->failed)
			wide = text_cells(out->data + begin);
		buf_text(out, paint_end(paint, colour));
		if (c + 1 < shown)
			cell_pad(out, (grid->right[c] && cell->wide < room ? 0 : room - wide) + GAP);
	}
	while (out->size > 0 && out->data[out->size - 1] == ' ')
		out->data[--out->size] = '\0';
	buf_text(out, "\n");
}

static void print_rule(const struct grid *grid, size_t shown, bool colour, struct buf *out)
{
	buf_text(out, paint_begin(PAINT_DIM, colour));
	for (size_t c = 0; c < shown; c++) {
		for (size_t i = 0; i < grid->widths[c]; i++)
			buf_text(out, "─");
		if (c + 1 < shown)
			cell_pad(out, GAP);
	}
	buf_text(out, paint_end(PAINT_DIM, colour));
	buf_text(out, "\n");
}

bool grid_print(const json_t *result, unsigned width, bool colour, struct buf *out)
{
	const json_t *columns = json_object_get(result, "columns"), *rows = json_object_get(result, "rows");
	const json_t *count = json_object_get(result, "row_count");
	_cleanup_(grid_free) struct grid grid = { .columns = json_array_size(columns) };
	size_t total = json_array_size(rows), shown;

	if (!json_is_array(columns) || !json_is_array(rows) || grid.columns == 0)
		return false;
	for (size_t r = 0; r < total; r++)
		if (!json_is_array(json_array_get(rows, r)))
			return false;
	grid.rows = total < GRID_ROWS_MAX ? total : GRID_ROWS_MAX;
	if (!grid_fill(&grid, columns, rows))
		return false;
	shown = width > 0 ? grid_fit(&grid, width) : grid.columns;
	for (size_t r = 0; r <= grid.rows; r++) {
		print_row(&grid, r, shown, colour, out);
		if (r == 0)
			print_rule(&grid, shown, colour, out);
	}
	if (json_is_integer(count) && json_integer_value(count) > (json_int_t)total)
		total = (size_t)json_integer_value(count);
	buf_text(out, paint_begin(PAINT_DIM, colour));
	buf_printf(out, "(%zu row%s", total, total == 1 ? "" : "s");
	if (total > grid.rows)
		buf_printf(out, ", the first %zu shown", grid.rows);
	if (shown < grid.columns)
		buf_printf(out, ", %zu of %zu columns", shown, grid.columns);
	buf_text(out, ")");
	buf_text(out, paint_end(PAINT_DIM, colour));
	buf_text(out, "\n");
	return true;
}
