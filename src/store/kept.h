/*
 * The files that a run left under /sandbox/output, kept beside the spools.
 *
 *	STATE/executions/ID.files/PATH      only plain files, and directories for them
 *
 * They are copied while the run's result is made, into a directory that gets
 * its name when it is whole. What was kept, the result says of each file.
 */
#pragma once

#include "result/output_files.h"
#include "result/result.h"

enum {
	KEPT_BYTES_MAX = 16 << 20, /* of one run; files that do not fit are left out, others are not */
	KEPT_PATH_MAX = 960,       /* bytes of a path: with the rest of its address it has to fit into a request */
	KEPT_ENTRY = 4096,         /* bytes that a file or a directory counts besides its own, for retention */
};

/* Copies those of `list` from the directory `output`, and marks them as kept. `state` is the state directory. What
 * cannot be copied is not kept, and that is all: it is no failure of the run. */
void kept_copy(int state, const char *id, int output, struct file_list *list);
/* Whether any of them is. */
bool kept_any(const struct file_list *list);
/* Whether it can be asked for: relative, no part empty, "." or "..", UTF-8 without control characters. */
bool kept_is_path(const char *path);
/* One file to read; -1 with errno. `executions` is STATE/executions. */
int kept_open(int executions, const char *id, const char *path);
/* "ID.files" */
void kept_name(const char *id, char name[RESULT_ID + 8]);
/* Whether a directory of executions has the name of one that is kept, or that was being made: then *whole is false. */
bool kept_is_name(const char *name, char id[RESULT_ID], bool *whole);
/* Bytes that a directory of executions takes, or took. */
uint64_t kept_size(int executions, const char *name);
uint64_t kept_remove(int executions, const char *name);
