#include "language/prepared.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "base/state.h"
#include "language/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	POLL_MS = 50,  /* interval for polling a lock */
	LOCK_TRIES = 8 /* attempts, because lock files can be removed while they are opened */
};

/* The names of the files of one tree. */
struct prepared_names {
	char tree[PREPARED_NAME_MAX + 66];
	char lock[PREPARED_NAME_MAX + 72];
	char temporary[PREPARED_NAME_MAX + 72];
};

static void place_name(struct prepared_names *place, const char *tree)
{
	snprintf(place->tree, sizeof(place->tree), "%s", tree);
	snprintf(place->lock, sizeof(place->lock), "%s.lock", place->tree);
	snprintf(place->temporary, sizeof(place->temporary), "%s.tmp", place->tree);
}

/* Opens the directory of all trees; without one (no home, or read-only), creates one for this run. */
static int place_dir(const char *name, struct prepared *out, struct error *err)
{
	int dir = out->own[0] ? -1 : state_subdir("prepared");

	if (dir >= 0)
		return dir;
	if (!out->own[0]) {
		snprintf(out->own, sizeof(out->own), "/tmp/emberbox-%.24s-XXXXXX", name);
		if (!mkdtemp(out->own)) {
			out->own[0] = '\0';
			return error_errno(err,
					   "there is no directory for the prepared files of %s: set EMBERBOX_HOME to a "
					   "directory of "
					   "your own; and in /tmp none can be made",
					   name);
		}
	}
	dir = open(out->own, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return dir < 0 ? error_errno(err, "cannot open %s", out->own) : dir;
}

/* Opens the directory of all trees, and sets the names for this one. */
static int place_open(const char *name, const struct digest *key, struct prepared_names *place, struct prepared *out,
		      struct error *err)
{
	char text[65], tree[sizeof(place->tree)];

	if (*name == '\0' || *name == '.' || strchr(name, '/') || strlen(name) > PREPARED_NAME_MAX)
		return error_usage(err, "\"%.80s\" cannot be the name of a prepared tree", name);
	digest_text(key, text);
	snprintf(tree, sizeof(tree), "%s-%s", name, text);
	place_name(place, tree);
	return place_dir(name, out, err);
}

/*
 * Opens and locks the lock file. Returns 1 with *fd, 0 if another process holds
 * it or it does not exist and need not be created, or -1 with errno. A file
 * that was removed while it was opened is not used.
 */
static int lock_take(int dir, const char *name, int operation, bool make, int *fd)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		_cleanup_close_ int lock =
			openat(dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | (make ? O_CREAT : 0), 0600);
		struct stat st;

		if (lock < 0)
			return errno == ENOENT && !make ? 0 : -1;
		if (flock(lock, operation | LOCK_NB) < 0)
			return errno == EWOULDBLOCK ? 0 : -1;
		if (fstat(lock, &st) < 0)
			return -1;
		if (st.st_nlink > 0) {
			*fd = take_fd(&lock);
			return 1;
		}
	}
	return 0;
}

