/* Applies a record of the journal to history, artifacts and the audit log. Idempotent. */
#include "store/store_parts.h"

#include "base/json_check.h"
#include "base/own.h"
#include "base/fault.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* A name that no other record has. */
static void record_name(const struct store *store, const struct journal_record *record, char name[64])
{
	char *to = name;

	for (int i = 0; i < 8; i++)
		to += sprintf(to, "%02x", store->reader.generation[i]);
	sprintf(to, "-%llx", (unsigned long long)record->offset);
}

int store_audit(struct store *store, const char *record_id, const char *event, const char *fields, struct error *err)
{
	if (!store->audit)
		return 0;
	if (audit_append(store->audit, record_id, event, fields, err) == 0)
		return 0;
	/* An invalid entry must not block the records after it. */
	if (err->kind == ERROR_USAGE &&
	    audit_append(store->audit, record_id, "unreadable", "{\"why\":\"invalid entry\"}", err) == 0)
		return 0;
	return store->options.audit_best_effort ? 0 : -1;
}

static void audit_member(json_t *object, const char *key, const char *text)
{
	if (*text)
		json_object_set_new(object, key, store_utf8(text, strlen(text)));
}

static int audit_run(struct store *store, const struct field_set *f, const struct journal_record *record,
		     const char *event, struct error *err)
{
	uint64_t when = f->number[FIELD_ENDED] ? f->number[FIELD_ENDED] : f->number[FIELD_TIME];
	json_t *object = json_object();
	_cleanup_free_ char *text = NULL;
	char time[STORE_TIME], name[64];

	if (!store->audit) {
		json_decref(object);
		return 0;
	}
	json_object_set_new(object, "time", json_string(store_time(when, time)));
	audit_member(object, "id", f->text[FIELD_ID]);
	audit_member(object, "caller", f->text[FIELD_CALLER]);
	audit_member(object, "door", f->text[FIELD_DOOR]);
	audit_member(object, "request_id", f->text[FIELD_REQUEST_ID]);
	audit_member(object, "profile", f->text[FIELD_PROFILE]);
	audit_member(object, "place", f->text[FIELD_PLACE]);
	audit_member(object, "language", f->text[FIELD_LANGUAGE]);
	audit_member(object, "code_sha256", f->text[FIELD_CODE_DIGEST]);
	audit_member(object, "status", f->text[FIELD_STATUS]);
	json_object_set_new(object, "exit_code", json_integer((json_int_t)f->number[FIELD_EXIT_CODE]));
	audit_member(object, "limit", f->text[FIELD_LIMIT]);
	audit_member(object, "message", f->text[FIELD_MESSAGE]);
	text = json_dumps(object, JSON_COMPACT);
	json_decref(object);
	record_name(store, record, name);
	return store_audit(store, name, event, text, err);
}

static void bind_number(sqlite3_stmt *stmt, int place, uint64_t number)
{
	sqlite3_bind_int64(stmt, place, (sqlite3_int64)number);
}

static void bind_request(sqlite3_stmt *stmt, const struct field_set *f)
{
	store_bind(stmt, 1, f->text[FIELD_ID]);
	bind_number(stmt, 2, f->number[FIELD_TIME]);
	store_bind(stmt, 3, f->text[FIELD_LANGUAGE]);
	store_bind(stmt, 4, f->text[FIELD_DOOR]);
	store_bind(stmt, 5, f->text[FIELD_CALLER]);
	store_bind(stmt, 6, f->text[FIELD_REQUEST_ID]);
	store_bind(stmt, 7, f->text[FIELD_PROFILE]);
	store_bind(stmt, 8, f->text[FIELD_PLACE]);
	bind_number(stmt, 9, f->number[FIELD_CODE_SIZE]);
	store_bind(stmt, 10, f->text[FIELD_CODE_DIGEST]);
}

static int apply_start(struct store *store, const struct field_set *f, struct error *err)
{
	static const char sql[] =
		"INSERT INTO executions(id, time, language, door, caller, request_id, profile, place, code_size,"
		" code_sha256, status, writer, pid) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 'running', ?11, "
		"?12)"
		" ON CONFLICT(id) DO NOTHING";
	sqlite3_stmt *stmt = store_sql(store, sql, err);

	if (!stmt)
		return -1;
	bind_request(stmt, f);
	bind_number(stmt, 11, f->number[FIELD_WRITER]);
	bind_number(stmt, 12, f->number[FIELD_PID]);
	return store_done(store, stmt, err);
}

