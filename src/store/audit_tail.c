/* The newest entries, read backwards from the end of the files. */
#include "base/own.h"
#include "store/audit.h"
#include "store/audit_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	BLOCK = 64 << 10, /* bytes of one read */
};

static int read_exactly(int fd, char *data, size_t size, uint64_t offset)
{
	while (size > 0) {
		ssize_t n = pread(fd, data, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		data += n;
		size -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

/* Finds the start of the last *lines lines before `end`; *lines becomes their number. -1: read error. */
static int64_t find_start(int fd, uint64_t end, unsigned *lines)
{
	_cleanup_free_ char *block = malloc(BLOCK);
	uint64_t at = end;
	unsigned found = 0;

	/* A newline ends the line before it, so the last one starts no line. */
	while (block && at > 0) {
		size_t size = at < BLOCK ? (size_t)at : BLOCK;

		at -= size;
		if (read_exactly(fd, block, size, at) < 0)
			return -1;
		for (size_t i = size; i > 0; i--) {
			if (block[i - 1] != '\n' || at + i == end)
				continue;
			if (++found == *lines)
				return (int64_t)(at + i);
		}
	}
	*lines = found + (end > 0);
	return block ? 0 : -1;
}

/* The end of the last complete line before `end`. -1: read error. */
static int64_t find_end(int fd, uint64_t end)
{
	_cleanup_free_ char *block = malloc(BLOCK);

	while (block && end > 0) {
		size_t size = end < BLOCK ? (size_t)end : BLOCK;
		const char *newline;

		if (read_exactly(fd, block, size, end - size) < 0)
			return -1;
		newline = memrchr(block, '\n', size);
		if (newline)
			return (int64_t)(end - size + (size_t)(newline - block) + 1);
		end -= size;
	}
	return block ? 0 : -1;
}

bool audit_entry_before(int fd, uint64_t offset, struct audit_end *end)
{
	unsigned one = 1;
	int64_t start = offset > 0 ? find_start(fd, offset, &one) : -1;
	size_t size = start < 0 ? 0 : (size_t)(offset - (uint64_t)start);
	_cleanup_free_ char *line = size > 0 && size <= AUDIT_LINE_MAX ? malloc(size) : NULL;
	struct audit_line entry;

	if (!line || read_exactly(fd, line, size, (uint64_t)start) < 0 || line[size - 1] != '\n' ||
	    !audit_line_read(line, size - 1, &entry) || !entry.sound)
		return false;
	end->seq = entry.seq;
	memcpy(end->hash, entry.hash, AUDIT_HASH - 1);
	end->hash[AUDIT_HASH - 1] = '\0';
	return true;
}

/* Puts up to `count` lines of a file in front of the content of `out`. Returns their number, or -1. */
static int take_file(const struct audit_file *file, unsigned count, struct buf *out, struct error *err)
{
	_cleanup_buf_ struct buf joined = { 0 };
	_cleanup_free_ char *text = NULL;
	struct stat st;
	int64_t end, start;
	size_t size;

	if (fstat(file->fd, &st) < 0 || (end = find_end(file->fd, (uint64_t)st.st_size)) < 0 ||
	    (start = find_start(file->fd, (uint64_t)end, &count)) < 0)
		return error_errno(err, "cannot read %s", file->name);
	size = (size_t)(end - start);
	text = malloc(size + 1);
	if (!text || read_exactly(file->fd, text, size, (uint64_t)start) < 0)
		return error_errno(err, "cannot read %s", file->name);
	buf_add(&joined, text, size);
	if (out->size > 0)
		buf_add(&joined, out->data, out->size);
	if (joined.failed)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot read %s", file->name);
	buf_free(out);
	*out = joined;
	joined = (struct buf){ 0 };
	return size > 0 ? (int)count : 0;
}

int audit_tail(int dir, unsigned count, struct buf *out, struct error *err)
{
	struct audit_files files;
	int taken = 0;

	if (audit_files_open(dir, &files, err) < 0)
		return -1;
	for (size_t i = files.count; i > 0 && count > 0 && taken >= 0; i--) {
		taken = take_file(&files.list[i - 1], count, out, err);
		count -= taken > 0 ? (unsigned)taken : 0;
	}
	audit_files_close(&files);
	return taken < 0 ? -1 : 0;
}
