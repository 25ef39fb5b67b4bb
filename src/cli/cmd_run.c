/*
 * emberbox run: one program, once.
 *
 * Arguments are parsed into a struct run and a request; then the request is
 * executed, its output is passed on at once, and the exit code is the
 * program's. Errors in the arguments are reported before anything runs.
 */
#include "base/text.h"
#include "schema/spec.h"
#include "wire/service_socket.h"
#include "cli/options.h"
#include "cli/cmd_run.h"
#include "cli/session_view.h"
#include "cli/terminal.h"
#include "api/public.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TERM_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-._"

enum {
	OPT_CODE = 1,
	OPT_REQUEST_FIRST, /* the options from here to OPT_REQUEST_LAST are named like keys of the request */
	OPT_LANGUAGE,
	OPT_LIMIT, /* plus enum limit_id */
	OPT_ENV = OPT_LIMIT + LIMITS,
	OPT_FILE,
	OPT_PROJECT,
	OPT_OUTPUT,
	OPT_ENTRY,
	OPT_ALLOW_WEAKER,
	OPT_NET,
	OPT_NET_RATE,
	OPT_NET_TOTAL,
	OPT_NET_CONNECTIONS,
	OPT_REQUEST_LAST,
	OPT_NO_CHECK,
	OPT_READ_ONLY,
	OPT_POLICY,
	OPT_TTY,
	OPT_SECRET,
	OPT_PROFILE,
	OPT_REGISTRY,
	OPT_YES,
	OPT_STDIN,
	OPT_ENGINE,
	OPT_PACKAGE,
	OPT_IMAGE,
	OPT_SESSION,
	OPT_COLD,
	OPT_EXPLAIN,
	OPT_JSON,
	OPT_QUIET,
	OPT_HELP,
};

