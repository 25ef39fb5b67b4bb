/* Suggests files that the program missed and that are beside its own file: only a caller with a FILE knows them. */
#pragma once

#include <stddef.h>

/*
 * `json` is the result of the program in `file`, which was passed alone. If the
 * program failed because of a missing file that is in the same directory,
 * returns the result with a suggestion, to be freed; otherwise NULL.
 */
char *beside_suggest(const char *json, const char *file);
