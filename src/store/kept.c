#include "store/kept.h"

#include "base/fd.h"
#include "base/json_check.h"
#include "base/own.h"
#include "language/tree.h"
#include "store/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENDING    ".files"
#define TEMPORARY ".tmp"

enum {
	NAME_MAX_OURS = RESULT_ID + 16 /* bytes of ".ID.files.tmp" */
};

void kept_name(const char *id, char name[RESULT_ID + 8])
{
	snprintf(name, RESULT_ID + 8, "%.*s" ENDING, RESULT_ID - 1, id);
}

bool kept_is_name(const char *name, char id[RESULT_ID], bool *whole)
{
	*whole = name[0] != '.';
	name += !*whole;
	if (strlen(name) < RESULT_ID - 1 || strcmp(name + RESULT_ID - 1, *whole ? ENDING : ENDING TEMPORARY) != 0)
		return false;
	snprintf(id, RESULT_ID, "%s", name);
	return true;
}

bool kept_is_path(const char *path)
{
	size_t size = strlen(path);

	if (size > KEPT_PATH_MAX || !json_is_plain_text(path, size))
		return false;
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)path[i] < ' ' || path[i] == 0x7f)
			return false;
	for (;;) {
		size = strcspn(path, "/");
		if (size == 0 || (size <= 2 && memcmp(path, "..", size) == 0))
			return false;
		if (path[size] == '\0')
			return true;
		path += size + 1;
	}
}

bool kept_any(const struct file_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->entries[i].kept)
			return true;
	return false;
}

/* Returns the number of copied files. */
static size_t copy_all(int to, int output, struct file_list *list)
{
	uint64_t left = KEPT_BYTES_MAX;
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++) {
		struct file_entry *entry = &list->entries[i];

		entry->kept = kept_is_path(entry->path) && files_take(output, entry, to, &left);
		count += entry->kept;
	}
	return count;
}

static size_t copy_into(int executions, const char *id, int output, struct file_list *list)
{
	char name[RESULT_ID + 8], path[NAME_MAX_OURS];
	_cleanup_close_ int to = -1;
	size_t count = 0;

	kept_name(id, name);
	snprintf(path, sizeof(path), ".%s" TEMPORARY, name);
	if (mkdirat(executions, path, 0700) < 0)
		return 0;
	to = openat(executions, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (to >= 0)
		count = copy_all(to, output, list);
	if (count > 0 && renameat(executions, path, executions, name) == 0)
		return count;
	tree_remove(executions, path);
	return 0;
}

void kept_copy(int state, const char *id, int output, struct file_list *list)
{
	_cleanup_close_ int executions = list->count > 0 ? spool_dir(state) : -1;

	if (list->count == 0 || (executions >= 0 && copy_into(executions, id, output, list) > 0))
		return;
	for (size_t i = 0; i < list->count; i++)
		list->entries[i].kept = false;
}

int kept_open(int executions, const char *id, const char *path)
{
	_cleanup_close_ int dir = -1, fd = -1;
	char name[RESULT_ID + 8];
	struct stat st;

	kept_name(id, name);
	errno = ENOENT;
	if (!kept_is_path(path))
		return -1;
	dir = openat(executions, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	fd = dir < 0 ? -1 : fd_open_beneath(dir, path, O_RDONLY);
	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
		errno = ENOENT;
		return -1;
	}
	return take_fd(&fd);
}

/* Takes the descriptor. Our directories are not deeper than files_list() allows. */
static uint64_t size_level(int fd, int depth)
{
	_cleanup_closedir_ DIR *dir = fdopendir(fd);
	const struct dirent *entry;
	uint64_t size = 0;

	if (!dir)
		close_fd(&fd);
	while (dir && (entry = readdir(dir)) != NULL) {
		struct stat st;
		int sub;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		size += KEPT_ENTRY;
		if (S_ISREG(st.st_mode))
			size += (uint64_t)st.st_size;
		if (!S_ISDIR(st.st_mode) || depth > FILES_DEPTH_MAX)
			continue;
		sub = openat(dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		size += sub < 0 ? 0 : size_level(sub, depth + 1);
	}
	return size;
}

uint64_t kept_size(int executions, const char *name)
{
	int fd = openat(executions, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? 0 : KEPT_ENTRY + size_level(fd, 0);
}

uint64_t kept_remove(int executions, const char *name)
{
	uint64_t size = kept_size(executions, name);

	tree_remove(executions, name);
	return size;
}
