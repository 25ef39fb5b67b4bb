#include "cli/repl_history.h"

#include "base/fd.h"
#include "base/own.h"
#include "base/state.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

enum {
	FILE_MAX = 1 << 20,   /* maximum bytes that are read */
	FILE_KEEP = 256 << 10 /* bytes that are kept of a larger file */
};

/* Shortens a large file to its last lines. No other process appends meanwhile. */
static void file_shorten(int fd)
{
	_cleanup_free_ char *data = malloc(FILE_KEEP);
	struct stat st;
	ssize_t n;
	char *line;

	if (!data || fstat(fd, &st) < 0 || st.st_size <= FILE_MAX || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return;
	n = pread(fd, data, FILE_KEEP, st.st_size - FILE_KEEP);
	line = n > 0 ? memchr(data, '\n', (size_t)n) : NULL;
	if (line && ftruncate(fd, 0) == 0)
		(void)fd_write(fd, line + 1, (size_t)(data + n - line - 1));
	flock(fd, LOCK_UN);
}

void line_history_open(struct line_history *history, const char *name)
{
	_cleanup_close_ int dir = state_subdir("repl");

	history->fd =
		dir < 0 ? -1
			: openat(dir, name, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (history->fd >= 0)
		file_shorten(history->fd);
}

void line_history_each(struct line_history *history, size_t most, void (*each)(const char *cell, void *userdata),
		       void *userdata)
{
	_cleanup_free_ char *data = NULL;
	size_t lines = 0, skip;
	ssize_t n;

	if (history->fd <= 0 || !(data = malloc(FILE_MAX + 1)))
		return;
	n = pread(history->fd, data, FILE_MAX, 0);
	if (n <= 0)
		return;
	data[n] = '\0';
	for (char *at = data; (at = strchr(at, '\n')); at++)
		lines++;
	skip = lines > most ? lines - most : 0;
	for (char *line = data, *end; (end = strchr(line, '\n')); line = end + 1) {
		json_t *cell;

		*end = '\0';
		if (skip > 0) {
			skip--;
			continue;
		}
		cell = json_loads(line, JSON_DECODE_ANY, NULL);
		if (json_is_string(cell))
			each(json_string_value(cell), userdata);
		json_decref(cell);
	}
}

void line_history_add(struct line_history *history, const char *cell)
{
	json_t *value = history->fd > 0 ? json_string(cell) : NULL;
	_cleanup_free_ char *text = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL, *line = NULL;

	json_decref(value);
	/* One write, because other processes append too. */
	if (text && asprintf(&line, "%s\n", text) > 0)
		(void)fd_write(history->fd, line, strlen(line));
}

void line_history_close(struct line_history *history)
{
	if (history->fd > 0)
		close_fd(&history->fd);
	history->fd = -1;
}
