/*
 * Reports: a run with its details, similar failures, and the differences to the
 * last successful run of the same code or of a file with the same name.
 */
#include "store/run_report.h"

#include "base/own.h"
#include "store/history_query.h"

#include <stdlib.h>
#include <string.h>

enum {
	SIMILAR = 10, /* maximum of past failures in a report */
};

/* The columns of a run that the report needs in addition. */
struct row {
	json_t *signature, *file, *sha256, *language;
};

static void row_free(struct row *row)
{
	json_decref(row->signature);
	json_decref(row->file);
	json_decref(row->sha256);
	json_decref(row->language);
}

static int row_read(struct store *store, const char *id, struct row *row, struct error *err)
{
	sqlite3_stmt *stmt =
		store_sql(store, "SELECT signature, file, code_sha256, language FROM executions WHERE id = ?1", err);

	if (!stmt)
		return 500;
	sqlite3_bind_text(stmt, 1, id, -1, SQLITE_STATIC);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		*row = (struct row){ query_text(stmt, 0), query_text(stmt, 1), query_text(stmt, 2),
				     query_text(stmt, 3) };
	sqlite3_reset(stmt);
	return 200;
}

/* NULL binds SQL NULL, which equals nothing. */
static void text_bind(sqlite3_stmt *stmt, int place, const json_t *text)
{
	if (json_is_string(text))
		sqlite3_bind_text(stmt, place, json_string_value(text), (int)json_string_length(text),
				  SQLITE_TRANSIENT);
}

static json_t *runs_similar(struct store *store, const char *id, const char *caller, const struct row *row)
{
	static const char sql[] = "SELECT id, time, status, error_message, code_sha256 = ?4 FROM executions"
				  " WHERE signature = ?1 AND id < ?2 AND (?3 IS NULL OR caller = ?3)"
				  " ORDER BY id DESC LIMIT ?5";
	sqlite3_stmt *stmt = store_sql(store, sql, NULL);
	json_t *list = json_array();

	if (!stmt)
		return list;
	text_bind(stmt, 1, row->signature);
	sqlite3_bind_text(stmt, 2, id, -1, SQLITE_STATIC);
	if (caller)
		sqlite3_bind_text(stmt, 3, caller, -1, SQLITE_STATIC);
	text_bind(stmt, 4, row->sha256);
	sqlite3_bind_int(stmt, 5, SIMILAR);
	while (sqlite3_step(stmt) == SQLITE_ROW)
		json_array_append_new(list,
				      json_pack("{s:o, s:o, s:o, s:o, s:b}", "id", query_text(stmt, 0), "timestamp",
						query_time(stmt, 1), "status", query_text(stmt, 2), "error_message",
						query_text(stmt, 3), "same_code", sqlite3_column_int(stmt, 4)));
	sqlite3_reset(stmt);
	return list;
}

/* The newest successful run before this one: of the same code, otherwise of a file with the same name. */
static bool last_success(struct store *store, const char *id, const char *caller, const struct row *row, bool by_code,
			 char found[RESULT_ID])
{
	static const char code[] =
		"SELECT id FROM executions WHERE code_sha256 = ?1 AND language = ?2 AND status = 'ok'"
		" AND id < ?3 AND (?4 IS NULL OR caller = ?4) ORDER BY id DESC LIMIT 1";
	static const char file[] = "SELECT id FROM executions WHERE file = ?1 AND language = ?2 AND status = 'ok'"
				   " AND id < ?3 AND (?4 IS NULL OR caller = ?4) ORDER BY id DESC LIMIT 1";
	sqlite3_stmt *stmt = store_sql(store, by_code ? code : file, NULL);
	bool is;

	if (!stmt)
		return false;
	text_bind(stmt, 1, by_code ? row->sha256 : row->file);
	text_bind(stmt, 2, row->language);
	sqlite3_bind_text(stmt, 3, id, -1, SQLITE_STATIC);
	if (caller)
		sqlite3_bind_text(stmt, 4, caller, -1, SQLITE_STATIC);
	is = sqlite3_step(stmt) == SQLITE_ROW;
	if (is)
		snprintf(found, RESULT_ID, "%s", (const char *)sqlite3_column_text(stmt, 0));
	sqlite3_reset(stmt);
	return is;
}

static void runs_compare(json_t *changes, const char *what, json_t *before, json_t *after)
{
	if (json_equal(before, after))
		return;
	json_array_append_new(changes, json_pack("{s:s, s:O, s:O}", "what", what, "before",
						 before ? before : json_null(), "after", after ? after : json_null()));
}

