/* Paths of HTTP requests, in the one spelling in which they are compared with rules. What two servers could understand
 * in two ways has none: the rule would be held to the one, and the other would serve what it forbids. */
#include "net/net_policy.h"

#include <stdint.h>
#include <string.h>

/* RFC 3986's pchar, and the slash. */
static bool is_plain(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("-._~!$&'()*+,;=:@/", c));
}

/* Encoded or not, the same to every server. */
static bool is_unreserved(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("-._~", c));
}

/* Characters with a meaning in rules: always encoded. */
static bool is_for_rules(int c)
{
	return c == ',' || c == '*';
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int encoded_byte(const char *text, size_t left)
{
	const int high = left >= 3 ? hex_value(text[1]) : -1, low = left >= 3 ? hex_value(text[2]) : -1;

	return high < 0 || low < 0 ? -1 : high << 4 | low;
}

/* "%252e" is a dot to a server that decodes twice. Looked for in the canonical spelling: "%25%32e" is the same. */
static bool is_encoded_twice(const char *text)
{
	const char inner[3] = { '%', text[3], text[3] ? text[4] : '\0' };
	const int byte = strncmp(text, "%25", 3) == 0 ? encoded_byte(inner, sizeof(inner)) : -1;

	return byte == '.' || byte == '/' || byte == '\\' || byte == '%' || byte == '\0';
}

/* How much of the text is a slash, or what some servers take for one; 0: it is another character. */
static size_t separator_size(const char *text)
{
	if (*text == '/')
		return 1;
	return strncmp(text, "%2F", 3) == 0 || strncmp(text, "%5C", 3) == 0 ? 3 : 0;
}

/* "." and "..", also with the parameters that some servers take off: "..;x", "..%3Bx". */
static bool is_dot_segment(const char *segment)
{
	const size_t dots = strspn(segment, ".");
	const char *rest = segment + dots;

	if (dots != 1 && dots != 2)
		return false;
	return *rest == '\0' || *rest == ';' || strncmp(rest, "%3B", 3) == 0 || separator_size(rest) > 0;
}

/* Of a canonical path: whether servers read it in different ways. */
static bool is_ambiguous(const char *path)
{
	for (; *path; path++) {
		const size_t separator = separator_size(path);

		if ((separator > 0 && is_dot_segment(path + separator)) || (*path == '%' && is_encoded_twice(path)))
			return true;
	}
	return false;
}

/* ".", "/" and the like in more bytes than UTF-8 has for them, which careless decoders take. */
static bool is_overlong(int before, int byte)
{
	return byte == 0xc0 || byte == 0xc1 || (before == 0xe0 && byte >= 0x80 && byte < 0xa0) ||
	       (before == 0xf0 && byte >= 0x80 && byte < 0x90);
}

/* The byte that the text begins with, and how many characters it has; -1: it has no place in a path. */
static int path_byte(const char *text, size_t left, size_t *length)
{
	const int byte = (uint8_t)text[0];

	*length = 1;
	if (byte != '%')
		return is_plain((uint8_t)byte) ? byte : -1;
	*length = 3;
	const int inner = encoded_byte(text, left);

	return inner > 0 ? inner : -1;
}

static bool path_spell(const char *text, size_t size, char out[NET_PATH_MAX])
{
	size_t used = 0, length;
	int before = 0;

	for (size_t i = 0; i < size; i += length) {
		const int byte = path_byte(text + i, size - i, &length);

		if (byte < 0 || is_overlong(before, byte) || used + 3 >= NET_PATH_MAX)
			return false;
		before = byte;
		if (is_unreserved((uint8_t)byte) || (length == 1 && !is_for_rules(byte))) {
			out[used++] = (char)byte;
			continue;
		}
		out[used++] = '%';
		out[used++] = "0123456789ABCDEF"[byte >> 4];
		out[used++] = "0123456789ABCDEF"[byte & 15];
	}
	out[used] = '\0';
	return true;
}

bool net_path_canonical(const char *text, size_t size, char out[NET_PATH_MAX])
{
	if (size > 0 && text[0] == '/' && path_spell(text, size, out) && !is_ambiguous(out))
		return true;
	*out = '\0';
	return false;
}
