/*
 * emberbox run: one program, once.
 *
 * Arguments are read into a struct run and a request; then the request is
 * executed, with output passed on as it comes, and the exit code is the
 * program's. What is wrong with the arguments is said before anything runs.
 */
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/relay.h"
#include "cmd/source.h"

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

enum {
	OPT_CODE = 1,
	OPT_REQUEST_FIRST, /* the options between here and OPT_REQUEST_LAST are keys of the request by their own names
			    */
	OPT_LANGUAGE,
	OPT_TIMEOUT,
	OPT_CPU_TIME,
	OPT_MEMORY,
	OPT_CPUS,
	OPT_PIDS,
	OPT_DISK,
	OPT_MAX_OUTPUT,
	OPT_ENV,
	OPT_FILE,
	OPT_PROJECT,
	OPT_OUTPUT,
	OPT_ENTRY,
	OPT_PROFILE,
	OPT_ALLOW_WEAKER,
	OPT_REQUEST_LAST,
	OPT_NO_CHECK,
	OPT_NET,
	OPT_STDIN,
	OPT_ENGINE,
	OPT_PACKAGE,
	OPT_SESSION,
	OPT_COLD,
	OPT_EXPLAIN,
	OPT_JSON,
	OPT_QUIET,
	OPT_HELP,
};

static const struct option_spec specs[] = {
	{ OPT_CODE, 'c', "code", "CODE", "the program itself, instead of a FILE" },
	{ OPT_LANGUAGE, 'l', "language", "LANG", "its language; default: by the file's name or its #! line" },
	{ OPT_TIMEOUT, 0, "timeout", "SEC", "wall time (30)" },
	{ OPT_CPU_TIME, 0, "cpu-time", "SEC", "CPU time of all its processes (no other than the timeout)" },
	{ OPT_MEMORY, 0, "memory", "SIZE", "memory of all its processes, without swap (512m)" },
	{ OPT_CPUS, 0, "cpus", "N", "cores, also a part of one (1)" },
	{ OPT_PIDS, 0, "pids", "N", "processes and threads (64)" },
	{ OPT_DISK, 0, "disk", "SIZE", "what it may write below /sandbox and /tmp (1g)" },
	{ OPT_MAX_OUTPUT, 0, "max-output", "SIZE", "how much of each stream a result shows (20k)" },
	{ OPT_STDIN, 0, "stdin", "FILE|-", "the program's input; default: ours, unless the code comes from there" },
	{ OPT_ENV, 0, "env", "K=V", "set an environment variable; may be repeated" },
	{ OPT_FILE, 0, "file", "HOST[:BOX]", "give it a copy of a file, in its directory or at BOX; may be repeated" },
	{ OPT_PROJECT, 0, "project", "DIR", "show it a directory in /sandbox/code; its changes stay in the box" },
	{ OPT_ENTRY, 0, "entry", "PATH", "which of the files is the program; with code, the code's own name" },
	{ OPT_OUTPUT, 0, "output", "DIR", "copy what it leaves in /sandbox/output to DIR" },
	{ OPT_NET, 0, "net", "none|HOST,...", "the network; only none for now (none)" },
	{ OPT_PROFILE, 0, "profile", "NAME", "a profile of the language: restricted, for shells" },
	{ OPT_NO_CHECK, 0, "no-check", NULL, "TypeScript: run without checking types" },
	{ OPT_PACKAGE, 0, "package", "NAME", "not available yet" },
	{ OPT_SESSION, 0, "session", "ID", "not available yet" },
	{ OPT_ENGINE, 0, "engine", "NAME", "local, docker or auto; docker is not available yet (auto)" },
	{ OPT_COLD, 0, "cold", NULL, "do not use the service; there is none yet, every run is cold" },
	{ OPT_ALLOW_WEAKER, 0, "allow-weaker", "LAYER", "run even if the host lacks this layer; may be repeated" },
	{ OPT_EXPLAIN, 0, "explain", NULL, "print the plan, operation by operation, and run nothing" },
	{ OPT_JSON, 0, "json", NULL, "print one result object and nothing else" },
	{ OPT_QUIET, 'q', "quiet", NULL, "do not say on standard error how the run ended" },
	{ OPT_HELP, 'h', "help", NULL, "this text" },
	{ 0 },
};

