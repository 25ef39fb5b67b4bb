/*
 * emberbox run: one program, once.
 *
 * Arguments are read into a struct run and a request; then the request is
 * executed, with output passed on as it comes, and the exit code is the
 * program's. What is wrong with the arguments is said before anything runs.
 */
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/relay.h"
#include "cmd/source.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
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
	OPT_ALLOW_WEAKER,
	OPT_REQUEST_LAST,
	OPT_NET,
	OPT_STDIN,
	OPT_ENGINE,
	OPT_PACKAGE,
	OPT_PROFILE,
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
	{ OPT_OUTPUT, 0, "output", "DIR", "copy what it leaves in /sandbox/output to DIR" },
	{ OPT_NET, 0, "net", "none|HOST,...", "the network; only none for now (none)" },
	{ OPT_PACKAGE, 0, "package", "NAME", "not available yet" },
	{ OPT_PROFILE, 0, "profile", "NAME", "not available yet" },
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
	eb_request *request;    /* what is asked */
	struct source source;   /* the code */
	const char *code;       /* of -c, or NULL */
	const char *file;       /* FILE or "-", or NULL */
	const char *language;   /* of -l, or NULL */
	const char *stdin_from; /* of --stdin, or NULL */
	const char *engine;     /* of --engine, or NULL */
	int timeout_given;      /* the option was given: the environment is not looked at */
	int max_output_given;   /* the same */
	int json;               /* --json */
	int quiet;              /* --quiet */
	int explain;            /* --explain */
	int help;               /* --help */
};

static int usage(const char *message)
{
	return cmd_usage("run", "%s", message);
}

