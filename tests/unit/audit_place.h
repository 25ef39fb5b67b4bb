/* An audit log of the test's own, and means to change it behind its back. */
#pragma once

#include "../check.h"
#include "tree.h"

#include "base/buf.h"
#include "base/own.h"
#include "store/audit.h"
#include "store/store.h"

#include <inttypes.h>
#include <jansson.h>
#include <sha2.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

static char *place;      /* the state directory of the test */
static int dir;          /* the same, open */
static struct error err; /* of the last call */

static void place_new(void)
{
	place = tree_new();
	dir = open(place, O_PATH | O_DIRECTORY | O_CLOEXEC);
	setenv("EMBERBOX_HOME", place, 1);
}

static void place_free(void)
{
	close(dir);
	tree_free(place);
}

static inline struct audit *opened(void)
{
	struct audit *audit = NULL;

	err = (struct error){ 0 };
	if (audit_open(dir, &audit, &err) < 0)
		check_fail("audit_open: %s", err.text);
	return audit;
}

/* Entries `from` to `to` of the log, in one batch. */
static void append(struct audit *audit, int from, int to)
{
	for (int i = from; i <= to && audit; i++) {
		char id[32], fields[64];

		snprintf(id, sizeof(id), "r%d", i);
		snprintf(fields, sizeof(fields), "{\"number\":%d}", i);
		CHECK_INT(audit_append(audit, id, "execution_started", fields, &err), 0);
	}
	if (audit)
		CHECK_INT(audit_flush(audit, &err), 0);
}

/* A log of this many entries in a new place. */
static void log_new(int entries)
{
	struct audit *audit;

	place_new();
	audit = opened();
	append(audit, 1, entries);
	audit_close(audit);
}

static inline const char *verified(void)
{
	static char text[1100];
	uint64_t entries = 0;

	err = (struct error){ 0 };
	if (audit_verify_at(dir, NULL, &entries, NULL, &err) < 0)
		snprintf(text, sizeof(text), "%s", err.text);
	else
		snprintf(text, sizeof(text), "%" PRIu64 " hold", entries);
	return text;
}

static inline const char *open_refused(void)
{
	struct audit *audit = NULL;

	err = (struct error){ 0 };
	if (audit_open(dir, &audit, &err) == 0) {
		audit_close(audit);
		return "(opened)";
	}
	return err.text;
}

/* The log's text; and back, whatever it has. */
static char text[1 << 20]; /* of audit.log */
static size_t text_size;   /* of it */

static void load(const char *name)
{
	int fd = openat(dir, name, O_RDONLY);

	text_size = (size_t)read(fd, text, sizeof(text) - 1);
	text[text_size] = '\0';
	close(fd);
}

static void save(const char *name)
{
	int fd = openat(dir, name, O_WRONLY | O_TRUNC | O_CREAT, 0600);

	if (fd < 0 || write(fd, text, text_size) != (ssize_t)text_size || close(fd) < 0)
		abort();
}

/* Line `number`, from 1; its size with the newline. */
static inline char *line_of(int number, size_t *size)
{
	char *line = text, *end;

	while (--number > 0)
		line = strchr(line, '\n') + 1;
	end = strchr(line, '\n');
	*size = (size_t)(end + 1 - line);
	return line;
}

/* Replaces `size` bytes at `at`. */
static void replace(char *at, size_t size, const char *with, size_t with_size)
{
	memmove(at + with_size, at + size, text_size - (size_t)(at - text) - size + 1);
	memcpy(at, with, with_size);
	text_size += with_size - size;
}

static void remove_line(int number)
{
	size_t size;
	char *line = line_of(number, &size);

	replace(line, size, "", 0);
}

/* A line whose hash is right, as somebody would make it who knows how. */
static inline size_t forge(char *out, uint64_t seq, const char *previous)
{
	char hash[SHA256_DIGEST_STRING_LENGTH];
	size_t size = (size_t)sprintf(out,
				      "{\"seq\":%" PRIu64 ",\"time\":\"2026-01-01T00:00:00Z\",\"event\":\"denied\","
				      "\"record\":\"\",\"previous\":\"%.64s\"}",
				      seq, previous);

	SHA256Data((const uint8_t *)out, size, hash);
	return size - 1 + (size_t)sprintf(out + size - 1, ",\"hash\":\"%s\"}\n", hash);
}
