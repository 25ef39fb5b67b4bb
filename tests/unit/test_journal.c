/* The journal: what is appended is read once and whole, whoever dies in the middle. */
#include "../check.h"

#include "base/own.h"
#include "store/fields.h"
#include "store/journal.h"
#include "store/record.h"

#include <limits.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char home[64];
static struct error err;
static const unsigned char nothing[JOURNAL_GENERATION];

/* A state directory of its own for a test. */
static int home_new(void)
{
	strcpy(home, "/tmp/emberbox-journal-XXXXXX");
	if (!mkdtemp(home))
		abort();
	setenv("EMBERBOX_HOME", home, 1);
	return open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void home_end(int dir)
{
	char command[128];

	close(dir);
	snprintf(command, sizeof(command), "rm -r %s", home);
	CHECK_INT(system(command), 0);
}

static void add(struct journal *journal, const char *text)
{
	char fields[300];

	snprintf(fields, sizeof(fields), "{\"n\":\"%s\"}", text);
	CHECK_INT(record_event(journal, "test", fields, &err), 0);
}

static int next(struct journal_reader *reader, char *text, size_t size)
{
	struct journal_record record;
	int there = journal_read(reader, &record, &err);

	if (there > 0)
		snprintf(text, size, "%.*s", (int)record.sizes[1], record.parts[1]);
	return there;
}

#define CHECK_NEXT(reader, want)                                                                                       \
	do {                                                                                                           \
		char text_[300] = "";                                                                                  \
		CHECK_INT(next(reader, text_, sizeof(text_)), 1);                                                      \
		CHECK_STR(text_, "{\"n\":\"" want "\"}");                                                              \
	} while (0)

static void is_read_as_written(void)
{
	int dir = home_new();
	struct journal *journal = NULL;
	struct journal_reader reader;
	struct stat st;
	char text[300];

	CHECK_INT(journal_open(&journal, &err), 0);
	CHECK_INT(fstatat(dir, "journal", &st, 0), 0);
	CHECK_INT(st.st_mode & 0777, 0600);
	add(journal, "one");
	journal_reader_init(&reader, dir);
	CHECK_INT(journal_reader_open(&reader, nothing, &err), 1);
	CHECK_NEXT(&reader, "one");
	CHECK_INT(next(&reader, text, sizeof(text)), 0);
	add(journal, "two");
	CHECK_NEXT(&reader, "two");
	CHECK_INT(journal_left(&reader), 0);
	CHECK_INT(reader.skipped, 0);
	journal_reader_free(&reader);
	journal_close(journal);
	home_end(dir);
}

/* Whoever moves it away does not take what is written after that with it. */
static void moved_file_is_left(void)
{
	int dir = home_new();
	struct journal *journal = NULL;
	struct journal_reader reader;

	CHECK_INT(journal_open(&journal, &err), 0);
	add(journal, "before");
	CHECK_INT(renameat(dir, "journal", dir, "elsewhere"), 0);
	add(journal, "after");
	journal_reader_init(&reader, dir);
	CHECK_INT(journal_reader_open(&reader, nothing, &err), 1);
	CHECK_NEXT(&reader, "after");
	journal_reader_free(&reader);
	journal_close(journal);
	home_end(dir);
}

static void wakes_who_waits(void)
{
	int dir = home_new(), nudge = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	struct journal *journal = NULL;
	uint64_t count = 0;

	CHECK_INT(journal_open(&journal, &err), 0);
	add(journal, "unheard");
	journal_nudge(journal, nudge);
	CHECK_ERRNO(read(nudge, &count, sizeof(count)), EAGAIN);
	add(journal, "heard");
	CHECK_INT(read(nudge, &count, sizeof(count)), sizeof(count));
	CHECK_INT(count, 1);
	close(nudge);
	journal_close(journal);
	home_end(dir);
}

/* What a killed writer leaves: each length of a beginning of a record. */
static void torn_record_is_passed_over(void)
{
	int dir = home_new();
	char record[4096], path[128];
	struct journal *journal = NULL;
	struct journal_reader reader;
	struct stat st;
	long size;
	int fd;

	CHECK_INT(journal_open(&journal, &err), 0);
	add(journal, "one");
	snprintf(path, sizeof(path), "%s/journal", home);
	fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC);
	size = pread(fd, record, sizeof(record), JOURNAL_HEAD);
	journal_reader_init(&reader, dir);
	CHECK_INT(journal_reader_open(&reader, nothing, &err), 1);
	CHECK_NEXT(&reader, "one");
	for (long cut = 1; cut < size; cut++) {
		char text[300];

		/* At the end: cut off. */
		CHECK_INT(write(fd, record, (size_t)cut), cut);
		CHECK_INT(next(&reader, text, sizeof(text)), 0);
		CHECK_INT(fstat(fd, &st), 0);
		CHECK_INT(st.st_size, (long long)reader.offset);
		/* In the middle: the next is found. */
		CHECK_INT(write(fd, record, (size_t)cut), cut);
		add(journal, "next");
		CHECK_NEXT(&reader, "next");
		CHECK_INT(next(&reader, text, sizeof(text)), 0);
	}
	CHECK_INT(reader.skipped, (long long)(size - 1) * size);
	close(fd);
	journal_reader_free(&reader);
	journal_close(journal);
	home_end(dir);
}

