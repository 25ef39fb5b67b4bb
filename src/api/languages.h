/* What can run here. */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>

/* [{name, display, aliases, available, version, path, install}]; NULL without memory. */
json_t *languages_json(void);

/* The same as a table for people. */
void languages_table(struct buf *out);

/* Whether at least one language is installed. */
bool languages_any(void);

/* JSON text as our commands print it: indented by two, one newline at the end. NULL without memory; takes over `json`.
 */
char *languages_dump(json_t *json);
