/* The languages that this host can run. */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>

/* [{name, display, aliases, available, version, path, install}]; NULL if memory ran out. */
json_t *languages_json(void);

/* A table for people. */
void languages_table(struct buf *out);

/* Whether at least one language is installed. */
bool languages_any(void);

/* JSON as our commands print it: indented by two, with a newline at the end. NULL if memory ran out; takes `json`. */
char *languages_dump(json_t *json);
