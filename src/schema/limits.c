#include "schema/limits.h"

#include "base/own.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

const struct limit_row limit_rows[LIMITS] = {
#define LIMIT(NAME, KEY, KIND, LEAST, MOST, DEFAULT, FLAGS, WORDS, EXPECTED, ...)                                      \
	{ #NAME, KEY, LIMIT_##KIND, FLAGS, offsetof(struct limits, NAME), LEAST, MOST, DEFAULT, WORDS, EXPECTED },
#include "schema/limits.def"
};

const struct limit_row *limit_by_key(const char *key)
{
	for (size_t i = 0; i < LIMITS; i++)
		if (strcmp(limit_rows[i].key, key) == 0)
			return &limit_rows[i];
	return NULL;
}

const struct limit_row *limit_by_name(const char *name)
{
	for (size_t i = 0; i < LIMITS; i++)
		if (strcmp(limit_rows[i].name, name) == 0)
			return &limit_rows[i];
	return NULL;
}

static bool is_real(enum limit_id id)
{
	return limit_rows[id].kind == LIMIT_SECONDS || limit_rows[id].kind == LIMIT_CORES;
}

double limit_get(const struct limits *limits, enum limit_id id)
{
	const char *at = (const char *)limits + limit_rows[id].offset;

	return is_real(id) ? *(const double *)at : (double)*(const uint64_t *)at;
}

void limit_put(struct limits *limits, enum limit_id id, double amount)
{
	char *at = (char *)limits + limit_rows[id].offset;

	if (is_real(id))
		*(double *)at = amount;
	else
		*(uint64_t *)at = (uint64_t)amount;
}

/* False if the text is not a valid limit. `plain`: times are numbers of seconds. */
static bool read_amount(const struct limit_row *row, const char *text, bool plain, double *amount)
{
	uint64_t whole;

	if (row->kind == LIMIT_SECONDS && !plain)
		return text_duration(text, amount);
	if (row->kind == LIMIT_SECONDS || row->kind == LIMIT_CORES)
		return text_number(text, amount);
	if (!(row->kind == LIMIT_BYTES ? text_size(text, &whole) : text_count(text, &whole)))
		return false;
	*amount = (double)whole;
	return true;
}

static bool take_amount(struct limits *limits, enum limit_id id, const char *text, bool plain)
{
	const struct limit_row *row = &limit_rows[id];
	double amount;

	if (!read_amount(row, text, plain, &amount) || amount < row->least || amount > row->most)
		return false;
	limit_put(limits, id, amount);
	return true;
}

static int limit_refuse(const struct limit_row *row, const char *value, struct error *err)
{
	char low[TEXT_NUMBER_MAX], high[TEXT_NUMBER_MAX];

	_Static_assert(TEXT_SIZE_MAX <= TEXT_NUMBER_MAX, "either fits");
	if (row->kind == LIMIT_BYTES)
		return error_field(err, row->key,
				   "\"%.64s\" is not a size between %s and %s; write it as %s or a number of bytes",
				   value, text_size_format((uint64_t)row->least, low),
				   text_size_format((uint64_t)row->most, high), row->words);
	text_number_format(row->least, low);
	text_number_format(row->most, high);
	if (row->kind == LIMIT_SECONDS)
		return error_field(
			err, row->key,
			"\"%.64s\" is not a time between %s and %s seconds; write it as 30, 500ms, 2m or 1h30m", value,
			low, high);
	return error_field(err, row->key, "\"%.64s\" is not a number of %s between %s and %s", value, row->words, low,
			   high);
}

int limit_set(struct limits *limits, enum limit_id id, const char *value, struct error *err)
{
	return take_amount(limits, id, value, false) ? 0 : limit_refuse(&limit_rows[id], value, err);
}

bool limit_set_plain(struct limits *limits, enum limit_id id, const char *value)
{
	return take_amount(limits, id, value, true);
}

const char *limit_expected(enum limit_id id, char out[LIMIT_SENTENCE])
{
	const struct limit_row *row = &limit_rows[id];
	char low[TEXT_NUMBER_MAX], high[TEXT_NUMBER_MAX];

	if (row->kind == LIMIT_BYTES)
		snprintf(out, LIMIT_SENTENCE, "a size between %s and %s, as 64k, 256m, 1g or in bytes",
			 text_size_format((uint64_t)row->least, low), text_size_format((uint64_t)row->most, high));
	else
		snprintf(out, LIMIT_SENTENCE, "a number of %s between %s and %s", row->words,
			 text_number_format(row->least, low), text_number_format(row->most, high));
	return out;
}

double limit_amount(enum limit_id id, const char *text)
{
	double amount;

	return read_amount(&limit_rows[id], text, false, &amount) ? amount : 0;
}

const char *limit_names_text(char *out, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < LIMITS && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%s",
					 i == 0            ? ""
					 : i + 1 == LIMITS ? " or "
							   : ", ",
					 limit_rows[i].name);
	return out;
}

struct limits limits_settle(const struct limits *asked, const struct limits *own)
{
	struct limits all = *asked;

#define LIMIT_FIXED(NAME, TYPE, VALUE) all.NAME = all.NAME ?: VALUE;
#include "schema/limits.def"
	for (enum limit_id id = 0; id < LIMITS; id++) {
		if (limit_get(&all, id) <= 0 && own)
			limit_put(&all, id, limit_get(own, id));
		if (limit_get(&all, id) <= 0)
			limit_put(&all, id, limit_rows[id].fallback);
	}
	return all;
}

struct limits limits_settle_place(const struct limits *asked, const struct limits *own)
{
	struct limits all = limits_settle(asked, own);

	if (asked->disk == 0 && (!own || own->disk == 0) && all.disk > all.memory)
		all.disk = all.memory;
	return all;
}

struct limits limits_of_run(const struct limits *asked, const struct limits *own)
{
	struct limits all = *own;

	for (enum limit_id id = 0; id < LIMITS; id++)
		if (limit_rows[id].flags & LIMIT_OF_RUN && limit_get(asked, id) > 0)
			limit_put(&all, id, limit_get(asked, id));
	return all;
}
