/* emberbox history: lists past runs, newest first. */
#include "base/own.h"
#include "cli/options.h"
#include "cli/past.h"

#include <stdio.h>
#include <string.h>

enum {
	OPT_COUNT = 1,
	OPT_LANGUAGE,
	OPT_STATUS,
	OPT_SINCE,
	OPT_CALLER,
	OPT_BEFORE,
	OPT_JSON,
	OPT_HELP
};

enum {
	COUNT_MAX = 1000 /* the store's limit */
};

static const struct option_spec specs[] = {
	{ OPT_COUNT, 'n', "limit", "N", "number of runs; default 20, at most 1000" },
	{ OPT_COUNT, 0, "count", "N", "the same as --limit" },
	{ OPT_LANGUAGE, 'l', "language", "LANG", "only runs of this language" },
	{ OPT_STATUS, 0, "status", "STATUS", "only runs with this status: ok, failed, timeout, interrupted..." },
	{ OPT_SINCE, 0, "since", "WHEN", "only runs since then: 10m, 2h, 7d, or an RFC 3339 time" },
	{ OPT_CALLER, 0, "caller", "NAME", "only runs of this caller: \"uid 1000\", or a token's name" },
	{ OPT_BEFORE, 0, "before", "ID", "only runs before this one: its id, or the beginning or end of it" },
	{ OPT_JSON, 0, "json", NULL, "print JSON" },
	{ OPT_HELP, 'h', "help", NULL, "show this help" },
	{ 0 },
};

struct history {
	struct store_filter filter; /* the query */
	char since[PAST_WHEN_MAX];  /* value of --since */
	bool json;                  /* --json */
	bool help;                  /* --help */
};

static int print_help(void)
{
	puts("Usage: emberbox history [options]\n"
	     "Lists past runs, newest first.\n");
	option_print(stdout, specs);
	return cmd_flush(0);
}

/* --failed is probably meant to be --status failed. */
static int unknown_option(const struct option_reader *reader)
{
	for (int status = STATUS_OK; status <= STATUS_ERROR; status++) {
		const char *name = status_name((enum status)status);

		if (strncmp(reader->unknown, "--", 2) == 0 && strcmp(reader->unknown + 2, name) == 0)
			return cmd_usage("history", "unknown option --%s; did you mean --status %s?", name, name);
	}
	return cmd_usage("history", "%s", reader->message);
}

/* Returns 0, or the exit code. */
static int read_option(int option, const struct option_reader *reader, struct history *history)
{
	switch (option) {
	case OPT_COUNT:
		if (past_count(reader->value, COUNT_MAX, &history->filter.limit))
			return 0;
		return cmd_usage("history", "--limit: expected a number from 1 to %d, not \"%.32s\"", COUNT_MAX,
				 reader->value);
	case OPT_LANGUAGE:
		history->filter.language = reader->value;
		return 0;
	case OPT_STATUS:
		history->filter.status = reader->value;
		return 0;
	case OPT_SINCE:
		history->filter.since = history->since;
		if (past_when(reader->value, history->since))
			return 0;
		return cmd_usage("history", PAST_WHEN_WRONG, reader->value);
	case OPT_CALLER:
		history->filter.caller = reader->value;
		return 0;
	case OPT_BEFORE:
		history->filter.before = reader->value;
		return 0;
	case OPT_JSON:
		history->json = true;
		return 0;
	case OPT_HELP:
		history->help = true;
		return 0;
	case OPTION_WORD:
		return cmd_usage("history", "unexpected argument \"%s\"", reader->value);
	default:
		return unknown_option(reader);
	}
}

/* Layouts of the table, each narrower than the previous one, so that no row is wrapped. */
enum layout {
	LAYOUT_WHOLE,
	LAYOUT_SHORT,       /* only the ends of ids, which differ more; times without year and seconds */
	LAYOUT_NO_CALLER,   /* also without the caller */
	LAYOUT_NO_MEMORY,   /* also without memory */
	LAYOUT_NO_DURATION, /* also without the duration */
};

enum {
	ID_SHORT = 6,   /* letters at an id's end: one in a thousand million collides */
	ERROR_ROOM = 25 /* cells for an error */
};

/* The number of final letters that distinguish these ids; their first letters are the time, and nearly equal. */
static size_t short_id(const json_t *runs)
{
	size_t size = ID_SHORT, i, j;

	for (i = 0; i < json_array_size(runs); i++) {
		for (j = 0; j < i && size < RESULT_ID - 1; j++) {
			const char *a = past_text(json_array_get(runs, i), "id"),
				   *b = past_text(json_array_get(runs, j), "id");
			size_t length = strlen(a), same = 0;

			if (strlen(b) != length)
				continue;
			while (same < length && a[length - 1 - same] == b[length - 1 - same])
				same++;
			size = same + 1 > size ? same + 1 : size;
		}
	}
	return size;
}

