#include "cli/program_source.h"

#include "base/fd.h"
#include "base/own.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

int source_read_fd(struct source *source, int fd, const char *called, char *message, size_t message_size)
{
	size_t room = 64 << 10;

	source->size = 0;
	source->data = malloc(room);
	while (source->data) {
		ssize_t n = read(fd, source->data + source->size, room - source->size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			snprintf(message, message_size, "cannot read %s: %s", called, strerror(errno));
			return -1;
		}
		if (n == 0)
			return 0;
		source->size += (size_t)n;
		if (source->size > SOURCE_MAX) {
			snprintf(message, message_size, "%s is larger than %dm, the most code that a run takes", called,
				 SOURCE_MAX >> 20);
			return -1;
		}
		if (source->size == room) {
			/* One byte more than the limit is enough to detect an excess. */
			size_t larger = room * 2 > SOURCE_MAX ? SOURCE_MAX + 1 : room * 2;
			char *data = realloc(source->data, larger);

			if (!data)
				break;
			source->data = data;
			room = larger;
		}
	}
	snprintf(message, message_size, "no memory to read %s", called);
	return -1;
}

/* An unnamed pipe is the shell's `<(command)`, which has a writer. The writer of a named one may never come. */
static bool is_fifo(int fd, const struct stat *st)
{
	struct statfs fs;

	return S_ISFIFO(st->st_mode) && (fstatfs(fd, &fs) < 0 || fs.f_type != PIPEFS_MAGIC);
}

/* Takes the descriptor, which was opened without blocking. */
static int read_opened(struct source *source, int fd, const char *path, char *message, size_t message_size)
{
	char called[512];
	struct stat st;
	int result = -1;

	snprintf(called, sizeof(called), "\"%s\"", path);
	if (fd < 0 || fstat(fd, &st) < 0 || fcntl(fd, F_SETFL, O_RDONLY) < 0)
		snprintf(message, message_size, "cannot open %s: %s", called, strerror(errno));
	else if (S_ISDIR(st.st_mode))
		snprintf(message, message_size, "%s is a directory; run a project by --project DIR --entry FILE",
			 called);
	else if (is_fifo(fd, &st))
		snprintf(message, message_size,
			 "%s is a fifo, not a file; to wait for its writer give it as input: - < %s", called, path);
	else
		result = source_read_fd(source, fd, called, message, message_size);
	if (fd >= 0) {
		int errnum = errno;

		close(fd);
		errno = errnum;
	}
	if (result == 0)
		source->name = path;
	return result;
}

int source_read_file(struct source *source, const char *path, char *message, size_t message_size)
{
	return read_opened(source, open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), path, message,
			   message_size);
}

int source_read_beneath(struct source *source, const char *directory, const char *below, const char *path,
			char *message, size_t message_size)
{
	_cleanup_close_ int dir = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = dir < 0 ? -1 : fd_open_within(dir, below, O_RDONLY);

	if (fd < 0 && errno == EXDEV) {
		snprintf(message, message_size,
			 "\"%s\" leads out of the project \"%s\"; run its target, or name the project that contains it",
			 path, directory);
		return -1;
	}
	return read_opened(source, fd, path, message, message_size);
}