/* Returns 1 if the tree exists, 0 if not. The caller holds the lock, so this does not change. */
static int tree_open(int dir, const struct prepared_names *place, struct prepared *out, struct error *err)
{
	_cleanup_close_ int tree = openat(dir, place->tree, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char link[64];
	struct stat st;
	ssize_t n;

	if (tree < 0 && errno == ENOENT)
		return 0;
	if (tree < 0 || fstat(tree, &st) < 0)
		return error_errno(err, "cannot open the prepared tree %s", place->tree);
	if (st.st_uid != geteuid() || (st.st_mode & 022))
		return error_set(err, ERROR_FAILED, 0,
				 "the prepared tree %s belongs to another, or others may change it", place->tree);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", tree);
	n = readlink(link, out->path, sizeof(out->path));
	if (n < 0)
		return error_errno(err, "cannot find the path of the prepared tree %s", place->tree);
	if (n >= (ssize_t)sizeof(out->path) || out->path[0] != '/')
		return error_set(err, ERROR_FAILED, ENAMETOOLONG, "cannot find the path of the prepared tree %s",
				 place->tree);
	out->path[n] = '\0';
	out->dir = take_fd(&tree);
	return 1;
}

/* Returns 1 if the tree exists and is now locked shared in *out, 0 if it does not exist or is being created. */
static int tree_use(int dir, const struct prepared_names *place, struct prepared *out, struct error *err)
{
	_cleanup_close_ int lock = -1;
	int got = lock_take(dir, place->lock, LOCK_SH, false, &lock);

	if (got < 0)
		return error_errno(err, "cannot lock the prepared tree %s", place->tree);
	if (got > 0)
		got = tree_open(dir, place, out, err);
	if (got > 0)
		out->lock = take_fd(&lock);
	return got;
}

int prepared_open(const char *name, const struct digest *key, struct prepared *out, struct error *err)
{
	_cleanup_close_ int dir = -1;
	struct prepared_names place;

	*out = (struct prepared){ .dir = -1, .lock = -1 };
	dir = state_subdir("prepared");
	/* Without the directory, the tree does not exist. */
	if (dir < 0)
		return 0;
	close_fd(&dir);
	dir = place_open(name, key, &place, out, err);
	if (dir < 0)
		return -1;
	return tree_use(dir, &place, out, err) < 0 ? -1 : 0;
}

/* Returns 1 if the tree exists and is held in *out, 0 if the caller creates it, 2 if another process does. */
static int try_begin(int dir, const struct prepared_names *place, struct prepared *out, struct error *err)
{
	_cleanup_close_ int lock = -1;
	struct stat st;
	int got = lock_take(dir, place->lock, LOCK_EX, true, &lock);

	if (got < 0)
		return error_errno(err, "cannot lock the prepared tree %s", place->tree);
	if (got > 0 && fstatat(dir, place->tree, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT) {
		out->lock = take_fd(&lock);
		return 0;
	}
	/* Release the lock, or nobody else could open the tree. */
	close_fd(&lock);
	got = tree_use(dir, place, out, err);
	return got == 0 ? 2 : got;
}

int prepared_begin(const char *name, const struct digest *key, double seconds, int cancel_fd, struct prepared *out,
		   struct error *err)
{
	uint64_t until = clock_usec() + (uint64_t)(seconds * 1e6);
	_cleanup_close_ int dir = -1;
	struct prepared_names place;

	*out = (struct prepared){ .dir = -1, .lock = -1 };
	dir = place_open(name, key, &place, out, err);
	if (dir < 0)
		return -1;
	for (;;) {
		struct pollfd cancel = { .fd = cancel_fd, .events = POLLIN };
		int got = try_begin(dir, &place, out, err);

		if (got != 2)
			return got;
		if (clock_usec() >= until)
			return error_set(err, ERROR_FAILED, ETIMEDOUT, "another emberbox is still preparing %s", name);
		if (poll(&cancel, 1, POLL_MS) > 0)
			return error_refuse(err, CODE_CANCELLED, "", "preparing %s was cancelled", name);
	}
}

/* The caller holds the exclusive lock. A half-removed tree has another name. */
static int tree_discard(int dir, const struct prepared_names *place)
{
	if (tree_remove(dir, place->temporary) < 0)
		return -1;
	if (renameat(dir, place->tree, dir, place->temporary) < 0)
		return errno == ENOENT ? 0 : -1;
	return tree_remove(dir, place->temporary);
}

/* Whether the entry is "NAME-KEY", "NAME-KEY.lock" or "NAME-KEY.tmp" of this name with another key; returns
 * "NAME-KEY". */
static bool is_older(const char *entry, const char *name, const struct prepared_names *current, char *tree, size_t size)
{
	size_t length = strlen(name) + 1 + 64;
	const char *key = entry + strlen(name) + 1, *tail;

	if (strncmp(entry, name, strlen(name)) != 0 || entry[strlen(name)] != '-' ||
	    strspn(key, "0123456789abcdef") != 64)
		return false;
	tail = key + 64;
	if (*tail != '\0' && strcmp(tail, ".lock") != 0 && strcmp(tail, ".tmp") != 0)
		return false;
	snprintf(tree, size, "%.*s", (int)length, entry);
	return strcmp(tree, current->tree) != 0;
}

/* Removes unused trees of other keys. Trees in use stay until the next new tree. Errors are ignored. */
static void remove_older(int dir, const char *name, const struct prepared_names *current)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_closedir_ DIR *list = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!list) {
		close_fd(&fd);
		return;
	}
	while ((entry = readdir(list)) != NULL) {
		_cleanup_close_ int lock = -1;
		char tree[sizeof(current->tree)];
		struct prepared_names older;

		if (!is_older(entry->d_name, name, current, tree, sizeof(tree)))
			continue;
		place_name(&older, tree);
		if (lock_take(dir, older.lock, LOCK_EX, true, &lock) == 1 && tree_discard(dir, &older) == 0)
			unlinkat(dir, older.lock, 0);
	}
}

/* Changes the exclusive lock to a shared one. Another process may remove the tree between the two. */
static int tree_share(int dir, const struct prepared_names *place, struct prepared *out, struct error *err)
{
	int got;

	if (flock(out->lock, LOCK_SH) < 0)
		return error_errno(err, "cannot lock the prepared tree %s", place->tree);
	got = tree_open(dir, place, out, err);
	if (got == 0)
		return error_set(err, ERROR_FAILED, ENOENT, "the prepared tree %s was removed at once", place->tree);
	return got < 0 ? -1 : 0;
}

int prepared_keep(const char *name, const struct digest *key, int from, struct prepared *out, struct error *err)
{
	_cleanup_close_ int dir = -1;
	struct prepared_names place;

	dir = place_open(name, key, &place, out, err);
	if (dir < 0)
		return -1;
	if (tree_remove(dir, place.temporary) < 0)
		return error_errno(err, "cannot remove an incomplete prepared tree of %s", place.temporary);
	if (tree_copy(from, dir, place.temporary, err) < 0) {
		tree_remove(dir, place.temporary);
		return error_prefix(err, "cannot keep the prepared tree of %s", name);
	}
	if (renameat(dir, place.temporary, dir, place.tree) < 0) {
		error_errno(err, "cannot keep the prepared tree of %s", name);
		tree_remove(dir, place.temporary);
		return -1;
	}
	if (tree_share(dir, &place, out, err) < 0)
		return -1;
	remove_older(dir, name, &place);
	return 0;
}

void prepared_close(struct prepared *prepared)
{
	close_fd(&prepared->dir);
	close_fd(&prepared->lock);
	prepared->path[0] = '\0';
	if (prepared->own[0])
		tree_remove(AT_FDCWD, prepared->own);
	prepared->own[0] = '\0';
}
