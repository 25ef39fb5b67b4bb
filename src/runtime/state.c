#include "runtime/state.h"

#include "base/own.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A directory that belongs to us and that nobody else can write to, made if need be; or -1. */
static int own_dir(int at, const char *path, bool make)
{
	_cleanup_close_ int dir = -1;
	struct stat st;

	dir = openat(at, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 && errno == ENOENT && make) {
		mkdirat(at, path, 0700);
		dir = openat(at, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	}
	if (dir < 0 || fstat(dir, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 022))
		return -1;
	return take_fd(&dir);
}

/* The caller named this one: its parents are made as well. */
static int named_dir(const char *name, bool make)
{
	char path[4096];
	struct stat st;

	if (snprintf(path, sizeof(path), "%s", name) >= (int)sizeof(path))
		return -1;
	for (char *slash = make && lstat(path, &st) < 0 ? strchr(path + 1, '/') : NULL; slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	return own_dir(AT_FDCWD, path, make);
}

/*
 * Root may have the HOME of another, by sudo: what that one put there is not
 * read, and nothing of root's is made there.
 */
int state_dir(bool make)
{
	const char *home = getenv("EMBERBOX_HOME"), *cache = getenv("XDG_CACHE_HOME"), *user = getenv("HOME");
	_cleanup_close_ int base = -1, below = -1;
	struct stat st;

	if (home && *home == '/')
		return named_dir(home, make);
	if (cache && *cache == '/') {
		below = own_dir(AT_FDCWD, cache, make);
		return below < 0 ? -1 : own_dir(below, "emberbox", make);
	}
	if (!user || *user != '/')
		return -1;
	/* A home that a group of the user's own may write to is usual. */
	base = open(user, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (base < 0 || fstat(base, &st) < 0 || st.st_uid != geteuid())
		return -1;
	below = own_dir(base, ".cache", make);
	return below < 0 ? -1 : own_dir(below, "emberbox", make);
}

int state_subdir(const char *name)
{
	_cleanup_close_ int dir = state_dir(true);

	return dir < 0 ? -1 : own_dir(dir, name, true);
}

int state_path(const char *name, char *path, size_t size)
{
	const char *home = getenv("EMBERBOX_HOME"), *cache = getenv("XDG_CACHE_HOME"), *user = getenv("HOME");
	int length = -1;

	if (home && *home == '/')
		length = snprintf(path, size, "%s/%s", home, name);
	else if (cache && *cache == '/')
		length = snprintf(path, size, "%s/emberbox/%s", cache, name);
	else if (user && *user == '/')
		length = snprintf(path, size, "%s/.cache/emberbox/%s", user, name);
	return length >= 0 && (size_t)length < size ? 0 : -1;
}

int state_why_not(struct error *err)
{
	char path[4096];
	struct stat st;
	size_t length;

	if (state_path("", path, sizeof(path)) < 0)
		return 0;
	length = strlen(path);
	path[length > 1 ? length - 1 : length] = '\0';
	if (lstat(path, &st) < 0)
		return errno == ENOENT
			       ? 0
			       : error_errno(err, "cannot look into %.1000s (EMBERBOX_HOME names another place)", path);
	if (!S_ISDIR(st.st_mode))
		return error_set(err, ERROR_FAILED, 0, "%.1000s is not a directory; EMBERBOX_HOME has to name one",
				 path);
	if (st.st_uid != geteuid())
		return error_set(err, ERROR_FAILED, 0,
				 "%.1000s belongs to another user (uid %u, not %u): only that one can look into it",
				 path, (unsigned)st.st_uid, (unsigned)geteuid());
	if (st.st_mode & 022)
		return error_set(
			err, ERROR_FAILED, 0,
			"%.1000s can be written by others, and is not trusted; make it yours with: chmod go-w %.1000s",
			path, path);
	return error_set(err, ERROR_FAILED, 0, "%.1000s lies below a directory of another user's, and is not trusted",
			 path);
}
