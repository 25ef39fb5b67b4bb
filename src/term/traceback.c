#include "term/traceback.h"

#include <string.h>

#define NAME  "\033[1;31m"
#define SAID  "\033[31m"
#define PLACE "\033[36m"
#define LINE  "\033[33m"
#define DIM   "\033[2m"
#define END   "\033[0m"

static bool text_begins(const char *text, size_t size, const char *with)
{
	return size >= strlen(with) && memcmp(text, with, strlen(with)) == 0;
}

static void part_paint(struct buf *out, const char *colour, const char *text, size_t size)
{
	if (size == 0)
		return;
	buf_text(out, colour);
	buf_add(out, text, size);
	buf_text(out, END);
}

static size_t digits_of(const char *text, size_t size)
{
	size_t n = 0;

	while (n < size && text[n] >= '0' && text[n] <= '9')
		n++;
	return n;
}

/* File "PATH", line N, in NAME. */
static bool paint_file(const char *text, size_t size, struct buf *out)
{
	static const char head[] = "  File \"";
	const char *open = text + sizeof(head) - 2, *line;
	size_t number;

	if (!text_begins(text, size, head))
		return false;
	line = memmem(open + 1, (size_t)(text + size - open - 1), "\", line ", 8);
	if (!line)
		return false;
	number = digits_of(line + 8, (size_t)(text + size - line - 8));
	buf_add(out, text, (size_t)(open - text) + 1);
	part_paint(out, PLACE, open + 1, (size_t)(line - open) - 1);
	buf_add(out, line, 8);
	part_paint(out, LINE, line + 8, number);
	buf_add(out, line + 8 + number, (size_t)(text + size - line - 8) - number);
	return true;
}

/* The length of an error's name at the start: dotted words, the last one with a capital, followed by ": " or the end.
 * 0: there is none. */
static size_t error_name(const char *text, size_t size, bool any)
{
	static const char *const ends[] = { "Error", "Exception", "Interrupt", "Exit", "Warning", "Iteration" };
	size_t n = 0, word = 0;

	while (n < size &&
	       ((text[n] >= 'a' && text[n] <= 'z') || (text[n] >= 'A' && text[n] <= 'Z') || text[n] == '_' ||
		(n > 0 && (text[n] == '.' || text[n] == ':' || (text[n] >= '0' && text[n] <= '9'))))) {
		if (text[n] == ':' && (n + 1 >= size || text[n + 1] != ':'))
			break;
		n += text[n] == ':';
		word = text[n] == '.' || text[n] == ':' ? n + 1 : word;
		n++;
	}
	if (n == 0 || word >= n || (n < size && text[n] != ':'))
		return 0;
	if (any)
		return n;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (n - word >= strlen(ends[i]) && memcmp(text + n - strlen(ends[i]), ends[i], strlen(ends[i])) == 0)
			return n;
	return 0;
}

static size_t blanks_of(const char *text, size_t size)
{
	size_t n = 0;

	while (n < size && (text[n] == ' ' || text[n] == '\t'))
		n++;
	return n;
}

static bool only_marks(const char *text, size_t size)
{
	bool marked = false;

	for (size_t i = 0; i < size; i++) {
		if (!strchr(" ^~", text[i]))
			return false;
		marked |= text[i] == '^';
	}
	return marked;
}

/* Colours one line, without its end. */
static void paint_line(struct trace *trace, const char *text, size_t size, struct buf *out)
{
	size_t lead = blanks_of(text, size), uncaught = text_begins(text, size, "Uncaught ") ? 9 : 0, name;

	if (text_begins(text, size, "Traceback (most recent call last):")) {
		trace->inside = true;
		part_paint(out, DIM, text, size);
	} else if (text_begins(text, size, "  File \"") && paint_file(text, size, out)) {
		trace->inside = true;
	} else if (lead > 0 &&
		   (text_begins(text + lead, size - lead, "at ") || text_begins(text + lead, size - lead, "from "))) {
		/* Node.js, Java, Ruby. */
		part_paint(out, DIM, text, size);
	} else if (only_marks(text, size)) {
		part_paint(out, SAID, text, size);
	} else if (lead == 0 && (name = error_name(text + uncaught, size - uncaught, trace->inside)) > 0) {
		trace->inside = false;
		part_paint(out, NAME, text, uncaught + name);
		part_paint(out, SAID, text + uncaught + name, size - uncaught - name);
	} else {
		buf_add(out, text, size);
	}
}

void trace_paint(struct trace *trace, const char *text, size_t size, bool colour, struct buf *out)
{
	while (colour && size > 0) {
		const char *end = memchr(text, '\n', size);
		size_t line = end ? (size_t)(end - text) : size;

		/* Partial lines and lines that overwrite themselves are unchanged. */
		if (!end || trace->mid_line || memchr(text, '\r', line) || memchr(text, '\033', line))
			buf_add(out, text, line);
		else
			paint_line(trace, text, line, out);
		if (end)
			buf_text(out, "\n");
		trace->mid_line = !end;
		line += end != NULL;
		text += line;
		size -= line;
	}
	if (!colour)
		buf_add(out, text, size);
}
