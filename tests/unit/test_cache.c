/* Built programs that are kept: found again whole or not at all, bounded, and nobody else's. */
/* tests/run: args=--as root | --as user */
/* tests/run: timeout=120 */
#include "state_home.h"

#include "base/own.h"
#include "language/cache.h"

#include <sys/file.h>
#include <sys/mman.h>

enum {
	HEADER = 32, /* bytes before the program */
};

static struct error err;

/* A file that holds this and stands `skip` bytes behind its start. */
static int source(const void *data, size_t size, size_t skip)
{
	int fd = memfd_create("source", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, (off_t)skip, SEEK_SET) < 0)
		abort();
	return fd;
}

static int put(unsigned number, const void *data, size_t size)
{
	struct digest key = key_of(number);
	_cleanup_close_ int from = source(data, size, 0);
	uint64_t kept = 0;
	int fd = cache_put(&key, from, &kept, &err);

	if (fd < 0)
		check_fail("put: %s", err.text);
	CHECK_INT(kept, size);
	return fd;
}

static void put_text(unsigned number, const char *text)
{
	int fd = put(number, text, strlen(text));

	close_fd(&fd);
}

/* What is left to read of it, "(none)" without a descriptor; static. Closes it. */
static const char *rest(int fd)
{
	static char text[4096];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	close_fd(&fd);
	if (n < 0)
		return "(none)";
	text[n] = '\0';
	return text;
}

static const char *get(unsigned number)
{
	struct digest key = key_of(number);
	uint64_t size = UINT64_MAX;
	int fd = cache_get(&key, &size);
	const char *text = rest(fd);

	if (fd >= 0)
		CHECK_INT(size, strlen(text));
	return text;
}