static int put_row(struct store *store, const struct field_set *f, const char *artifact, sqlite3_int64 *number,
		   struct error *err)
{
	static const char sql[] =
		"INSERT INTO executions(id, time, language, door, caller, request_id, profile, place, code_size,"
		" code_sha256, status, exit_code, execution_time, cpu_time, memory, queue, start, total, warm, "
		"limit_hit,"
		" error_message, error_type, stdout_bytes, stderr_bytes, spools, artifact, ended, signature, file)"
		" VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, "
		"?21,"
		" ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29) ON CONFLICT(id) DO UPDATE SET time = excluded.time,"
		" language = coalesce(excluded.language, language), door = coalesce(excluded.door, door),"
		" caller = coalesce(excluded.caller, caller), request_id = coalesce(excluded.request_id, request_id),"
		" profile = coalesce(excluded.profile, profile), place = coalesce(excluded.place, place),"
		" code_size = excluded.code_size, code_sha256 = coalesce(excluded.code_sha256, code_sha256),"
		" status = excluded.status, exit_code = excluded.exit_code, execution_time = excluded.execution_time,"
		" cpu_time = excluded.cpu_time, memory = excluded.memory, queue = excluded.queue, start = "
		"excluded.start,"
		" total = excluded.total, warm = excluded.warm, limit_hit = excluded.limit_hit,"
		" error_message = excluded.error_message, error_type = excluded.error_type,"
		" stdout_bytes = excluded.stdout_bytes, stderr_bytes = excluded.stderr_bytes, spools = excluded.spools,"
		" artifact = excluded.artifact, ended = excluded.ended, signature = excluded.signature,"
		" file = coalesce(excluded.file, file)"
		/* A run that has ended keeps its first result. */
		" WHERE status IN ('running', 'interrupted') RETURNING number";
	static const enum field_key numbers[] = { FIELD_EXIT_CODE, FIELD_EXECUTION, FIELD_CPU,   FIELD_MEMORY,
						  FIELD_QUEUE,     FIELD_START,     FIELD_TOTAL, FIELD_WARM };
	sqlite3_stmt *stmt = store_sql(store, sql, err);

	if (!stmt)
		return -1;
	bind_request(stmt, f);
	store_bind(stmt, 11, f->text[FIELD_STATUS]);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		bind_number(stmt, 12 + (int)i, f->number[numbers[i]]);
	store_bind(stmt, 20, f->text[FIELD_LIMIT]);
	store_bind(stmt, 21, f->text[FIELD_MESSAGE]);
	store_bind(stmt, 22, f->text[FIELD_ERROR_TYPE]);
	bind_number(stmt, 23, f->number[FIELD_STDOUT]);
	bind_number(stmt, 24, f->number[FIELD_STDERR]);
	bind_number(stmt, 25, f->number[FIELD_SPOOLS]);
	store_bind(stmt, 26, artifact);
	bind_number(stmt, 27, f->number[FIELD_ENDED]);
	store_bind(stmt, 28, f->text[FIELD_SIGNATURE]);
	store_bind(stmt, 29, f->text[FIELD_FILE]);
	*number = 0;
	switch (sqlite3_step(stmt)) {
	case SQLITE_ROW:
		*number = sqlite3_column_int64(stmt, 0);
		return store_done(store, stmt, err);
	case SQLITE_DONE:
		sqlite3_reset(stmt);
		return 0;
	default:
		store_failed(store, err, "cannot write the history");
		sqlite3_reset(stmt);
		return -1;
	}
}

static int apply_end(struct store *store, const struct field_set *f, const struct journal_record *record,
		     struct error *err)
{
	static const char sql[] = "INSERT OR REPLACE INTO results(number, json) VALUES(?1, ?2)";
	char artifact[STORE_ARTIFACT] = "";
	sqlite3_int64 number = 0;
	sqlite3_stmt *stmt;