struct run {
	eb_request *request;     /* what is asked */
	struct source source;    /* the code */
	const char *code;        /* of -c, or NULL */
	const char *file;        /* FILE or "-", or NULL */
	const char *language;    /* of -l, or NULL */
	const char *project;     /* of --project, or NULL */
	const char *entry;       /* of --entry, or NULL */
	const char *stdin_from;  /* of --stdin, or NULL */
	const char *engine;      /* of --engine or SANDBOX_TYPE, or NULL */
	const char *engine_from; /* which of them */
	int json;                /* --json */
	int quiet;               /* --quiet */
	int explain;             /* --explain */
	int help;                /* --help */
};

static int print_json(const eb_result *result, int code)
{
	const char *json = result ? eb_result_json(result) : NULL;

	if (!json) {
		cmd_complain("no memory for the result");
		return EXIT_BROKEN;
	}
	printf("%s\n", json);
	return cmd_flush(code);
}

/* --json promises an object whatever happens, also for a run that never was. */
static int print_refusal(const struct run *run, const eb_error *err)
{
	eb_result *result;
	int code;

	if (!run->json)
		return (int)err->code;
	result = eb_result_of_error(run->request, err);
	code = print_json(result, (int)err->code);
	eb_result_free(result);
	return code;
}

/* Says what failed before there was a result; the exit code is the error's kind. */
static int refused(const struct run *run, const eb_error *err)
{
	cmd_complain("%s", err->message);
	return print_refusal(run, err);
}

__attribute__((format(printf, 2, 3))) static int usage(const struct run *run, const char *format, ...)
{
	eb_error err = { .code = EB_BAD_REQUEST };
	va_list args;

	va_start(args, format);
	vsnprintf(err.message, sizeof(err.message), format, args);
	va_end(args);
	cmd_usage("run", "%s", err.message);
	return print_refusal(run, &err);
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
	     "Runs a program in a box of its own, streams its output and exits as it did.\n"
	     "Words after FILE or -c CODE are the program's arguments; after -- all are.\n");
	option_print(stdout, specs);
	puts("\n"
	     "SIZE is 64k, 256m, 1g or a number of bytes. LAYER is cgroup, landlock or\n"
	     "seccomp.\n"
	     "Exit code: the program's; 128+N when signal N ended it; 124 timeout; 137 memory or\n"
	     "output limit; 125 emberbox failed; 127 language not available; 2 bad usage.");
	return cmd_flush(0);
}

/* A word is the file when nothing yet says where the code is, and an argument of the program after that. */
static int take_word(struct run *run, const char *word, int after_dashes, eb_error *err)
{
	if (!run->code && !run->file && !after_dashes) {
		run->file = word;
		return 0;
	}
	return eb_request_set(run->request, "arg", word, err);
}

/* Returns 0, or an exit code. */
static int set_engine(struct run *run, const char *engine, const char *from)
{
	if (strcmp(engine, "local") != 0 && strcmp(engine, "auto") != 0 && strcmp(engine, "docker") != 0)
		return usage(run, "%s: \"%.80s\" is none of local, docker, auto", from, engine);
	run->engine = engine;
	run->engine_from = from;
	return 0;
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
		return eb_request_set(run->request, spec_of(option)->name, value, &err) < 0 ? refused(run, &err) : 0;
	}
	switch (option) {
	case OPT_CODE:
		if (run->code)
			return usage(run, "-c is given twice");
		if (run->file)
			return usage(run, "the code is given twice: as \"%s\" and by -c", run->file);
		run->code = value;
		return 0;
	case OPT_NET:
		if (strcmp(value, "none") != 0)
			return usage(run, "--net \"%s\" is not available yet; a box has no network: --net none", value);
		return eb_request_set(run->request, "net", value, &err) < 0 ? refused(run, &err) : 0;
	case OPT_STDIN:
		run->stdin_from = value;
		return 0;
	case OPT_ENGINE:
		return set_engine(run, value, "--engine");
	case OPT_NO_CHECK:
		return eb_request_set(run->request, "check", "no", &err) < 0 ? refused(run, &err) : 0;
	case OPT_PACKAGE:
	case OPT_SESSION:
		return usage(run, "--%s is not available yet", spec_of(option)->name);
	case OPT_EXPLAIN:
		run->explain = 1;
		return 0;
	case OPT_QUIET:
		run->quiet = 1;
		return 0;
	default:
		/* --cold changes nothing yet; --json and --help were seen before. */
		return 0;
	}
}

