/*
 * emberbox session: the service's sessions from the command line.
 *
 * Each verb is one request to the API over the service's socket, except `exec`,
 * which is `emberbox run --session`. A session is found by its id, the
 * beginning of its id, or its name.
 */
#include "base/own.h"
#include "base/text.h"
#include "wire/service_socket.h"
#include "client/session_link.h"
#include "cli/cmd.h"
#include "cli/past.h"
#include "cli/cmd_run.h"
#include "cli/session_view.h"
#include "cli/session_wish.h"
#include "cli/program_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	OPT_ALL = 1,
	OPT_JSON,
	OPT_HELP,
	WORDS_MAX = 32, /* after the verb: `stop` takes several */
};

static const struct option_spec specs[] = {
	{ OPT_ALL, 'a', "all", NULL, "list: also sessions that have ended; stop: all running sessions" },
	{ OPT_JSON, 0, "json", NULL, "print JSON as in the HTTP API" },
#define SESSION_OPTION(ID, NAME, VALUE, HELP) { ID, 0, NAME, VALUE, "start: " HELP },
#include "cli/session_wish.def"
	{ OPT_HELP, 'h', "help", NULL, "show this help" },
	{ 0 },
};

/* The parsed command line, and the session. */
struct asked {
	const char *words[WORDS_MAX]; /* words after the verb */
	size_t count;                 /* number of them */
	struct session_wish wish;     /* options of `start` */
	bool wished;                  /* options that only `start` has were used */
	bool bounded;                 /* there were options that `start` and `network` take */
	bool all, json;               /* --all, --json */
	bool rm;                      /* `rm` was typed */
	char socket[PATH_MAX];        /* path of the service's socket */
	struct session_link link;     /* the session */
};

static void own_json(json_t **value)
{
	json_decref(*value);
}

static int print_help(void)
{
	puts("Usage: emberbox session list [--all]\n"
	     "       emberbox session start LANG [options]\n"
	     "       emberbox session exec ID [FILE | - | -c CODE] [options of run]\n"
	     "       emberbox session show|interrupt|restart ID\n"
	     "       emberbox session network ID none|RULE,...\n"
	     "       emberbox session stop ID... | --all\n"
	     "       emberbox session files ID [DIR]\n"
	     "       emberbox session get ID PATH [FILE | -]\n"
	     "       emberbox session put ID FILE|- [PATH]\n"
	     "       emberbox session remove ID PATH\n"
	     "Manages sessions of the service, which keep a language's state from one piece of\n"
	     "code to the next. `start` prints the id of the new session. ID is the id, its\n"
	     "beginning, or the name. For interactive use: emberbox repl --session ID. `ls` is\n"
	     "`list`, and `rm` is `stop`.\n");
	option_print(stdout, specs);
	return cmd_flush(0);
}

static int print_json(const json_t *value)
{
	_cleanup_buf_ struct buf out = { 0 };
	_cleanup_free_ char *dump = json_dumps(value, JSON_INDENT(2) | JSON_REAL_PRECISION(9));

	if (dump)
		buf_printf(&out, "%s\n", dump);
	out.failed |= !dump;
	return past_print(&out, 0);
}

/* Finds a running service; `start` may start one. Returns 0, or an exit code. */
static int find_service(struct asked *asked, bool starts)
{
	_cleanup_config_ struct config config = { 0 };
	_cleanup_close_ int socket = -1;
	int code = session_configure(&config);

	if (code != 0)
		return code;
	if (service_socket_path(asked->socket, sizeof(asked->socket)) < 0)
		return cmd_usage("session", "there is no directory for the service's socket; set EMBERBOX_HOME");
	asked->link.socket = asked->socket;
	socket = service_socket_connect(asked->socket);
	if (socket < 0 && errno == EPERM) {
		cmd_complain("the service at \"%s\" belongs to another user", asked->socket);
		return EXIT_BROKEN;
	}
	if (socket < 0 && starts && strcmp(config.values[CONFIG_SERVICE].text, "start") == 0)
		socket = service_start(config.values[CONFIG_LISTEN].source != CONFIG_DEFAULT);
	if (socket >= 0)
		return 0;
	cmd_complain("no service is running at \"%s\", which sessions need; start it with: emberbox serve",
		     asked->socket);
	return EXIT_BROKEN;
}