	if (f->text[FIELD_STATUS][0] == '\0')
		return 0;
	/* Before the row that names it: a file left by a crash is overwritten when the record is applied again. */
	if (f->number[FIELD_KEEP] && artifact_write(store, f, record, artifact, err) < 0)
		return -1;
	if (fault_hit("store-artifact"))
		raise(SIGKILL);
	if (put_row(store, f, artifact, &number, err) < 0)
		return -1;
	store->taken += record->sizes[1] + f->number[FIELD_STDOUT] + f->number[FIELD_STDERR];
	/* The size of the run's files is not in the record; they may have four times this size. */
	if (f->number[FIELD_SPOOLS] & SPOOL_FILES)
		store->taken += 4 << 20;
	if (number == 0)
		return audit_run(store, f, record, "execution_repeated", err);
	stmt = store_sql(store, sql, err);
	if (!stmt)
		return -1;
	sqlite3_bind_int64(stmt, 1, number);
	sqlite3_bind_text64(stmt, 2, record->parts[1], record->sizes[1], SQLITE_STATIC, SQLITE_UTF8);
	if (store_done(store, stmt, err) < 0)
		return -1;
	return audit_run(store, f, record, "execution", err);
}

static int apply_refused(struct store *store, struct field_set *f, const struct journal_record *record,
			 struct error *err)
{
	static const char update[] = "UPDATE executions SET status = ?2, exit_code = ?3, error_message = ?4, ended = ?5"
				     " WHERE id = ?1 AND status IN ('running', 'interrupted')";
	static const char known[] = "SELECT language, door, caller, request_id, profile, place, code_sha256"
				    " FROM executions WHERE id = ?1";
	static const enum field_key keys[] = { FIELD_LANGUAGE, FIELD_DOOR,  FIELD_CALLER,     FIELD_REQUEST_ID,
					       FIELD_PROFILE,  FIELD_PLACE, FIELD_CODE_DIGEST };
	sqlite3_stmt *stmt = store_sql(store, update, err);
	sqlite3_int64 number;
	int done;

	if (!stmt)
		return -1;
	store_bind(stmt, 1, f->text[FIELD_ID]);
	store_bind(stmt, 2, f->text[FIELD_STATUS]);
	bind_number(stmt, 3, f->number[FIELD_EXIT_CODE]);
	store_bind(stmt, 4, f->text[FIELD_MESSAGE]);
	bind_number(stmt, 5, f->number[FIELD_ENDED]);
	if (store_done(store, stmt, err) < 0)
		return -1;
	if (sqlite3_changes(store->db) == 0) {
		f->number[FIELD_TIME] = f->number[FIELD_ENDED];
		if (put_row(store, f, "", &number, err) < 0)
			return -1;
	}
	/* The row has the caller. */
	stmt = store_sql(store, known, err);
	if (!stmt)
		return -1;
	store_bind(stmt, 1, f->text[FIELD_ID]);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
			f->text[keys[i]] = (const char *)sqlite3_column_text(stmt, (int)i) ?: "";
	done = audit_run(store, f, record, "execution_refused", err);
	sqlite3_reset(stmt);
	return done;
}

static int apply_event(struct store *store, const struct field_set *f, const struct journal_record *record,
		       struct error *err)
{
	_cleanup_buf_ struct buf fields = { 0 };
	const char *text = record->parts[1], *value;
	char time[STORE_TIME], name[64];
	size_t size;

	record_name(store, record, name);
	store_time(f->number[FIELD_TIME], time);
	if (!json_is_object_text(text, record->sizes[1], 16))
		buf_printf(&fields, "{\"time\":\"%s\"}", time);
	else if (json_member(text, record->sizes[1], "time", &value, &size))
		buf_text(&fields, text);
	else
		buf_printf(&fields, "{\"time\":\"%s\",%s", time, strchr(text, '{') + 1);
	return store_audit(store, name, f->text[FIELD_EVENT], fields.data, err);
}

int record_apply(struct store *store, const struct journal_record *record, struct error *err)
{
	struct field_set fields;

	/* A record that cannot be parsed now never can be. */
	if (!field_parse(record->parts[0], record->sizes[0], &fields))
		return 0;
	if (record->kind == RECORD_EVENT)
		return fields.text[FIELD_EVENT][0] ? apply_event(store, &fields, record, err) : 0;
	if (!store_is_id(fields.text[FIELD_ID]))
		return 0;
	switch (record->kind) {
	case RECORD_START:
		return apply_start(store, &fields, err);
	case RECORD_END:
		return apply_end(store, &fields, record, err);
	case RECORD_REFUSED:
		return apply_refused(store, &fields, record, err);
	default:
		return 0;
	}
}
