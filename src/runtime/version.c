#include "runtime/version.h"

#include "base/fd.h"
#include "base/own.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A directory that belongs to us and that nobody else can write to, made if need be; or -1. */
static int own_dir(int at, const char *path)
{
	_cleanup_close_ int dir = -1;
	struct stat st;

	mkdirat(at, path, 0700);
	dir = openat(at, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 || fstat(dir, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 022))
		return -1;
	return take_fd(&dir);
}

/* The caller named this one: its parents are made as well. */
static int named_dir(const char *name)
{
	char path[4096];

	if (snprintf(path, sizeof(path), "%s", name) >= (int)sizeof(path))
		return -1;
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	return own_dir(AT_FDCWD, path);
}

/*
 * EMBERBOX_HOME, else a directory in the user's cache. Root may have the HOME
 * of another, by sudo: what that one put there is not read, and nothing of
 * root's is made there. An fd, or -1: then nothing is remembered.
 */
static int cache_dir(void)
{
	const char *home = getenv("EMBERBOX_HOME"), *cache = getenv("XDG_CACHE_HOME"), *user = getenv("HOME");
	_cleanup_close_ int base = -1, below = -1;
	struct stat st;

	if (home && *home == '/')
		return named_dir(home);
	if (cache && *cache == '/') {
		below = own_dir(AT_FDCWD, cache);
		return below < 0 ? -1 : own_dir(below, "emberbox");
	}
	if (!user || *user != '/')
		return -1;
	/* A home that a group of the user's own may write to is usual. */
	base = open(user, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (base < 0 || fstat(base, &st) < 0 || st.st_uid != geteuid())
		return -1;
	below = own_dir(base, ".cache");
	return below < 0 ? -1 : own_dir(below, "emberbox");
}

bool runtime_version_recall(const char *text, const char *key, char *out, size_t size)
{
	size_t length;

	if (strncmp(text, key, strlen(key)) != 0)
		return false;
	text += strlen(key);
	length = strspn(text, "0123456789.");
	if (length == 0 || length >= size || text[length] != '\n')
		return false;
	memcpy(out, text, length);
	out[length] = '\0';
	return true;
}

bool runtime_version_cached(const struct runtime *runtime, char *out, size_t size)
{
	const char *program = runtime_program(runtime);
	_cleanup_close_ int dir = -1;
	char name[64], key[512], text[640], temporary[96];
	struct stat st;
	ssize_t n;

	if (!program || stat(program, &st) < 0)
		return false;
	snprintf(key, sizeof(key), "%s %lld %lld.%09ld ", program, (long long)st.st_size, (long long)st.st_mtim.tv_sec,
		 st.st_mtim.tv_nsec);
	snprintf(name, sizeof(name), "version-%s", runtime->name);
	dir = cache_dir();
	n = dir < 0 ? -1 : fd_slurp(dir, name, text, sizeof(text));
	if (n > 0 && runtime_version_recall(text, key, out, size))
		return true;
	if (!runtime_version(runtime, out, size))
		return false;
	if (dir >= 0) {
		_cleanup_close_ int fd = -1;

		/* Written aside and renamed: a reader sees the old answer or the new one, never half. */
		snprintf(temporary, sizeof(temporary), "%s.%d", name, (int)getpid());
		fd = openat(dir, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
		n = snprintf(text, sizeof(text), "%s%s\n", key, out);
		if (fd >= 0 && (fd_write(fd, text, (size_t)n) < 0 || renameat(dir, temporary, dir, name) < 0))
			unlinkat(dir, temporary, 0);
	}
	return true;
}
