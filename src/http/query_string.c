/* Parameters after the '?', and the ranges of a Range field. */
#include "http/http.h"

#include "base/json_check.h"
#include "http/header_text.h"

#include <string.h>
#include <strings.h>

/* Decodes a text. Returns its length, or -1 if it does not fit with a NUL, or has an invalid encoding. */
static long query_decode(const char *text, size_t size, char *out, size_t room)
{
	size_t n = 0;

	for (size_t at = 0; at < size; at++) {
		int byte = (unsigned char)text[at];

		if (text[at] == '%') {
			byte = http_percent(text + at, size - at);
			if (byte < 0)
				return -1;
			at += 2;
		} else if (text[at] == '+') {
			byte = ' ';
		}
		if (n + 1 >= room)
			return -1;
		out[n++] = (char)byte;
	}
	out[n] = '\0';
	return json_is_plain_text(out, n) ? (long)n : -1;
}

/* The next non-empty parameter. */
static bool query_part(struct http_text query, size_t *at, struct http_text *name, struct http_text *value)
{
	while (*at < query.size) {
		const char *part = query.data + *at;
		const char *end = memchr(part, '&', query.size - *at);
		size_t size = end ? (size_t)(end - part) : query.size - *at;
		const char *equals = size > 0 ? memchr(part, '=', size) : NULL;

		*at += size + 1;
		if (size == 0)
			continue;
		*name = (struct http_text){ part, equals ? (size_t)(equals - part) : size };
		*value = (struct http_text){ part + size, 0 };
		if (equals)
			*value = (struct http_text){ equals + 1, size - name->size - 1 };
		return true;
	}
	return false;
}

static bool name_is(struct http_text text, const char *name)
{
	char plain[128];
	long size;

	if (text.size == strlen(name) && memcmp(text.data, name, text.size) == 0)
		return true;
	size = query_decode(text.data, text.size, plain, sizeof(plain));
	return size >= 0 && strcmp(plain, name) == 0;
}

int http_query_get(struct http_text query, const char *name, char *out, size_t size)
{
	struct http_text key, value;
	int found = 0;

	for (size_t at = 0; query_part(query, &at, &key, &value);) {
		if (!name_is(key, name))
			continue;
		if (found++ > 0 || query_decode(value.data, value.size, out, size) < 0)
			return -1;
	}
	return found;
}

bool http_query_next(struct http_text query, size_t *at, char *name, size_t size)
{
	struct http_text key, value;

	if (!query_part(query, at, &key, &value))
		return false;
	if (query_decode(key.data, key.size, name, size) >= 0)
		return true;
	if (key.size < size) {
		memcpy(name, key.data, key.size);
		name[key.size] = '\0';
	} else if (size > 4) {
		memcpy(name, key.data, size - 4);
		memcpy(name + size - 4, "...", 4);
	} else if (size > 0) {
		name[0] = '\0';
	}
	return true;
}

/* Parses digits at *at; an overflow becomes the maximum. False if there are none. */
static bool range_number(struct http_text text, size_t *at, uint64_t *number)
{
	size_t begin = *at;

	*number = 0;
	for (; *at < text.size && http_is_digit(text.data[*at]); ++*at)
		if (__builtin_mul_overflow(*number, 10, number) ||
		    __builtin_add_overflow(*number, (uint64_t)(text.data[*at] - '0'), number))
			*number = UINT64_MAX;
	return *at > begin;
}

int http_range(struct http_text value, uint64_t total, uint64_t *first, uint64_t *last)
{
	uint64_t from = 0, to = UINT64_MAX;
	bool has_from, has_to;
	size_t at = 6;

	if (!value.data || value.size < at || strncasecmp(value.data, "bytes=", at) != 0)
		return 0;
	has_from = range_number(value, &at, &from);
	if (at == value.size || value.data[at++] != '-')
		return 0;
	has_to = range_number(value, &at, &to);
	if (at != value.size || (!has_from && !has_to))
		return 0;
	if (!has_to)
		to = UINT64_MAX;
	if (has_from && from > to)
		return 0;
	if (!has_from) {
		from = to < total ? total - to : 0;
		to = UINT64_MAX;
	}
	if (from >= total)
		return -1;
	*first = from;
	*last = to < total ? to : total - 1;
	return 1;
}