/* Returns 0, or an exit code. */
static int find_session(struct asked *asked, const char *typed)
{
	struct error err = { 0 };

	return session_find(&asked->link, typed, &err) < 0 ? session_failed(&err) : 0;
}

/* The time since then, in words. */
static const char *time_since(const char *rfc3339, char out[TABLE_WORD])
{
	struct tm parts = { 0 };
	double seconds;

	if (!strptime(rfc3339, "%Y-%m-%dT%H:%M:%S", &parts))
		return "-";
	seconds = difftime(time(NULL), timegm(&parts));
	if (seconds < 60)
		snprintf(out, TABLE_WORD, "%.0f s", seconds > 0 ? seconds : 0);
	else if (seconds < 5400)
		snprintf(out, TABLE_WORD, "%.0f min", seconds / 60);
	else
		snprintf(out, TABLE_WORD, "%.0f h", seconds / 3600);
	return out;
}

static void add_session(struct table *table, const json_t *session)
{
	const char *status = past_text(session, "status"), *name = past_text(session, "name");
	char word[TABLE_WORD];

	table_add(table, PAINT_DIM, past_text(session, "id"));
	table_add(table, PAINT_NONE, past_text(session, "language"));
	table_add(table,
		  strcmp(status, "busy") == 0 ? PAINT_CYAN
		  : session_is_over(session)  ? PAINT_DIM
					      : PAINT_GOOD,
		  status);
	table_addf(table, PAINT_NONE, "%.0f", past_number(session, "cells"));
	table_add(table, PAINT_NONE,
		  session_is_over(session) ? "" : bytes_text(past_number(session, "memory_used"), word));
	table_add(table, PAINT_NONE, time_since(past_text(session, "last_used"), word));
	table_add(table, PAINT_NONE, past_text(session, "caller"));
	/* Shows why an ended session has ended. */
	if (session_is_over(session))
		table_addf(table, PAINT_NONE, "%s%s%s", name, *name ? ": " : "", past_text(session, "reason"));
	else
		table_add(table, PAINT_NONE, name);
}

static int verb_list(struct asked *asked)
{
	_cleanup_(own_json) json_t *answer = NULL, *shown = json_array();
	_cleanup_table_ struct table table = { 0 };
	_cleanup_buf_ struct buf out = { 0 };
	struct error err = { 0 };
	json_t *session;
	size_t index;

	if (session_link_list(&asked->link, &answer, &err) < 0)
		return session_failed(&err);
	table_begin(&table, "ID|LANGUAGE|STATUS|>CELLS|>MEMORY|>USED|CALLER|NAME");
	json_array_foreach(json_object_get(answer, "sessions"), index, session)
	{
		if (session_is_over(session) && !asked->all)
			continue;
		json_array_append(shown, session);
		add_session(&table, session);
	}
	if (asked->json) {
		json_object_set(answer, "sessions", shown);
		return print_json(answer);
	}
	if (json_array_size(shown) > 0)
		table_print(&table, terminal_width(), terminal_colour(), &out);
	else
		buf_text(&out, asked->all ? "there are no sessions; start one: emberbox session start python\n"
					  : "no session is running; start one: emberbox session start python\n");
	return past_print(&out, 0);
}

static int verb_start(struct asked *asked)
{
	_cleanup_(own_json) json_t *request = NULL, *session = NULL;
	struct error err = { 0 };
	int code;

	if (spec_set(&asked->wish.spec, "language", asked->words[0], &err) < 0)
		return session_failed(&err);
	code = session_wish_request(&asked->wish, "session", &request);
	if (code != 0)
		return code;
	if (session_link_open(&asked->link, request, &session, &err) < 0)
		return session_failed(&err);
	if (asked->json)
		return print_json(session);
	puts(asked->link.id);
	return cmd_flush(0);
}

