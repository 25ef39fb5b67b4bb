#include "language/cache.h"

#include "base/fd.h"
#include "base/own.h"
#include "base/text.h"
#include "base/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

enum {
	ENTRY_VERSION = 1,
	TEMPORARY_SIZE = 32,  /* bytes of a temporary name */
	TEMPORARY_TRIES = 16, /* names that are tried */
};

struct header {
	char magic[8];         /* "emberbox" */
	uint32_t version;      /* of this format */
	uint32_t mode;         /* always 0 */
	uint64_t size;         /* bytes after the header */
	unsigned char rest[8]; /* always 0 */
};
_Static_assert(sizeof(struct header) == 32, "what is on the disk has a fixed size");

static const char entry_magic[8] = { 'e', 'm', 'b', 'e', 'r', 'b', 'o', 'x' };

static uint64_t size_limit(void)
{
	const char *text = getenv("EMBERBOX_CACHE_SIZE");
	uint64_t size;

	return text && text_size(text, &size) ? size : CACHE_SIZE_MAX;
}

/* -1: the cache is disabled. */
static int builds_dir(void)
{
	return size_limit() == 0 ? -1 : state_subdir("builds");
}

/* An entry decides which code runs, so one that others could have written is ignored. */
static bool entry_ours(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == geteuid() && (st->st_mode & 022) == 0;
}

int cache_get(const struct digest *key, uint64_t *size)
{
	_cleanup_close_ int dir = builds_dir(), fd = -1;
	struct header header;
	struct stat st;
	char name[65];

	if (dir < 0)
		return -1;
	digest_text(key, name);
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !entry_ours(&st))
		return -1;
	if (fd_read(fd, &header, sizeof(header)) != (ssize_t)sizeof(header) ||
	    memcmp(header.magic, entry_magic, sizeof(header.magic)) != 0 || header.version != ENTRY_VERSION ||
	    header.size > CACHE_ENTRY_MAX || header.size + sizeof(header) != (uint64_t)st.st_size) {
		unlinkat(dir, name, 0);
		return -1;
	}
	/* Marks the entry as recently used. */
	futimens(fd, NULL);
	*size = header.size;
	return take_fd(&fd);
}

/*
 * Creates a file with a new name and locks it. cache_trim() removes unlocked
 * temporary files as left by a crash, and a removal between the two steps is
 * detected.
 */
static int temporary_new(int dir, char *name)
{
	for (int i = 0; i < TEMPORARY_TRIES; i++) {
		_cleanup_close_ int fd = -1;
		uint64_t number;
		struct stat st;

		if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
			return -1;
		snprintf(name, TEMPORARY_SIZE, "tmp-%016" PRIx64, number);
		fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0 && errno != EEXIST)
			return -1;
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0 && st.st_nlink > 0)
			return take_fd(&fd);
		if (fd >= 0)
			unlinkat(dir, name, 0);
	}
	errno = EBUSY;
	return -1;
}

/* No fsync: a crash of the host loses the end of a file before its name, so the size in the header detects it. */
static int entry_fill(int to, int from, off_t start, uint64_t *size)
{
	struct header header = { .version = ENTRY_VERSION };
	off_t end;

	memcpy(header.magic, entry_magic, sizeof(header.magic));
	if (lseek(from, start, SEEK_SET) < 0 || lseek(to, (off_t)sizeof(header), SEEK_SET) < 0 ||
	    fd_copy(from, to, CACHE_ENTRY_MAX) < 0)
		return -1;
	end = lseek(to, 0, SEEK_CUR);
	if (end < 0)
		return -1;
	*size = header.size = (uint64_t)end - sizeof(header);
	if (lseek(to, 0, SEEK_SET) < 0)
		return -1;
	return fd_write(to, &header, sizeof(header));
}

/* Writes an entry to the disk. Returns a read-only descriptor, or -1 if it cannot be kept there. */
static int entry_write(int dir, const char *name, int from, off_t start, uint64_t *size)
{
	_cleanup_close_ int to = -1, fd = -1;
	char temporary[TEMPORARY_SIZE];

	to = temporary_new(dir, temporary);
	if (to < 0)
		return -1;
	fd = openat(dir, temporary, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || entry_fill(to, from, start, size) < 0 || lseek(fd, (off_t)sizeof(struct header), SEEK_SET) < 0 ||
	    renameat(dir, temporary, dir, name) < 0) {
		unlinkat(dir, temporary, 0);
		return -1;
	}
	return take_fd(&fd);
}

