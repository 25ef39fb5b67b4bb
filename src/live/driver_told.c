#include "live/driver_told.h"

#include "base/json_check.h"
#include "explain/explain.h"
#include "kernel/confined.h"

#include <jansson.h>
#include <limits.h>
#include <string.h>

enum {
	OLDEST = 8,      /* frames of a very deep trace that are kept besides the newest, as everywhere */
	HEAP = 64 << 20, /* bytes: a payload of small values has 100000 of them, each of some hundred bytes */
};

/* For Jansson, which knows no heap; in a process that does nothing else. */
static struct heap *memory;

static void *memory_take(size_t size)
{
	return heap_alloc(memory, size);
}

static void memory_give(void *data)
{
	heap_free(memory, data);
}

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

/* Cut to what fits; the text is UTF-8 without a zero in what is taken. */
static void text_copy(const json_t *object, const char *key, char *out, size_t size)
{
	const char *text = json_string_value(json_object_get(object, key));
	const size_t length = text ? strnlen(text, size - 1) : 0;

	memcpy(out, text ? text : "", length);
	out[length] = '\0';
}

static long place_of(const json_t *object, const char *key)
{
	const json_int_t value = json_integer_value(json_object_get(object, key));

	return value > 0 && value <= INT_MAX ? (long)value : 0;
}

static json_t *error_json(const json_t *root, struct driver_told *out)
{
	const char *type = json_string_value(json_object_get(root, "type"));
	json_t *message = json_object_get(root, "message"), *frames = json_object_get(root, "frames");

	if (!type || !*type || !json_is_string(message))
		return NULL;
	text_copy(root, "type", out->type, sizeof(out->type));
	text_copy(root, "message", out->message, sizeof(out->message));
	text_copy(root, "file", out->file, sizeof(out->file));
	out->line = place_of(root, "line");
	out->column = place_of(root, "column");
	return json_pack("{s:s, s:O, s:o, s:o, s:o, s:o, s:I}", "type", type, "message", message, "file",
			 text_or_null(root, "file"), "line", place_or_null(root, "line"), "column",
			 place_or_null(root, "column"), "frames", frames_json(frames), "frame_count",
			 frame_count(root, frames));
}

static size_t number_of(const json_t *root, const char *key)
{
	const json_int_t number = json_integer_value(json_object_get(root, key));

	return number > 0 ? (size_t)number : 0;
}

/* Only texts; the driver is a stranger. */
static json_t *texts_of(const json_t *list)
{
	json_t *out = json_array();

	for (size_t i = 0; i < json_array_size(list); i++)
		if (json_is_string(json_array_get(list, i)))
			json_array_append(out, json_array_get(list, i));
	return out;
}

static json_t *inspect_json(json_t *root)
{
	json_t *data = json_object();
	const char *mime;
	json_t *value;

	json_object_foreach(root, mime, value)
	{
		if (strchr(mime, '/') && json_is_string(value))
			json_object_set(data, mime, value);
	}
	return json_pack("{s:b, s:o}", "found", json_is_true(json_object_get(root, "found")), "data", data);
}

static json_t *complete_json(const json_t *root, const char *code, size_t size)
{
	return json_pack("{s:o, s:I, s:I}", "matches", texts_of(json_object_get(root, "matches")), "cursor_start",
			 (json_int_t)driver_chars(code, size, number_of(root, "start")), "cursor_end",
			 (json_int_t)driver_chars(code, size, number_of(root, "end")));
}

void driver_told_make(const struct driver_told_input *in, struct heap *heap, struct driver_told *out)
{
	json_t *root, *known;
	size_t size;

	if (heap) {
		memory = heap;
		json_set_alloc_funcs(memory_take, memory_give);
	}
	root = json_loadb(in->payload, in->size, in->what == DRIVER_TOLD_ERROR ? JSON_ALLOW_NUL : 0, NULL);
	known = in->what == DRIVER_TOLD_ERROR      ? error_json(root, out)
		: in->what == DRIVER_TOLD_COMPLETE ? complete_json(root, in->code, in->code_size)
						   : inspect_json(root);
	size = known ? json_dumpb(known, out->text, sizeof(out->text) - 1, JSON_COMPACT) : 0;
	out->size = size < sizeof(out->text) ? size : 0;
	json_decref(known);
	json_decref(root);
}

void driver_told_settle(struct driver_told *told)
{
	told->type[sizeof(told->type) - 1] = told->message[sizeof(told->message) - 1] = '\0';
	told->file[sizeof(told->file) - 1] = '\0';
	if (told->line < 0 || told->line > INT_MAX || told->column < 0 || told->column > INT_MAX)
		told->line = told->column = 0;
	if (told->size >= sizeof(told->text) || told->size < 2 || told->text[0] != '{' ||
	    told->text[told->size - 1] != '}' || !json_is_object_text(told->text, told->size, DRIVER_TOLD_DEPTH))
		told->size = 0;
	told->text[told->size] = '\0';
}

static void told_work(const void *in, struct heap *heap, void *out)
{
	driver_told_make(in, heap, out);
}

struct driver_told *driver_told_read(const struct driver_told_input *in)
{
	struct driver_told *told;

	/* Jansson makes its seed by a file, which the fork cannot open. */
	json_object_seed(0);
	told = confined_run(told_work, in, HEAP, sizeof(*told));
	if (told)
		driver_told_settle(told);
	if (told && told->size > 0)
		return told;
	driver_told_free(told);
	return NULL;
}

void driver_told_free(struct driver_told *told)
{
	confined_free(told, sizeof(*told));
}
