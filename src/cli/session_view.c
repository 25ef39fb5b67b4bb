#include "cli/session_view.h"

#include "base/fd.h"
#include "base/own.h"
#include "base/text.h"
#include "result/result.h"
#include "cli/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum {
	FRAMES_SHOWN = 10 /* frames of an error that we print */
};

static void own_json(json_t **value)
{
	json_decref(*value);
}

static const char *object_member(const json_t *session, const char *key)
{
	return json_string_value(json_object_get(session, key)) ?: "";
}

bool session_is_over(const json_t *session)
{
	return strcmp(object_member(session, "status"), "ended") == 0;
}

/* Whether a session has this name, or an id with this beginning, or this end, which is random and differs sooner. */
static bool is_meant(const json_t *session, const char *typed)
{
	const char *id = object_member(session, "id");
	size_t size = strlen(typed), length = strlen(id);

	return strcmp(object_member(session, "name"), typed) == 0 || strncmp(id, typed, size) == 0 ||
	       (size >= SHORT_ID_MIN && size <= length && strcmp(id + length - size, typed) == 0);
}

/* The number of matching sessions; *found is the last of them. */
static size_t sessions_match(const json_t *list, const char *typed, bool ended, const json_t **found)
{
	const json_t *session;
	size_t index, count = 0;

	json_array_foreach(list, index, session)
	{
		if (session_is_over(session) != ended || !is_meant(session, typed))
			continue;
		*found = session;
		count++;
	}
	return count;
}

int session_find(struct session_link *link, const char *typed, struct error *err)
{
	_cleanup_(own_json) json_t *answer = NULL;
	const json_t *list, *found = NULL;
	size_t count;

	if (!*typed)
		return error_usage(err, "the session's id is empty; `emberbox session list` names them");
	if (strlen(typed) == RESULT_ID - 1 && strspn(typed, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") == RESULT_ID - 1) {
		snprintf(link->id, sizeof(link->id), "%s", typed);
		return 0;
	}
	if (session_link_list(link, &answer, err) < 0)
		return -1;
	list = json_object_get(answer, "sessions");
	count = sessions_match(list, typed, false, &found);
	if (count == 0)
		count = sessions_match(list, typed, true, &found);
	if (count > 1)
		return error_usage(err,
				   "several sessions have the name \"%.80s\", or an id that begins or ends with it; "
				   "`emberbox session list` names them",
				   typed);
	if (count == 0)
		return error_usage(err, "there is no session \"%.80s\"; `emberbox session list` names them", typed);
	snprintf(link->id, sizeof(link->id), "%s", object_member(found, "id"));
	return 0;
}

int session_files(const struct session_link *link, const char *directory, json_t **answer, struct error *err)
{
	_cleanup_buf_ struct buf tail = { 0 };

	buf_text(&tail, "files?path=");
	http_path_add(&tail, session_link_path(directory ? directory : "/sandbox/code"), true);
	if (tail.failed)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot make the request");
	return session_link_ask(link, "GET", tail.data, NULL, answer, err);
}

size_t session_files_table(const json_t *answer, struct table *table)
{
	const json_t *entries = json_object_get(answer, "entries"), *entry;
	char bytes[TABLE_WORD];
	size_t index;

	table_begin(table, "NAME|>SIZE");
	json_array_foreach(entries, index, entry)
	{
		const char *name = json_string_value(json_object_get(entry, "name"));
		const char *type = json_string_value(json_object_get(entry, "type"));
		bool directory = type && strcmp(type, "directory") == 0;

		table_addf(table, directory ? PAINT_CYAN : PAINT_NONE, "%s%s", name ? name : "?", directory ? "/" : "");
		table_add(table, PAINT_NONE,
			  directory ? "" : bytes_text(json_number_value(json_object_get(entry, "size")), bytes));
	}
	return json_array_size(entries);
}

enum unit {
	BYTES,
	SECONDS,
	COUNT,
};

static void add_limit(struct table *table, const char *name, const json_t *value, enum unit unit)
{
	char text[TABLE_WORD], number[TEXT_NUMBER_MAX];

	table_add(table, PAINT_NONE, name);
	if (!json_is_number(value))
		table_add(table, PAINT_DIM, json_string_value(value) ?: "-");
	else if (unit == BYTES)
		table_add(table, PAINT_NONE, bytes_text(json_number_value(value), text));
	else if (unit == SECONDS)
		table_add(table, PAINT_NONE, duration_text(json_number_value(value), text));
	else
		table_add(table, PAINT_NONE, text_number_format(json_number_value(value), number));
}

void session_limits_table(const json_t *session, struct table *table)
{
	const json_t *limits = json_object_get(session, "limits");

	table_begin(table, "LIMIT|>VALUE");
	add_limit(table, "memory", json_object_get(limits, "memory"), BYTES);
	add_limit(table, "memory in use", json_object_get(session, "memory_used"), BYTES);
	add_limit(table, "disk", json_object_get(limits, "disk"), BYTES);
	add_limit(table, "processes", json_object_get(limits, "pids"), COUNT);
	add_limit(table, "cores", json_object_get(limits, "cpus"), COUNT);
	add_limit(table, "time of a cell", json_object_get(limits, "timeout"), SECONDS);
	add_limit(table, "CPU time so far", json_object_get(session, "cpu_time"), SECONDS);
	add_limit(table, "may live", json_object_get(session, "ttl"), SECONDS);
	add_limit(table, "may wait for a cell", json_object_get(session, "idle_ttl"), SECONDS);
}

void session_file_path(const char *typed, const char *base, char *out, size_t size)
{
	snprintf(out, size, "%s%s%.4000s", *typed == '/' ? "" : base, *typed == '/' ? "" : "/", typed);
}

int session_write_file(const char *path, const void *data, size_t size, struct error *err)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);

	if (fd < 0 || fd_write(fd, data, size) < 0)
		return error_errno(err, "cannot write \"%s\"", path);
	return 0;
}

void session_error_text(const json_t *result, struct buf *text)
{
	const json_t *error = json_object_get(result, "error"), *frames = json_object_get(error, "frames");
	const char *type = json_string_value(json_object_get(error, "type"));
	const char *message = json_string_value(json_object_get(error, "message"));
	const char *said = json_string_value(json_object_get(result, "stderr"));
	size_t count = json_array_size(frames);

	/* In the error's own form: the language printed it. */
	if (!type || (said && *said && (!message || strstr(said, type) || strstr(said, message))))
		return;
	/* The list starts with the newest; people read the newest last. */
	for (size_t i = count < FRAMES_SHOWN ? count : FRAMES_SHOWN; i-- > 0;) {
		const json_t *frame = json_array_get(frames, i);
		const char *file = json_string_value(json_object_get(frame, "file"));
		const char *function = json_string_value(json_object_get(frame, "function"));

		buf_printf(text, "  File \"%s\", line %lld, in %s\n", file ? file : "?",
			   (long long)json_integer_value(json_object_get(frame, "line")), function ? function : "?");
	}
	buf_printf(text, "%s%s%s\n", type, message && *message ? ": " : "", message ? message : "");
}
