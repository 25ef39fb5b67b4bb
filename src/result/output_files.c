#include "result/output_files.h"

#include "base/fd.h"
#include "base/own.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

struct files_walk {
	struct file_list *list; /* the result */
	size_t walked;          /* entries read */
	bool full;              /* a limit was reached */
	size_t length;          /* bytes of path */
	char path[4096];        /* the current directory, below the output directory */
	struct error *err;      /* memory running out is the only error */
};

static int add_entry(struct files_walk *walk, const char *path, const struct stat *st)
{
	struct file_list *list = walk->list;
	char *copy = arena_string(&list->arena, path);

	if (!list->entries)
		list->entries = calloc(FILES_LISTED_MAX, sizeof(*list->entries));
	if (!list->entries || !copy)
		return error_set(walk->err, ERROR_FAILED, ENOMEM, "cannot list the files of the box");
	list->entries[list->count++] = (struct file_entry){
		.path = copy,
		.size = (uint64_t)st->st_size,
		.blocks = (uint64_t)st->st_blocks * 512,
		.changed = (uint64_t)st->st_ctim.tv_sec * 1000000000 + (uint64_t)st->st_ctim.tv_nsec,
	};
	return 0;
}

static int walk_directory(struct files_walk *walk, int fd, int depth);

/* While an entry is handled, its path is in walk->path. */
static int walk_entry(struct files_walk *walk, int dir, const char *name, int depth)
{
	struct stat st;
	int sub;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (S_ISREG(st.st_mode))
		return add_entry(walk, walk->path, &st);
	if (!S_ISDIR(st.st_mode))
		return 0;
	sub = fd_open_beneath(dir, name, O_RDONLY | O_DIRECTORY);
	if (sub >= 0)
		return walk_directory(walk, sub, depth + 1);
	/* The program may have made it unreadable. */
	walk->list->cut = true;
	return 0;
}

static int walk_named(struct files_walk *walk, int dir, const char *name, int depth)
{
	size_t before = walk->length, length = strlen(name);
	int result;

	walk->full = ++walk->walked > FILES_WALKED_MAX || walk->list->count >= FILES_LISTED_MAX;
	/* Only a directory that is too deep is skipped; other limits end the walk. */
	if (walk->full || depth > FILES_DEPTH_MAX || before + length + 2 > sizeof(walk->path)) {
		walk->list->cut = true;
		return 0;
	}
	if (before > 0)
		walk->path[walk->length++] = '/';
	memcpy(walk->path + walk->length, name, length + 1);
	walk->length += length;
	result = walk_entry(walk, dir, name, depth);
	walk->length = before;
	return result;
}

/* Takes ownership of the descriptor. */
static int walk_directory(struct files_walk *walk, int fd, int depth)
{
	_cleanup_closedir_ DIR *dir = fdopendir(fd);
	const struct dirent *entry;

	if (!dir) {
		close_fd(&fd);
		walk->list->cut = true;
		return 0;
	}
	while (!walk->full && (entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (walk_named(walk, dirfd(dir), entry->d_name, depth) < 0)
			return -1;
	}
	return 0;
}

static int entry_compare(const void *a, const void *b)
{
	return strcmp(((const struct file_entry *)a)->path, ((const struct file_entry *)b)->path);
}

void files_since(struct file_list *list, uint64_t nsec)
{
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++)
		if (list->entries[i].changed >= nsec)
			list->entries[count++] = list->entries[i];
	list->count = count;
}

int files_list(int dir, struct file_list *list, struct error *err)
{
	struct files_walk walk = { .list = list, .err = err };
	int fd;

	*list = (struct file_list){ 0 };
	fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* The program may have made its output directory unreadable: then the list is empty. */
	if (fd < 0)
		return 0;
	if (walk_directory(&walk, fd, 0) < 0)
		return -1;
	if (list->count > 0)
		qsort(list->entries, list->count, sizeof(*list->entries), entry_compare);
	return 0;
}

void files_free(struct file_list *list)
{
	free(list->entries);
	arena_free(&list->arena);
	*list = (struct file_list){ 0 };
}

