#include "json.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	const char *at;
	struct json_error *error;
};

static struct json *value_read(struct reader *r);

static void *fail(struct reader *r, const char *message)
{
	if (!r->error->message)
		r->error->message = message;
	return NULL;
}

static void space_skip(struct reader *r)
{
	while (isspace((unsigned char)*r->at))
		if (*r->at++ == '\n')
			r->error->line++;
}

static int accept(struct reader *r, char c)
{
	space_skip(r);
	if (*r->at != c)
		return 0;
	r->at++;
	return 1;
}

static struct json *json_new(enum json_kind kind)
{
	struct json *value = calloc(1, sizeof(*value));

	if (!value)
		abort();
	value->kind = kind;
	return value;
}

static size_t utf8(unsigned code, char *out)
{
	if (code < 0x80)
		return out[0] = code, 1;
	if (code < 0x800)
		return out[0] = 0xc0 | code >> 6, out[1] = 0x80 | (code & 63), 2;
	return out[0] = 0xe0 | code >> 12, out[1] = 0x80 | (code >> 6 & 63), out[2] = 0x80 | (code & 63), 3;
}

static char *text_read(struct reader *r)
{
	static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
	size_t size = 0, room = strcspn(r->at, "\n") + 4;
	char *text = malloc(room);

	while (*r->at != '"') {
		const char *letter;

		if ((unsigned char)*r->at < ' ') {
			free(text);
			return fail(r, "a string without an end");
		}
		if (*r->at != '\\') {
			text[size++] = *r->at++;
			continue;
		}
		if (r->at[1] == 'u') {
			char digits[5] = "";

			strncpy(digits, r->at + 2, 4);
			size += utf8(strtoul(digits, NULL, 16), text + size);
			r->at += 2 + strlen(digits);
			continue;
		}
		letter = r->at[1] ? strchr(letters, r->at[1]) : NULL;
		if (!letter) {
			free(text);
			return fail(r, "an unknown escape");
		}
		text[size++] = meanings[letter - letters];
		r->at += 2;
	}
	r->at++;
	text[size] = 0;
	return text;
}

static struct json *many_read(struct reader *r, enum json_kind kind, char closing)
{
	struct json *value = json_new(kind), **end = &value->first;

	while (!accept(r, closing)) {
		char *name = NULL;

		if (value->first && !accept(r, ','))
			goto broken;
		if (kind == JSON_OBJECT && (!accept(r, '"') || !(name = text_read(r)) || !accept(r, ':'))) {
			free(name);
			goto broken;
		}
		*end = value_read(r);
		if (!*end) {
			free(name);
			goto broken;
		}
		(*end)->name = name;
		end = &(*end)->next;
	}
	return value;
broken:
	json_free(value);
	return fail(r, "a comma, a name or a closing bracket is missing");
}

static struct json *word_read(struct reader *r, const char *word, enum json_kind kind, double number)
{
	struct json *value;

	if (strncmp(r->at, word, strlen(word)) != 0)
		return fail(r, "an unknown word");
	r->at += strlen(word);
	value = json_new(kind);
	value->number = number;
	return value;
}

static struct json *value_read(struct reader *r)
{
	struct json *value;
	char *end;

	space_skip(r);
	switch (*r->at) {
	case '{':
		return r->at++, many_read(r, JSON_OBJECT, '}');
	case '[':
		return r->at++, many_read(r, JSON_LIST, ']');
	case 'n':
		return word_read(r, "null", JSON_NULL, 0);
	case 't':
		return word_read(r, "true", JSON_BOOLEAN, 1);
	case 'f':
		return word_read(r, "false", JSON_BOOLEAN, 0);
	case '"':
		r->at++;
		value = json_new(JSON_STRING);
		value->text = text_read(r);
		if (value->text)
			return value;
		json_free(value);
		return NULL;
	default:
		value = json_new(JSON_NUMBER);
		value->number = strtod(r->at, &end);
		if (end != r->at)
			return r->at = end, value;
		json_free(value);
		return fail(r, "a value is missing");
	}
}

struct json *json_parse(const char *text, struct json_error *error)
{
	struct reader r = { .at = text, .error = error };
	struct json *value;

	*error = (struct json_error){ .line = 1 };
	value = value_read(&r);
	if (value && !accept(&r, 0)) {
		json_free(value);
		return fail(&r, "something comes after the end");
	}
	return value;
}

void json_free(struct json *value)
{
	while (value) {
		struct json *next = value->next;

		json_free(value->first);
		free(value->text);
		free(value->name);
		free(value);
		value = next;
	}
}
