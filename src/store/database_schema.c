/* The tables of history.db, and the migration of older versions. */
#include "store/store_parts.h"

#include "base/own.h"

static const char version_1[] = "CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
				"CREATE TABLE executions("
				" number INTEGER PRIMARY KEY,"
				" id TEXT NOT NULL UNIQUE,"
				" time INTEGER NOT NULL," /* milliseconds since 1970 */
				" ended INTEGER,"
				" language TEXT, status TEXT NOT NULL, exit_code INTEGER,"
				" door TEXT, caller TEXT, request_id TEXT, profile TEXT, place TEXT,"
				" code_size INTEGER, code_sha256 TEXT,"
				" execution_time INTEGER, cpu_time INTEGER, memory INTEGER," /* microseconds; bytes */
				" queue INTEGER, start INTEGER, total INTEGER, warm INTEGER,"
				" limit_hit TEXT, error_message TEXT,"
				" stdout_bytes INTEGER, stderr_bytes INTEGER,"
				" spools INTEGER NOT NULL DEFAULT 0, artifact TEXT,"
				" writer INTEGER, pid INTEGER);"
				/* A table of its own, so that lists and sums do not read the results. */
				"CREATE TABLE results(number INTEGER PRIMARY KEY, json TEXT NOT NULL);"
				"CREATE INDEX executions_caller ON executions(caller, id);"
				"CREATE INDEX executions_language ON executions(language, id);"
				"CREATE INDEX executions_status ON executions(status, id);"
				"CREATE INDEX executions_time ON executions(time);";

static const char version_2[] =
	"ALTER TABLE executions ADD COLUMN error_type TEXT;"
	"UPDATE executions SET error_type = (SELECT json_extract(json, '$.error.type') FROM results"
	" WHERE results.number = executions.number) WHERE status = 'failed';"
	"CREATE INDEX executions_artifact ON executions(artifact) WHERE artifact IS NOT NULL;";

static const char version_3[] =
	"ALTER TABLE executions ADD COLUMN signature TEXT;" /* equal for equal failures */
	"ALTER TABLE executions ADD COLUMN file TEXT;"      /* the original name of the code's file */
	"CREATE INDEX executions_signature ON executions(signature, id) WHERE signature IS NOT NULL;"
	"CREATE INDEX executions_file ON executions(file, id) WHERE file IS NOT NULL;"
	"CREATE INDEX executions_code ON executions(code_sha256, id);";

/* One entry per version; never changed after a release. */
static const char *const versions[] = { version_1, version_2, version_3 };

static int version_of(struct store *store, int *version, struct error *err)
{
	sqlite3_stmt *stmt = NULL;
	bool read = sqlite3_prepare_v2(store->db, "PRAGMA user_version", -1, &stmt, NULL) == SQLITE_OK &&
		    sqlite3_step(stmt) == SQLITE_ROW;

	*version = read ? sqlite3_column_int(stmt, 0) : 0;
	sqlite3_finalize(stmt);
	return read ? 0 : store_failed(store, err, "cannot read the history");
}

static int schema_migrate(struct store *store, struct error *err)
{
	char pragma[64];
	int version;

	if (version_of(store, &version, err) < 0)
		return -1;
	for (; version < (int)ARRAY_SIZE(versions); version++) {
		if (store_exec(store, versions[version], err) < 0)
			return error_prefix(err, "cannot migrate history.db from version %d to %d", version,
					    version + 1);
	}
	snprintf(pragma, sizeof(pragma), "PRAGMA user_version = %d", version);
	return store_exec(store, pragma, err);
}

int schema_settle(struct store *store, struct error *err)
{
	const int newest = (int)ARRAY_SIZE(versions);
	int version;

	/* auto_vacuum has to be set before any table exists. */
	if (store_exec(store, "PRAGMA auto_vacuum = INCREMENTAL", err) < 0 ||
	    store_exec(store, "PRAGMA journal_mode = WAL", err) < 0 ||
	    store_exec(store, "PRAGMA synchronous = NORMAL", err) < 0 ||
	    /* Otherwise SQLite would put temporary data into files that the store may not write. */
	    store_exec(store, "PRAGMA temp_store = MEMORY", err) < 0 || version_of(store, &version, err) < 0)
		return -1;
	if (version > newest)
		return error_set(
			err, ERROR_FAILED, 0,
			"history.db in the state directory has version %d, and this emberbox supports up to %d: "
			"use a newer emberbox, or move the file away",
			version, newest);
	if (version == newest)
		return 0;
	/* Of two concurrent migrations, the second finds nothing to do. */
	if (store_exec(store, "BEGIN IMMEDIATE", err) < 0)
		return -1;
	if (schema_migrate(store, err) < 0 || store_exec(store, "COMMIT", err) < 0) {
		sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
		return -1;
	}
	return 0;
}
