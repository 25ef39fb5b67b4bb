#pragma once

#include <stdio.h>

enum json_kind {
	JSON_NULL,
	JSON_BOOLEAN,
	JSON_NUMBER,
	JSON_STRING,
	JSON_LIST,
	JSON_OBJECT,
	JSON_KINDS,
};

struct json {
	enum json_kind kind;
	double number;      /* also a boolean's */
	char *text;         /* of a string */
	char *name;         /* as a member of an object */
	struct json *first; /* item or member */
	struct json *next;  /* of the same list or object */
};

struct json_error {
	int line;
	const char *message;
};

struct json *json_parse(const char *text, struct json_error *error);
void json_free(struct json *value);
const struct json *json_item(const struct json *list, size_t index);
const struct json *json_member(const struct json *object, const char *name);
/* Members by their names, all the way down. */
void json_sort(struct json *value);
/* A negative indentation is one line. */
void json_print(const struct json *value, FILE *out, int indentation);
