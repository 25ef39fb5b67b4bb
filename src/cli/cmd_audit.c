/* emberbox audit: prints the newest entries of the audit log, or verifies its chain. */
#include "base/own.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/past.h"
#include "base/state.h"
#include "store/audit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	OPT_COUNT = 1,
	OPT_JSON,
	OPT_HELP
};

enum {
	COUNT_MAX = 100000
};

static const struct option_spec specs[] = {
	{ OPT_COUNT, 'n', "limit", "N", "number of entries; default 20" },
	{ OPT_COUNT, 0, "count", "N", "the same as --limit" },
	{ OPT_JSON, 0, "json", NULL, "print the entries as in the log, one a line" },
	{ OPT_HELP, 'h', "help", NULL, "show this help" },
	{ 0 },
};

static int print_help(void)
{
	puts("Usage: emberbox audit [options]\n"
	     "       emberbox audit verify [--json]\n"
	     "Prints the newest entries of the audit log, or verifies that it is unchanged.\n"
	     "verify exits with 1 if an entry was changed, and names it.\n");
	option_print(stdout, specs);
	return cmd_flush(0);
}

/* Prints the members that not every entry has. */
static void add_details(const json_t *entry, struct buf *out)
{
	/* Common members, and the digest of the code, which is long and not useful to people. */
	static const char *const common[] = { "seq", "time", "event", "record", "previous", "hash", "code_sha256" };
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)entry, name, value)
	{
		_cleanup_free_ char *text = NULL;
		bool said = false;

		for (size_t i = 0; i < ARRAY_SIZE(common); i++)
			said |= strcmp(name, common[i]) == 0;
		if (said || json_is_null(value) || (json_is_string(value) && json_string_length(value) == 0))
			continue;
		text = json_is_string(value) ? strdup(json_string_value(value))
					     : json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
		buf_printf(out, "%s%s=%s", out->size > 0 ? " " : "", name, text ? text : "");
	}
}