static void add_row(struct table *table, enum layout layout, size_t id, const json_t *run)
{
	const char *status = past_text(run, "status"), *whole = past_text(run, "id"), *time;
	char word[TABLE_WORD];

	table_add(table, PAINT_DIM, whole + (strlen(whole) > id ? strlen(whole) - id : 0));
	time = past_time(past_text(run, "timestamp"), word);
	if (layout >= LAYOUT_SHORT && strlen(time) == 19)
		table_addf(table, PAINT_NONE, "%.11s", time + 5);
	else
		table_add(table, PAINT_NONE, time);
	table_add(table, past_status_paint(status), status);
	table_add(table, PAINT_NONE, past_text(run, "language"));
	if (layout < LAYOUT_NO_DURATION)
		table_add(table, PAINT_NONE,
			  past_ran(run) ? duration_text(past_number(run, "execution_time"), word) : "-");
	if (layout < LAYOUT_NO_MEMORY)
		table_add(table, PAINT_NONE,
			  past_number(run, "memory_used") > 0 ? bytes_text(past_number(run, "memory_used"), word) : "");
	if (layout < LAYOUT_NO_CALLER)
		table_add(table, PAINT_NONE, past_text(run, "caller"));
	table_add(table, PAINT_NONE, past_error(past_text(run, "error_message")));
}

static void history_fill(struct table *table, enum layout layout, const json_t *runs)
{
	size_t i, id = layout >= LAYOUT_SHORT ? short_id(runs) : RESULT_ID;
	json_t *run;

	table_begin(table, layout < LAYOUT_NO_CALLER     ? "ID|TIME|STATUS|LANGUAGE|>DURATION|>MEMORY|CALLER|ERROR"
			   : layout < LAYOUT_NO_MEMORY   ? "ID|TIME|STATUS|LANGUAGE|>DURATION|>MEMORY|ERROR"
			   : layout < LAYOUT_NO_DURATION ? "ID|TIME|STATUS|LANGUAGE|>DURATION|ERROR"
							 : "ID|TIME|STATUS|LANGUAGE|ERROR");
	json_array_foreach((json_t *)runs, i, run) add_row(table, layout, id, run);
}

/* Whether the table fits, with enough of the errors. */
static bool table_fits(const struct table *table, unsigned width)
{
	size_t last = table->columns - 1, used = 0;

	for (size_t i = 0; i < last; i++)
		used += table->widths[i] + 2;
	return used + (table->widths[last] < ERROR_ROOM ? table->widths[last] : ERROR_ROOM) <= width;
}

static bool is_filtered(const struct store_filter *filter)
{
	return filter->language || filter->status || filter->caller || filter->before || filter->since;
}

static int print_table(const struct history *history, const struct buf *answer)
{
	json_t *root = answer->size > 0 ? json_loadb(answer->data, answer->size, JSON_ALLOW_NUL, NULL) : NULL;
	json_t *runs = json_object_get(root, "executions");
	enum layout layout = LAYOUT_WHOLE;
	_cleanup_table_ struct table table = { 0 };
	_cleanup_buf_ struct buf out = { 0 };
	unsigned width = terminal_width();

	history_fill(&table, layout, runs);
	while (width > 0 && layout < LAYOUT_NO_DURATION && !table_fits(&table, width)) {
		table_free(&table);
		history_fill(&table, ++layout, runs);
	}
	if (json_array_size(runs) > 0)
		table_print(&table, width, terminal_colour(), &out);
	else
		buf_text(&out, is_filtered(&history->filter) ? "no such run\n" : NOTHING_YET "\n");
	json_decref(root);
	return past_print(&out, 0);
}

int cmd_history(int argc, char **argv)
{
	struct option_reader reader = { .specs = specs, .argc = argc, .argv = argv, .next = 1 };
	struct history history = { .filter = { .limit = 20 } };
	_cleanup_buf_ struct buf answer = { 0 };
	struct store *store = NULL;
	struct error err = { 0 };
	char before[RESULT_ID];
	int option, code;

	while ((option = option_next(&reader)) != OPTION_END) {
		code = read_option(option, &reader, &history);
		if (code != 0)
			return code;
		if (history.help)
			return print_help();
	}
	code = past_open("history", &store);
	if (code != 0)
		return code;
	/* On a narrow terminal, the table has only the end of ids. */
	if (store && history.filter.before) {
		code = past_find("history", store, history.filter.before, before);
		history.filter.before = before;
	}
	if (!store)
		buf_text(&answer, "{\"executions\":[],\"next\":null}");
	else if (code == 0)
		code = past_answer("history", store_list(store, &history.filter, &answer, &err), &err);
	store_close(store);
	if (code != 0)
		return code;
	return history.json ? past_print_json(&answer) : print_table(&history, &answer);
}
