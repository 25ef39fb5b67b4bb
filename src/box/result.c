#include "box/result.h"

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
	result->runtime = spec->runtime;
	result->limits = spec->limits;
	output_init(&result->outputs[0]);
	output_init(&result->outputs[1]);
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
		return 125;
	default:
		return 128 + SIGKILL;
	}
}

/* Python says "SyntaxError: details", Bash "main.sh: line 1: syntax error near …": what follows the mark, or from it on, is the detail. */
static const char *syntax_detail(const struct runtime *runtime, const char *line)
{
	for (size_t i = 0; i < sizeof(runtime->syntax_marks) / sizeof(runtime->syntax_marks[0]) && runtime->syntax_marks[i]; i++) {
		const char *mark = runtime->syntax_marks[i];
		const char *at = strstr(line, mark);
		size_t length = strlen(mark);

		if (!at)
			continue;
		if (mark[length - 1] != ' ')
			return line;
		if (at == line)
			return line + length;
	}
	return NULL;
}

/* Node prints its version after the error; the error itself is the line that has a mark. */
static void failure_line(const struct output *errors, const struct runtime *runtime, char *line, size_t size)
{
	char block[4096], *rest = block, *part;
	const char *before = "";
	long n = output_read(errors, block, sizeof(block) - 1, errors->bytes > sizeof(block) - 1 ? errors->bytes - sizeof(block) + 1 : 0);

	output_last_line(errors, line, size);
	if (n <= 0 || syntax_detail(runtime, line))
		return;
	block[n] = '\0';
	if (strncmp(line, "Node.js v", 9) != 0) {
		/* Bash quotes the line in question after "main.sh: line 1: syntax error near …". */
		for (; (part = strsep(&rest, "\n")) != NULL; before = part)
			if (strcmp(part, line) == 0 && syntax_detail(runtime, before) == before)
				snprintf(line, size, "%s", before);
	} else {
		while ((part = strsep(&rest, "\n")) != NULL)
			/* "TypeError: x is not a function", "Error: boom", "Uncaught 'x'" */
			if (*part && *part != ' ' && (strstr(part, "Error: ") || strncmp(part, "Uncaught", 8) == 0))
				snprintf(line, size, "%s", part);
	}
}

static void explain_failed(struct result *result)
{
	const struct verdict *v = &result->verdict;
	char line[384];
	const char *detail;

	failure_line(&result->outputs[1], result->runtime, line, sizeof(line));
	detail = line[0] ? syntax_detail(result->runtime, line) : NULL;
	if (detail)
		snprintf(result->message, sizeof(result->message), "%s syntax error: %s", result->runtime->display, detail);
	else if (line[0])
		snprintf(result->message, sizeof(result->message), "Execution failed: %s", line);
	else if (WIFSIGNALED(v->wait_status))
		snprintf(result->message, sizeof(result->message), "Execution failed: ended by signal %s (%s)",
			 sigabbrev_np(WTERMSIG(v->wait_status)) ?: "unknown", sigdescr_np(WTERMSIG(v->wait_status)) ?: "unknown");
	else
		snprintf(result->message, sizeof(result->message), "Execution failed: exit code %d", WEXITSTATUS(v->wait_status));
}

void result_explain(struct result *result)
{
	const struct verdict *v = &result->verdict;
	bool cpu = v->limit && strcmp(v->limit, "cpu_time") == 0;
	char size[TEXT_SIZE_MAX];

	switch (v->status) {
	case STATUS_OK:
		result->message[0] = '\0';
		break;
	case STATUS_FAILED:
		explain_failed(result);
		break;
	case STATUS_TIMEOUT:
		snprintf(result->message, sizeof(result->message), "Code execution timed out after %gs%s",
			 cpu ? result->limits.cpu_time : result->limits.timeout, cpu ? " of CPU time" : "");
		break;
	case STATUS_OUT_OF_MEMORY:
		snprintf(result->message, sizeof(result->message), "Memory limit of %s exceeded",
			 text_size_format(result->limits.memory, size));
		break;
	case STATUS_OUTPUT_LIMIT:
		snprintf(result->message, sizeof(result->message), "Output limit of %s exceeded", text_size_format(OUTPUT_SPOOL_MAX, size));
		break;
	case STATUS_KILLED:
		snprintf(result->message, sizeof(result->message), "Execution was cancelled");
		break;
	case STATUS_ERROR:
		snprintf(result->message, sizeof(result->message), "%.*s", (int)sizeof(result->message) - 1, v->failure.text);
		break;
	}
}
