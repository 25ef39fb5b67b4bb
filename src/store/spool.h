/* Files with whole outputs that results do not contain, beside the artifacts. */
#pragma once

#include "result/result.h"

/* Writes STATE/executions/ID.out and ID.err if the text in the result is not the program's output, because it was
 * truncated or is not UTF-8. Returns the bits of FIELD_SPOOLS. */
unsigned spool_keep(int dir, const struct result *result);
/* Writes STATE/executions/ID.net if the program had more connections than the result shows. Returns SPOOL_NETWORK, or
 * 0. */
unsigned spool_keep_network(int dir, const struct result *result);
/* "ID.net" */
void spool_network_name(const char *id, char name[RESULT_ID + 8]);
/* "ID.out" for stream 1, "ID.err" for 2. */
void spool_name(const char *id, int stream, char name[RESULT_ID + 8]);
/* Opens STATE/executions, creating it if needed; -1 with errno. */
int spool_dir(int dir);
/* Writes a file atomically. Returns 0, or -1 with errno. */
struct iovec;
int spool_write(int executions, const char *name, const struct iovec *parts, size_t count);
