/* Queries about runs: a list, a single run, its output and its code. */
#include "store/history_query.h"

#include "base/fd.h"
#include "base/json_check.h"
#include "base/own.h"
#include "language/runtime.h"
#include "result/result.h"
#include "store/kept.h"
#include "store/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *const statuses[] = { "ok",     "failed",  "timeout", "out_of_memory", "output_limit",
					"killed", "blocked", "error",   "running",       "interrupted" };

int query_bad(struct store *store, const char *field, struct error *err, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	error_usage(err, "%s", text);
	error_about(err, field);
	return 400;
}

static int not_found(const char *id, struct error *err)
{
	if (store_is_id(id))
		error_refuse(err, CODE_NOT_FOUND, "", "there is no execution \"%s\"", id);
	else
		error_refuse(err, CODE_NOT_FOUND, "", "there is no such execution: an id has 26 letters and digits");
	return 404;
}

/* Whether the text has the form of a runtime's name, which is safe everywhere. */
static bool is_name(const char *text)
{
	size_t size = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+#._-");

	return size > 0 && size <= 64 && text[size] == '\0';
}

/* The runtime's main name, which is the one in the history. */
static const char *language_name(const char *typed)
{
	const struct runtime *runtime = typed ? runtime_find(typed) : NULL;

	return runtime ? runtime->name : typed;
}

/* A language that no longer exists is known by its runs. */
static bool was_run(struct store *store, const char *language)
{
	sqlite3_stmt *stmt = store_sql(store, "SELECT 1 FROM executions WHERE language = ?1 LIMIT 1", NULL);
	bool found;

	if (!stmt)
		return true;
	sqlite3_bind_text(stmt, 1, language, -1, SQLITE_STATIC);
	found = sqlite3_step(stmt) == SQLITE_ROW;
	sqlite3_reset(stmt);
	return found;
}

static int check_language(struct store *store, const char *typed, struct error *err)
{
	const char *nearest;

	if (!is_name(typed))
		return query_bad(store, "language", err, "language has to be the name of a language, such as python");
	if (runtime_find(typed) || was_run(store, typed))
		return 200;
	nearest = runtime_nearest(typed);
	return query_bad(store, "language", err, "language: \"%s\" is not known, and has no runs%s%s%s", typed,
			 nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

int query_check(struct store *store, const struct store_filter *filter, uint64_t *since, struct error *err)
{
	bool known = !filter->status;

	*since = 0;
	for (size_t i = 0; i < ARRAY_SIZE(statuses) && !known; i++)
		known = strcmp(filter->status, statuses[i]) == 0;
	if (!known)
		return query_bad(
			store, "status", err,
			"status has to be one of ok, failed, timeout, out_of_memory, output_limit, killed, blocked, "
			"error, running, interrupted");
	if (filter->language && check_language(store, filter->language, err) != 200)
		return 400;
	if (filter->before && !store_is_id(filter->before))
		return query_bad(store, "before", err,
				 "before has to be the id of an execution: 26 letters and digits");
	if (filter->since && !store_parse_time(filter->since, since))
		return query_bad(store, "since", err, "since has to be a time such as 2026-01-31T12:00:00Z");
	return 200;
}

static void bind_text(sqlite3_stmt *stmt, int place, const char *text)
{
	/* An empty name matches no caller; NULL matches all. */
	if (text)
		sqlite3_bind_text(stmt, place, text, -1, SQLITE_TRANSIENT);
}

sqlite3_stmt *query_rows(struct store *store, const char *columns, const struct store_filter *filter, uint64_t since,
			 unsigned limit, struct error *err)
{
	_cleanup_buf_ struct buf sql = { 0 };
	sqlite3_stmt *stmt = NULL;

	buf_printf(&sql, "SELECT %s FROM executions WHERE time >= ?4", columns);
	if (filter->language)
		buf_text(&sql, " AND language = ?1");
	/* The index has the stored status, which does not yet say that a writer died. */
	if (filter->status && strcmp(filter->status, "interrupted") == 0)
		buf_text(&sql, " AND status IN ('running', 'interrupted') AND state(status, writer) = ?2");
	else if (filter->status)
		buf_text(&sql, " AND status = ?2 AND state(status, writer) = ?2");
	if (filter->caller)
		buf_text(&sql, " AND caller = ?3");
	if (limit > 0 && filter->before)
		buf_text(&sql, " AND id < ?5");
	if (filter->ends)
		buf_text(&sql, " AND substr(id, -length(?7)) = ?7");
	if (limit > 0)
		buf_text(&sql, " ORDER BY id DESC LIMIT ?6");
	if (sql.failed || sqlite3_prepare_v2(store->db, sql.data, -1, &stmt, NULL) != SQLITE_OK) {
		store_failed(store, err, "cannot query the history");
		return NULL;
	}
	bind_text(stmt, 1, language_name(filter->language));
	bind_text(stmt, 2, filter->status);
	bind_text(stmt, 3, filter->caller);
	sqlite3_bind_int64(stmt, 4, (sqlite3_int64)since);
	bind_text(stmt, 5, filter->before);
	sqlite3_bind_int64(stmt, 6, (sqlite3_int64)limit);
	bind_text(stmt, 7, filter->ends);
	return stmt;
}

json_t *query_text(sqlite3_stmt *stmt, int column)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);

	return text ? store_utf8(text, (size_t)sqlite3_column_bytes(stmt, column)) : json_null();
}

