/*
 * Prepared trees: what a language's prepare step left, kept between runs.
 *
 * prepared/NAME-KEY is a directory, made once for a toolchain. One process
 * makes it, the others wait for it; older ones of the same name are removed
 * when a new one is there, unless somebody holds them.
 *
 * Beside it lie NAME-KEY.lock, held shared by who uses the tree and exclusively
 * by who makes or removes it, and, while it is made or removed, NAME-KEY.tmp:
 * a crash leaves only that, and the next maker removes it.
 */
#pragma once

#include "base/error.h"
#include "language/digest.h"

#include <stdint.h>

enum {
	PREPARED_FILES_MAX = 50000, /* files, directories and links of a tree */
	PREPARED_DEPTH_MAX = 64,    /* directories below each other */
	PREPARED_NAME_MAX = 64,     /* bytes of a name */
};
#define PREPARED_SIZE_MAX (UINT64_C(4) << 30) /* bytes of a tree's files */

/* A prepared tree in use; its lock is held until it is closed. */
struct prepared {
	int dir;         /* the tree; -1: not there yet */
	int lock;        /* held shared: in use */
	char path[4096]; /* its absolute path */
	char own[64];    /* where there is no place to keep it: a directory for this run alone, which goes with it */
};

/* *out->dir is -1 when it is not there; then the caller makes it (prepared_begin). -1: error. */
int prepared_open(const char *name, const struct digest *key, struct prepared *out, struct error *err);
/* Waits until nobody else is making it, at most `seconds`, or until cancel_fd (-1: none) is readable; returns 1 if it
 * is there now (as prepared_open), 0 if it is ours to make: then out->lock is held exclusively. -1 with ECANCELED when
 * the caller does not want it any more. */
int prepared_begin(const char *name, const struct digest *key, double seconds, int cancel_fd, struct prepared *out,
		   struct error *err);
/* Copies the tree below `from` and makes it the prepared one: plain files and directories with their permissions, less
 * the right of others to write, and links that stay inside; anything else is left out. Who reads it has another uid
 * than who made it, so what the owner may read or execute everybody may. Then *out is as after prepared_open; after an
 * error it still is as after prepared_begin. */
int prepared_keep(const char *name, const struct digest *key, int from, struct prepared *out, struct error *err);
void prepared_close(struct prepared *prepared);