static void found_again(void)
{
	struct digest key = key_of(1);
	struct stat st;
	uint64_t size = 0;
	int fd, from;

	home_new();
	CHECK_STR(get(1), "(none)");
	/* From where the descriptor stands. */
	from = source("##program", 9, 2);
	fd = cache_put(&key, from, &size, &err);
	CHECK_INT(size, 7);
	CHECK_INT(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	CHECK_INT(fcntl(fd, F_GETFD), FD_CLOEXEC);
	CHECK_STR(rest(fd), "program");
	close(from);
	CHECK_STR(get(1), "program");
	CHECK_STR(get(1), "program");
	CHECK_STR(get(2), "(none)");
	fd = cache_get(&key, &size);
	CHECK_INT(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	CHECK_INT(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close_fd(&fd);
	/* Nobody else reads it, and nothing else is left there. */
	CHECK_INT(fstatat(home_dir, key_path("builds/", 1, ""), &st, 0), 0);
	CHECK_INT(st.st_mode, S_IFREG | 0600);
	CHECK_INT(st.st_size, HEADER + 7);
	CHECK_INT(fstatat(home_dir, "builds", &st, 0), 0);
	CHECK_INT(st.st_mode, S_IFDIR | 0700);
	CHECK_INT(count_entries(home_dir, "builds"), 1);
	home_free();
}

static void empty_and_large(void)
{
	static char large[3 << 20], back[sizeof(large)];
	struct digest key = key_of(2);
	uint64_t size = 1;
	int fd;

	home_new();
	put_text(1, "");
	CHECK_STR(get(1), "");
	for (size_t i = 0; i < sizeof(large); i++)
		large[i] = (char)(i * 7 + i / 251);
	fd = put(2, large, sizeof(large));
	close_fd(&fd);
	fd = cache_get(&key, &size);
	CHECK_INT(size, sizeof(large));
	CHECK_INT(read(fd, back, sizeof(back)), sizeof(large));
	CHECK(memcmp(large, back, sizeof(large)) == 0);
	close_fd(&fd);
	home_free();
}

static void too_large(void)
{
	struct digest key = key_of(1);
	_cleanup_close_ int from = -1;
	uint64_t size;

	home_new();
	from = source("", 0, 0);
	CHECK_INT(ftruncate(from, (off_t)CACHE_ENTRY_MAX + 1), 0);
	CHECK_INT(cache_put(&key, from, &size, &err), -1);
	CHECK_STR(err.text, "the built program is larger than 256 MiB");
	CHECK_STR(get(1), "(none)");
	/* The offset counts: what is before it is not kept. */
	CHECK_INT(lseek(from, CACHE_ENTRY_MAX - 2, SEEK_SET), CACHE_ENTRY_MAX - 2);
	close(cache_put(&key, from, &size, &err));
	CHECK_INT(size, 3);
	home_free();
}

/* Puts an entry, changes byte `at` of its file or cuts it there, and expects a miss that heals. */
static void damage(const char *how, off_t at)
{
	int fd;

	put_text(1, "program");
	CHECK_STR(get(1), "program");
	fd = openat(home_dir, key_path("builds/", 1, ""), O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0);
	if (strcmp(how, "cut") == 0)
		CHECK_INT(ftruncate(fd, at), 0);
	else
		CHECK_INT(pwrite(fd, "\xff", 1, at), 1);
	close_fd(&fd);
	CHECK_STR(get(1), "(none)");
	CHECK(!exists(home_dir, key_path("builds/", 1, "")));
}

static void damaged(void)
{
	home_new();
	damage("cut", 0);
	damage("cut", HEADER - 1);
	damage("cut", HEADER);
	damage("cut", HEADER + 6);
	damage("cut", HEADER + 8);
	damage("change", 0);
	damage("change", 8);
	damage("change", 16);
	damage("change", 23);
	put_text(1, "program");
	CHECK_STR(get(1), "program");
	home_free();
}

static void writable_by_others(void)
{
	home_new();
	put_text(1, "program");
	tree_mode(home_dir, key_path("builds/", 1, ""), 0620);
	CHECK_STR(get(1), "(none)");
	tree_mode(home_dir, key_path("builds/", 1, ""), 0602);
	CHECK_STR(get(1), "(none)");
	tree_mode(home_dir, key_path("builds/", 1, ""), 0644);
	CHECK_STR(get(1), "program");
	/* The directory decides as well: who can write to it can rename entries. */
	tree_mode(home_dir, "builds", 0770);
	CHECK_STR(get(1), "(none)");
	tree_mode(home_dir, "builds", 0755);
	CHECK_STR(get(1), "program");
	/* A new one takes the place of one that is not trusted. */
	tree_mode(home_dir, key_path("builds/", 1, ""), 0666);
	put_text(1, "other");
	CHECK_STR(get(1), "other");
	home_free();
}

static void of_another_owner(void)
{
	home_new();
	put_text(1, "program");
	CHECK_INT(fchownat(home_dir, key_path("builds/", 1, ""), AS_ID, (gid_t)-1, 0), 0);
	CHECK_STR(get(1), "(none)");
	CHECK_INT(fchownat(home_dir, key_path("builds/", 1, ""), geteuid(), (gid_t)-1, 0), 0);
	CHECK_STR(get(1), "program");
	home_free();
}

static void not_a_plain_file(void)
{
	char moved[512];

	home_new();
	put_text(1, "program");
	snprintf(moved, sizeof(moved), "%s", key_path("builds/", 2, ""));
	CHECK_INT(renameat(home_dir, key_path("builds/", 1, ""), home_dir, moved), 0);
	CHECK_STR(get(2), "program");
	tree_link(moved + strlen("builds/"), home_dir, key_path("builds/", 1, ""));
	CHECK_STR(get(1), "(none)");
	/* What the link names is left alone. */
	put_text(1, "another");
	CHECK_STR(get(1), "another");
	CHECK_STR(get(2), "program");
	CHECK_INT(mkfifoat(home_dir, key_path("builds/", 3, ""), 0600), 0);
	CHECK_STR(get(3), "(none)");
	/* A directory cannot be replaced: kept for this run alone. */
	CHECK_INT(mkdirat(home_dir, key_path("builds/", 4, ""), 0700), 0);
	CHECK_STR(get(4), "(none)");
	CHECK_STR(rest(put(4, "memory", 6)), "memory");
	CHECK_STR(get(4), "(none)");
	/* So is the directory of all of them. */
	CHECK_INT(renameat(home_dir, "builds", home_dir, "real"), 0);
	tree_link("real", home_dir, "builds");
	CHECK_STR(get(2), "(none)");
	home_free();
}

static void used_at(unsigned number, time_t seconds, long nanoseconds)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = seconds, .tv_nsec = nanoseconds } };

	CHECK_INT(utimensat(home_dir, key_path("builds/", number, ""), times, 0), 0);
}

static bool kept(unsigned number)
{
	return exists(home_dir, key_path("builds/", number, ""));
}

