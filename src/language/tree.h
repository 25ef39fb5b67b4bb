/* Directories with all that is in them. Their makers ran in a box: nothing there is followed or trusted. */
#pragma once

#include "base/error.h"

/* A new directory `name` in `to` with what is below `from`, as prepared_keep() says; on the disk when this returns.
 * After an error a part of it may be there. */
int tree_copy(int from, int to, const char *name, struct error *err);
/* Removes one of ours, also half a one; none is fine as well. 0, or -1 with errno. */
int tree_remove(int dir, const char *name);
