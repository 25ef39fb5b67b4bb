#include "schema/request_parts.h"

#include "base/base64.h"
#include "base/json_check.h"
#include "base/own.h"
#include "base/text.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <string.h>

struct record {
	uint32_t key;   /* bytes of the key */
	uint32_t value; /* bytes of the value */
};

enum {
	FIELD_LISTED = 1, /* allowed in the list */
	FIELD_BOX = 2,    /* this flag and the next two are for tests: see the table */
	FIELD_TOOL = 4,
	FIELD_FRAMES = 8,
};

int request_fault(struct reading *r, const char *name, const char *format, ...)
{
	char text[sizeof(r->err->text)], of[80] = "";
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (r->file)
		snprintf(of, sizeof(of), "\"%.64s\": ", r->file);
	return error_field(r->err, name, "%s%s", of, text);
}

static const char *kind_name(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "a list";
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
	case JSON_REAL:
		return "a number";
	case JSON_TRUE:
	case JSON_FALSE:
		return "true or false";
	default:
		return "null; leave the field out";
	}
}

int request_expected(struct reading *r, const char *name, const char *what, const json_t *value)
{
	return request_fault(r, name, "expected %s, not %s", what, kind_name(value));
}

static void list_put(struct reading *r, const char *key, const void *value, size_t size)
{
	struct record record = { .key = (uint32_t)strlen(key), .value = (uint32_t)size };

	buf_add(r->list, &record, sizeof(record));
	buf_add(r->list, key, record.key + 1);
	buf_add(r->list, value, size);
	buf_add(r->list, "", 1);
}

/* Puts a value that spec_set() accepts. Its error names the spec's key, which is replaced by the request's field. */
int request_put_checked(struct reading *r, const char *name, const char *key, const char *value)
{
	struct error why = { 0 };

	if (spec_set(&r->checks, key, value, &why) < 0) {
		if (why.kind == ERROR_USAGE)
			return request_fault(r, name, "%s", error_detail(&why));
		*r->err = why;
		return -1;
	}
	list_put(r, key, value, strlen(value));
	return 0;
}

/* A string without NUL bytes, which would cut it when it becomes a word. */
int request_text_of(struct reading *r, const char *name, const json_t *value, const char **out)
{
	if (!json_is_string(value))
		return request_expected(r, name, "a string", value);
	*out = json_string_value(value);
	if (strlen(*out) != json_string_length(value))
		return request_fault(r, name, "it has a NUL byte in it");
	return 0;
}

int request_read_text(struct reading *r, const struct request_field *field, const char *name, json_t *value)
{
	const char *text = NULL;

	return request_text_of(r, name, value, &text) < 0 ? -1 : request_put_checked(r, name, field->key, text);
}

/* request_decode() checks whether the language exists; only the keeper can see the host's languages. */
static int read_language(struct reading *r, const struct request_field *field, const char *name, json_t *value)
{
	const char *text;

	if (request_text_of(r, name, value, &text) < 0)
		return -1;
	list_put(r, field->key, text, strlen(text));
	return 0;
}

static int put_base64(struct reading *r, const char *name, const char *key, const json_t *text)
{
	_cleanup_free_ unsigned char *bytes = malloc(json_string_length(text) + 1);
	ssize_t size;

	if (!bytes)
		return error_set(r->err, ERROR_FAILED, ENOMEM, "cannot hold the request");
	size = base64_decode(json_string_value(text), json_string_length(text), bytes);
	if (size < 0)
		return request_fault(r, name, "it is not base64; use A-Z a-z 0-9 + / and pad it with =");
	list_put(r, key, bytes, (size_t)size);
	return 0;
}

/* A string, or {"base64": string}. */
static int put_content(struct reading *r, const char *name, const char *key, json_t *value)
{
	json_t *text = json_is_object(value) && json_object_size(value) == 1 ? json_object_get(value, "base64") : NULL;

	if (json_is_string(text))
		return put_base64(r, name, key, text);
	if (!json_is_string(value))
		return request_expected(r, name, "a string or {\"base64\": string}", value);
	list_put(r, key, json_string_value(value), json_string_length(value));
	return 0;
}

