/* Reads a run's code completely: from a file, standard input, or the command line; with a size limit. */
#pragma once

#include <stddef.h>

enum {
	SOURCE_MAX = 16 << 20
};

struct source {
	const char *name; /* the file's path; NULL: standard input or the command line */
	char *data;       /* the code; owned */
	size_t size;      /* bytes */
};

/* Both return 0, or -1 with a sentence in message. */
int source_read_file(struct source *source, const char *path, char *message, size_t message_size);
/* Reads `below`, relative to a directory that neither it nor a link may lead out of; `path` is its name for errors. */
int source_read_beneath(struct source *source, const char *directory, const char *below, const char *path,
			char *message, size_t message_size);
int source_read_fd(struct source *source, int fd, const char *called, char *message, size_t message_size);
