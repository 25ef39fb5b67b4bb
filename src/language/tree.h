/* Directory trees that were written in a box, so no link in them is followed and no content trusted. */
#pragma once

#include "base/error.h"

/* Creates a directory `name` in `to` with a copy of what is below `from`, as prepared_keep() describes, and syncs it.
 * After an error a part of it may exist. */
int tree_copy(int from, int to, const char *name, struct error *err);
/* Removes a tree of ours, complete or not. Success if there is none. Returns 0, or -1 with errno. */
int tree_remove(int dir, const char *name);