static int read_content(struct reading *r, const struct request_field *field, const char *name, json_t *value)
{
	r->stdin_given |= strcmp(field->key, "stdin") == 0;
	return put_content(r, name, field->key, value);
}

static int read_words(struct reading *r, const struct request_field *field, const char *name, json_t *value)
{
	const char *text;
	json_t *item;
	size_t i;

	if (!json_is_array(value))
		return request_expected(r, name, "a list of strings", value);
	json_array_foreach(value, i, item)
	{
		if (!json_is_string(item))
			return request_fault(r, name, "item %zu has to be a string, not %s", i + 1, kind_name(item));
		if (request_text_of(r, name, item, &text) < 0 || request_put_checked(r, name, field->key, text) < 0)
			return -1;
	}
	return 0;
}

static int read_env(struct reading *r, const struct request_field *field, const char *name, json_t *value)
{
	_cleanup_buf_ struct buf word = { 0 };
	const char *key, *text;
	json_t *item;

	if (!json_is_object(value))
		return request_expected(r, name, "an object {NAME: text}", value);
	json_object_foreach(value, key, item)
	{
		if (!*key || strchr(key, '='))
			return request_fault(r, name, "\"%.64s\" cannot be a variable's name", key);
		if (!json_is_string(item))
			return request_fault(r, name, "\"%.64s\" has to be a string, not %s", key, kind_name(item));
		if (request_text_of(r, name, item, &text) < 0)
			return -1;
		word.size = 0;
		buf_printf(&word, "%s=%s", key, text);
		if (word.failed)
			return error_set(r->err, ERROR_FAILED, ENOMEM, "cannot hold the request");
		if (request_put_checked(r, name, field->key, word.data) < 0)
			return -1;
	}
	return 0;
}

/* put_content(), with permissions if `mode` is given. */
static int put_file(struct reading *r, const char *name, json_t *value)
{
	json_t *mode = json_is_object(value) ? json_object_get(value, "mode") : NULL;
	json_t *text = mode && json_object_size(value) == 2 ? json_object_get(value, "base64") : NULL;
	const char *word;

	if (!mode)
		return put_content(r, name, "content", value);
	if (!json_is_string(text))
		return request_fault(r, name, "`mode` needs `base64` beside it, and no other field");
	if (request_text_of(r, name, mode, &word) < 0 || put_base64(r, name, "content", text) < 0)
		return -1;
	list_put(r, "mode", word, strlen(word));
	return 0;
}

static int read_files(struct reading *r, const struct request_field *field, const char *name, json_t *value)
{
	const char *path;
	json_t *item;

	if (!json_is_object(value))
		return request_expected(r, name, "an object {path: string or {\"base64\": string}}", value);
	json_object_foreach(value, path, item)
	{
		list_put(r, field->key, path, strlen(path));
		r->file = path;
		if (put_file(r, name, item) < 0)
			return -1;
	}
	r->file = NULL;
	return 0;
}

/* A number as text for spec_set(); an invalid value is kept, for the error. `out` has TEXT_NUMBER_MAX bytes. */
const char *request_number_text(const json_t *value, char *out)
{
	double number = json_real_value(value);

	if (json_is_integer(value))
		snprintf(out, TEXT_NUMBER_MAX, "%lld", (long long)json_integer_value(value));
	else if (number >= 0 && number < 1e12)
		text_number_format(number, out);
	else
		snprintf(out, TEXT_NUMBER_MAX, "%.10g", number);
	return out;
}

static const struct request_field *field_by_key(const char *key);

/* Records the limit and refuses a duplicate: some limits have two fields. */
static bool limit_given(const struct reading *r, const char *key)
{
	return limit_get(&r->checks.limits, (enum limit_id)(limit_by_key(key) - limit_rows)) > 0;
}

