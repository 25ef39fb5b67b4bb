/* A report about a failed run, as JSON or Markdown. */
#pragma once

#include "base/buf.h"

#include <jansson.h>

/* A diff of two texts with - and + and some lines of context; NULL if they are equal. */
char *report_diff(const char *before, const char *after);
/* The report as Markdown; text from the program or the request is in fences. */
void report_markdown(const json_t *report, struct buf *out);
