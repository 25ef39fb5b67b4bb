#include "service/prove.h"

#include "base/own.h"

#include <emberbox.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The probe's own bytes, from tools/embed. */
extern const unsigned char probe_data[];
extern const size_t probe_size;

enum {
	OUTPUT_MAX = 1 << 20, /* bytes of the probe's output, a few KiB in truth */
	SEEN_MAX = 128,       /* bytes of the answers that a row shows */
};

struct sentence {
	const char *id;   /* "F1" */
	const char *text; /* what must not be possible */
};

struct attempt {
	const char *id;       /* the sentence it belongs to */
	const char *attempt;  /* as the probe is called */
	const char *expected; /* its exact answer */
	bool control;         /* has to work, rather than to fail */
};

static const struct sentence sentences[] = {
#define SENTENCE(id, text) { #id, text },
#define EXPECT(id, attempt, expected)
#define CONTROL(id, attempt, expected)
#include "../../tests/probe/expect.def"
#undef SENTENCE
#undef EXPECT
#undef CONTROL
};

static const struct attempt attempts[] = {
#define SENTENCE(id, text)
#define EXPECT(id, attempt, expected)  { #id, attempt, expected, false },
#define CONTROL(id, attempt, expected) { #id, attempt, expected, true },
#include "../../tests/probe/expect.def"
#undef SENTENCE
#undef EXPECT
#undef CONTROL
};

static int failed(struct error *err, const eb_error *from)
{
	return error_set(err, ERROR_FAILED, 0, "%s", from->message);
}

static int request_fill(eb_request *request, struct error *err)
{
	static const char code[] = "exec /sandbox/data/probe --all\n";
	eb_error e = { 0 };

	if (eb_request_set(request, "language", "bash", &e) < 0 || eb_request_set(request, "timeout", "60", &e) < 0 ||
	    eb_request_set_code(request, code, sizeof(code) - 1, &e) < 0 ||
	    eb_request_add_content(request, "/sandbox/data/probe", probe_data, probe_size, &e) < 0)
		return failed(err, &e);
	return 0;
}

static void request_freep(eb_request **request)
{
	eb_request_free(*request);
}

static void result_freep(eb_result **result)
{
	eb_result_free(*result);
}

/* What the probe says, in *output, owned by the caller. */
static int probe_run(char **output, struct error *err)
{
	_cleanup_(request_freep) eb_request *request = eb_request_new();
	_cleanup_(result_freep) eb_result *result = NULL;
	_cleanup_free_ char *text = calloc(1, OUTPUT_MAX + 1);
	eb_error e = { 0 };

	if (!request || !text)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the proof");
	if (request_fill(request, err) < 0)
		return -1;
	if (eb_execute(request, NULL, &result, &e) < 0)
		return failed(err, &e);
	if (strcmp(eb_result_status(result), "ok") != 0) {
		const char *message = eb_result_message(result);

		return error_set(err, ERROR_FAILED, 0, "the probe did not come to its end (%s): %s",
				 eb_result_status(result), message ? message : "no reason is known");
	}
	if (eb_result_read(result, EB_STDOUT, text, OUTPUT_MAX, 0) < 0)
		return error_set(err, ERROR_FAILED, 0, "cannot read what the probe said");
	*output = take_ptr(text);
	return 0;
}

/* The answer to the attempt, `size` bytes long; NULL when there is none. The same attempt gives the same answer
 * wherever it stands. */
static const char *answer_find(const char *output, const char *attempt, size_t *size)
{
	size_t length = strlen(attempt);

	for (const char *line = output; *line;) {
		size_t whole = strcspn(line, "\n");

		if (whole > length && memcmp(line, attempt, length) == 0 && line[length] == ' ') {
			*size = whole - length - 1;
			return line + length + 1;
		}
		line += whole + (line[whole] != '\0');
	}
	return NULL;
}

/* Adds an answer to those that the row shows, each once. */
static void seen_add(char *seen, const char *answer, size_t size)
{
	size_t used = strlen(seen);

	if (used + size + 3 > SEEN_MAX || memmem(seen, used, answer, size))
		return;
	snprintf(seen + used, SEEN_MAX - used, "%s%.*s", used ? ", " : "", (int)size, answer);
}

/* An address in brackets, or a kind that ends in 6. */
static bool needs_ipv6(const struct attempt *attempt)
{
	return strchr(attempt->attempt, '[') || attempt->attempt[strlen(attempt->attempt) - 1] == '6';
}

/* One row, and a line for each attempt that did not go as it has to. Returns whether it holds. */
static bool sentence_print(FILE *out, const struct sentence *sentence, const char *output, bool ipv6)
{
	char seen[SEEN_MAX] = "", *wrong = NULL;
	size_t wrong_size = 0;
	FILE *details = open_memstream(&wrong, &wrong_size);
	bool holds = details != NULL;

	for (const struct attempt *a = attempts; a < attempts + ARRAY_SIZE(attempts) && details; a++) {
		size_t size = 0;
		const char *answer;

		if (strcmp(a->id, sentence->id) != 0 || (!ipv6 && needs_ipv6(a)))
			continue;
		answer = answer_find(output, a->attempt, &size);
		if (answer && !a->control)
			seen_add(seen, answer, size);
		if (answer && size == strlen(a->expected) && memcmp(answer, a->expected, size) == 0)
			continue;
		holds = false;
		fprintf(details, "     %s: %.*s, not %s%s\n", a->attempt, answer ? (int)size : 9,
			answer ? answer : "no answer", a->expected, a->control ? " (it has to work)" : "");
	}
	if (details)
		fclose(details);
	fprintf(out, "%-4s %-6s %-28.28s %s\n%s", sentence->id, holds ? "holds" : "FAILS", *seen ? seen : "works",
		sentence->text, wrong ? wrong : "");
	free(wrong);
	return holds;
}

int prove_host(char **table, bool *all_hold, struct error *err)
{
	_cleanup_free_ char *output = NULL;
	/* Switched off on many hosts; what fails for that reason says nothing about the box. */
	bool ipv6 = access("/proc/net/if_inet6", F_OK) == 0;
	size_t size, count = 0;
	FILE *out;

	if (probe_run(&output, err) < 0)
		return -1;
	out = open_memstream(table, &size);
	if (!out)
		return error_errno(err, "cannot hold the proof");
	for (size_t i = 0; i < ARRAY_SIZE(sentences); i++)
		count += sentence_print(out, &sentences[i], output, ipv6);
	*all_hold = count == ARRAY_SIZE(sentences);
	fprintf(out, "\n%zu of %zu hold, by %zu attempts in one box.\n", count, ARRAY_SIZE(sentences),
		ARRAY_SIZE(attempts));
	if (fclose(out) != 0)
		return error_errno(err, "cannot hold the proof");
	return 0;
}
