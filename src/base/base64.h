/* Base64 of RFC 4648: padded, in one line. */
#pragma once

#include "base/buf.h"

#include <sys/types.h>

void base64_add(struct buf *out, const void *data, size_t size);
/* Decodes `text`. Returns the number of bytes written to `out`, never more than `size`, or -1 if `text` is not
 * canonical base64. */
ssize_t base64_decode(const char *text, size_t size, unsigned char *out);