static int put_limit(struct reading *r, const char *name, const char *key, json_t *value, const char *unit)
{
	char number[TEXT_NUMBER_MAX], text[TEXT_NUMBER_MAX + 8];
	const bool nested = strncmp(name, "limits.", 7) == 0;
	const struct limit_row *row = limit_by_key(key);
	const char *word = text;

	if (limit_given(r, key))
		return request_fault(r, name, "this limit is given twice; leave one of %s and limits.%s out",
				     field_by_key(key)->name, row->name);
	if (json_is_number(value))
		snprintf(text, sizeof(text), "%s%s", request_number_text(value, number), unit);
	else if (!json_is_string(value))
		return request_expected(r, name, "a number or a string", value);
	else if (request_text_of(r, name, value, &word) < 0)
		return -1;
	r->manner->nested[row - limit_rows] = nested;
	return request_put_checked(r, name, key, word);
}

static int read_limit(struct reading *r, const struct request_field *field, const char *name, json_t *value)
{
	return put_limit(r, name, field->key, value, "");
}

/* Requests for cells have these fields also outside of `limits`. */
static int read_cell_limit(struct reading *r, const struct request_field *field, const char *name, json_t *value)
{
	r->cell_limit = field->name;
	return read_limit(r, field, name, value);
}

/* A bare number is in MB here, unlike in all other fields. */
static int read_memory_limit(struct reading *r, const struct request_field *field, const char *name, json_t *value)
{
	return put_limit(r, name, field->key, value, "m");
}

static int read_bool(struct reading *r, const struct request_field *field, const char *name, json_t *value)
{
	if (!json_is_boolean(value))
		return request_expected(r, name, "true or false", value);
	return request_put_checked(r, name, field->key, json_is_true(value) ? "yes" : "no");
}

static int read_stream(struct reading *r, const struct request_field *field, const char *name, json_t *value)
{
	if (!json_is_boolean(value))
		return request_expected(r, name, "true or false", value);
	r->manner->stream = json_is_true(value);
	return 0;
}

static int read_input(struct reading *r, const struct request_field *field, const char *name, json_t *value)
{
	if (!json_is_string(value) || strcmp(json_string_value(value), "stream") != 0)
		return request_fault(r, name, "expected \"stream\"; without it, stdin is the field `stdin`");
	r->manner->input = true;
	return 0;
}

/* A short string that is not part of the spec. `out` has `size` bytes. */
static int read_word(struct reading *r, const char *name, json_t *value, char *out, size_t size)
{
	const char *text = NULL;

	if (request_text_of(r, name, value, &text) < 0)
		return -1;
	if (!*text || strlen(text) >= size)
		return request_fault(r, name, "expected 1 to %zu bytes", size - 1);
	snprintf(out, size, "%s", text);
	return 0;
}

static int read_profile(struct reading *r, const struct request_field *field, const char *name, json_t *value)
{
	return read_word(r, name, value, r->manner->profile, sizeof(r->manner->profile));
}

/* The id of a session or container. An id that is too long names one that does not exist. */
static int read_place(struct reading *r, const char *name, json_t *value, char *out, size_t size)
{
	if (json_is_string(value) && strlen(json_string_value(value)) >= size)
		return error_refuse(r->err, CODE_NOT_FOUND, name, "there is no %s of that id", name);
	return read_word(r, name, value, out, size);
}

static int read_container(struct reading *r, const struct request_field *field, const char *name, json_t *value)
{
	return read_place(r, name, value, r->manner->container, sizeof(r->manner->container));
}

static int read_session(struct reading *r, const struct request_field *field, const char *name, json_t *value)
{
	return read_place(r, name, value, r->manner->session, sizeof(r->manner->session));
}

static int read_applied(struct reading *r, const struct request_field *field, const char *name, json_t *value)
{
	return read_word(r, name, value, r->manner->applied, sizeof(r->manner->applied));
}

static int read_confirm(struct reading *r, const struct request_field *field, const char *name, json_t *value)
{
	return read_word(r, name, value, r->manner->confirm, sizeof(r->manner->confirm));
}

static int read_command(struct reading *r, const struct request_field *field, const char *name, json_t *value)
{
	const char *text = NULL;

	if (request_text_of(r, name, value, &text) < 0)
		return -1;
	if (!*text)
		return request_fault(r, name, "it is empty; expected a command of the shell");
	r->manner->command = true;
	list_put(r, field->key, text, strlen(text));
	return 0;
}