/* What decides how everything else is said has to be known first, also if a wrong option stands before it. */
static void read_manner(struct run *run, int argc, char **argv)
{
	struct option_reader reader = { .specs = specs, .argc = argc, .argv = argv, .next = 1 };
	int option;

	while ((option = option_next(&reader)) != OPTION_END) {
		run->json |= option == OPT_JSON;
		run->help |= option == OPT_HELP;
	}
}

static int read_arguments(struct run *run, int argc, char **argv)
{
	struct option_reader reader = { .specs = specs, .argc = argc, .argv = argv, .next = 1 };
	eb_error err = { 0 };
	int option, code = 0;

	while (code == 0 && (option = option_next(&reader)) != OPTION_END) {
		if (option == OPTION_BAD)
			code = usage(run, "%s", reader.message);
		else if (option != OPTION_WORD)
			code = take_option(run, option, reader.value);
		else if (take_word(run, reader.value, reader.only_words, &err) < 0)
			code = refused(run, &err);
	}
	if (code == 0 && run->explain && run->json)
		code = usage(run, "--explain prints a plan, not a result; it cannot be combined with --json");
	if (code == 0 && run->engine && strcmp(run->engine, "docker") == 0)
		code = usage(run, "%s: docker is not available yet; use local", run->engine_from);
	return code;
}

/* Sizes and numbers as the options have them. Returns 0, or an exit code. */
static int set_from_environment(struct run *run, const char *variable, const char *key)
{
	const char *value = getenv(variable);
	size_t prefix = strlen(key) + 2;
	eb_error err = { 0 };

	if (!value || eb_request_set(run->request, key, value, &err) == 0)
		return 0;
	/* The sentence begins with the key, which nobody typed. */
	if (strncmp(err.message, key, prefix - 2) != 0)
		prefix = 0;
	return usage(run, "%s: %s", variable, err.message + prefix);
}

static int set_output_from_environment(struct run *run)
{
	const char *value = getenv("SANDBOX_MAX_OUTPUT_KB");
	char text[32];
	eb_error err = { 0 };

	if (!value)
		return 0;
	snprintf(text, sizeof(text), "%.16sk", value);
	/* The unit is ours to add: a value that brings its own must not be taken for another. */
	if (!*value || strlen(value) > 16 || strspn(value, "0123456789") != strlen(value) ||
	    eb_request_set(run->request, "max-output", text, &err) < 0)
		return usage(run, "SANDBOX_MAX_OUTPUT_KB: \"%.80s\" is not a number of KiB between 1 and 16384", value);
	return 0;
}

/* A variable that takes one of a few words; NULL ends them. */
static int check_word(const struct run *run, const char *variable, const char *const *words, const char *listed)
{
	const char *value = getenv(variable);

	for (; value && *words; words++)
		if (strcmp(value, *words) == 0)
			return 0;
	return value ? usage(run, "%s: \"%.80s\" is not %s", variable, value, listed) : 0;
}

/*
 * The environment is read before the options, which then beat it; but a value
 * that cannot be used is refused also when an option would have. Returns 0, or
 * an exit code.
 */
