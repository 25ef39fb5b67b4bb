/* Colours values as languages print them (JSON, Python's repr, Node's inspect), by their characters alone; other text
 * is unchanged. Pure. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

/* Each character is copied once: without the colours the text is unchanged. */
void literal_paint(const char *text, size_t size, bool colour, struct buf *out);