static void add_line(struct buf *out, const char *name, const char *value)
{
	_cleanup_buf_ struct buf line = { 0 };

	text_line(value, 0, &line);
	buf_printf(out, "%-10s %s\n", name, line.data ? line.data : "");
}

/* "none", or the rules with commas between them. */
static void add_network(struct buf *out, const json_t *session)
{
	const json_t *network = json_object_get(session, "network"), *rule;
	_cleanup_buf_ struct buf rules = { 0 };
	size_t i;

	json_array_foreach(json_object_get(network, "allow"), i, rule)
	{
		buf_text(&rules, i > 0 ? "," : "");
		buf_text(&rules, json_string_value(rule));
	}
	buf_add(&rules, "", 1);
	out->failed |= rules.failed;
	add_line(out, "network", rules.size > 1 ? rules.data : "none");
}

static int verb_show(struct asked *asked)
{
	_cleanup_(own_json) json_t *session = NULL;
	_cleanup_table_ struct table table = { 0 };
	_cleanup_buf_ struct buf out = { 0 };
	struct error err = { 0 };
	char word[TABLE_WORD];

	if (session_link_ask(&asked->link, "GET", "", NULL, &session, &err) < 0)
		return session_failed(&err);
	if (asked->json)
		return print_json(session);
	add_line(&out, "session", past_text(session, "id"));
	if (*past_text(session, "name"))
		add_line(&out, "name", past_text(session, "name"));
	add_line(&out, "caller", past_text(session, "caller"));
	buf_printf(&out, "%-10s %s %s\n", "language", past_text(session, "language"),
		   past_text(session, "language_version"));
	add_line(&out, "status", past_text(session, "status"));
	if (session_is_over(session))
		add_line(&out, "because", past_text(session, "reason"));
	buf_printf(&out, "%-10s %.0f\n", "cells", past_number(session, "cells"));
	if (json_object_get(session, "network"))
		add_network(&out, session);
	add_line(&out, "created", past_time(past_text(session, "created"), word));
	add_line(&out, "last used", past_time(past_text(session, "last_used"), word));
	if (!session_is_over(session))
		add_line(&out, "expires", past_time(past_text(session, "expires"), word));
	buf_text(&out, "\n");
	session_limits_table(session, &table);
	table_print(&table, terminal_width(), terminal_colour(), &out);
	return past_print(&out, 0);
}

/* POST, then a message for people on standard error. */
static int session_post(struct asked *asked, const char *tail, json_t **answer)
{
	struct error err = { 0 };

	if (session_link_ask(&asked->link, "POST", tail, NULL, answer, &err) < 0)
		return session_failed(&err);
	return asked->json ? print_json(*answer) : 0;
}

static int verb_interrupt(struct asked *asked)
{
	_cleanup_(own_json) json_t *answer = NULL;
	int code = session_post(asked, "interrupt", &answer);

	if (code == 0 && !asked->json && !json_is_true(json_object_get(answer, "interrupted")))
		cmd_complain("no cell is running in the session");
	return code;
}

static int verb_restart(struct asked *asked)
{
	_cleanup_(own_json) json_t *answer = NULL;

	return session_post(asked, "restart", &answer);
}

static int verb_network(struct asked *asked)
{
	_cleanup_(own_json) json_t *network = NULL, *body = NULL, *answer = NULL;
	struct error err = { 0 };
	int code = session_wish_network(&asked->wish, "session", asked->words[1], &network);

	if (code != 0)
		return code;
	body = json_pack("{s:O}", "network", network);
	if (session_link_ask(&asked->link, "PATCH", "", body, &answer, &err) < 0)
		return session_failed(&err);
	return asked->json ? print_json(answer) : 0;
}

