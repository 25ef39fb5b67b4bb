#include "cli/repl_cells.h"

#include "base/own.h"
#include "cli/repl_unfinished.h"

#include <stdlib.h>
#include <string.h>

enum {
	INTERRUPTED = 130, /* exit code of an interrupted cell */
};

/* The mark in a line, after which its words begin; NULL: none. */
static const char *mark_of(const char *line, const char *comment)
{
	size_t size = strlen(comment);

	if (strncmp(line, comment, size) != 0)
		return NULL;
	line += size;
	line += strspn(line, " ");
	return strncmp(line, "%%", 2) == 0 ? line + 2 : NULL;
}

void cells_write(const json_t *cells, const char *comment, const char *title, struct buf *out)
{
	size_t index;
	json_t *cell;

	buf_printf(out, "%s %s\n", comment, title);
	json_array_foreach(cells, index, cell)
	{
		const char *code = json_string_value(json_object_get(cell, "code"));
		const char *status = json_string_value(json_object_get(cell, "status"));
		json_int_t count = json_integer_value(json_object_get(cell, "count"));
		size_t size = code ? strlen(code) : 0;

		/* How drivers report an interrupted cell. */
		if (status && strcmp(status, "failed") == 0 &&
		    json_integer_value(json_object_get(cell, "exit_code")) == INTERRUPTED)
			status = "interrupted";

		while (size > 0 && code[size - 1] == '\n')
			size--;
		buf_printf(out, "\n%s %%%% %lld%s%s\n", comment, (long long)(count > 0 ? count : (json_int_t)index + 1),
			   status ? " " : "", status ? status : "");
		buf_add(out, code ? code : "", size);
		buf_text(out, "\n");
	}
}

/* The next line, including its end; `line` is terminated. False at the end. */
static bool next_line(const char **at, const char *end, struct buf *line)
{
	const char *stop = *at < end ? memchr(*at, '\n', (size_t)(end - *at)) : NULL;

	if (*at >= end)
		return false;
	stop = stop ? stop + 1 : end;
	line->size = 0;
	buf_add(line, *at, (size_t)(stop - *at));
	*at = stop;
	return !line->failed;
}

static bool is_blank(const char *text)
{
	return text[strspn(text, " \t\r\n")] == '\0';
}

/* Adds the collected lines as a cell, unless they are only comments (`bare`: only blank). */
static bool add_cell(struct cells *cells, struct buf *code, const char *mark, const char *comment, bool bare)
{
	struct cell *grown, cell = { 0 };
	bool says = false;
	size_t size = code->size;

	for (const char *at = size > 0 ? code->data : ""; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		const char *text = at + strspn(at, " \t\r");

		says |= *text && *text != '\n' && (bare || strncmp(text, comment, strlen(comment)) != 0);
	}
	if (!says) {
		code->size = 0;
		return true;
	}
	while (size > 0 && strchr(" \t\r\n", code->data[size - 1]))
		size--;
	cell.number = (unsigned)cells->count + 1;
	if (mark) {
		char *rest;
		unsigned long number = strtoul(mark, &rest, 10);

		if (number > 0 && number < 1000000000)
			cell.number = (unsigned)number;
		rest += strspn(rest, " ");
		snprintf(cell.status, sizeof(cell.status), "%.*s", (int)strspn(rest, "abcdefghijklmnopqrstuvwxyz_"),
			 rest);
	}
	cell.code = strndup(code->data, size);
	grown = realloc(cells->items, (cells->count + 1) * sizeof(*grown));
	if (grown)
		cells->items = grown;
	if (!cell.code || !grown) {
		free(cell.code);
		return false;
	}
	cells->items[cells->count++] = cell;
	code->size = 0;
	return true;
}

bool cells_read(const char *text, size_t size, const char *comment, struct cells *cells)
{
	_cleanup_buf_ struct buf line = { 0 }, code = { 0 };
	_cleanup_free_ char *mark = NULL;
	const char *at = text, *end = text + size;
	bool good = true;

	while (good && next_line(&at, end, &line)) {
		const char *words = mark_of(line.data, comment);

		if (!words) {
			buf_add(&code, line.data, line.size);
			continue;
		}
		/* Code before the first mark counts if it is more than comments. */
		good = add_cell(cells, &code, mark, comment, mark != NULL);
		free(mark);
		mark = strdup(words);
		good = good && mark;
	}
	return good && add_cell(cells, &code, mark, comment, mark != NULL) && !code.failed && !line.failed;
}

/* The end of the last line is not an empty line that would end a block. */
static enum unfinished how_far(const char *language, const struct buf *code)
{
	return code->size == 0 ? UNFINISHED_NOT
			       : unfinished(language, code->data, code->size - (code->data[code->size - 1] == '\n'));
}

bool cells_split(const char *text, size_t size, const char *language, struct cells *cells)
{
	const char *comment = unfinished_comment(language), *at = text, *end = text + size;
	_cleanup_buf_ struct buf line = { 0 }, code = { 0 };
	bool good = true;

	while (next_line(&at, end, &line))
		if (mark_of(line.data, comment))
			return cells_read(text, size, comment, cells);
	at = text;
	while (good && next_line(&at, end, &line)) {
		enum unfinished how = how_far(language, &code);

		/* An empty line does not end a block here: the next line decides. */
		if (how == UNFINISHED_BLOCK && !unfinished_goes_on(language, code.data, line.data))
			good = add_cell(cells, &code, NULL, comment, false);
		if (is_blank(line.data) && how != UNFINISHED_OPEN)
			continue;
		buf_add(&code, line.data, line.size);
		if (good && how_far(language, &code) == UNFINISHED_NOT)
			good = add_cell(cells, &code, NULL, comment, false);
	}
	return good && add_cell(cells, &code, NULL, comment, false) && !code.failed && !line.failed;
}

void cells_free(struct cells *cells)
{
	for (size_t i = 0; i < cells->count; i++)
		free(cells->items[i].code);
	free(cells->items);
	*cells = (struct cells){ 0 };
}
