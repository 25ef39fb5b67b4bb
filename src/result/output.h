/* One stream of a program: handed on as it comes, kept whole up to a bound, shown by its head and tail. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	OUTPUT_SPOOL_MAX = 16 << 20, /* bytes that are kept */
	OUTPUT_NEAR_MAX = 16 << 10,  /* up to so many are kept in memory, which is quicker than a file */
};

struct output {
	uint64_t bytes;  /* written by the program, as far as we read */
	struct buf near; /* all of it, while there is no spool */
	int spool;       /* the first OUTPUT_SPOOL_MAX of them, in a memfd; -1 until there is one */
	bool over;       /* there were more than that */
};

void output_init(struct output *output);
void output_free(struct output *output);

/* Keeps what fits, and returns how many of the bytes that are (fewer: `over` is set); -1 with errno. */
long output_add(struct output *output, const void *data, size_t size);

/* The same with what waits in a pipe, at most `size` bytes, which nobody looks at: how many; 0 at its end, or when no
 * more is kept; -1 with errno, EAGAIN when nothing waits. */
long output_move(struct output *output, int pipe, size_t size);

/* At most `shown` bytes: all of it, or the head and the tail with a marker between that names how many bytes are left
 * out. Valid UTF-8. True when something is left out. */
bool output_show(const struct output *output, uint64_t shown, struct buf *out);

/* The last line that is not blank and no progress meter, at most `size` - 1 bytes, without its newline; empty when
 * there is none. */
void output_last_line(const struct output *output, char *line, size_t size);

/* Like pread(2) on what is kept. */
long output_read(const struct output *output, void *data, size_t size, uint64_t offset);

/* All that is kept, to a file. -1 with errno. */
int output_save(const struct output *output, int to);
