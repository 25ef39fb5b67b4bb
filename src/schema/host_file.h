/* Files of the host that a request names, opened by the rights of the caller. */
#pragma once

#include "base/error.h"

#include <sys/stat.h>

/* Takes only a plain file, so that no fifo or device can block us. An fd, or -1 with ERROR_USAGE. */
int host_file_open(const char *host, struct stat *st, struct error *err);