static int read_limits(struct reading *r, const struct request_field *field, const char *name, json_t *value)
{
	static const struct request_field limits[] = {
#define LIMIT(NAME, KEY, ...) { #NAME, KEY, read_limit },
#include "schema/limits.def"
		{ NULL },
	};

	if (!json_is_object(value))
		return request_expected(r, name, "an object", value);
	return request_read_fields(r, value, "limits.", limits);
}

/* true, false, or the size. */
static int read_tty(struct reading *r, const struct request_field *field, const char *name, json_t *value)
{
	json_t *rows = json_object_get(value, "rows"), *columns = json_object_get(value, "cols");
	char text[64];

	r->manner->tty = !json_is_false(value);
	if (json_is_boolean(value))
		return read_bool(r, field, name, value);
	if (!json_is_integer(rows) || !json_is_integer(columns) || json_object_size(value) != 2)
		return request_fault(r, name, "expected true, false, or {\"rows\": 24, \"cols\": 80}");
	snprintf(text, sizeof(text), "%lldx%lld", (long long)json_integer_value(rows),
		 (long long)json_integer_value(columns));
	return request_put_checked(r, name, field->key, text);
}

static const struct request_field request_fields[] = {
#define FIELD(NAME, KEY, READ, ...) { #NAME, KEY, READ },
#define PART(NAME, KEY, READ, ...)  { #NAME, KEY, READ },
#include "schema/fields.def"
	{ NULL },
};

/* The field outside of `limits` with this key, or NULL. */
static const struct request_field *field_by_key(const char *key)
{
	for (const struct request_field *field = request_fields; field->name; field++)
		if (field->key && strcmp(field->key, key) == 0)
			return field;
	return NULL;
}

enum {
	OWN_MAX = 4 /* maximum of a path's additional fields */
};

bool field_unknown(const char *typed, const char *const *names, char *why, size_t size)
{
	const char *nearest;

	for (size_t i = 0; names[i]; i++)
		if (strcmp(names[i], typed) == 0)
			return false;
	nearest = text_nearest(typed, names);
	snprintf(why, size, "there is no such field; %s%s%s", nearest ? "did you mean " : "leave it out",
		 nearest ? nearest : "", nearest ? "?" : "");
	return true;
}

/* Writes why a name is unknown. False if it is one of the fields, or of `own` (which may be NULL). */
static bool is_unknown(const struct request_field *fields, const char *const *own, const char *typed, char *why,
		       size_t size)
{
	const char *names[ARRAY_SIZE(request_fields) + OWN_MAX] = { NULL };
	size_t count = 0;

	for (; fields[count].name; count++)
		names[count] = fields[count].name;
	for (size_t i = 0; own && own[i] && i < OWN_MAX; i++)
		names[count++] = own[i];
	return field_unknown(typed, names, why, size);
}

bool request_unknown(const char *typed, const char *const *own, char *why, size_t size)
{
	return is_unknown(request_fields, own, typed, why, size);
}

int request_read_fields(struct reading *r, json_t *object, const char *before, const struct request_field *fields)
{
	char name[REQUEST_FIELD_MAX], why[128];
	const char *typed;
	json_t *value;

	/* Unknown names are reported first: they often cause the other mistakes. */
	json_object_foreach(object, typed, value)
	{
		snprintf(name, sizeof(name), "%s%s", before, typed);
		if (is_unknown(fields, NULL, typed, why, sizeof(why)))
			return request_fault(r, name, "%s", why);
	}
	json_object_foreach(object, typed, value)
	{
		const struct request_field *field = fields;

		while (strcmp(field->name, typed) != 0)
			field++;
		snprintf(name, sizeof(name), "%s%s", before, typed);
		if (field->read(r, field, name, value) < 0)
			return -1;
	}
	return 0;
}

bool request_has_few_values(const char *json, size_t size)
{
	return json_has_few_values(json, size, REQUEST_VALUES_MAX);
}

