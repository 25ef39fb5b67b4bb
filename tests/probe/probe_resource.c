/* R: taking more than was given. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Memory that really is there: each page is written to. */
static void *take(uint64_t size)
{
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	for (uint64_t at = 0; at < size; at += 4096)
		memory[at] = 1;
	return memory;
}

static void allocate(const char *arg)
{
	say_rc(take(size_of(arg)) ? 0 : -1);
}

/* The same, after it has closed its /proc files to others of its uid. */
static void allocate_hidden(const char *arg)
{
	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		say("prctl: %s", error_name(errno));
	else
		allocate(arg);
}

static const char *leaderless_size; /* of what the second thread takes */

static void *leaderless_thread(void *unused)
{
	allocate(leaderless_size);
	/* The whole process, and what was said. */
	exit(0);
	return unused;
}

/* The same, by a thread of a process whose first thread has ended: its files in /proc show no memory any more. */
static void allocate_leaderless(const char *arg)
{
	pthread_t thread;

	leaderless_size = arg;
	if (pthread_create(&thread, NULL, leaderless_thread, NULL) != 0)
		say("pthread_create: %s", error_name(errno));
	else
		syscall(SYS_exit, 0);
}

/* Arg: COUNT:SIZE. Each process takes SIZE and keeps it until all have theirs, and a while longer: where no control
 * group counts, memory is looked at every 10 ms, on a busy machine later. */
static void allocate_split(const char *arg)
{
	int count = atoi(arg), ready[2], go[2];
	const char *size = strchr(arg, ':');
	char byte = 0;

	if (!size || pipe(ready) < 0 || pipe(go) < 0) {
		say("bad argument");
		return;
	}
	for (int i = 0; i < count; i++)
		if (fork() == 0) {
			close(go[1]);
			if (!take(size_of(size + 1)) || write(ready[1], &byte, 1) != 1)
				_exit(1);
			if (read(go[0], &byte, 1) < 0)
				_exit(1);
			_exit(0);
		}
	close(ready[1]);
	int have = 0;

	while (read(ready[0], &byte, 1) == 1)
		if (++have == count)
			break;
	nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
	close(go[1]);
	while (wait(NULL) > 0)
		;
	say("%d of %d", have, count);
}

/* Arg: PATH:SIZE of a tmpfs file. */
static void write_file(const char *arg)
{
	static char block[65536];
	char path[PATH_MAX];
	const char *size = strrchr(arg, ':');
	uint64_t wanted = size ? size_of(size + 1) : 0, done = 0;

	signal(SIGXFSZ, SIG_IGN);
	snprintf(path, sizeof(path), "%.*s", (int)(size - arg), arg);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0) {
		say("open: %s", error_name(errno));
		return;
	}
	memset(block, 'x', sizeof(block));
	while (done < wanted) {
		ssize_t put = write(fd, block, wanted - done < sizeof(block) ? wanted - done : sizeof(block));

		if (put < 0) {
			say("%llu %s", (unsigned long long)done, error_name(errno));
			return;
		}
		done += (uint64_t)put;
	}
	say("%llu OK", (unsigned long long)done);
}

static void fill_map(int fd, uint64_t size)
{
	char *map = ftruncate(fd, (off_t)size) < 0 ? MAP_FAILED
						   : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED) {
		say("%s", error_name(errno));
		return;
	}
	for (uint64_t at = 0; at < size; at += 4096)
		map[at] = 1;
	say("OK");
}

static void memory_file(const char *arg)
{
	int fd = memfd_create("probe", MFD_CLOEXEC);

	if (fd < 0)
		say("%s", error_name(errno));
	else
		fill_map(fd, size_of(arg));
}

static void shared_anonymous(const char *arg)
{
	uint64_t size = size_of(arg);
	char *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED) {
		say("%s", error_name(errno));
		return;
	}
	for (uint64_t at = 0; at < size; at += 4096)
		map[at] = 1;
	/* Unmapped, it would be freed; mapped elsewhere only, /proc/self would not show it. */
	say("OK");
}

/* Takes it page by page and lets go of each MiB at once: the pages stay, and no page table has them. */
static void forget(char *map, uint64_t size)
{
	if (map == MAP_FAILED) {
		say("%s", error_name(errno));
		return;
	}
	for (uint64_t at = 0; at < size; at += 4096) {
		map[at] = 1;
		if ((at + 4096) % (1 << 20) == 0)
			madvise(map + at + 4096 - (1 << 20), 1 << 20, MADV_DONTNEED);
	}
	say("OK");
}

