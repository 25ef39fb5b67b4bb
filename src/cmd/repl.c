/*
 * emberbox repl: a session at the terminal.
 *
 * Lines are read until they are a cell, the cell runs in a session of the
 * service, and what it does is shown. Where no service runs, one is started for
 * as long as this takes: a session needs a keeper.
 */
#include "cmd/repl.h"

#include "base/own.h"
#include "base/text.h"
#include "client/client.h"
#include "client/request_json.h"
#include "cmd/options.h"
#include "cmd/repl_cells.h"
#include "cmd/repl_unfinished.h"
#include "cmd/run.h"
#include "cmd/source.h"
#include "cmd/table.h"
#include "registry/config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	OPT_REQUEST_FIRST =
		1, /* the options between here and OPT_REQUEST_LAST are keys of the spec by their own names */
	OPT_CPU_TIME,
	OPT_MEMORY,
	OPT_CPUS,
	OPT_PIDS,
	OPT_DISK,
	OPT_MAX_OUTPUT,
	OPT_ENV,
	OPT_FILE,
	OPT_ALLOW_WEAKER,
	OPT_REQUEST_LAST,
	OPT_TIMEOUT,
	OPT_PROJECT,
	OPT_PROFILE,
	OPT_READ_ONLY,
	OPT_SESSION,
	OPT_LOAD,
	OPT_TTL,
	OPT_IDLE_TTL,
	OPT_KEEP,
	OPT_QUIET,
	OPT_HELP,
};

static const struct option_spec specs[] = {
	{ OPT_SESSION, 0, "session", "ID", "join a session that is there; it stays when you leave" },
	{ OPT_LOAD, 0, "load", "FILE", "run the cells of a file first, as :save wrote it" },
	{ OPT_PROJECT, 0, "project", "DIR", "copy a directory to /sandbox/code; :reload brings your edits" },
	{ OPT_FILE, 0, "file", "HOST[:BOX]", "give it a copy of a file, in its directory or at BOX; may be repeated" },
	{ OPT_ENV, 0, "env", "K=V", "set an environment variable; may be repeated" },
	{ OPT_TIMEOUT, 0, "timeout", "SEC", "wall time of a cell (30)" },
	{ OPT_CPU_TIME, 0, "cpu-time", "SEC", "CPU time of a cell" },
	{ OPT_MEMORY, 0, "memory", "SIZE", "memory of the session, without swap (512m)" },
	{ OPT_CPUS, 0, "cpus", "N", "cores, also a part of one (1)" },
	{ OPT_PIDS, 0, "pids", "N", "processes and threads (64)" },
	{ OPT_DISK, 0, "disk", "SIZE", "what it may write below /sandbox and /tmp (1g)" },
	{ OPT_MAX_OUTPUT, 0, "max-output", "SIZE", "how much of each stream the record of a cell keeps (20k)" },
	{ OPT_PROFILE, 0, "profile", "NAME", "a profile of the service's registry, or of the language" },
	{ OPT_READ_ONLY, 0, "read-only", NULL, "/sandbox/code and /sandbox/data cannot be changed" },
	{ OPT_ALLOW_WEAKER, 0, "allow-weaker", "LAYER", "go on if the host lacks this layer; may be repeated" },
	{ OPT_TTL, 0, "ttl", "SEC", "how long the session may live" },
	{ OPT_IDLE_TTL, 0, "idle-ttl", "SEC", "how long it may wait for a cell" },
	{ OPT_KEEP, 0, "keep", NULL, "leave the session in the service when you leave, and tell its id" },
	{ OPT_QUIET, 'q', "quiet", NULL, "no greeting" },
	{ OPT_HELP, 'h', "help", NULL, "this text" },
	{ 0 },
};

/* What the arguments say. */
struct repl_args {
	struct spec spec;     /* the session's limits, files and variables */
	const char *language; /* LANG, or NULL */
	const char *session;  /* of --session, or NULL */
	const char *load;     /* of --load, or NULL */
	const char *profile;  /* of --profile, or NULL */
	const char *ttl;      /* of --ttl, or NULL */
	const char *idle_ttl; /* of --idle-ttl, or NULL */
	bool limited;         /* something was given that only a new session can have */
	bool quiet;           /* --quiet */
};

