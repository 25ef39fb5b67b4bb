#include "language/folder.h"

#include "base/fd.h"
#include "base/own.h"
#include "base/yaml.h"
#include "language/definition.h"
#include "language/definition_explain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFINITION "runtime.yaml"
#define EXPLAIN    "explain.yaml"

static int out_of_memory(const char *where, struct error *err)
{
	return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold %s", where);
}

/* The path of a file beside runtime.yaml, for errors. */
static void put_path(char *out, size_t size, const char *where, const char *name)
{
	const char *slash = strrchr(where, '/');

	snprintf(out, size, "%.*s%s", slash ? (int)(slash + 1 - where) : 0, where, name);
}

/* Reads a plain file of at most `most` bytes into the arena. Returns 1 if it is a directory. */
static int file_read(int dir, const char *name, const char *where, bool own, size_t most, struct arena *arena,
		     void **data, size_t *size, struct error *err)
{
	/* Without O_NONBLOCK, opening a FIFO would block. */
	_cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	char path[512];
	struct stat st;
	ssize_t n;

	put_path(path, sizeof(path), where, name);
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, "cannot open %s", path);
	if (S_ISDIR(st.st_mode))
		return 1;
	if (!S_ISREG(st.st_mode))
		return error_usage(err, "%s: expected a plain file", path);
	if (own && ((st.st_uid != geteuid() && st.st_uid != 0) || (st.st_mode & 022)))
		return error_usage(err, "%s belongs to another user, or others can write to it", path);
	if ((uint64_t)st.st_size > most)
		return error_usage(err, "%s: expected at most %zu KiB", path, most >> 10);
	*data = arena_alloc(arena, (size_t)st.st_size + 1);
	if (!*data)
		return out_of_memory(path, err);
	/* A file that grows meanwhile is truncated. */
	n = fd_read(fd, *data, (size_t)st.st_size);
	if (n < 0)
		return error_errno(err, "cannot read %s", path);
	*size = (size_t)n;
	return 0;
}

static bool is_driver(const char *name)
{
	size_t length = strlen(name);

	return name[0] != '.' && strcmp(name, DEFINITION) != 0 && strcmp(name, EXPLAIN) != 0 &&
	       name[length - 1] != '~' && !(length > 3 && strcmp(name + length - 3, ".md") == 0);
}

bool folder_reads(const char *name)
{
	return is_driver(name) || strcmp(name, DEFINITION) == 0 || strcmp(name, EXPLAIN) == 0;
}

bool folder_has_definition(int dir)
{
	return faccessat(dir, DEFINITION, F_OK, 0) == 0;
}

static int by_name(const void *a, const void *b)
{
	const struct runtime_driver *one = a, *other = b;

	return strcmp(one->name, other->name);
}

static int drivers_read(DIR *dir, const char *where, bool own, struct arena *arena, struct runtime *out,
			struct error *err)
{
	struct runtime_driver *drivers = arena_alloc(arena, FOLDER_FILES_MAX * sizeof(*drivers));
	struct dirent *entry;
	size_t count = 0;

	if (!drivers)
		return out_of_memory(where, err);
	while ((errno = 0, entry = readdir(dir)) != NULL) {
		struct runtime_driver driver = { 0 };
		void *data = NULL;
		int kind;

		if (!is_driver(entry->d_name))
			continue;
		kind = file_read(dirfd(dir), entry->d_name, where, own, FOLDER_FILE_MAX, arena, &data, &driver.size,
				 err);
		if (kind < 0)
			return -1;
		if (kind > 0)
			continue;
		if (count == FOLDER_FILES_MAX)
			return error_usage(err, "%s: expected at most %d files beside %s", where, FOLDER_FILES_MAX,
					   DEFINITION);
		driver.name = arena_string(arena, entry->d_name);
		driver.data = data;
		if (!driver.name)
			return out_of_memory(where, err);
		drivers[count++] = driver;
	}
	if (errno)
		return error_errno(err, "cannot list the folder of %s", where);
	qsort(drivers, count, sizeof(*drivers), by_name);
	out->drivers = drivers;
	out->driver_count = count;
	return 0;
}

static bool driver_there(const struct runtime *runtime, const char *name)
{
	for (size_t i = 0; i < runtime->driver_count; i++)
		if (strcmp(runtime->drivers[i].name, name) == 0)
			return true;
	return false;
}

static int drivers_check(const struct runtime *runtime, const char *where, struct error *err)
{
	const char *const *const lists[] = { runtime->prepare.step.argv, runtime->compile.step.argv,
					     runtime->compile.unchecked, runtime->run,
					     runtime->buffered,          runtime->session.step.argv };
	static const char start[] = "{drivers}/";

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		for (const char *const *word = lists[i]; word && *word; word++) {
			if (strncmp(*word, start, strlen(start)) != 0 || driver_there(runtime, *word + strlen(start)))
				continue;
			return error_usage(err, "%s: expected the file %.64s beside it, for %.80s", where,
					   *word + strlen(start), *word);
		}
	}
	return 0;
}

/* explain.yaml is optional. */
static int explain_read(DIR *dir, const char *where, bool own, struct arena *arena, struct runtime *out,
			struct error *err)
{
	char path[512], *kept;
	void *text = NULL;
	size_t size = 0;
	int kind;

	if (faccessat(dirfd(dir), EXPLAIN, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	put_path(path, sizeof(path), where, EXPLAIN);
	kind = file_read(dirfd(dir), EXPLAIN, where, own, YAML_SIZE_MAX, arena, &text, &size, err);
	if (kind > 0)
		return error_usage(err, "%s: expected a plain file, not a directory", path);
	kept = kind < 0 ? NULL : arena_string(arena, path);
	if (kind == 0 && !kept)
		return out_of_memory(path, err);
	return kind < 0 ? -1 : definition_explain_read(kept, text, size, arena, &out->explain, err);
}

int folder_read(int dir_fd, const char *name, const char *where, bool own, struct arena *arena, struct runtime *out,
		struct error *err)
{
	_cleanup_close_ int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	void *text = NULL;
	size_t size = 0;
	int kind;

	if (!dir)
		return error_errno(err, "cannot open the folder of %s", where);
	take_fd(&fd);
	kind = file_read(dirfd(dir), DEFINITION, where, own, YAML_SIZE_MAX, arena, &text, &size, err);
	if (kind > 0)
		return error_usage(err, "%s: expected a plain file, not a directory", where);
	if (kind < 0 || definition_read(name, where, text, size, arena, out, err) < 0 ||
	    explain_read(dir, where, own, arena, out, err) < 0 || drivers_read(dir, where, own, arena, out, err) < 0)
		return -1;
	return drivers_check(out, where, err);
}
