/* A language's folder: runtime.yaml, an optional explain.yaml, and the drivers. */
#pragma once

#include "base/arena.h"
#include "language/runtime.h"

enum {
	FOLDER_FILES_MAX = 64,     /* maximum of drivers in a folder */
	FOLDER_FILE_MAX = 1048576, /* bytes of one driver */
};

/*
 * Reads the folder dir_fd of the language `name`; `where` is the path of its runtime.yaml for errors. *out is in the
 * arena. Drivers are its plain files, sorted by name, except runtime.yaml, explain.yaml, *.md, hidden files and names
 * that end in ~; directories are skipped. Links are followed, so that languages can share a driver; a device is
 * refused, and so is a command line with a {drivers}/FILE that does not exist. ERROR_USAGE if the folder is invalid,
 * ERROR_FAILED if it cannot be read. `own`: the folder is a user's, whose version command runs outside of a box, so
 * files that others could have written are refused.
 */
int folder_read(int dir_fd, const char *name, const char *where, bool own, struct arena *arena, struct runtime *out,
		struct error *err);
/* Whether a file with that name is part of a language's definition: not an editor's backup or documentation. */
bool folder_reads(const char *name);
bool folder_has_definition(int dir);
