/* Finds the end of the audit log: as we left it, as a crash left it, or changed by somebody else. */
#include "base/fd.h"
#include "base/own.h"
#include "store/audit.h"
#include "store/audit_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int audit_log_open(int dir, int flags)
{
	return openat(dir, AUDIT_LOG, O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
}

int audit_tampered(struct error *err, const char *format, ...)
{
	char what[512];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	return error_set(
		err, ERROR_FAILED, 0,
		"the audit log was changed by another program: %s; `emberbox audit verify` has details, and a new "
		"log begins when its files (audit*) are moved away",
		what);
}

/* The part of the log after the end in the head. */
struct rest {
	struct audit_end end; /* end of its complete entries that continue the chain */
	uint64_t size;        /* size of audit.log up to there */
	uint64_t torn;        /* bytes after that */
	bool foreign;         /* they start with a complete line that does not continue the chain */
};

static int read_rest(int log, uint64_t size, const struct audit_mark *mark, struct rest *rest, struct error *err)
{
	size_t room = (size_t)(size - mark->size);
	_cleanup_free_ char *text = malloc(room + 1);
	const char *line, *newline = NULL;

	*rest = (struct rest){ .end = mark->end, .size = mark->size };
	if (!text || pread(log, text, room, (off_t)mark->size) != (ssize_t)room)
		return error_errno(err, "cannot read " AUDIT_LOG);
	for (line = text; (newline = memchr(line, '\n', (size_t)(size - rest->size))); line = newline + 1) {
		struct audit_line entry;

		if (!audit_line_read(line, (size_t)(newline - line), &entry) || !entry.sound ||
		    entry.seq != rest->end.seq + 1 || memcmp(entry.previous, rest->end.hash, AUDIT_HASH - 1) != 0)
			break;
		rest->end.seq = entry.seq;
		memcpy(rest->end.hash, entry.hash, AUDIT_HASH - 1);
		rest->size += (uint64_t)(newline - line) + 1;
	}
	rest->torn = size - rest->size;
	rest->foreign = newline != NULL;
	return 0;
}

/* Moves an incomplete line to another file. */
static int put_aside(int dir, int log, const struct rest *rest, struct error *err)
{
	_cleanup_close_ int torn =
		openat(dir, AUDIT_TORN, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (torn < 0 || lseek(log, (off_t)rest->size, SEEK_SET) < 0 || fd_copy(log, torn, rest->torn) < 0 ||
	    fd_write(torn, "\n", 1) < 0)
		return error_errno(err, "cannot write " AUDIT_TORN);
	return ftruncate(log, (off_t)rest->size) < 0 ? error_errno(err, "cannot cut " AUDIT_LOG) : 0;
}

/* Only a part of the batch that we were writing may be there. */
static int check_rest(const struct audit_mark *mark, const struct rest *rest, struct error *err)
{
	bool all = rest->end.seq == mark->next.seq;

	if (!rest->foreign && rest->end.seq <= mark->next.seq && !(all && rest->torn > 0) &&
	    !(all && !audit_end_same(&rest->end, &mark->next)))
		return 0;
	return audit_tampered(err, "it continues after entry %" PRIu64 ", the last one that emberbox wrote",
			      mark->next.seq ? mark->next.seq : mark->end.seq);
}

static int report_missing(const struct audit_mark *mark, uint64_t last, struct error *err)
{
	uint64_t count = mark->end.seq - last;

	if (mark->end.seq <= last)
		return audit_tampered(err, AUDIT_LOG " is shorter than it was");
	if (count == 1)
		return audit_tampered(err, "the last entry is missing");
	return audit_tampered(err, "the last %" PRIu64 " entries are missing", count);
}

/* The log is shorter than the head says: only a crash of the machine may lose entries that were not on the disk yet. */
static int take_shorter(int dir, int log, uint64_t size, bool rebooted, struct audit_mark *mark,
			struct audit_recovered *found, struct error *err)
{
	struct rest rest = { .size = size };
	struct audit_end last = { 0 };
	char byte = '\n';

	while (rest.size > 0 && pread(log, &byte, 1, (off_t)rest.size - 1) == 1 && byte != '\n')
		rest.size--;
	rest.torn = size - rest.size;
	if (!audit_entry_before(log, rest.size, &last) || !rebooted || last.seq < mark->synced)
		return report_missing(mark, last.seq, err);
	if (rest.torn > 0 && put_aside(dir, log, &rest, err) < 0)
		return -1;
	found->torn = rest.torn;
	found->lost = mark->end.seq > last.seq ? mark->end.seq - last.seq : 0;
	mark->end = last;
	mark->size = rest.size;
	return 0;
}

static int take_rest(int dir, int log, uint64_t size, bool rebooted, struct audit_mark *mark,
		     struct audit_recovered *found, struct error *err)
{
	struct audit_end last = mark->end;
	struct rest rest;

	if (mark->size > 0 && (!audit_entry_before(log, mark->size, &last) || !audit_end_same(&last, &mark->end)))
		return audit_tampered(err, "entry %" PRIu64 " is not the one that emberbox wrote", mark->end.seq);
	if (size == mark->size)
		return 0;
	if (read_rest(log, size, mark, &rest, err) < 0 || (!rebooted && check_rest(mark, &rest, err) < 0) ||
	    (rest.torn > 0 && put_aside(dir, log, &rest, err) < 0))
		return -1;
	found->torn = rest.torn;
	mark->end = rest.end;
	mark->size = rest.size;
	return 0;
}

/* A process that rotated the log died before the new one or its head was written. */
static bool was_rotated(int dir, const struct audit_mark *mark)
{
	struct audit_files files;
	struct audit_end last = { 0 };
	bool was = false;

	if (audit_files_open(dir, &files, NULL) < 0)
		return false;
	for (size_t i = files.count; i > 0 && !was; i--) {
		struct stat st;

		was = files.list[i - 1].first > 0 && fstat(files.list[i - 1].fd, &st) == 0 &&
		      (uint64_t)st.st_size == mark->size &&
		      audit_entry_before(files.list[i - 1].fd, mark->size, &last) && audit_end_same(&last, &mark->end);
	}
	audit_files_close(&files);
	return was;
}

/* Without a head there must be no other file, because the head is created before the log. */
static int log_begin(int dir, int *log, struct audit_mark *mark, struct error *err)
{
	struct audit_files files;
	struct stat st;
	bool found = false;

	if (audit_files_open(dir, &files, err) < 0)
		return -1;
	for (size_t i = 0; i < files.count; i++)
		found |= files.list[i].first > 0 || fstat(files.list[i].fd, &st) < 0 || st.st_size > 0;
	audit_files_close(&files);
	if (found)
		return audit_tampered(err, AUDIT_HEAD " is missing");
	audit_boot(mark->boot);
	if (audit_mark_write(dir, mark, err) < 0)
		return -1;
	*log = audit_log_open(dir, O_CREAT);
	return *log < 0 ? error_errno(err, "cannot make " AUDIT_LOG) : 0;
}

static int find_log(int dir, int *log, uint64_t *size, struct audit_mark *mark, struct error *err)
{
	struct stat st = { 0 };

	*log = audit_log_open(dir, 0);
	if (*log < 0 && errno != ENOENT)
		return error_errno(err, "cannot open " AUDIT_LOG);
	if (*log >= 0 && fstat(*log, &st) < 0)
		return error_errno(err, "cannot read the attributes of " AUDIT_LOG);
	if (*log >= 0 && !S_ISREG(st.st_mode))
		return audit_tampered(err, AUDIT_LOG " is not a file");
	if (st.st_size == 0 && mark->size > 0) {
		if (!was_rotated(dir, mark))
			return *log < 0 ? audit_tampered(err, AUDIT_LOG " is missing") : report_missing(mark, 0, err);
		mark->size = 0;
	}
	if (*log < 0)
		*log = audit_log_open(dir, O_CREAT);
	*size = (uint64_t)st.st_size;
	return *log < 0 ? error_errno(err, "cannot make " AUDIT_LOG) : 0;
}

int audit_recover(int dir, int *log, struct audit_mark *mark, struct audit_recovered *found, struct error *err)
{
	int none = audit_mark_read(dir, mark, err);
	uint64_t size = 0;
	bool rebooted;

	if (none != 0)
		return none < 0 ? -1 : log_begin(dir, log, mark, err);
	rebooted = audit_rebooted(mark);
	if (find_log(dir, log, &size, mark, err) < 0)
		return -1;
	if ((size < mark->size ? take_shorter(dir, *log, size, rebooted, mark, found, err)
			       : take_rest(dir, *log, size, rebooted, mark, found, err)) < 0)
		return -1;
	mark->next = (struct audit_end){ 0 };
	audit_boot(mark->boot);
	/* After a restart of the machine, everything that can be read is on the disk. */
	if (rebooted)
		mark->synced = mark->end.seq;
	return audit_mark_write(dir, mark, err);
}
