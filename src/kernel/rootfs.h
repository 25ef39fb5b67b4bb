/*
 * The box's root while it is built: the working directory. For the child after
 * clone: 0, or -1 with errno. No link in a path is followed: ELOOP.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Creates a directory and its parents. An existing one is left unchanged. */
int rootfs_dir(const char *path, mode_t mode);

/* Creates a file with this content, and its parents. An existing file is replaced. */
int rootfs_file(const char *path, mode_t mode, const void *data, size_t size);

/* Creates a file, opens it for writing, and creates its parents. Never follows a link. Returns a descriptor, or -1. */
int rootfs_create(const char *path, mode_t mode);

/* Creates the mount point for `from`: a directory, or an empty file. */
int rootfs_target(const char *from, const char *path);

/* Makes the working directory / and unmounts the old root. */
int rootfs_pivot(void);
