/* The REPL's own commands, which begin with a colon. */
#include "base/own.h"
#include "base/text.h"
#include "cli/cmd_repl.h"
#include "cli/repl_cells.h"
#include "cli/repl_unfinished.h"
#include "cli/session_view.h"
#include "cli/program_source.h"
#include "cli/table.h"
#include "term/literal.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum {
	WORDS_MAX = 3, /* words of a command, including its name */
};

static void own_json(json_t **value)
{
	json_decref(*value);
}

static const struct repl_verb {
	const char *name;                                    /* including the colon */
	const char *arguments;                               /* arguments, for the help */
	const char *help;                                    /* one line */
	size_t least, most;                                  /* number of arguments */
	void (*run)(struct repl *repl, char *const words[]); /* its function; the words are its arguments */
} verbs[];

/* Reports an error of a command. */
static void command_fail(struct repl *repl, const struct error *err)
{
	show_problem(&repl->show, "%s", err->text);
	repl->code = EXIT_BROKEN;
}

static void verb_help(struct repl *repl, char *const words[])
{
	_cleanup_buf_ struct buf out = { 0 };

	for (const struct repl_verb *verb = verbs; verb->name; verb++) {
		char form[40];

		snprintf(form, sizeof(form), "%s%s%s", verb->name, *verb->arguments ? " " : "", verb->arguments);
		buf_printf(&out, "  %-22s %s\n", form, verb->help);
	}
	buf_text(&out, "Tab completes, Ctrl-C interrupts a cell or drops a line, Ctrl-R searches,\n"
		       "an empty line ends a block. What you type while a cell runs is its input,\n"
		       "and unread input is typed at the next prompt.\n");
	show_text(&repl->show, &out);
}

static void verb_reset(struct repl *repl, char *const words[])
{
	struct error err = { 0 };
	json_t *object = NULL;

	if (session_link_ask(&repl->link, "POST", "restart", NULL, &object, &err) < 0) {
		command_fail(repl, &err);
		return;
	}
	json_decref(repl->object);
	repl->object = object;
	repl->next = 1;
	json_array_clear(repl->cells);
	repl_project_begin(repl);
	show_note(&repl->show, "A new session has begun, without the state of the old one.");
}

static void verb_files(struct repl *repl, char *const words[])
{
	_cleanup_(own_json) json_t *answer = NULL;
	_cleanup_table_ struct table table = { 0 };
	_cleanup_buf_ struct buf out = { 0 };
	struct error err = { 0 };

	if (session_files(&repl->link, words[0], &answer, &err) < 0) {
		command_fail(repl, &err);
	} else if (session_files_table(answer, &table) == 0) {
		show_note(&repl->show, "No files in %s.", words[0] ? words[0] : "/sandbox/code");
	} else {
		table_print(&table, repl->show.width, repl->show.colour, &out);
		show_text(&repl->show, &out);
	}
}

static void verb_limits(struct repl *repl, char *const words[])
{
	_cleanup_table_ struct table table = { 0 };
	_cleanup_buf_ struct buf out = { 0 };
	struct error err = { 0 };
	json_t *object = NULL;

	if (session_link_ask(&repl->link, "GET", "", NULL, &object, &err) < 0) {
		command_fail(repl, &err);
		return;
	}
	json_decref(repl->object);
	repl->object = object;
	session_limits_table(object, &table);
	table_print(&table, repl->show.width, repl->show.colour, &out);
	show_text(&repl->show, &out);
}

static void verb_save(struct repl *repl, char *const words[])
{
	_cleanup_(own_json) json_t *answer = NULL;
	_cleanup_buf_ struct buf text = { 0 };
	const char *version = json_string_value(json_object_get(repl->object, "language_version"));
	const json_t *cells;
	json_int_t dropped = 0;
	struct error err = { 0 };
	time_t now = time(NULL);
	struct tm utc;
	char title[200], when[40] = "";

	/* The service also knows the cells of other clients, but only the newest ones; we know all of ours. */
	cells = session_link_ask(&repl->link, "GET", "cells", NULL, &answer, &err) == 0
			? json_object_get(answer, "cells")
			: NULL;
	dropped = json_integer_value(json_object_get(answer, "dropped"));
	if (json_array_size(cells) < json_array_size(repl->cells)) {
		cells = repl->cells;
		dropped = 0;
	}
	if (json_array_size(cells) == 0) {
		show_note(&repl->show, "There are no cells to save.");
		return;
	}
	if (gmtime_r(&now, &utc))
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &utc);
	snprintf(title, sizeof(title), "emberbox session: %s%s%.60s, saved %s", repl->language, version ? " " : "",
		 version ? version : "", when);
	cells_write(cells, unfinished_comment(repl->language), title, &text);
	if (text.failed || session_write_file(words[0], text.data, text.size, &err) < 0) {
		command_fail(repl, &err);
		return;
	}
	if (dropped > 0)
		show_problem(&repl->show, "The first %lld cells are no longer stored, and are missing.",
			     (long long)dropped);
	show_note(&repl->show, "%zu cell%s written to %s.", json_array_size(cells),
		  json_array_size(cells) == 1 ? "" : "s", words[0]);
}

