/*
 * tests/run: args=--as root | --as user
 *
 * Memory and CPU of a box without a control group. The box here is a pid
 * namespace with a /proc and a tmpfs of its own whose init does what it is
 * told by a letter and a number, and answers when it is done.
 */
#include "../check.h"

#include "engine/local/account.h"
#include "base/own.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define MIB     (1024ull * 1024)
#define FILE_AT "/tmp/file"

static pid_t init_pid;         /* the box, seen from outside */
static int box_fd = -1;        /* the socket to it */
static struct account account; /* what is tested */

struct order {
	char what;  /* see obey() */
	int number; /* of it */
};

static void *memory_get(size_t size, int flags, int fd)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, fd, 0);

	if (memory == MAP_FAILED)
		_exit(90);
	madvise(memory, size, MADV_NOHUGEPAGE);
	return memory;
}

static void touch(void *memory, size_t size, bool write)
{
	volatile char *at = memory;

	for (size_t i = 0; i < size; i += 4096) {
		if (write)
			at[i] = 1;
		else
			(void)at[i];
	}
}

static void burn(int milliseconds)
{
	struct timespec now;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < milliseconds);
}

static size_t leaderless_size; /* of the thread's memory */
static int leaderless_said;    /* where it says that it has it */

/* Goes on when the process's first thread is a zombie. */
static void *leaderless(void *unused)
{
	char text[256];
	const char *end;

	touch(memory_get(leaderless_size, MAP_PRIVATE | MAP_ANONYMOUS, -1), leaderless_size, true);
	do {
		_cleanup_close_ int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
		ssize_t n = read(fd, text, sizeof(text) - 1);
		text[n < 0 ? 0 : n] = '\0';
		end = strrchr(text, ')');
		sched_yield();
	} while (!end || strncmp(end, ") Z", 3) != 0);
	if (write(leaderless_said, "x", 1) != 1)
		_exit(91);
	for (;;)
		pause();
	return unused;
}

/* A child of the box's init that does one thing, says that it has, and stays. */
static void member(char what, int number, void *shared, int said)
{
	size_t size = (size_t)number * MIB;

	switch (what) {
	case 'u': /* as private, but undumpable: the kernel may refuse to show its mappings */
		prctl(PR_SET_DUMPABLE, 0);
		/* fall through */
	case 'a': /* private memory */
		touch(memory_get(size, MAP_PRIVATE | MAP_ANONYMOUS, -1), size, true);
		break;
	case 'l': { /* private memory, of a thread that outlives the first */
		pthread_t thread;
		leaderless_size = size;
		leaderless_said = said;
		if (pthread_create(&thread, NULL, leaderless, NULL) != 0)
			_exit(99);
		syscall(SYS_exit, 0);
		break;
	}
	case 'w': /* private memory, and a child that has not yet executed a program */
		touch(memory_get(size, MAP_PRIVATE | MAP_ANONYMOUS, -1), size, true);
		if (vfork() == 0) {
			if (write(said, "x", 1) != 1)
				_exit(91);
			for (;;)
				pause();
		}
		break;
	case 'y': { /* private memory, and a child with as much of its own */
		void *memory = memory_get(size, MAP_PRIVATE | MAP_ANONYMOUS, -1);
		touch(memory, size, true);
		if (fork() != 0)
			pause();
		touch(memory, size, true);
		break;
	}
	case 's': /* memory shared with its brothers */
		touch(shared, size, true);
		break;
	case 'm': { /* the file on the tmpfs, mapped */
		int fd = open(FILE_AT, O_RDWR | O_CLOEXEC);
		touch(memory_get(size, MAP_SHARED, fd), size, false);
		break;
	}
	case 't': { /* page tables only: a page of zeroes read once in each 2 MiB, each needing a table of 4 KiB */
		volatile char *at = memory_get(size * 512, MAP_PRIVATE | MAP_ANONYMOUS, -1);
		for (size_t i = 0; i < size * 512; i += 2 * MIB)
			(void)at[i];
		break;
	}
	}
	if (write(said, "x", 1) != 1)
		_exit(91);
	for (;;)
		pause();
}