static void changed_byte_costs_one_record(void)
{
	int dir = home_new();
	struct journal *journal = NULL;
	struct journal_reader reader;
	char path[128], byte = '#';
	int fd;

	CHECK_INT(journal_open(&journal, &err), 0);
	add(journal, "one");
	journal_reader_init(&reader, dir);
	CHECK_INT(journal_reader_open(&reader, nothing, &err), 1);
	CHECK_NEXT(&reader, "one");
	add(journal, "two");
	snprintf(path, sizeof(path), "%s/journal", home);
	fd = open(path, O_RDWR | O_CLOEXEC);
	CHECK_INT(pwrite(fd, &byte, 1, lseek(fd, 0, SEEK_END) - 3), 1);
	add(journal, "three");
	CHECK_NEXT(&reader, "three");
	close(fd);
	journal_reader_free(&reader);
	journal_close(journal);
	home_end(dir);
}

/* A record in a record's text, as a program could write it that had seen a journal: never taken for one. */
static void forged_record_is_text(void)
{
	int dir = home_new();
	struct journal *journal = NULL;
	struct journal_reader reader;
	char path[128], stolen[4096], text[300];
	struct iovec parts[JOURNAL_PARTS] = { 0 };
	long size;
	int fd;

	CHECK_INT(journal_open(&journal, &err), 0);
	add(journal, "forged");
	snprintf(path, sizeof(path), "%s/journal", home);
	fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC);
	size = pread(fd, stolen, sizeof(stolen), JOURNAL_HEAD);
	journal_reader_init(&reader, dir);
	CHECK_INT(journal_reader_open(&reader, nothing, &err), 1);
	CHECK_NEXT(&reader, "forged");
	CHECK_INT(journal_renew(&reader, &err), 0);
	parts[2] = (struct iovec){ .iov_base = stolen, .iov_len = (size_t)size };
	CHECK_INT(journal_append(journal, RECORD_EVENT, parts, &err), 0);
	close(fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	/* The one around it is torn, so that the reader looks for the next. */
	CHECK_INT(pwrite(fd, "#", 1, 2 * JOURNAL_HEAD - 1), 1);
	add(journal, "true");
	CHECK_INT(journal_reader_open(&reader, nothing, &err), 1);
	CHECK_NEXT(&reader, "true");
	CHECK_INT(next(&reader, text, sizeof(text)), 0);
	close(fd);
	journal_reader_free(&reader);
	journal_close(journal);
	home_end(dir);
}

static void full_disk_leaves_no_half_record(void)
{
	int dir = home_new();
	struct journal *journal = NULL;
	struct journal_reader reader;
	struct rlimit old, small;
	char large[4096];
	struct stat before, after;

	memset(large, 'x', sizeof(large));
	CHECK_INT(journal_open(&journal, &err), 0);
	add(journal, "one");
	CHECK_INT(fstatat(dir, "journal", &before, 0), 0);
	/* A write beyond the limit is as short as one on a full disk. */
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small = old;
	small.rlim_cur = (rlim_t)before.st_size + 500;
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &small), 0);
	CHECK_INT(journal_append(journal, RECORD_EVENT,
				 (struct iovec[JOURNAL_PARTS]){ [1] = { .iov_base = large, .iov_len = sizeof(large) } },
				 &err),
		  -1);
	CHECK_STR(err.text, "cannot write to the journal in the state directory: No space left on device");
	setrlimit(RLIMIT_FSIZE, &old);
	CHECK_INT(fstatat(dir, "journal", &after, 0), 0);
	CHECK_INT(after.st_size, before.st_size);
	add(journal, "two");
	journal_reader_init(&reader, dir);
	CHECK_INT(journal_reader_open(&reader, nothing, &err), 1);
	CHECK_NEXT(&reader, "one");
	CHECK_NEXT(&reader, "two");
	CHECK_INT(reader.skipped, 0);
	journal_reader_free(&reader);
	journal_close(journal);
	home_end(dir);
}