json_t *query_number(sqlite3_stmt *stmt, int column)
{
	if (sqlite3_column_type(stmt, column) == SQLITE_NULL)
		return json_null();
	return json_integer((json_int_t)sqlite3_column_int64(stmt, column));
}

json_t *query_seconds(sqlite3_stmt *stmt, int column)
{
	if (sqlite3_column_type(stmt, column) == SQLITE_NULL)
		return json_null();
	return json_real((double)sqlite3_column_int64(stmt, column) / 1e6);
}

json_t *query_time(sqlite3_stmt *stmt, int column)
{
	char text[STORE_TIME];

	if (sqlite3_column_type(stmt, column) == SQLITE_NULL)
		return json_null();
	return json_string(store_time((uint64_t)sqlite3_column_int64(stmt, column), text));
}

static json_t *query_start(sqlite3_stmt *stmt, int column)
{
	if (sqlite3_column_type(stmt, column) == SQLITE_NULL)
		return json_null();
	return json_string(sqlite3_column_int(stmt, column) ? "warm" : "cold");
}

int query_answer(json_t *root, struct buf *out, struct error *err)
{
	char *text = root ? json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;

	json_decref(root);
	if (text)
		buf_text(out, text);
	free(text);
	if (text && !out->failed)
		return 200;
	error_set(err, ERROR_FAILED, ENOMEM, "cannot create the answer");
	return 500;
}

/* The columns of a list. */
#define SUMMARY                                                                                                        \
	"id, time, language, state(status, writer), exit_code, execution_time, memory, caller, door, error_message, "  \
	"warm, profile"

enum {
	COLUMN_ERROR = 9,
	COLUMN_PROFILE = 11,
	/* The additional columns of a single run. */
	COLUMN_CPU,
	COLUMN_STDOUT,
	COLUMN_STDERR,
	COLUMN_REQUEST_ID,
	COLUMN_PLACE,
	COLUMN_SHA256,
	COLUMN_CODE_SIZE,
	COLUMN_SPOOLS,
	COLUMN_ARTIFACT,
	COLUMN_JSON,
	COLUMN_ENDED,
};

static json_t *run_summary(sqlite3_stmt *stmt)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "id", query_text(stmt, 0),
			 "timestamp", query_time(stmt, 1), "language", query_text(stmt, 2), "status",
			 query_text(stmt, 3), "exit_code", query_number(stmt, 4), "execution_time",
			 query_seconds(stmt, 5), "memory_used", query_number(stmt, 6), "caller", query_text(stmt, 7),
			 "door", query_text(stmt, 8), "error_message", query_text(stmt, 9), "start",
			 query_start(stmt, 10), "profile", query_text(stmt, COLUMN_PROFILE));
}

