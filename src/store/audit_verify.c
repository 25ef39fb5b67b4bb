/* Walks the whole audit log and reports the first error. */
#include "base/own.h"
#include "base/state.h"
#include "store/audit.h"
#include "store/audit_file.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An entry that another file names: the walk must reach it. */
struct audit_witness {
	const char *who;      /* name of that file, for the error */
	struct audit_end end; /* the entry; seq 0: none */
};

struct audit_walk {
	struct audit_end last;           /* the previous entry */
	struct audit_witness witness[2]; /* audit.head's and history.db's */
	const struct audit_file *file;   /* the current file */
	uint64_t line;                   /* line in it */
	bool torn;                       /* audit.log ends with an incomplete line */
};

static int walk_wrong(const struct audit_walk *walk, struct error *err, const char *what)
{
	return error_set(err, ERROR_FAILED, 0, "%s, line %" PRIu64 ": %s", walk->file->name, walk->line, what);
}

/* Whether the file has an entry with this number further down. */
static bool comes_later(FILE *in, uint64_t seq)
{
	_cleanup_free_ char *line = NULL;
	size_t room = 0;
	char head[48];
	ssize_t size;

	snprintf(head, sizeof(head), "{\"seq\":%" PRIu64 ",", seq);
	while ((size = getline(&line, &room, in)) > 0)
		if (strncmp(line, head, strlen(head)) == 0)
			return true;
	return false;
}

static int wrong_seq(const struct audit_walk *walk, FILE *in, uint64_t seq, struct error *err)
{
	uint64_t expected = walk->last.seq + 1;
	char what[200];

	if (seq < expected)
		snprintf(what, sizeof(what),
			 "entry %" PRIu64 " stands after entry %" PRIu64 ": it was inserted or moved", seq,
			 walk->last.seq);
	else if (comes_later(in, expected))
		snprintf(what, sizeof(what), "entry %" PRIu64 " stands before entry %" PRIu64 ": the order was changed",
			 seq, expected);
	else if (seq == expected + 1)
		snprintf(what, sizeof(what), "entry %" PRIu64 " is missing before it", expected);
	else
		snprintf(what, sizeof(what), "entries %" PRIu64 " to %" PRIu64 " are missing before it", expected,
			 seq - 1);
	return walk_wrong(walk, err, what);
}

static int check_line(struct audit_walk *walk, FILE *in, const char *text, size_t size, struct error *err)
{
	struct audit_line entry;
	char what[160];

	if (!audit_line_read(text, size, &entry))
		return walk_wrong(walk, err, "this is not an entry of the audit log");
	if (!entry.sound) {
		snprintf(what, sizeof(what), "entry %" PRIu64 " was changed: its hash is not that of its text",
			 entry.seq);
		return walk_wrong(walk, err, what);
	}
	if (entry.seq != walk->last.seq + 1)
		return wrong_seq(walk, in, entry.seq, err);
	if (memcmp(entry.previous, walk->last.hash, AUDIT_HASH - 1) != 0) {
		snprintf(what, sizeof(what),
			 "entry %" PRIu64 " does not follow from the one before it: one of the two was replaced",
			 entry.seq);
		return walk_wrong(walk, err, what);
	}
	walk->last.seq = entry.seq;
	memcpy(walk->last.hash, entry.hash, AUDIT_HASH - 1);
	for (size_t i = 0; i < ARRAY_SIZE(walk->witness); i++) {
		if (walk->witness[i].end.seq != entry.seq || audit_end_same(&walk->witness[i].end, &walk->last))
			continue;
		snprintf(what, sizeof(what), "entry %" PRIu64 " was replaced: %s has another hash", entry.seq,
			 walk->witness[i].who);
		return walk_wrong(walk, err, what);
	}
	return 0;
}

static int walk_file(struct audit_walk *walk, const struct audit_file *file, struct error *err)
{
	_cleanup_close_ int fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 3);
	_cleanup_fclose_ FILE *in = fd < 0 ? NULL : fdopen(fd, "r");
	_cleanup_free_ char *text = NULL;
	size_t room = 0;
	ssize_t size;

	if (!in)
		return error_errno(err, "cannot read %s", file->name);
	take_fd(&fd);
	walk->file = file;
	for (walk->line = 1; (size = getline(&text, &room, in)) > 0; walk->line++) {
		if (text[size - 1] != '\n') {
			walk->torn = true;
			return file->first == 0 ? 0 : walk_wrong(walk, err, "the file ends in the middle of this line");
		}
		if (check_line(walk, in, text, (size_t)size - 1, err) < 0)
			return -1;
		if (walk->line == 1 && file->first > 0 && walk->last.seq != file->first)
			return walk_wrong(walk, err, "the file's name has the number of another entry");
	}
	return ferror(in) ? error_errno(err, "cannot read %s", file->name) : 0;
}

