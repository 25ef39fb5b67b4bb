/*
 * emberbox repl: a session at the terminal.
 *
 * Lines are read until they form a cell, which runs in a session of the
 * service; its output is shown. If no service is running, a private one is
 * started, because a session needs a keeper.
 */
#include "cli/cmd_repl.h"

#include "base/own.h"
#include "base/text.h"
#include "wire/service_socket.h"
#include "cli/options.h"
#include "cli/repl_cells.h"
#include "cli/repl_unfinished.h"
#include "cli/cmd_run.h"
#include "cli/session_view.h"
#include "cli/session_wish.h"
#include "cli/program_source.h"
#include "cli/table.h"
#include "registry/config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	OPT_PROJECT = 1,
	OPT_SESSION,
	OPT_LOAD,
	OPT_KEEP,
	OPT_QUIET,
	OPT_HELP,
};

static const struct option_spec specs[] = {
	{ OPT_SESSION, 0, "session", "ID", "join an existing session; it stays when you leave" },
	{ OPT_LOAD, 0, "load", "FILE", "run the cells of a file first, as :save wrote it" },
	{ OPT_PROJECT, 0, "project", "DIR", "copy a directory to /sandbox/code; :reload copies your changes" },
#define SESSION_OPTION(ID, NAME, VALUE, HELP) { ID, 0, NAME, VALUE, HELP },
#include "cli/session_wish.def"
	{ OPT_KEEP, 0, "keep", NULL, "keep the session in the service when you leave, and print its id" },
	{ OPT_QUIET, 'q', "quiet", NULL, "no greeting" },
	{ OPT_HELP, 'h', "help", NULL, "show this help" },
	{ 0 },
};

/* The parsed arguments. */
struct repl_args {
	struct session_wish wish; /* the new session's options */
	const char *language;     /* the language, or NULL */
	const char *session;      /* value of --session, or NULL */
	const char *load;         /* value of --load, or NULL */
	bool quiet;               /* --quiet */
};

static int print_help(void)
{
	puts("Usage: emberbox repl LANG [options]\n"
	     "       emberbox repl --session ID\n"
	     "Starts an interactive session in a box: later cells see earlier definitions.\n"
	     "If standard input is no terminal, reads cells from it, and exits with the last\n"
	     "cell's code. Inside, :help lists the commands.\n");
	option_print(stdout, specs);
	return cmd_flush(0);
}

/* Returns 0, or an exit code. */
static int take_option(struct repl *repl, struct repl_args *args, int option, const char *value)
{
	if (option > WISH_FIRST && option < WISH_LAST) {
		if (option == WISH_LIMIT + LIMIT_timeout)
			repl->timeout = value;
		return session_wish_take(&args->wish, "repl", option, value);
	}
	switch (option) {
	case OPT_PROJECT:
		args->wish.any = true;
		repl->project = value;
		return 0;
	case OPT_SESSION:
		args->session = value;
		return 0;
	case OPT_LOAD:
		args->load = value;
		return 0;
	case OPT_KEEP:
		repl->keep = true;
		return 0;
	case OPT_QUIET:
		args->quiet = true;
		return 0;
	default:
		if (args->language)
			return cmd_usage("repl", "unexpected argument \"%s\"", value);
		args->language = value;
		return 0;
	}
}

static int read_arguments(struct repl *repl, struct repl_args *args, int argc, char **argv)
{
	struct option_reader reader = { .specs = specs, .argc = argc, .argv = argv, .next = 1 };
	struct error err = { 0 };
	int option, code = 0;

	while (code == 0 && (option = option_next(&reader)) != OPTION_END)
		code = option == OPTION_BAD ? cmd_usage("repl", "%s", reader.message)
					    : take_option(repl, args, option, reader.value);
	if (code != 0)
		return code;
	if (!args->language && !args->session)
		return cmd_usage("repl", "name a language, as in: emberbox repl python");
	if (args->session && args->wish.any)
		return cmd_usage("repl", "--session joins a session with the limits, files and settings that "
					 "it was created with");
	if (args->language && spec_set(&args->wish.spec, "language", args->language, &err) < 0)
		return session_failed(&err);
	return 0;
}

