/*
 * What a box left under /sandbox/output, read from outside.
 *
 * Everything goes through a descriptor of that directory, by openat2() below it
 * and never through a link: what lies there was made by the program, and it may
 * be anything. Only plain files count; what is listed, walked and copied is bounded.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	FILES_LISTED_MAX = 1000,  /* files in a result */
	FILES_WALKED_MAX = 20000, /* directory entries looked at */
	FILES_DEPTH_MAX = 64,     /* directories in directories */
};

struct file_entry {
	const char *path; /* below /sandbox/output; the bytes of the name, whatever they are */
	uint64_t size;    /* as stat(2) says */
	uint64_t blocks;  /* bytes that are really there: a sparse giant has few */
	uint64_t changed; /* when, in nanoseconds since 1970, by the kernel's clock */
	bool kept;        /* a copy was made that can be asked for later */
};

struct file_list {
	struct arena arena;         /* owns the paths */
	struct file_entry *entries; /* sorted by path */
	size_t count;               /* how many */
	bool cut;                   /* there was more: beyond the bounds, or closed to us by the program */
};

/* Those that changed at or after that time, in nanoseconds since 1970; 0: all. */
void files_since(struct file_list *list, uint64_t nsec);
int files_list(int dir, struct file_list *list, struct error *err);
void files_free(struct file_list *list);

/* Whether files_copy() could use `to`, asked before a program runs in vain; makes nothing. ERROR_USAGE when not. */
int files_check_target(const char *to, struct error *err);

/* Copies every listed file below `to`, a directory that is made if need be. At most `limit` bytes of data; holes stay
 * holes. A file that cannot be read is left out, and the list marked as cut. */
int files_copy(int dir, struct file_list *list, const char *to, uint64_t limit, struct error *err);

/* A copy of one of them below the directory `to`, if it is a plain file of at most *left bytes, holes counted. True:
 * it was made, *left is less, and the entry has the size of the copy. False: nothing is there. The box may be alive and
 * change what it has meanwhile. */
bool files_take(int dir, struct file_entry *entry, int to, uint64_t *left);