static int print_help(void)
{
	puts("Usage: emberbox repl LANG [options]\n"
	     "       emberbox repl --session ID\n"
	     "An interactive session in a box: what cells define stays. Reads cells from\n"
	     "standard input if that is no terminal, and exits as the last one did.\n"
	     "Inside, :help tells the commands.\n");
	option_print(stdout, specs);
	return cmd_flush(0);
}

static const char *option_name(int option)
{
	for (const struct option_spec *spec = specs; spec->id; spec++)
		if (spec->id == option)
			return spec->name;
	return "";
}

static int check_seconds(const char *name, const char *value)
{
	double seconds;

	if (text_number(value, &seconds) && seconds > 0)
		return 0;
	return cmd_usage("repl", "--%s: expected seconds, not \"%.32s\"", name, value);
}

/* Returns 0, or an exit code. */
static int take_option(struct repl *repl, struct repl_args *args, int option, const char *value)
{
	struct error err = { 0 };

	if (option > OPT_REQUEST_FIRST && option < OPT_REQUEST_LAST) {
		args->limited = true;
		return spec_set(&args->spec, option_name(option), value, &err) < 0 ? repl_failed(&err) : 0;
	}
	switch (option) {
	case OPT_TIMEOUT:
		repl->timeout = value;
		/* Its bounds are the spec's. */
		return spec_set(&args->spec, "timeout", value, &err) < 0 ? repl_failed(&err) : 0;
	case OPT_READ_ONLY:
		args->limited = true;
		return spec_set(&args->spec, "read-only", "yes", &err) < 0 ? repl_failed(&err) : 0;
	case OPT_PROJECT:
		args->limited = true;
		repl->project = value;
		return 0;
	case OPT_PROFILE:
		args->limited = true;
		args->profile = value;
		return 0;
	case OPT_SESSION:
		args->session = value;
		return 0;
	case OPT_LOAD:
		args->load = value;
		return 0;
	case OPT_TTL:
	case OPT_IDLE_TTL:
		args->limited = true;
		*(option == OPT_TTL ? &args->ttl : &args->idle_ttl) = value;
		return check_seconds(option_name(option), value);
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
		return cmd_usage("repl", "which language? emberbox repl LANG, as in: emberbox repl python");
	if (args->session && args->limited)
		return cmd_usage("repl",
				 "--session joins a session as it is; limits, files and settings are those that "
				 "it was made with");
	if (args->language && spec_set(&args->spec, "language", args->language, &err) < 0)
		return repl_failed(&err);
	return 0;
}

/* What POST /v1/sessions is sent. */
static int make_request(struct repl *repl, const struct repl_args *args)
{
	const struct request_extra extra = { .language = args->spec.runtime->name };
	_cleanup_buf_ struct buf text = { 0 };
	_cleanup_close_ int dir = -1;
	double seconds;

	if (!request_json(&args->spec, &extra, &text))
		return cmd_usage("repl", "a file that was given cannot be read, or all together have more than 16m");
	repl->request = json_loadb(text.data, text.size, 0, NULL);
	if (!repl->request) {
		cmd_complain("no memory");
		return EXIT_BROKEN;
	}
	if (args->profile)
		json_object_set_new(repl->request, "profile", json_string(args->profile));
	if (args->ttl && text_number(args->ttl, &seconds))
		json_object_set_new(repl->request, "ttl", json_real(seconds));
	if (args->idle_ttl && text_number(args->idle_ttl, &seconds))
		json_object_set_new(repl->request, "idle_ttl", json_real(seconds));
	dir = repl->project ? open(repl->project, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (repl->project && dir < 0)
		return cmd_usage("repl", "--project: cannot open \"%s\": %s", repl->project, strerror(errno));
	return 0;
}

/* The service that is there, or one of our own. A session that is joined has one. */
static int find_service(struct repl *repl, const struct config *config, bool joins)
{
	const char *wanted = config->values[CONFIG_SERVICE].text;
	_cleanup_close_ int socket = -1;
	struct error err = { 0 };

	repl->own = (struct private_service)PRIVATE_SERVICE_INIT;
	repl->link.socket = repl->socket;
	if (client_socket_path(repl->socket, sizeof(repl->socket)) < 0)
		repl->socket[0] = '\0';
	else if (joins || strcmp(wanted, "never") != 0)
		socket = client_connect(repl->socket);
	/* One that stays, where the user wants that. */
	if (socket < 0 && !joins && strcmp(wanted, "start") == 0)
		socket = service_start(config->values[CONFIG_LISTEN].source != CONFIG_DEFAULT);
	if (socket >= 0)
		return 0;
	if (joins) {
		cmd_complain("no service is running at \"%s\", and so no session", repl->socket);
		return EXIT_BROKEN;
	}
	if (private_service_start(&repl->own, &err) < 0)
		return repl_failed(&err);
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

	if (id && strlen(id) >= sizeof(repl->link.id))
		return cmd_usage("repl", "--session: \"%.80s\" is no id of a session", id);
	if (id)
		strcpy(repl->link.id, id);
	done = id ? session_link_ask(&repl->link, "GET", "", NULL, &repl->object, &err)
		  : session_link_open(&repl->link, repl->request, &repl->object, &err);
	if (done < 0)
		return repl_failed(&err);
	repl->next = (unsigned)json_integer_value(json_object_get(repl->object, "cells")) + 1;
	language = json_string_value(json_object_get(repl->object, "language"));
	/* Of one that was joined it is told here. */
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

/* Async-signal-safe: a letter for whoever waits. */
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

		/* Who started us so that we do not hear it (nohup), is obeyed. */
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

/* One line; runs the cell that it ends. */
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
	/* What Tab looks at is the next cell's. */
	cell->size = 0;
	repl_run(repl, cell->data, NULL);
}

static int talk(struct repl *repl)
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
			/* Ctrl-D is how one leaves: what the last cell did is no failure of ours. */
			repl->code = 0;
		}
	}
	return repl->code;
}