static enum paint event_paint(const char *event)
{
	static const char *const bad[] = { "denied", "execution_refused", "torn_tail" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (strcmp(event, bad[i]) == 0)
			return PAINT_BAD;
	return strcmp(event, "execution") == 0 ? PAINT_NONE : PAINT_LIMIT;
}

/* The caller, or the address of a refused client. */
static const char *entry_caller(const json_t *entry)
{
	return *past_text(entry, "caller") ? past_text(entry, "caller") : past_text(entry, "from");
}

static void add_word(struct buf *out, const char *before, const char *text)
{
	if (*text)
		buf_printf(out, "%s%s%s", out->size > 0 ? " " : "", before, text);
}

/* A short form for a terminal, without ids. */
static void add_short(const json_t *entry, struct buf *out)
{
	static const char *const words[] = { "reason", "detail", "how", "route", "container", "name", "why" };
	bool ran = json_object_get(entry, "status") != NULL;

	add_word(out, "", past_text(entry, "language"));
	add_word(out, "", past_text(entry, "status"));
	add_word(out, "profile ", past_text(entry, "profile"));
	add_word(out, "in ", past_text(entry, "place"));
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		add_word(out, "", past_text(entry, words[i]));
	add_word(out, ran ? "- " : "", past_error(past_text(entry, "message")));
	if (out->size == 0)
		add_details(entry, out);
}

static void add_row(struct table *table, const char *line, size_t size, bool brief)
{
	_cleanup_buf_ struct buf details = { 0 };
	json_t *entry = json_loadb(line, size, 0, NULL);
	char time[TABLE_WORD];

	if (json_is_object(entry)) {
		if (brief)
			add_short(entry, &details);
		else
			add_details(entry, &details);
		table_addf(table, PAINT_DIM, "%" JSON_INTEGER_FORMAT,
			   json_integer_value(json_object_get(entry, "seq")));
		past_time(past_text(entry, "time"), time);
		table_add(table, PAINT_NONE, brief && strlen(time) == 19 ? time + 5 : time);
		table_add(table, event_paint(past_text(entry, "event")), past_text(entry, "event"));
		if (brief)
			table_add(table, PAINT_NONE, entry_caller(entry));
		table_add(table, PAINT_NONE, details.size > 0 ? details.data : "");
	} else {
		table_add(table, PAINT_BAD, "?");
		table_add(table, PAINT_NONE, "");
		table_add(table, PAINT_BAD, "not an entry");
		if (brief)
			table_add(table, PAINT_NONE, "");
		table_add(table, PAINT_NONE, "see: emberbox audit verify");
	}
	json_decref(entry);
}

static int print_table(const struct buf *lines)
{
	_cleanup_table_ struct table table = { 0 };
	_cleanup_buf_ struct buf out = { 0 };
	unsigned width = terminal_width();
	const char *line, *newline;

	if (lines->size == 0)
		return cmd_print("the audit log is empty\n", 0);
	table_begin(&table, width > 0 ? ">ENTRY|TIME|EVENT|WHO|DETAILS" : ">ENTRY|TIME|EVENT|DETAILS");
	for (line = lines->data; (newline = strchr(line, '\n')); line = newline + 1)
		add_row(&table, line, (size_t)(newline - line), width > 0);
	table_print(&table, width, terminal_colour(), &out);
	return past_print(&out, 0);
}

static int entries_show(unsigned count, int json)
{
	_cleanup_close_ int dir = state_dir(false);
	_cleanup_buf_ struct buf lines = { 0 };
	struct error err = { 0 };

	if (dir >= 0 && audit_tail(dir, count, &lines, &err) < 0)
		return past_failed("audit", &err);
	return json ? past_print(&lines, 0) : print_table(&lines);
}

static int log_verify(int json)
{
	struct error err = { 0 };
	uint64_t entries = 0;
	bool holds = audit_verify(&entries, &err) == 0;
	char text[64];

	if (json) {
		json_t *answer = json_pack("{s:b, s:I, s:s?}", "holds", holds, "entries", (json_int_t)entries, "error",
					   holds ? NULL : err.text);
		_cleanup_free_ char *line = json_dumps(answer, JSON_COMPACT);
		int code = line ? cmd_print(line, 0) : EXIT_BROKEN;

		json_decref(answer);
		return code == 0 ? cmd_print("\n", holds ? 0 : 1) : code;
	}
	if (!holds) {
		cmd_complain("%s", err.text);
		return 1;
	}
	snprintf(text, sizeof(text), "%" PRIu64 " %s, the chain holds\n", entries, entries == 1 ? "entry" : "entries");
	return cmd_print(text, 0);
}

static int word_unexpected(const char *typed, int said)
{
	static const char *const words[] = { "verify", NULL };
	const char *nearest = said ? NULL : text_nearest(typed, words);

	return cmd_usage("audit", "unexpected argument \"%s\"%s%s%s", typed, nearest ? "; did you mean " : "",
			 nearest ? nearest : "", nearest ? "?" : "");
}

int cmd_audit(int argc, char **argv)
{
	struct option_reader reader = { .specs = specs, .argc = argc, .argv = argv, .next = 1 };
	int json = 0, verifies = 0, counted = 0, code, option;
	struct store *store = NULL;
	struct error err = { 0 };
	uint64_t entries = 0;
	unsigned count = 20;

	while ((option = option_next(&reader)) != OPTION_END) {
		switch (option) {
		case OPT_COUNT:
			counted = 1;
			if (past_count(reader.value, COUNT_MAX, &count))
				break;
			return cmd_usage("audit", "--limit: expected a number from 1 to %d, not \"%.32s\"", COUNT_MAX,
					 reader.value);
		case OPT_JSON:
			json = 1;
			break;
		case OPT_HELP:
			return print_help();
		case OPTION_WORD:
			if (verifies || strcmp(reader.value, "verify") != 0)
				return word_unexpected(reader.value, verifies);
			verifies = 1;
			break;
		default:
			return cmd_usage("audit", "%s", reader.message);
		}
	}
	if (verifies && counted)
		return cmd_usage("audit", "verify checks all entries; it cannot be combined with --limit");
	/* New records are taken first, but a log that fails the verification is not changed. */
	if (verifies && audit_verify(&entries, &err) < 0)
		return log_verify(json);
	code = past_open("audit", &store);
	store_close(store);
	if (code == 0)
		code = verifies ? log_verify(json) : entries_show(count, json);
	return code;
}
