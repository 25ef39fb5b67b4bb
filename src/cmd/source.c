#include "cmd/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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
			/* One byte more than the limit is enough to see that it is passed. */
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

int source_read_file(struct source *source, const char *path, char *message, size_t message_size)
{
	char called[512];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct stat st;
	int result;

	snprintf(called, sizeof(called), "\"%s\"", path);
	if (fd < 0) {
		snprintf(message, message_size, "cannot open %s: %s", called, strerror(errno));
		return -1;
	}
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		snprintf(message, message_size, "%s is a directory; run a project by --project DIR --entry FILE",
			 called);
		close(fd);
		return -1;
	}
	result = source_read_fd(source, fd, called, message, message_size);
	close(fd);
	source->name = path;
	return result;
}
