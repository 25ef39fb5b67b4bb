/* Runs the request: in the service if it is running, otherwise here. Output is passed on at once. */
#include "base/json_check.h"
#include "base/own.h"
#include "base/state.h"
#include "client/client.h"
#include "client/request_json.h"
#include "cli/beside_file.h"
#include "cli/past.h"
#include "cli/relay.h"
#include "cli/cmd_run.h"
#include "cli/session_view.h"
#include "cli/terminal.h"
#include "api/public.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum {
	LARGE_OUTPUT = 1 << 20 /* bytes of output from which the size of kept data is checked */
};

/* The end of a run, in the service or here. */
struct ending {
	const char *status;  /* status of the result */
	const char *message; /* error message, or NULL */
	int signal;          /* the signal that ended the program, or 0 */
	int code;            /* our exit code */
	const char *json;    /* the result; NULL: not needed, or memory ran out */
};

/*
 * The descriptor of the program's input, or -1 for none. Standard input is
 * passed on, unless it was the code, or we are in the background of a terminal:
 * reading would stop us, and with us the timeout of the run.
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
			return run_usage(run, "--stdin: cannot open \"%s\": %s", run->stdin_from, strerror(errno));
		return 0;
	}
	if (run->file && strcmp(run->file, "-") == 0)
		return 0;
	if (!run->stdin_from && from_terminal && tcgetpgrp(STDIN_FILENO) != getpgrp())
		return 0;
	*fd = STDIN_FILENO;
	return 0;
}

/* Only variables used by signal handlers or the relay's thread are global. */
static int window_fd = -1;                  /* sizes of our terminal, for the one in the box */
static volatile sig_atomic_t caught_signal; /* the first signal, or 0 */
static struct relay relay;                  /* relay to our standard output and error */
static int cancel_pipe[2] = { -1, -1 };     /* [0] is the cancel_fd of the run */

static void cancel_run(void)
{
	/* Non-blocking: one byte is enough. */
	if (write(cancel_pipe[1], "", 1) < 0)
		return;
}

static void on_signal(int number)
{
	int saved = errno;

	if (!caught_signal)
		caught_signal = number;
	/* Now: another signal may kill us at once. */
	terminal_restore();
	cancel_run();
	errno = saved;
}

static const int ending_signals[] = { SIGINT, SIGTERM, SIGHUP };

