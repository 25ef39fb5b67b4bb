/* Colours the tracebacks that languages print on standard error, line by line. Other lines are unchanged. Pure. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct trace {
	bool inside;   /* inside a traceback */
	bool mid_line; /* a part of this line has been printed */
};

/* Each character is copied once: without the colours the text is unchanged. */
void trace_paint(struct trace *trace, const char *text, size_t size, bool colour, struct buf *out);