/* Whether to replay a cell with this status: one that was ended from outside would probably have to be ended again. */
static bool is_replayed(const char *status)
{
	return !*status || strcmp(status, "ok") == 0 || strcmp(status, "failed") == 0;
}

int repl_load(struct repl *repl, const char *file)
{
	_cleanup_cells_ struct cells cells = { 0 };
	struct source source = { 0 };
	char message[1024] = "", status[24] = "";
	size_t ran = 0, wrong = 0, left = 0;
	bool read = source_read_file(&source, file, message, sizeof(message)) == 0;

	if (!read ||
	    !cells_read(source.data ? source.data : "", source.size, unfinished_comment(repl->language), &cells)) {
		show_problem(&repl->show, "emberbox: %s", read ? "no memory" : message);
		free(source.data);
		return repl->code = EXIT_USAGE;
	}
	free(source.data);
	for (size_t i = 0; i < cells.count && !repl->over; i++) {
		const struct cell *cell = &cells.items[i];
		bool was = strcmp(cell->status, "failed") == 0;
		enum repl_end end;

		if (!is_replayed(cell->status)) {
			show_problem(&repl->show, "cell %u was not replayed: its status was \"%s\" when it was saved",
				     cell->number, cell->status);
			left++;
			continue;
		}
		end = repl_run(repl, cell->code, status);
		ran += end == REPL_OK || (end == REPL_FAILED && was);
		if (end == REPL_OK)
			continue;
		show_problem(&repl->show, "cell %u failed%s", cell->number,
			     end == REPL_LOST     ? ", and the session's state is lost"
			     : end == REPL_BROKEN ? ": it was not run"
			     : was                ? ", as before it was saved"
						  : "");
		wrong += end != REPL_FAILED || !was;
		/* Later cells may depend on the lost state. */
		if (end == REPL_LOST || end == REPL_BROKEN) {
			left += cells.count - i - 1;
			break;
		}
	}
	show_note(&repl->show, "%zu of %zu cells replayed, %zu failed, %zu not replayed.", ran, cells.count, wrong,
		  left);
	return 0;
}

static void verb_load(struct repl *repl, char *const words[])
{
	(void)repl_load(repl, words[0]);
}

static void verb_reload(struct repl *repl, char *const words[])
{
	repl_project_reload(repl);
}

static void verb_interrupt(struct repl *repl, char *const words[])
{
	_cleanup_(own_json) json_t *answer = NULL;
	struct error err = { 0 };

	if (session_link_ask(&repl->link, "POST", "interrupt", NULL, &answer, &err) < 0)
		command_fail(repl, &err);
	else
		show_note(&repl->show, json_is_true(json_object_get(answer, "interrupted")) ? "Interrupted."
											    : "No cell is running.");
}

static void name_inspect(struct repl *repl, const char *name)
{
	_cleanup_(own_json) json_t *answer = NULL, *body = NULL;
	const json_t *data;
	struct error err = { 0 };
	size_t characters = 0;

	for (const char *at = name; *at; at++)
		characters += (*at & 0xc0) != 0x80;
	body = json_pack("{s:s, s:I}", "code", name, "cursor", (json_int_t)characters);
	if (!body || session_link_ask(&repl->link, "POST", "inspect", body, &answer, &err) < 0) {
		command_fail(repl, &err);
		return;
	}
	data = json_object_get(answer, "data");
	if (!json_is_true(json_object_get(answer, "found")))
		show_problem(&repl->show, "\"%s\" is unknown.", name);
	else
		show_bundle(&repl->show, data ? data : answer);
}

static void verb_inspect(struct repl *repl, char *const words[])
{
	name_inspect(repl, words[0]);
}

static void verb_get(struct repl *repl, char *const words[])
{
	_cleanup_buf_ struct buf content = { 0 };
	const char *slash = strrchr(words[0], '/'), *to = words[1] ? words[1] : slash ? slash + 1 : words[0];
	char path[4200], bytes[TABLE_WORD];
	struct error err = { 0 };

	session_file_path(words[0], "/sandbox/output", path, sizeof(path));
	if (session_link_get_file(&repl->link, path, &content, &err) < 0 ||
	    session_write_file(to, content.data ? content.data : "", content.size, &err) < 0)
		command_fail(repl, &err);
	else
		show_note(&repl->show, "%s written to %s.", bytes_text((double)content.size, bytes), to);
}

