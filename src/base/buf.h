/* A growing byte array, always terminated by a NUL. A failed allocation is remembered: check buf_failed() once, at the
 * end. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct buf {
	char *data;  /* NULL while empty; otherwise terminated by a NUL */
	size_t size; /* bytes in use */
	size_t room; /* bytes allocated */
	bool failed; /* memory ran out; the content is incomplete */
};

void buf_add(struct buf *buf, const void *data, size_t size);
void buf_text(struct buf *buf, const char *text);
void buf_printf(struct buf *buf, const char *format, ...) EB_PRINTF(2, 3);
/* Appends the bytes as UTF-8. Each maximal invalid part becomes one U+FFFD, as in WHATWG decoders. NUL bytes are
 * kept. */
void buf_utf8(struct buf *buf, const void *data, size_t size);
/* Passes the text to the caller and empties the buffer. Returns NULL only if memory ran out. */
char *buf_take(struct buf *buf);
void buf_free(struct buf *buf);

#define _cleanup_buf_ _cleanup_(buf_free)
