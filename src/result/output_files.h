/*
 * The files that a box wrote below /sandbox/output, read from outside.
 *
 * Every path is opened by openat2() below a descriptor of that directory and never through a link, because the program
 * controls the content. Only plain files are listed. The walk, the list and the copies are bounded.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	FILES_LISTED_MAX = 1000,  /* files in a result */
	FILES_WALKED_MAX = 20000, /* directory entries that are read */
	FILES_DEPTH_MAX = 64,     /* levels of directories */
};

struct file_entry {
	const char *path; /* below /sandbox/output; bytes of any encoding */
	uint64_t size;    /* as stat(2) says */
	uint64_t blocks;  /* allocated bytes: few for a sparse file */
	uint64_t changed; /* change time, in nanoseconds since 1970, by the kernel's clock */
	bool kept;        /* a copy was stored, which can be requested later */
};

struct file_list {
	struct arena arena;         /* owns the paths */
	struct file_entry *entries; /* sorted by path */
	size_t count;               /* number of them */
	bool cut;                   /* incomplete: beyond the limits, or unreadable */
};

/* Keeps only the files that changed at or after that time, in nanoseconds since 1970; 0: all. */
void files_since(struct file_list *list, uint64_t nsec);
int files_list(int dir, struct file_list *list, struct error *err);
void files_free(struct file_list *list);

/* Whether files_copy() could use `to`; creates nothing. Called before a program runs. ERROR_USAGE if not. */
int files_check_target(const char *to, struct error *err);

/* Copies every listed file below `to`, a directory that is created if needed. At most `limit` bytes of data; holes are
 * kept. A file that cannot be read is skipped, and the list marked as cut. */
int files_copy(int dir, struct file_list *list, const char *to, uint64_t limit, struct error *err);

/* Copies one listed file below the directory `to`, if it is a plain file of at most *left bytes, including holes. True:
 * the copy exists, *left is reduced, and the entry has the size of the copy. The box may be running and may have
 * changed the file. */
bool files_take(int dir, struct file_entry *entry, int to, uint64_t *left);
