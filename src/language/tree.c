#include "language/tree.h"

#include "base/fd.h"
#include "base/own.h"
#include "language/prepared.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct copy {
	size_t files;      /* number of files, directories and links */
	uint64_t left;     /* bytes that may be added */
	struct error *err; /* the caller's error */
};

/* Gives the owner's read and execute permissions to all, and removes write permission for others and special bits. */
static mode_t shared_mode(mode_t mode)
{
	mode_t owner = mode & 0500;

	return (mode & 0755) | owner >> 3 | owner >> 6;
}

/* Copies the time: some tools take a file that is newer than its products for changed. */
static int finish_file(int to, const struct stat *st)
{
	const struct timespec times[2] = { st->st_mtim, st->st_mtim };

	return fchmod(to, shared_mode(st->st_mode)) < 0 || futimens(to, times) < 0 ? -1 : 0;
}

static int copy_file(struct copy *copy, int dir, const char *name, int to_dir)
{
	_cleanup_close_ int from = fd_open_beneath(dir, name, O_RDONLY), to = -1;
	struct stat st, copied;

	if (from < 0 || fstat(from, &st) < 0)
		return error_errno(copy->err, "cannot open %.80s", name);
	/* It was a plain file a moment ago. */
	if (!S_ISREG(st.st_mode))
		return 0;
	to = openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return error_errno(copy->err, "cannot make %.80s", name);
	if ((uint64_t)st.st_size > copy->left)
		errno = EFBIG;
	else if (fd_copy(from, to, copy->left) == 0 && fstat(to, &copied) == 0 && finish_file(to, &st) == 0) {
		copy->left -= (uint64_t)copied.st_size;
		return 0;
	}
	if (errno == EFBIG)
		return error_set(copy->err, ERROR_FAILED, 0, "it is larger than %d GiB",
				 (int)(PREPARED_SIZE_MAX >> 30));
	return error_errno(copy->err, "cannot copy %.80s", name);
}

/*
 * Whether a relative link stays inside: it goes up first, at most to the top,
 * and then only down. A ".." after a name is refused, because that name could
 * be a link to another place.
 */
static bool stays_inside(const char *target, int depth)
{
	bool down = false;

	if (*target == '/' || *target == '\0')
		return false;
	while (*target) {
		size_t length = strcspn(target, "/");

		if (length == 2 && strncmp(target, "..", 2) == 0) {
			if (down || --depth < 0)
				return false;
		} else if (length > 0 && !(length == 1 && *target == '.')) {
			down = true;
		}
		target += length + (target[length] == '/');
	}
	return true;
}

static int copy_link(struct copy *copy, int dir, const char *name, int to_dir, int depth)
{
	char target[4096];
	ssize_t n = readlinkat(dir, name, target, sizeof(target));

	if (n < 0 && errno != EINVAL)
		return error_errno(copy->err, "cannot read the link %.80s", name);
	if (n < 0 || n >= (ssize_t)sizeof(target))
		return 0;
	target[n] = '\0';
	if (stays_inside(target, depth) && symlinkat(target, to_dir, name) < 0)
		return error_errno(copy->err, "cannot make the link %.80s", name);
	return 0;
}

static int copy_level(struct copy *copy, int from, int to, int depth);

static int copy_directory(struct copy *copy, int dir, const char *name, int to_dir, int depth)
{
	_cleanup_close_ int to = -1;
	struct stat st;
	int from;

	if (depth >= PREPARED_DEPTH_MAX)
		return error_set(copy->err, ERROR_FAILED, 0, "it is more than %d directories deep", PREPARED_DEPTH_MAX);
	from = fd_open_beneath(dir, name, O_RDONLY | O_DIRECTORY);
	if (from < 0 || fstat(from, &st) < 0) {
		error_errno(copy->err, "cannot open %.80s", name);
		close_fd(&from);
		return -1;
	}
	if (mkdirat(to_dir, name, 0700) == 0)
		to = openat(to_dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (to < 0) {
		error_errno(copy->err, "cannot make %.80s", name);
		close_fd(&from);
		return -1;
	}
	if (copy_level(copy, from, to, depth + 1) < 0)
		return -1;
	/* Permissions are set last: a read-only directory could not be filled. */
	if (fchmod(to, shared_mode(st.st_mode)) < 0)
		return error_errno(copy->err, "cannot copy %.80s", name);
	return 0;
}

static int copy_entry(struct copy *copy, int from, const char *name, int to, int depth)
{
	struct stat st;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return error_errno(copy->err, "cannot read %.80s", name);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) && !S_ISLNK(st.st_mode))
		return 0;
	if (++copy->files > PREPARED_FILES_MAX)
		return error_set(copy->err, ERROR_FAILED, 0, "it has more than %d files", PREPARED_FILES_MAX);
	if (S_ISREG(st.st_mode))
		return copy_file(copy, from, name, to);
	if (S_ISLNK(st.st_mode))
		return copy_link(copy, from, name, to, depth);
	return copy_directory(copy, from, name, to, depth);
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Takes ownership of `from`. The depth is the directory's, 0 for the top. */
static int copy_level(struct copy *copy, int from, int to, int depth)
{
	_cleanup_closedir_ DIR *dir = fdopendir(from);
	const struct dirent *entry;

	if (!dir) {
		error_errno(copy->err, "cannot list a directory");
		close_fd(&from);
		return -1;
	}
	while (errno = 0, (entry = readdir(dir)) != NULL)
		if (!is_dots(entry->d_name) && copy_entry(copy, dirfd(dir), entry->d_name, to, depth) < 0)
			return -1;
	return errno ? error_errno(copy->err, "cannot list a directory") : 0;
}

int tree_copy(int from, int to, const char *name, struct error *err)
{
	struct copy copy = { .left = PREPARED_SIZE_MAX, .err = err };
	_cleanup_close_ int top = -1;
	int source;

	if (mkdirat(to, name, 0700) == 0)
		top = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (top < 0)
		return error_errno(err, "cannot make %.80s", name);
	source = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (source < 0)
		return error_errno(err, "cannot open it");
	if (copy_level(&copy, source, top, 0) < 0)
		return -1;
	/* A crash of the host could leave an incomplete tree, which no size would show. */
	if (fchmod(top, 0755) < 0 || syncfs(top) < 0)
		return error_errno(err, "cannot write %.80s", name);
	return 0;
}

static int remove_level(int fd);

static int remove_entry(int dir, const char *name)
{
	struct stat st;
	int sub;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -1;
	if (!S_ISDIR(st.st_mode))
		return unlinkat(dir, name, 0);
	if ((st.st_mode & 0700) != 0700 && fchmodat(dir, name, 0700, 0) < 0)
		return -1;
	sub = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (sub < 0 || remove_level(sub) < 0)
		return -1;
	return unlinkat(dir, name, AT_REMOVEDIR);
}

/* Takes ownership of the descriptor. */
static int remove_level(int fd)
{
	_cleanup_closedir_ DIR *dir = fdopendir(fd);
	const struct dirent *entry;

	if (!dir) {
		close_fd(&fd);
		return -1;
	}
	while (errno = 0, (entry = readdir(dir)) != NULL)
		if (!is_dots(entry->d_name) && remove_entry(dirfd(dir), entry->d_name) < 0)
			return -1;
	return errno ? -1 : 0;
}

int tree_remove(int dir, const char *name)
{
	return remove_entry(dir, name);
}