static void shared_forgotten(const char *arg)
{
	uint64_t size = size_of(arg);

	forget(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), size);
}

/* The same object by another way. */
static void zero_forgotten(const char *arg)
{
	uint64_t size = size_of(arg);
	int fd = open("/dev/zero", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		say("open: %s", error_name(errno));
	else
		forget(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), size);
}

/* Opened for reading it is no such object: the mapping cannot be made writable. */
static void zero_read(const char *arg)
{
	char text[4] = "xxx";
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	void *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	(void)arg;
	if (fd < 0 || read(fd, text, 3) != 3 || memcmp(text, "\0\0\0", 3) != 0 || map == MAP_FAILED)
		say("%s", error_name(errno));
	else
		say_rc(mprotect(map, 4096, PROT_READ | PROT_WRITE));
}

static void system_v(const char *arg)
{
	uint64_t size = size_of(arg);
	int id = shmget(IPC_PRIVATE, size, IPC_CREAT | 0600);
	char *map = id < 0 ? (void *)-1 : shmat(id, NULL, 0);

	if (map == (void *)-1) {
		say("%s", error_name(errno));
		return;
	}
	for (uint64_t at = 0; at < size; at += 4096)
		map[at] = 1;
	say("OK");
}

/* Data in pipes belongs to no process in /proc; how much of it can be had. Arg: at most. */
static void fill_pipes(const char *arg)
{
	static char block[65536];
	uint64_t wanted = size_of(arg), done = 0;

	while (done < wanted) {
		int ends[2];

		if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) < 0)
			break;
		fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
		for (ssize_t put; (put = write(ends[1], block, sizeof(block))) > 0;)
			done += (uint64_t)put;
	}
	say("%llu", (unsigned long long)done);
}

