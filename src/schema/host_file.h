/* Opens files of the host that a request names, with the rights of the caller. */
#pragma once

#include "base/error.h"

#include <sys/stat.h>

/* Accepts only a plain file, so that no FIFO or device can block. Returns a descriptor, or -1 with ERROR_USAGE. */
int host_file_open(const char *host, struct stat *st, struct error *err);
