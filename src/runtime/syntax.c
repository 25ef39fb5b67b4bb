#include "runtime/syntax.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The line after `line`, or NULL. */
static const char *line_next(const char *line)
{
	const char *end = strchr(line, '\n');

	return end && end[1] ? end + 1 : NULL;
}

/* What follows if the line begins so, or NULL. */
static const char *line_after(const char *line, const char *start)
{
	size_t size = strlen(start);

	return strncmp(line, start, size) == 0 ? line + size : NULL;
}

static bool tell(const char *what, size_t what_size, const char *line_number, char *detail, size_t size)
{
	long number = line_number ? strtol(line_number, NULL, 10) : 0;

	if (number > 0)
		snprintf(detail, size, "%.*s (line %ld)", (int)what_size, what, number);
	else
		snprintf(detail, size, "%.*s", (int)what_size, what);
	return true;
}

/*
 *   File "/sandbox/code/main.py", line 3
 *     def f(:
 *           ^
 * SyntaxError: invalid syntax
 *
 * No traceback: nothing of the program ran.
 */
bool syntax_python(const struct syntax_input *input, char *detail, size_t size)
{
	static const char *const kinds[] = { "SyntaxError: ", "IndentationError: ", "TabError: " };
	const char *number = NULL;

	if (input->exit_code != 1 || input->printed)
		return false;
	for (const char *line = input->errors; line; line = line_next(line)) {
		const char *place = line_after(line, "  File \"");

		if (line_after(line, "Traceback ("))
			return false;
		place = place ? line_after(place, input->file) : NULL;
		place = place ? line_after(place, "\", line ") : NULL;
		number = place ? place : number;
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
			const char *what = line_after(line, kinds[i]);
			size_t what_size = what ? strcspn(what, "\n") : 0;

			/* A file that is not even text is reported in one line that names it. */
			if (what && (number || memmem(what, what_size, input->file, strlen(input->file))))
				return tell(what, what_size, number, detail, size);
		}
	}
	return false;
}

/*
 * /sandbox/code/main.js:3
 * let = = 1
 *       ^
 *
 * SyntaxError: Unexpected token '='
 *     at wrapSafe (node:internal/…)
 *
 * Frames of the program's own would mean that it ran, and read something else.
 */
bool syntax_node(const struct syntax_input *input, char *detail, size_t size)
{
	const char *number = NULL, *what = NULL;

	if (input->exit_code != 1 || input->printed)
		return false;
	for (const char *line = input->errors; line; line = line_next(line)) {
		const char *place = line_after(line, "file://");

		if (what) {
			const char *end = line + strcspn(line, "\n");

			if (line_after(line, "    at ") && memmem(line, (size_t)(end - line), "/sandbox/code/", 14))
				return false;
			continue;
		}
		place = line_after(place ? place : line, input->file);
		place = place ? line_after(place, ":") : NULL;
		number = number ? number : place;
		if (number)
			what = line_after(line, "SyntaxError: ");
	}
	return what && tell(what, strcspn(what, "\n"), number, detail, size);
}

/*
 * /sandbox/code/main.sh: line 3: syntax error near unexpected token `;'
 * /sandbox/code/main.sh: line 3: `if ;'
 *
 * Bash runs what stands before it, so there may be other output; but it ends there, with 2.
 */
bool syntax_bash(const struct syntax_input *input, char *detail, size_t size)
{
	static const char *const marks[] = { "syntax error: ", "syntax error ", "unexpected EOF while " };
	const char *number = NULL, *what = NULL;

	if (input->exit_code != 2)
		return false;
	for (const char *line = input->errors; line; line = line_next(line)) {
		const char *place = line_after(line, input->file), *text;

		place = place ? line_after(place, ": line ") : NULL;
		text = place ? strstr(place, ": ") : NULL;
		if (!text) {
			/* Something came after it, so Bash went on. */
			what = NULL;
			continue;
		}
		text += 2;
		/* The first of several is the cause; the quoted line belongs to it. */
		for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]) && !what; i++) {
			if (!line_after(text, marks[i]))
				continue;
			what = i < 2 ? line_after(text, marks[i]) : text;
			number = place;
		}
	}
	return what && tell(what, strcspn(what, "\n"), number, detail, size);
}