/* The string in the text that ends before the position. False if there is none. */
static bool string_before(const char *json, size_t position, char *out, size_t size)
{
	size_t end = position > 0 ? position - 1 : 0, begin = end, slashes;

	if (end == 0 || json[end] != '"')
		return false;
	do {
		if (begin == 0)
			return false;
		begin--;
		for (slashes = 0; slashes < begin && json[begin - slashes - 1] == '\\'; slashes++)
			;
	} while (json[begin] != '"' || slashes % 2);
	snprintf(out, size, "%.*s", (int)(end - begin - 1), json + begin + 1);
	return true;
}

static int json_fault(struct reading *r, const char *json, size_t size, const json_error_t *why)
{
	const size_t position = (size_t)why->position < size ? (size_t)why->position : size;
	char name[REQUEST_FIELD_MAX];

	if (json_error_code(why) == json_error_duplicate_key && string_before(json, position, name, sizeof(name)))
		return request_fault(r, name, "it is given twice; leave one out");
	if (json_error_code(why) == json_error_out_of_memory)
		return error_set(r->err, ERROR_FAILED, ENOMEM, "cannot hold the request");
	if (json_error_code(why) == json_error_numeric_overflow && json_place(json, position, name, sizeof(name)))
		return request_fault(r, name, "the number is too large");
	/* A syntax error has no field: its place may be inside another value. */
	return error_usage(r->err, "the body is not JSON: line %d, column %d: %s", why->line, why->column, why->text);
}

/* Jansson treats a NUL as the end of a number and continues. */
static int nul_fault(struct reading *r, const char *json, const char *nul)
{
	unsigned line = 1;
	const char *begin = json;

	for (const char *at = json; at < nul; at++)
		if (*at == '\n') {
			line++;
			begin = at + 1;
		}
	return error_usage(r->err, "the body is not JSON: line %u, column %zu: it has a NUL byte in it; write \\u0000",
			   line, (size_t)(nul - begin) + 1);
}

static int read_request(struct reading *r, json_t *root)
{
	if (!json_is_object(root))
		return error_usage(r->err, "the request has to be an object, not %s", kind_name(root));
	if (request_read_fields(r, root, "", request_fields) < 0)
		return -1;
	if (!json_object_get(root, "language") && !json_object_get(root, "profile") &&
	    !json_object_get(root, "container") && !json_object_get(root, "session") && !r->manner->command)
		return request_fault(r, "language", "it is not set; name one, such as python");
	if (r->cell_limit && !r->manner->session[0])
		return request_fault(r, r->cell_limit, "it is for cells of sessions; give it within limits");
	if (r->manner->session[0] && r->manner->container[0])
		return request_fault(r, "session", "it cannot be given with container; leave one out");
	if (r->manner->input && r->stdin_given)
		return request_fault(r, "stdin", "it cannot be given when input is \"stream\"; leave one out");
	if (r->manner->command && (json_object_get(root, "code") || json_object_get(root, "language")))
		return request_fault(r, "command", "it stands for language and code; leave those out");
	if (r->manner->command && !r->manner->container[0])
		return request_fault(r, "command", "it is for containers; give language and code instead");
	if (r->list->failed)
		return error_set(r->err, ERROR_FAILED, ENOMEM, "cannot hold the request");
	return 0;
}

static bool is_blank(const char *text, size_t size)
{
	size_t at = 0;

	while (at < size && (text[at] == ' ' || (text[at] >= '\t' && text[at] <= '\r')))
		at++;
	return at == size;
}

int request_parse(const char *json, size_t size, struct buf *list, struct request_manner *manner, struct error *err)
{
	struct reading r = { .list = list, .manner = manner, .err = err };
	const char *nul = memchr(json, '\0', size);
	json_error_t why;
	json_t *root;
	int done;

	*manner = (struct request_manner){ 0 };
	if (is_blank(json, size))
		return error_usage(err, "the body is empty; send a JSON object");
	if (!request_has_few_values(json, size))
		return error_usage(err, "the request has too many values; %d are enough for any", REQUEST_VALUES_MAX);
	if (nul)
		return nul_fault(&r, json, nul);
	root = json_loadb(json, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, &why);
	if (!root)
		return json_fault(&r, json, size, &why);
	spec_init(&r.checks);
	done = read_request(&r, root);
	spec_free(&r.checks);
	json_decref(root);
	return done;
}