static int read_environment(struct run *run)
{
	static const char *const store[] = { "always", "on_error", "never", NULL };
	static const char *const truth[] = { "true", "false", NULL };
	const char *engine = getenv("SANDBOX_TYPE"), *imports = getenv("SANDBOX_BLOCK_DANGEROUS_IMPORTS");
	const char *home = getenv("EMBERBOX_HOME"), *cache = getenv("EMBERBOX_CACHE_SIZE");
	uint64_t bytes;
	int code = engine ? set_engine(run, engine, "SANDBOX_TYPE") : 0;

	if (code == 0)
		code = set_from_environment(run, "SANDBOX_TIMEOUT_SEC", "timeout");
	if (code == 0)
		code = set_output_from_environment(run);
	if (code == 0)
		code = set_from_environment(run, "DOCKER_MEMORY_LIMIT", "memory");
	if (code == 0)
		code = set_from_environment(run, "DOCKER_CPU_LIMIT", "cpus");
	if (code == 0)
		code = check_word(run, "SANDBOX_STORE_CODE", store, "one of always, on_error, never");
	if (code == 0)
		code = check_word(run, "SANDBOX_BLOCK_DANGEROUS_IMPORTS", truth, "true or false");
	/* Who asks for a check must not get a run without it. */
	if (code == 0 && imports && strcmp(imports, "true") == 0)
		code = usage(run, "SANDBOX_BLOCK_DANGEROUS_IMPORTS: true is not available yet; use false");
	if (code == 0 && home && *home != '/')
		code = usage(run, "EMBERBOX_HOME: \"%.80s\" is not an absolute path", home);
	if (code == 0 && cache && !text_size(cache, &bytes))
		code = usage(run, "EMBERBOX_CACHE_SIZE: \"%.80s\" is not a size such as 256m or 1g", cache);
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

	if (!language) {
		list_languages(known, sizeof(known));
		return usage(run, "cannot tell the language of %s; name it with -l LANG: %s",
			     run->code      ? "the code"
			     : source->name ? source->name
			     : run->entry   ? run->entry
					    : "standard input",
			     known);
	}
	return eb_request_set(run->request, "language", language, &err) < 0 ? refused(run, &err) : 0;
}

/*
 * A file of the project runs in its own place there, so that it finds its
 * neighbours and they find it. By the path of its directory, links resolved; a
 * link to elsewhere as FILE is what the caller chose to run.
 */
static int place_in_project(struct run *run)
{
	char project[PATH_MAX], parent[PATH_MAX], name[2 * PATH_MAX];
	const char *slash = strrchr(run->file, '/');
	size_t root;
	eb_error err = { 0 };

	snprintf(name, sizeof(name), "%.*s", slash ? (int)(slash - run->file) + 1 : 1, slash ? run->file : ".");
	/* What is wrong with the directory is said when it is used. */
	if (!realpath(run->project, project) || !realpath(name, parent))
		return 0;
	root = strcmp(project, "/") == 0 ? 0 : strlen(project);
	if (strncmp(parent, project, root) != 0 || (parent[root] != '/' && parent[root] != '\0'))
		return 0;
	snprintf(name, sizeof(name), "%s/%s", parent + root, slash ? slash + 1 : run->file);
	return eb_request_set(run->request, "entry", name + strspn(name, "/"), &err) < 0 ? refused(run, &err) : 0;
}

/* A name that cannot be one in the box is nobody's mistake: the language's own is used then. */
static void keep_name(struct run *run)
{
	const char *slash = strrchr(run->file, '/');
	eb_error err = { 0 };

	(void)eb_request_set(run->request, "filename", slash ? slash + 1 : run->file, &err);
}

