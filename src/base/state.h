/*
 * Where emberbox keeps its files.
 *
 * With EMBERBOX_HOME all of it is below that. Else it is in four directories,
 * as the XDG specification has them: the state (history, audit log, tokens,
 * sockets) in XDG_STATE_HOME/emberbox or ~/.local/state/emberbox, what can be
 * made again in XDG_CACHE_HOME or ~/.cache, the registry and .env in
 * XDG_CONFIG_HOME or ~/.config, languages of the user's own in XDG_DATA_HOME
 * or ~/.local/share. Each is a directory that belongs to us and that nobody
 * else can write to.
 *
 * Before there were four, all was in the cache directory. What lies there is
 * moved once, by state_migrate(); until then it is used where it is.
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

/* A descriptor of the state directory (O_PATH), or -1: then nothing is remembered. Without `make` it has to be there.
 */
int state_dir(bool make);
/* The same of another. */
int state_place_dir(enum state_place place, bool make);
/* Why there is no state directory: 0, it is not there yet, or nobody has named one; -1, it is there and cannot be used,
 * told in `err`. */
int state_why_not(struct error *err);
/* A directory of its own below the one that `name` belongs to, made if need be; or -1. */
int state_subdir(const char *name);
/* What something is called, whether or not it is there, and whoever may write to it. 0, or -1: no such place. "" is the
 * state directory, with a slash at its end. */
int state_path(const char *name, char *path, size_t size);

/*
 * Moves what an earlier version left in the cache directory to its places. Of
 * several that start at once one does it, and the others wait for it; one that
 * dies over it is followed by the next. 0: there is nothing to do, or it must
 * wait (a service uses the directory, it holds links, or another file system
 * would be needed); 1: it was done, and `note` says so; -1: an error.
 */
int state_migrate(char *note, size_t size, struct error *err);

/* For state_migrate(): whether what the cache directory has is used there; the new places, wherever what we use is:
 * their names, their directories (made, or -1), and the one above. */
bool state_is_old(void);
int state_new_path(enum state_place place, char *path, size_t size);
int state_new_dir(enum state_place place);
int state_above_dir(enum state_place place);
