/*
 * The writer of the audit log.
 *
 * A flush writes the head with the planned end (`next`), then the batch in one
 * write, then the head without `next`. A process that dies in between leaves a
 * head with `next`, and a log that ends between the head's end and `next`.
 * audit_open() takes any other state for tampering. After a crash of the
 * machine (the head has another boot_id) less is certain: the disk may have the
 * log and the head of different moments in the last seconds.
 */
#include "store/audit.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/json_check.h"
#include "base/own.h"
#include "store/audit_file.h"
#include "store/audit_known.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum {
	SYNC_USEC = 1000000, /* minimum interval between two calls of fdatasync() */
};

struct audit {
	int dir;                  /* the state directory */
	int log;                  /* audit.log, opened for appending */
	struct audit_mark mark;   /* the content of audit.head */
	uint64_t file_max;        /* AUDIT_FILE_MAX, or a test's */
	struct buf batch;         /* lines that are not written yet */
	struct audit_end end;     /* end of the chain with the batch */
	struct audit_known known; /* records that must not be logged again */
	bool remembers;           /* `known` has been filled from the log */
	bool dirty;               /* data may not be on the disk yet */
	uint64_t synced_usec;     /* time of the last fdatasync() */
};

/* The next write of the head includes the entry that is known to be on the disk. */
static void sync_log(struct audit *audit)
{
	if (!audit->dirty || fdatasync(audit->log) < 0)
		return;
	audit->dirty = false;
	audit->synced_usec = clock_usec();
	audit->mark.synced = audit->mark.end.seq;
}

/* Checks that audit.log is in its place, with the size that we left. */
static int check_place(const struct audit *audit, struct error *err)
{
	struct stat ours, there;
	char what[120];

	if (fstat(audit->log, &ours) < 0)
		return error_errno(err, "cannot read the attributes of " AUDIT_LOG);
	if (fstatat(audit->dir, AUDIT_LOG, &there, AT_SYMLINK_NOFOLLOW) < 0 || there.st_ino != ours.st_ino ||
	    there.st_dev != ours.st_dev)
		return audit_tampered(err, AUDIT_LOG " was removed or replaced");
	if ((uint64_t)ours.st_size == audit->mark.size)
		return 0;
	snprintf(what, sizeof(what), AUDIT_LOG " has %lld bytes, not %" PRIu64, (long long)ours.st_size,
		 audit->mark.size);
	return audit_tampered(err, "%s", what);
}

/* Renames a full file. finish_rotation() completes this after a crash. */
static int audit_rotate(struct audit *audit, struct error *err)
{
	uint64_t first = audit_first_entry(audit->log);
	char name[40];
	int log;

	audit->dirty = true;
	sync_log(audit);
	snprintf(name, sizeof(name), "audit-%" PRIu64 ".log", first);
	if (first == 0 || renameat2(audit->dir, AUDIT_LOG, audit->dir, name, RENAME_NOREPLACE) < 0)
		return error_errno(err, "cannot rename " AUDIT_LOG " to %s", name);
	log = audit_log_open(audit->dir, O_CREAT | O_EXCL);
	if (log < 0) {
		error_errno(err, "cannot create a new " AUDIT_LOG);
		renameat2(audit->dir, name, audit->dir, AUDIT_LOG, RENAME_NOREPLACE);
		return -1;
	}
	close_fd(&audit->log);
	audit->log = log;
	audit->mark.size = 0;
	return audit_mark_write(audit->dir, &audit->mark, err);
}

/* The batch is not in the log, so its records are forgotten. */
static void drop_batch(struct audit *audit)
{
	buf_free(&audit->batch);
	audit->end = audit->mark.end;
	audit_known_free(&audit->known);
	audit->remembers = false;
}

