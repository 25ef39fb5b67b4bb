/* Closes all descriptors except the listed ones. For the child after clone: 0, or -1 with errno. */
#pragma once

#include <stddef.h>

/* Closes all descriptors except these; negative entries are skipped. */
int fdset_keep(const int *keep, size_t count);

/* Returns 0 if no descriptor above 2 stays open over exec, or -1 with EBADF. */
int fdset_prove(void);