/* Reads the code and settles the language. Returns 0, or an exit code. */
static int read_code(struct run *run)
{
	struct source *source = &run->source;
	char message[1024] = "";
	eb_error err = { 0 };
	int result = 0, code = 0;

	if (run->code) {
		source->size = strlen(run->code);
		source->data = strdup(run->code);
		if (source->size > SOURCE_MAX || !source->data)
			return usage(run, "-c: too much code");
	} else if (!run->file && run->entry) {
		/* The program is one of the files, or in the project. */
		return run->language ? 0 : detect_language(run);
	} else if (!run->file) {
		return usage(run, "nothing to run: give a FILE, - for standard input, -c CODE, or --entry PATH%s",
			     run->project ? " of the project" : " and the --file that it is");
	} else if (strcmp(run->file, "-") == 0) {
		if (run->stdin_from && strcmp(run->stdin_from, "-") == 0)
			return usage(run, "standard input cannot be both the code and the program's input");
		result = source_read_fd(source, STDIN_FILENO, "standard input", message, sizeof(message));
	} else {
		result = source_read_file(source, run->file, message, sizeof(message));
	}
	if (result < 0) {
		/* print(1) is more likely a program than a file's name. */
		const char *hint = run->file && errno == ENOENT && strpbrk(run->file, " \t\n()'\";=")
					   ? "; code itself is given with -c CODE"
					   : "";

		err.code = EB_BAD_REQUEST;
		snprintf(err.message, sizeof(err.message), "%.900s%s", message, hint);
		return refused(run, &err);
	}
	if (!run->language)
		code = detect_language(run);
	if (code == 0 && run->project && source->name && !run->entry)
		code = place_in_project(run);
	if (code == 0 && source->name)
		keep_name(run);
	if (code != 0)
		return code;
	return eb_request_set_code(run->request, source->data, source->size, &err) < 0 ? refused(run, &err) : 0;
}

/*
 * The descriptor that the program's input is read from, or -1 for none. Ours
 * is passed on, unless the code came from there, or we are in the background of
 * a terminal: to read there would stop us, and the clock of the run with us.
 */
