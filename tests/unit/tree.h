/* A directory of the test's own, removed with all that is in it, whatever that is. */
#pragma once

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static inline int tree_remove_entry(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	(void)st;
	(void)type;
	(void)walk;
	return remove(path);
}

static inline void tree_free(char *path)
{
	/* FTW_PHYS: links are removed, not followed. FTW_CHDIR: paths may be longer than the kernel takes. */
	nftw(path, tree_remove_entry, 32, FTW_DEPTH | FTW_PHYS | FTW_CHDIR);
	free(path);
}

static inline char *tree_new(void)
{
	char *path = strdup("/tmp/emberbox-test-XXXXXX");

	if (!path || !mkdtemp(path))
		abort();
	return path;
}

static inline void tree_write(int dir, const char *path, const void *data, size_t size)
{
	int fd = openat(dir, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size || close(fd) < 0)
		abort();
}

static inline void tree_link(const char *target, int dir, const char *path)
{
	if (symlinkat(target, dir, path) < 0)
		abort();
}

static inline void tree_mode(int dir, const char *path, mode_t mode)
{
	if (fchmodat(dir, path, mode, 0) < 0)
		abort();
}

/* The whole file as text, "(absent)" when there is none; static. */
static inline const char *tree_read(int dir, const char *path)
{
	static char text[65536];
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (n < 0)
		return "(absent)";
	text[n] = '\0';
	return text;
}
