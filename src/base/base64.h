/* Base64 of RFC 4648: padded, in one line. */
#pragma once

#include "base/buf.h"

#include <sys/types.h>

void base64_add(struct buf *out, const void *data, size_t size);
/* Bytes written to `out`, never more than the text has; or -1: it is something else. One content has one form. */
ssize_t base64_decode(const char *text, size_t size, unsigned char *out);
