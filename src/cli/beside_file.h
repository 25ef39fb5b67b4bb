/* What the program missed, and what lies beside its file here: only who was called with a FILE can know that. */
#pragma once

#include <stddef.h>

/*
 * A result as JSON, of the program in `file`, which was given alone. If it
 * failed for want of something that lies in the same directory: the same result
 * with that as its suggestion, to be freed. Else NULL.
 */
char *beside_suggest(const char *json, const char *file);