/* Opens the parent directory of `path` below `to`, creating it if needed. Existing links are refused. */
static int open_parent(int to, const char *path, const char **name)
{
	_cleanup_close_ int dir = fcntl(to, F_DUPFD_CLOEXEC, 3);
	const char *slash;

	while (dir >= 0 && (slash = strchr(path, '/')) != NULL) {
		char part[256];
		int sub;

		if ((size_t)(slash - path) >= sizeof(part)) {
			errno = ENAMETOOLONG;
			return -1;
		}
		memcpy(part, path, (size_t)(slash - path));
		part[slash - path] = '\0';
		if (mkdirat(dir, part, 0755) < 0 && errno != EEXIST)
			return -1;
		sub = openat(dir, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		close_fd(&dir);
		dir = sub;
		path = slash + 1;
	}
	*name = path;
	return take_fd(&dir);
}

/* Copies data and keeps holes, so a huge sparse file takes no time. */
static int copy_data(int from, int to, off_t size, uint64_t *left)
{
	off_t at = 0;

	while (at < size) {
		off_t data = lseek(from, at, SEEK_DATA), end;

		if (data < 0 && errno == ENXIO)
			break;
		if (data < 0)
			return -1;
		end = lseek(from, data, SEEK_HOLE);
		if (end < 0 || lseek(from, data, SEEK_SET) < 0 || lseek(to, data, SEEK_SET) < 0)
			return -1;
		/* A file with several links counts each time, because the limit is on the copies. */
		if ((uint64_t)(end - data) > *left)
			return 1;
		*left -= (uint64_t)(end - data);
		for (at = data; at < end;) {
			char block[16384];
			size_t want = end - at < (off_t)sizeof(block) ? (size_t)(end - at) : sizeof(block);
			ssize_t n = fd_read(from, block, want);

			if (n <= 0 || fd_write(to, block, (size_t)n) < 0)
				return -1;
			at += n;
		}
	}
	return ftruncate(to, size);
}

/* Returns 1 if the program's file cannot be read or exceeds the limit, which is no failure of ours. */
static int copy_file(int dir, const char *path, int to_dir, uint64_t *left)
{
	_cleanup_close_ int from = fd_open_beneath(dir, path, O_RDONLY);
	_cleanup_close_ int parent = -1, to = -1;
	const char *name;
	struct stat st;

	if (from < 0 || fstat(from, &st) < 0 || !S_ISREG(st.st_mode))
		return 1;
	parent = open_parent(to_dir, path, &name);
	if (parent < 0)
		return -1;
	/* An existing link or file of this name is replaced, not written through. */
	if (unlinkat(parent, name, 0) < 0 && errno != ENOENT)
		return -1;
	to = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    st.st_mode & 0111 ? 0755 : 0644);
	if (to < 0)
		return -1;
	int copied = copy_data(from, to, st.st_size, left);
	if (copied > 0)
		unlinkat(parent, name, 0);
	return copied;
}

/* Whether files cannot be created in a directory although root has write permission (/proc, /sys). Sets errno. */
static bool takes_no_files(const char *dir)
{
	struct statfs fs;

	if (statfs(dir, &fs) < 0 || (fs.f_type != PROC_SUPER_MAGIC && fs.f_type != SYSFS_MAGIC))
		return false;
	errno = EPERM;
	return true;
}

int files_check_target(const char *to, struct error *err)
{
	_cleanup_free_ char *parent = strdup(to);
	size_t length = strlen(to);
	struct stat st;

	if (!parent)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot read the attributes of the directory \"%s\"", to);
	if (stat(to, &st) == 0) {
		if (!S_ISDIR(st.st_mode)) {
			errno = ENOTDIR;
			return error_field_errno(err, "output", "cannot open the directory \"%s\"", to);
		}
		if (takes_no_files(to) || faccessat(AT_FDCWD, to, W_OK | X_OK, AT_EACCESS) < 0)
			return error_field_errno(err, "output", "cannot write to the directory \"%s\"", to);
		return 0;
	}
	while (length > 1 && parent[length - 1] == '/')
		length--;
	while (length > 0 && parent[length - 1] != '/')
		length--;
	parent[length] = '\0';
	if (errno != ENOENT || takes_no_files(length ? parent : ".") ||
	    faccessat(AT_FDCWD, length ? parent : ".", W_OK | X_OK, AT_EACCESS) < 0)
		return error_field_errno(err, "output", "cannot make the directory \"%s\"", to);
	return 0;
}

int files_copy(int dir, struct file_list *list, const char *to, uint64_t limit, struct error *err)
{
	_cleanup_close_ int to_dir = -1;
	uint64_t left = limit;

	if (mkdir(to, 0755) < 0 && errno != EEXIST)
		return error_field_errno(err, "output", "cannot make the directory \"%s\"", to);
	to_dir = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (to_dir < 0)
		return error_field_errno(err, "output", "cannot open the directory \"%s\"", to);
	for (size_t i = 0; i < list->count; i++) {
		int copied = copy_file(dir, list->entries[i].path, to_dir, &left);

		if (copied < 0)
			return error_errno(err, "cannot copy \"%.200s\" from /sandbox/output to \"%.200s\"",
					   list->entries[i].path, to);
		list->cut |= copied > 0;
	}
	return 0;
}

bool files_take(int dir, struct file_entry *entry, int to, uint64_t *left)
{
	_cleanup_close_ int from = fd_open_beneath(dir, entry->path, O_RDONLY), parent = -1, file = -1;
	const char *name;
	struct stat st;

	/* The size is checked before the copy; copy_data() notices growth. */
	if (from < 0 || fstat(from, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > *left)
		return false;
	parent = open_parent(to, entry->path, &name);
	if (parent >= 0)
		file = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0)
		return false;
	if (fd_copy(from, file, *left) < 0 || fstat(file, &st) < 0) {
		unlinkat(parent, name, 0);
		return false;
	}
	entry->size = (uint64_t)st.st_size;
	*left -= entry->size;
	return true;
}
