/*
 * Takes records from the journal.
 *
 * A batch is one transaction: the rows, and the position to continue at
 * (generation, offset). Changes outside of SQLite come before the commit and
 * can be repeated: artifacts are overwritten, and the audit log recognizes its
 * records. So after a crash at any point, a batch is either taken or not.
 */
#include "store/store_parts.h"

#include "base/clock.h"
#include "base/own.h"
#include "base/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	BATCH_RECORDS = 512,    /* records of one transaction; fewer than the audit log remembers */
	BATCH_BYTES = 16 << 20, /* bytes of one transaction */
	OTHERS_USEC = 500000,   /* wait for another process that takes records */
};

static int place_load(struct store *store, unsigned char generation[JOURNAL_GENERATION], uint64_t *offset,
		      struct error *err)
{
	static const char sql[] = "SELECT (SELECT value FROM meta WHERE key = 'generation'),"
				  " (SELECT value FROM meta WHERE key = 'offset')";
	sqlite3_stmt *stmt = store_sql(store, sql, err);

	memset(generation, 0, JOURNAL_GENERATION);
	*offset = JOURNAL_HEAD;
	if (!stmt)
		return -1;
	if (sqlite3_step(stmt) != SQLITE_ROW) {
		store_failed(store, err, "cannot read the history");
		sqlite3_reset(stmt);
		return -1;
	}
	if (sqlite3_column_bytes(stmt, 0) == JOURNAL_GENERATION) {
		memcpy(generation, sqlite3_column_blob(stmt, 0), JOURNAL_GENERATION);
		*offset = (uint64_t)sqlite3_column_int64(stmt, 1);
	}
	sqlite3_reset(stmt);
	return 0;
}

static int place_save(struct store *store, struct error *err)
{
	static const char sql[] = "INSERT OR REPLACE INTO meta(key, value)"
				  " VALUES('generation', ?1), ('offset', ?2), ('audit_head', ?3)";
	sqlite3_stmt *stmt = store_sql(store, sql, err);
	char head[AUDIT_HEAD_MAX] = "";

	if (!stmt)
		return -1;
	sqlite3_bind_blob(stmt, 1, store->reader.generation, JOURNAL_GENERATION, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 2, (sqlite3_int64)store->reader.offset);
	if (store->audit)
		audit_head(store->audit, head);
	store_bind(stmt, 3, head);
	return store_done(store, stmt, err);
}

/* Opens the journal at the stored position. Returns as journal_reader_open(). */
static int reader_place(struct store *store, struct error *err)
{
	unsigned char generation[JOURNAL_GENERATION];
	uint64_t offset;
	int there;

	if (store->placed) {
		there = journal_reader_open(&store->reader, store->reader.generation, err);
		return there;
	}
	if (place_load(store, generation, &offset, err) < 0)
		return -1;
	there = journal_reader_open(&store->reader, generation, err);
	if (there <= 0)
		return there;
	store->reader.offset = JOURNAL_HEAD;
	if (memcmp(generation, store->reader.generation, sizeof(generation)) == 0)
		store->reader.offset = offset;
	store->placed = true;
	return 1;
}

static int audit_settle(struct store *store, struct error *err)
{
	if (!store->options.audit || store->audit || audit_open(store->dir, &store->audit, err) == 0)
		return 0;
	return store->options.audit_best_effort ? 0 : -1;
}

static int batch_commit(struct store *store, struct error *err)
{
	if (store->audit && audit_flush(store->audit, err) < 0 && !store->options.audit_best_effort)
		return -1;
	if (fault_hit("store-audit"))
		raise(SIGKILL);
	if (place_save(store, err) < 0 || store_exec(store, "COMMIT", err) < 0)
		return -1;
	if (fault_hit("store-commit"))
		raise(SIGKILL);
	return 0;
}

/* Undoes a batch after an error. The audit log recognizes its records when they come again. */
static int back_out(struct store *store)
{
	sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
	store->placed = false;
	journal_reader_free(&store->reader);
	journal_reader_init(&store->reader, store->dir);
	audit_close(store->audit);
	store->audit = NULL;
	return -1;
}

/* 1: there may be more; 0: all are taken; -1. */
static int take_batch(struct store *store, struct error *err)
{
	struct journal_record record;
	uint64_t bytes = 0;
	int there = 1, records = 0;

	if (journal_left(&store->reader) == 0)
		return 0;
	if (store_exec(store, "BEGIN IMMEDIATE", err) < 0)
		return -1;
	while (records < BATCH_RECORDS && bytes < BATCH_BYTES) {
		there = journal_read(&store->reader, &record, err);
		if (there <= 0)
			break;
		if (record_apply(store, &record, err) < 0)
			return back_out(store);
		records++;
		bytes += record.sizes[0] + record.sizes[1] + record.sizes[2];
	}
	if (there < 0 || (records > 0 && batch_commit(store, err) < 0))
		return back_out(store);
	if (records == 0)
		sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
	return there;
}

/* The taken records are in SQLite's log, which is on the disk only after a checkpoint. */
static int journal_rotate(struct store *store, struct error *err)
{
	int all = 0, safe = 0;

	/* A reader can make the checkpoint incomplete: try again later. */
	if (sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &all, &safe) != SQLITE_OK ||
	    safe < all)
		return 0;
	if (store->audit && audit_flush(store->audit, err) < 0)
		return store->options.audit_best_effort ? 0 : -1;
	return journal_renew(&store->reader, err);
}