static void compare_members(json_t *changes, const char *of, json_t *before, json_t *after)
{
	const char *key;
	json_t *value;

	json_object_foreach(after, key, value)
	{
		char what[64];

		snprintf(what, sizeof(what), "%s %.40s", of, key);
		runs_compare(changes, what, json_object_get(before, key), value);
	}
}

/* The isolation layers without the box's uid, which differs in each run. */
static json_t *layers_of(json_t *meta)
{
	json_t *list = json_array(), *layer;
	size_t i;

	json_array_foreach(json_object_get(meta, "isolation"), i, layer)
	{
		if (strncmp(json_string_value(layer) ?: "", "user-namespace", strlen("user-namespace")) != 0)
			json_array_append(list, layer);
	}
	return list;
}

static json_t *changes_of(json_t *before, json_t *after)
{
	static const char *const request[] = { "args", "env", "files", "stdin_bytes" };
	json_t *old = json_object_get(before, "meta"), *new = json_object_get(after, "meta");
	json_t *old_request = json_object_get(before, "request"), *new_request = json_object_get(after, "request");
	json_t *changes = json_array(), *old_layers = layers_of(old), *new_layers = layers_of(new);

	runs_compare(changes, "code", json_object_get(before, "code_sha256"), json_object_get(after, "code_sha256"));
	runs_compare(changes, "language version", json_object_get(old, "language_version"),
		     json_object_get(new, "language_version"));
	runs_compare(changes, "start", json_object_get(old, "start"), json_object_get(new, "start"));
	runs_compare(changes, "profile", json_object_get(before, "profile"), json_object_get(after, "profile"));
	compare_members(changes, "limit", json_object_get(old, "resource_limits"),
			json_object_get(new, "resource_limits"));
	runs_compare(changes, "isolation", old_layers, new_layers);
	json_decref(old_layers);
	json_decref(new_layers);
	/* The request is kept with the code, so it may be missing for one of the runs. */
	for (size_t i = 0; i < ARRAY_SIZE(request) && json_is_object(old_request) && json_is_object(new_request); i++)
		runs_compare(changes, request[i], json_object_get(old_request, request[i]),
			     json_object_get(new_request, request[i]));
	return changes;
}

static json_t *report_load(struct store *store, const char *id, const char *caller, int *status, struct error *err)
{
	_cleanup_buf_ struct buf text = { 0 };

	*status = store_show(store, id, caller, &text, err);
	return *status == 200 ? json_loadb(text.data, text.size, JSON_ALLOW_NUL, NULL) : NULL;
}

static json_t *success_json(struct store *store, const char *id, const char *caller, const struct row *row, json_t *run)
{
	bool by_code = true;
	struct error ignored;
	char found[RESULT_ID];
	_cleanup_free_ char *diff = NULL;
	const char *old_code, *new_code;
	json_t *before, *answer;
	int status;

	if (!last_success(store, id, caller, row, true, found)) {
		by_code = false;
		if (!last_success(store, id, caller, row, false, found))
			return json_null();
	}
	before = report_load(store, found, caller, &status, &ignored);
	old_code = json_string_value(json_object_get(before, "code"));
	new_code = json_string_value(json_object_get(run, "code"));
	if (old_code && new_code)
		diff = report_diff(old_code, new_code);
	answer = json_pack(
		"{s:s, s:O, s:s, s:o, s:s?, s:b}", "id", found, "timestamp", json_object_get(before, "timestamp"),
		"same", by_code ? "code" : "file", "changes", changes_of(before, run), "diff", diff, "given_kept",
		json_is_object(json_object_get(before, "request")) && json_is_object(json_object_get(run, "request")));
	json_decref(before);
	return answer ? answer : json_null();
}

int store_report(struct store *store, const char *id, const char *caller, bool markdown, struct buf *out,
		 struct error *err)
{
	_cleanup_(row_free) struct row row = { 0 };
	_cleanup_buf_ struct buf text = { 0 };
	int status;
	json_t *run = report_load(store, id, caller, &status, err), *report;

	if (status == 200)
		status = row_read(store, id, &row, err);
	if (status != 200) {
		json_decref(run);
		return status;
	}
	report = json_pack("{s:s, s:O?, s:O?, s:o, s:o, s:O}", "id", id, "signature", row.signature, "file", row.file,
			   "similar", runs_similar(store, id, caller, &row), "last_success",
			   success_json(store, id, caller, &row, run), "run", run);
	json_decref(run);
	if (!markdown || !report)
		return query_answer(report, out, err);
	report_markdown(report, &text);
	json_decref(report);
	return query_answer(json_pack("{s:s#}", "markdown", text.data ? text.data : "", (int)text.size), out, err);
}
