/*
 * Landlock: a second check of file system access, by path, and a limit to the
 * processes that signals and abstract sockets reach (ABI 6).
 *
 * Rights are masked by the kernel's ABI, so an older kernel enforces those that
 * it knows. TCP is not restricted: a box has a network namespace of its own,
 * and its loopback must work.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum landlock_access {
	LANDLOCK_READ,   /* read files and directories, execute */
	LANDLOCK_WRITE,  /* LANDLOCK_READ, and make, change, rename and remove everything that a tmpfs holds, except
			    devices */
	LANDLOCK_DEVICE, /* read, write and ioctl one device file */
};

struct landlock_rule {
	const char *path;            /* a directory, or for LANDLOCK_DEVICE a file */
	enum landlock_access access; /* the access at and below the path */
};

/* The kernel's ABI; 0 if Landlock is missing or disabled. */
int landlock_abi(void);

/* For the child after clone; no_new_privs must be set. A path that does not exist is skipped. Returns 0, or -1 with
 * errno. */
int landlock_restrict(const struct landlock_rule *rules, size_t count, int abi);

/* landlock_restrict() in two steps, for a process that enters a box: one process creates the rules and returns their
 * descriptor, or -1 with errno; another one enforces them on itself. */
int landlock_ruleset(const struct landlock_rule *rules, size_t count, int abi);
int landlock_enter(int ruleset, int abi);

/* For a process of ours that has all its descriptors: denies every path and every TCP port. With `connects`, only
 * listening on ports is denied. */
int landlock_seal(int abi, bool connects);