static int check_missing(const struct audit_walk *walk, bool rebooted, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(walk->witness); i++) {
		uint64_t known = walk->witness[i].end.seq;
		char count[64] = "entry is";

		if (known <= walk->last.seq)
			continue;
		if (known - walk->last.seq > 1)
			snprintf(count, sizeof(count), "%" PRIu64 " entries are", known - walk->last.seq);
		return error_set(err, ERROR_FAILED, 0,
				 "the last %s missing: the log ends with entry %" PRIu64 ", but %s has entry %" PRIu64
				 "%s",
				 count, walk->last.seq, walk->witness[i].who, known,
				 rebooted ? " (the machine was restarted, and may have lost its last second)" : "");
	}
	return 0;
}

/* Checks the end of the log against the heads before and after the walk, because a writer may be active. */
static int check_end(const struct audit_walk *walk, const struct audit_mark *before, const struct audit_mark *after,
		     struct error *err)
{
	const struct audit_end *limit = after->next.seq ? &after->next : &after->end;
	bool quiet = before->next.seq == 0 && audit_end_same(&before->end, &after->end) && after->next.seq == 0;
	bool rebooted = audit_rebooted(after);

	if (check_missing(walk, rebooted, err) < 0)
		return -1;
	if (rebooted)
		return 0;
	if (walk->last.seq > limit->seq)
		return error_set(err, ERROR_FAILED, 0,
				 "the log goes on to entry %" PRIu64 ", but " AUDIT_HEAD " ends with entry %" PRIu64
				 ": another program added the entries after it",
				 walk->last.seq, limit->seq);
	if (walk->last.seq == limit->seq && !audit_end_same(&walk->last, limit))
		return error_set(err, ERROR_FAILED, 0,
				 "entry %" PRIu64 " was replaced: " AUDIT_HEAD " has another hash", limit->seq);
	return walk->torn && quiet
		       ? walk_wrong(walk, err, "the log ends in the middle of this line, and not because of a crash")
		       : 0;
}

static bool read_witness(const char *text, struct audit_end *end)
{
	uint64_t seq;
	int used = 0;

	if (!text || sscanf(text, "%" SCNu64 ":%n", &seq, &used) != 1 || strlen(text + used) != AUDIT_HASH - 1)
		return false;
	end->seq = seq;
	memcpy(end->hash, text + used, AUDIT_HASH);
	return true;
}

int audit_verify_at(int dir, const char *witness, uint64_t *entries, char head[AUDIT_HEAD_MAX], struct error *err)
{
	struct audit_walk walk = { .witness = { { .who = AUDIT_HEAD }, { .who = "history.db" } } };
	struct audit_mark before, after;
	struct audit_files files = { 0 };
	int none = audit_mark_read(dir, &before, err), good = -1;

	*entries = 0;
	walk.last.seq = 0;
	memcpy(walk.last.hash, audit_zeros, AUDIT_HASH);
	walk.witness[0].end = before.end;
	if (none < 0 || audit_files_open(dir, &files, err) < 0)
		return -1;
	if (witness && !read_witness(witness, &walk.witness[1].end))
		error_set(err, ERROR_FAILED, 0, "history.db was changed: \"%.40s\" is not the end of an audit log",
			  witness);
	else
		good = 0;
	for (size_t i = 0; i < files.count && good == 0; i++)
		good = walk_file(&walk, &files.list[i], err);
	if (good == 0 && none && walk.last.seq > 0)
		good = error_set(err, ERROR_FAILED, 0, AUDIT_HEAD " is missing, so the end of the log is unknown");
	if (good == 0 && (audit_mark_read(dir, &after, err) < 0 || check_end(&walk, &before, &after, err) < 0))
		good = -1;
	audit_files_close(&files);
	*entries = walk.last.seq;
	if (head)
		snprintf(head, AUDIT_HEAD_MAX, "%" PRIu64 ":%s", walk.last.seq, walk.last.hash);
	return good;
}

/* The end that the store has recorded in its transaction. Without a history there is no such copy. */
static bool history_witness(char text[AUDIT_HEAD_MAX])
{
	char path[PATH_MAX];
	sqlite3 *db = NULL;
	sqlite3_stmt *ask = NULL;
	bool found = false;

	if (state_path("history.db", path, sizeof(path)) < 0 || access(path, F_OK) < 0)
		return false;
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
	    sqlite3_busy_timeout(db, 2000) == SQLITE_OK &&
	    sqlite3_prepare_v2(db, "SELECT value FROM meta WHERE key = 'audit_head'", -1, &ask, NULL) == SQLITE_OK &&
	    sqlite3_step(ask) == SQLITE_ROW && sqlite3_column_text(ask, 0)) {
		snprintf(text, AUDIT_HEAD_MAX, "%s", (const char *)sqlite3_column_text(ask, 0));
		found = *text != '\0';
	}
	sqlite3_finalize(ask);
	sqlite3_close(db);
	return found;
}

int audit_verify(uint64_t *entries, struct error *err)
{
	_cleanup_close_ int dir = state_dir(false);
	char witness[AUDIT_HEAD_MAX];

	*entries = 0;
	/* Without a readable directory, the verification fails. */
	if (dir < 0)
		return state_why_not(err);
	return audit_verify_at(dir, history_witness(witness) ? witness : NULL, entries, NULL, err);
}
