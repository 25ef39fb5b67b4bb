#include "box/result.h"

#include "base/own.h"
#include "base/text.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>

/* Crockford's base 32: 10 digits of milliseconds, 16 of chance, as ULIDs have it. */
static void make_id(char *id, const struct timeval *time)
{
	static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
	uint64_t stamp = (uint64_t)time->tv_sec * 1000 + (uint64_t)time->tv_usec / 1000;
	unsigned char chance[16] = { 0 };

	/* With fewer bytes the id is only likelier to clash: nothing secret hangs on it. */
	(void)!getrandom(chance, sizeof(chance), GRND_NONBLOCK);
	for (int i = 9; i >= 0; i--, stamp /= 32)
		id[i] = digits[stamp % 32];
	for (int i = 0; i < 16; i++)
		id[10 + i] = digits[chance[i] % 32];
	id[26] = '\0';
}

void result_make_id(char id[RESULT_ID])
{
	struct timeval now;

	gettimeofday(&now, NULL);
	make_id(id, &now);
}

struct result *result_new(const struct spec *spec)
{
	struct result *result = calloc(1, sizeof(*result));

	if (!result)
		return NULL;
	gettimeofday(&result->time, NULL);
	make_id(result->id, &result->time);
	result->phase = JOB_RUN;
	result->limits = limits_settle(&spec->limits, spec->runtime ? &spec->runtime->limits : NULL);
	output_init(&result->outputs[0]);
	output_init(&result->outputs[1]);
	result->runtime = spec->runtime;
	if (spec->runtime) {
		result->file =
			arena_printf(&result->arena, BOX_CODE "/%s", spec->runtime->broken ? "" : spec_entry(spec));
		if (!result->file) {
			result_free(result);
			return NULL;
		}
	}
	return result;
}

void result_begin(struct result *result, enum job_kind phase, const struct limits *limits)
{
	result->phase = phase;
	result->limits = *limits;
	for (int i = 0; i < 2; i++) {
		output_free(&result->outputs[i]);
		output_init(&result->outputs[i]);
	}
}

void result_fail(struct result *result, const struct error *err)
{
	result->verdict.status = err->kind == ERROR_BLOCKED ? STATUS_BLOCKED : STATUS_ERROR;
	result->verdict.failure = *err;
}

struct result *result_refused(const struct spec *spec, const struct error *err)
{
	struct spec nothing;
	struct result *result;

	spec_init(&nothing);
	result = result_new(spec ? spec : &nothing);
	if (!result)
		return NULL;
	result_fail(result, err);
	result_explain(result);
	return result;
}

void result_free(struct result *result)
{
	if (!result)
		return;
	if (result->on_free)
		result->on_free(result->on_free_data);
	output_free(&result->outputs[0]);
	output_free(&result->outputs[1]);
	files_free(&result->files);
	free(result->rich);
	arena_free(&result->arena);
	free(result->json);
	free(result);
}

const char *status_name(enum status status)
{
	static const char *const names[] = {
		[STATUS_OK] = "ok",
		[STATUS_FAILED] = "failed",
		[STATUS_TIMEOUT] = "timeout",
		[STATUS_OUT_OF_MEMORY] = "out_of_memory",
		[STATUS_OUTPUT_LIMIT] = "output_limit",
		[STATUS_KILLED] = "killed",
		[STATUS_BLOCKED] = "blocked",
		[STATUS_ERROR] = "error",
	};

	return names[status];
}

int result_signal(const struct result *result)
{
	const struct verdict *v = &result->verdict;

	return v->status == STATUS_FAILED && WIFSIGNALED(v->wait_status) ? WTERMSIG(v->wait_status) : 0;
}

int result_exit_code(const struct result *result)
{
	const struct verdict *v = &result->verdict;

	switch (v->status) {
	case STATUS_OK:
		return 0;
	case STATUS_FAILED:
		return WIFSIGNALED(v->wait_status) ? 128 + WTERMSIG(v->wait_status) : WEXITSTATUS(v->wait_status);
	case STATUS_TIMEOUT:
		return 124;
	case STATUS_BLOCKED:
		return 126;
	case STATUS_ERROR:
		return v->failure.kind == ERROR_USAGE ? 2 : v->failure.kind == ERROR_LANGUAGE ? 127 : 125;
	default:
		return 128 + SIGKILL;
	}
}