static int keep_in_memory(int from, off_t start, uint64_t *size, struct error *err)
{
	_cleanup_close_ int fd = memfd_create("build", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
	off_t end;

	/* Linux before 6.3. */
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("build", MFD_CLOEXEC);
	if (fd < 0 || lseek(from, start, SEEK_SET) < 0 || fd_copy(from, fd, CACHE_ENTRY_MAX) < 0)
		return error_errno(err, "cannot keep the built program in memory");
	end = lseek(fd, 0, SEEK_CUR);
	if (end < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return error_errno(err, "cannot keep the built program in memory");
	*size = (uint64_t)end;
	return take_fd(&fd);
}

int cache_put(const struct digest *key, int from, uint64_t *size, struct error *err)
{
	_cleanup_close_ int dir = builds_dir();
	off_t start = lseek(from, 0, SEEK_CUR);
	struct stat st;
	char name[65];
	int fd;

	if (start < 0 || fstat(from, &st) < 0)
		return error_errno(err, "cannot read the built program");
	if (st.st_size - start > CACHE_ENTRY_MAX)
		return error_set(err, ERROR_FAILED, 0, "the built program is larger than %d MiB",
				 CACHE_ENTRY_MAX >> 20);
	digest_text(key, name);
	fd = dir < 0 ? -1 : entry_write(dir, name, from, start, size);
	/* Also after a failure: old entries may have filled the disk. */
	if (dir >= 0)
		cache_trim(size_limit());
	return fd >= 0 ? fd : keep_in_memory(from, start, size, err);
}

struct entry {
	char name[65];        /* the entry's key */
	uint64_t size;        /* of the file */
	struct timespec used; /* time of the last use */
};

struct listing {
	struct entry *entries; /* unsorted */
	size_t count;          /* number of entries */
	size_t room;           /* allocated entries */
	uint64_t size;         /* bytes of all entries */
};

static bool is_key(const char *name)
{
	return strlen(name) == 64 && strspn(name, "0123456789abcdef") == 64;
}

/* A live writer holds a lock on its file. */
static void drop_orphan(int dir, const char *name)
{
	_cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		unlinkat(dir, name, 0);
}

static int list_entry(struct listing *list, int dir, const char *name)
{
	struct entry *entry;
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return 0;
	if (list->count == list->room) {
		size_t room = list->room ? list->room * 2 : 256;
		struct entry *entries = reallocarray(list->entries, room, sizeof(*entries));

		if (!entries)
			return -1;
		list->entries = entries;
		list->room = room;
	}
	entry = &list->entries[list->count++];
	memcpy(entry->name, name, sizeof(entry->name));
	entry->size = (uint64_t)st.st_size;
	entry->used = st.st_mtim;
	list->size += entry->size;
	return 0;
}

static int oldest_first(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->used.tv_sec != b->used.tv_sec)
		return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
	if (a->used.tv_nsec != b->used.tv_nsec)
		return a->used.tv_nsec < b->used.tv_nsec ? -1 : 1;
	return strcmp(a->name, b->name);
}

void cache_trim(uint64_t max)
{
	_cleanup_close_ int builds = state_subdir("builds");
	int fd = builds < 0 ? -1 : openat(builds, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct listing list = { 0 };
	const struct dirent *item;

	if (!dir) {
		close_fd(&fd);
		return;
	}
	while ((item = readdir(dir)) != NULL) {
		if (strncmp(item->d_name, "tmp-", 4) == 0)
			drop_orphan(builds, item->d_name);
		else if (is_key(item->d_name) && list_entry(&list, builds, item->d_name) < 0)
			break;
	}
	if (list.size > max)
		qsort(list.entries, list.count, sizeof(*list.entries), oldest_first);
	for (size_t i = 0; i < list.count && list.size > max; i++) {
		unlinkat(builds, list.entries[i].name, 0);
		list.size -= list.entries[i].size;
	}
	free(list.entries);
}
