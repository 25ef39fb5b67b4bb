/* emberbox stats: statistics of past runs. */
#include "base/own.h"
#include "cli/options.h"
#include "cli/past.h"

#include <stdio.h>
#include <string.h>

enum {
	OPT_LANGUAGE = 1,
	OPT_SINCE,
	OPT_CALLER,
	OPT_JSON,
	OPT_HELP
};

enum {
	BAR = 24 /* cells of the longest bar */
};

static const struct option_spec specs[] = {
	{ OPT_LANGUAGE, 'l', "language", "LANG", "only runs of this language" },
	{ OPT_SINCE, 0, "since", "WHEN", "only runs since then: 10m, 2h, 7d, or an RFC 3339 time" },
	{ OPT_CALLER, 0, "caller", "NAME", "only runs of this caller: \"uid 1000\", or a token's name" },
	{ OPT_JSON, 0, "json", NULL, "print JSON" },
	{ OPT_HELP, 'h', "help", NULL, "show this help" },
	{ 0 },
};

static int print_help(void)
{
	puts("Usage: emberbox stats [options]\n"
	     "Counts past runs by language and status, with their durations and failures.\n");
	option_print(stdout, specs);
	return cmd_flush(0);
}

/* In eighths of a cell; a value above 0 has at least one. */
static void add_bar(struct table *table, enum paint paint, double part, double whole)
{
	static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	unsigned length = whole > 0 ? (unsigned)(part / whole * BAR * 8 + 0.5) : 0;
	char bar[BAR * 4 + 8] = "", *at = bar;

	if (length == 0 && part > 0)
		length = 1;
	for (; length >= 8; length -= 8)
		at = stpcpy(at, "█");
	stpcpy(at, eighths[length]);
	table_add(table, paint, bar);
}

static void add_count(struct table *table, enum paint paint, const json_t *object, const char *key)
{
	double count = past_number(object, key);

	table_addf(table, count > 0 ? paint : PAINT_DIM, "%.0f", count);
}

static void add_time(struct table *table, const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	char word[TABLE_WORD];

	table_add(table, PAINT_NONE, json_is_number(value) ? duration_text(json_number_value(value), word) : "");
}

static void print_languages(const json_t *stats, unsigned width, bool colour, struct buf *out)
{
	json_t *languages = json_object_get(stats, "by_language"), *one;
	double most = past_number(json_array_get(languages, 0), "count");
	_cleanup_table_ struct table table = { 0 };
	size_t i;

	table_begin(&table, "LANGUAGE|>RUNS|>OK|>FAILED|>P50|>P95|");
	json_array_foreach(languages, i, one)
	{
		table_add(&table, PAINT_NONE, *past_text(one, "language") ? past_text(one, "language") : "(none)");
		add_count(&table, PAINT_NONE, one, "count");
		add_count(&table, PAINT_GOOD, one, "ok");
		add_count(&table, PAINT_BAD, one, "failed");
		add_time(&table, one, "p50");
		add_time(&table, one, "p95");
		add_bar(&table, PAINT_CYAN, past_number(one, "count"), most);
	}
	table_print(&table, width, colour, out);
}

/* The most frequent; among equal counts, the first by name, so that the table is stable. */
static const char *most_frequent(json_t *counts)
{
	const char *name, *most = NULL;
	json_t *count;

	json_object_foreach(counts, name, count)
	{
		double more = json_number_value(count) - (most ? past_number(counts, most) : -1);

		if (more > 0 || (more == 0 && strcmp(name, most) < 0))
			most = name;
	}
	return most;
}

static void print_statuses(const json_t *stats, unsigned width, bool colour, struct buf *out)
{
	json_t *left = json_copy(json_object_get(stats, "by_status"));
	_cleanup_table_ struct table table = { 0 };
	double most = 0;

	table_begin(&table, "STATUS|>RUNS|");
	/* Sorted by frequency; at most ten. */
	while (json_object_size(left) > 0) {
		const char *name = most_frequent(left);
		double count = past_number(left, name);

		most = most > count ? most : count;
		table_add(&table, past_status_paint(name), name);
		add_count(&table, PAINT_NONE, left, name);
		add_bar(&table, past_status_paint(name), count, most);
		json_object_del(left, name);
	}
	json_decref(left);
	table_print(&table, width, colour, out);
}