static int write_batch(struct audit *audit, struct error *err)
{
	struct audit_mark mark = audit->mark;

	mark.next = audit->end;
	if (audit_mark_write(audit->dir, &mark, err) < 0)
		return -1;
	if (fd_write(audit->log, audit->batch.data, audit->batch.size) < 0) {
		error_errno(err, "cannot write " AUDIT_LOG);
		/* If this fails as well, the head has `next`, and the next audit_open() can recover. */
		if (ftruncate(audit->log, (off_t)audit->mark.size) == 0)
			audit_mark_write(audit->dir, &audit->mark, NULL);
		return -1;
	}
	audit->mark.end = audit->end;
	audit->mark.size += audit->batch.size;
	audit->dirty = true;
	buf_free(&audit->batch);
	if (clock_usec() - audit->synced_usec >= SYNC_USEC)
		sync_log(audit);
	return audit_mark_write(audit->dir, &audit->mark, err);
}

int audit_flush(struct audit *audit, struct error *err)
{
	if (audit->batch.size == 0) {
		if (audit->dirty && clock_usec() - audit->synced_usec >= SYNC_USEC)
			sync_log(audit);
		return 0;
	}
	if (check_place(audit, err) == 0 && (audit->mark.size < audit->file_max || audit_rotate(audit, err) == 0) &&
	    write_batch(audit, err) == 0)
		return 0;
	drop_batch(audit);
	return -1;
}

/* Reads the keys of the newest entries. */
static int audit_remember(struct audit *audit, struct error *err)
{
	_cleanup_buf_ struct buf tail = { 0 };
	char *line, *next;

	if (audit_tail(audit->dir, AUDIT_REMEMBERED, &tail, err) < 0)
		return -1;
	for (line = tail.data; line && *line; line = next) {
		char record[256], event[64];
		const char *value;
		size_t size;

		next = strchr(line, '\n');
		if (!next)
			break;
		*next++ = '\0';
		if (!json_member(line, strlen(line), "record", &value, &size) ||
		    !json_string_copy(value, size, record, sizeof(record)) || !*record ||
		    !json_member(line, strlen(line), "event", &value, &size) ||
		    !json_string_copy(value, size, event, sizeof(event)))
			continue;
		if (!audit_known_add(&audit->known, audit_key(record, event)))
			return error_set(err, ERROR_FAILED, ENOMEM, "cannot read the audit log");
	}
	audit->remembers = true;
	return 0;
}

static void add_now(struct buf *line)
{
	struct timeval now;
	struct tm utc;
	char text[32];

	gettimeofday(&now, NULL);
	gmtime_r(&now.tv_sec, &utc);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
	buf_printf(line, "\"%s.%03dZ\"", text, (int)(now.tv_usec / 1000));
}

/* `"name":` (or nothing) and the value. */
static bool add_json(struct buf *line, const char *before, json_t *value)
{
	char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

	if (text)
		buf_printf(line, "%s%s", before, text);
	free(text);
	return text != NULL;
}

static int add_fields(struct buf *line, json_t *fields, struct error *err)
{
	static const char *const ours[] = { "seq", "event", "record", "previous", "hash" };
	const char *name;
	json_t *value;

	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		if (json_object_get(fields, ours[i]))
			return error_usage(err, "audit: a field cannot be called \"%s\"", ours[i]);
	json_object_foreach(fields, name, value)
	{
		json_t *key;
		bool added;

		if (strcmp(name, "time") == 0)
			continue;
		key = json_string(name);
		added = key && add_json(line, ",", key) && add_json(line, ":", value);
		json_decref(key);
		if (!added)
			return error_set(err, ERROR_FAILED, ENOMEM, "audit: cannot create the entry");
	}
	return 0;
}

/* The entry's line without its end, which audit_line_close() adds. */
static int add_entry(struct buf *line, uint64_t seq, const char *record_id, const char *event, json_t *fields,
		     struct error *err)
{
	json_t *time = json_object_get(fields, "time");
	json_t *words[] = { json_string(event), json_string(record_id) };
	bool added;

	buf_printf(line, "{\"seq\":%" PRIu64 ",\"time\":", seq);
	if (json_is_string(time))
		added = add_json(line, "", time);
	else
		add_now(line), added = true;
	added = added && words[0] && words[1] && add_json(line, ",\"event\":", words[0]) &&
		add_json(line, ",\"record\":", words[1]);
	json_decref(words[0]);
	json_decref(words[1]);
	if (!added)
		return error_usage(err, "audit: the event and the record must be UTF-8");
	return add_fields(line, fields, err);
}

