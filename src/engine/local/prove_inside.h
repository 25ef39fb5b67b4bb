/* Restrictions are tried once after they are set. For the child after clone: 0, or -1 with errno ENOTRECOVERABLE when
 * one does not hold. */
#pragma once

/* property: ids, caps, root, network, fds, landlock, seccomp, read-only */
int prove_inside(const char *property);