static int session_stop(struct asked *asked, json_t *stopped)
{
	struct error err = { 0 };
	json_t *answer = NULL;

	if (session_link_ask(&asked->link, "DELETE", "", NULL, &answer, &err) < 0)
		return session_failed(&err);
	json_array_append_new(stopped, answer);
	return 0;
}

static int stop_all(struct asked *asked, json_t *stopped)
{
	_cleanup_(own_json) json_t *answer = NULL;
	struct error err = { 0 };
	const json_t *session;
	size_t index;
	int code = 0;

	if (session_link_list(&asked->link, &answer, &err) < 0)
		return session_failed(&err);
	json_array_foreach(json_object_get(answer, "sessions"), index, session)
	{
		int one;

		if (session_is_over(session))
			continue;
		snprintf(asked->link.id, sizeof(asked->link.id), "%s", past_text(session, "id"));
		one = session_stop(asked, stopped);
		code = code ? code : one;
	}
	return code;
}

/* Stops all of them, even if one does not exist. */
static int verb_stop(struct asked *asked)
{
	_cleanup_(own_json) json_t *stopped = json_array(), *root = NULL;
	int code = 0, printed;

	if (asked->all == (asked->count > 0))
		return cmd_usage("session", asked->all ? "stop: give ids or --all, not both"
						       : "stop: give ids, or --all for all running sessions");
	if (asked->all)
		code = stop_all(asked, stopped);
	/* With `rm`, a word after an id may be a path by mistake for `remove`: then no session is stopped. */
	for (size_t i = 0; asked->rm && i < asked->count; i++) {
		code = find_session(asked, asked->words[i]);
		if (code == 0)
			continue;
		cmd_complain(
			"rm has stopped no session; to remove a file of a session: emberbox session remove ID PATH");
		return code;
	}
	for (size_t i = 0; i < asked->count; i++) {
		int one = find_session(asked, asked->words[i]);

		if (one == 0)
			one = session_stop(asked, stopped);
		code = code ? code : one;
	}
	if (!asked->json)
		return code;
	root = json_pack("{s:O}", "sessions", stopped);
	printed = print_json(root);
	return code ? code : printed;
}

static int verb_files(struct asked *asked)
{
	_cleanup_(own_json) json_t *answer = NULL;
	_cleanup_table_ struct table table = { 0 };
	_cleanup_buf_ struct buf out = { 0 };
	const char *directory = asked->count > 1 ? asked->words[1] : NULL;
	struct error err = { 0 };

	if (session_files(&asked->link, directory, &answer, &err) < 0)
		return session_failed(&err);
	if (asked->json)
		return print_json(answer);
	if (session_files_table(answer, &table) > 0)
		table_print(&table, terminal_width(), terminal_colour(), &out);
	else
		cmd_complain("no files in %s", directory ? directory : "/sandbox/code");
	if (json_is_true(json_object_get(answer, "truncated")))
		cmd_complain("there are more than 1000 files");
	return past_print(&out, 0);
}

static int verb_get(struct asked *asked)
{
	_cleanup_buf_ struct buf content = { 0 };
	const char *typed = asked->words[1], *slash = strrchr(typed, '/');
	const char *to = asked->count > 2 ? asked->words[2] : slash ? slash + 1 : typed;
	struct error err = { 0 };
	char path[4200];

	if (!*to)
		return cmd_usage("session", "get: \"%.80s\" names no file", typed);
	session_file_path(typed, "/sandbox/output", path, sizeof(path));
	if (session_link_get_file(&asked->link, path, &content, &err) < 0)
		return session_failed(&err);
	if (strcmp(to, "-") == 0)
		return cmd_print_program(content.data ? content.data : "", content.size);
	return session_write_file(to, content.data ? content.data : "", content.size, &err) < 0 ? session_failed(&err)
												: 0;
}

