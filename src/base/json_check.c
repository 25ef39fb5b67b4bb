#include "base/json_check.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* A position in the text. A read past the end returns NUL, which no rule accepts. */
struct cursor {
	const unsigned char *at;
	const unsigned char *end;
};

static int char_peek(const struct cursor *c)
{
	return c->at < c->end ? *c->at : -1;
}

static void skip_blanks(struct cursor *c)
{
	while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\r' || *c->at == '\n'))
		c->at++;
}

static bool char_take(struct cursor *c, int byte)
{
	if (char_peek(c) != byte)
		return false;
	c->at++;
	return true;
}

static bool take_word(struct cursor *c, const char *word)
{
	size_t size = strlen(word);

	if ((size_t)(c->end - c->at) < size || memcmp(c->at, word, size) != 0)
		return false;
	c->at += size;
	return true;
}

static bool take_digits(struct cursor *c)
{
	const unsigned char *from = c->at;

	while (char_peek(c) >= '0' && char_peek(c) <= '9')
		c->at++;
	return c->at > from;
}

static bool take_number(struct cursor *c)
{
	char_take(c, '-');
	if (!char_take(c, '0') && !take_digits(c))
		return false;
	if (char_take(c, '.') && !take_digits(c))
		return false;
	if (char_take(c, 'e') || char_take(c, 'E')) {
		if (!char_take(c, '+'))
			char_take(c, '-');
		return take_digits(c);
	}
	return true;
}

static bool take_hex(struct cursor *c, unsigned *value)
{
	*value = 0;
	for (int i = 0; i < 4; i++) {
		int byte = char_peek(c);

		if (byte >= '0' && byte <= '9')
			*value = *value << 4 | (unsigned)(byte - '0');
		else if ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'f')
			*value = *value << 4 | (unsigned)((byte | 0x20) - 'a' + 10);
		else
			return false;
		c->at++;
	}
	return true;
}

/* After the backslash. Half of a surrogate pair is refused: many readers refuse a whole text that contains one. */
static bool take_escape(struct cursor *c)
{
	unsigned high, low;

	if (char_peek(c) >= 0 && strchr("\"\\/bfnrt", char_peek(c)) && *c->at != '\0') {
		c->at++;
		return true;
	}
	if (!char_take(c, 'u') || !take_hex(c, &high) || (high >= 0xdc00 && high <= 0xdfff))
		return false;
	if (high < 0xd800 || high > 0xdbff)
		return true;
	return char_take(c, '\\') && char_take(c, 'u') && take_hex(c, &low) && low >= 0xdc00 && low <= 0xdfff;
}

/* One non-ASCII character: no overlong form, no surrogate, nothing above U+10FFFF. */
static bool take_utf8(struct cursor *c)
{
	unsigned first = *c->at++, more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
	unsigned value = first & (0x3fU >> more);
	static const unsigned least[] = { 0, 0x80, 0x800, 0x10000 };

	if (first < 0xc2 || first > 0xf4)
		return false;
	for (unsigned i = 0; i < more; i++) {
		int byte = char_peek(c);

		if (byte < 0x80 || byte > 0xbf)
			return false;
		value = value << 6 | (unsigned)(byte & 0x3f);
		c->at++;
	}
	return value >= least[more] && value <= 0x10ffff && (value < 0xd800 || value > 0xdfff);
}

static bool take_string(struct cursor *c)
{
	if (!char_take(c, '"'))
		return false;
	while (char_peek(c) >= ' ') {
		if (char_take(c, '"'))
			return true;
		if (char_take(c, '\\')) {
			if (!take_escape(c))
				return false;
		} else if (*c->at < 0x80) {
			c->at++;
		} else if (!take_utf8(c)) {
			return false;
		}
	}
	return false;
}

static bool take_scalar(struct cursor *c)
{
	switch (char_peek(c)) {
	case '"':
		return take_string(c);
	case 't':
		return take_word(c, "true");
	case 'f':
		return take_word(c, "false");
	case 'n':
		return take_word(c, "null");
	default:
		return take_number(c);
	}
}

