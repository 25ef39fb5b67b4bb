/* Exactly the listed descriptors cross. For the child after clone: 0, or -1 with errno. */
#pragma once

#include <stddef.h>

/* Closes everything but these; negative entries are skipped. */
int fdset_keep(const int *keep, size_t count);

/* 0 when nothing above 2 stays open over exec; -1 with EBADF otherwise. */
int fdset_prove(void);
