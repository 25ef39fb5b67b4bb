/*
 * Where emberbox keeps its files.
 *
 * With EMBERBOX_HOME, all files are below that directory. Otherwise there are
 * four directories, by the XDG specification: the state (history, audit log,
 * tokens, sockets) in XDG_STATE_HOME/emberbox or ~/.local/state/emberbox, the
 * cache in XDG_CACHE_HOME or ~/.cache, the registry and .env in XDG_CONFIG_HOME
 * or ~/.config, and the user's own languages in XDG_DATA_HOME or
 * ~/.local/share. Each directory must belong to us, and nobody else may write
 * to it.
 *
 * Earlier versions kept all files in the cache directory. state_migrate() moves
 * them once; until then they are used there.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum state_place {
	STATE_STATE,
	STATE_CACHE,
	STATE_CONFIG,
	STATE_DATA,
	STATE_PLACES
};

/* A descriptor of the state directory (O_PATH), or -1: nothing can be stored. Without `make`, the directory must
 * exist. */
int state_dir(bool make);
/* state_dir() of another place. */
int state_place_dir(enum state_place place, bool make);
/* Explains a missing state directory. 0: it does not exist yet, or its path is unknown; -1: it cannot be used, and
 * `err` has the reason. */
int state_why_not(struct error *err);
/* Opens a subdirectory of the place that `name` belongs to, and creates it if needed. Returns -1 on failure. */
int state_subdir(const char *name);
/* The path of a file of emberbox, whether or not it exists and whoever can write to it. Returns 0, or -1 if its place
 * has no path. "" is the state directory, with a slash at its end. */
int state_path(const char *name, char *path, size_t size);

/*
 * Moves the files of an earlier version from the cache directory to their
 * places. Only one of several processes does so; the others wait for it, and
 * the next one continues if it dies. Returns 0 if there is nothing to do or the
 * migration must wait (a service uses the directory, it contains links, or it
 * is on another file system), 1 if it is done (`note` is a sentence about it),
 * or -1.
 */
int state_migrate(char *note, size_t size, struct error *err);

/* For state_migrate(): whether the files in the cache directory are in use there; and the new places, even if they are
 * not in use yet: their paths, their directories (created, or -1), and their parent directories. */
bool state_is_old(void);
int state_new_path(enum state_place place, char *path, size_t size);
int state_new_dir(enum state_place place);
int state_above_dir(enum state_place place);
