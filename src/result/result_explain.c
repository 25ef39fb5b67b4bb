/* Explains a program that failed by itself: collects its inputs and passes them to a confined process. */
#include "result/result_network.h"

#include "base/fd.h"
#include "base/own.h"
#include "language/expand.h"
#include "schema/host_file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum {
	ERRORS_MAX = 1 << 20, /* bytes of stderr that are searched; Node quotes whole lines of code */
	SOURCE_MAX = 1 << 20, /* bytes of one file of code */
	SOURCES_MAX = 64,     /* files of code */
	LANGUAGES_MAX = 128,  /* languages that the code is compared with */
	FILES_MAX = 64,       /* names of files in the request */
};

/* The inputs of explain_make() from the request. */
struct given {
	struct arena arena;                           /* owns names and files read from the host */
	struct explain_source code[SOURCES_MAX];      /* the program's files */
	size_t code_count;                            /* number of them */
	const char *files[FILES_MAX + 1];             /* names of all files of the request; NULL at the end */
	size_t file_count;                            /* number of them */
	const struct runtime *all[LANGUAGES_MAX + 1]; /* every language; NULL at the end */
};

/* Standard error terminated by a NUL, or NULL if it is empty. Of a long one, the first part of a compiler's or the last
 * part of a program's. */
static char *errors_text(const struct result *result, size_t *size)
{
	const struct output *errors = &result->outputs[1];
	uint64_t kept, room;
	char *text;
	long n;

	*size = 0;
	kept = errors->bytes < OUTPUT_SPOOL_MAX ? errors->bytes : OUTPUT_SPOOL_MAX;
	room = kept < ERRORS_MAX ? kept : ERRORS_MAX;
	text = malloc(room + 1);
	n = text ? output_read(errors, text, room, result->phase == JOB_COMPILE ? 0 : kept - room) : -1;
	if (n < 0) {
		free(text);
		return NULL;
	}
	text[n] = '\0';
	*size = (size_t)n;
	return text;
}

/* The path below /sandbox/code, or NULL if it is elsewhere. */
static const char *below_code(const char *box)
{
	static const char place[] = "sandbox/code/";

	return strncmp(box, place, sizeof(place) - 1) == 0 ? box + sizeof(place) - 1 : NULL;
}

static void add_code(struct given *given, const char *name, const void *data, size_t size)
{
	if (given->code_count < SOURCES_MAX && name && data)
		given->code[given->code_count++] =
			(struct explain_source){ name, data, size < SOURCE_MAX ? size : SOURCE_MAX };
}

/* Reads a plain file of the host with the caller's rights, as for the box. */
static void add_host(struct given *given, const char *name, int fd)
{
	char *data = fd < 0 || given->code_count == SOURCES_MAX ? NULL : arena_alloc(&given->arena, SOURCE_MAX / 4);
	ssize_t n = data ? fd_read(fd, data, SOURCE_MAX / 4) : -1;

	if (n > 0)
		add_code(given, name, data, (size_t)n);
}

static void gather_project(struct given *given, const struct spec *spec)
{
	_cleanup_close_ int dir = open(spec->project, O_RDONLY | O_DIRECTORY | O_CLOEXEC), file = -1;
	struct stat st;

	if (dir >= 0)
		file = fd_open_beneath(dir, spec_entry(spec), O_RDONLY | O_NONBLOCK);
	if (file >= 0 && fstat(file, &st) == 0 && S_ISREG(st.st_mode))
		add_host(given, spec_entry(spec), file);
}

/* The name of the code in messages: drivers of sessions give each cell its own name. */
static const char *code_name(const struct result *result, const struct spec *spec)
{
	static const char *const forms[] = { "<cell %" PRIu64 ">", "cell-%" PRIu64 };

	for (size_t i = 0; result->session.cells > 0 && i < sizeof(forms) / sizeof(*forms); i++) {
		char name[48];

		snprintf(name, sizeof(name), forms[i], result->session.cells);
		if (strcmp(name, result->told_file) == 0)
			return result->told_file;
	}
	return spec_entry(spec);
}

static void given_gather(struct given *given, const struct result *result, const struct spec *spec)
{
	struct error ignored;
	struct stat st;

	for (size_t i = 0; i < LANGUAGES_MAX && runtime_at(i); i++)
		given->all[i] = runtime_at(i);
	if (!spec || !spec->runtime || spec->runtime->broken)
		return;
	if (spec->code)
		add_code(given, code_name(result, spec), spec->code, spec->code_size);
	else if (spec->project)
		gather_project(given, spec);
	for (size_t i = 0; i < spec->file_count; i++) {
		const struct spec_file *file = &spec->files[i];
		const char *name = below_code(file->box);
		_cleanup_close_ int fd = -1;

		if (given->file_count < FILES_MAX) {
			const char *shown = name ? name : arena_printf(&given->arena, "/%s", file->box);

			if (shown)
				given->files[given->file_count++] = shown;
		}
		if (name && file->host)
			fd = host_file_open(file->host, &st, &ignored);
		if (name && file->host)
			add_host(given, name, fd);
		else
			add_code(given, name, file->data, file->size);
	}
}