static void spawn(char what, int number, int count)
{
	char c;
	int said[2];
	void *shared = what == 's' ? memory_get((size_t)number * MIB, MAP_SHARED | MAP_ANONYMOUS, -1) : NULL;

	if (pipe(said) < 0)
		_exit(92);
	for (int i = 0; i < count; i++)
		if (fork() == 0)
			member(what, number, shared, said[1]);
	for (int i = 0; i < count; i++)
		if (read(said[0], &c, 1) != 1)
			_exit(93);
	close(said[0]);
	close(said[1]);
	if (shared)
		munmap(shared, (size_t)number * MIB);
}

static int orphan_go = -1;   /* closed: the grandchild ends */
static int orphan_said = -1; /* a byte when it has burnt its time, another when it is gone */

static void orphan_start(int milliseconds)
{
	int go[2], said[2];
	char c;

	if (pipe(go) < 0 || pipe(said) < 0)
		_exit(95);
	if (fork() == 0) {
		signal(SIGCHLD, SIG_IGN);
		close(go[1]);
		if (fork() == 0) {
			burn(milliseconds);
			if (write(said[1], "x", 1) != 1)
				_exit(96);
			_exit(read(go[0], &c, 1) != 0);
		}
		/* Ends with ECHILD when there is no child any more. */
		wait(NULL);
		_exit(write(said[1], "x", 1) != 1);
	}
	close(go[0]);
	close(said[1]);
	orphan_go = go[1];
	orphan_said = said[0];
	if (read(orphan_said, &c, 1) != 1)
		_exit(97);
}

static void orphan_end(void)
{
	char c;

	close_fd(&orphan_go);
	if (read(orphan_said, &c, 1) != 1)
		_exit(98);
	close_fd(&orphan_said);
	wait(NULL);
}