static const struct option_spec specs[] = {
	{ OPT_CODE, 'c', "code", "CODE", "the program's text, instead of a FILE" },
	{ OPT_LANGUAGE, 'l', "language", "LANG", "the language; default: by the file's name or its #! line" },
#define LIMIT(NAME, KEY, KIND, LEAST, MOST, DEFAULT, FLAGS, WORDS, EXPECTED, HELP, ...)                                \
	{ OPT_LIMIT + LIMIT_##NAME, 0, KEY, OPTION_VALUE_##KIND, HELP },
#include "schema/limits.def"
	{ OPT_STDIN, 0, "stdin", "FILE|-", "the program's input; default: standard input, unless that is the code" },
	{ OPT_TTY, 't', "tty", NULL, "give the program a terminal, for interactive use" },
	{ OPT_ENV, 0, "env", "K=V", "set an environment variable; may be repeated" },
	{ OPT_FILE, 0, "file", "HOST[:BOX]", "copy a file into the program's directory, or to BOX; may be repeated" },
	{ OPT_PROJECT, 0, "project", "DIR", "show a directory at /sandbox/code; changes stay in the box" },
	{ OPT_ENTRY, 0, "entry", "PATH", "the file that is the program; with code, a name for the code" },
	{ OPT_OUTPUT, 0, "output", "DIR", "copy the files in /sandbox/output to DIR" },
	{ OPT_NET, 0, "net", "none|RULE,...", "allowed destinations: HOST[:PORT], *.DOMAIN, IP:PORT, public (none)" },
	{ OPT_NET_RATE, 0, "net-rate", "SIZE", "bytes a second in each direction (1m)" },
	{ OPT_NET_TOTAL, 0, "net-total", "SIZE", "bytes in both directions together (no limit)" },
	{ OPT_NET_CONNECTIONS, 0, "net-connections", "N", "concurrent connections (64)" },
	{ OPT_SECRET, 0, "secret", "NAME@HOST", "a value that only requests to HOST get; from $NAME, a file or stdin" },
	{ OPT_PROFILE, 0, "profile", "NAME", "a profile of the registry, or of the language: restricted, for shells" },
	{ OPT_REGISTRY, 0, "registry", "FILE",
	  "the registry; default: EMBERBOX_REGISTRY, otherwise registry.yaml in the state directory" },
	{ OPT_YES, 'y', "yes", NULL, "confirm a profile that needs confirmation" },
	{ OPT_NO_CHECK, 0, "no-check", NULL, "TypeScript: run without the type check" },
	{ OPT_READ_ONLY, 0, "read-only", NULL, "make /sandbox/code and /sandbox/data read-only" },
	{ OPT_POLICY, 0, "policy", "MODE", "check its imports first: off, warn or block (EMBERBOX_POLICY)" },
	{ OPT_PACKAGE, 0, "package", "NAME", "not available yet" },
	{ OPT_IMAGE, 0, "image", "REF", "not available yet" },
	{ OPT_SESSION, 0, "session", "ID", "run the code as the next cell of this session" },
	{ OPT_ENGINE, 0, "engine", "NAME", "local or auto; docker, e2b and cluster are not available yet (auto)" },
	{ OPT_COLD, 0, "cold", NULL, "do not use the service, even if it is running" },
	{ OPT_ALLOW_WEAKER, 0, "allow-weaker", "LAYER", "run even if the host lacks this layer; may be repeated" },
	{ OPT_EXPLAIN, 0, "explain", NULL, "print the plan, operation by operation, without a run" },
	{ OPT_JSON, 0, "json", NULL, "print only the result, as one JSON object" },
	{ OPT_QUIET, 'q', "quiet", NULL, "print neither the end of the run nor hints on standard error" },
	{ OPT_HELP, 'h', "help", NULL, "show this help" },
	{ 0 },
};

int run_print_json(const char *json, int code)
{
	_cleanup_buf_ struct buf line = { 0 };

	if (!json) {
		cmd_complain("no memory for the result");
		return EXIT_BROKEN;
	}
	buf_printf(&line, "%s\n", json);
	if (!line.failed)
		return cmd_print(line.data, code);
	cmd_complain("no memory for the result");
	return EXIT_BROKEN;
}

/* For an unknown language, the object has no language. */
static void run_tell_language(const struct run *run)
{
	if (run->deferred && run->language)
		(void)eb_request_set(run->request, "language", run->language, NULL);
}

/* --json always prints an object, also for a run that was refused. */
static int print_refusal(const struct run *run, const eb_error *err)
{
	eb_result *result;
	int code;

	if (!run->json)
		return (int)err->code;
	run_tell_language(run);
	result = eb_result_of_error(run->request, err);
	code = run_print_json(result ? eb_result_json(result) : NULL, (int)err->code);
	eb_result_free(result);
	return code;
}

/* Reports an error that occurred before there was a result; the exit code is the error's kind. */
int run_refused(const struct run *run, const eb_error *err)
{
	cmd_complain("%s", err->message);
	return print_refusal(run, err);
}

int run_usage(const struct run *run, const char *format, ...)
{
	eb_error err = { .code = EB_BAD_REQUEST };
	va_list args;

	va_start(args, format);
	vsnprintf(err.message, sizeof(err.message), format, args);
	va_end(args);
	cmd_usage("run", "%s", err.message);
	return print_refusal(run, &err);
}

int run_misconfigured(const struct run *run, const struct error *why)
{
	eb_error err = { 0 };

	public_error(&err, why);
	if (err.code != EB_BAD_REQUEST)
		return run_refused(run, &err);
	cmd_misconfigured(err.message);
	return print_refusal(run, &err);
}

int run_blocked(const struct run *run, const eb_error *why)
{
	char caller[RUN_CALLER_MAX];
	struct recorded_by by;
	eb_result *result;
	int code = (int)why->code;

	cmd_complain("%s", why->message);
	run_tell_language(run);
	by = run_recorded_as(run, caller);
	result = request_blocked(run->request, why, &by);
	if (run->json)
		code = run_print_json(result ? eb_result_json(result) : NULL, code);
	eb_result_free(result);
	return code;
}

/* Whether a cell of a session can have the option; the others belong to the session. */
static bool is_of_run(int option)
{
	return option == OPT_LANGUAGE || (option >= OPT_LIMIT && option < OPT_LIMIT + LIMITS &&
					  limit_rows[option - OPT_LIMIT].flags & LIMIT_OF_RUN);
}

static const struct option_spec *spec_of(int id)
{
	const struct option_spec *spec = specs;

	while (spec->id != id)
		spec++;
	return spec;
}

static int print_help(void)
{
	puts("Usage: emberbox run [FILE | - | -c CODE] [options] [-- ARGS...]\n"
	     "Runs a program in a box of its own, streams its output and exits with its code.\n"
	     "Words after FILE or -c CODE are the program's arguments; after -- all are.\n");
	option_print(stdout, specs);
	puts("\n"
	     "SEC is a number of seconds, or 500ms, 30s, 1m, 1h30m. SIZE is 64k, 256m, 1g or\n"
	     "a number of bytes. LAYER is cgroup, landlock or\n"
	     "seccomp.\n"
	     "Exit code: the program's; 128+N when signal N ended it; 124 timeout; 137 memory\n"
	     "or output limit; 125 emberbox failed; 126 blocked; 127 language not available;\n"
	     "2 bad usage.");
	return cmd_flush(0);
}

/* A word is the FILE if the code is not known yet, and otherwise an argument of the program. */
static int take_word(struct run *run, const char *word, int after_dashes, eb_error *err)
{
	if (!run->code && !run->file && !after_dashes) {
		run->file = word;
		return 0;
	}
	return eb_request_set(run->request, "arg", word, err);
}

/* Sets an option that decides how a box is made. An error names the source `from`; NULL: the option. Returns 0, or an
 * exit code. */
static int set_surroundings(struct run *run, const char *key, const char *value, const char *from)
{
	struct error why = { 0 };
	eb_error err = { 0 };
	struct spec checks;
	int done;

	spec_init(&checks);
	done = spec_set(&checks, key, value, &why);
	spec_free(&checks);
	if (done < 0)
		return run_usage(run, "%s%s: %s", from ? "" : "--", from ? from : key, error_detail(&why));
	return eb_request_set(run->request, key, value, &err) < 0 ? run_refused(run, &err) : 0;
}

/* Returns 0, or an exit code. */
static int take_option(struct run *run, int option, const char *value)
{
	eb_error err = { 0 };

	if (option > OPT_REQUEST_FIRST && option < OPT_REQUEST_LAST) {
		if (option == OPT_LANGUAGE)
			run->language = value;
		if (option == OPT_PROJECT)
			run->project = value;
		if (option == OPT_ENTRY)
			run->entry = value;
		if (option == OPT_NET)
			run->net_given = value;
		if (!is_of_run(option))
			run->of_box = spec_of(option)->name;
		if (option == OPT_LANGUAGE && run->deferred)
			return 0;
		return eb_request_set(run->request, spec_of(option)->name, value, &err) < 0 ? run_refused(run, &err)
											    : 0;
	}
	switch (option) {
	case OPT_CODE:
		if (run->code)
			return run_usage(run, "-c is given twice");
		if (run->file)
			return run_usage(run, "the code is given twice: as \"%s\" and by -c", run->file);
		run->code = value;
		return 0;
	case OPT_SECRET:
		return run_take_secret(run, value);
	case OPT_PROFILE:
		run->profile = value;
		return 0;
	case OPT_STDIN:
		run->stdin_from = value;
		return 0;
	case OPT_ENGINE:
		return run_set_engine(run, value, "--engine");
	case OPT_NO_CHECK:
		return eb_request_set(run->request, "check", "no", &err) < 0 ? run_refused(run, &err) : 0;
	case OPT_READ_ONLY:
		return eb_request_set(run->request, "read-only", "yes", &err) < 0 ? run_refused(run, &err) : 0;
	case OPT_POLICY:
		run->policy = value;
		return eb_request_set(run->request, "policy", value, &err) < 0 ? run_refused(run, &err) : 0;
	case OPT_TTY:
		run->tty = 1;
		return 0;
	case OPT_SESSION:
		run->session = value;
		return 0;
	case OPT_PACKAGE:
	case OPT_IMAGE:
		return set_surroundings(run, spec_of(option)->name, value, NULL);
	case OPT_EXPLAIN:
		run->explain = 1;
		return 0;
	case OPT_QUIET:
		run->quiet = 1;
		return 0;
	default:
		/* --cold, --json, --registry, --yes and --help were handled before. */
		return 0;
	}
}

/* Options that affect all messages are read first, even if an invalid option precedes them. */
static void read_manner(struct run *run, int argc, char **argv)
{
	struct option_reader reader = { .specs = specs, .argc = argc, .argv = argv, .next = 1 };
	int option;

	while ((option = option_next(&reader)) != OPTION_END) {
		run->json |= option == OPT_JSON;
		run->help |= option == OPT_HELP;
		run->yes |= option == OPT_YES;
		if (option == OPT_REGISTRY)
			run->registry = reader.value;
		run->cold |=
			option == OPT_COLD || option == OPT_EXPLAIN || option == OPT_PROJECT || option == OPT_OUTPUT;
	}
}

int run_settle_language(struct run *run)
{
	eb_error err = { 0 };

	if (!run->deferred || !run->language)
		return 0;
	run->deferred = 0;
	return eb_request_set(run->request, "language", run->language, &err) < 0 ? run_refused(run, &err) : 0;
}

/* The size of our terminal, if there is one. */
static int ask_for_terminal(struct run *run)
{
	const struct spec *spec = request_spec(run->request);
	const char *kind = getenv("TERM");
	unsigned rows = 24, columns = 80;
	char text[64];
	eb_error err = { 0 };

	terminal_size(&rows, &columns);
	snprintf(text, sizeof(text), "%ux%u", rows < 9999 ? rows : 9999, columns < 9999 ? columns : 9999);
	if (eb_request_set(run->request, "tty", text, &err) < 0)
		return run_refused(run, &err);
	/* A file's name below terminfo; --env TERM=… has precedence. */
	if (!kind || !*kind || strlen(kind) > 32 || strspn(kind, TERM_LETTERS) != strlen(kind))
		return 0;
	for (size_t i = 0; i < spec->env_count; i++)
		if (strncmp(spec->env[i], "TERM=", 5) == 0)
			return 0;
	snprintf(text, sizeof(text), "TERM=%s", kind);
	return eb_request_set(run->request, "env", text, &err) < 0 ? run_refused(run, &err) : 0;
}

/* Finds the session as `emberbox session` does. */
static int settle_session(struct run *run)
{
	char socket[PATH_MAX];
	struct session_link link = { .socket = socket };
	struct error err = { 0 };

	if (service_socket_path(socket, sizeof(socket)) < 0)
		return run_usage(run, "--session: there is no directory for the service's socket; set EMBERBOX_HOME");
	if (session_find(&link, run->session, &err) < 0)
		return run_failed(run, &err);
	snprintf(run->session_id, sizeof(run->session_id), "%s", link.id);
	run->session = run->session_id;
	return 0;
}

/* No error: the same command line may be used on larger machines. But the user should know. */
static void tell_cores(const struct run *run)
{
	const double asked = request_spec(run->request)->limits.cpus;
	const long there = sysconf(_SC_NPROCESSORS_ONLN);
	char number[TEXT_NUMBER_MAX];

	if (there > 0 && asked > (double)there && !run->json && !run->quiet && !run->explain)
		cmd_complain("--cpus %s: this machine has %ld core%s, and the program gets no more",
			     text_number_format(asked, number), there, there == 1 ? "" : "s");
}

static int read_arguments(struct run *run, int argc, char **argv)
{
	struct option_reader reader = { .specs = specs, .argc = argc, .argv = argv, .next = 1 };
	eb_error err = { 0 };
	int option, code = 0;

	while (code == 0 && (option = option_next(&reader)) != OPTION_END) {
		if (option == OPTION_BAD)
			code = run_usage(run,
					 (run->file || run->code) && !reader.suggests
						 ? "%s; before options of the program's own put --"
						 : "%s",
					 reader.message);
		else if (option != OPTION_WORD)
			code = take_option(run, option, reader.value);
		else if (take_word(run, reader.value, reader.only_words, &err) < 0)
			code = run_refused(run, &err);
	}
	if (code == 0 && run->explain && run->json)
		code = run_usage(run, "--explain prints a plan, not a result; it cannot be combined with --json");
	if (code == 0 && run->session && (run->of_box || run->profile))
		code = run_usage(run, "--%s: the session has it since its start; leave it out",
				 run->of_box ? run->of_box : "profile");
	if (code == 0 && run->session && run->cold)
		code = run_usage(run, "--session: sessions are in the service, which --cold, --explain, --output and "
				      "EMBERBOX_SERVICE=never exclude");
	if (code == 0 && run->session && run->socket < 0)
		code = run_usage(run, "--session: no service is running; start it with: emberbox serve");
	if (code == 0 && run->session && run->tty)
		code = run_usage(run, "--tty: cells of a session have no terminal; leave it out");
	if (code == 0 && run->session)
		code = settle_session(run);
	if (code == 0)
		tell_cores(run);
	if (code == 0 && run->tty)
		code = ask_for_terminal(run);
	if (code == 0 && run->engine)
		code = set_surroundings(run, "engine", run->engine, run->engine_from);
	return code;
}

/* "python, javascript or bash" */
static void list_languages(char *text, size_t size)
{
	const char *name;

	*text = '\0';
	for (size_t i = 0; (name = eb_language_at(i)); i++) {
		size_t used = strlen(text);

		snprintf(text + used, size - used, "%s%s", i == 0 ? "" : eb_language_at(i + 1) ? ", " : " or ", name);
	}
}

static int detect_language(struct run *run)
{
	const struct source *source = &run->source;
	const char *name = source->name ? source->name : run->entry ? run->entry : "";
	const char *language = eb_detect_language(name, source->data, source->size);
	char known[512];
	eb_error err = { 0 };

	if (!language && source->size >= 4 && memcmp(source->data, "\177ELF", 4) == 0)
		return run_usage(run,
				 "%s is a compiled program, and not source code; a shell can start it: "
				 "emberbox run -l bash --file %s:program -c ./program",
				 source->name ? source->name : "standard input", source->name ? source->name : "FILE");
	if (!language) {
		list_languages(known, sizeof(known));
		return run_usage(run, "the language of %s is unknown; name it with -l LANG: %s",
				 run->code      ? "the code"
				 : source->name ? source->name
				 : run->entry   ? run->entry
						: "standard input",
				 known);
	}
	return eb_request_set(run->request, "language", language, &err) < 0 ? run_refused(run, &err) : 0;
}

static bool is_below(const char *path, const char *directory)
{
	size_t size = strcmp(directory, "/") == 0 ? 0 : strlen(directory);

	return strncmp(path, directory, size) == 0 && path[size] == '/';
}

/* Whether the path has a ".." that leads above its start. */
static bool path_climbs(const char *path)
{
	int depth = 0;

	while (*path && depth >= 0) {
		size_t length = strcspn(path, "/");

		if (length == 2 && strncmp(path, "..", 2) == 0)
			depth--;
		else if (length > 0 && !(length == 1 && *path == '.'))
			depth++;
		path += length + strspn(path + length, "/");
	}
	return depth < 0;
}

/* The part of FILE after the project's directory, as written, or NULL. The directory is recognized by its inode,
 * because it can be written in many ways, also through links. */
static const char *below_as_written(char *file, const struct stat *project)
{
	for (char *slash = strchr(file, '/'); slash; slash = strchr(slash + 1, '/')) {
		const char kept = slash[1], *rest = slash + strspn(slash, "/");
		struct stat st;
		bool found;

		slash[1] = '\0';
		found = stat(file, &st) == 0 && st.st_dev == project->st_dev && st.st_ino == project->st_ino;
		slash[1] = kept;
		if (found && *rest && !path_climbs(rest))
			return rest;
	}
	return NULL;
}

/*
 * The path of FILE in the project, or "" if it is elsewhere. Compares the
 * resolved path of its directory, then the path as written, which may lead out
 * of the project through a link and is then refused when it is opened.
 */
static void find_in_project(const struct run *run, char *below, size_t size)
{
	char project[PATH_MAX], name[2 * PATH_MAX], parent[PATH_MAX], here[PATH_MAX] = "";
	const char *slash = strrchr(run->file, '/'), *rest;
	struct stat st;

	*below = '\0';
	/* An error of the directory is reported when it is used. */
	if (!realpath(run->project, project) || stat(project, &st) < 0)
		return;
	snprintf(name, sizeof(name), "%.*s", slash ? (int)(slash - run->file) + 1 : 1, slash ? run->file : ".");
	if (realpath(name, parent)) {
		snprintf(name, sizeof(name), "%s/%s", strcmp(parent, "/") == 0 ? "" : parent,
			 slash ? slash + 1 : run->file);
		if (is_below(name, project)) {
			snprintf(below, size, "%s", name + (strcmp(project, "/") == 0 ? 1 : strlen(project) + 1));
			return;
		}
	}
	if (*run->file != '/' && !getcwd(here, sizeof(here)))
		return;
	snprintf(name, sizeof(name), "%s%s%s", here, *here ? "/" : "", run->file);
	rest = below_as_written(name, &st);
	if (rest)
		snprintf(below, size, "%s", rest);
}

/* If the name is invalid in the box, the language's default is used. */
static void keep_name(struct run *run)
{
	const char *slash = strrchr(run->file, '/');
	eb_error err = { 0 };

	(void)eb_request_set(run->request, "filename", slash ? slash + 1 : run->file, &err);
}

/* Reads the code and determines the language. Returns 0, or an exit code. */
static int read_code(struct run *run)
{
	struct source *source = &run->source;
	char message[1024] = "", below[2 * PATH_MAX] = "";
	eb_error err = { 0 };
	int result = 0, code = 0;

	if (run->project && run->file && strcmp(run->file, "-") != 0)
		find_in_project(run, below, sizeof(below));

	if (run->code) {
		source->size = strlen(run->code);
		source->data = strdup(run->code);
		if (source->size > SOURCE_MAX || !source->data)
			return run_usage(run, "-c: too much code");
	} else if (!run->file && run->entry) {
		/* The program is one of the files, or in the project. */
		return run->language ? 0 : detect_language(run);
	} else if (!run->file) {
		return run_usage(run, "nothing to run: give a FILE, - for standard input, -c CODE, or --entry PATH%s",
				 run->project ? " of the project" : "with the --file for it");
	} else if (strcmp(run->file, "-") == 0) {
		if (run->stdin_from && strcmp(run->stdin_from, "-") == 0)
			return run_usage(run, "standard input cannot be both the code and the program's input");
		result = source_read_fd(source, STDIN_FILENO, "standard input", message, sizeof(message));
	} else {
		/* A link may not lead out of the project: its author might not have been able to read the target. */
		result = *below ? source_read_beneath(source, run->project, below, run->file, message, sizeof(message))
				: source_read_file(source, run->file, message, sizeof(message));
	}
	if (result < 0) {
		/* print(1) is more likely a program than the name of a file. */
		const char *hint = run->file && errno == ENOENT && strpbrk(run->file, " \t\n()'\";=")
					   ? "; code itself is given with -c CODE"
					   : "";

		err.code = EB_BAD_REQUEST;
		snprintf(err.message, sizeof(err.message), "%.900s%s", message, hint);
		return run_refused(run, &err);
	}
	/* A session has a language. */
	if (!run->language && !run->session)
		code = detect_language(run);
	/* A file of the project runs in its place there, so that relative imports work. */
	if (code == 0 && *below && !run->entry && eb_request_set(run->request, "entry", below, &err) < 0)
		code = run_refused(run, &err);
	if (code == 0 && source->name)
		keep_name(run);
	if (code != 0)
		return code;
	return eb_request_set_code(run->request, source->data, source->size, &err) < 0 ? run_refused(run, &err) : 0;
}

static int plan_print(const struct run *run)
{
	char *text = NULL;
	eb_error err = { 0 };
	int code;

	if (eb_explain(run->request, &text, &err) < 0)
		return run_refused(run, &err);
	code = cmd_print(text, 0);
	free(text);
	return code;
}

int cmd_run(int argc, char **argv)
{
	struct run run = { .request = eb_request_new(), .socket = -1 };
	int code;

	if (!run.request) {
		cmd_complain("no memory");
		return EXIT_BROKEN;
	}
	read_manner(&run, argc, argv);
	code = run.help ? print_help() : run_configure(&run);
	/* Connect early, so that the service can wake up while we read the code. */
	if (code == 0 && !run.help && !run.cold)
		run.socket = service_connect();
	run.deferred = run.socket >= 0;
	if (code == 0 && !run.help)
		code = read_arguments(&run, argc, argv);
	if (code == 0 && !run.help)
		code = run_apply_profile(&run);
	if (code == 0 && !run.help)
		code = read_code(&run);
	if (code == 0 && !run.help && !run.explain)
		code = run_confirm(&run);
	if (code == 0 && !run.help)
		code = run.explain ? plan_print(&run) : run_execute(&run);
	if (run.socket >= 0)
		close(run.socket);
	free(run.source.data);
	eb_request_free(run.request);
	config_free(&run.config);
	return code;
}
