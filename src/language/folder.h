/* A language's folder: runtime.yaml, explain.yaml if it has one, and the drivers beside them. */
#pragma once

#include "base/arena.h"
#include "language/runtime.h"

enum {
	FOLDER_FILES_MAX = 64,     /* drivers in a folder */
	FOLDER_FILE_MAX = 1048576, /* bytes of one */
};

/*
 * Reads the folder that dir_fd is, of the language `name`; `where` is the path of its runtime.yaml for errors. All of
 * *out is in the arena. Drivers are its plain files, sorted by name, but for runtime.yaml, explain.yaml, *.md, hidden
 * ones and names that end in ~; directories are left out. A link counts as what it leads to, so that languages can
 * share a driver; a device is refused, and so is a {drivers}/FILE in a command line that is not there. ERROR_USAGE when
 * the folder is wrong, ERROR_FAILED when it cannot be read. With `own` it is a user's, whose version command runs
 * outside of a box: a file that somebody else could have written is refused.
 */
int folder_read(int dir_fd, const char *name, const char *where, bool own, struct arena *arena, struct runtime *out,
		struct error *err);
/* Whether a file of that name in a language's folder is of its definition: not an editor's copy, nor a text about it.
 */
bool folder_reads(const char *name);
bool folder_has_definition(int dir);
