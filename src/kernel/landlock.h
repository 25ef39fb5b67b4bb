/*
 * Landlock: the file system once more, by path, and what processes outside
 * the box could be reached: signals and abstract sockets (ABI 6).
 *
 * Rights are masked by the kernel's ABI, so that an older kernel enforces what
 * it knows. TCP is left alone: the box has a network namespace of its own, and
 * its loopback has to work.
 */
#pragma once

#include <stddef.h>

enum landlock_access {
	LANDLOCK_READ,   /* read files and directories, execute */
	LANDLOCK_WRITE,  /* all of that, and make, change, rename and remove whatever a tmpfs holds, but devices */
	LANDLOCK_DEVICE, /* read, write and ioctl one device file */
};

struct landlock_rule {
	const char *path;            /* a directory, or for DEVICE a file */
	enum landlock_access access; /* what is allowed at and below it */
};

/* The kernel's ABI, 0 when it has none or it is switched off. */
int landlock_abi(void);

/* For the child after clone; no_new_privs must be set. A path that is not there is skipped. Returns 0, or -1 with
 * errno. */
int landlock_restrict(const struct landlock_rule *rules, size_t count, int abi);

/* The same in two steps, for who enters a box whose rules another process made: an fd of them, or -1 with errno; and
 * being bound by them. */
int landlock_ruleset(const struct landlock_rule *rules, size_t count, int abi);
int landlock_enter(int ruleset, int abi);

/* For a process of ours that has all it needs: no path at all, and no TCP port. */
int landlock_seal(int abi);