static void new_file_is_found_by_writers(void)
{
	int dir = home_new();
	struct journal *journal = NULL;
	struct journal_reader reader;
	unsigned char first[JOURNAL_GENERATION];
	struct stat st;

	CHECK_INT(journal_open(&journal, &err), 0);
	journal_reader_init(&reader, dir);
	CHECK_INT(journal_reader_open(&reader, nothing, &err), 1);
	add(journal, "one");
	/* Not while something is unread. */
	memcpy(first, reader.generation, sizeof(first));
	CHECK_INT(journal_renew(&reader, &err), 0);
	CHECK_INT(journal_reader_open(&reader, nothing, &err), 1);
	CHECK_INT(memcmp(first, reader.generation, sizeof(first)), 0);
	CHECK_NEXT(&reader, "one");
	CHECK_INT(journal_renew(&reader, &err), 0);
	CHECK_INT(fstatat(dir, "journal", &st, 0), 0);
	CHECK_INT(st.st_size, JOURNAL_HEAD);
	CHECK_ERRNO(fstatat(dir, "journal.new", &st, 0), ENOENT);
	add(journal, "two");
	CHECK_INT(journal_reader_open(&reader, nothing, &err), 1);
	CHECK(memcmp(first, reader.generation, sizeof(first)) != 0);
	CHECK_INT(reader.offset, JOURNAL_HEAD);
	CHECK_NEXT(&reader, "two");
	journal_reader_free(&reader);
	journal_close(journal);
	home_end(dir);
}

static void writes_again_when_it_can_be_opened_again(void)
{
	int dir = home_new();
	struct journal *journal = NULL;
	struct journal_reader reader;

	CHECK_INT(journal_open(&journal, &err), 0);
	add(journal, "one");
	CHECK_INT(unlinkat(dir, "journal", 0), 0);
	CHECK_INT(mkdirat(dir, "journal", 0700), 0);
	for (int i = 0; i < 2; i++) {
		CHECK_INT(record_event(journal, "test", "{}", &err), -1);
		CHECK_STR(err.text, "cannot open the journal in the state directory: Is a directory");
	}
	CHECK_INT(unlinkat(dir, "journal", AT_REMOVEDIR), 0);
	add(journal, "two");
	journal_reader_init(&reader, dir);
	CHECK_INT(journal_reader_open(&reader, nothing, &err), 1);
	CHECK_NEXT(&reader, "two");
	journal_reader_free(&reader);
	journal_close(journal);
	home_end(dir);
}

