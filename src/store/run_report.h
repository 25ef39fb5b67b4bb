/* A failed run for somebody who has to mend it: JSON, and the same as Markdown. */
#pragma once

#include "base/buf.h"

#include <jansson.h>

/* Lines that differ between two texts, with - and + before them, and what is around them; NULL when they are equal. */
char *report_diff(const char *before, const char *after);
/* The report, for people; everything that a program or a stranger wrote is fenced. */
void report_markdown(const json_t *report, struct buf *out);