static void obey(const struct order *order)
{
	switch (order->what) {
	case 'a':
	case 'l':
	case 'u':
	case 't':
	case 'w':
	case 'y':
		spawn(order->what, order->number, 1);
		break;
	case 's':
	case 'm':
		spawn(order->what, order->number, 4);
		break;
	case 'p': /* processes */
		spawn('p', 0, order->number);
		break;
	case 'c': /* CPU time, of a child that has ended */
		if (fork() == 0) {
			burn(order->number);
			_exit(0);
		}
		wait(NULL);
		break;
	case 'i': /* CPU time, of a grandchild that nobody will wait for; it stays until 'q' */
		orphan_start(order->number);
		break;
	case 'q':
		orphan_end();
		break;
	case 'f': { /* a file on the tmpfs, or none */
		int fd = open(FILE_AT, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
		if (ftruncate(fd, 0) < 0 || (order->number && posix_fallocate(fd, 0, (off_t)order->number * MIB) != 0))
			_exit(94);
		close(fd);
		break;
	}
	case 'v': /* processes that come and go until the next order */
		if (fork() == 0)
			for (;;) {
				if (fork() == 0)
					_exit(0);
				wait(NULL);
			}
		break;
	case 'k': /* the end of all of them */
		kill(-1, SIGKILL);
		while (wait(NULL) > 0)
			;
		break;
	}
}

static int box_main(void)
{
	struct order order;

	/* The mapping of users is the parent's to write. */
	if (read(box_fd, &order, sizeof(order)) != sizeof(order))
		return 80;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return 81;
	if (mount("tmpfs", "/tmp", "tmpfs", 0, "size=64m,mode=1777") < 0)
		return 82;
	if (mount("proc", "/proc", "proc", 0, NULL) < 0)
		return 83;
	if (prctl(PR_SET_DUMPABLE, 1) < 0)
		return 84;
	do {
		obey(&order);
		if (write(box_fd, "x", 1) != 1)
			return 85;
	} while (read(box_fd, &order, sizeof(order)) == sizeof(order));
	return 0;
}

static bool tell(char what, int number)
{
	struct order order = { .what = what, .number = number };
	char c;

	return write(box_fd, &order, sizeof(order)) == sizeof(order) && read(box_fd, &c, 1) == 1;
}

static bool put(const char *file, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", init_pid, file);
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

static int open_in_box(const char *path)
{
	char whole[64];

	snprintf(whole, sizeof(whole), "/proc/%d/root%s", init_pid, path);
	return open(whole, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Starts the box and opens its account; says why on failure. */
static bool box_start(void)
{
	int pair[2];
	char map[64];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return false;
	fflush(stdout);
	init_pid = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | SIGCHLD, NULL,
				  NULL, NULL, NULL);
	if (init_pid < 0)
		return false;
	if (init_pid == 0) {
		close(pair[0]);
		box_fd = pair[1];
		_exit(box_main());
	}
	close(pair[1]);
	box_fd = pair[0];
	struct timeval patience = { .tv_sec = 20 };
	setsockopt(box_fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	snprintf(map, sizeof(map), "0 %d 1\n", geteuid());
	if (!put("setgroups", "deny") || !put("uid_map", map))
		return false;
	snprintf(map, sizeof(map), "0 %d 1\n", getegid());
	if (!put("gid_map", map) || !tell('k', 0))
		return false;

	_cleanup_close_ int proc = open_in_box("/proc");
	_cleanup_close_ int work = open_in_box("/tmp");
	struct error err = { 0 };
	if (proc < 0 || work < 0 || account_open(proc, work, &account, &err) < 0) {
		printf("# %s\n", err.text);
		return false;
	}
	return true;
}

/* A sample with the given limit; 0 makes every pass that can be made. */
static struct account_usage sample(uint64_t limit)
{
	struct account_usage usage = { 0 };

	account.limit = limit;
	if (account_sample(&account, &usage) < 0)
		check_fail("account_sample: %s", strerror(errno));
	return usage;
}

/* How much more the box uses after an order than before. */
static uint64_t grows(char what, int number, uint64_t limit)
{
	uint64_t before = sample(limit).memory_now;

	CHECK(tell(what, number));
	uint64_t after = sample(limit).memory_now;
	return after > before ? after - before : 0;
}

static void between(uint64_t got, uint64_t low_mib, uint64_t high_mib)
{
	if (got < low_mib * MIB || got > high_mib * MIB)
		check_fail("%llu KiB is not between %llu and %llu MiB", (unsigned long long)got / 1024,
			   (unsigned long long)low_mib, (unsigned long long)high_mib);
}

static void clear(void)
{
	CHECK(tell('k', 0));
	CHECK(tell('f', 0));
}

static void empty_box(void)
{
	struct account_usage usage = sample(UINT64_MAX);

	CHECK_INT(usage.processes, 1);
	CHECK_INT(usage.threads, 1);
	CHECK(usage.memory_now > 0);
}

static void private_memory(void)
{
	between(grows('a', 32, UINT64_MAX), 32, 56);
	clear();
	between(grows('a', 32, 0), 32, 36);
	clear();
}

static void peak_stays(void)
{
	CHECK(tell('a', 48));
	between(sample(UINT64_MAX).memory_peak, 48, 96);
	clear();
	struct account_usage usage = sample(UINT64_MAX);
	between(usage.memory_peak, 48, 96);
	CHECK(usage.memory_now < 40 * MIB);
}

static void undumpable_memory(void)
{
	between(grows('u', 24, 0), 24, 48);
	clear();
}

static void memory_of_a_process_without_its_first_thread(void)
{
	between(grows('l', 32, UINT64_MAX), 32, 64);
	clear();
	between(grows('l', 32, 0), 32, 38);
	/* Above the limit after the shares and below it after the mappings: the third look finds it as well. */
	uint64_t base = sample(0).memory_now;
	CHECK(tell('f', 20));
	CHECK(tell('m', 20));
	between(sample(base + 26 * MIB).memory_now, 51, 60);
	clear();
	CHECK_INT(sample(0).threads, 1);
}

static void memory_between_vfork_and_exec_counts_once(void)
{
	between(grows('w', 32, 0), 32, 38);
	/* Each of two copies is there. */
	clear();
	between(grows('y', 32, 0), 64, 72);
	clear();
}

static void want_of_descriptors_is_an_error(void)
{
	struct account_usage usage;
	struct rlimit before, few;

	CHECK_INT(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = (struct rlimit){ .rlim_cur = 0, .rlim_max = before.rlim_max };
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &few), 0);
	int r = account_sample(&account, &usage), error = errno;
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &before), 0);
	CHECK_INT(r, -1);
	CHECK_INT(error, EMFILE);
	CHECK_INT(sample(UINT64_MAX).processes, 1);
}

static void shared_memory_counts_once_where_it_matters(void)
{
	/* The cheap sum is a bound from above. */
	CHECK(grows('s', 16, UINT64_MAX) >= 64 * MIB);
	clear();
	between(grows('s', 16, 0), 16, 22);
	clear();
}

static void files_count(void)
{
	/* Counters of resident pages may meanwhile be settled by a few. */
	between(grows('f', 20, UINT64_MAX), 19, 21);
	clear();
	between(grows('f', 20, 0), 19, 21);
	clear();
}

static void mapped_files_count_once(void)
{
	CHECK(tell('f', 20));
	uint64_t base = sample(0).memory_now;
	CHECK(tell('m', 20));
	/* Twice by the shares: beyond a limit that is far below, one look too few is no mistake. */
	between(sample(0).memory_now - base, 18, 26);
	/* Where the file's second count decides, it is not counted. */
	struct account_usage usage = sample(base + 8 * MIB);
	between(usage.memory_now - base, 0, 6);
	clear();
}

static void page_tables_count(void)
{
	between(grows('t', 16, UINT64_MAX), 16, 40);
	clear();
	between(grows('t', 16, 0), 16, 20);
	clear();
}

static void processes_count(void)
{
	CHECK(tell('p', 64));
	CHECK_INT(sample(UINT64_MAX).processes, 65);
	CHECK_INT(sample(0).processes, 65);
	clear();
	CHECK_INT(sample(0).processes, 1);
}

static void cpu_of_the_dead_counts(void)
{
	uint64_t before = sample(UINT64_MAX).cpu_usec;

	CHECK(tell('c', 200));
	uint64_t used = sample(UINT64_MAX).cpu_usec - before;
	if (used < 150000 || used > 2000000)
		check_fail("200 ms of CPU are counted as %llu us", (unsigned long long)used);
}

static void cpu_of_those_nobody_waits_for_counts(void)
{
	uint64_t before = sample(UINT64_MAX).cpu_usec;

	/* Twice, for one alone would be covered by the most that was ever seen at once. */
	for (int i = 0; i < 2; i++) {
		CHECK(tell('i', 200));
		sample(UINT64_MAX);
		CHECK(tell('q', 0));
	}
	uint64_t used = sample(UINT64_MAX).cpu_usec - before;
	if (used < 300000 || used > 2000000)
		check_fail("twice 200 ms of CPU are counted as %llu us", (unsigned long long)used);
	clear();
}

static void processes_may_vanish_meanwhile(void)
{
	CHECK(tell('v', 0));
	uint64_t before = sample(UINT64_MAX).cpu_usec;
	struct timespec from, to;
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 0; i < 200; i++) {
		struct account_usage usage = sample(i % 2 ? 0 : UINT64_MAX);
		CHECK(usage.processes >= 2 && usage.processes <= 4);
		CHECK(usage.memory_now < 256 * MIB);
	}
	/* Nothing of them is counted twice: two cores are all they can have had. */
	clock_gettime(CLOCK_MONOTONIC, &to);
	uint64_t wall = (uint64_t)(to.tv_sec - from.tv_sec) * 1000000 + (uint64_t)(to.tv_nsec - from.tv_nsec) / 1000;
	CHECK(sample(UINT64_MAX).cpu_usec - before <= 2 * wall + 50000);
	clear();
}