static void disk_reserve(const char *arg)
{
	int fd = open("/sandbox/temp/reserved", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	signal(SIGXFSZ, SIG_IGN);
	say_rc(fd < 0 ? -1 : fallocate(fd, 0, 0, (off_t)size_of(arg)));
}

static void disk_size(const char *path)
{
	struct statvfs fs;

	if (statvfs(path, &fs) < 0)
		say("%s", error_name(errno));
	else
		say("%llu bytes %llu inodes", (unsigned long long)fs.f_blocks * fs.f_frsize,
		    (unsigned long long)fs.f_files);
}

static const struct {
	const char *name;
	int resource;
} limits[] = {
	{ "as", RLIMIT_AS },
	{ "core", RLIMIT_CORE },
	{ "cpu", RLIMIT_CPU },
	{ "fsize", RLIMIT_FSIZE },
	{ "memlock", RLIMIT_MEMLOCK },
	{ "msgqueue", RLIMIT_MSGQUEUE },
	{ "nice", RLIMIT_NICE },
	{ "nofile", RLIMIT_NOFILE },
	{ "nproc", RLIMIT_NPROC },
	{ "rtprio", RLIMIT_RTPRIO },
	{ "sigpending", RLIMIT_SIGPENDING },
	{ "stack", RLIMIT_STACK },
};

static int limit_of(const char *name)
{
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (strcmp(limits[i].name, name) == 0)
			return limits[i].resource;
	return -1;
}

static void limit_show(const char *name)
{
	struct rlimit value;

	if (getrlimit((unsigned)limit_of(name), &value) < 0)
		say("%s", error_name(errno));
	else
		say("%lld %lld", (long long)value.rlim_cur, (long long)value.rlim_max);
}

/* One more than the hard limit; "unlimited" when there is nothing above. */
static void limit_raise(const char *name)
{
	struct rlimit value;
	int resource = limit_of(name);

	if (getrlimit((unsigned)resource, &value) < 0) {
		say("%s", error_name(errno));
		return;
	}
	if (value.rlim_max == RLIM_INFINITY) {
		say("unlimited");
		return;
	}
	value.rlim_max++;
	say_rc(setrlimit((unsigned)resource, &value));
}

static void limit_lower(const char *name)
{
	struct rlimit value;
	int resource = limit_of(name);

	getrlimit((unsigned)resource, &value);
	value.rlim_cur /= 2;
	value.rlim_max = value.rlim_cur;
	say_rc(setrlimit((unsigned)resource, &value));
}

/* Over the file-size limit by one byte, then just at it. */
static void file_size(const char *arg)
{
	struct rlimit value;
	int fd = open("/sandbox/temp/size", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	signal(SIGXFSZ, SIG_IGN);
	if (fd < 0 || getrlimit(RLIMIT_FSIZE, &value) < 0) {
		say("%s", error_name(errno));
		return;
	}
	off_t at = (off_t)value.rlim_max - (strcmp(arg, "over") == 0 ? 0 : 1);

	if (value.rlim_max == RLIM_INFINITY)
		say("unlimited");
	else
		say_rc(pwrite(fd, "x", 1, at));
}

/* Arg: PATH:SIZE. */
static void sparse(const char *arg)
{
	char path[PATH_MAX];
	const char *size = strrchr(arg, ':');

	signal(SIGXFSZ, SIG_IGN);
	snprintf(path, sizeof(path), "%.*s", (int)(size - arg), arg);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	say_rc(fd < 0 ? -1 : ftruncate(fd, (off_t)size_of(size + 1)));
}

/* Opens until refused; whether that was exactly at the limit. */
static void open_files(const char *arg)
{
	struct rlimit value;
	int last = -1, fd;

	(void)arg;
	getrlimit(RLIMIT_NOFILE, &value);
	while ((fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
		last = fd;
	int error = errno;

	say("%s %s", (rlim_t)last + 1 == value.rlim_max ? "at the limit" : "elsewhere", error_name(error));
}

static void lock_memory(const char *arg)
{
	uint64_t size = size_of(arg);
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	say_rc(mlock(memory, size));
}

static void huge_page(const char *arg)
{
	void *memory = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	(void)arg;
	say_rc(memory == MAP_FAILED ? -1 : 0);
}

/* Bounded only so that the compiler believes it ends: a million frames of a page are more than any stack. */
static int recurse(volatile char *above, int depth)
{
	volatile char here[4096];

	here[0] = above ? above[0] : 1;
	here[4095] = 1;
	return depth ? here[0] + recurse(here, depth - 1) + here[4095] : 0;
}

static void stack_overflow(const char *arg)
{
	(void)arg;
	say("recursing");
	_exit(recurse(NULL, 1 << 20));
}

/* Arg: STREAM:SIZE, or STREAM: for ever. One byte repeated, no newline. */
static void flood(const char *arg)
{
	static char block[65536];
	int fd = atoi(arg);
	const char *size = strchr(arg, ':');
	uint64_t left = size && size[1] ? size_of(size + 1) : UINT64_MAX;

	memset(block, 'f', sizeof(block));
	while (left) {
		ssize_t put = write(fd, block, left < sizeof(block) ? left : sizeof(block));

		if (put < 0)
			_exit(3);
		left -= (uint64_t)put;
	}
}

/* Arg: LINES on each stream in turn, then an end without a goodbye. */
static void lines(const char *arg)
{
	int count = atoi(arg);
	char text[32];

	for (int i = 0; i < count; i++) {
		int length = snprintf(text, sizeof(text), "%d\n", i);

		if (write(1, text, (size_t)length) != length || write(2, text, (size_t)length) != length)
			_exit(3);
	}
	_exit(0);
}

const struct probe resource_probes[] = {
	{ "alloc", allocate },
	{ "alloc-hidden", allocate_hidden },
	{ "alloc-leaderless", allocate_leaderless },
	{ "alloc-split", allocate_split },
	{ "write", write_file },
	{ "memfd", memory_file },
	{ "shared", shared_anonymous },
	{ "shared-forgotten", shared_forgotten },
	{ "zero-forgotten", zero_forgotten },
	{ "zero-read", zero_read },
	{ "shm", system_v },
	{ "pipes", fill_pipes },
	{ "fallocate", disk_reserve },
	{ "disk", disk_size },
	{ "rlimit", limit_show },
	{ "rlimit-raise", limit_raise },
	{ "rlimit-lower", limit_lower },
	{ "file-size", file_size },
	{ "sparse", sparse },
	{ "open-files", open_files },
	{ "mlock", lock_memory },
	{ "huge-page", huge_page },
	{ "stack-overflow", stack_overflow },
	{ "flood", flood },
	{ "lines", lines },
	{ NULL, NULL },
};
