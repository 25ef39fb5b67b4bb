/*
 * Prepared trees: the output of a language's prepare step, kept between runs.
 *
 * prepared/NAME-KEY is a directory, created once for a toolchain. One process
 * creates it, the others wait for it. When a new one exists, older ones of the
 * same name are removed unless they are in use.
 *
 * Beside it is NAME-KEY.lock, locked shared by users of the tree and
 * exclusively by a process that creates or removes it. During that, the tree is
 * NAME-KEY.tmp, so a crash leaves only that name, which the next creator
 * removes.
 */
#pragma once

#include "base/error.h"
#include "language/digest.h"

#include <stdint.h>

enum {
	PREPARED_FILES_MAX = 50000, /* files, directories and links of a tree */
	PREPARED_DEPTH_MAX = 64,    /* levels of directories */
	PREPARED_NAME_MAX = 64,     /* bytes of a name */
};
#define PREPARED_SIZE_MAX (UINT64_C(4) << 30) /* bytes of a tree's files */

/* A prepared tree in use, locked until it is closed. */
struct prepared {
	int dir;         /* the tree; -1: it does not exist yet */
	int lock;        /* locked shared */
	char path[4096]; /* its absolute path */
	char own[64];    /* the directory for this run alone, if there is no permanent one; removed with it */
};

/* *out->dir is -1 if the tree does not exist: then the caller creates it (prepared_begin). -1: error. */
int prepared_open(const char *name, const struct digest *key, struct prepared *out, struct error *err);
/* Waits until no other process is creating the tree, at most `seconds`, or until cancel_fd (-1: none) is readable.
 * Returns 1 if the tree exists now (as prepared_open), or 0 if the caller has to create it and holds out->lock
 * exclusively. -1 with ECANCELED if cancelled. */
int prepared_begin(const char *name, const struct digest *key, double seconds, int cancel_fd, struct prepared *out,
		   struct error *err);
/* Copies the tree below `from` as the prepared tree: plain files and directories with their permissions, without write
 * permission for others, and links that stay inside; other files are left out. Readers have another uid than the
 * creator, so the owner's read and execute permissions are given to all. On success *out is as after prepared_open;
 * after an error it is still as after prepared_begin. */
int prepared_keep(const char *name, const struct digest *key, int from, struct prepared *out, struct error *err);
void prepared_close(struct prepared *prepared);
