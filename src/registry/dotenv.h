/* The .env file of the state directory: NAME=VALUE, one a line. */
#pragma once

#include "base/error.h"

#include <stddef.h>

/* Each line by `take`, whose sentence is used as it is. `path` has PATH_MAX bytes and gets the file's name. No file is
 * no line: one access() then, and no memory. The name is one that setting_in_file() allows. */
int dotenv_read(char *path, size_t path_size,
		int (*take)(void *to, const char *name, const char *value, unsigned line, struct error *err), void *to,
		struct error *err);