/* The body of POST /v1/sessions. */
static int make_request(struct repl *repl, const struct repl_args *args)
{
	_cleanup_close_ int dir = -1;
	int code = session_wish_request(&args->wish, "repl", &repl->request);

	if (code != 0)
		return code;
	dir = repl->project ? open(repl->project, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (repl->project && dir < 0)
		return cmd_usage("repl", "--project: cannot open \"%s\": %s", repl->project, strerror(errno));
	return 0;
}

/* Finds a running service, or starts a private one. A session to join has a service. */
static int find_service(struct repl *repl, const struct config *config, bool joins)
{
	const char *wanted = config->values[CONFIG_SERVICE].text;
	_cleanup_close_ int socket = -1;
	struct error err = { 0 };

	repl->own = (struct private_service)PRIVATE_SERVICE_INIT;
	repl->link.socket = repl->socket;
	if (service_socket_path(repl->socket, sizeof(repl->socket)) < 0)
		repl->socket[0] = '\0';
	else if (joins || strcmp(wanted, "never") != 0)
		socket = service_socket_connect(repl->socket);
	/* Starts a permanent service if the user wants that. */
	if (socket < 0 && !joins && strcmp(wanted, "start") == 0)
		socket = service_start(config->values[CONFIG_LISTEN].source != CONFIG_DEFAULT);
	if (socket >= 0)
		return 0;
	if (joins) {
		cmd_complain("no service is running at \"%s\", so there is no session", repl->socket);
		return EXIT_BROKEN;
	}
	if (private_service_start(&repl->own, &err) < 0)
		return session_failed(&err);
	snprintf(repl->socket, sizeof(repl->socket), "%s", repl->own.socket);
	if (repl->keep) {
		cmd_complain(
			"--keep: no service is running that could keep the session; start one with: emberbox serve");
		return EXIT_USAGE;
	}
	return 0;
}

int repl_open(struct repl *repl, const char *id)
{
	struct error err = { 0 };
	const char *language;
	struct spec named;
	int done;

	if (id && session_find(&repl->link, id, &err) < 0)
		return session_failed(&err);
	done = id ? session_link_ask(&repl->link, "GET", "", NULL, &repl->object, &err)
		  : session_link_open(&repl->link, repl->request, &repl->object, &err);
	if (done < 0)
		return session_failed(&err);
	repl->next = (unsigned)json_integer_value(json_object_get(repl->object, "cells")) + 1;
	language = json_string_value(json_object_get(repl->object, "language"));
	/* For a joined session, the language comes from the service. */
	if (!repl->language && language) {
		spec_init(&named);
		if (spec_set(&named, "language", language, &err) == 0) {
			repl->language = named.runtime->name;
			repl->title = named.runtime->display;
		}
		spec_free(&named);
	}
	if (!repl->language)
		repl->language = repl->title = "?";
	return 0;
}

static int wake_fd = -1;

/* Async-signal-safe: writes a letter to the pipe. */
static void on_signal(int number)
{
	int before = errno;
	char letter = number == SIGINT ? 'I' : number == SIGWINCH || number == SIGCONT ? 'W' : 'T';

	(void)!write(wake_fd, &letter, 1);
	errno = before;
}

static int watch_signals(struct repl *repl)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGCONT };
	struct sigaction action = { .sa_handler = on_signal };

	if (pipe2(repl->wake, O_CLOEXEC | O_NONBLOCK) < 0)
		return -1;
	wake_fd = repl->wake[1];
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		struct sigaction before;

		/* Signals that the caller ignores (nohup) stay ignored. */
		if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN)
			continue;
		if (sigaction(numbers[i], &action, NULL) < 0)
			return -1;
	}
	signal(SIGPIPE, SIG_IGN);
	return 0;
}

static int on_editor_wake(void *data)
{
	struct repl *repl = data;
	char said = repl_woken(repl);

	if (said == 'W')
		repl->line.width = repl->show.width = terminal_width();
	return said == 'I' ? 1 : said == 'T' ? -1 : said == 'W' ? 2 : 0;
}

static void make_prompt(const struct repl *repl, char *prompt, size_t size)
{
	bool first = repl->pending.size == 0, colour = repl->show.colour;
	char number[16];
	int wide = snprintf(number, sizeof(number), "%u", repl->next);

	if (first)
		snprintf(prompt, size, "%s[%s]%s %s>>>%s ", colour ? "\1\033[2m\1" : "", number,
			 colour ? "\1\033[0m\1" : "", colour ? "\1\033[1;32m\1" : "", colour ? "\1\033[0m\1" : "");
	else
		snprintf(prompt, size, "%*s %s...%s ", wide + 2, "", colour ? "\1\033[2m\1" : "",
			 colour ? "\1\033[0m\1" : "");
}

/* Handles one line; runs the cell if it is complete. */
static void take_line(struct repl *repl, const char *line)
{
	struct buf *cell = &repl->pending;
	size_t size;

	if (cell->size == 0 && !line[strspn(line, " \t")])
		return;
	if (cell->size == 0 && repl_command(repl, line)) {
		line_editor_remember(repl->editor, line);
		return;
	}
	buf_text(cell, line);
	if (unfinished(repl->language, cell->data, cell->size) != UNFINISHED_NOT) {
		buf_text(cell, "\n");
		return;
	}
	for (size = cell->size; size > 0 && strchr(" \t\r\n", cell->data[size - 1]);)
		size--;
	cell->data[size] = '\0';
	line_editor_remember(repl->editor, cell->data);
	/* Tab now completes the next cell. */
	cell->size = 0;
	repl_run(repl, cell->data, NULL);
}