static void strange_file_is_put_aside(void)
{
	int dir = home_new();
	int fd = openat(dir, "journal", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	struct journal *journal = NULL;
	struct journal_reader reader;
	struct stat st;

	CHECK_INT(write(fd, "rubbish", 7), 7);
	close(fd);
	CHECK_INT(journal_open(&journal, &err), 0);
	add(journal, "one");
	CHECK_INT(fstatat(dir, "journal.damaged", &st, 0), 0);
	CHECK_INT(st.st_size, 7);
	journal_reader_init(&reader, dir);
	CHECK_INT(journal_reader_open(&reader, nothing, &err), 1);
	CHECK_NEXT(&reader, "one");
	journal_reader_free(&reader);
	journal_close(journal);
	home_end(dir);
}

/* The header of a file of another start of the machine. */
static void make_old(int dir)
{
	int fd = openat(dir, "journal", O_RDWR | O_CLOEXEC);
	struct journal_header header;

	CHECK_INT(pread(fd, &header, sizeof(header), 0), sizeof(header));
	header.boot[3] ^= 1;
	header.sum = 0;
	header.sum = journal_sum(0, &header, sizeof(header));
	CHECK_INT(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	close(fd);
}

static void file_of_another_boot_comes_first(void)
{
	int dir = home_new();
	struct journal *journal = NULL;
	struct journal_reader reader;
	char text[300];

	for (int i = 0; i < 2; i++) {
		CHECK_INT(journal_open(&journal, &err), 0);
		add(journal, "old");
		journal_close(journal);
		make_old(dir);
	}
	CHECK_INT(journal_open(&journal, &err), 0);
	add(journal, "new");
	journal_reader_init(&reader, dir);
	for (int i = 0; i < 2; i++) {
		CHECK_INT(journal_reader_open(&reader, nothing, &err), 1);
		CHECK(reader.old[0] != '\0');
		CHECK_NEXT(&reader, "old");
		CHECK_INT(next(&reader, text, sizeof(text)), 0);
		journal_reader_done(&reader);
	}
	CHECK_INT(journal_reader_open(&reader, nothing, &err), 1);
	CHECK_STR(reader.old, "");
	CHECK_NEXT(&reader, "new");
	journal_reader_free(&reader);
	journal_close(journal);
	home_end(dir);
}

static void writer_is_known_to_live(void)
{
	int dir = home_new(), ends[2];
	uint64_t writer = 0;
	pid_t child;

	CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
	child = fork();
	if (child == 0) {
		struct journal *journal;

		if (journal_open(&journal, &err) < 0)
			_exit(1);
		writer = journal_writer(journal);
		if (write(ends[1], &writer, sizeof(writer)) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	CHECK_INT(read(ends[0], &writer, sizeof(writer)), sizeof(writer));
	CHECK(journal_writer_lives(dir, writer));
	CHECK(!journal_writer_lives(dir, writer + 2));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	CHECK(!journal_writer_lives(dir, writer));
	close(ends[0]);
	close(ends[1]);
	home_end(dir);
}

enum {
	WRITERS = 3,
	EACH = 1000,
};

/* Numbers its records, and tells each after it was appended. */
static void write_many(int number, int go, int tell, unsigned count)
{
	struct journal *journal;
	struct error child_err = { 0 };
	char fields[4096];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (journal_open(&journal, &child_err) < 0)
		_exit(1);
	for (unsigned i = 0; i < count; i++) {
		snprintf(fields, sizeof(fields), "{\"w\":%d,\"i\":%u,\"x\":\"%0*d\"}", number, i,
			 (int)(i * 7 % 3000) + 1, 0);
		if (record_event(journal, "test", fields, &child_err) < 0)
			_exit(2);
		/* Now and then only when it is let, so that there are moments in which all is read. */
		if (go >= 0 && i % 50 == 0 && read(go, &(char){ 0 }, 1) != 1)
			_exit(4);
		if (tell >= 0 && write(tell, &i, sizeof(i)) != sizeof(i))
			_exit(3);
	}
	_exit(0);
}

/* Reads what is there, `most` records of it, and checks that each writer's come in their order and none is missing. */
static void read_many(struct journal_reader *reader, unsigned most, unsigned seen[WRITERS])
{
	struct journal_record record;

	while (most-- > 0 && journal_reader_open(reader, nothing, &err) == 1 &&
	       journal_read(reader, &record, &err) == 1) {
		int writer = -1;
		unsigned i = 0;

		CHECK_INT(sscanf(record.parts[1], "{\"w\":%d,\"i\":%u", &writer, &i), 2);
		if (writer < 0 || writer >= WRITERS) {
			check_fail("a record of writer %d", writer);
			return;
		}
		CHECK_INT(i, seen[writer]);
		seen[writer]++;
	}
}

static void several_write_while_it_is_renewed(void)
{
	int dir = home_new();
	unsigned seen[WRITERS] = { 0 }, renewed = 0;
	unsigned char last[JOURNAL_GENERATION] = { 0 };
	struct journal_reader reader;
	pid_t children[WRITERS];
	int living = WRITERS, go[2], waiting;

	CHECK_INT(pipe2(go, O_CLOEXEC), 0);
	for (int i = 0; i < WRITERS; i++) {
		children[i] = fork();
		if (children[i] == 0)
			write_many(i, go[0], -1, EACH);
	}
	journal_reader_init(&reader, dir);
	while (living > 0) {
		int status;

		read_many(&reader, UINT_MAX, seen);
		CHECK_INT(journal_renew(&reader, &err), 0);
		renewed += memcmp(last, reader.generation, sizeof(last)) != 0;
		memcpy(last, reader.generation, sizeof(last));
		if (ioctl(go[0], FIONREAD, &waiting) == 0 && waiting == 0)
			CHECK_INT(write(go[1], "+++", WRITERS), WRITERS);
		while (living > 0 && waitpid(-1, &status, WNOHANG) > 0) {
			living--;
			CHECK_INT(status, 0);
		}
	}
	read_many(&reader, UINT_MAX, seen);
	for (int i = 0; i < WRITERS; i++)
		CHECK_INT(seen[i], EACH);
	CHECK(renewed > 1);
	close(go[0]);
	close(go[1]);
	CHECK_INT(reader.skipped, 0);
	journal_reader_free(&reader);
	home_end(dir);
}

static void killed_writers_lose_nothing_they_told(void)
{
	int dir = home_new();
	struct journal_reader reader;

	journal_reader_init(&reader, dir);
	srandom(1);
	for (int round = 0; round < 40; round++) {
		unsigned seen[WRITERS] = { 0 }, told[WRITERS] = { 0 };
		pid_t children[WRITERS];
		int ends[WRITERS][2];

		for (int i = 0; i < WRITERS; i++) {
			CHECK_INT(pipe2(ends[i], O_CLOEXEC), 0);
			fcntl(ends[i][1], F_SETPIPE_SZ, 1 << 20);
			children[i] = fork();
			if (children[i] == 0)
				write_many(i, -1, ends[i][1], 50000);
			close(ends[i][1]);
		}
		for (int i = 0; i < WRITERS; i++) {
			unsigned first;

			/* It has begun: then for some moments more. */
			CHECK_INT(read(ends[i][0], &first, sizeof(first)), sizeof(first));
			told[i]++;
		}
		/* Some: who reads all follows the writers up to their last. */
		if (round % 2)
			read_many(&reader, 100, seen);
		nanosleep(&(struct timespec){ .tv_nsec = random() % 3000000 }, NULL);
		for (int i = 0; i < WRITERS; i++)
			kill(children[i], SIGKILL);
		for (int i = 0; i < WRITERS; i++) {
			unsigned number;

			waitpid(children[i], NULL, 0);
			while (read(ends[i][0], &number, sizeof(number)) == sizeof(number))
				told[i]++;
			close(ends[i][0]);
		}
		read_many(&reader, UINT_MAX, seen);
		for (int i = 0; i < WRITERS; i++) {
			CHECK(seen[i] >= told[i]);
			CHECK(seen[i] <= told[i] + 1);
		}
		CHECK_INT(journal_renew(&reader, &err), 0);
	}
	journal_reader_free(&reader);
	home_end(dir);
}

static void *thread_writes(void *data)
{
	struct error thread_err = { 0 };

	for (int i = 0; i < 300; i++)
		if (record_event(data, "test", "{\"n\":\"t\"}", &thread_err) < 0)
			return data;
	return NULL;
}

static void threads_share_one(void)
{
	int dir = home_new();
	struct journal *journal = NULL;
	struct journal_reader reader;
	pthread_t threads[4];
	char text[300];
	int count = 0;

	CHECK_INT(journal_open(&journal, &err), 0);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, thread_writes, journal);
	for (int i = 0; i < 4; i++) {
		void *failed = NULL;

		pthread_join(threads[i], &failed);
		CHECK(!failed);
	}
	journal_reader_init(&reader, dir);
	CHECK_INT(journal_reader_open(&reader, nothing, &err), 1);
	while (next(&reader, text, sizeof(text)) == 1)
		count++;
	CHECK_INT(count, 1200);
	journal_reader_free(&reader);
	journal_close(journal);
	home_end(dir);
}

static void fields_are_checked(void)
{
	_cleanup_buf_ struct buf fields = { 0 };
	struct field_set set;

	field_add_text(&fields, FIELD_ID, "abc");
	field_add_number(&fields, FIELD_EXIT_CODE, 139);
	CHECK(field_parse(fields.data, fields.size, &set));
	CHECK_STR(set.text[FIELD_ID], "abc");
	CHECK_INT(set.number[FIELD_EXIT_CODE], 139);
	CHECK_STR(set.text[FIELD_CALLER], "");
	for (size_t size = 1; size < fields.size; size++)
		CHECK(size == 12 || !field_parse(fields.data, size, &set));
}

int main(void)
{
	RUN(is_read_as_written);
	RUN(moved_file_is_left);
	RUN(wakes_who_waits);
	RUN(torn_record_is_passed_over);
	RUN(changed_byte_costs_one_record);
	RUN(forged_record_is_text);
	RUN(full_disk_leaves_no_half_record);
	RUN(new_file_is_found_by_writers);
	RUN(writes_again_when_it_can_be_opened_again);
	RUN(strange_file_is_put_aside);
	RUN(file_of_another_boot_comes_first);
	RUN(writer_is_known_to_live);
	RUN(several_write_while_it_is_renewed);
	RUN(killed_writers_lose_nothing_they_told);
	RUN(threads_share_one);
	RUN(fields_are_checked);
	return check_failures > 0;
}