/* Standard input is no terminal: all of it, cell by cell. */
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

static void greet(struct repl *repl, bool joined)
{
	const char *version = json_string_value(json_object_get(repl->object, "language_version"));

	show_note(&repl->show, "%s%s%s in a box%s%s. :help tells the commands, Ctrl-D ends.", repl->title,
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
	/* A service of our own takes it along. */
	else if (repl->own.pid == 0)
		(void)session_link_ask(&repl->link, "DELETE", "", NULL, NULL, &err);
}

static int run(struct repl *repl, const struct repl_args *args, const struct config *config)
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
		greet(repl, args->session != NULL);
	if (args->load)
		code = repl_load(repl, args->load);
	if (code == 0 && !repl->over)
		code = repl->interactive ? talk(repl) : run_piped(repl);
	else if (code == 0)
		code = repl->code;
	close_session(repl, args->session != NULL);
	return code;
}

/* Where the service is, and what it is started with, may be said in a file. */
static int configure(struct config *config)
{
	struct error err = { 0 }, registry = { 0 };

	if (config_load_without(config, &registry, &err) < 0)
		return cmd_misconfigured(err.text);
	if (config_export(config) == 0)
		return 0;
	cmd_complain("no memory");
	return EXIT_BROKEN;
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
	spec_init(&args.spec);
	repl.cells = json_array();
	code = configure(&config);
	if (code == 0)
		code = read_arguments(&repl, &args, argc, argv);
	if (code == 0) {
		repl.language = args.spec.runtime ? args.spec.runtime->name : NULL;
		repl.title = args.spec.runtime ? args.spec.runtime->display : NULL;
		code = run(&repl, &args, &config);
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
	spec_free(&args.spec);
	return code;
}
