/*
 * From one directory to four.
 *
 * Under a lock of the old directory (the cache's), which all who start take:
 * the registry, .env and own languages go to their places, everything else but
 * the cache goes to a directory beside the new state directory, and last that
 * gets its name. So the new state directory is there only when all is done,
 * and until then whoever starts goes on with what is left. All are renames:
 * nothing is copied, and nothing is in two places.
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

#define MOVING "emberbox.moving" /* as state.c knows it */

/* What has a place of its own. */
static const struct piece {
	const char *name;       /* of the file or directory */
	enum state_place place; /* where it goes */
} pieces[] = {
	{ "registry.yaml", STATE_CONFIG },
	{ ".env", STATE_CONFIG },
	{ "runtimes", STATE_DATA },
};

/* Sessions of `emberbox repl` that are open find their service by its path below "private". */
static bool stays(const char *name)
{
	return strcmp(name, "builds") == 0 || strcmp(name, "prepared") == 0 || strncmp(name, "version-", 8) == 0 ||
	       strcmp(name, "private") == 0;
}

/* A service has a lock on the file beside its socket for as long as it lives. */
static bool is_served(int old)
{
	_cleanup_close_ int fd = openat(old, "emberbox.sock.lock", O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fd >= 0 && (fcntl(fd, F_GETLK, &lock) < 0 || lock.l_type != F_UNLCK);
}

/* A relative link would lead elsewhere from its new place. */
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

/* Never over what is there already: 1 then. 0: it is moved, or there is none. */
static int move_one(int from, int to, const char *name, const char *as, struct error *err)
{
	struct stat st;

	if (renameat2(from, name, to, as, RENAME_NOREPLACE) == 0 || errno == ENOENT)
		return 0;
	/* Some file systems of networks cannot promise it. */
	if (errno == EINVAL && fstatat(to, as, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT &&
	    renameat(from, name, to, as) == 0)
		return 0;
	if (errno == EEXIST || errno == EINVAL)
		return 1;
	return error_errno(err, "cannot move %s out of the cache directory", name);
}

/* What is not the cache's, into the directory that is to be the state's. */
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
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 || stays(entry->d_name))
			continue;
		result = move_one(old, moving, entry->d_name, entry->d_name, err);
	}
	closedir(list);
	return result < 0 ? -1 : 0;
}

/* With the old directory locked. As state_migrate(). */
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
	/* What somebody wrote there already counts; what was the old one's is kept with the state. */
	for (size_t i = 0; here && result >= 0 && i < ARRAY_SIZE(pieces); i++)
		result = move_one(old, to[pieces[i].place], pieces[i].name, pieces[i].name, err);
	if (here && result >= 0)
		result = move_rest(old, moving, err);
	if (here && result >= 0)
		result = move_one(above, above, MOVING, "emberbox", err);
	close_fd(&to[STATE_CONFIG]);
	close_fd(&to[STATE_DATA]);
	if (result < 0)
		return error_prefix(err, "EMBERBOX_HOME=%s goes on as before", cache);
	if (here)
		snprintf(note, size,
			 "what is no cache was moved out of %s: the state to %s, settings to %s, languages to %s",
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
	/* Who had the lock before us has done it. */
	return state_is_old() ? move_all(old, note, size, err) : 0;
}