static void the_oldest_go_first(void)
{
	static const char text[] = "0123456789abcdef0123456789abcdef"; /* with its header 64 bytes */

	home_new();
	for (unsigned i = 1; i <= 5; i++)
		put_text(i, text);
	used_at(3, 1000, 1);
	used_at(1, 1000, 2);
	used_at(5, 2000, 0);
	used_at(2, 3000, 0);
	used_at(4, 4000, 0);
	cache_trim(5 * 64);
	CHECK_INT(count_entries(home_dir, "builds"), 5);
	cache_trim(5 * 64 - 1);
	CHECK(!kept(3));
	CHECK_INT(count_entries(home_dir, "builds"), 4);
	/* Using it makes it the newest. */
	CHECK_STR(get(1), text);
	cache_trim(2 * 64);
	CHECK(!kept(5) && !kept(2) && kept(4) && kept(1));
	/* What is not an entry neither counts nor goes. */
	tree_write(home_dir, "builds/README", text, 32);
	cache_trim(64);
	CHECK(!kept(4) && kept(1));
	CHECK(exists(home_dir, "builds/README"));
	cache_trim(0);
	CHECK(!kept(1));
	CHECK(exists(home_dir, "builds/README"));
	home_free();
}

static void bounded_by_the_environment(void)
{
	char block[1024] = { 0 };
	int fd;

	home_new();
	setenv("EMBERBOX_CACHE_SIZE", "4k", 1);
	for (unsigned i = 1; i <= 8; i++) {
		fd = put(i, block, sizeof(block) - HEADER);
		close_fd(&fd);
		used_at(i, 1000 + i, 0);
	}
	CHECK_INT(count_entries(home_dir, "builds"), 4);
	CHECK(!kept(4) && kept(5) && kept(8));
	/* One that is larger than all of it: still there for who put it. */
	setenv("EMBERBOX_CACHE_SIZE", "100", 1);
	CHECK_STR(rest(put(9, "0123456789012345678901234567890123456789012345678901234567890123456789", 70)),
		  "0123456789012345678901234567890123456789012345678901234567890123456789");
	CHECK_INT(count_entries(home_dir, "builds"), 0);
	/* Nonsense is the default; 0 keeps nothing. */
	setenv("EMBERBOX_CACHE_SIZE", "lots", 1);
	put_text(1, "program");
	CHECK_STR(get(1), "program");
	setenv("EMBERBOX_CACHE_SIZE", "0", 1);
	CHECK_STR(get(1), "(none)");
	CHECK_STR(rest(put(2, "memory", 6)), "memory");
	CHECK(!kept(2));
	unsetenv("EMBERBOX_CACHE_SIZE");
	CHECK_STR(get(1), "program");
	home_free();
}

static void open_though_removed(void)
{
	struct digest key = key_of(1);
	uint64_t size = 0;
	int fd;

	home_new();
	put_text(1, "program");
	fd = cache_get(&key, &size);
	cache_trim(0);
	CHECK_STR(get(1), "(none)");
	CHECK_STR(rest(fd), "program");
	home_free();
}

/* What a crash left goes; what somebody is writing stays. */
static void left_aside(void)
{
	int fd;

	home_new();
	put_text(1, "program");
	tree_write(home_dir, "builds/tmp-0000000000000001", "half", 4);
	tree_write(home_dir, "builds/tmp-0000000000000002", "half", 4);
	fd = openat(home_dir, "builds/tmp-0000000000000002", O_RDWR | O_CLOEXEC);
	CHECK_INT(flock(fd, LOCK_EX | LOCK_NB), 0);
	put_text(2, "program");
	CHECK(!exists(home_dir, "builds/tmp-0000000000000001"));
	CHECK(exists(home_dir, "builds/tmp-0000000000000002"));
	close_fd(&fd);
	cache_trim(UINT64_MAX);
	CHECK(!exists(home_dir, "builds/tmp-0000000000000002"));
	CHECK_INT(count_entries(home_dir, "builds"), 2);
	home_free();
}

static void nowhere_to_keep(void)
{
	home_new();
	setenv("EMBERBOX_HOME", "/proc/nowhere", 1);
	CHECK_STR(rest(put(1, "program", 7)), "program");
	CHECK_STR(get(1), "(none)");
	cache_trim(0);
	setenv("EMBERBOX_HOME", home, 1);
	CHECK_STR(rest(put(1, "program", 7)), "program");
	CHECK_STR(get(1), "program");
	home_free();
}

