/* The journal's file and its writers (journal.h). */
#include "store/journal.h"

#include "base/fd.h"
#include "base/own.h"
#include "base/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static const char header_magic[24] = "emberbox journal 1\n";

enum {
	NOTES = 64 /* running runs whose digest is kept; for others it is computed again */
};

struct journal {
	int dir;                                      /* the state directory */
	int fd;                                       /* the current file */
	int writers;                                  /* STATE/writers, where `writer` is locked */
	int nudge;                                    /* an eventfd, or -1; borrowed */
	uint64_t writer;                              /* number of this writer */
	unsigned char generation[JOURNAL_GENERATION]; /* of the current file */
	pthread_mutex_t lock;                         /* all threads share a file's lock and position */
	size_t note_next;                             /* index of the oldest note */
	struct {
		char id[RESULT_ID];       /* "": none */
		unsigned char digest[32]; /* of its code */
	} notes[NOTES];                   /* the newest runs that started */
};

/* A checksum against accidents, not attacks: nobody else can write to the file. Processes eight bytes at a time. */
uint64_t journal_sum(uint64_t seed, const void *data, size_t size)
{
	const uint64_t prime = 0x9E3779B97F4A7C15;
	const unsigned char *at = data;
	uint64_t sum = seed ^ (size * prime), word;

	for (; size >= 8; at += 8, size -= 8) {
		memcpy(&word, at, 8);
		sum = (sum ^ word) * prime;
		sum ^= sum >> 29;
	}
	if (size > 0) {
		word = 0;
		memcpy(&word, at, size);
		sum = (sum ^ word) * prime;
		sum ^= sum >> 29;
	}
	return sum;
}

static int lock_file(int fd, int how)
{
	int done;

	do
		done = flock(fd, how);
	while (done < 0 && errno == EINTR);
	return done;
}

static unsigned char boot[16]; /* the boot_id; 0: unknown */
static pthread_once_t boot_once = PTHREAD_ONCE_INIT;

static void boot_read(void)
{
	static const char hex[] = "0123456789abcdef";
	size_t digits = 0;
	char text[64];

	if (fd_slurp(AT_FDCWD, "/proc/sys/kernel/random/boot_id", text, sizeof(text)) < 0)
		return;
	for (const char *at = text; *at && digits < 2 * sizeof(boot); at++) {
		const char *place = strchr(hex, *at);

		if (!place)
			continue;
		boot[digits / 2] = (unsigned char)(boot[digits / 2] << 4 | (place - hex));
		digits++;
	}
}

static bool is_zero(const unsigned char bytes[16])
{
	static const unsigned char zero[16];

	return memcmp(bytes, zero, sizeof(zero)) == 0;
}

enum file_state {
	FILE_OURS,
	FILE_OLD,
	FILE_DAMAGED
};

static enum file_state file_state(int fd, unsigned char generation[JOURNAL_GENERATION])
{
	struct journal_header header;
	uint64_t sum;

	if (pread(fd, &header, sizeof(header), 0) != sizeof(header))
		return FILE_DAMAGED;
	sum = header.sum;
	header.sum = 0;
	if (memcmp(header.magic, header_magic, sizeof(header_magic)) != 0 ||
	    journal_sum(0, &header, sizeof(header)) != sum)
		return FILE_DAMAGED;
	memcpy(generation, header.generation, JOURNAL_GENERATION);
	pthread_once(&boot_once, boot_read);
	if (is_zero(boot) || is_zero(header.boot) || memcmp(boot, header.boot, sizeof(boot)) == 0)
		return FILE_OURS;
	return FILE_OLD;
}

bool journal_generation(int fd, unsigned char generation[JOURNAL_GENERATION])
{
	return file_state(fd, generation) != FILE_DAMAGED;
}

/* Creates a file with only a header, and syncs it before it gets the journal's name. */
int journal_file_new(int dir, const char *name, struct error *err)
{
	struct journal_header header = { 0 };
	_cleanup_close_ int fd = -1;

	memcpy(header.magic, header_magic, sizeof(header_magic));
	if (getrandom(header.generation, sizeof(header.generation), 0) != sizeof(header.generation))
		return error_errno(err, "cannot write the header of a journal");
	pthread_once(&boot_once, boot_read);
	memcpy(header.boot, boot, sizeof(header.boot));
	header.sum = journal_sum(0, &header, sizeof(header));
	unlinkat(dir, name, 0);
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || fd_write(fd, &header, sizeof(header)) < 0 || fdatasync(fd) < 0) {
		int saved = errno;

		unlinkat(dir, name, 0);
		errno = saved;
		return error_errno(err, "cannot create a journal in the state directory");
	}
	return 0;
}

/* Creates the journal unless another process has. */
static int file_make(int dir, struct error *err)
{
	static _Atomic unsigned turn;
	char name[64];
	int done = 0;

	snprintf(name, sizeof(name), "journal.%d.%u", (int)getpid(), atomic_fetch_add(&turn, 1));
	if (journal_file_new(dir, name, err) < 0)
		return -1;
	if (linkat(dir, name, dir, "journal", 0) < 0 && errno != EEXIST)
		done = error_errno(err, "cannot create the journal");
	unlinkat(dir, name, 0);
	return done;
}

