/* The .env file of the state directory: NAME=VALUE, one a line. */
#pragma once

#include "base/error.h"

#include <stddef.h>

/* Calls `take` for each line, with a name that setting_in_file() allows; its errors are passed on. `path` has PATH_MAX
 * bytes and receives the file's name. A missing file has no lines, and costs one access() and no memory. */
int dotenv_read(char *path, size_t path_size,
		int (*take)(void *to, const char *name, const char *value, unsigned line, struct error *err), void *to,
		struct error *err);