static bool take_key(struct cursor *c)
{
	skip_blanks(c);
	if (!take_string(c))
		return false;
	skip_blanks(c);
	return char_take(c, ':');
}

enum {
	DEPTH_MAX = 64
};

/* A loop with the levels in a bit set. Recursion would let the text decide the depth of the stack. */
static bool take_value(struct cursor *c, int most)
{
	uint64_t objects = 0; /* bit n: level n is an object, not a list */
	int depth = 0;

	for (;;) {
		bool opens;

		skip_blanks(c);
		opens = char_peek(c) == '{' || char_peek(c) == '[';
		if (opens) {
			bool object = *c->at++ == '{';

			if (depth == most)
				return false;
			objects = (objects & ~(UINT64_C(1) << depth)) | (uint64_t)object << depth;
			depth++;
			skip_blanks(c);
			if (char_peek(c) != (object ? '}' : ']')) {
				if (object && !take_key(c))
					return false;
				continue;
			}
		} else if (!take_scalar(c)) {
			return false;
		}
		/* A value has ended: close the objects and lists that end here, or continue after a comma. */
		for (;;) {
			bool object;

			if (depth == 0)
				return true;
			object = objects >> (depth - 1) & 1;
			skip_blanks(c);
			if (char_take(c, object ? '}' : ']')) {
				depth--;
				continue;
			}
			if (!char_take(c, ',') || (object && !take_key(c)))
				return false;
			break;
		}
	}
}

bool json_is_object_text(const char *text, size_t size, int depth)
{
	struct cursor c = { (const unsigned char *)text, (const unsigned char *)text + size };
	struct cursor inside;

	skip_blanks(&c);
	inside = c;
	if (!char_take(&inside, '{'))
		return false;
	skip_blanks(&inside);
	if (char_peek(&inside) == '}' || !take_value(&c, depth < DEPTH_MAX ? depth : DEPTH_MAX))
		return false;
	skip_blanks(&c);
	return c.at == c.end;
}

bool json_is_plain_text(const char *text, size_t size)
{
	struct cursor c = { (const unsigned char *)text, (const unsigned char *)text + size };

	while (c.at < c.end) {
		if (*c.at == '\0' || (*c.at >= 0x80 && !take_utf8(&c)))
			return false;
		/* take_utf8() has moved past its character. */
		while (c.at<c.end && * c.at> '\0' && *c.at < 0x80)
			c.at++;
	}
	return true;
}

bool json_member(const char *text, size_t size, const char *key, const char **value, size_t *value_size)
{
	struct cursor c = { (const unsigned char *)text, (const unsigned char *)text + size };
	size_t length = strlen(key);

	skip_blanks(&c);
	if (!char_take(&c, '{'))
		return false;
	do {
		const unsigned char *name, *from;
		bool found;

		skip_blanks(&c);
		name = c.at + 1;
		if (!take_key(&c))
			return false;
		skip_blanks(&c);
		/* A key of ours contains no quote, so the closing quote ends the comparison. */
		found = (size_t)(c.end - name) > length && memcmp(name, key, length) == 0 && name[length] == '"';
		from = c.at;
		if (!take_value(&c, DEPTH_MAX))
			return false;
		if (found) {
			*value = (const char *)from;
			*value_size = (size_t)(c.at - from);
			return true;
		}
		skip_blanks(&c);
	} while (char_take(&c, ','));
	return false;
}