static int verb_put(struct asked *asked)
{
	const char *from = asked->words[1], *slash = strrchr(from, '/');
	bool is_stdin = strcmp(from, "-") == 0;
	char path[4200], message[1024] = "";
	struct source source = { 0 };
	struct error err = { 0 };
	int done;

	if (is_stdin && asked->count < 3)
		return cmd_usage("session", "put: standard input has no name; give the PATH in the session as well");
	done = is_stdin ? source_read_fd(&source, STDIN_FILENO, "standard input", message, sizeof(message))
			: source_read_file(&source, from, message, sizeof(message));
	if (done < 0) {
		cmd_complain("%s", message);
		return EXIT_USAGE;
	}
	session_file_path(asked->count > 2 ? asked->words[2]
			  : slash          ? slash + 1
					   : from,
			  "/sandbox/code", path, sizeof(path));
	done = session_link_put_file(&asked->link, path, source.data ? source.data : "", source.size, &err);
	free(source.data);
	return done < 0 ? session_failed(&err) : 0;
}

static int verb_remove(struct asked *asked)
{
	_cleanup_buf_ struct buf tail = { 0 };
	struct error err = { 0 };
	char path[4200];

	session_file_path(asked->words[1], "/sandbox/code", path, sizeof(path));
	buf_text(&tail, "files/");
	http_path_add(&tail, session_link_path(path), true);
	if (tail.failed)
		error_set(&err, ERROR_FAILED, ENOMEM, "cannot make the request");
	else if (session_link_ask(&asked->link, "DELETE", tail.data, NULL, NULL, &err) == 0)
		return 0;
	return session_failed(&err);
}

static const struct verb {
	const char *name;                /* name of the verb */
	const char *words;               /* its arguments, for errors about missing ones */
	size_t least, most;              /* number of words */
	bool of_session;                 /* the first word is a session's id */
	bool json, all;                  /* accepts --json, --all */
	int (*run)(struct asked *asked); /* its function */
} verbs[] = {
	{ "list", "", 0, 0, false, true, true, verb_list },
	{ "ls", "", 0, 0, false, true, true, verb_list },
	{ "start", " LANG", 1, 1, false, true, false, verb_start },
	{ "show", " ID", 1, 1, true, true, false, verb_show },
	{ "interrupt", " ID", 1, 1, true, true, false, verb_interrupt },
	{ "restart", " ID", 1, 1, true, true, false, verb_restart },
	{ "network", " ID RULES", 2, 2, true, true, false, verb_network },
	{ "stop", " ID...", 0, WORDS_MAX, false, true, true, verb_stop },
	{ "rm", " ID...", 0, WORDS_MAX, false, true, true, verb_stop },
	{ "files", " ID [DIR]", 1, 2, true, true, false, verb_files },
	{ "get", " ID PATH [FILE]", 2, 3, true, false, false, verb_get },
	{ "put", " ID FILE [PATH]", 2, 3, true, false, false, verb_put },
	{ "remove", " ID PATH", 2, 2, true, false, false, verb_remove },
};

#define VERBS_NAMED "list, start, exec, show, interrupt, restart, network, stop, files, get, put, remove"

static int unknown_verb(const char *typed)
{
	const char *names[ARRAY_SIZE(verbs) + 2] = { "exec" };
	const char *nearest;

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		names[i + 1] = verbs[i].name;
	nearest = text_nearest(typed, names);
	if (nearest)
		return cmd_usage("session", "\"%.64s\" is not one of " VERBS_NAMED "; did you mean %s?", typed,
				 nearest);
	return cmd_usage("session", "\"%.64s\" is not one of " VERBS_NAMED, typed);
}

/* The word after `count` others in " ID PATH [FILE]". */
static const char *missing_word(const char *words, size_t count, char out[16])
{
	size_t size;

	for (words++; count > 0; count--)
		words += strcspn(words, " ") + 1;
	size = strcspn(words, " .");
	snprintf(out, 16, "%.*s", (int)size, words);
	return out;
}