static bool is_current(int dir, int fd)
{
	struct stat ours, named;

	return fstat(fd, &ours) == 0 && fstatat(dir, "journal", &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       ours.st_ino == named.st_ino && ours.st_dev == named.st_dev;
}

/* Renames a file that must not be appended to, unless another process has. */
static int set_aside(int dir, int fd, struct error *err)
{
	unsigned char generation[JOURNAL_GENERATION];
	char name[64] = "journal.damaged";
	enum file_state state;
	int done = 0;

	if (lock_file(fd, LOCK_EX) < 0)
		return error_errno(err, "cannot lock the journal");
	state = file_state(fd, generation);
	if (state == FILE_OLD) {
		int length = snprintf(name, sizeof(name), JOURNAL_OLD);

		for (int i = 0; i < JOURNAL_GENERATION; i++)
			length += snprintf(name + length, sizeof(name) - (size_t)length, "%02x", generation[i]);
	}
	if (state != FILE_OURS && is_current(dir, fd) && renameat(dir, "journal", dir, name) < 0)
		done = error_errno(err, "cannot rename the journal");
	lock_file(fd, LOCK_UN);
	return done;
}

int journal_file_open(int dir, unsigned char generation[JOURNAL_GENERATION], struct error *err)
{
	for (int tries = 0; tries < 16; tries++) {
		_cleanup_close_ int fd =
			openat(dir, "journal", O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		struct stat st;

		if (fd < 0 && errno == ENOENT) {
			if (file_make(dir, err) < 0)
				return -1;
			continue;
		}
		if (fd < 0 || fstat(fd, &st) < 0)
			return error_errno(err, "cannot open the journal in the state directory");
		if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
			return error_set(err, ERROR_FAILED, 0,
					 "the journal in the state directory is not a file of this program");
		if (file_state(fd, generation) == FILE_OURS)
			return take_fd(&fd);
		if (set_aside(dir, fd, err) < 0)
			return -1;
	}
	return error_set(err, ERROR_FAILED, EAGAIN, "the journal keeps being replaced");
}

/* Locks the byte whose offset is our number. The lock ends with the last descriptor, that is, with the process. */
static int writer_begin(struct journal *journal, struct error *err)
{
	journal->writers = openat(journal->dir, "writers", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (journal->writers < 0)
		return error_errno(err, "cannot open \"writers\" in the state directory");
	for (int tries = 0; tries < 16; tries++) {
		struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };

		if (getrandom(&journal->writer, sizeof(journal->writer), 0) != sizeof(journal->writer))
			break;
		journal->writer = (journal->writer >> 2) | 1;
		lock.l_start = (off_t)journal->writer;
		if (fcntl(journal->writers, F_OFD_SETLK, &lock) == 0)
			return 0;
	}
	return error_errno(err, "cannot lock \"writers\" in the state directory");
}

bool journal_writer_lives(int dir, uint64_t writer)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)writer, .l_len = 1 };
	_cleanup_close_ int fd = openat(dir, "writers", O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return errno != ENOENT;
	/* On an error, the writer is assumed to be alive. */
	return fcntl(fd, F_OFD_GETLK, &lock) < 0 || lock.l_type != F_UNLCK;
}

int journal_open(struct journal **out, struct error *err)
{
	struct journal *journal = calloc(1, sizeof(*journal));

	*out = NULL;
	if (!journal)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot open the journal");
	journal->dir = journal->fd = journal->writers = journal->nudge = -1;
	pthread_mutex_init(&journal->lock, NULL);
	journal->dir = state_dir(true);
	if (journal->dir < 0)
		error_set(err, ERROR_FAILED, 0,
			  "there is no state directory that only we can write to; set EMBERBOX_HOME to one");
	if (journal->dir < 0 || writer_begin(journal, err) < 0 ||
	    (journal->fd = journal_file_open(journal->dir, journal->generation, err)) < 0) {
		journal_close(journal);
		return -1;
	}
	*out = journal;
	return 0;
}

void journal_close(struct journal *journal)
{
	if (!journal)
		return;
	close_fd(&journal->fd);
	close_fd(&journal->writers);
	close_fd(&journal->dir);
	pthread_mutex_destroy(&journal->lock);
	free(journal);
}

void journal_nudge(struct journal *journal, int eventfd)
{
	journal->nudge = eventfd;
}

