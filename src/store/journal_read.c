/* The journal's reader (journal.h). */
#include "store/journal.h"

#include "base/own.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

void journal_reader_init(struct journal_reader *reader, int dir)
{
	*reader = (struct journal_reader){ .dir = dir, .fd = -1, .current = -1, .offset = JOURNAL_HEAD };
}

void journal_reader_free(struct journal_reader *reader)
{
	close_fd(&reader->fd);
	close_fd(&reader->current);
	free(reader->data);
	reader->data = NULL;
	reader->room = 0;
}

static void reader_begin(struct journal_reader *reader, int fd, const unsigned char *generation)
{
	reader->fd = fd;
	if (memcmp(reader->generation, generation, JOURNAL_GENERATION) == 0)
		return;
	memcpy(reader->generation, generation, JOURNAL_GENERATION);
	reader->offset = JOURNAL_HEAD;
}

/* Finds an old file, preferring the known generation; "": there is none. */
static int find_old(int dir, const unsigned char *known, char name[64], struct error *err)
{
	_cleanup_closedir_ DIR *list = NULL;
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *entry;

	name[0] = '\0';
	list = fd < 0 ? NULL : fdopendir(fd);
	if (!list) {
		close_fd(&fd);
		return error_errno(err, "cannot list the state directory");
	}
	while ((entry = readdir(list))) {
		unsigned char generation[JOURNAL_GENERATION];
		_cleanup_close_ int file = -1;
		bool is_known;

		if (strncmp(entry->d_name, JOURNAL_OLD, strlen(JOURNAL_OLD)) != 0 || strlen(entry->d_name) >= 64)
			continue;
		file = openat(dir, entry->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		if (file < 0 || !journal_generation(file, generation))
			continue;
		is_known = memcmp(generation, known, sizeof(generation)) == 0;
		if (name[0] == '\0' || is_known)
			strcpy(name, entry->d_name);
		if (is_known)
			break;
	}
	return 0;
}

/* Switches to the next old file, or to the journal itself. */
static int reader_turn(struct journal_reader *reader, const unsigned char *known, struct error *err)
{
	unsigned char generation[JOURNAL_GENERATION];
	int fd;

	if (find_old(reader->dir, known, reader->old, err) < 0)
		return -1;
	if (reader->old[0] == '\0') {
		fd = take_fd(&reader->current);
	} else {
		fd = openat(reader->dir, reader->old, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		if (fd < 0)
			return error_errno(err, "cannot open %s in the state directory", reader->old);
	}
	if (!journal_generation(fd, generation)) {
		close_fd(&fd);
		return error_set(err, ERROR_FAILED, 0, "the journal in the state directory is damaged");
	}
	reader_begin(reader, fd, generation);
	return 1;
}

int journal_reader_open(struct journal_reader *reader, const unsigned char known[JOURNAL_GENERATION], struct error *err)
{
	unsigned char generation[JOURNAL_GENERATION];
	struct stat st, named;

	if (reader->fd >= 0 && reader->old[0])
		return 1;
	if (fstatat(reader->dir, "journal", &named, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno != ENOENT)
			return error_errno(err, "cannot read the journal's attributes");
		/* Usual in a directory without runs; costs one system call. */
	} else if (reader->fd >= 0 && fstat(reader->fd, &st) == 0 && st.st_ino == named.st_ino &&
		   st.st_dev == named.st_dev) {
		return 1;
	}
	close_fd(&reader->fd);
	close_fd(&reader->current);
	reader->current = journal_file_open(reader->dir, generation, err);
	return reader->current < 0 ? -1 : reader_turn(reader, known, err);
}

void journal_reader_done(struct journal_reader *reader)
{
	if (reader->old[0] == '\0')
		return;
	unlinkat(reader->dir, reader->old, 0);
	reader->old[0] = '\0';
	close_fd(&reader->fd);
}

static uint64_t file_size(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;
}

uint64_t journal_left(const struct journal_reader *reader)
{
	uint64_t size = reader->fd < 0 ? 0 : file_size(reader->fd);

	return size > reader->offset ? size - reader->offset : 0;
}

static bool read_at(int fd, void *data, size_t size, uint64_t offset)
{
	for (size_t used = 0; used < size;) {
		ssize_t n = pread(fd, (char *)data + used, size - used, (off_t)(offset + used));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		used += (size_t)n;
	}
	return true;
}

static bool frame_fits(const struct journal_reader *reader, const struct journal_frame *frame, uint64_t room,
		       uint64_t *all)
{
	*all = 0;
	if (memcmp(frame->generation, reader->generation, sizeof(frame->generation)) != 0 ||
	    memcmp(frame->magic, "EBJ1", 4) != 0)
		return false;
	for (int i = 0; i < JOURNAL_PARTS; i++) {
		if (frame->sizes[i] > JOURNAL_RECORD_MAX)
			return false;
		*all += frame->sizes[i];
	}
	return *all <= JOURNAL_RECORD_MAX && *all <= room;
}

/* 1: a complete record is at the offset; 0: no, or not yet; -1. */
static int read_one(struct journal_reader *reader, uint64_t offset, struct journal_record *record, struct error *err)
{
	uint64_t size = file_size(reader->fd), all, sum, sums[JOURNAL_PARTS];
	struct journal_frame frame;
	char *at;

	if (size < offset + sizeof(frame) || !read_at(reader->fd, &frame, sizeof(frame), offset) ||
	    !frame_fits(reader, &frame, size - offset - sizeof(frame), &all))
		return 0;
	if (reader->room < all + JOURNAL_PARTS) {
		char *data = realloc(reader->data, all + JOURNAL_PARTS);

		if (!data)
			return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold a record of the journal");
		reader->data = data;
		reader->room = all + JOURNAL_PARTS;
	}
	offset += sizeof(frame);
	at = reader->data;
	for (int i = 0; i < JOURNAL_PARTS; i++) {
		if (!read_at(reader->fd, at, frame.sizes[i], offset))
			return 0;
		sums[i] = journal_sum((uint64_t)i, at, frame.sizes[i]);
		record->parts[i] = at;
		record->sizes[i] = frame.sizes[i];
		at[frame.sizes[i]] = '\0';
		at += frame.sizes[i] + 1;
		offset += frame.sizes[i];
	}
	sum = frame.sum;
	frame.sum = 0;
	if (journal_sum(journal_sum(0, sums, sizeof(sums)), &frame, sizeof(frame)) != sum)
		return 0;
	record->kind = (enum record_kind)frame.kind;
	return 1;
}

static void record_accept(struct journal_reader *reader, uint64_t offset, struct journal_record *record)
{
	record->offset = offset;
	reader->offset = offset + JOURNAL_HEAD;
	for (int i = 0; i < JOURNAL_PARTS; i++)
		reader->offset += record->sizes[i];
}

/* Searches for the next frame after `from`: 1 with *found, 0, -1. */
static int find_next(struct journal_reader *reader, uint64_t from, uint64_t *found, struct journal_record *record,
		     struct error *err)
{
	enum {
		BLOCK = 64 << 10
	};
	_cleanup_free_ char *block = malloc(BLOCK);
	const size_t keep = JOURNAL_GENERATION - 1;

	if (!block)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot read the journal");
	for (;;) {
		ssize_t n = pread(reader->fd, block, BLOCK, (off_t)from);
		const char *at = block;

		if (n <= (ssize_t)keep)
			return n < 0 ? error_errno(err, "cannot read the journal") : 0;
		while ((at = memmem(at, (size_t)n - (size_t)(at - block), reader->generation, JOURNAL_GENERATION))) {
			int there = read_one(reader, from + (uint64_t)(at - block), record, err);

			if (there != 0) {
				*found = from + (uint64_t)(at - block);
				return there;
			}
			at++;
		}
		from += (uint64_t)n - keep;
	}
}

/* With the exclusive lock there is no writer, so an incomplete record stays incomplete. */
static int reader_repair(struct journal_reader *reader, struct journal_record *record, struct error *err)
{
	uint64_t found = 0, size;
	int there = read_one(reader, reader->offset, record, err);

	if (there > 0)
		record_accept(reader, reader->offset, record);
	if (there != 0)
		return there;
	there = find_next(reader, reader->offset + 1, &found, record, err);
	if (there < 0)
		return -1;
	if (there > 0) {
		reader->skipped += found - reader->offset;
		record_accept(reader, found, record);
		return 1;
	}
	size = file_size(reader->fd);
	if (size > reader->offset) {
		reader->skipped += size - reader->offset;
		if (ftruncate(reader->fd, (off_t)reader->offset) < 0)
			return error_errno(err, "cannot remove an incomplete record from the journal");
	}
	return 0;
}

int journal_read(struct journal_reader *reader, struct journal_record *record, struct error *err)
{
	enum {
		TRIES = 50
	};

	if (reader->fd < 0)
		return 0;
	/* Does not wait for the lock: a steady stream of writers may never release it. */
	for (int tries = 0; tries < TRIES; tries++) {
		int there = read_one(reader, reader->offset, record, err);

		if (there > 0)
			record_accept(reader, reader->offset, record);
		if (there != 0 || journal_left(reader) == 0)
			return there;
		if (flock(reader->fd, LOCK_EX | LOCK_NB) == 0) {
			there = reader_repair(reader, record, err);
			flock(reader->fd, LOCK_UN);
			return there;
		}
		usleep(1000);
	}
	return 0;
}

int journal_renew(struct journal_reader *reader, struct error *err)
{
	int done = 0;

	if (reader->fd < 0 || reader->old[0] || reader->offset <= JOURNAL_HEAD || journal_left(reader) > 0)
		return 0;
	if (journal_file_new(reader->dir, "journal.new", err) < 0)
		return -1;
	if (flock(reader->fd, LOCK_EX | LOCK_NB) == 0) {
		struct stat ours, named;

		if (journal_left(reader) == 0 && fstat(reader->fd, &ours) == 0 &&
		    fstatat(reader->dir, "journal", &named, AT_SYMLINK_NOFOLLOW) == 0 && ours.st_ino == named.st_ino &&
		    renameat(reader->dir, "journal.new", reader->dir, "journal") < 0)
			done = error_errno(err, "cannot create a new journal");
		flock(reader->fd, LOCK_UN);
	}
	unlinkat(reader->dir, "journal.new", 0);
	return done;
}