static int open_stdin(const struct run *run, int *fd)
{
	int from_terminal = isatty(STDIN_FILENO);

	*fd = -1;
	if (run->stdin_from && strcmp(run->stdin_from, "-") != 0) {
		struct stat st;

		*fd = open(run->stdin_from, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		if (*fd >= 0 && fstat(*fd, &st) == 0 && S_ISDIR(st.st_mode)) {
			close(*fd);
			*fd = -1;
			errno = EISDIR;
		}
		if (*fd < 0)
			return usage(run, "--stdin: cannot open \"%s\": %s", run->stdin_from, strerror(errno));
		return 0;
	}
	if (run->file && strcmp(run->file, "-") == 0)
		return 0;
	if (!run->stdin_from && from_terminal && tcgetpgrp(STDIN_FILENO) != getpgrp())
		return 0;
	*fd = STDIN_FILENO;
	return 0;
}

/* Only what a signal handler or the relay's thread must reach is global. */
static volatile sig_atomic_t caught_signal; /* the first one, or 0 */
static struct relay relay;                  /* to our standard output and error */
static int cancel_pipe[2] = { -1, -1 };     /* [0] is the run's cancel_fd */

static void cancel_run(void)
{
	/* Not blocking: once a byte is in, more say nothing new. */
	if (write(cancel_pipe[1], "", 1) < 0)
		return;
}

static void on_signal(int number)
{
	int saved = errno;

	if (!caught_signal)
		caught_signal = number;
	cancel_run();
	errno = saved;
}

static const int ending_signals[] = { SIGINT, SIGTERM, SIGHUP };

/* Signals that our caller ignores (nohup, a background job) stay ignored. */
static void catch_signals(void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART }, old;

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(ending_signals) / sizeof(ending_signals[0]); i++) {
		if (sigaction(ending_signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(ending_signals[i], &action, NULL);
	}
}

static int on_terminal[3]; /* whether descriptors 1 and 2 are terminals */
static char last_shown;    /* the last byte that went to one, or 0 */

static void on_output(int stream, const void *data, size_t size, void *userdata)
{
	int fd = stream == EB_STDERR ? STDERR_FILENO : STDOUT_FILENO;

	(void)userdata;
	if (size > 0 && on_terminal[fd])
		last_shown = ((const char *)data)[size - 1];
	relay_write(&relay, fd, data, size);
}

/* Our own sentence begins a line, also if the program left one unfinished on the same terminal. */
static void end_line(void)
{
	if (on_terminal[STDERR_FILENO] && last_shown && last_shown != '\n')
		cmd_write(STDERR_FILENO, "\n", 1);
}

/* How a run ended is said when the program could not say it itself. */
static int ended_from_outside(const char *status)
{
	return strcmp(status, "ok") != 0 && strcmp(status, "failed") != 0;
}

static void tell_end(const struct run *run, const eb_result *result)
{
	const char *status = eb_result_status(result), *message = eb_result_message(result);
	int number = eb_result_signal(result);

	if (run->quiet && strcmp(status, "error") != 0)
		return;
	if (message && ended_from_outside(status)) {
		end_line();
		cmd_complain("%s", message);
	} else if (number && sigabbrev_np(number)) {
		end_line();
		cmd_complain("ended by signal SIG%s (%s)", sigabbrev_np(number), sigdescr_np(number));
	} else if (number) {
		end_line();
		cmd_complain("ended by signal %d", number);
	}
}

static int show_result(const struct run *run, const eb_result *result)
{
	int code = eb_result_exit_code(result);
	int ended = ended_from_outside(eb_result_status(result));
	/* Who reads the output of a program that ended may take his time; a run that was ended does not wait for him.
	 */
	int errnum = relay_finish(&relay, ended || caught_signal ? 1 : 0);

	/* The object and we say the same, also when a signal to us ended the run. */
	if (run->json)
		return print_json(result, code);
	if (errnum == EPIPE)
		return 128 + SIGPIPE;
	if (errnum && errnum != ETIMEDOUT) {
		cmd_complain("cannot write the program's output: %s", strerror(errnum));
		return EXIT_BROKEN;
	}
	tell_end(run, result);
	return caught_signal ? 128 + caught_signal : code;
}

static int execute(const struct run *run)
{
	eb_options options = EB_OPTIONS_INIT;
	eb_result *result = NULL;
	eb_error err = { 0 };
	int code = open_stdin(run, &options.stdin_fd);

	if (code != 0)
		return code;
	if (pipe2(cancel_pipe, O_CLOEXEC | O_NONBLOCK) < 0) {
		err.code = EB_FAILED;
		err.errnum = errno;
		snprintf(err.message, sizeof(err.message), "cannot make a pipe: %s", strerror(errno));
		return refused(run, &err);
	}
	options.cancel_fd = cancel_pipe[0];
	if (!run->json)
		options.on_output = on_output;
	on_terminal[STDOUT_FILENO] = isatty(STDOUT_FILENO);
	on_terminal[STDERR_FILENO] = isatty(STDERR_FILENO);
	relay_start(&relay, cancel_run);
	signal(SIGPIPE, SIG_IGN);
	catch_signals(on_signal);
	code = eb_execute(run->request, &options, &result, &err);
	/* From here on there is no box that a signal would have to end. */
	catch_signals(SIG_DFL);
	code = code == 0 ? show_result(run, result) : refused(run, &err);
	eb_result_free(result);
	return code;
}

static int explain(const struct run *run)
{
	char *text = NULL;
	eb_error err = { 0 };
	int code;

	if (eb_explain(run->request, &text, &err) < 0)
		return refused(run, &err);
	code = cmd_print(text, 0);
	free(text);
	return code;
}

int cmd_run(int argc, char **argv)
{
	struct run run = { .request = eb_request_new() };
	int code;

	if (!run.request) {
		cmd_complain("no memory");
		return EXIT_BROKEN;
	}
	read_manner(&run, argc, argv);
	code = run.help ? print_help() : read_environment(&run);
	if (code == 0 && !run.help)
		code = read_arguments(&run, argc, argv);
	if (code == 0 && !run.help)
		code = read_code(&run);
	if (code == 0 && !run.help)
		code = run.explain ? explain(&run) : execute(&run);
	free(run.source.data);
	eb_request_free(run.request);
	return code;
}
