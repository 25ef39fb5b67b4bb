/* Values as languages write them (JSON, Python's repr, Node's inspect), with colours: by their characters alone, so
 * what is none of them comes out as it went in. Pure. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

/* Takes every character once: without the colours the text is unchanged. */
void literal_paint(const char *text, size_t size, bool colour, struct buf *out);
