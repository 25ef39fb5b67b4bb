/*
 * Finds the column of an error by the mark below a line. Interpreters and
 * compilers print the line of code, perhaps without its indentation or after
 * words of their own, and below it a ^ and nothing else.
 */
#include "explain/explain_parts.h"

#include <string.h>

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Finds the ^ in a line that otherwise has only blanks and ~. */
static bool find_mark(struct span line, long *at)
{
	bool there = false;

	for (size_t i = 0; i < line.size; i++) {
		if (line.start[i] == '^' && !there) {
			*at = (long)i;
			there = true;
		} else if (!is_blank(line.start[i]) && !strchr("^~\r", line.start[i])) {
			return false;
		}
	}
	return there;
}

static long column_of(struct span code, struct span shown, long mark)
{
	size_t blanks = 0, length;
	long before;
	const char *found;

	while (blanks < code.size && is_blank(code.start[blanks]))
		blanks++;
	while (code.size > blanks && is_blank(code.start[code.size - 1]))
		code.size--;
	length = code.size - blanks;
	found = length ? memmem(shown.start, shown.size, code.start + blanks, length) : NULL;
	if (!found)
		return 0;
	before = source_characters(shown, (size_t)(found - shown.start));
	/* Something may be missing after the end of the line. */
	if (mark < before || mark > before + source_characters((struct span){ found, length }, length))
		return 0;
	return (long)blanks + mark - before + 1;
}

void caret_read(struct explainer *x)
{
	struct explanation *out = x->out;
	struct span code, shown = { "", 0 };
	const char *at = x->text.start;
	struct line line;
	long mark = 0;

	if (out->line == 0 || out->column > 0 || !source_line(source_find(x->in, out->file), out->line, &code))
		return;
	/* The first error of a compiler is the cause, but the last trace of a program. */
	while (line_next(x->text, &at, &line) && !(x->in->compiling && out->column > 0)) {
		if (find_mark(line.here, &mark)) {
			long column = column_of(code, shown, mark);

			out->column = column ? column : out->column;
		}
		shown = line.here;
	}
}