/* Says what failed before there was a result; the exit code is the error's kind. */
static int refused(const eb_error *err)
{
	cmd_complain("%s", err->message);
	return (int)err->code;
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

static int check_engine(const char *engine, const char *named)
{
	if (strcmp(engine, "local") == 0 || strcmp(engine, "auto") == 0)
		return 0;
	if (strcmp(engine, "docker") == 0)
		return cmd_usage("run", "%s docker is not available yet; use local", named);
	return cmd_usage("run", "%s \"%s\" is none of local, docker, auto", named, engine);
}

/* Returns 0, or an exit code. */
static int take_option(struct run *run, int option, const char *value)
{
	eb_error err = { 0 };

	if (option > OPT_REQUEST_FIRST && option < OPT_REQUEST_LAST) {
		if (option == OPT_LANGUAGE)
			run->language = value;
		if (option == OPT_TIMEOUT)
			run->timeout_given = 1;
		if (option == OPT_MAX_OUTPUT)
			run->max_output_given = 1;
		return eb_request_set(run->request, spec_of(option)->name, value, &err) < 0 ? refused(&err) : 0;
	}
	switch (option) {
	case OPT_CODE:
		if (run->code)
			return usage("-c is given twice");
		if (run->file)
			return cmd_usage("run", "the code is given twice: as \"%s\" and by -c", run->file);
		run->code = value;
		return 0;
	case OPT_NET:
		if (strcmp(value, "none") != 0)
			return cmd_usage("run", "--net \"%s\" is not available yet; a box has no network: --net none",
					 value);
		return eb_request_set(run->request, "net", value, &err) < 0 ? refused(&err) : 0;
	case OPT_STDIN:
		run->stdin_from = value;
		return 0;
	case OPT_ENGINE:
		run->engine = value;
		return check_engine(value, "--engine");
	case OPT_PACKAGE:
	case OPT_PROFILE:
	case OPT_SESSION:
		return cmd_usage("run", "--%s is not available yet", spec_of(option)->name);
	case OPT_COLD:
		return 0;
	case OPT_EXPLAIN:
		run->explain = 1;
		return 0;
	case OPT_JSON:
		run->json = 1;
		return 0;
	case OPT_QUIET:
		run->quiet = 1;
		return 0;
	default:
		run->help = 1;
		return 0;
	}
}

static int read_arguments(struct run *run, int argc, char **argv)
{
	struct option_reader reader = { .specs = specs, .argc = argc, .argv = argv, .next = 1 };
	eb_error err = { 0 };
	int option, code;

	while ((option = option_next(&reader)) != OPTION_END) {
		if (option == OPTION_BAD)
			return usage(reader.message);
		if (option == OPTION_WORD) {
			if (take_word(run, reader.value, reader.only_words, &err) < 0)
				return refused(&err);
			continue;
		}
		code = take_option(run, option, reader.value);
		if (code != 0 || run->help)
			return code;
	}
	return 0;
}

static int set_from_environment(struct run *run, const char *variable, const char *key, const char *unit)
{
	const char *value = getenv(variable);
	char text[128];
	eb_error err = { 0 };

	if (!value)
		return 0;
	/* A unit is ours to add: a value that brings its own must not become `20kk` in the sentence. */
	if (strlen(value) > 64 || (*unit && strspn(value, "0123456789") != strlen(value)) || !*value)
		return cmd_usage("run", "%s: \"%.80s\" is not a number", variable, value);
	snprintf(text, sizeof(text), "%s%s", value, unit);
	if (eb_request_set(run->request, key, text, &err) < 0)
		return cmd_usage("run", "%s: %s", variable, err.message);
	return 0;
}

/* What an option did not say, the environment may. Returns 0, or an exit code. */
static int read_environment(struct run *run)
{
	const char *engine = getenv("SANDBOX_TYPE"), *imports = getenv("SANDBOX_BLOCK_DANGEROUS_IMPORTS");
	int code = 0;

	if (engine && !run->engine)
		code = check_engine(engine, "SANDBOX_TYPE");
	if (code == 0 && !run->timeout_given)
		code = set_from_environment(run, "SANDBOX_TIMEOUT_SEC", "timeout", "");
	if (code == 0 && !run->max_output_given)
		code = set_from_environment(run, "SANDBOX_MAX_OUTPUT_KB", "max-output", "k");
	/* Who asks for a check must not get a run without it. */
	if (code == 0 && imports && strcmp(imports, "false") != 0)
		code = cmd_usage("run", "SANDBOX_BLOCK_DANGEROUS_IMPORTS=%.40s is not available yet; use false",
				 imports);
	return code;
}

/* Reads the code and settles the language. Returns 0, or an exit code. */
static int read_code(struct run *run)
{
	struct source *source = &run->source;
	char message[1024] = "";
	eb_error err = { 0 };
	int result = 0;

	if (run->code) {
		source->size = strlen(run->code);
		source->data = strdup(run->code);
		if (source->size > SOURCE_MAX || !source->data)
			return usage("-c: too much code");
	} else if (!run->file) {
		return usage("nothing to run: give a FILE, - for standard input, or -c CODE");
	} else if (strcmp(run->file, "-") == 0) {
		if (run->stdin_from && strcmp(run->stdin_from, "-") == 0)
			return usage("standard input cannot be both the code and the program's input");
		result = source_read_fd(source, STDIN_FILENO, "standard input", message, sizeof(message));
	} else {
		result = source_read_file(source, run->file, message, sizeof(message));
	}
	if (result < 0) {
		cmd_complain("%s", message);
		return EXIT_USAGE;
	}
	if (!run->language) {
		const char *language = eb_detect_language(source->name ? source->name : "", source->data, source->size);

		if (!language)
			return cmd_usage("run", "cannot tell the language of %s; name it with -l LANG",
					 run->code      ? "the code"
					 : source->name ? source->name
							: "standard input");
		if (eb_request_set(run->request, "language", language, &err) < 0)
			return refused(&err);
	}
	return eb_request_set_code(run->request, source->data, source->size, &err) < 0 ? refused(&err) : 0;
}

/*
 * The descriptor that the program's input is read from, or -1 for none, at
 * least 3 because the library takes 0 for "none". Ours is passed on, unless
 * the code came from there, or we are in the background of a terminal: to read
 * there would stop us, and the clock of the run with us.
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
			return cmd_usage("run", "--stdin: cannot open \"%s\": %s", run->stdin_from, strerror(errno));
		return 0;
	}
	if (!run->code && strcmp(run->file, "-") == 0)
		return 0;
	if (!run->stdin_from && from_terminal && tcgetpgrp(STDIN_FILENO) != getpgrp())
		return 0;
	*fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
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

static void on_output(int stream, const void *data, size_t size, void *userdata)
{
	(void)userdata;
	relay_write(&relay, stream == EB_STDERR ? STDERR_FILENO : STDOUT_FILENO, data, size);
}

/* How many bytes of a well-formed UTF-8 character are at `at`, or 0. */
static size_t utf8_size(const unsigned char *at)
{
	size_t size = at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : at[0] < 0xf5 ? 4 : 0;

	for (size_t i = 1; i < size; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	}
	if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) || (at[0] == 0xf0 && at[1] < 0x90) ||
	    (at[0] == 0xf4 && at[1] > 0x8f))
		return 0;
	return size;
}

