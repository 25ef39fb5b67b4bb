#include "result/result.h"

#include "base/json_check.h"
#include "base/own.h"
#include "explain/explanation_json.h"
#include "language/version.h"
#include "result/result_network.h"

#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

enum {
	STREAM_MAX = 24 << 20 /* bytes of one stream in a result, escaped, so that two of them and the rest fit into an
				 answer */
};

/* Never NULL for members of an object: on failure it is null, and json_object_set_new() reports it. */
static json_t *json_utf8(const char *bytes, size_t size)
{
	_cleanup_buf_ struct buf text = { 0 };

	buf_utf8(&text, bytes, size);
	return json_stringn(text.data ? text.data : "", text.size);
}

/* The size in JSON, where a control character takes six bytes. */
static uint64_t escaped_size(const struct buf *text)
{
	uint64_t size = text->size;

	for (size_t i = 0; i < text->size; i++)
		size += (unsigned char)text->data[i] < 0x20 ? 5 : text->data[i] == '"' || text->data[i] == '\\';
	return size;
}

/* The requested part of the stream, limited to the size of a result. */
static json_t *json_stream(const struct output *output, uint64_t shown, bool *cut)
{
	_cleanup_buf_ struct buf text = { 0 };
	bool left_out = output_show(output, shown, &text);

	if (escaped_size(&text) > STREAM_MAX) {
		buf_free(&text);
		left_out = output_show(output, shown < STREAM_MAX / 6 ? shown : STREAM_MAX / 6, &text);
	}
	*cut |= left_out;
	return text.failed ? NULL : json_stringn(text.data ? text.data : "", text.size);
}

static json_t *signal_name(const struct result *result)
{
	const struct verdict *v = &result->verdict;
	int number = 0;
	char name[32];

	/* After an error of ours, the signal that we sent is not part of the result. */
	if (v->ended)
		number = WIFSIGNALED(v->wait_status) ? WTERMSIG(v->wait_status) : 0;
	else if (v->started_usec && v->status != STATUS_ERROR && v->status != STATUS_BLOCKED)
		number = SIGKILL;
	if (number == 0)
		return json_null();
	if (sigabbrev_np(number))
		snprintf(name, sizeof(name), "SIG%s", sigabbrev_np(number));
	else
		snprintf(name, sizeof(name), "SIG%d", number);
	return json_string(name);
}

static json_t *json_timestamp(const struct timeval *time)
{
	struct tm parts;
	char day[32], text[48];

	gmtime_r(&time->tv_sec, &parts);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &parts);
	snprintf(text, sizeof(text), "%s.%03dZ", day, (int)(time->tv_usec / 1000));
	return json_string(text);
}

static double json_seconds(uint64_t from, uint64_t to)
{
	return to > from ? (double)(to - from) / 1e6 : 0;
}

static json_t *files_json(const struct file_list *files)
{
	json_t *list = json_array();

	for (size_t i = 0; i < files->count; i++)
		json_array_append_new(list, json_pack("{s:o, s:I, s:b}", "path",
						      json_utf8(files->entries[i].path, strlen(files->entries[i].path)),
						      "size", (json_int_t)files->entries[i].size, "kept",
						      files->entries[i].kept));
	return list;
}

json_t *result_limits_json(const struct limits *limits)
{
	json_t *object = json_object();

	for (enum limit_id id = 0; id < LIMITS; id++) {
		const struct limit_row *row = &limit_rows[id];
		const double amount = limit_get(limits, id);
		const bool whole = row->kind == LIMIT_BYTES || row->kind == LIMIT_COUNT;

		json_object_set_new(object, row->name,
				    row->flags & LIMIT_OR_NULL && amount <= 0 ? json_null()
				    : whole                                   ? json_integer((json_int_t)amount)
									      : json_real(amount));
	}
	return object;
}

enum {
	RICH_LINES_MAX = 1000, /* maximum of rich results */
	RICH_DEPTH_MAX = 64    /* levels in one: readers of deep JSON have small stacks */
};

/*
 * Rich results: one line each, an object of media types. Other lines are
 * skipped, because the program wrote them. They are checked and inserted
 * unchanged: parsing could change numbers, and a tree would need memory that no
 * limit of the program bounds.
 */
static bool put_rich(const struct result *result, struct buf *out)
{
	const char *at = result->rich, *end = at + result->rich_size;
	size_t count = 0;

	while (at && at < end && count < RICH_LINES_MAX) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		size_t size = (size_t)((line_end ? line_end : end) - at);

		if (json_is_object_text(at, size, RICH_DEPTH_MAX)) {
			buf_text(out, count++ > 0 ? "," : "");
			buf_add(out, at, size);
		}
		at += size + 1;
	}
	return at && at < end;
}

/* Replaces the empty list by the rich results. Quotes in strings are escaped, so the key occurs only once. */
static char *with_rich(const struct buf *rich, char *whole)
{
	static const char empty[] = "\"outputs\":[]";
	const char *place = whole && rich->size > 0 ? strstr(whole, empty) : NULL;
	struct buf out = { 0 };

	if (!place)
		return whole;
	buf_add(&out, whole, (size_t)(place - whole) + sizeof(empty) - 2);
	buf_add(&out, rich->data, rich->size);
	buf_text(&out, place + sizeof(empty) - 2);
	free(whole);
	return buf_take(&out);
}

