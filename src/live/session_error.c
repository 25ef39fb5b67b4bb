/* A driver's word on a cell's error, as a result has it. It may be anything: known keys of the right kind are taken. */
#include "live/session_parts.h"

#include "explain/explain.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum {
	OLDEST = 8 /* frames of a very deep trace that are kept besides the newest, as everywhere */
};

static json_t *text_or_null(const json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	return json_is_string(value) && json_string_length(value) > 0 ? json_incref(value) : json_null();
}

/* Lines and columns are counted from 1. */
static json_t *place_or_null(const json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	return json_is_integer(value) && json_integer_value(value) > 0 ? json_incref(value) : json_null();
}

/* 0: it is not told, or no place that there can be. */
static long place_told(const json_t *object, const char *key)
{
	const json_int_t value = json_integer_value(json_object_get(object, key));

	return value > 0 && value <= INT_MAX ? (long)value : 0;
}

static json_t *frame_json(const json_t *frame)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:b}", "file", text_or_null(frame, "file"), "line",
			 place_or_null(frame, "line"), "function", text_or_null(frame, "function"), "text",
			 text_or_null(frame, "text"), "user", json_is_true(json_object_get(frame, "user")));
}

/* Drivers begin with the oldest, results with the newest; of very many both ends are kept. */
static json_t *frames_json(const json_t *told)
{
	const size_t count = json_array_size(told);
	json_t *list = json_array();

	for (size_t i = count; i-- > 0;)
		if (count <= EXPLAIN_FRAMES || i < OLDEST || i >= count - (EXPLAIN_FRAMES - OLDEST))
			json_array_append_new(list, frame_json(json_array_get(told, i)));
	return list;
}

/* How many there were: a driver that left some out says so. */
static json_int_t frame_count(const json_t *root, const json_t *frames)
{
	const json_int_t told = json_integer_value(json_object_get(root, "frame_count"));
	const json_int_t came = (json_int_t)json_array_size(frames);

	return told > came ? told : came;
}

void session_take_error(struct result *result, const struct buf *told)
{
	json_t *root = told->size > 0 ? json_loadb(told->data, told->size, JSON_ALLOW_NUL, NULL) : NULL;
	const char *type = json_string_value(json_object_get(root, "type"));
	json_t *message = json_object_get(root, "message"), *frames = json_object_get(root, "frames"), *whole;

	if (type && *type && json_is_string(message)) {
		whole = json_pack("{s:s, s:O, s:o, s:o, s:o, s:o, s:I}", "type", type, "message", message, "file",
				  text_or_null(root, "file"), "line", place_or_null(root, "line"), "column",
				  place_or_null(root, "column"), "frames", frames_json(frames), "frame_count",
				  frame_count(root, frames));
		result->told = whole ? json_dumps(whole, JSON_COMPACT) : NULL;
		snprintf(result->told_type, sizeof(result->told_type), "%s", type);
		snprintf(result->told_message, sizeof(result->told_message), "%s", json_string_value(message));
		if (json_string_value(json_object_get(whole, "file")))
			snprintf(result->told_file, sizeof(result->told_file), "%s",
				 json_string_value(json_object_get(whole, "file")));
		result->told_line = place_told(whole, "line");
		result->told_column = place_told(whole, "column");
		json_decref(whole);
	}
	json_decref(root);
}