/* A result for the run that never was: --json promises an object whatever happens. */
static void print_json_error(const eb_error *err)
{
	printf("{\"status\":\"error\",\"success\":false,\"exit_code\":%d,\"error_message\":\"", (int)err->code);
	for (const unsigned char *at = (const unsigned char *)err->message; *at;) {
		size_t size = utf8_size(at);

		if (size == 0) {
			fputs("\\ufffd", stdout);
			at++;
			continue;
		}
		if (*at == '"' || *at == '\\')
			printf("\\%c", *at);
		else if (*at < 0x20 || *at == 0x7f)
			printf("\\u%04x", *at);
		else
			fwrite(at, 1, size, stdout);
		at += size;
	}
	puts("\"}");
}

/* How a run ended is said when the program could not say it itself. */
static int ended_from_outside(const char *status)
{
	return strcmp(status, "ok") != 0 && strcmp(status, "failed") != 0;
}

static int show_result(const struct run *run, const eb_result *result)
{
	const char *message = eb_result_message(result);
	int code = eb_result_exit_code(result);
	int ended = ended_from_outside(eb_result_status(result));
	/* Who reads the output of a program that ended may take his time; a run that was ended does not wait for him.
	 */
	int errnum = relay_finish(&relay, ended || caught_signal ? 1 : 0);

	if (errnum == EPIPE)
		return 128 + SIGPIPE;
	if (errnum && errnum != ETIMEDOUT) {
		cmd_complain("cannot write the program's output: %s", strerror(errnum));
		return EXIT_BROKEN;
	}
	if (run->json) {
		printf("%s\n", eb_result_json(result));
		code = cmd_flush(code);
	} else if (!run->quiet && message && ended) {
		cmd_complain("%s", message);
	}
	return caught_signal ? 128 + caught_signal : code;
}

static int execute(const struct run *run)
{
	eb_options options = { .stdin_fd = -1 };
	eb_result *result = NULL;
	eb_error err = { 0 };
	int code = open_stdin(run, &options.stdin_fd);

	if (code != 0)
		return code;
	if (pipe2(cancel_pipe, O_CLOEXEC | O_NONBLOCK) < 0) {
		cmd_complain("cannot make a pipe: %s", strerror(errno));
		return EXIT_BROKEN;
	}
	options.cancel_fd = cancel_pipe[0];
	if (!run->json)
		options.on_output = on_output;
	relay_start(&relay, cancel_run);
	signal(SIGPIPE, SIG_IGN);
	catch_signals(on_signal);
	code = eb_execute(run->request, &options, &result, &err);
	/* From here on there is no box that a signal would have to end. */
	catch_signals(SIG_DFL);
	if (code == 0) {
		code = show_result(run, result);
	} else if (run->json && err.code != EB_BAD_REQUEST) {
		print_json_error(&err);
		code = cmd_flush((int)err.code);
	} else {
		code = refused(&err);
	}
	eb_result_free(result);
	return code;
}

static int explain(const struct run *run)
{
	char *text = NULL;
	eb_error err = { 0 };
	int code;

	if (eb_explain(run->request, &text, &err) < 0)
		return refused(&err);
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
	code = read_arguments(&run, argc, argv);
	if (run.help)
		code = print_help();
	if (code == 0 && !run.help)
		code = read_environment(&run);
	if (code == 0 && !run.help)
		code = read_code(&run);
	if (code == 0 && !run.help)
		code = run.explain ? explain(&run) : execute(&run);
	free(run.source.data);
	eb_request_free(run.request);
	return code;
}