static int append(struct audit *audit, const char *record_id, const char *event, json_t *fields, struct error *err)
{
	struct audit_end end = { .seq = audit->end.seq + 1 };
	size_t start = audit->batch.size;
	int added = add_entry(&audit->batch, end.seq, record_id, event, fields, err);

	if (added == 0)
		audit_line_close(&audit->batch, start, audit->end.hash, end.hash);
	if (added == 0 && audit->batch.failed)
		added = error_set(err, ERROR_FAILED, ENOMEM, "audit: cannot create the entry");
	if (added < 0) {
		/* The earlier entries of the batch are complete. */
		audit->batch.size = start;
		if (audit->batch.data)
			audit->batch.data[start] = '\0';
		audit->batch.failed = false;
		return -1;
	}
	audit->end = end;
	return 0;
}

int audit_append(struct audit *audit, const char *record_id, const char *event, const char *fields_json,
		 struct error *err)
{
	uint64_t key = audit_key(record_id ? record_id : "", event);
	json_t *fields = NULL;
	int added;

	if (!audit->remembers && audit_remember(audit, err) < 0)
		return -1;
	if (record_id && *record_id && audit_known_has(&audit->known, key))
		return 0;
	if (fields_json && strlen(fields_json) > AUDIT_FIELDS_MAX)
		return error_usage(err, "audit: the fields of an entry have more than %d bytes", AUDIT_FIELDS_MAX);
	fields = json_loads(fields_json ? fields_json : "{}", JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_object(fields)) {
		json_decref(fields);
		return error_usage(err, "audit: the fields of an entry must be a JSON object");
	}
	added = append(audit, record_id ? record_id : "", event, fields, err);
	json_decref(fields);
	if (added == 0 && record_id && *record_id && !audit_known_add(&audit->known, key))
		return error_set(err, ERROR_FAILED, ENOMEM, "audit: cannot remember the entry");
	return added;
}

/* Logs that a crash was recovered from. */
static int tell_recovered(struct audit *audit, const struct audit_recovered *found, struct error *err)
{
	char fields[96];

	if (found->torn == 0 && found->lost == 0)
		return 0;
	snprintf(fields, sizeof(fields), "{\"bytes\":%" PRIu64 ",\"lost\":%" PRIu64 "}", found->torn, found->lost);
	return audit_append(audit, "", "torn_tail", fields, err) < 0 ? -1 : audit_flush(audit, err);
}

int audit_open(int dir, struct audit **out, struct error *err)
{
	struct audit *audit = calloc(1, sizeof(*audit));
	struct audit_recovered found = { 0 };

	*out = NULL;
	if (!audit)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot open the audit log");
	audit->log = -1;
	audit->file_max = AUDIT_FILE_MAX;
	audit->dir = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	if (audit->dir < 0)
		error_errno(err, "cannot open the audit log");
	if (audit->dir < 0 || audit_recover(audit->dir, &audit->log, &audit->mark, &found, err) < 0)
		goto failed;
	audit->end = audit->mark.end;
	if (tell_recovered(audit, &found, err) < 0)
		goto failed;
	*out = audit;
	return 0;
failed:
	audit_close(audit);
	return -1;
}

void audit_close(struct audit *audit)
{
	struct error moved;

	if (!audit)
		return;
	/* Without its head, a log whose end was cut off could not be detected. */
	if (audit->dirty && check_place(audit, &moved) == 0) {
		sync_log(audit);
		audit_mark_write(audit->dir, &audit->mark, NULL);
	}
	close_fd(&audit->log);
	close_fd(&audit->dir);
	buf_free(&audit->batch);
	audit_known_free(&audit->known);
	free(audit);
}

void audit_head(const struct audit *audit, char out[AUDIT_HEAD_MAX])
{
	snprintf(out, AUDIT_HEAD_MAX, "%" PRIu64 ":%s", audit->mark.end.seq, audit->mark.end.hash);
}

void audit_rotate_at(struct audit *audit, uint64_t bytes)
{
	audit->file_max = bytes;
}
