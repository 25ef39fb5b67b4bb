#include "json.h"

#include <stdlib.h>
#include <string.h>

const struct json *json_item(const struct json *list, size_t index)
{
	const struct json *item = list->first;

	while (item && index-- > 0)
		item = item->next;
	return item;
}

const struct json *json_member(const struct json *object, const char *name)
{
	if (object->kind != JSON_OBJECT)
		return NULL;
	for (const struct json *member = object->first; member; member = member->next)
		if (!strcmp(member->name, name))
			return member;
	return NULL;
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(struct json *const *)a)->name, (*(struct json *const *)b)->name);
}

static void members_sort(struct json *object, size_t count)
{
	struct json **members = calloc(count, sizeof(*members)), **end = &object->first;
	size_t i = 0;

	if (!members)
		abort();
	for (struct json *member = object->first; member; member = member->next)
		members[i++] = member;
	qsort(members, count, sizeof(*members), by_name);
	for (i = 0; i < count; i++) {
		*end = members[i];
		end = &members[i]->next;
	}
	*end = NULL;
	free(members);
}

void json_sort(struct json *value)
{
	size_t count = 0;

	for (struct json *child = value->first; child; child = child->next, count++)
		json_sort(child);
	if (value->kind == JSON_OBJECT && count > 1)
		members_sort(value, count);
}

static void text_print(const char *text, FILE *out)
{
	fputc('"', out);
	for (; *text; text++) {
		if (strchr("\"\\", *text))
			fputc('\\', out);
		if ((unsigned char)*text < ' ')
			fprintf(out, "\\u%04x", *text);
		else
			fputc(*text, out);
	}
	fputc('"', out);
}

static void line_break(FILE *out, int indentation)
{
	if (indentation >= 0)
		fprintf(out, "\n%*s", indentation * 2, "");
}

static void many_print(const struct json *value, FILE *out, int indentation)
{
	int inner = indentation < 0 ? -1 : indentation + 1;

	fputc(value->kind == JSON_LIST ? '[' : '{', out);
	for (const struct json *child = value->first; child; child = child->next) {
		line_break(out, inner);
		if (child->name) {
			text_print(child->name, out);
			fputs(": ", out);
		}
		json_print(child, out, inner);
		if (child->next)
			fputs(inner < 0 ? ", " : ",", out);
	}
	if (value->first)
		line_break(out, indentation);
	fputc(value->kind == JSON_LIST ? ']' : '}', out);
}

void json_print(const struct json *value, FILE *out, int indentation)
{
	switch (value->kind) {
	case JSON_NULL:
		fputs("null", out);
		break;
	case JSON_BOOLEAN:
		fputs(value->number ? "true" : "false", out);
		break;
	case JSON_NUMBER:
		fprintf(out, "%.12g", value->number);
		break;
	case JSON_STRING:
		text_print(value->text, out);
		break;
	default:
		many_print(value, out, indentation);
	}
}
