/* Tracebacks with colours, as languages print them on standard error: line by line, as they come. What is no part of
 * one stays as it is. Pure. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct trace {
	bool inside;   /* a traceback has begun and not ended */
	bool mid_line; /* a part of this line is printed already */
};

/* Takes every character once: without the colours the text is unchanged. */
void trace_paint(struct trace *trace, const char *text, size_t size, bool colour, struct buf *out);