bool journal_is_long(int dir)
{
	struct stat st;

	return fstatat(dir, "journal", &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size > JOURNAL_LONG;
}

int journal_dir(const struct journal *journal)
{
	return journal->dir;
}

uint64_t journal_writer(const struct journal *journal)
{
	return journal->writer;
}

void journal_note(struct journal *journal, const char *id, const unsigned char digest[32])
{
	pthread_mutex_lock(&journal->lock);
	snprintf(journal->notes[journal->note_next].id, RESULT_ID, "%s", id);
	memcpy(journal->notes[journal->note_next].digest, digest, 32);
	journal->note_next = (journal->note_next + 1) % NOTES;
	pthread_mutex_unlock(&journal->lock);
}

bool journal_noted(struct journal *journal, const char *id, unsigned char digest[32])
{
	bool found = false;

	pthread_mutex_lock(&journal->lock);
	for (size_t i = 0; i < NOTES && !found; i++) {
		found = strcmp(journal->notes[i].id, id) == 0 && id[0];
		if (found)
			memcpy(digest, journal->notes[i].digest, 32);
	}
	pthread_mutex_unlock(&journal->lock);
	return found;
}

/* Takes the shared lock on the file that currently has the journal's name. */
static int lock_current(struct journal *journal, struct error *err)
{
	for (int tries = 0; tries < 16; tries++) {
		/* Retries if it could not be opened before. */
		if (journal->fd < 0)
			journal->fd = journal_file_open(journal->dir, journal->generation, err);
		if (journal->fd < 0)
			return -1;
		if (lock_file(journal->fd, LOCK_SH) < 0)
			return error_errno(err, "cannot lock the journal");
		if (is_current(journal->dir, journal->fd))
			return 0;
		close_fd(&journal->fd);
	}
	return error_set(err, ERROR_FAILED, EAGAIN, "the journal keeps being replaced");
}

/*
 * Removes our incomplete record if it is still the end of the file. Converting
 * a lock is not atomic, so other writers may have appended; only our own frame
 * is cut off.
 */
static void take_back(int fd, const struct journal_frame *frame, uint64_t written)
{
	size_t seen = written < sizeof(*frame) ? (size_t)written : sizeof(*frame);
	off_t end = lseek(fd, 0, SEEK_CUR);
	struct journal_frame there;
	struct stat st;

	if (written == 0 || end < (off_t)(JOURNAL_HEAD + written) || lock_file(fd, LOCK_EX) < 0)
		return;
	if (fstat(fd, &st) == 0 && st.st_size == end &&
	    pread(fd, &there, seen, end - (off_t)written) == (ssize_t)seen && memcmp(&there, frame, seen) == 0)
		(void)!ftruncate(fd, end - (off_t)written);
}

static int write_record(struct journal *journal, const struct journal_frame *frame, const struct iovec *parts,
			struct error *err)
{
	struct iovec all[1 + JOURNAL_PARTS] = { { .iov_base = (void *)frame, .iov_len = sizeof(*frame) } };
	uint64_t size = sizeof(*frame);
	ssize_t written;

	for (int i = 0; i < JOURNAL_PARTS; i++) {
		all[1 + i] = parts[i];
		size += parts[i].iov_len;
	}
	do
		written = writev(journal->fd, all, ARRAY_SIZE(all));
	while (written < 0 && errno == EINTR);
	if (written >= 0 && (uint64_t)written == size)
		return 0;
	/* A partial write sets no errno; the disk is most likely full. */
	if (written >= 0)
		errno = ENOSPC;
	error_errno(err, "cannot write to the journal in the state directory");
	if (written > 0)
		take_back(journal->fd, frame, (uint64_t)written);
	return -1;
}

int journal_append(struct journal *journal, enum record_kind kind, const struct iovec parts[JOURNAL_PARTS],
		   struct error *err)
{
	struct journal_frame frame = { .magic = { 'E', 'B', 'J', '1' }, .kind = kind };
	uint64_t all = 0, sums[JOURNAL_PARTS];
	int done;

	for (int i = 0; i < JOURNAL_PARTS; i++) {
		frame.sizes[i] = parts[i].iov_len;
		all += parts[i].iov_len;
		sums[i] = journal_sum((uint64_t)i, parts[i].iov_base, parts[i].iov_len);
	}
	if (all > JOURNAL_RECORD_MAX)
		return error_set(err, ERROR_FAILED, EFBIG, "a record of %llu bytes is too large for the journal",
				 (unsigned long long)all);
	pthread_mutex_lock(&journal->lock);
	done = lock_current(journal, err);
	if (done == 0) {
		memcpy(frame.generation, journal->generation, sizeof(frame.generation));
		frame.sum = journal_sum(journal_sum(0, sums, sizeof(sums)), &frame, sizeof(frame));
		done = write_record(journal, &frame, parts, err);
	}
	if (journal->fd >= 0)
		lock_file(journal->fd, LOCK_UN);
	pthread_mutex_unlock(&journal->lock);
	/* At RECORD_START the caller wakes the store later. */
	if (done == 0 && kind != RECORD_START)
		journal_tell(journal);
	return done;
}

void journal_tell(const struct journal *journal)
{
	if (journal && journal->nudge >= 0)
		(void)!write(journal->nudge, &(uint64_t){ 1 }, sizeof(uint64_t));
}