static void given_explain(struct result *result, const struct spec *spec, const char *text, size_t size)
{
	const struct verdict *v = &result->verdict;
	struct given *given = calloc(1, sizeof(*given));
	int number = result_signal(result);
	char signal[32] = "";
	struct explain_input input = {
		.runtime = result->runtime,
		.text = text,
		.size = size,
		.file = result->file,
		.told_file = result->told_file,
		.told_line = result->told_line,
		.told_column = result->told_column,
		.exited = WIFEXITED(v->wait_status),
		.exit_code = WIFEXITED(v->wait_status) ? WEXITSTATUS(v->wait_status) : 0,
		.signal = number ? signal : NULL,
		.printed = result->outputs[0].bytes > 0,
		.compiling = result->phase == JOB_COMPILE,
	};

	/* An empty explanation; readers handle NULL if memory ran out. */
	result->explanation = calloc(1, sizeof(*result->explanation));
	if (given && result->explanation) {
		given_gather(given, result, spec);
		if (number)
			snprintf(signal, sizeof(signal), "SIG%s", sigabbrev_np(number) ?: "?");
		input.all = given->all;
		input.code = given->code;
		input.code_count = given->code_count;
		input.files = given->files;
		explain_confined(&input, result->explanation);
		arena_free(&given->arena);
	}
	free(given);
}

static void say_found(struct result *result, const struct errors_found *found)
{
	const char *kind = found->kind == ERRORS_SYNTAX ? "syntax" : "compile";
	char where[sizeof(found->file) + 64] = "";

	/* The name is only printed if it is not the code file. */
	if (found->line > 0 && found->file[0] && strcmp(found->file, result->file) != 0)
		snprintf(where, sizeof(where), " (%s, line %ld)", found->file, found->line);
	else if (found->file[0] && strcmp(found->file, result->file) != 0)
		snprintf(where, sizeof(where), " (%s)", found->file);
	else if (found->line > 0)
		snprintf(where, sizeof(where), " (line %ld)", found->line);
	snprintf(result->message, sizeof(result->message), "%s %s error: %.384s%s", result->runtime->display, kind,
		 found->message, where);
}

/* Uses the error that a driver reported. The types of syntax errors have these endings. */
static void say_told(struct result *result)
{
	static const char *const unread[] = { "SyntaxError", "IndentationError", "TabError" };
	const char *message = result->told_message;

	for (size_t i = 0; i < ARRAY_SIZE(unread); i++) {
		if (strcmp(result->told_type, unread[i]) != 0)
			continue;
		snprintf(result->message, sizeof(result->message), "%s syntax error: %s", result->runtime->display,
			 message);
		return;
	}
	snprintf(result->message, sizeof(result->message), "Execution failed: %s%s%s", result->told_type,
		 message[0] ? ": " : "", message);
}

/* A program that failed by an error of another kind failed because of that. */
static bool refusal_explains(const struct net_connection *refused, const struct explanation *e, const char *text)
{
	static const char *const kinds[] = { "no-network", "connection-refused" };
	/* What languages print if egress ends a connection that it had to accept first. */
	static const char *const resets[] = { "reset by peer", "Connection reset", "ECONNRESET", "socket hang up" };

	if (!e || !e->type[0] || (text && *refused->host && strstr(text, refused->host)))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(e->kind, kinds[i]) == 0)
			return true;
	for (size_t i = 0; text && i < ARRAY_SIZE(resets); i++)
		if (strstr(text, resets[i]))
			return true;
	return false;
}

/* Known from egress, whatever the program printed or kept to itself. */
static void say_refused(struct result *result, const struct net_connection *refused)
{
	_cleanup_buf_ struct buf sentence = { 0 };

	result_refusal_sentence(refused, &sentence);
	snprintf(result->message, sizeof(result->message), "%s",
		 sentence.failed || !sentence.data ? "" : sentence.data);
}

void result_explain_failed(struct result *result, const struct spec *spec)
{
	const struct net_connection *refused;
	const struct verdict *v = &result->verdict;
	int number = result_signal(result);
	struct explanation *e;
	char line[384] = "";
	_cleanup_free_ char *text = NULL;
	size_t size = 0;

	/* On a terminal, the interpreter's messages cannot be told apart from the program's output. */
	text = result->terminal ? NULL : errors_text(result, &size);
	/* A program that only returned an exit code leaves nothing to explain. */
	if (text && result->runtime && (size > 0 || number))
		given_explain(result, spec, text, size);
	e = result->explanation;
	refused = result_refused_connection(result);
	if (refused && refusal_explains(refused, e, text))
		result->refusal = refused;
	if (e && e->cause[0])
		memcpy(line, e->cause, sizeof(line));
	else
		output_last_line(&result->outputs[result->terminal ? 0 : 1], line, sizeof(line));
	if (e && e->found.kind != ERRORS_NONE)
		say_found(result, &e->found);
	else if (result->refusal)
		say_refused(result, result->refusal);
	else if (result->told)
		say_told(result);
	else if (line[0])
		snprintf(result->message, sizeof(result->message), "Execution failed: %s", line);
	else if (number)
		snprintf(result->message, sizeof(result->message), "Execution failed: ended by signal SIG%s (%s)",
			 sigabbrev_np(number) ?: "?", sigdescr_np(number) ?: "unknown");
	else
		snprintf(result->message, sizeof(result->message), "Execution failed: exit code %d",
			 WEXITSTATUS(v->wait_status));
	if (e && !e->there) {
		free(e);
		result->explanation = NULL;
	}
}
