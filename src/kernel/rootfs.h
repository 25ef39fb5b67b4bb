/*
 * The box's root while it is built: the working directory. For the child after
 * clone: 0, or -1 with errno. No link is followed anywhere in a path: ELOOP.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* A directory with its parents; one that is there is left as it is. */
int rootfs_dir(const char *path, mode_t mode);

/* A file with this content, its parents made. An existing one is replaced. */
int rootfs_file(const char *path, mode_t mode, const void *data, size_t size);

/* A new file opened for writing, its parents made; never through a link. An fd or -1. */
int rootfs_create(const char *path, mode_t mode);

/* What a mount of `from` needs below it: a directory, or an empty file. */
int rootfs_target(const char *from, const char *path);

/* The working directory becomes /, and nothing of the old root stays. */
int rootfs_pivot(void);