static void verb_quit(struct repl *repl, char *const words[])
{
	repl->over = true;
	if (repl->interactive)
		repl->code = 0;
}

static const struct repl_verb verbs[] = {
	{ ":help", "", "show this help", 0, 0, verb_help },
	{ ":inspect", "NAME", "show a name's type and documentation; also ?NAME and NAME?", 1, 1, verb_inspect },
	{ ":files", "[DIR]", "list the files in /sandbox/code, or in DIR", 0, 1, verb_files },
	{ ":get", "PATH [FILE]", "fetch a file of /sandbox/output, or any by its path", 1, 2, verb_get },
	{ ":limits", "", "show the session's limits and usage", 0, 0, verb_limits },
	{ ":save", "FILE", "write the cells to a file", 1, 1, verb_save },
	{ ":load", "FILE", "run the cells of a file", 1, 1, verb_load },
	{ ":reload", "", "copy changed files from the project's directory", 0, 0, verb_reload },
	{ ":interrupt", "", "interrupt a cell of another client in the session", 0, 0, verb_interrupt },
	{ ":reset", "", "start a new session, without any state", 0, 0, verb_reset },
	{ ":quit", "", "leave, as Ctrl-D does", 0, 0, verb_quit },
	{ 0 },
};

/* Splits into words; the last one is the rest of the line. Returns their number. */
static size_t words_split(char *line, char *words[WORDS_MAX + 1])
{
	size_t count = 0;
	char *at = line + strspn(line, " \t");

	while (*at && count < WORDS_MAX) {
		char *end = count + 1 < WORDS_MAX ? at + strcspn(at, " \t") : at + strlen(at);

		words[count++] = at;
		at = end + strspn(end, " \t");
		*end = '\0';
	}
	words[count] = NULL;
	return count;
}

static void command_unknown(struct repl *repl, const char *typed)
{
	const char *names[ARRAY_SIZE(verbs)] = { NULL };
	const char *nearest;

	for (size_t i = 0; verbs[i].name; i++)
		names[i] = verbs[i].name;
	nearest = text_nearest(typed, names);
	show_problem(&repl->show, "Unknown command %s%s%s; :help lists them.", typed, nearest ? "; did you mean " : "",
		     nearest ? nearest : "");
	repl->code = EXIT_USAGE;
}

static bool is_name(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (!strchr("_.:$", text[i]) && !(text[i] >= '0' && text[i] <= '9') &&
		    !((text[i] | 0x20) >= 'a' && (text[i] | 0x20) <= 'z') && !(text[i] & 0x80))
			return false;
	return size > 0;
}

/* ?NAME or NAME? on a line of its own. */
static bool is_question(const char *line, char *name, size_t room)
{
	const char *from = line + strspn(line, " \t");
	size_t size = strlen(from);

	while (size > 0 && strchr(" \t\r\n", from[size - 1]))
		size--;
	if (size > 1 && *from == '?')
		from++, size--;
	else if (size > 1 && from[size - 1] == '?')
		size--;
	else
		return false;
	if (!is_name(from, size) || size >= room)
		return false;
	memcpy(name, from, size);
	name[size] = '\0';
	return true;
}

bool repl_command(struct repl *repl, const char *line)
{
	char *words[WORDS_MAX + 1] = { NULL }, name[256];
	_cleanup_free_ char *copy = NULL;
	size_t count;

	line += strspn(line, " \t");
	/* In Ruby, `x?` is a valid name. */
	if (is_question(line, name, sizeof(name)) && (*line == '?' || strcmp(repl->language, "ruby") != 0)) {
		name_inspect(repl, name);
		return true;
	}
	/* `: ` is a shell command, and :name a symbol in Ruby, so a letter must follow and a command must be
	 * similar. */
	if (*line != ':' || !(line[1] >= 'a' && line[1] <= 'z') || strchr(line, '\n'))
		return false;
	copy = strdup(line);
	count = copy ? words_split(copy, words) : 0;
	if (count == 0)
		return false;
	if (strcmp(words[0], ":q") == 0 || strcmp(words[0], ":exit") == 0)
		words[0] = (char *)":quit";
	for (const struct repl_verb *verb = verbs; verb->name; verb++) {
		if (strcmp(verb->name, words[0]) != 0)
			continue;
		if (count - 1 < verb->least || count - 1 > verb->most) {
			show_problem(&repl->show, "Usage: %s%s%s", verb->name, *verb->arguments ? " " : "",
				     verb->arguments);
			repl->code = EXIT_USAGE;
		} else {
			verb->run(repl, words + 1);
		}
		return true;
	}
	/* In Ruby, :symbol is a value. */
	if (strcmp(repl->language, "ruby") == 0)
		return false;
	command_unknown(repl, words[0]);
	return true;
}