/* Writes the character of an escape as UTF-8. The escape has been checked. */
static size_t put_escape(struct cursor *c, char out[4])
{
	static const char letters[] = "bfnrt", meant[] = "\b\f\n\r\t";
	const char *letter = strchr(letters, *c->at);
	unsigned value, low;

	if (*c->at != 'u') {
		*out = letter ? meant[letter - letters] : (char)*c->at;
		c->at++;
		return 1;
	}
	c->at++;
	take_hex(c, &value);
	if (value >= 0xd800 && value <= 0xdbff) {
		c->at += 2;
		take_hex(c, &low);
		value = 0x10000 + ((value - 0xd800) << 10) + (low - 0xdc00);
	}
	if (value < 0x80) {
		out[0] = (char)value;
		return 1;
	}
	if (value < 0x800) {
		out[0] = (char)(0xc0 | value >> 6);
		out[1] = (char)(0x80 | (value & 0x3f));
		return 2;
	}
	if (value < 0x10000) {
		out[0] = (char)(0xe0 | value >> 12);
		out[1] = (char)(0x80 | (value >> 6 & 0x3f));
		out[2] = (char)(0x80 | (value & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | value >> 18);
	out[1] = (char)(0x80 | (value >> 12 & 0x3f));
	out[2] = (char)(0x80 | (value >> 6 & 0x3f));
	out[3] = (char)(0x80 | (value & 0x3f));
	return 4;
}

bool json_string_copy(const char *value, size_t value_size, char *out, size_t out_size)
{
	struct cursor c = { (const unsigned char *)value, (const unsigned char *)value + value_size };
	struct cursor whole = c;
	size_t used = 0;

	if (!take_string(&whole) || whole.at != whole.end)
		return false;
	c.at++;
	c.end--;
	while (c.at < c.end) {
		char one[4];
		size_t size = 1;

		if (char_take(&c, '\\')) {
			size = put_escape(&c, one);
		} else {
			const unsigned char *from = c.at;

			if (*c.at < 0x80)
				c.at++;
			else
				take_utf8(&c);
			size = (size_t)(c.at - from);
			memcpy(one, from, size);
		}
		if (used + size >= out_size)
			break;
		memcpy(out + used, one, size);
		used += size;
	}
	out[used] = '\0';
	return true;
}

bool json_has_few_values(const char *text, size_t size, size_t most)
{
	size_t count = 0;

	for (size_t i = 0; i < size; i++) {
		if (text[i] == '"') {
			for (i++; i < size && text[i] != '"'; i++)
				i += text[i] == '\\';
		} else if (text[i] == ',' || text[i] == ':' || text[i] == '[' || text[i] == '{') {
			count++;
		}
	}
	return count <= most;
}

/* The names of the current member and of the member around it. */
struct json_position {
	const char *string; /* the last string */
	size_t size;        /* its length */
	const char *key[2]; /* names of the open members; NULL: none is open */
	size_t length[2];   /* lengths of the names */
	size_t depth;       /* level of objects and lists */
};

static void place_take(struct json_position *place, char byte)
{
	const size_t level = place->depth - 1;

	if (byte == '{' || byte == '[') {
		place->depth++;
		if (place->depth <= 2)
			place->key[place->depth - 1] = NULL;
	} else if (place->depth > 0 && (byte == '}' || byte == ']')) {
		place->depth--;
	} else if (place->depth > 0 && level < 2 && byte == ':') {
		place->key[level] = place->string;
		place->length[level] = place->size;
	} else if (place->depth > 0 && level < 2 && byte == ',') {
		place->key[level] = NULL;
	}
}

bool json_place(const char *text, size_t position, char *out, size_t out_size)
{
	struct json_position place = { 0 };
	bool inner;

	for (size_t i = 0; i < position; i++) {
		if (text[i] != '"') {
			place_take(&place, text[i]);
			continue;
		}
		place.string = text + i + 1;
		for (i++; i < position && text[i] != '"'; i++)
			i += text[i] == '\\';
		place.size = (size_t)(text + i - place.string);
	}
	inner = place.depth > 1 && place.key[1];
	if (place.depth == 0 || !place.key[0] || !json_is_plain_text(place.key[0], place.length[0]) ||
	    (inner && !json_is_plain_text(place.key[1], place.length[1])))
		return false;
	return (size_t)snprintf(out, out_size, "%.*s%s%.*s", (int)place.length[0], place.key[0], inner ? "." : "",
				inner ? (int)place.length[1] : 0, inner ? place.key[1] : "") < out_size;
}