/* Signals that our caller ignores (nohup, a background job) stay ignored. */
static void catch_signals(void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART | flags }, old;

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(ending_signals) / sizeof(ending_signals[0]); i++) {
		if (sigaction(ending_signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(ending_signals[i], &action, NULL);
	}
}

static int on_terminal[3]; /* whether descriptors 1 and 2 are terminals */
static char last_shown;    /* the last byte written to a terminal, or 0 */

static void on_output(int stream, const void *data, size_t size, void *userdata)
{
	int fd = stream == EB_STDERR ? STDERR_FILENO : STDOUT_FILENO;

	(void)userdata;
	if (size > 0 && on_terminal[fd])
		last_shown = ((const char *)data)[size - 1];
	relay_write(&relay, fd, data, size);
}

/* Starts a new line for our message if the program left one unfinished on the same terminal. */
static void end_line(void)
{
	if (on_terminal[STDERR_FILENO] && last_shown && last_shown != '\n')
		cmd_write(STDERR_FILENO, "\n", 1);
}

/* Whether the program was ended from outside, so that it could not report it. */
static int ended_from_outside(const char *status)
{
	return strcmp(status, "ok") != 0 && strcmp(status, "failed") != 0;
}

/* A member of a member, as text. */
static bool inner_text(const char *json, const char *outer, const char *key, char *out, size_t room)
{
	const char *object, *value;
	size_t size;

	return json_member(json, strlen(json), outer, &object, &size) && *object == '{' &&
	       json_member(object, size, key, &value, &size) && json_string_copy(value, size, out, room);
}

/* What egress refused is certain, and the sentence about it has the fix. */
static bool is_network_refusal(const struct ending *ending)
{
	const char *verdict, *certain;
	char cause[32];
	size_t size;

	return ending->json && ending->message && inner_text(ending->json, "verdict", "cause", cause, sizeof(cause)) &&
	       strcmp(cause, "network") == 0 &&
	       json_member(ending->json, strlen(ending->json), "verdict", &verdict, &size) &&
	       json_member(verdict, size, "certain", &certain, &size) && *certain == 't';
}

static void tell_end(const struct run *run, const struct ending *ending)
{
	const char *abbreviation = ending->signal ? sigabbrev_np(ending->signal) : NULL;

	if (run->quiet && strcmp(ending->status, "error") != 0)
		return;
	if (ending->message && (ended_from_outside(ending->status) || is_network_refusal(ending))) {
		end_line();
		cmd_complain("%s", ending->message);
	} else if (abbreviation) {
		end_line();
		cmd_complain("ended by signal SIG%s (%s)", abbreviation, sigdescr_np(ending->signal));
	} else if (ending->signal) {
		end_line();
		cmd_complain("ended by signal %d", ending->signal);
	}
}

/* Prints a hint, also if standard error is no terminal: agents read it through a pipe. With --json the object has
 * it. */
static void tell_hint(const struct run *run, const struct ending *ending)
{
	_cleanup_buf_ struct buf line = { 0 };
	char hint[1024];

	if (run->quiet || !ending->json || is_network_refusal(ending))
		return;
	if (!inner_text(ending->json, "error", "suggestion", hint, sizeof(hint)) &&
	    !inner_text(ending->json, "verdict", "suggestion", hint, sizeof(hint)))
		return;
	end_line();
	text_line(hint, 0, &line);
	if (line.data)
		cmd_complain("hint: %s", line.data);
}

/* Prints the policy's warnings, on a terminal or not. */
static void tell_warnings(const struct run *run, const struct ending *ending)
{
	const char *meta, *list;
	size_t size;
	json_t *warnings;

	if (run->quiet || !ending->json || !json_member(ending->json, strlen(ending->json), "meta", &meta, &size) ||
	    *meta != '{' || !json_member(meta, size, "policy_warnings", &list, &size))
		return;
	warnings = json_loadb(list, size, 0, NULL);
	for (size_t i = 0; i < json_array_size(warnings); i++) {
		_cleanup_buf_ struct buf line = { 0 };
		const char *text = json_string_value(json_array_get(warnings, i));

		text_line(text ? text : "", 0, &line);
		end_line();
		if (line.data)
			cmd_complain("policy: %s", line.data);
	}
	json_decref(warnings);
}

static int show_ending(const struct run *run, const struct ending *told)
{
	const bool alone = run->file && strcmp(run->file, "-") != 0 && !run->project && !run->session;
	_cleanup_free_ char *json = alone && told->json ? beside_suggest(told->json, run->file) : NULL;
	const struct ending better = { told->status, told->message, told->signal, told->code,
				       json ? json : told->json };
	const struct ending *ending = &better;
	int ended = ended_from_outside(ending->status);
	/* After a normal end, the reader of the output may be slow; a run that was ended does not wait for it. */
	int errnum = relay_finish(&relay, ended || caught_signal ? 1 : 0);

	terminal_restore();
	/* The object and the exit code agree, also if a signal to us ended the run. */
	if (run->json)
		return run_print_json(ending->json, ending->code);
	if (errnum == EPIPE)
		return 128 + SIGPIPE;
	if (errnum && errnum != ETIMEDOUT) {
		cmd_complain("cannot write the program's output: %s", strerror(errnum));
		return EXIT_BROKEN;
	}
	tell_end(run, ending);
	tell_warnings(run, ending);
	tell_hint(run, ending);
	return caught_signal ? 128 + caught_signal : ending->code;
}

/* Reads the end from a service's result. False if it is invalid. */
static bool read_ending(const struct client_answer *answer, struct ending *ending, char status[32], char message[1024])
{
	const char *value;
	size_t size;
	char word[32];

	*ending = (struct ending){ .status = status, .json = answer->text };
	if (strlen(answer->text) != answer->size || !json_member(answer->text, answer->size, "status", &value, &size) ||
	    !json_string_copy(value, size, status, 32) ||
	    !json_member(answer->text, answer->size, "exit_code", &value, &size))
		return false;
	ending->code = (int)strtol(value, NULL, 10);
	if (strcmp(status, "ok") == 0)
		return true;
	if (json_member(answer->text, answer->size, "error_message", &value, &size) &&
	    json_string_copy(value, size, message, 1024))
		ending->message = message;
	/* The exit code has the number, also of signals without a name. */
	if (strcmp(status, "failed") == 0 && json_member(answer->text, answer->size, "signal", &value, &size) &&
	    json_string_copy(value, size, word, sizeof(word)))
		ending->signal = ending->code - 128;
	return true;
}

/* There is no result, but effects of the run were visible, so it cannot be repeated. */
static int run_lost(struct run *run, const char *why)
{
	eb_error err = { .code = EB_FAILED };

	relay_finish(&relay, 1);
	terminal_restore();
	end_line();
	snprintf(err.message, sizeof(err.message), "the run is lost: %.900s", why);
	return run_refused(run, &err);
}

/* The service has no result. False: try it here. */
static bool show_refusal(struct run *run, const struct client_answer *answer, int *code)
{
	eb_error err = { .code = EB_BAD_REQUEST };
	enum error_code refused;
	const char *value, *inner;
	size_t size, inner_size;
	char word[64] = "";

	if (!json_member(answer->text, answer->size, "error", &inner, &inner_size) ||
	    !json_member(inner, inner_size, "code", &value, &size) ||
	    !json_string_copy(value, size, word, sizeof(word)) ||
	    !json_member(inner, inner_size, "message", &value, &size) ||
	    !json_string_copy(value, size, err.message, sizeof(err.message)))
		return false;
	refused = error_code_find(word);
	if (refused == CODE_BUSY || refused == CODE_DRAINING || refused == CODE_FAILED) {
		/* A session exists only in the service. */
		if (answer->began || run->session) {
			*code = run_lost(run, err.message);
			return true;
		}
		/* The service's queue protects the machine from overload, so the user should know that the run bypasses
		 * it. */
		if (refused == CODE_BUSY)
			cmd_complain("%s; this runs outside of the service's queue", err.message);
		return false;
	}
	/* A newer service may have codes that are unknown here. */
	if (refused != CODE_NONE)
		err.code = (eb_errc)error_code_kind(refused);
	*code = run_refused(run, &err);
	return true;
}

/* Prints the error of a cell if the language did not. */
static void show_error(const struct client_answer *answer)
{
	_cleanup_buf_ struct buf text = { 0 };
	json_t *result = json_loadb(answer->text, answer->size, JSON_ALLOW_NUL, NULL);

	session_error_text(result, &text);
	if (text.size > 0 && !text.failed)
		on_output(STDERR_FILENO, text.data, text.size, NULL);
	json_decref(result);
}

/* Prints the rich results of a cell as text. */
static void show_values(const struct client_answer *answer)
{
	const char *value;
	size_t size, i;
	json_t *list, *item;

	if (!json_member(answer->text, answer->size, "outputs", &value, &size))
		return;
	list = json_loadb(value, size, JSON_ALLOW_NUL, NULL);
	json_array_foreach(list, i, item)
	{
		const json_t *text = json_object_get(item, "text/plain");

		if (!json_is_string(text))
			continue;
		on_output(STDOUT_FILENO, json_string_value(text), json_string_length(text), NULL);
		on_output(STDOUT_FILENO, "\n", 1, NULL);
	}
	json_decref(list);
}

/* The null device has no input to stream. */
static int stream_of(int stdin_fd)
{
	struct stat st;

	if (stdin_fd < 0 || (fstat(stdin_fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)))
		return -1;
	return stdin_fd;
}

/* Runs in the service. False: the run had no effect, and can be repeated here. */
static bool execute_remote(struct run *run, int stdin_fd, int *code)
{
	struct client_io io = { .on_output = run->json ? NULL : on_output,
				.cancel_fd = cancel_pipe[0],
				.stdin_fd = stream_of(stdin_fd),
				.window_fd = window_fd };
	/* The start of a run is only reported if output is streamed. Input waits for the start, and a started run is
	 * not repeated. */
	const struct request_extra extra = {
		.language = run->deferred ? run->language : NULL,
		.profile = run->of ? run->of->name : NULL,
		.session = run->session,
		.policy = run->policy,
		.stream = true,
		.input = io.stdin_fd >= 0,
	};
	_cleanup_buf_ struct buf json = { 0 };
	struct client_answer answer = { 0 };
	struct ending ending;
	char status[32], message[1024];
	struct error err = { 0 };
	bool answered, done = false;

	if (!request_json(request_spec(run->request), &extra, &json))
		return false;
	/* The service ends the run when we exit, so a second signal may kill us. */
	catch_signals(on_signal, SA_RESETHAND);
	answered = client_run(run->socket, json.data, json.size, &io, &answer, &err) == 0;
	/* From here on, a signal has no run to end. */
	catch_signals(SIG_DFL, 0);
	if (answered && answer.refused) {
		terminal_restore();
		done = show_refusal(run, &answer, code);
	} else if (answered && read_ending(&answer, &ending, status, message)) {
		if (run->session && !run->json) {
			show_values(&answer);
			if (strcmp(status, "ok") != 0)
				show_error(&answer);
		}
		*code = show_ending(run, &ending);
		done = true;
	}
	if (!done && (answer.began || run->session)) {
		*code = run_lost(run, err.text[0] ? err.text : "the service gave an invalid answer");
		done = true;
	}
	free(answer.text);
	return done;
}

/* Only if required, a run without a record is refused: the default is the service's setting. */
struct recorded_by run_recorded_as(const struct run *run, char caller[RUN_CALLER_MAX])
{
	const struct config_value *audit = &run->config.values[CONFIG_AUDIT];

	snprintf(caller, RUN_CALLER_MAX, "uid %u", (unsigned)getuid());
	return (struct recorded_by){
		.caller = caller,
		.profile = run->of ? run->of->name : "",
		.code = record_code_of(run->config.values[CONFIG_STORE_CODE].text),
		.required = audit->source != CONFIG_DEFAULT && strcmp(audit->text, "required") == 0,
	};
}

/* Reports a run without a record, unless the user allowed it explicitly, or there is no directory for records. */
static void tell_unrecorded(const struct run *run, const struct error *missing)
{
	const struct config_value *audit = &run->config.values[CONFIG_AUDIT];
	char path[PATH_MAX];
	struct error why;

	if (missing->kind == ERROR_NONE || state_path("", path, sizeof(path)) < 0 ||
	    (audit->source != CONFIG_DEFAULT && strcmp(audit->text, "best_effort") == 0))
		return;
	cmd_complain("this run is not in the history: %s", state_why_not(&why) < 0 ? why.text : missing->text);
}

static int execute_here(struct run *run, int stdin_fd)
{
	eb_options options = EB_OPTIONS_INIT;
	eb_result *result = NULL;
	eb_error err = { 0 };
	struct error missing = { 0 };
	struct recorded_by by;
	char caller[RUN_CALLER_MAX], byte;
	int code = run_settle_language(run);

	if (code == 0)
		code = run_settle_policy(run);
	if (code != 0)
		return code;
	options.cancel_fd = cancel_pipe[0];
	options.stdin_fd = stream_of(stdin_fd);
	options.window_fd = window_fd;
	by = run_recorded_as(run, caller);
	by.missing = &missing;
	if (!run->json)
		options.on_output = on_output;
	catch_signals(on_signal, 0);
	code = request_execute(run->request, &options, &by, &result, &err);
	/* From here on, a signal has no box to end. */
	catch_signals(SIG_DFL, 0);
	if (code == 0) {
		const struct ending ending = {
			.status = eb_result_status(result),
			.message = eb_result_message(result),
			.signal = eb_result_signal(result),
			.code = eb_result_exit_code(result),
			/* A successful program has no hint, and most runs need no object. */
			.json = run->json || strcmp(eb_result_status(result), "ok") != 0 || result_has_warnings(result)
					? eb_result_json(result)
					: NULL,
		};

		code = show_ending(run, &ending);
		tell_unrecorded(run, &missing);
		past_tidy(eb_result_read(result, EB_STDOUT, &byte, 1, LARGE_OUTPUT) > 0 ||
			  eb_result_read(result, EB_STDERR, &byte, 1, LARGE_OUTPUT) > 0 ||
			  result_kept(result) >= LARGE_OUTPUT);
	} else {
		terminal_restore();
		code = run_refused(run, &err);
	}
	eb_result_free(result);
	return code;
}

int run_execute(struct run *run)
{
	eb_error err = { 0 };
	int stdin_fd, code = open_stdin(run, &stdin_fd);

	if (code != 0)
		return code;
	if (run->socket < 0 && !run->cold && run->service == SERVICE_START)
		run->socket = service_start(run->config.values[CONFIG_LISTEN].source != CONFIG_DEFAULT);
	if (pipe2(cancel_pipe, O_CLOEXEC | O_NONBLOCK) < 0) {
		err.code = EB_FAILED;
		err.errnum = errno;
		snprintf(err.message, sizeof(err.message), "cannot make a pipe: %s", strerror(errno));
		return run_refused(run, &err);
	}
	on_terminal[STDOUT_FILENO] = isatty(STDOUT_FILENO);
	on_terminal[STDERR_FILENO] = isatty(STDERR_FILENO);
	relay_start(&relay, cancel_run);
	signal(SIGPIPE, SIG_IGN);
	/* With --json, input is not echoed, so the terminal stays in line mode. */
	if (run->tty)
		window_fd = terminal_open(stdin_fd == STDIN_FILENO && isatty(STDIN_FILENO) && !run->json);
	if (run->socket >= 0 && execute_remote(run, stdin_fd, &code))
		return code;
	/* A service that does not answer may still be running this for us; closing ends it. */
	close_fd(&run->socket);
	return execute_here(run, stdin_fd);
}
