/* Capabilities: all five sets emptied, and read back. For the child after clone: 0, or -1 with errno. */
#pragma once

#include <stdint.h>

/* Drops bounding, ambient, inheritable, permitted and effective, and locks securebits so that no uid gives them back.
 */
int caps_drop(void);

/* 0 when every set of this thread is empty; -1 with EPERM (errno) when one is not. */
int caps_prove(void);

/* Whether this process has the capability (CAP_SYS_ADMIN…) effective. */
int caps_has(int capability);