enum {
	ERRORS_MAX = 1 << 20 /* bytes of stderr that are looked at; Node quotes whole lines of code */
};

/* Standard error, with a zero at its end; NULL when there is none. Of very much the part that tells: a compiler's first
 * words, a program's last ones. */
static char *errors_text(const struct result *result, size_t *size)
{
	const struct output *errors = &result->outputs[1];
	uint64_t kept, room;
	char *text;
	long n;

	if (errors->bytes == 0)
		return NULL;
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

static void find_error(struct result *result, const char *text, size_t size)
{
	const struct verdict *v = &result->verdict;
	struct errors_input input = {
		.text = text,
		.size = size,
		.file = result->file,
		.printed = result->outputs[0].bytes > 0,
		.compiling = result->phase == JOB_COMPILE,
	};

	if (!WIFEXITED(v->wait_status))
		return;
	input.exit_code = WEXITSTATUS(v->wait_status);
	errors_find(result->runtime, &input, &result->found);
}

static void explain_found(struct result *result)
{
	const struct errors_found *found = &result->found;
	const char *kind = found->kind == ERRORS_SYNTAX ? "syntax" : "compile";
	char where[sizeof(found->file) + 64] = "";

	/* The code file needs no name; another one does. */
	if (found->line > 0 && found->file[0] && strcmp(found->file, result->file) != 0)
		snprintf(where, sizeof(where), " (%s, line %ld)", found->file, found->line);
	else if (found->file[0] && strcmp(found->file, result->file) != 0)
		snprintf(where, sizeof(where), " (%s)", found->file);
	else if (found->line > 0)
		snprintf(where, sizeof(where), " (line %ld)", found->line);
	snprintf(result->message, sizeof(result->message), "%s %s error: %.384s%s", result->runtime->display, kind,
		 found->message, where);
}

static void explain_failed(struct result *result)
{
	const struct verdict *v = &result->verdict;
	int number = result_signal(result);
	char line[384] = "";
	_cleanup_free_ char *text = NULL;
	size_t size = 0;

	text = errors_text(result, &size);
	if (text) {
		find_error(result, text, size);
		errors_cause(result->runtime, text, size, line, sizeof(line));
	} else {
		output_last_line(&result->outputs[1], line, sizeof(line));
	}
	if (result->found.kind != ERRORS_NONE)
		explain_found(result);
	else if (line[0])
		snprintf(result->message, sizeof(result->message), "Execution failed: %s", line);
	else if (number)
		snprintf(result->message, sizeof(result->message), "Execution failed: ended by signal SIG%s (%s)",
			 sigabbrev_np(number) ?: "?", sigdescr_np(number) ?: "unknown");
	else
		snprintf(result->message, sizeof(result->message), "Execution failed: exit code %d",
			 WEXITSTATUS(v->wait_status));
}

void result_explain(struct result *result)
{
	const struct verdict *v = &result->verdict;
	bool cpu = v->limit && strcmp(v->limit, "cpu_time") == 0;
	const char *during = result->phase == JOB_COMPILE ? " while compiling" : "";
	char size[TEXT_SIZE_MAX], number[TEXT_NUMBER_MAX];

	switch (v->status) {
	case STATUS_OK:
		result->message[0] = '\0';
		break;
	case STATUS_FAILED:
		explain_failed(result);
		break;
	case STATUS_TIMEOUT:
		snprintf(result->message, sizeof(result->message), "Code execution timed out after %ss%s%s",
			 text_number_format(cpu ? result->limits.cpu_time : result->limits.timeout, number),
			 cpu ? " of CPU time" : "", during);
		break;
	case STATUS_OUT_OF_MEMORY:
		snprintf(result->message, sizeof(result->message), "Memory limit of %s exceeded%s",
			 text_size_format(result->limits.memory, size), during);
		break;
	case STATUS_OUTPUT_LIMIT:
		snprintf(result->message, sizeof(result->message), "Output limit of %s exceeded%s",
			 text_size_format(OUTPUT_SPOOL_MAX, size), during);
		break;
	case STATUS_KILLED:
		snprintf(result->message, sizeof(result->message), "%s",
			 v->cancelled ? "Execution was cancelled" : "The box was ended from outside");
		break;
	case STATUS_BLOCKED:
	case STATUS_ERROR:
		snprintf(result->message, sizeof(result->message), "%.*s", (int)sizeof(result->message) - 1,
			 v->failure.text);
		break;
	}
}
