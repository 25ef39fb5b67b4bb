#include "api/prove.h"

#include "base/own.h"
#include "api/languages.h"

#include <emberbox.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The probe program, from tools/embed. */
extern const unsigned char probe_data[];
extern const size_t probe_size;

enum {
	OUTPUT_MAX = 1 << 20, /* bytes of the probe's output, which is usually a few KiB */
	SEEN_MAX = 128,       /* bytes of the answers in a row */
};

struct sentence {
	const char *id;   /* "F1" */
	const char *text; /* the attack */
};

struct attempt {
	const char *id;       /* id of the row */
	const char *attempt;  /* name of the probe's attempt */
	const char *expected; /* the expected answer */
	bool control;         /* the attempt must succeed rather than fail */
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

static int row_failed(struct error *err, const eb_error *from)
{
	return error_set(err, ERROR_FAILED, 0, "%s", from->message);
}

/* A limit, so small that the attempt exceeds it at once. */
struct excess {
	const char *id;          /* id of the row */
	const char *text;        /* the attack */
	const char *key, *value; /* key and value for eb_request_set() */
	const char *attempt;     /* the attempt that exceeds it */
	const char *status;      /* status of the result */
	const char *answer;      /* expected last output of the probe, or NULL if it cannot print any more */
};

static const struct excess excesses[] = {
	{ "X1", "fork without end", "pids", "16", "fork-bomb", "ok", "EAGAIN" },
	{ "R1", "take more memory than given", "memory", "64m", "alloc=512m", "out_of_memory", NULL },
	{ "R4", "fill the disk", "disk", "4m", "write=/sandbox/temp/full:3m write=/tmp/full:3m", "ok", "ENOSPC" },
	{ "T1", "run longer than allowed", "timeout", "0.5", "spin-deaf", "timeout", NULL },
	{ "O1", "print without end", "timeout", "20", "flood=1:", "output_limit", NULL },
};

static int request_fill(eb_request *request, const char *attempts_text, const char *key, const char *value,
			struct error *err)
{
	char code[256];
	eb_error e = { 0 };
	int size = snprintf(code, sizeof(code), "exec /sandbox/data/probe %s\n", attempts_text);

	if (eb_request_set(request, "language", "bash", &e) < 0 || eb_request_set(request, key, value, &e) < 0 ||
	    eb_request_set_code(request, code, (size_t)size, &e) < 0 ||
	    eb_request_add_content(request, "/sandbox/data/probe", probe_data, probe_size, &e) < 0)
		return row_failed(err, &e);
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

/* Runs the probe in a box. The caller frees *result and *output. */
static int probe_run(const char *what, const char *key, const char *value, eb_result **result, char **output,
		     struct error *err)
{
	_cleanup_(request_freep) eb_request *request = eb_request_new();
	_cleanup_free_ char *text = calloc(1, OUTPUT_MAX + 1);
	eb_error e = { 0 };