static void in_a_full_place(int number)
{
	static char block[256 << 10];
	struct digest key = key_of(3);
	_cleanup_close_ int from = memfd_create("source", MFD_CLOEXEC);
	uint64_t size = 0;
	int fd;

	(void)number;
	home_shrink("size=64k,mode=0700");
	put_text(1, "program");
	CHECK_STR(get(1), "program");
	memset(block, 'x', sizeof(block));
	/* From the offset again, though a part of it was read already. */
	CHECK_INT(write(from, block, sizeof(block)), sizeof(block));
	CHECK_INT(lseek(from, 100, SEEK_SET), 100);
	fd = cache_put(&key, from, &size, &err);
	CHECK_INT(size, sizeof(block) - 100);
	CHECK_INT(read(fd, block, sizeof(block)), sizeof(block) - 100);
	CHECK_INT(block[0], 'x');
	close_fd(&fd);
	CHECK_STR(get(3), "(none)");
	CHECK_INT(count_entries(home_dir, "builds"), 1);
	CHECK_STR(get(1), "program");
	put_text(2, "second");
	CHECK_STR(get(2), "second");
}

static void no_room(void)
{
	home_new();
	child_end(child_start(in_a_full_place, 0));
	home_free();
}

enum {
	BUSY_KEYS = 8,
	BUSY_ROUNDS = 200,
	BUSY_PROCESSES = 4,
};

/* What stands under a key is known, and of another size for each. */
static size_t busy_content(unsigned key, unsigned char *data)
{
	size_t size = 1000 + key * 7001;

	for (size_t i = 0; i < size; i++)
		data[i] = (unsigned char)(key * 31 + i % 253);
	return size;
}

static void busy(int number)
{
	static unsigned char want[65536], have[65536];
	unsigned seed = (unsigned)number + 1;

	for (int i = 0; i < BUSY_ROUNDS; i++) {
		unsigned at = (unsigned)rand_r(&seed) % BUSY_KEYS;
		struct digest key = key_of(at);
		size_t size = busy_content(at, want);
		uint64_t found = 0;
		int fd = cache_get(&key, &found);

		if (fd < 0)
			fd = put(at, want, found = size);
		CHECK_INT(found, size);
		CHECK_INT(read(fd, have, sizeof(have)), size);
		CHECK(memcmp(have, want, size) == 0);
		close_fd(&fd);
	}
}

/* Eight programs of 204 KiB in all, room for half of them: always somebody removes what another reads or writes. */
static void many_at_once(void)
{
	pid_t children[BUSY_PROCESSES];

	home_new();
	setenv("EMBERBOX_CACHE_SIZE", "100k", 1);
	for (int i = 0; i < BUSY_PROCESSES; i++)
		children[i] = child_start(busy, i);
	for (int i = 0; i < BUSY_PROCESSES; i++)
		child_end(children[i]);
	unsetenv("EMBERBOX_CACHE_SIZE");
	/* Nothing is left aside, and what is there is whole. */
	for (unsigned i = 0; i < BUSY_KEYS; i++) {
		struct digest key = key_of(i);
		uint64_t size;
		int fd = cache_get(&key, &size);

		CHECK_INT(fd >= 0, kept(i));
		if (fd >= 0)
			CHECK_INT(size, 1000 + i * 7001);
		close_fd(&fd);
	}
	CHECK(count_entries(home_dir, "builds") <= BUSY_KEYS);
	cache_trim(0);
	CHECK_INT(count_entries(home_dir, "builds"), 0);
	home_free();
}

int main(int argc, char **argv)
{
	enum as_mode mode = as_enter(argc, argv);

	RUN(found_again);
	RUN(empty_and_large);
	RUN(too_large);
	RUN(damaged);
	RUN(writable_by_others);
	/* Only root can give a file away. */
	if (mode == AS_ROOT)
		RUN(of_another_owner);
	RUN(not_a_plain_file);
	RUN(the_oldest_go_first);
	RUN(bounded_by_the_environment);
	RUN(open_though_removed);
	RUN(left_aside);
	RUN(nowhere_to_keep);
	RUN(no_room);
	RUN(many_at_once);
	return check_failures > 0;
}
