/*
 * Removes old or excess data, the oldest first.
 *
 * Rows are removed before their files: the search for orphaned files finds a
 * file without a row, but a row without its file would be wrong.
 */
#include "store/store_parts.h"

#include "base/own.h"
#include "store/kept.h"
#include "store/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum {
	AT_ONCE = 64,    /* rows of one transaction */
	STRANGER = 3600, /* seconds; a younger spool without a row may belong to a run that is just ending */
};

struct doomed {
	sqlite3_int64 number;          /* number of the row */
	char id[RESULT_ID];            /* its id */
	char artifact[STORE_ARTIFACT]; /* "": none */
	int spools;                    /* FIELD_SPOOLS */
};

/* The oldest runs that began before `time`, without running ones. Returns their number, or -1. */
static int find_oldest(struct store *store, uint64_t time, struct doomed *list, int max, struct error *err)
{
	static const char sql[] = "SELECT number, id, artifact, spools FROM executions WHERE time < ?1"
				  " AND state(status, writer) <> 'running' ORDER BY time LIMIT ?2";
	sqlite3_stmt *stmt = store_sql(store, sql, err);
	int count = 0, step = SQLITE_DONE;

	if (!stmt)
		return -1;
	sqlite3_bind_int64(stmt, 1, (sqlite3_int64)time);
	sqlite3_bind_int(stmt, 2, max);
	while (count < max && (step = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct doomed *d = &list[count++];

		d->number = sqlite3_column_int64(stmt, 0);
		snprintf(d->id, sizeof(d->id), "%s", (const char *)sqlite3_column_text(stmt, 1));
		snprintf(d->artifact, sizeof(d->artifact), "%s", (const char *)sqlite3_column_text(stmt, 2) ?: "");
		d->spools = sqlite3_column_int(stmt, 3);
	}
	if (step != SQLITE_ROW && step != SQLITE_DONE)
		count = store_failed(store, err, "cannot read the history");
	sqlite3_reset(stmt);
	return count;
}

static int delete_row(struct store *store, sqlite3_int64 number, struct error *err)
{
	static const char result[] = "DELETE FROM results WHERE number = ?1";
	static const char row[] = "DELETE FROM executions WHERE number = ?1";
	const char *const both[] = { result, row };

	for (int i = 0; i < 2; i++) {
		sqlite3_stmt *stmt = store_sql(store, both[i], err);

		if (!stmt)
			return -1;
		sqlite3_bind_int64(stmt, 1, number);
		if (store_done(store, stmt, err) < 0)
			return -1;
	}
	return 0;
}

static uint64_t unlink_file(struct store *store, const char *name)
{
	struct stat st;
	uint64_t size = 0;

	if (store_executions(store) >= 0 && fstatat(store->executions, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		size = (uint64_t)st.st_size;
	if (store->executions >= 0)
		unlinkat(store->executions, name, 0);
	return size;
}

static uint64_t unlink_files(struct store *store, const struct doomed *d)
{
	uint64_t size = d->artifact[0] ? unlink_file(store, d->artifact) : 0;
	char name[RESULT_ID + 8];

	for (int stream = 1; stream <= 2; stream++) {
		if (!(d->spools & 1 << (stream - 1)))
			continue;
		spool_name(d->id, stream, name);
		size += unlink_file(store, name);
	}
	if (d->spools & SPOOL_NETWORK) {
		spool_network_name(d->id, name);
		size += unlink_file(store, name);
	}
	if (d->spools & SPOOL_FILES && store_executions(store) >= 0) {
		kept_name(d->id, name);
		size += kept_remove(store->executions, name);
	}
	return size;
}

/* Returns the number of removed runs (-1: an error), and subtracts their files from *size. */
static int remove_oldest(struct store *store, uint64_t before, int max, uint64_t *size, struct error *err)
{
	struct doomed list[AT_ONCE];
	int count = find_oldest(store, before, list, max, err);

	if (count <= 0)
		return count;
	if (store_exec(store, "BEGIN IMMEDIATE", err) < 0)
		return -1;
	for (int i = 0; i < count; i++)
		if (delete_row(store, list[i].number, err) < 0)
			goto failed;
	if (store_exec(store, "COMMIT", err) < 0)
		goto failed;
	for (int i = 0; i < count; i++) {
		uint64_t gone = unlink_files(store, &list[i]);

		*size -= gone < *size ? gone : *size;
	}
	return count;
failed:
	sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
	return -1;
}

static uint64_t database_pragma(struct store *store, const char *sql)
{
	struct error ignored = { 0 };
	sqlite3_stmt *stmt = store_sql(store, sql, &ignored);
	uint64_t value = stmt && sqlite3_step(stmt) == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(stmt, 0) : 0;

	if (stmt)
		sqlite3_reset(stmt);
	return value;
}

/* Without free pages, which are used again or released. */
static uint64_t database_size(struct store *store)
{
	return (database_pragma(store, "PRAGMA page_count") - database_pragma(store, "PRAGMA freelist_count")) *
	       database_pragma(store, "PRAGMA page_size");
}

static bool has_row(struct store *store, const char *sql, const char *name)
{
	struct error ignored = { 0 };
	sqlite3_stmt *stmt = store_sql(store, sql, &ignored);
	bool has = true; /* on an error, assume that the row exists */

	if (!stmt)
		return true;
	sqlite3_bind_text(stmt, 1, name, -1, SQLITE_TRANSIENT);
	switch (sqlite3_step(stmt)) {
	case SQLITE_DONE:
		has = false;
		break;
	default:
		break;
	}
	sqlite3_reset(stmt);
	return has;
}

/* Whether the file belongs to a run. Foreign files count as such. */
static bool file_belongs(struct store *store, const char *name, const struct stat *st)
{
	static const char by_artifact[] = "SELECT 1 FROM executions WHERE artifact = ?1";
	static const char by_id[] = "SELECT 1 FROM executions WHERE id = ?1 AND spools <> 0";
	const char *end = strrchr(name, '.');
	bool young = st->st_mtime > time(NULL) - STRANGER;
	char id[RESULT_ID];

	if (!S_ISREG(st->st_mode) || !end)
		return true;
	if (strcmp(end, ".tmp") == 0)
		return young;
	if (strcmp(end, ".json") == 0)
		return has_row(store, by_artifact, name);
	if ((strcmp(end, ".out") != 0 && strcmp(end, ".err") != 0 && strcmp(end, ".net") != 0) ||
	    end - name != RESULT_ID - 1)
		return true;
	snprintf(id, sizeof(id), "%.*s", RESULT_ID - 1, name);
	return young || !store_is_id(id) || has_row(store, by_id, id);
}

/* file_belongs() for a directory of kept files. */
static bool directory_belongs(struct store *store, const char *id, bool whole, const struct stat *st)
{
	static const char by_id[] = "SELECT 1 FROM executions WHERE id = ?1 AND spools & 16";

	_Static_assert(SPOOL_FILES == 16, "as in the query");
	if (!store_is_id(id) || st->st_mtime > time(NULL) - STRANGER)
		return true;
	return whole && has_row(store, by_id, id);
}

/* The accounted bytes of a directory; 0: it is removed, or not ours. */
static uint64_t sweep_directory(struct store *store, const char *name, const struct stat *st)
{
	char id[RESULT_ID];
	bool whole;

	if (!kept_is_name(name, id, &whole))
		return 0;
	if (directory_belongs(store, id, whole, st))
		return kept_size(store->executions, name);
	kept_remove(store->executions, name);
	return 0;
}

/* Removes orphaned files, and sums up the others. */
static int sweep_files(struct store *store, uint64_t *size, struct error *err)
{
	_cleanup_closedir_ DIR *list = NULL;
	struct dirent *entry;
	int fd = store_executions(store) < 0 ? -1 : openat(store->executions, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	list = fd < 0 ? NULL : fdopendir(fd);
	if (!list) {
		close_fd(&fd);
		return error_errno(err, "cannot list executions in the state directory");
	}
	while ((entry = readdir(list))) {
		struct stat st;

		if (fstatat(store->executions, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISDIR(st.st_mode))
			*size += sweep_directory(store, entry->d_name, &st);
		else if (!S_ISREG(st.st_mode))
			continue;
		else if (file_belongs(store, entry->d_name, &st))
			*size += (uint64_t)st.st_size;
		else
			unlinkat(store->executions, entry->d_name, 0);
	}
	return 0;
}

/* Releases free pages: otherwise the file and SQLite's log keep their size. */
static int database_shrink(struct store *store, struct error *err)
{
	if (store_exec(store, "PRAGMA incremental_vacuum", err) < 0)
		return -1;
	sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	return 0;
}

uint64_t store_taken(const struct store *store)
{
	return store->taken;
}

int store_sweep(struct store *store, struct error *err)
{
	uint64_t day = 24 * 60 * 60 * UINT64_C(1000), now = store_now(), size = 0;
	uint64_t age = (uint64_t)store->options.days * day;
	int gone, all = 0;

	/* A record in the journal may be about to add the row of a file. */
	if (store_take(store, err) < 0)
		return -1;
	if (!store->taking)
		return 0;
	store->taken = 0;
	do {
		gone = store->options.days == 0 || age > now ? 0 : remove_oldest(store, now - age, AT_ONCE, &size, err);
		all += gone;
	} while (gone > 0);
	size = 0;
	if (gone < 0 || sweep_files(store, &size, err) < 0)
		return -1;
	while (store->options.size_max > 0 && size + database_size(store) > store->options.size_max) {
		/* In small steps: one run may be as large as thousands of others. */
		gone = remove_oldest(store, UINT64_MAX >> 1, AT_ONCE / 8, &size, err);
		if (gone < 0)
			return -1;
		if (gone == 0)
			break;
		all += gone;
	}
	return all > 0 ? database_shrink(store, err) : 0;
}
