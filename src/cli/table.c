#include "cli/table.h"

#include "base/own.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
	YIELD_LEAST = 12 /* minimum width of a column that yields */
};

unsigned terminal_width(void)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO))
		return 0;
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

bool terminal_colour(void)
{
	const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no && *no) && !(terminal && strcmp(terminal, "dumb") == 0);
}

static void cell_add(struct table *table, enum paint paint, char *text)
{
	size_t column = table->count % table->columns, cells;
	struct table_cell *grown;

	if (!text || !(grown = realloc(table->cells, (table->count + 1) * sizeof(*grown)))) {
		free(text);
		table->failed = true;
		return;
	}
	table->cells = grown;
	grown[table->count++] = (struct table_cell){ .text = text, .paint = paint };
	cells = text_cells(text);
	if (cells > table->widths[column])
		table->widths[column] = cells;
}

void table_add(struct table *table, enum paint paint, const char *text)
{
	struct buf line = { 0 };

	text_line(text ? text : "", 0, &line);
	cell_add(table, paint, buf_take(&line));
}

void table_addf(struct table *table, enum paint paint, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	table_add(table, paint, text);
}

void table_begin(struct table *table, const char *titles)
{
	*table = (struct table){ .columns = 1 };
	for (const char *at = titles; *at; at++)
		table->columns += *at == '|';
	for (size_t i = 0; i < table->columns; i++) {
		size_t size = strcspn(titles, "|");

		table->right[i] = *titles == '>';
		table_addf(table, PAINT_DIM, "%.*s", (int)(size - table->right[i]), titles + table->right[i]);
		titles += size + (titles[size] == '|');
	}
}

static void cell_pad(struct buf *out, size_t cells)
{
	while (cells-- > 0)
		buf_text(out, " ");
}

/* Cells are truncated at the width, and columns beyond it are left out. */
static void print_row(const struct table *table, const struct table_cell *row, unsigned width, bool colour,
		      struct buf *out)
{
	size_t used = 0;

	for (size_t i = 0; i < table->columns && (width == 0 || used < width); i++) {
		size_t cells = text_cells(row[i].text), wide = table->widths[i], begin;
		size_t room = width == 0 ? 0 : width - used;
		bool cut = width > 0 && wide > room;

		if (table->right[i] && !cut && cells < wide)
			cell_pad(out, wide - cells);
		buf_text(out, paint_begin(row[i].paint, colour && *row[i].text));
		begin = out->size;
		text_line(row[i].text, cells > wide && !cut ? wide : room, out);
		/* A truncated wide character may leave one cell. */
		if (cells > wide)
			cells = out->failed ? wide : text_cells(out->data + begin);
		buf_text(out, paint_end(row[i].paint, colour && *row[i].text));
		if (cut)
			break;
		cell_pad(out, (table->right[i] ? 0 : wide - cells) + 2);
		used += wide + 2;
	}
	/* No trailing blanks. */
	while (out->size > 0 && out->data[out->size - 1] == ' ')
		out->data[--out->size] = '\0';
	buf_text(out, "\n");
}

/* Narrows the column that yields, down to its minimum width. */
static void make_room(struct table *table, unsigned width)
{
	size_t used = 0, *yields = &table->widths[table->yields - 1];

	for (size_t i = 0; i < table->columns; i++)
		used += table->widths[i] + (i > 0 ? 2 : 0);
	if (used <= width || *yields <= YIELD_LEAST)
		return;
	*yields = *yields - YIELD_LEAST > used - width ? *yields - (used - width) : YIELD_LEAST;
}

void table_print(const struct table *table, unsigned width, bool colour, struct buf *out)
{
	struct table fitted = *table;

	if (width > 0 && table->yields > 0)
		make_room(&fitted, width);
	for (size_t at = 0; at + table->columns <= table->count; at += table->columns)
		print_row(&fitted, table->cells + at, width, colour, out);
	out->failed |= table->failed;
}

void table_free(struct table *table)
{
	for (size_t i = 0; i < table->count; i++)
		free(table->cells[i].text);
	free(table->cells);
	*table = (struct table){ 0 };
}

const char *duration_text(double seconds, char out[TABLE_WORD])
{
	if (seconds < 0.0009995)
		snprintf(out, TABLE_WORD, "%.0f µs", seconds * 1e6);
	else if (seconds < 0.09995)
		snprintf(out, TABLE_WORD, "%.1f ms", seconds * 1e3);
	else if (seconds < 0.9995)
		snprintf(out, TABLE_WORD, "%.0f ms", seconds * 1e3);
	else if (seconds < 59.995)
		snprintf(out, TABLE_WORD, "%.2f s", seconds);
	else
		snprintf(out, TABLE_WORD, "%llu min %02llu s", (unsigned long long)seconds / 60,
			 (unsigned long long)seconds % 60);
	return out;
}

const char *bytes_text(double bytes, char out[TABLE_WORD])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	size_t unit = 0;

	while (bytes >= 1023.95 && unit + 1 < ARRAY_SIZE(units)) {
		bytes /= 1024;
		unit++;
	}
	snprintf(out, TABLE_WORD, unit == 0 || bytes >= 99.95 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
	return out;
}