static void box_that_is_gone(void)
{
	struct account_usage usage = { .processes = 99 };
	int status;

	kill(init_pid, SIGKILL);
	CHECK_INT(waitpid(init_pid, &status, __WALL), init_pid);
	account.limit = 0;
	/* Nothing is left to count; the peak remains. */
	CHECK_INT(account_sample(&account, &usage), 0);
	CHECK_INT(usage.processes, 0);
	CHECK(usage.memory_now < MIB);
	CHECK(usage.memory_peak > 0);
	account_close(&account);
	CHECK_ERRNO(account_sample(&account, &usage), EBADF);
}

static void bad_descriptors_are_refused(void)
{
	struct error err = { 0 };

	CHECK_INT(account_open(-1, -1, &account, &err), -1);
	CHECK_INT(err.errnum, EBADF);
	account_close(&account);
}

/* A process in a directory that plays /proc: only what the sums read. */
static void fake(int dir, const char *pid, unsigned own, unsigned waited)
{
	char path[32], text[256];

	mkdirat(dir, pid, 0755);
	snprintf(path, sizeof(path), "%s/status", pid);
	_cleanup_close_ int status = openat(dir, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	CHECK(dprintf(status, "Name:\tVmRSS:\nVmRSS:\t 1000 kB\nThreads:\t2\n") > 0);
	snprintf(path, sizeof(path), "%s/stat", pid);
	_cleanup_close_ int stat = openat(dir, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	/* The name is the program's to choose. */
	int n = snprintf(text, sizeof(text),
			 "%s (a) 9 9 9 (b) S 1 1 1 0 -1 4194560 1 0 0 0 %u 0 %u 0 20 0 1 0 777 1 1\n", pid, own,
			 waited);
	CHECK_INT(write(stat, text, (size_t)n), n);
}

static void unfake(int dir, const char *pid)
{
	char path[32];

	snprintf(path, sizeof(path), "%s/status", pid);
	unlinkat(dir, path, 0);
	snprintf(path, sizeof(path), "%s/stat", pid);
	unlinkat(dir, path, 0);
	unlinkat(dir, pid, AT_REMOVEDIR);
}

/* True when the directory lists "1" before "5", as /proc does. */
static bool in_order(const char *path)
{
	_cleanup_closedir_ DIR *list = opendir(path);

	for (struct dirent *entry; list && (entry = readdir(list));)
		if (entry->d_name[0] == '1' || entry->d_name[0] == '5')
			return entry->d_name[0] == '1';
	return false;
}

static void cpu_that_reaches_the_parent_late_counts_once(void)
{
	char path[] = "/dev/shm/test-account-XXXXXX";
	struct error err = { 0 };
	uint64_t tick = 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);

	CHECK(mkdtemp(path));
	_cleanup_close_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* A tmpfs lists by age, in one direction or the other. */
	fake(dir, "5", 20, 0);
	fake(dir, "1", 3, 0);
	if (!in_order(path)) {
		unfake(dir, "5");
		fake(dir, "5", 20, 0);
	}
	CHECK(in_order(path));
	CHECK_INT(account_open(dir, -1, &account, &err), 0);
	struct account_usage usage = sample(UINT64_MAX);
	CHECK_INT(usage.cpu_usec, 23 * tick);
	CHECK_INT(usage.memory_now, 2 * 1000 * 1024);
	CHECK_INT(usage.threads, 4);
	/* Gone, and the parent was read before it was waited for. */
	unfake(dir, "5");
	CHECK_INT(sample(UINT64_MAX).cpu_usec, 23 * tick);
	fake(dir, "1", 3, 20);
	CHECK_INT(sample(UINT64_MAX).cpu_usec, 23 * tick);
	fake(dir, "1", 4, 20);
	CHECK_INT(sample(UINT64_MAX).cpu_usec, 24 * tick);
	account_close(&account);
	unfake(dir, "1");
	CHECK_INT(rmdir(path), 0);
}

/* A directory that plays /proc. */
static int fake_proc(char *path)
{
	CHECK(mkdtemp(path));
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void what_cannot_be_read_is_an_error(void)
{
	static const char *const files[] = { "5/status", "5/stat", "1/net/sockstat" };
	char path[] = "/dev/shm/test-account-XXXXXX";
	struct account_usage usage;
	struct error err = { 0 };
	_cleanup_close_ int dir = fake_proc(path);

	fake(dir, "1", 3, 0);
	CHECK_INT(mkdirat(dir, "1/net", 0755), 0);
	CHECK_INT(account_open(dir, -1, &account, &err), 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		fake(dir, "5", 20, 0);
		CHECK_INT(account_sample(&account, &usage), 0);
		unlinkat(dir, files[i], 0);
		CHECK_INT(account_sample(&account, &usage), 0);
		/* Of the errors that are not "gone" the one that root gets as well. */
		CHECK_INT(symlinkat("loop", dir, "loop"), 0);
		CHECK_INT(symlinkat(i == 2 ? "../../loop" : "../loop", dir, files[i]), 0);
		CHECK_ERRNO(account_sample(&account, &usage), ELOOP);
		unlinkat(dir, files[i], 0);
		unlinkat(dir, "loop", 0);
		unfake(dir, "5");
	}
	account_close(&account);
	unlinkat(dir, "1/net", AT_REMOVEDIR);
	unfake(dir, "1");
	CHECK_INT(rmdir(path), 0);
}

static void a_process_that_hides_is_above_the_limit(void)
{
	char path[] = "/dev/shm/test-account-XXXXXX";
	struct account_usage usage = { 0 };
	struct error err = { 0 };
	_cleanup_close_ int dir = fake_proc(path);

	CHECK_INT(mkdirat(dir, "5", 0755), 0);
	CHECK_INT(mkdirat(dir, "5/task", 0755), 0);
	CHECK_INT(mkdirat(dir, "5/task/7", 0755), 0);
	_cleanup_close_ int status = openat(dir, "5/status", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	CHECK(dprintf(status, "Name:\ta\nThreads:\t2\n") > 0);
	CHECK_INT(account_open(dir, -1, &account, &err), 0);
	account.limit = 5 * MIB;
	/* Its thread is listed and always gone: that may be chance, for a while. */
	CHECK_INT(account_sample(&account, &usage), 0);
	CHECK_INT(usage.memory_now, 0);
	for (int i = 0; i < 20; i++)
		CHECK_INT(account_sample(&account, &usage), 0);
	CHECK_INT(usage.memory_now, 5 * MIB + 1);
	/* One that is seen to have ended is no riddle. */
	_cleanup_close_ int ended = openat(dir, "5/task/7/status", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	CHECK(dprintf(ended, "Name:\ta\nThreads:\t2\n") > 0);
	CHECK_INT(account_sample(&account, &usage), 0);
	CHECK_INT(usage.memory_now, 0);
	/* And one that lives shows what there is. */
	CHECK(dprintf(ended, "VmRSS:\t 3072 kB\n") > 0);
	CHECK_INT(account_sample(&account, &usage), 0);
	CHECK_INT(usage.memory_now, 3 * MIB);
	account_close(&account);
	unlinkat(dir, "5/task/7/status", 0);
	unlinkat(dir, "5/task/7", AT_REMOVEDIR);
	unlinkat(dir, "5/task", AT_REMOVEDIR);
	unfake(dir, "5");
	CHECK_INT(rmdir(path), 0);
}

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[2], "user") == 0 && geteuid() == 0) {
		if (setresgid(54321, 54321, 54321) < 0 || setresuid(54321, 54321, 54321) < 0)
			return 1;
		/* Changing users took away the right to write our own children's maps. */
		prctl(PR_SET_DUMPABLE, 1);
	}
	RUN(bad_descriptors_are_refused);
	RUN(what_cannot_be_read_is_an_error);
	RUN(a_process_that_hides_is_above_the_limit);
	RUN(cpu_that_reaches_the_parent_late_counts_once);
	if (!box_start()) {
		int status = 0;
		if (init_pid > 0)
			waitpid(init_pid, &status, WNOHANG);
		printf("not ok box_start: %s, the box ended with %#x\n", strerror(errno), status);
		return 1;
	}
	RUN(empty_box);
	RUN(private_memory);
	RUN(peak_stays);
	RUN(undumpable_memory);
	RUN(memory_of_a_process_without_its_first_thread);
	RUN(memory_between_vfork_and_exec_counts_once);
	RUN(want_of_descriptors_is_an_error);
	RUN(shared_memory_counts_once_where_it_matters);
	RUN(files_count);
	RUN(mapped_files_count_once);
	RUN(page_tables_count);
	RUN(processes_count);
	RUN(cpu_of_the_dead_counts);
	RUN(cpu_of_those_nobody_waits_for_counts);
	RUN(processes_may_vanish_meanwhile);
	RUN(box_that_is_gone);
	return check_failures != 0;
}
