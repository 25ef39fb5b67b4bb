/*
 * The files that a run wrote below /sandbox/output, kept beside the spools.
 *
 *	STATE/executions/ID.files/PATH      only plain files, and their directories
 *
 * They are copied before the result is complete, into a directory that gets its
 * name at the end. The result marks each file that was kept.
 */
#pragma once

#include "result/output_files.h"
#include "result/result.h"

enum {
	KEPT_BYTES_MAX = 16 << 20, /* bytes of one run; files that do not fit are skipped */
	KEPT_PATH_MAX = 960,       /* bytes of a path: the URL has to fit into a request */
	KEPT_ENTRY = 4096,         /* bytes added for each file or directory in the accounting */
};

/* Copies the files of `list` from the directory `output`, and marks the copies as kept. `state` is the state directory.
 * A file that cannot be copied is not kept; the run does not fail. */
void kept_copy(int state, const char *id, int output, struct file_list *list);
/* Whether any file of the list was kept. */
bool kept_any(const struct file_list *list);
/* Whether a path is valid in a request: relative, no part empty, "." or "..", UTF-8 without control characters. */
bool kept_is_path(const char *path);
/* Opens one file; -1 with errno. `executions` is STATE/executions. */
int kept_open(int executions, const char *id, const char *path);
/* "ID.files" */
void kept_name(const char *id, char name[RESULT_ID + 8]);
/* Whether a name in STATE/executions is a directory of kept files. *whole is false if it is incomplete. */
bool kept_is_name(const char *name, char id[RESULT_ID], bool *whole);
/* The accounted bytes of a directory of kept files. */
uint64_t kept_size(int executions, const char *name);
uint64_t kept_remove(int executions, const char *name);
