/* Capabilities: all five sets emptied, or cut, and read back. Safe after clone: 0, or -1 with errno. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Drops bounding, ambient, inheritable, permitted and effective, and locks securebits so that no uid gives them back.
 */
int caps_drop(void);

/* 0 when every set of this thread is empty; -1 with EPERM (errno) when one is not. */
int caps_prove(void);

/* Gives up all but these (bit N: capability N), here and, for who may say so, in whatever is executed. Who may not has
 * none to give: no_new_privs has to be set. */
int caps_limit(uint64_t keep);
/* 0 when this thread holds none but these, and hands none on; -1 with EPERM (errno) otherwise. */
int caps_within(uint64_t keep);

/* Whether this process has the capability (CAP_SYS_ADMIN…) effective. */
int caps_has(int capability);

/* This thread alone does, or does not, use what it may; nothing to use is success. */
int caps_use(int capability, bool use);
