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

struct result *result_new(const struct spec *spec)
{
	struct result *result = calloc(1, sizeof(*result));

	if (!result)
		return NULL;
	gettimeofday(&result->time, NULL);
	make_id(result->id, &result->time);
	result->limits = spec->limits;
	output_init(&result->outputs[0]);
	output_init(&result->outputs[1]);
	result->runtime = spec->runtime;
	if (spec->runtime) {
		result->file =
			arena_printf(&result->arena, "/sandbox/code/%s", spec->name ? spec->name : spec->runtime->file);
		if (!result->file) {
			result_free(result);
			return NULL;
		}
	}
	return result;
}

struct result *result_refused(const struct spec *spec, const struct error *err)
{
	struct spec nothing;
	struct result *result;

	spec_init(&nothing);
	result = result_new(spec ? spec : &nothing);
	if (!result)
		return NULL;
	result->verdict.status = STATUS_ERROR;
	result->verdict.failure = *err;
	result_explain(result);
	return result;
}

void result_free(struct result *result)
{
	if (!result)
		return;
	output_free(&result->outputs[0]);
	output_free(&result->outputs[1]);
	files_free(&result->files);
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
	case STATUS_ERROR:
		return v->failure.kind == ERROR_USAGE ? 2 : v->failure.kind == ERROR_LANGUAGE ? 127 : 125;
	default:
		return 128 + SIGKILL;
	}
}

enum {
	ERRORS_MAX =
		1 << 20 /* bytes of stderr that are looked at for a syntax error; Node quotes whole lines of code */
};

static bool syntax_detail(const struct result *result, char *detail, size_t size)
{
	const struct verdict *v = &result->verdict;
	const struct output *errors = &result->outputs[1];
	struct syntax_input input = { .file = result->file, .printed = result->outputs[0].bytes > 0 };
	_cleanup_free_ char *text = NULL;
	long n;

	if (!WIFEXITED(v->wait_status) || errors->bytes == 0 || errors->bytes > ERRORS_MAX)
		return false;
	text = malloc(errors->bytes + 1);
	n = text ? output_read(errors, text, errors->bytes, 0) : -1;
	if (n < 0)
		return false;
	text[n] = '\0';
	input.errors = text;
	input.exit_code = WEXITSTATUS(v->wait_status);
	return result->runtime->syntax(&input, detail, size);
}

/* The last line, but for Node, which prints its version after the error. */
static void failure_line(const struct output *errors, char *line, size_t size)
{
	char block[4096], *rest = block, *part;
	long n;

	output_last_line(errors, line, size);
	if (strncmp(line, "Node.js v", 9) != 0)
		return;
	n = output_read(errors, block, sizeof(block) - 1,
			errors->bytes > sizeof(block) - 1 ? errors->bytes - sizeof(block) + 1 : 0);
	if (n <= 0)
		return;
	block[n] = '\0';
	while ((part = strsep(&rest, "\n")) != NULL)
		/* "TypeError: x is not a function", "Error: boom", "Uncaught 'x'" */
		if (*part && *part != ' ' && (strstr(part, "Error: ") || strncmp(part, "Uncaught", 8) == 0))
			snprintf(line, size, "%s", part);
}

static void explain_failed(struct result *result)
{
	const struct verdict *v = &result->verdict;
	int number = result_signal(result);
	char line[384];

	failure_line(&result->outputs[1], line, sizeof(line));
	if (syntax_detail(result, line, sizeof(line)))
		snprintf(result->message, sizeof(result->message), "%s syntax error: %s", result->runtime->display,
			 line);
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
	char size[TEXT_SIZE_MAX], number[TEXT_NUMBER_MAX];

	switch (v->status) {
	case STATUS_OK:
		result->message[0] = '\0';
		break;
	case STATUS_FAILED:
		explain_failed(result);
		break;
	case STATUS_TIMEOUT:
		snprintf(result->message, sizeof(result->message), "Code execution timed out after %ss%s",
			 text_number_format(cpu ? result->limits.cpu_time : result->limits.timeout, number),
			 cpu ? " of CPU time" : "");
		break;
	case STATUS_OUT_OF_MEMORY:
		snprintf(result->message, sizeof(result->message), "Memory limit of %s exceeded",
			 text_size_format(result->limits.memory, size));
		break;
	case STATUS_OUTPUT_LIMIT:
		snprintf(result->message, sizeof(result->message), "Output limit of %s exceeded",
			 text_size_format(OUTPUT_SPOOL_MAX, size));
		break;
	case STATUS_KILLED:
		snprintf(result->message, sizeof(result->message), "%s",
			 v->cancelled ? "Execution was cancelled" : "The box was ended from outside");
		break;
	case STATUS_ERROR:
		snprintf(result->message, sizeof(result->message), "%.*s", (int)sizeof(result->message) - 1,
			 v->failure.text);
		break;
	}
}