static int take_all(struct store *store, struct error *err)
{
	for (;;) {
		int there = reader_place(store, err);

		while (there > 0)
			there = take_batch(store, err);
		if (there < 0)
			return -1;
		if (store->reader.fd < 0 || store->reader.old[0] == '\0')
			break;
		/* Unread bytes remain that cannot be read now, so the file is kept. */
		if (journal_left(&store->reader) > 0)
			return 0;
		journal_reader_done(&store->reader);
	}
	return store->reader.offset > JOURNAL_LONG ? journal_rotate(store, err) : 0;
}

static int interrupt_one(struct store *store, const char *id, struct error *err)
{
	static const char sql[] = "UPDATE executions SET status = 'interrupted', ended = ?2, error_message = ?3"
				  " WHERE id = ?1 AND status = 'running'";
	sqlite3_stmt *stmt = store_sql(store, sql, err);
	char name[64], fields[64];

	if (!stmt)
		return -1;
	store_bind(stmt, 1, id);
	sqlite3_bind_int64(stmt, 2, (sqlite3_int64)store_now());
	store_bind(stmt, 3, STORE_INTERRUPTED);
	snprintf(name, sizeof(name), "interrupted-%.26s", id);
	snprintf(fields, sizeof(fields), "{\"id\":\"%.26s\"}", id);
	if (store_done(store, stmt, err) < 0)
		return -1;
	return store_audit(store, name, "execution_interrupted", fields, err);
}

/* The ids of up to `most` running runs whose writer is dead. Returns their number, or -1. */
static int find_dead(struct store *store, char ids[][RESULT_ID], int max, struct error *err)
{
	static const char sql[] = "SELECT id FROM executions WHERE status = 'running'"
				  " AND state(status, writer) = 'interrupted' LIMIT ?1";
	sqlite3_stmt *stmt = store_sql(store, sql, err);
	int count = 0;

	if (!stmt)
		return -1;
	sqlite3_bind_int(stmt, 1, max);
	while (count < max && sqlite3_step(stmt) == SQLITE_ROW)
		snprintf(ids[count++], RESULT_ID, "%s", (const char *)sqlite3_column_text(stmt, 0));
	sqlite3_reset(stmt);
	return count;
}

/* Marks the running runs of dead processes as interrupted. */
static int interrupt_dead(struct store *store, struct error *err)
{
	enum {
		AT_ONCE = 256
	};
	char ids[AT_ONCE][RESULT_ID];
	int count;

	while ((count = find_dead(store, ids, AT_ONCE, err)) > 0) {
		/* A dead writer writes no more, so if one of these runs ended, its record is among those taken now. */
		if (take_all(store, err) < 0)
			return -1;
		if (!store->placed || journal_left(&store->reader) > 0)
			return 0;
		if (audit_settle(store, err) < 0 || store_exec(store, "BEGIN IMMEDIATE", err) < 0)
			return -1;
		count = find_dead(store, ids, AT_ONCE, err);
		for (int i = 0; i < count; i++)
			if (interrupt_one(store, ids[i], err) < 0)
				return back_out(store);
		if (count < 0 || batch_commit(store, err) < 0)
			return back_out(store);
		store->interrupted += (unsigned)count;
	}
	return count;
}

unsigned store_interrupted(struct store *store)
{
	unsigned count = store->interrupted;

	store->interrupted = 0;
	return count;
}

bool store_behind(struct store *store)
{
	unsigned char generation[JOURNAL_GENERATION], ours[JOURNAL_GENERATION];
	_cleanup_close_ int fd = openat(store->dir, "journal", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct error ignored = { 0 };
	struct stat st;
	uint64_t offset;

	if (fd < 0 || fstat(fd, &st) < 0 || !journal_generation(fd, generation) || st.st_size <= JOURNAL_HEAD)
		return false;
	if (place_load(store, ours, &offset, &ignored) < 0)
		return false;
	return memcmp(generation, ours, sizeof(ours)) != 0 || (uint64_t)st.st_size > offset;
}

/* Another process takes records: wait until it has taken those that are there now. */
static void wait_for_taker(struct store *store)
{
	uint64_t until = clock_usec() + OTHERS_USEC;

	/* `emberbox run` without the service does not wake the taker, which watches this file instead. */
	if (store_behind(store))
		futimens(store->lock, NULL);
	while (store_behind(store) && clock_usec() < until) {
		usleep(10000);
		if (flock(store->lock, LOCK_EX | LOCK_NB) == 0) {
			store->taking = true;
			return;
		}
	}
}

void store_sync(struct store *store)
{
	struct error ignored = { 0 };

	if (store->reader.fd >= 0)
		fdatasync(store->reader.fd);
	if (store->audit)
		audit_flush(store->audit, &ignored);
}

int store_take(struct store *store, struct error *err)
{
	if (!store->taking && flock(store->lock, LOCK_EX | LOCK_NB) == 0)
		store->taking = true;
	if (!store->taking)
		wait_for_taker(store);
	if (!store->taking)
		return 0;
	if (audit_settle(store, err) < 0 || take_all(store, err) < 0)
		return -1;
	return interrupt_dead(store, err);
}