static int verb_run(const struct verb *verb, struct asked *asked)
{
	char missing[16];
	int code;

	if (asked->count < verb->least)
		return cmd_usage("session", "%s is missing: emberbox session %s%s",
				 missing_word(verb->words, asked->count, missing), verb->name, verb->words);
	if (asked->count > verb->most)
		return cmd_usage("session", "unexpected argument \"%.64s\": emberbox session %s%s",
				 asked->words[verb->most], verb->name, verb->words);
	asked->rm = strcmp(verb->name, "rm") == 0;
	if (asked->wished && verb->run != verb_start)
		return cmd_usage("session", "%s takes no limits and settings; `emberbox session start` does",
				 verb->name);
	if (asked->bounded && verb->run != verb_start && verb->run != verb_network)
		return cmd_usage("session", "%s takes no --%s; `emberbox session start` and `session network` do",
				 verb->name, asked->wish.bound);
	if (asked->json && !verb->json)
		return cmd_usage("session", "%s has no --json", verb->name);
	if (asked->all && !verb->all)
		return cmd_usage("session", "%s has no --all", verb->name);
	code = find_service(asked, verb->run == verb_start);
	if (code == 0 && verb->of_session)
		code = find_session(asked, asked->words[0]);
	return code == 0 ? verb->run(asked) : code;
}

/* `emberbox run --session ID`: its parser reads the words after the id. */
static int exec_cell(struct asked *asked, int argc, char **argv)
{
	_cleanup_free_ char **passed = NULL;
	int code;

	if (argc < 1 || argv[0][0] == '-')
		return cmd_usage("session",
				 "exec: the session's id comes first: emberbox session exec ID [FILE | - | -c CODE]");
	code = find_service(asked, false);
	if (code == 0)
		code = find_session(asked, argv[0]);
	if (code != 0)
		return code;
	passed = calloc((size_t)argc + 3, sizeof(*passed));
	if (!passed) {
		cmd_complain("no memory");
		return EXIT_BROKEN;
	}
	passed[0] = (char *)"run";
	passed[1] = (char *)"--session";
	passed[2] = asked->link.id;
	memcpy(passed + 3, argv + 1, (size_t)(argc - 1) * sizeof(*passed));
	return cmd_run(argc + 2, passed);
}

static int read_arguments(struct asked *asked, int argc, char **argv)
{
	struct option_reader reader = { .specs = specs, .argc = argc, .argv = argv, .next = 1 };
	const struct verb *verb = NULL;
	int option, code = 0;

	while (code == 0 && (option = option_next(&reader)) != OPTION_END) {
		if (option == OPT_HELP)
			return print_help();
		if (option == OPTION_BAD)
			code = cmd_usage("session", "%s", reader.message);
		else if (option > WISH_FIRST && option < WISH_LAST) {
			if (session_wish_is_bound(option))
				asked->bounded = true;
			else
				asked->wished = true;
			code = session_wish_take(&asked->wish, "session", option, reader.value);
		} else if (option == OPT_JSON)
			asked->json = true;
		else if (option == OPT_ALL)
			asked->all = true;
		else if (verb && asked->count == WORDS_MAX)
			code = cmd_usage("session", "more than %d words", WORDS_MAX);
		else if (verb)
			asked->words[asked->count++] = reader.value;
		else if (strcmp(reader.value, "exec") == 0)
			return exec_cell(asked, argc - reader.next, argv + reader.next);
		else {
			for (size_t i = 0; i < ARRAY_SIZE(verbs) && !verb; i++)
				if (strcmp(verbs[i].name, reader.value) == 0)
					verb = &verbs[i];
			if (!verb)
				code = unknown_verb(reader.value);
		}
	}
	if (code != 0)
		return code;
	return verb ? verb_run(verb, asked) : cmd_usage("session", "the action is missing: " VERBS_NAMED);
}

int cmd_session(int argc, char **argv)
{
	struct asked asked = { 0 };
	int code;

	spec_init(&asked.wish.spec);
	code = read_arguments(&asked, argc, argv);
	spec_free(&asked.wish.spec);
	return code;
}