/* with_told() adds the error that a driver reported; only the suggestion comes from the text. */
static json_t *error_json(const struct result *result)
{
	static const char *const keys[] = { "type", "message", "file", "line", "column", "frames", "frame_count" };
	static const struct explanation nothing;
	json_t *error;

	if (!result->explanation && !result->told)
		return json_null();
	error = explanation_json(result->explanation ? result->explanation : &nothing);
	for (size_t i = 0; result->told && i < ARRAY_SIZE(keys); i++)
		json_object_del(error, keys[i]);
	return error;
}

/* Inserts the error that a driver reported at the beginning of "error". It is the text of an object and is inserted
 * without parsing. Quotes in strings are escaped, so the key occurs only once. */
static char *with_told(const char *told, char *whole)
{
	static const char key[] = "\"error\":{";
	const char *place = whole && told ? strstr(whole, key) : NULL;
	struct buf out = { 0 };

	if (!place)
		return whole;
	buf_add(&out, whole, (size_t)(place - whole) + sizeof(key) - 1);
	buf_add(&out, told + 1, strlen(told) - 2);
	buf_text(&out, ",");
	buf_text(&out, place + sizeof(key) - 1);
	free(whole);
	return buf_take(&out);
}

static json_t *session_json(const struct result_session *session)
{
	json_t *object =
		json_pack("{s:s, s:s, s:o, s:I}", "id", session->id, "state", session->kept ? "kept" : "lost", "reason",
			  session->kept ? json_null() : json_utf8(session->reason, strlen(session->reason)), "cells",
			  (json_int_t)session->cells);

	if (object && session->unread)
		json_object_set_new(object, "unread", json_utf8(session->unread, session->unread_size));
	return object;
}

static json_t *build_json(const struct result *result)
{
	if (!result->built)
		return json_null();
	return json_pack("{s:b, s:f}", "cached", result->build_cached, "time", (double)result->build_usec / 1e6);
}

static json_t *words_json(const char *const *words, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, json_utf8(words[i], strlen(words[i])));
	return list;
}

static json_t *meta_json(const struct result *result, bool truncated)
{
	const struct verdict *v = &result->verdict;
	uint64_t started = v->started_usec ? v->started_usec : result->finish_usec;
	static const char *const phases[] = { "prepare", "compile", "run" };
	json_t *isolation = json_array();
	char version[64];
	bool known = result->runtime && runtime_version_cached(result->runtime, version, sizeof(version));

	for (size_t i = 0; i < result->layer_count; i++)
		json_array_append_new(isolation, json_string(result->layers[i]));
	return json_pack(
		"{s:s, s:o, s:s, s:{s:f, s:f, s:f, s:f}, s:o, s:o, s:o, s:o, s:b, s:b, s:b, s:o, s:s, s:o, s:o}",
		"runtime", result->engine ?: RESULT_NO_ENGINE, "language_version",
		known ? json_string(version) : json_null(), "start", result->warm ? "warm" : "cold", "timings", "queue",
		(double)result->waited_usec / 1e6, "start", json_seconds(result->begin_usec, started), "run",
		json_seconds(started, v->ended_usec), "collect",
		v->ended_usec ? json_seconds(v->ended_usec, result->finish_usec) : 0.0, "resource_limits",
		result_limits_json(&result->limits), "isolation", isolation, "blocked_imports",
		words_json(result->blocked, result->blocked_count), "policy_warnings",
		words_json(result->warnings, result->warning_count), "terminal", result->terminal, "truncated",
		truncated, "files_truncated", result->files.cut, "limit",
		v->limit ? json_string(v->limit) : json_null(), "phase", phases[result->phase], "build",
		build_json(result), "network", result_network_json(result, NET_REPORT_SHOWN));
}

const char *result_json(struct result *result)
{
	const struct verdict *v = &result->verdict;
	_cleanup_buf_ struct buf rich = { 0 };
	bool cut = result->rich_cut;
	json_t *root, *out, *err;

	if (result->json)
		return result->json;
	cut |= put_rich(result, &rich);
	out = json_stream(&result->outputs[0], result->limits.max_output, &cut);
	err = json_stream(&result->outputs[1], result->limits.max_output, &cut);
	root = json_pack(
		"{s:s, s:s, s:b, s:i, s:o, s:o, s:o, s:I, s:I, s:b, s:f, s:f, s:I, s:b, s:o, s:s?, s:o, s:o, "
		"s:o, s:[], s:o, s:o}",
		"id", result->id, "status", status_name(v->status), "success", v->status == STATUS_OK, "exit_code",
		result_exit_code(result), "signal", signal_name(result), "stdout", out, "stderr", err, "stdout_bytes",
		(json_int_t)result->outputs[0].bytes, "stderr_bytes", (json_int_t)result->outputs[1].bytes, "truncated",
		cut, "execution_time", v->started_usec ? json_seconds(v->started_usec, v->ended_usec) : 0.0, "cpu_time",
		(double)v->cpu_usec / 1e6, "memory_used", (json_int_t)v->memory_peak, "timeout",
		v->status == STATUS_TIMEOUT, "error_message",
		result->message[0] ? json_utf8(result->message, strlen(result->message)) : json_null(), "language",
		result->runtime ? result->runtime->name : NULL, "timestamp", json_timestamp(&result->time), "error",
		error_json(result), "verdict", result_verdict_json(result), "outputs", "files",
		files_json(&result->files), "meta", meta_json(result, cut));
	if (root && result->session.id[0])
		json_object_set_new(root, "session", session_json(&result->session));
	if (root)
		result->json = with_rich(
			&rich, with_told(result->told, json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(9))));
	json_decref(root);
	return result->json;
}
