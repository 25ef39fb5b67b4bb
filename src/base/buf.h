/* A growing run of bytes, always followed by a NUL. Growth that fails is remembered: check buf_failed() once, at the
 * end. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct buf {
	char *data;  /* NULL while empty; terminated otherwise */
	size_t size; /* bytes in use */
	size_t room; /* bytes allocated */
	bool failed; /* memory ran out; the content is cut */
};

void buf_add(struct buf *buf, const void *data, size_t size);
void buf_text(struct buf *buf, const char *text);
void buf_printf(struct buf *buf, const char *format, ...) EB_PRINTF(2, 3);
/* The bytes as UTF-8: what is not valid becomes U+FFFD, one for each maximal bad part, as WHATWG decoders do. NUL
 * stays. */
void buf_utf8(struct buf *buf, const void *data, size_t size);
/* Gives the text away, never NULL unless memory ran out; the buffer is empty again. */
char *buf_take(struct buf *buf);
void buf_free(struct buf *buf);

#define _cleanup_buf_ _cleanup_(buf_free)
