/* Whole outputs, where the result does not have them: files of their own beside the artifacts. */
#pragma once

#include "result/result.h"

/* STATE/executions/ID.out and ID.err, where the text in the result is not what the program wrote: it was cut, or it is
 * not UTF-8. The bits of FIELD_SPOOLS. */
unsigned spool_keep(int dir, const struct result *result);
/* "ID.out" for stream 1, "ID.err" for 2. */
void spool_name(const char *id, int stream, char name[RESULT_ID + 8]);
/* STATE/executions, made if need be; -1 with errno. */
int spool_dir(int dir);
/* The bytes in a file of that name, which appears whole or not at all. 0, or -1 with errno. */
struct iovec;
int spool_write(int executions, const char *name, const struct iovec *parts, size_t count);