int store_list(struct store *store, const struct store_filter *filter, struct buf *out, struct error *err)
{
	unsigned limit = filter->limit, count = 0;
	json_t *list, *next = NULL;
	sqlite3_stmt *stmt;
	uint64_t since;
	int status = query_check(store, filter, &since, err), step;

	if (status != 200)
		return status;
	if (limit < 1 || limit > 1000)
		return query_bad(store, "limit", err, "limit has to be a whole number from 1 to 1000");
	/* One row more, to know whether the list is complete. */
	stmt = query_rows(store, SUMMARY, filter, since, limit + 1, err);
	if (!stmt)
		return 500;
	list = json_array();
	while ((step = sqlite3_step(stmt)) == SQLITE_ROW) {
		if (count++ == limit)
			break;
		json_array_append_new(list, run_summary(stmt));
	}
	if (step == SQLITE_ROW)
		next = json_incref(json_object_get(json_array_get(list, limit - 1), "id"));
	if (step != SQLITE_ROW && step != SQLITE_DONE) {
		json_decref(list);
		store_failed(store, err, "cannot read the history");
		sqlite3_finalize(stmt);
		return 500;
	}
	sqlite3_finalize(stmt);
	return query_answer(json_pack("{s:o, s:o}", "executions", list, "next", next ? next : json_null()), out, err);
}

/* Finds a run that the caller may see. 200: the statement is on its row, and the caller resets it; 404, 500. */
static int run_find(struct store *store, const char *id, const char *caller, sqlite3_stmt **out, struct error *err)
{
	static const char sql[] = "SELECT " SUMMARY ", cpu_time, stdout_bytes, stderr_bytes, request_id, place,"
				  " code_sha256, code_size, spools, artifact, json, ended"
				  " FROM executions LEFT JOIN results USING(number)"
				  " WHERE id = ?1 AND (?2 IS NULL OR caller = ?2)";
	sqlite3_stmt *stmt;
	int step;

	if (!store_is_id(id))
		return not_found(id, err);
	stmt = store_sql(store, sql, err);
	if (!stmt)
		return 500;
	sqlite3_bind_text(stmt, 1, id, -1, SQLITE_STATIC);
	if (caller)
		sqlite3_bind_text(stmt, 2, caller, -1, SQLITE_STATIC);
	step = sqlite3_step(stmt);
	if (step == SQLITE_ROW) {
		*out = stmt;
		return 200;
	}
	if (step != SQLITE_DONE)
		store_failed(store, err, "cannot read the history");
	sqlite3_reset(stmt);
	return step == SQLITE_DONE ? not_found(id, err) : 500;
}

/* A result from the columns: for a run without a stored result. */
static json_t *run_partial(sqlite3_stmt *stmt)
{
	const char *status = (const char *)sqlite3_column_text(stmt, 3);
	json_t *why = query_text(stmt, COLUMN_ERROR), *exit_code = query_number(stmt, 4);

	if (strcmp(status, "interrupted") == 0 && json_is_null(why)) {
		json_decref(why);
		why = json_string(STORE_INTERRUPTED);
	}
	return json_pack(
		"{s:o, s:s, s:b, s:o, s:n, s:s, s:s, s:i, s:i, s:b, s:f, s:f, s:i, s:b, s:o, s:o, s:o, s:n, s:n,"
		" s:[], s:[], s:{s:s, s:n, s:n, s:{s:f, s:f, s:f, s:f}, s:{}, s:[], s:[], s:b}}",
		"id", query_text(stmt, 0), "status", status, "success", 0, "exit_code", exit_code, "signal", "stdout",
		"", "stderr", "", "stdout_bytes", 0, "stderr_bytes", 0, "truncated", 0, "execution_time", 0.0,
		"cpu_time", 0.0, "memory_used", 0, "timeout", 0, "error_message", why, "language", query_text(stmt, 2),
		"timestamp", query_time(stmt, 1), "error", "verdict", "outputs", "files", "meta", "runtime",
		RESULT_NO_ENGINE, "language_version", "start", "timings", "queue", 0.0, "start", 0.0, "run", 0.0,
		"collect", 0.0, "resource_limits", "isolation", "blocked_imports", "truncated", 0);
}

