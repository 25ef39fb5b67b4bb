/* Capabilities: clears or reduces all five sets and verifies the result. Safe after clone: 0, or -1 with errno. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Clears the bounding, ambient, inheritable, permitted and effective sets, and locks securebits so that no uid restores
 * them. */
int caps_drop(void);

/* Returns 0 if every set of this thread is empty, or -1 with EPERM. */
int caps_prove(void);

/* Drops all capabilities except those in `keep` (bit N: capability N), in this process and, with CAP_SETPCAP, in the
 * programs that it executes. Without CAP_SETPCAP, no_new_privs must be set. */
int caps_limit(uint64_t keep);
/* Returns 0 if this thread has and passes on no capability outside `keep`, or -1 with EPERM. */
int caps_within(uint64_t keep);

/* Whether this process has the capability (CAP_SYS_ADMIN…) in its effective set. */
int caps_has(int capability);

/* Sets or clears a capability in the effective set of this thread. Success if it is not permitted anyway. */
int caps_use(int capability, bool use);
