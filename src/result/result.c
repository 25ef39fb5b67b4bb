#include "result/result.h"

#include "base/own.h"
#include "base/text.h"
#include "language/expand.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>

/* An ULID: Crockford's base 32, 10 digits of milliseconds and 16 of random bits. */
static void make_id(char *id, const struct timeval *time)
{
	static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
	uint64_t stamp = (uint64_t)time->tv_sec * 1000 + (uint64_t)time->tv_usec / 1000;
	unsigned char chance[16] = { 0 };

	/* Fewer random bytes make a collision more likely, but the id need not be secret. */
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
	result_explain(result, NULL);
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
	free(result->network.connections);
	free(result->told);
	free(result->session.unread);
	free(result->explanation);
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
		return v->failure.kind == ERROR_NONE ? ERROR_FAILED : (int)v->failure.kind;
	default:
		return 128 + SIGKILL;
	}
}

/* The session ended unexpectedly. */
static void explain_lost(struct result *result)
{
	if (result->session.id[0] && !result->session.kept && result->verdict.status == STATUS_KILLED &&
	    !result->verdict.cancelled)
		snprintf(result->message, sizeof(result->message), "The session ended while this ran: %s",
			 result->session.reason);
}

void result_explain(struct result *result, const struct spec *spec)
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
		result_explain_failed(result, spec);
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
		explain_lost(result);
		break;
	case STATUS_BLOCKED:
	case STATUS_ERROR:
		snprintf(result->message, sizeof(result->message), "%.*s", (int)sizeof(result->message) - 1,
			 v->failure.text);
		break;
	}
}