static int open_artifact(struct store *store, sqlite3_stmt *stmt)
{
	const char *name = (const char *)sqlite3_column_text(stmt, COLUMN_ARTIFACT);

	if (!name || strchr(name, '/') || store_executions(store) < 0)
		return -1;
	return openat(store->executions, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

/* The data that only the history has. */
static json_t *run_extras(struct store *store, sqlite3_stmt *stmt)
{
	_cleanup_close_ int artifact = open_artifact(store, stmt);
	json_t *code, *request;

	artifact_read(artifact, &code, &request);
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "caller", query_text(stmt, 7), "door",
			 query_text(stmt, 8), "request_id", query_text(stmt, COLUMN_REQUEST_ID), "profile",
			 query_text(stmt, COLUMN_PROFILE), "place", query_text(stmt, COLUMN_PLACE), "code",
			 code ? code : json_null(), "code_sha256", query_text(stmt, COLUMN_SHA256), "code_size",
			 query_number(stmt, COLUMN_CODE_SIZE), "request", request ? request : json_null());
}

int store_show(struct store *store, const char *id, const char *caller, struct buf *out, struct error *err)
{
	_cleanup_buf_ struct buf whole = { 0 }, more = { 0 };
	sqlite3_stmt *stmt = NULL;
	const char *json;
	int status = run_find(store, id, caller, &stmt, err);

	if (status != 200)
		return status;
	/* The stored text is used unchanged, so that numbers stay the same. */
	json = (const char *)sqlite3_column_text(stmt, COLUMN_JSON);
	if (json && strlen(json) > 2)
		buf_add(&whole, json, (size_t)sqlite3_column_bytes(stmt, COLUMN_JSON));
	else
		status = query_answer(run_partial(stmt), &whole, err);
	if (status == 200)
		status = query_answer(run_extras(store, stmt), &more, err);
	sqlite3_reset(stmt);
	if (status != 200)
		return status;
	while (whole.size > 0 && whole.data[whole.size - 1] != '}')
		whole.size--;
	buf_add(out, whole.data, whole.size - 1);
	buf_text(out, ",");
	buf_text(out, more.data + 1);
	if (!out->failed && !whole.failed)
		return 200;
	error_set(err, ERROR_FAILED, ENOMEM, "cannot create the answer");
	return 500;
}

/* A file with an output that the result contains as a whole. */
static int output_of_result(sqlite3_stmt *stmt, int stream, struct error *err)
{
	const char *text = (const char *)sqlite3_column_text(stmt, COLUMN_JSON);
	json_t *root = text ? json_loads(text, JSON_ALLOW_NUL, NULL) : NULL;
	json_t *output = json_object_get(root, stream == 1 ? "stdout" : "stderr");
	_cleanup_close_ int fd = memfd_create("output", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || (output && fd_write(fd, json_string_value(output), json_string_length(output)) < 0) ||
	    lseek(fd, 0, SEEK_SET) < 0) {
		error_errno(err, "cannot hold the output");
		close_fd(&fd);
	}
	json_decref(root);
	return take_fd(&fd);
}

int store_spool(struct store *store, const char *id, const char *caller, int stream, int *status, struct error *err)
{
	const char *what = stream == 1 ? "standard output" : "standard error";
	char name[RESULT_ID + 8];
	sqlite3_stmt *stmt = NULL;
	int spools, fd = -1;

	*status = run_find(store, id, caller, &stmt, err);
	if (*status != 200)
		return -1;
	spools = sqlite3_column_int(stmt, COLUMN_SPOOLS);
	if (strcmp((const char *)sqlite3_column_text(stmt, 3), "running") == 0) {
		error_refuse(err, CODE_STILL_RUNNING, "",
			     "it is still running: its output is kept when it ends; use events to follow it");
		*status = 409;
	} else if (spools & 1 << (stream - 1)) {
		spool_name(id, stream, name);
		fd = store_executions(store) < 0
			     ? -1
			     : openat(store->executions, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		if (fd < 0) {
			error_refuse(err, CODE_NOT_FOUND, "", "the %s of execution \"%s\" is no longer kept", what, id);
			*status = 404;
		}
	} else if (spools & 1 << (stream - 1 + SPOOL_LOST)) {
		error_refuse(err, CODE_NOT_FOUND, "",
			     "the whole %s of execution \"%s\" could not be kept: the disk was full", what, id);
		*status = 404;
	} else {
		fd = output_of_result(stmt, stream, err);
		*status = fd < 0 ? 500 : 200;
	}
	sqlite3_reset(stmt);
	return fd;
}

/* The file of a run with many connections. */
static int network_of_file(struct store *store, const char *id, struct buf *out, struct error *err)
{
	_cleanup_close_ int fd = -1;
	char name[RESULT_ID + 8], block[16384];
	ssize_t n;

	spool_network_name(id, name);
	if (store_executions(store) >= 0)
		fd = openat(store->executions, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	while (fd >= 0 && (n = read(fd, block, sizeof(block))) > 0)
		buf_add(out, block, (size_t)n);
	if (fd >= 0 && n == 0 && !out->failed)
		return 200;
	error_refuse(err, CODE_NOT_FOUND, "", "the connections of execution \"%s\" are no longer kept", id);
	return 404;
}

static int network_of_result(sqlite3_stmt *stmt, struct buf *out)
{
	static const char none[] =
		"{\"mode\":\"none\",\"allowed\":0,\"refused\":0,\"queries\":0,\"sent\":0,\"received\":0,"
		"\"complete\":true,\"connections\":[]}";
	const char *text = (const char *)sqlite3_column_text(stmt, COLUMN_JSON), *meta, *network;
	size_t size = text ? strlen(text) : 0, meta_size, network_size;

	if (text && json_member(text, size, "meta", &meta, &meta_size) &&
	    json_member(meta, meta_size, "network", &network, &network_size))
		buf_add(out, network, network_size);
	else
		buf_text(out, none);
	return 200;
}

int store_network(struct store *store, const char *id, const char *caller, struct buf *out, struct error *err)
{
	sqlite3_stmt *stmt = NULL;
	int status = run_find(store, id, caller, &stmt, err);

	if (status != 200)
		return status;
	if (strcmp((const char *)sqlite3_column_text(stmt, 3), "running") == 0) {
		error_refuse(err, CODE_STILL_RUNNING, "",
			     "it is still running: its network is kept when it ends; /decisions follows it");
		status = 409;
	} else if (sqlite3_column_int(stmt, COLUMN_SPOOLS) & SPOOL_NETWORK) {
		status = network_of_file(store, id, out, err);
	} else {
		status = network_of_result(stmt, out);
	}
	sqlite3_reset(stmt);
	return status;
}

int store_file(struct store *store, const char *id, const char *caller, const char *path, int *status,
	       struct error *err)
{
	sqlite3_stmt *stmt = NULL;
	int fd = -1;

	*status = run_find(store, id, caller, &stmt, err);
	if (*status != 200)
		return -1;
	if (strcmp((const char *)sqlite3_column_text(stmt, 3), "running") == 0)
		*status = 409;
	else if (sqlite3_column_int(stmt, COLUMN_SPOOLS) & SPOOL_FILES && store_executions(store) >= 0)
		fd = kept_open(store->executions, id, path);
	sqlite3_reset(stmt);
	if (fd < 0 && *status == 200)
		*status = 404;
	if (*status == 409)
		error_refuse(err, CODE_STILL_RUNNING, "", "it is still running: its files are kept when it ends");
	else if (fd < 0 && kept_is_path(path))
		error_refuse(err, CODE_NOT_FOUND, "", "there is no kept file \"%.200s\" of execution \"%s\"", path, id);
	else if (fd < 0)
		error_refuse(err, CODE_NOT_FOUND, "", "there is no such file: give a path from the result's files");
	return fd;
}

int store_artifact(struct store *store, const char *id, const char *caller, int *status, struct error *err)
{
	sqlite3_stmt *stmt = NULL;
	int fd;

	*status = run_find(store, id, caller, &stmt, err);
	if (*status != 200)
		return -1;
	fd = open_artifact(store, stmt);
	if (fd < 0) {
		const char *state = (const char *)sqlite3_column_text(stmt, 3);
		const char *why =
			strcmp(state, "interrupted") == 0 ? "code is kept when a run ends, and this one was interrupted"
			: strcmp(state, "running") == 0   ? "code is kept when a run ends, and this one has not ended"
							  : "see SANDBOX_STORE_CODE";

		error_refuse(err, CODE_NOT_FOUND, "", "the code of execution \"%s\" was not kept: %s", id, why);
		*status = 404;
	}
	sqlite3_reset(stmt);
	return fd;
}
