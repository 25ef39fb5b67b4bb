#include "mcp/tool_schema.h"

#include "base/own.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
	PLACE_MAX = 128, /* bytes of a field's name with its parents */
	NAMES_MAX = 32,  /* maximum of a tool's fields */
};

static bool is_type(const json_t *value, const char *type)
{
	static const struct {
		const char *name; /* name in schemas */
		json_type type;   /* type in the tree */
	} types[] = {
		{ "object", JSON_OBJECT },   { "array", JSON_ARRAY }, { "string", JSON_STRING },
		{ "integer", JSON_INTEGER }, { "null", JSON_NULL },   { "number", JSON_REAL },
	};

	if (strcmp(type, "boolean") == 0)
		return json_is_boolean(value);
	if (strcmp(type, "number") == 0 && json_is_integer(value))
		return true;
	/* 2.0 is accepted as an integer: many clients only have floating-point numbers. */
	if (strcmp(type, "integer") == 0 && json_is_real(value))
		return json_real_value(value) >= -1e15 && json_real_value(value) <= 1e15 &&
		       json_real_value(value) == (double)(long long)json_real_value(value);
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (strcmp(type, types[i].name) == 0)
			return json_typeof(value) == types[i].type;
	return false;
}

static int type_expected(struct error *err, const char *place, const char *what)
{
	return *place ? error_usage(err, "%s: expected %s", place, what) : error_usage(err, "expected %s", what);
}

/* Names of types in sentences. */
static const char *type_words(const char *type)
{
	static const struct {
		const char *type;  /* name in schemas */
		const char *words; /* name in sentences */
	} all[] = {
		{ "object", "an object" },       { "array", "a list" }, { "string", "a string" },
		{ "integer", "a whole number" }, { "null", "null" },    { "number", "a number" },
		{ "boolean", "true or false" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (strcmp(type, all[i].type) == 0)
			return all[i].words;
	return type;
}

static const char *type_of(const json_t *value)
{
	return json_is_object(value)    ? "object"
	       : json_is_array(value)   ? "array"
	       : json_is_string(value)  ? "string"
	       : json_is_number(value)  ? "number"
	       : json_is_boolean(value) ? "boolean"
					: "null";
}

static int check_type(const json_t *type, const json_t *value, const char *place, struct error *err)
{
	const size_t count = json_is_array(type) ? json_array_size(type) : 1;
	char words[128] = "";

	for (size_t i = 0; i < count; i++) {
		const char *one = json_string_value(json_is_array(type) ? json_array_get(type, i) : type);
		size_t used = strlen(words);

		if (is_type(value, one))
			return 0;
		snprintf(words + used, sizeof(words) - used, "%s%s", used ? " or " : "", type_words(one));
	}
	/* For an integer, another number still counts as a number. */
	if (!json_is_number(value) || !strstr(words, "number"))
		snprintf(words + strlen(words), sizeof(words) - strlen(words), ", not %s", type_words(type_of(value)));
	return type_expected(err, place, words);
}

static int check_enum(const json_t *list, const json_t *value, const char *place, struct error *err)
{
	char words[256] = "one of";
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
	{
		size_t used = strlen(words);

		if (json_equal(one, value))
			return 0;
		snprintf(words + used, sizeof(words) - used, " %s",
			 json_string_value(one) ? json_string_value(one) : "null");
	}
	return type_expected(err, place, words);
}

static int check_bounds(const json_t *schema, const json_t *value, const char *place, struct error *err)
{
	const json_t *least = json_object_get(schema, "minimum"), *most = json_object_get(schema, "maximum");
	const json_t *above = json_object_get(schema, "exclusiveMinimum");
	const double number = json_number_value(value);
	char words[96];

	if ((!least || number >= json_number_value(least)) && (!most || number <= json_number_value(most)) &&
	    (!above || number > json_number_value(above)))
		return 0;
	if (above)
		snprintf(words, sizeof(words), "a number above %g", json_number_value(above));
	else if (least && most)
		snprintf(words, sizeof(words), "a number from %g to %g", json_number_value(least),
			 json_number_value(most));
	else
		snprintf(words, sizeof(words), "a number of at %s %g", least ? "least" : "most",
			 json_number_value(least ? least : most));
	return type_expected(err, place, words);
}

static int value_check(const json_t *schema, const json_t *value, const char *place, struct error *err);

static int refuse_unknown(const json_t *known, const char *place, const char *key, struct error *err)
{
	const char *names[NAMES_MAX + 1] = { NULL }, *name, *nearest;
	size_t count = 0;
	json_t *value;

	json_object_foreach((json_t *)known, name, value) if (count < NAMES_MAX) names[count++] = name;
	nearest = text_nearest(key, names);
	return nearest ? error_usage(err, "%s%.64s: there is no such field; did you mean %s?", place, key, nearest)
		       : error_usage(err, "%s%.64s: there is no such field; leave it out", place, key);
}

static int check_members(const json_t *schema, const json_t *value, const char *place, struct error *err)
{
	const json_t *known = json_object_get(schema, "properties");
	const json_t *other = json_object_get(schema, "additionalProperties"), *name;
	char below[PLACE_MAX];
	const char *key;
	json_t *member;
	size_t i;

	snprintf(below, sizeof(below), "%.100s%s", place, *place ? "." : "");
	json_object_foreach((json_t *)value, key, member)
	{
		const json_t *of = json_object_get(known, key);
		char at[PLACE_MAX];

		if (!of && json_is_false(other))
			return refuse_unknown(known, below, key, err);
		snprintf(at, sizeof(at), "%.60s%.64s", below, key);
		if ((of || json_is_object(other)) && value_check(of ? of : other, member, at, err) < 0)
			return -1;
	}
	/* Checked last: a missing field may be misspelled. */
	json_array_foreach(
		json_object_get(schema, "required"), i,
		name) if (!json_object_get(value,
					   json_string_value(name))) return error_usage(err, "%s%s: it is missing",
											below, json_string_value(name));
	return 0;
}

static int value_check(const json_t *schema, const json_t *value, const char *place, struct error *err)
{
	const json_t *type = json_object_get(schema, "type"), *list = json_object_get(schema, "enum");
	const json_t *items = json_object_get(schema, "items"), *item;
	char at[PLACE_MAX];
	size_t i;

	if ((type && check_type(type, value, place, err) < 0) || (list && check_enum(list, value, place, err) < 0) ||
	    (json_is_number(value) && check_bounds(schema, value, place, err) < 0))
		return -1;
	if (json_is_object(value) && check_members(schema, value, place, err) < 0)
		return -1;
	json_array_foreach(value, i, item)
	{
		snprintf(at, sizeof(at), "%.100s[%zu]", place, i);
		if (items && value_check(items, item, at, err) < 0)
			return -1;
	}
	return 0;
}

int schema_check(const json_t *schema, const json_t *value, struct error *err)
{
	return value_check(schema, value, "", err);
}
