/* One output stream of a program: forwarded as it arrives, stored up to a limit, shown by its head and tail. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	OUTPUT_SPOOL_MAX = 16 << 20, /* bytes that are stored */
	OUTPUT_NEAR_MAX = 16 << 10,  /* up to this size it is stored in memory, which is faster than a file */
};

struct output {
	uint64_t bytes;  /* bytes read from the program */
	struct buf near; /* the whole stream, while there is no spool */
	int spool;       /* a memfd with the first OUTPUT_SPOOL_MAX bytes; -1: none yet */
	bool over;       /* the stream is longer */
};

void output_init(struct output *output);
void output_free(struct output *output);

/* Stores the bytes that fit and returns their number (if fewer, `over` is set); -1 with errno. */
long output_add(struct output *output, const void *data, size_t size);

/* output_add() from a pipe, at most `size` bytes, without reading them into memory. Returns their number; 0 at the end
 * of the pipe or if the limit is reached; -1 with errno, EAGAIN if the pipe is empty. */
long output_move(struct output *output, int pipe, size_t size);

/* At most `shown` bytes: the whole stream, or its head and tail with a marker that has the number of omitted bytes.
 * Valid UTF-8. True if bytes are omitted. */
bool output_show(const struct output *output, uint64_t shown, struct buf *out);

/* The last line that is neither blank nor a progress meter, at most `size` - 1 bytes, without its newline; or empty. */
void output_last_line(const struct output *output, char *line, size_t size);

/* pread(2) on the stored bytes. */
long output_read(const struct output *output, void *data, size_t size, uint64_t offset);

/* Writes the stored bytes to a file. -1 with errno. */
int output_save(const struct output *output, int to);