	if (!request || !text)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the proof");
	if (request_fill(request, what, key, value, err) < 0)
		return -1;
	if (eb_execute(request, NULL, result, &e) < 0)
		return row_failed(err, &e);
	if (strcmp(eb_result_status(*result), "error") == 0)
		return error_set(err, ERROR_FAILED, 0, "%s", eb_result_message(*result));
	if (eb_result_read(*result, EB_STDOUT, text, OUTPUT_MAX, 0) < 0)
		return error_set(err, ERROR_FAILED, 0, "cannot read the probe's output");
	*output = take_ptr(text);
	return 0;
}

/* Runs every attempt of expect.def in one box. */
static int probe_all(char **output, struct error *err)
{
	_cleanup_(result_freep) eb_result *result = NULL;
	const char *message;

	if (probe_run("--all", "timeout", "60", &result, output, err) < 0)
		return -1;
	message = eb_result_message(result);
	if (strcmp(eb_result_status(result), "ok") != 0)
		return error_set(err, ERROR_FAILED, 0, "the probe did not finish (%s): %s", eb_result_status(result),
				 message ? message : "no reason is known");
	return 0;
}

/* The answer to the attempt, `size` bytes long; NULL if there is none. An attempt always gives the same answer. */
static const char *answer_find(const char *output, const char *attempt, size_t *size)
{
	size_t length = strlen(attempt);

	/* The analyzer does not see that error_set() never returns 0, so that there is always output here. */
	for (const char *line = output; *line;) { /* NOLINT(clang-analyzer-core.NullDereference) */
		size_t whole = strcspn(line, "\n");

		if (whole > length && memcmp(line, attempt, length) == 0 && line[length] == ' ') {
			*size = whole - length - 1;
			return line + length + 1;
		}
		line += whole + (line[whole] != '\0');
	}
	return NULL;
}

/* Adds an answer to the row's list, without duplicates. */
static void seen_add(char *seen, const char *answer, size_t size)
{
	size_t used = strlen(seen);

	if (used + size + 3 > SEEN_MAX || memmem(seen, used, answer, size))
		return;
	snprintf(seen + used, SEEN_MAX - used, "%s%.*s", used ? ", " : "", (int)size, answer);
}

/* The report in the making. */
struct proof {
	FILE *out;        /* for people; not used with `rows` */
	json_t *rows;     /* for programs; NULL: not requested */
	size_t count;     /* number of rows */
	size_t hold;      /* number of rows without a failure */
	size_t failed_at; /* rows lost because memory ran out */
};

/* Adds a row; `wrong` has a line for each attempt with another answer, or is empty. */
static void row_print(struct proof *proof, const char *id, bool holds, const char *seen, const char *text,
		      const char *wrong)
{
	bool cut = strlen(seen) > 24;

	proof->count++;
	proof->hold += holds;
	if (proof->rows) {
		if (json_array_append_new(proof->rows,
					  json_pack("{s:i, s:s, s:b, s:s, s:s, s:s?}", "number", (int)proof->count,
						    "id", id, "holds", holds, "attempt", text, "answer", seen, "wrong",
						    *wrong ? wrong : NULL)) < 0)
			proof->failed_at++;
		return;
	}
	fprintf(proof->out, "%-4zu %-6s %-*.*s%s %s\n%s", proof->count, holds ? "holds" : "FAILS", cut ? 22 : 24,
		cut ? 22 : 24, seen, cut ? ".." : "", text, wrong);
}

/* Whether the attempt needs IPv6: an address in brackets, or a kind that ends in 6. */
static bool needs_ipv6(const struct attempt *attempt)
{
	return strchr(attempt->attempt, '[') || attempt->attempt[strlen(attempt->attempt) - 1] == '6';
}

static void sentence_print(struct proof *proof, const struct sentence *sentence, const char *output, bool ipv6)
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
	row_print(proof, sentence->id, holds, *seen ? seen : "works", sentence->text, wrong ? wrong : "");
	free(wrong);
}

/* Tests one limit in a box of its own. */
static int excess_print(struct proof *proof, const struct excess *excess, struct error *err)
{
	_cleanup_(result_freep) eb_result *result = NULL;
	_cleanup_free_ char *output = NULL;
	const char *status, *end;
	size_t size;
	bool holds;

	if (probe_run(excess->attempt, excess->key, excess->value, &result, &output, err) < 0)
		return -1;
	status = eb_result_status(result);
	size = strlen(output); /* NOLINT(clang-analyzer-core.NonNullParamChecker): as above */
	if (size > 0 && output[size - 1] == '\n')
		output[size - 1] = '\0';
	end = strrchr(output, ' ');
	holds = strcmp(status, excess->status) == 0 &&
		(!excess->answer || (end && strcmp(end + 1, excess->answer) == 0));
	row_print(proof, excess->id, holds, excess->answer && end ? end + 1 : status, excess->text, "");
	return 0;
}

static int proof_print(struct proof *proof, struct error *err)
{
	_cleanup_free_ char *output = NULL;
	/* Many hosts have IPv6 disabled; failures for that reason say nothing about the box. */
	bool ipv6 = access("/proc/net/if_inet6", F_OK) == 0;

	if (probe_all(&output, err) < 0)
		return -1;
	if (!proof->rows)
		fprintf(proof->out, "%-4s %-6s %-24s %s\n", "", "", "the box answers", "to the attempt to");
	for (size_t i = 0; i < ARRAY_SIZE(sentences); i++)
		sentence_print(proof, &sentences[i], output, ipv6);
	for (size_t i = 0; i < ARRAY_SIZE(excesses); i++)
		if (excess_print(proof, &excesses[i], err) < 0)
			return -1;
	if (!proof->rows)
		fprintf(proof->out, "\n%zu of %zu hold, by %zu attempts in %zu boxes.\n", proof->hold, proof->count,
			ARRAY_SIZE(attempts) + ARRAY_SIZE(excesses), 1 + ARRAY_SIZE(excesses));
	return 0;
}

/* {all_hold, hold, attempts, rows}; the caller frees it. NULL: memory ran out. */
static char *proof_dump(const struct proof *proof)
{
	json_t *root =
		json_pack("{s:b, s:i, s:i, s:O}", "all_hold", proof->hold == proof->count, "hold", (int)proof->hold,
			  "attempts", (int)(ARRAY_SIZE(attempts) + ARRAY_SIZE(excesses)), "rows", proof->rows);

	return proof->failed_at > 0 ? (json_decref(root), NULL) : languages_dump(root);
}

int prove_host(bool json, char **report, bool *all_hold, struct error *err)
{
	struct proof proof = { .rows = json ? json_array() : NULL };
	char *text = NULL;
	size_t size;
	int result;

	proof.out = open_memstream(&text, &size);
	if (!proof.out || (json && !proof.rows)) {
		json_decref(proof.rows);
		if (proof.out)
			fclose(proof.out);
		free(text);
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the proof");
	}
	result = proof_print(&proof, err);
	if (fclose(proof.out) != 0 && result == 0)
		result = error_errno(err, "cannot hold the proof");
	if (result == 0 && json) {
		free(text);
		text = proof_dump(&proof);
		result = text ? 0 : error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the proof");
	}
	json_decref(proof.rows);
	if (result < 0)
		free(text);
	else
		*report = text;
	*all_hold = proof.hold == proof.count;
	return result;
}