/* Reads one record of the list. False if it is truncated or not terminated. */
static bool record_next(const char *list, size_t size, size_t *at, const char **key, const char **value, size_t *length)
{
	struct record record;
	size_t left = size - *at;

	if (left < sizeof(record))
		return false;
	memcpy(&record, list + *at, sizeof(record));
	left -= sizeof(record);
	if (record.key >= left || record.value >= left - record.key - 1)
		return false;
	*key = list + *at + sizeof(record);
	*value = *key + record.key + 1;
	*length = record.value;
	*at += sizeof(record) + record.key + 1 + (size_t)record.value + 1;
	return (*key)[record.key] == '\0' && strlen(*key) == record.key && (*value)[record.value] == '\0';
}

/* A path or another value of the host must not be allowed. */
static bool key_is_word(const char *key)
{
	static const struct {
		const char *key;
		unsigned flags;
	} keys[] = {
#define FIELD(NAME, KEY, ...)                 { KEY, FIELD_LISTED },
#define WORD(KEY, SET, MEMBER, OPTION, FLAGS) { KEY, FLAGS },
#include "schema/fields.def"
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strcmp(key, keys[i].key) == 0)
			return keys[i].flags & FIELD_LISTED;
	return limit_by_key(key) != NULL;
}

const char *request_value(const void *list, size_t size, const char *key)
{
	const char *found, *value;
	size_t length;

	for (size_t at = 0; at < size;) {
		if (!record_next(list, size, &at, &found, &value, &length))
			return NULL;
		if (strcmp(found, key) == 0)
			return value;
	}
	return NULL;
}

void request_put(struct buf *list, const char *key, const char *value)
{
	struct reading r = { .list = list };

	list_put(&r, key, value, strlen(value));
}

int request_decode(const void *list, size_t size, struct spec *spec, struct error *err)
{
	const char *key, *value, *path = NULL;
	size_t length;

	for (size_t at = 0; at < size;) {
		int done;

		if (!record_next(list, size, &at, &key, &value, &length) ||
		    (path != NULL) != (strcmp(key, "content") == 0))
			return error_usage(err, "the list of the request is broken");
		if (strcmp(key, "code") == 0) {
			done = spec_set_code(spec, value, length, err);
		} else if (strcmp(key, "stdin") == 0) {
			done = spec_set_input(spec, value, length, err);
		} else if (path) {
			done = spec_add_content(spec, path, value, length, err);
			path = NULL;
		} else if (strlen(value) != length) {
			done = error_field(err, key, "it has a NUL byte in it");
		} else if (strcmp(key, "path") == 0) {
			path = value;
			done = 0;
		} else if (strcmp(key, "mode") == 0) {
			done = spec_set_mode(spec, value, err);
		} else if (!key_is_word(key)) {
			done = error_usage(err, "\"%.64s\" is not a field of a request", key);
		} else {
			done = spec_set(spec, key, value, err);
		}
		if (done < 0)
			return -1;
	}
	return path ? error_usage(err, "the list of the request is broken") : 0;
}

/* This request's name for a key of the spec, or "". */
static void json_name(const char *key, const struct request_manner *manner, char out[REQUEST_FIELD_MAX])
{
	const struct limit_row *limit = limit_by_key(key);
	const struct request_field *field = field_by_key(key);

	/* A cell's limits are accepted in `limits` as well. */
	if (limit && (!field || field->read == read_cell_limit || manner->nested[limit - limit_rows])) {
		snprintf(out, REQUEST_FIELD_MAX, "limits.%s", limit->name);
		return;
	}
	if (strcmp(key, "file") == 0 || strcmp(key, "mode") == 0)
		field = field_by_key("path");
	for (const struct request_field *known = request_fields; !field && known->name; known++)
		if (strcmp(key, known->name) == 0)
			field = known;
	snprintf(out, REQUEST_FIELD_MAX, "%s", field ? field->name : "");
}

void request_name_field(struct error *err, const struct request_manner *manner, bool in_text)
{
	char name[REQUEST_FIELD_MAX] = "";

	if (err->field[0])
		json_name(err->field, manner, name);
	if (in_text && *name)
		error_rename(err, name);
	else
		error_about(err, name);
}
