/*
 * Watching a directory of a box that lives, from outside.
 *
 * The kernel reports changes by inode, so a program that replaces a watched
 * directory only affects the reports about itself. Directories are opened as
 * live/live_files.h describes. Reported are names, types and sizes.
 *
 * A hostile program can change files faster than a client reads. So a watch has
 * bounds: on directories, on events a second, and on unsent text. Beyond them one
 * event `overflow` is reported, and the directory is read anew. An idle watch
 * costs no CPU time.
 */
#pragma once

#include "live/live_files.h"
#include "live/slots.h"

enum {
	WATCHES_MAX = 64,       /* open watches of all sessions… */
	WATCHES_EACH = 16,      /* …and of one owner */
	WATCH_DIRS_MAX = 1024,  /* directories of one watch */
	WATCH_SECOND_MAX = 1000 /* events that are reported a second */
};

/*
 * Takes one of the slots `watches`; CODE_BUSY: there is none.
 * Takes files->sandbox and `ended`, which is readable once the box has ended, also
 * after -1. *out yields lines of text, "NAME JSON\n": `watching` first; then
 * `created`, `changed`, `deleted`, `moved` and `overflow`; and `ended` last, if
 * the box ended. The watch ends with the box, or when *out is closed.
 */
int watch_start(struct slots *watches, struct live_files *files, int ended, const char *owner, const char *path,
		bool recursive, int *out, struct error *err);
