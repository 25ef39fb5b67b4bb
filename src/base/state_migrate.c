/*
 * Moves the files of an earlier version from one directory to four.
 *
 * Every process that starts takes a lock on the old directory (the cache).
 * Under it, the registry, .env and the user's languages move to their places.
 * Everything else but the cache moves to a directory beside the new state
 * directory, which is renamed last. So the new state directory exists only
 * after a complete migration; until then the next process continues an
 * incomplete one. All steps are renames: no file is copied, and none exists
 * twice.
 */
#include "base/state.h"

#include "base/own.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOVING "emberbox.moving" /* also in state.c */

/* The files that have a place of their own. */
static const struct piece {
	const char *name;       /* name of the file or directory */
	enum state_place place; /* its new place */
} pieces[] = {
	{ "registry.yaml", STATE_CONFIG },
	{ ".env", STATE_CONFIG },
	{ "runtimes", STATE_DATA },
};

/* Open sessions of `emberbox repl` find their service by its path below "private". */
static bool is_kept(const char *name)
{
	return strcmp(name, "builds") == 0 || strcmp(name, "prepared") == 0 || strncmp(name, "version-", 8) == 0 ||
	       strcmp(name, "private") == 0;
}

/* A running service holds a lock on the file beside its socket. */
static bool is_served(int old)
{
	_cleanup_close_ int fd = openat(old, "emberbox.sock.lock", O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fd >= 0 && (fcntl(fd, F_GETLK, &lock) < 0 || lock.l_type != F_UNLCK);
}

/* Whether the directory contains links: a relative link would break when it moves. */
static bool has_links(int old)
{
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++)
		if (fstatat(old, pieces[i].name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
			return true;
	return false;
}

static bool same_device(int a, int b)
{
	struct stat one, other;

	return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev;
}

/* Moves one file without replacing another. Returns 0 if it moved or does not exist, 1 if the destination exists, or
 * -1. */
static int move_one(int from, int to, const char *name, const char *as, struct error *err)
{
	struct stat st;

	if (renameat2(from, name, to, as, RENAME_NOREPLACE) == 0 || errno == ENOENT)
		return 0;
	/* Some network file systems do not support RENAME_NOREPLACE. */
	if (errno == EINVAL && fstatat(to, as, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT &&
	    renameat(from, name, to, as) == 0)
		return 0;
	if (errno == EEXIST || errno == EINVAL)
		return 1;
	return error_errno(err, "cannot move %s out of the cache directory", name);
}

/* Moves everything but the cache into the directory that becomes the state directory. */
static int move_rest(int old, int moving, struct error *err)
{
	int copy = openat(old, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;
	int result = 0;

	if (!list) {
		if (copy >= 0)
			close(copy);
		return error_errno(err, "cannot read the cache directory");
	}
	while (result >= 0 && (entry = readdir(list))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 || is_kept(entry->d_name))
			continue;
		result = move_one(old, moving, entry->d_name, entry->d_name, err);
	}
	closedir(list);
	return result < 0 ? -1 : 0;
}

/* state_migrate() with the lock held. */
static int move_all(int old, char *note, size_t size, struct error *err)
{
	_cleanup_close_ int above = state_above_dir(STATE_STATE), moving = -1;
	char state[PATH_MAX], config[PATH_MAX], cache[PATH_MAX], data[PATH_MAX];
	int to[STATE_PLACES] = { -1, -1, -1, -1 };
	bool here;
	int result = 0;

	if (above < 0 || state_new_path(STATE_STATE, state, sizeof(state)) < 0 ||
	    state_new_path(STATE_CONFIG, config, sizeof(config)) < 0 ||
	    state_new_path(STATE_DATA, data, sizeof(data)) < 0 ||
	    state_new_path(STATE_CACHE, cache, sizeof(cache)) < 0 || is_served(old) || has_links(old))
		return 0;
	to[STATE_CONFIG] = state_new_dir(STATE_CONFIG);
	to[STATE_DATA] = state_new_dir(STATE_DATA);
	here = to[STATE_CONFIG] >= 0 && to[STATE_DATA] >= 0 && same_device(old, above) &&
	       same_device(old, to[STATE_CONFIG]) && same_device(old, to[STATE_DATA]);
	if (here && mkdirat(above, MOVING, 0700) < 0 && errno != EEXIST)
		result = error_errno(err, "cannot make %s.moving", state);
	if (here && result == 0) {
		moving = openat(above, MOVING, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (moving < 0)
			result = error_errno(err, "cannot open %s.moving", state);
	}
	/* A file in a new place is in use already, so the old one of that name is kept with the state. */
	for (size_t i = 0; here && result >= 0 && i < ARRAY_SIZE(pieces); i++)
		result = move_one(old, to[pieces[i].place], pieces[i].name, pieces[i].name, err);
	if (here && result >= 0)
		result = move_rest(old, moving, err);
	if (here && result >= 0)
		result = move_one(above, above, MOVING, "emberbox", err);
	close_fd(&to[STATE_CONFIG]);
	close_fd(&to[STATE_DATA]);
	if (result < 0)
		return error_prefix(err, "EMBERBOX_HOME=%s keeps the old directory in use", cache);
	if (here)
		snprintf(note, size,
			 "moved files out of the cache directory %s: the state to %s, settings to %s, languages to %s",
			 cache, state, config, data);
	return here;
}

int state_migrate(char *note, size_t size, struct error *err)
{
	_cleanup_close_ int found = -1, old = -1;

	if (!state_is_old())
		return 0;
	found = state_place_dir(STATE_CACHE, false);
	old = found < 0 ? -1 : openat(found, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (old < 0 || flock(old, LOCK_EX) < 0)
		return 0;
	/* Another process may have migrated before this one got the lock. */
	return state_is_old() ? move_all(old, note, size, err) : 0;
}