static int repl_interact(struct repl *repl)
{
	char history[80], prompt[128];
	const char *term = getenv("TERM"), *line;

	snprintf(history, sizeof(history), "%.60s.history", repl->language);
	repl->line = (struct line_options){ .history = history,
					    .plain = !term || !*term || strcmp(term, "dumb") == 0,
					    .width = repl->show.width,
					    .wake_fd = repl->wake[0],
					    .on_wake = on_editor_wake,
					    .complete = repl_complete,
					    .userdata = repl };
	repl->editor = line_editor_new(&repl->line);
	if (!repl->editor) {
		cmd_complain("cannot edit lines at this terminal");
		return EXIT_BROKEN;
	}
	repl->show.ask = !repl->line.plain;
	repl->show.editor = repl->editor;
	while (!repl->over && !repl->show.failed) {
		make_prompt(repl, prompt, sizeof(prompt));
		switch (line_editor_read(repl->editor, prompt, &line)) {
		case LINE_TEXT:
			take_line(repl, line);
			break;
		case LINE_INTERRUPTED:
			(void)cmd_write(STDOUT_FILENO, "^C\n", 3);
			repl->pending.size = 0;
			break;
		default:
			(void)cmd_write(STDOUT_FILENO, "\n", 1);
			repl->over = true;
			/* Ctrl-D is a normal exit: a failure of the last cell does not matter. */
			repl->code = 0;
		}
	}
	return repl->code;
}

/* Standard input is no terminal: runs all of it, cell by cell. */
static int run_piped(struct repl *repl)
{
	_cleanup_cells_ struct cells cells = { 0 };
	struct source source = { 0 };
	char message[1024] = "";

	if (source_read_fd(&source, STDIN_FILENO, "standard input", message, sizeof(message)) < 0) {
		cmd_complain("%s", message);
		return EXIT_USAGE;
	}
	if (!cells_split(source.data ? source.data : "", source.size, repl->language, &cells)) {
		cmd_complain("no memory");
		repl->over = true;
	}
	free(source.data);
	for (size_t i = 0; i < cells.count && !repl->over && !repl->show.failed; i++)
		if (!repl_command(repl, cells.items[i].code))
			repl_run(repl, cells.items[i].code, NULL);
	return repl->show.failed ? 128 + SIGPIPE : repl->code;
}

static void repl_greet(struct repl *repl, bool joined)
{
	const char *version = json_string_value(json_object_get(repl->object, "language_version"));

	show_note(&repl->show, "%s%s%s in a box%s%s. :help lists the commands, Ctrl-D ends.", repl->title,
		  version ? " " : "", version ? version : "", joined || repl->keep ? ", session " : "",
		  joined || repl->keep ? repl->link.id : "");
}

static void close_session(struct repl *repl, bool joined)
{
	struct error err = { 0 };

	if (!*repl->link.id || joined)
		return;
	if (repl->keep)
		show_note(&repl->show, "The session stays: emberbox repl --session %s", repl->link.id);
	/* A private service ends with us, and so does the session. */
	else if (repl->own.pid == 0)
		(void)session_link_ask(&repl->link, "DELETE", "", NULL, NULL, &err);
}

static int repl_start(struct repl *repl, const struct repl_args *args, const struct config *config)
{
	int code;

	if (watch_signals(repl) < 0) {
		cmd_complain("cannot watch for signals: %s", strerror(errno));
		return EXIT_BROKEN;
	}
	show_open(&repl->show);
	repl->interactive = isatty(STDIN_FILENO) && repl->show.out_tty;
	code = args->session ? 0 : make_request(repl, args);
	if (code == 0)
		code = find_service(repl, config, args->session != NULL);
	if (code == 0)
		code = repl_open(repl, args->session);
	if (code != 0)
		return code;
	repl_project_begin(repl);
	if (repl->interactive && !args->quiet)
		repl_greet(repl, args->session != NULL);
	if (args->load)
		code = repl_load(repl, args->load);
	if (code == 0 && !repl->over)
		code = repl->interactive ? repl_interact(repl) : run_piped(repl);
	else if (code == 0)
		code = repl->code;
	close_session(repl, args->session != NULL);
	return code;
}

static bool wants_help(int argc, char **argv)
{
	struct option_reader reader = { .specs = specs, .argc = argc, .argv = argv, .next = 1 };
	int option;

	while ((option = option_next(&reader)) != OPTION_END)
		if (option == OPT_HELP)
			return true;
	return false;
}

int cmd_repl(int argc, char **argv)
{
	_cleanup_config_ struct config config = { 0 };
	struct repl repl = { .own = PRIVATE_SERVICE_INIT, .wake = { -1, -1 }, .next = 1 };
	struct repl_args args = { 0 };
	int code;

	if (wants_help(argc, argv))
		return print_help();
	spec_init(&args.wish.spec);
	repl.cells = json_array();
	code = session_configure(&config);
	if (code == 0)
		code = read_arguments(&repl, &args, argc, argv);
	if (code == 0) {
		repl.language = args.wish.spec.runtime ? args.wish.spec.runtime->name : NULL;
		repl.title = args.wish.spec.runtime ? args.wish.spec.runtime->display : NULL;
		code = repl_start(&repl, &args, &config);
	}
	private_service_end(&repl.own);
	line_editor_free(repl.editor);
	repl_project_free(&repl);
	show_free(&repl.show);
	json_decref(repl.request);
	json_decref(repl.cells);
	json_decref(repl.object);
	buf_free(&repl.pending);
	close_fd(&repl.wake[0]);
	close_fd(&repl.wake[1]);
	spec_free(&args.wish.spec);
	return code;
}
