/*
 * A directory of a box that lives, watched from outside.
 *
 * The kernel tells of changes by inode, so that a program which swaps what is
 * watched changes only what it is told of itself. Directories are reached as
 * live/live_files.h has it, and what is told is names, kinds and sizes.
 *
 * A hostile program can change files faster than anybody reads. So a watch has
 * bounds: on directories, on events a second, on what it holds. What is beyond
 * them is told as one event, `overflow`, and then the directory is looked at
 * afresh. While nothing happens nothing runs.
 */
#pragma once

#include "live/live_files.h"
#include "live/slots.h"

enum {
	WATCHES_MAX = 64,       /* of all sessions… */
	WATCHES_EACH = 16,      /* …and of one owner's */
	WATCH_DIRS_MAX = 1024,  /* directories of one watch */
	WATCH_SECOND_MAX = 1000 /* events that are told a second */
};

/*
 * With one of the watches that may be open, or ERROR_USAGE with errnum EBUSY.
 * Takes files->sandbox and `ended`, which is readable once the box has ended,
 * also when it fails. Lines of text come by *out, "NAME JSON\n" each: `watching`
 * first; `created`, `changed`, `deleted` and `moved`; `overflow`; and `ended`
 * last, if the box did. It ends with the box, or when *out is closed.
 */
int watch_start(struct slots *watches, struct live_files *files, int ended, const char *owner, const char *path,
		bool recursive, int *out, struct error *err);
