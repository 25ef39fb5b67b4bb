/*
 * Mounts, for the child after clone: 0, or -1 with errno.
 *
 * While the new root is built, it is the working directory, and targets are
 * relative to it, so that nothing is written to the host's files. The new mount
 * calls (5.2, mount_setattr 5.12) set a mount's flags before it becomes
 * visible. Without them, mount(2) needs two steps, and omits the mounts below
 * the source, whose flags it could not change.
 */
#pragma once

#include <stdint.h>

enum mount_flags {
	MOUNT_READONLY = 1,
	MOUNT_NODEV = 2,
	MOUNT_NOEXEC = 4,
	/* nosuid is always set */
};

/* Stops mount events between the host and this mount namespace in both directions. */
int mount_isolate(void);

/* Mounts a tmpfs with a size in bytes and a number of inodes (0: no limit). */
int mount_tmpfs(const char *to, uint64_t size, uint64_t inodes, unsigned mode, unsigned flags);

/* Bind-mounts `from` with the mounts below it; `from` is a host path, or relative to the new root. */
int mount_bind(const char *from, const char *to, unsigned flags);

/* Mounts a new /proc of this pid namespace. EPERM if the existing one is partly covered. */
int mount_proc(const char *to, unsigned flags);

/* Mounts a devpts of the box's own with at most `most` terminals; their opener owns them. */
int mount_pts(const char *to, uint64_t most);
/* Mounts the POSIX message queues of the caller's ipc namespace, if the kernel has them (CONFIG_POSIX_MQUEUE). */
int mount_mqueue(const char *to);

/* Hides a file behind `null`, or a directory behind `empty`. Success if the path does not exist. */
int mount_mask(const char *path, const char *null, const char *empty);

/* Mounts an overlay of `upper` (with `work` beside it) over `lower`; all paths are relative to the new root. */
int mount_overlay(const char *lower, const char *upper, const char *work, const char *to);

/* Adds flags to the mount at `path`, which has none of them set. */
int mount_tighten(const char *path, unsigned flags);

/* Resizes the tmpfs whose root is `dir`; its content must fit. Needs CAP_SYS_ADMIN in this namespace, and Linux 5.2. */
int mount_resize(int dir, uint64_t size);

/* Makes the mount at `path` read-only. */
int mount_seal(const char *path);

/* Attaches a detached tree of open_tree() at `to`. */
int mount_attach(int tree, const char *to);

/* In the parent: a detached, read-only copy of the tree at `dir_fd`, with owners translated by the namespace
 * `userns_fd`, or unchanged if that is -1. Returns a descriptor, or -1 with errno. */
int mount_translated(int dir_fd, int userns_fd);