static void print_failures(const json_t *stats, unsigned width, bool colour, struct buf *out)
{
	json_t *failures = json_object_get(stats, "failures"), *one;
	double most = past_number(json_array_get(failures, 0), "count");
	_cleanup_table_ struct table table = { 0 };
	size_t i;

	if (json_array_size(failures) == 0)
		return;
	buf_text(out, "\n");
	table_begin(&table, "FAILURE|>RUNS|");
	json_array_foreach(failures, i, one)
	{
		table_add(&table, PAINT_NONE, past_text(one, "kind"));
		add_count(&table, PAINT_NONE, one, "count");
		add_bar(&table, PAINT_BAD, past_number(one, "count"), most);
	}
	table_print(&table, width, colour, out);
}

static int print_tables(const struct buf *answer, bool filtered)
{
	json_t *stats = answer->size > 0 ? json_loadb(answer->data, answer->size, JSON_ALLOW_NUL, NULL) : NULL;
	double total = past_number(stats, "total"), other = past_number(stats, "other");
	_cleanup_buf_ struct buf out = { 0 };
	unsigned width = terminal_width();
	bool colour = terminal_colour();
	char since[TABLE_WORD];

	if (total > 0) {
		buf_printf(&out, "%.0f %s since %s, %.0f warm%s %.0f cold", total, total == 1 ? "run" : "runs",
			   past_time(past_text(stats, "since"), since), past_number(stats, "warm"),
			   other > 0 ? "," : " and", past_number(stats, "cold"));
		if (other > 0)
			buf_printf(&out, " and %.0f other", other);
		buf_text(&out, "\n\n");
		print_languages(stats, width, colour, &out);
		buf_text(&out, "\n");
		print_statuses(stats, width, colour, &out);
		print_failures(stats, width, colour, &out);
	} else {
		buf_text(&out, filtered ? "no such run\n" : NOTHING_YET "\n");
	}
	json_decref(stats);
	return past_print(&out, 0);
}

int cmd_stats(int argc, char **argv)
{
	struct option_reader reader = { .specs = specs, .argc = argc, .argv = argv, .next = 1 };
	struct store_filter filter = { .limit = 1 };
	_cleanup_buf_ struct buf answer = { 0 };
	char since[PAST_WHEN_MAX];
	struct store *store = NULL;
	struct error err = { 0 };
	int option, json = 0, code;

	while ((option = option_next(&reader)) != OPTION_END) {
		switch (option) {
		case OPT_LANGUAGE:
			filter.language = reader.value;
			break;
		case OPT_SINCE:
			if (!past_when(reader.value, since))
				return cmd_usage("stats", PAST_WHEN_WRONG, reader.value);
			filter.since = since;
			break;
		case OPT_CALLER:
			filter.caller = reader.value;
			break;
		case OPT_JSON:
			json = 1;
			break;
		case OPT_HELP:
			return print_help();
		case OPTION_WORD:
			return cmd_usage("stats", "unexpected argument \"%s\"", reader.value);
		default:
			return cmd_usage("stats", "%s", reader.message);
		}
	}
	code = past_open("stats", &store);
	if (code != 0)
		return code;
	if (!store)
		buf_text(&answer, "{\"total\":0,\"since\":null,\"by_status\":{},\"by_language\":[],\"failures\":[],"
				  "\"warm\":0,\"cold\":0,\"other\":0,\"p50\":null,\"p95\":null}");
	else
		code = past_answer("stats", store_stats(store, &filter, &answer, &err), &err);
	store_close(store);
	if (code != 0)
		return code;
	return json ? past_print_json(&answer)
		    : print_tables(&answer, filter.language || filter.since || filter.caller);
}
