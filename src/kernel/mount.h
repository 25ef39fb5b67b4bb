/*
 * Mounts, for the child after clone: 0, or -1 with errno.
 *
 * The working directory is the new root while it is built, and targets are
 * relative to it, so that nothing of the host's is ever written to. The new
 * mount calls (5.2, mount_setattr 5.12) make a mount with its flags before it
 * can be seen; where they are missing mount(2) does it in two steps, and then
 * without the mounts below the source, whose flags it could not change.
 */
#pragma once

#include <stdint.h>

enum mount_flags {
	MOUNT_READONLY = 1,
	MOUNT_NODEV = 2,
	MOUNT_NOEXEC = 4,
	/* nosuid is always set */
};

/* No mount of ours is ever seen by the host, nor one of its later ones by us. */
int mount_isolate(void);

/* A tmpfs with a size in bytes and a number of inodes (0: none of these limits). */
int mount_tmpfs(const char *to, uint64_t size, uint64_t inodes, unsigned mode, unsigned flags);

/* `from` and what is mounted below it; `from` is a host path, or relative to the new root. */
int mount_bind(const char *from, const char *to, unsigned flags);

/* A fresh /proc of this pid namespace. EPERM when the one that is there is partly covered. */
int mount_proc(const char *to, unsigned flags);

/* Terminals of its own, at most so many pairs; whoever makes one owns it. */
int mount_pts(const char *to, uint64_t most);
/* The POSIX message queues of the caller's ipc namespace; nothing there when the kernel has none (CONFIG_POSIX_MQUEUE).
 */
int mount_mqueue(const char *to);

/* Hides a file or directory that is there: a file behind `null`, a directory behind `empty`. Not there is fine. */
int mount_mask(const char *path, const char *null, const char *empty);

/* An overlay of `upper` (with `work` beside it) over `lower`; all paths relative to the new root. */
int mount_overlay(const char *lower, const char *upper, const char *work, const char *to);

/* Sets these flags on the mount at `path`, which has no others of them set. */
int mount_tighten(const char *path, unsigned flags);

/* The tmpfs whose mount `dir` is the root of gets another size, which what is in it has to fit. Needs CAP_SYS_ADMIN
 * here, and Linux 5.2. */
int mount_resize(int dir, uint64_t size);

/* Makes the mount at `path` read-only. */
int mount_seal(const char *path);

/* Moves a tree that open_tree() made detached to `to`. */
int mount_attach(int tree, const char *to);

/* In the parent: the tree at `dir_fd`, detached, read-only, its owners translated by the namespace `userns_fd`, or as
 * they are when that is -1. An fd or -1 with errno. */
int mount_translated(int dir_fd, int userns_fd);
