#include "store/summary.h"

#include "base/buf.h"

#include <jansson.h>
#include <string.h>

static json_t *json_utf8(const char *bytes, size_t size)
{
	_cleanup_buf_ struct buf text = { 0 };

	buf_utf8(&text, bytes, size);
	return json_stringn(text.data ? text.data : "", text.size);
}

static void limit_json(json_t *object, const char *key, double value)
{
	/* Not set. */
	if (value <= 0)
		return;
	if (value == (double)(json_int_t)value)
		json_object_set_new(object, key, json_integer((json_int_t)value));
	else
		json_object_set_new(object, key, json_real(value));
}

static json_t *limits_json(const struct limits *limits)
{
	json_t *object = json_object();

	for (enum limit_id id = 0; id < LIMITS; id++)
		limit_json(object, limit_rows[id].name, limit_get(limits, id));
	return object;
}

char *summary_json(const struct spec *spec)
{
	json_t *args = json_array(), *env = json_array(), *files = json_array(), *root;
	char *text;

	for (size_t i = 0; i < spec->arg_count; i++)
		json_array_append_new(args, json_utf8(spec->args[i], strlen(spec->args[i])));
	/* Only names: values may be secrets. */
	for (size_t i = 0; i < spec->env_count; i++)
		json_array_append_new(env, json_utf8(spec->env[i], strcspn(spec->env[i], "=")));
	for (size_t i = 0; i < spec->file_count; i++)
		json_array_append_new(files, json_utf8(spec->files[i].box, strlen(spec->files[i].box)));
	root = json_pack("{s:o, s:o, s:o, s:o, s:I}", "args", args, "env", env, "files", files, "limits",
			 limits_json(&spec->limits), "stdin_bytes", (json_int_t)spec->input_size);
	if (root && spec->name)
		json_object_set_new(root, "name", json_utf8(spec->name, strlen(spec->name)));
	text = root ? json_dumps(root, JSON_COMPACT) : NULL;
	json_decref(root);
	return text;
}
