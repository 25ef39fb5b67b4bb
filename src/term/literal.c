#include "term/literal.h"

#include <string.h>

#define KEY    "\033[34m"
#define STRING "\033[32m"
#define NUMBER "\033[36m"
#define WORD   "\033[35m"
#define END    "\033[0m"

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
	       (c & 0x80);
}

static void text_paint(struct buf *out, const char *colour, const char *text, size_t size)
{
	buf_text(out, colour);
	buf_add(out, text, size);
	buf_text(out, END);
}

/* The size of a string on one line; 0: the quote starts no string. */
static size_t string_size(const char *text, size_t size)
{
	for (size_t i = 1; i < size && text[i] != '\n'; i++) {
		if (text[i] == '\\')
			i++;
		else if (text[i] == text[0])
			return i + 1;
	}
	return 0;
}

static size_t word_size(const char *text, size_t size)
{
	size_t n = 0;

	while (n < size && is_word(text[n]))
		n++;
	return n;
}

/* 12, -1.5e-3, 0x1f; not a date or a version. */
static size_t number_size(const char *text, size_t size)
{
	size_t n = size > 1 && (text[0] == '-' || text[0] == '+');

	if (n >= size || text[n] < '0' || text[n] > '9')
		return 0;
	while (n < size && (is_word(text[n]) || text[n] == '.' ||
			    ((text[n] == '-' || text[n] == '+') && (text[n - 1] == 'e' || text[n - 1] == 'E'))))
		n++;
	return n < size && strchr("-:/", text[n]) ? 0 : n;
}

static bool is_constant(const char *text, size_t size)
{
	static const char *const words[] = { "true", "false", "null", "None",      "True", "False",
					     "nil",  "NaN",   "NA",   "undefined", "NULL", "Infinity" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i]) == size && memcmp(words[i], text, size) == 0)
			return true;
	return false;
}

static bool is_key(const char *text, size_t size, size_t after)
{
	while (after < size && text[after] == ' ')
		after++;
	return after < size &&
	       (text[after] == ':' || (after + 1 < size && text[after] == '=' && text[after + 1] == '>'));
}

void literal_paint(const char *text, size_t size, bool colour, struct buf *out)
{
	for (size_t at = 0, n = 0; colour && at < size; at += n) {
		const char *here = text + at;
		/* No literal starts inside a word. */
		bool begins = at == 0 || !is_word(here[-1]);

		if (begins && (*here == '"' || *here == '\'') && (n = string_size(here, size - at)) > 0)
			text_paint(out, is_key(text, size, at + n) ? KEY : STRING, here, n);
		else if (begins && (at == 0 || !strchr(".-:/", here[-1])) && (n = number_size(here, size - at)) > 0)
			text_paint(out, NUMBER, here, n);
		else if (begins && (n = word_size(here, size - at)) > 0 && is_constant(here, n))
			text_paint(out, WORD, here, n);
		else
			buf_add(out, here, n = begins && n > 0 ? n : 1);
	}
	if (!colour)
		buf_add(out, text, size);
}
