#include "daemon/front/site.h"

#include "base/own.h"

#include <string.h>
#include <strings.h>

/* For whoever links no other: the library, and tests. */
__attribute__((weak)) const unsigned char site_pack_data[] = "emberbox-site 1\n\n";
__attribute__((weak)) const size_t site_pack_size = sizeof("emberbox-site 1\n\n") - 1;

enum {
	FIELDS = 8 /* of a line */
};

static const char magic[] = "emberbox-site 1\n";

/* What stands before the separator, which is taken with it; data NULL: there is none. */
static struct http_text cut(struct http_text *text, char separator)
{
	const char *end = text->size > 0 ? memchr(text->data, separator, text->size) : NULL;
	struct http_text part = { NULL, 0 };

	if (!end)
		return part;
	part = (struct http_text){ text->data, (size_t)(end - text->data) };
	text->data += part.size + 1;
	text->size -= part.size + 1;
	return part;
}

static bool number_read(struct http_text text, size_t *out)
{
	size_t number = 0;

	if (text.size == 0 || text.size > 12)
		return false;
	for (size_t i = 0; i < text.size; i++) {
		if (text.data[i] < '0' || text.data[i] > '9')
			return false;
		number = number * 10 + (size_t)(text.data[i] - '0');
	}
	*out = number;
	return true;
}

/* So many bytes from there on. False: they are not all in it. */
static bool part_of(struct http_text bytes, struct http_text offset, struct http_text size, struct http_text *out)
{
	size_t at, count;

	if (!number_read(offset, &at) || !number_read(size, &count) || at > bytes.size || count > bytes.size - at)
		return false;
	*out = (struct http_text){ bytes.data + at, count };
	return true;
}

/* Splits a line, whose last field ends with it. */
static bool line_split(struct http_text line, struct http_text fields[FIELDS])
{
	for (size_t i = 0; i + 1 < FIELDS; i++) {
		fields[i] = cut(&line, '\t');
		if (!fields[i].data)
			return false;
	}
	fields[FIELDS - 1] = line;
	return true;
}

bool site_find(struct http_text pack, const char *path, struct site_file *out)
{
	struct http_text found = { NULL, 0 }, line, fields[FIELDS];
	const size_t size = strlen(path);

	if (pack.size < sizeof(magic) - 1 || memcmp(pack.data, magic, sizeof(magic) - 1) != 0)
		return false;
	pack.data += sizeof(magic) - 1;
	pack.size -= sizeof(magic) - 1;
	/* The bytes begin behind the last line. */
	for (line = cut(&pack, '\n'); line.size > 0; line = cut(&pack, '\n'))
		if (line.size > size && line.data[size] == '\t' && memcmp(line.data, path, size) == 0)
			found = line;
	if (!found.data || !line.data || !line_split(found, fields))
		return false;
	*out = (struct site_file){
		.type = fields[1],
		.etag = fields[2],
		.forever = http_text_is(fields[3], "forever"),
	};
	if (!part_of(pack, fields[4], fields[5], &out->plain) || !part_of(pack, fields[6], fields[7], &out->squeezed))
		return false;
	if (out->squeezed.size == 0)
		out->squeezed.data = NULL;
	return true;
}

/* The next item of a list separated by commas, without the blanks around it; data NULL at its end. */
static struct http_text item_next(struct http_text *list)
{
	struct http_text item = cut(list, ',');

	if (!item.data) {
		item = *list;
		*list = (struct http_text){ NULL, 0 };
	}
	while (item.size > 0 && strchr(" \t", item.data[0])) {
		item.data++;
		item.size--;
	}
	while (item.size > 0 && strchr(" \t", item.data[item.size - 1]))
		item.size--;
	return item;
}

/* A weight of nothing: "q=0", "q=0.0" and so on. */
static bool is_refused(struct http_text parameters)
{
	size_t at = 0;

	while (at < parameters.size && strchr(" \t", parameters.data[at]))
		at++;
	if (parameters.size - at < 3 || strncasecmp(parameters.data + at, "q=", 2) != 0)
		return false;
	for (at += 2; at < parameters.size; at++)
		if (parameters.data[at] != '0' && parameters.data[at] != '.')
			return false;
	return true;
}

bool site_takes_gzip(struct http_text accept)
{
	while (accept.data) {
		struct http_text item = item_next(&accept);
		struct http_text name = item, coding = cut(&name, ';');

		if (!coding.data) {
			if (http_text_is(item, "gzip"))
				return true;
			continue;
		}
		while (coding.size > 0 && strchr(" \t", coding.data[coding.size - 1]))
			coding.size--;
		if (http_text_is(coding, "gzip"))
			return !is_refused(name);
	}
	return false;
}

bool site_is_known(struct http_text match, struct http_text etag)
{
	while (match.data) {
		struct http_text item = item_next(&match);

		if (http_text_is(item, "*"))
			return true;
		if (item.size > 2 && memcmp(item.data, "W/", 2) == 0) {
			item.data += 2;
			item.size -= 2;
		}
		if (item.size == etag.size && item.size > 0 && memcmp(item.data, etag.data, item.size) == 0)
			return true;
	}
	return false;
}
