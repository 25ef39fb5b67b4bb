/* Control groups as this host has them: v1 or v2, whichever cgroup_find() gives. tests/uml runs the same on a v2
 * kernel. */
#include "../check.h"

#include "kernel/cgroup.h"
#include "base/own.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define MIB (1024ull * 1024)

/*
 * What this kernel is to be taken not to have. The library's calls come here
 * first, because the program's own functions go before those of the C library.
 */
static const char *hidden_file = "";
static const char *swaps_file = "/proc/swaps";

static bool is_hidden(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (strcmp(slash ? slash + 1 : path, hidden_file) != 0)
		return false;
	errno = ENOENT;
	return true;
}

int openat(int dir, const char *path, int flags, ...)
{
	return is_hidden(path) ? -1 : (int)syscall(SYS_openat, dir, path, flags, 0);
}

int __openat_2(int dir, const char *path, int flags);
int __openat_2(int dir, const char *path, int flags)
{
	return openat(dir, path, flags);
}

int open(const char *path, int flags, ...)
{
	return openat(AT_FDCWD, strcmp(path, "/proc/swaps") == 0 ? swaps_file : path, flags);
}

int access(const char *path, int mode)
{
	return is_hidden(path) ? -1 : (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);
}

static struct cgroup_site site;
static const struct cgroup_limits usual = { .memory = 64 * MIB, .pids = 16, .cpus = 1 };

static const char *name_next(void)
{
	static char name[64];
	static int serial;

	snprintf(name, sizeof(name), "box-%d-%d", getpid(), ++serial);
	return name;
}

static struct cgroup *make(const struct cgroup_limits *limits)
{
	struct cgroup *group = NULL;
	struct error err = { 0 };

	if (cgroup_make(&site, name_next(), limits, &group, &err) < 0)
		check_fail("cgroup_make: %s", err.text);
	return group;
}

static void unmake(struct cgroup *group)
{
	struct error err = { 0 };

	if (group && cgroup_remove(group, &err) < 0)
		check_fail("cgroup_remove: %s", err.text);
	cgroup_free(group);
}

/* A member of the group that runs body(arg) and exits with what it returns, or with 99 when it could not join. */
static pid_t start(const struct cgroup *group, int (*body)(int), int arg)
{
	int fds[CGROUP_CONTROLLERS];
	size_t count = cgroup_join_fds(group, fds);
	struct clone_args args = { .exit_signal = SIGCHLD };
	int into = cgroup_clone_fd(group);

	if (into >= 0) {
		args.flags = CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)into;
	}
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0)
		_exit(cgroup_join(fds, count) < 0 ? 99 : body(arg));
	CHECK(pid > 0);
	return pid;
}

static int finish(pid_t pid)
{
	int status = -1;

	CHECK_INT(waitpid(pid, &status, __WALL), pid);
	return status;
}

/* The text of a file of the newest group, without its newline. */
static const char *file_of(int controller, const char *name, const char *file)
{
	static char text[128];
	char path[PATH_MAX + 128];

	snprintf(path, sizeof(path), "%s/%s/%s", site.base[site.where[controller]], name, file);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return strerrorname_np(errno);
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return text;
}

static bool v2_has(int controller)
{
	return site.unified[site.where[controller]];
}

static bool exists_swap_file(void)
{
	char path[PATH_MAX + 128];

	snprintf(path, sizeof(path), "%s/memory.swap.max", site.base[site.where[CGROUP_MEMORY]]);
	return access(path, F_OK) == 0;
}

static int groups_left(void)
{
	int left = 0;

	for (size_t i = 0; i < site.count; i++) {
		_cleanup_closedir_ DIR *dir = opendir(site.base[i]);
		char mine[32];
		int n = snprintf(mine, sizeof(mine), "box-%d-", getpid());
		for (struct dirent *entry; dir && (entry = readdir(dir));)
			left += strncmp(entry->d_name, mine, (size_t)n) == 0;
	}
	return left;
}

static void site_is_the_same_at_the_second_look(void)
{
	static struct cgroup_site again;
	struct error err = { 0 };

	CHECK_INT(cgroup_find(&again, &err), 0);
	CHECK_INT(again.version, site.version);
	CHECK_INT(again.count, site.count);
	for (size_t i = 0; i < site.count; i++)
		CHECK_STR(again.base[i], site.base[i]);
	CHECK_STR(again.why, "");
	CHECK(site.where[CGROUP_MEMORY] >= 0);
	CHECK(site.where[CGROUP_PIDS] >= 0);
}

static void limits_are_set(void)
{
	struct cgroup *group = make(&(struct cgroup_limits){ .memory = 48 * MIB, .pids = 7, .cpus = 0.5 });
	char name[64];

	snprintf(name, sizeof(name), "box-%d-%d", getpid(), 1);
	CHECK_STR(file_of(CGROUP_MEMORY, name, v2_has(CGROUP_MEMORY) ? "memory.max" : "memory.limit_in_bytes"),
		  "50331648");
	CHECK_STR(file_of(CGROUP_PIDS, name, "pids.max"), "7");
	if (v2_has(CGROUP_MEMORY))
		CHECK_STR(file_of(CGROUP_MEMORY, name, "memory.oom.group"), "1");
	if (site.where[CGROUP_CPU] >= 0 && v2_has(CGROUP_CPU))
		CHECK_STR(file_of(CGROUP_CPU, name, "cpu.max"), "50000 100000");
	else if (site.where[CGROUP_CPU] >= 0)
		CHECK_STR(file_of(CGROUP_CPU, name, "cpu.cfs_quota_us"), "50000");
	unmake(group);
	CHECK_INT(groups_left(), 0);
}

static void memory_may_be_rounded_to_pages(void)
{
	unmake(make(&(struct cgroup_limits){ .memory = 48 * MIB + 1234, .pids = 7 }));
}

static void small_share_of_cpu(void)
{
	unmake(make(&(struct cgroup_limits){ .memory = 48 * MIB, .pids = 7, .cpus = 0.003 }));
}

static void refused(const char *name, const struct cgroup_limits *limits, const char *want)
{
	struct cgroup *group = NULL;
	struct error err = { 0 };

	CHECK_INT(cgroup_make(&site, name, limits, &group, &err), -1);
	CHECK(group == NULL);
	if (!strstr(err.text, want))
		check_fail("the sentence is \"%s\", without \"%s\"", err.text, want);
	/* Nothing of it stays. */
	CHECK_INT(groups_left(), 0);
	/* A caller that does not ask why is told no as well. */
	CHECK_INT(cgroup_make(&site, name, limits, &group, NULL), -1);
}

static void impossible_limits_are_refused(void)
{
	refused(name_next(), &(struct cgroup_limits){ .memory = 48 * MIB, .pids = 1ull << 40 }, "pids.max");
	if (site.where[CGROUP_CPU] >= 0)
		refused(name_next(), &(struct cgroup_limits){ .memory = 48 * MIB, .pids = 7, .cpus = 0.0001 }, "cores");
}

static void kept_value_other_than_asked_is_refused(void)
{
	/* The kernel caps this without an error. */
	refused(name_next(), &(struct cgroup_limits){ .memory = UINT64_MAX - 1, .pids = 7 }, "control group");
}

static void bad_names_are_refused(void)
{
	refused("", &usual, "named");
	refused("..", &usual, "named");
	refused("a/b", &usual, "named");
	refused("cgroup.procs", &usual, "Making");
}

static int touch_memory(int mib)
{
	size_t size = (size_t)mib * MIB;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return 98;
	for (size_t at = 0; at < size; at += 4096)
		((volatile char *)memory)[at] = 1;
	return 0;
}

static void memory_within_the_limit(void)
{
	struct cgroup *group = make(&usual);
	struct cgroup_usage usage;
	struct error err = { 0 };
	short events;

	CHECK_INT(finish(start(group, touch_memory, 24)), 0);
	CHECK_INT(cgroup_usage(group, &usage, &err), 0);
	CHECK_INT(usage.oom_kills, 0);
	CHECK_INT(cgroup_knows_peak(group), usage.memory_peak != 0);
	CHECK(usage.memory_peak == 0 ? v2_has(CGROUP_MEMORY) : usage.memory_peak >= 24 * MIB);
	CHECK(usage.memory_peak < 40 * MIB);
	struct pollfd poll_fd = { .fd = cgroup_oom_fd(group, &events) };
	poll_fd.events = events;
	CHECK(poll_fd.fd >= 0);
	CHECK_INT(poll(&poll_fd, 1, 0), 0);
	unmake(group);
}

static void memory_beyond_the_limit(void)
{
	struct cgroup *group = make(&(struct cgroup_limits){ .memory = 32 * MIB, .pids = 16 });
	struct cgroup_usage usage;
	struct error err = { 0 };
	short events;

	int status = finish(start(group, touch_memory, 96));
	CHECK(WIFSIGNALED(status));
	CHECK_INT(WTERMSIG(status), SIGKILL);
	struct pollfd poll_fd = { .fd = cgroup_oom_fd(group, &events) };
	poll_fd.events = events;
	CHECK_INT(poll(&poll_fd, 1, 5000), 1);
	CHECK(poll_fd.revents & events);
	uint64_t kills = 0;
	CHECK_INT(cgroup_oom_kills(group, &kills), 0);
	/* A read makes a v2 descriptor quiet, until the group's own kill is counted as well; a v1 event waits to be
	 * taken. */
	for (int i = 0; i < 2 && v2_has(CGROUP_MEMORY) && poll(&poll_fd, 1, 0) == 1; i++)
		CHECK_INT(cgroup_oom_kills(group, &kills), 0);
	CHECK_INT(poll(&poll_fd, 1, 0), v2_has(CGROUP_MEMORY) ? 0 : 1);
	CHECK_INT(cgroup_usage(group, &usage, &err), 0);
	CHECK_INT(usage.oom_kills, kills);
	/* With memory.oom.group, kernels count the chosen process once more as a member. */
	CHECK(usage.oom_kills >= 1 && usage.oom_kills <= 2);
	CHECK(usage.memory_peak <= 32 * MIB);
	CHECK(usage.memory_peak == 0 ? site.version == 2 : usage.memory_peak > 24 * MIB);
	CHECK(usage.memory_now < 16 * MIB);
	unmake(group);
}

static int hold_memory(int gate)
{
	int rc = touch_memory(12);

	/* It is told by the writing end of its own, and waits for the reading end of ours. */
	return rc ? rc : write(gate, "x", 1) != 1 || pause() != -1;
}

static void memory_in_use_now(void)
{
	struct cgroup *group = make(&usual);
	uint64_t before = 0, during = 0, after = 0;
	int ready[2];
	char c;

	CHECK_INT(pipe2(ready, O_CLOEXEC), 0);
	CHECK_INT(cgroup_memory_now(group, &before), 0);
	pid_t pid = start(group, hold_memory, ready[1]);
	close(ready[1]);
	CHECK_INT(read(ready[0], &c, 1), 1);
	CHECK_INT(cgroup_memory_now(group, &during), 0);
	kill(pid, SIGKILL);
	CHECK_INT(finish(pid), SIGKILL);
	CHECK_INT(cgroup_memory_now(group, &after), 0);
	CHECK(before < 4 * MIB);
	/* The kernel counts in batches of 64 pages a processor. */
	CHECK(during >= 11 * MIB && during < 24 * MIB);
	CHECK(after < 8 * MIB);
	close(ready[0]);
	unmake(group);
}

/* Fills the group with pages that the kernel may take back: it nears its limit again and again, and nobody dies. */
static int fill_and_free(int mib)
{
	size_t size = 2 * MIB;

	for (int done = 0; done < mib; done += 2) {
		char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (memory == MAP_FAILED)
			return 98;
		memset(memory, 1, size);
		if (madvise(memory, size, MADV_FREE) < 0)
			return 97;
	}
	return 0;
}

static void reclaim_is_no_kill(void)
{
	struct cgroup *group = make(&(struct cgroup_limits){ .memory = 8 * MIB, .pids = 4 });
	uint64_t kills = 99;
	short events;

	CHECK_INT(cgroup_oom_kills(group, &kills), 0);
	CHECK_INT(kills, 0);
	CHECK_INT(finish(start(group, fill_and_free, 16)), 0);
	struct pollfd poll_fd = { .fd = cgroup_oom_fd(group, &events) };
	poll_fd.events = events;
	/* v2 tells of every event, also of reaching the limit; v1 of those alone that nothing but a kill helps. */
	CHECK_INT(poll(&poll_fd, 1, 0), v2_has(CGROUP_MEMORY) ? 1 : 0);
	kills = 99;
	CHECK_INT(cgroup_oom_kills(group, &kills), 0);
	CHECK_INT(kills, 0);
	CHECK_INT(poll(&poll_fd, 1, 0), 0);
	unmake(group);
}

static void unknown_peak_is_said(void)
{
	struct cgroup_usage usage;
	struct error err = { 0 };
	uint64_t now = 0;

	hidden_file = "memory.peak";
	struct cgroup *group = make(&usual);
	hidden_file = "";
	CHECK(!cgroup_knows_peak(group));
	CHECK_INT(finish(start(group, touch_memory, 4)), 0);
	CHECK_INT(cgroup_usage(group, &usage, &err), 0);
	CHECK_INT(usage.memory_peak, 0);
	CHECK_INT(cgroup_memory_now(group, &now), 0);
	CHECK(now < 4 * MIB);
	unmake(group);
}

static void refused_peak_is_an_error(void)
{
	hidden_file = "memory.max_usage_in_bytes";
	refused(name_next(), &usual, "peak memory");
	hidden_file = "";
}

static void swap_that_is_not_counted_is_refused(void)
{
	static struct cgroup_site none;
	struct error err = { 0 };
	char swaps[] = "/tmp/swaps-XXXXXX";
	int fd = mkstemp(swaps);

	CHECK(fd >= 0);
	CHECK_INT(dprintf(fd, "Filename\tType\tSize\tUsed\tPriority\n"), 33);
	hidden_file = "memory.swap.max";
	swaps_file = swaps;
	CHECK_INT(cgroup_find(&none, &err), 0);
	CHECK_INT(none.version, site.version);
	CHECK(dprintf(fd, "/dev/vda2 partition 1048572 0 -2\n") > 0);
	CHECK_INT(cgroup_find(&none, &err), 0);
	CHECK_INT(none.version, 0);
	CHECK_INT(none.count, 0);
	CHECK_STR(none.why,
		  "Control groups do not count swap here, and swap is on; boot with swapaccount=1, or switch it off "
		  "with: swapoff -a");
	/* Where it is counted, swap does not matter. */
	hidden_file = "";
	CHECK_INT(cgroup_find(&none, &err), 0);
	CHECK_INT(none.version, exists_swap_file() ? site.version : 0);
	swaps_file = "/proc/swaps";
	close(fd);
	unlink(swaps);
}

/* How many children can be had; they wait to be killed by the end of their parent. */
static int fork_many(int most)
{
	int count = 0;
	int gate[2];

	if (pipe(gate) < 0)
		return 98;
	for (; count < most; count++) {
		pid_t pid = fork();
		if (pid < 0)
			break;
		if (pid == 0) {
			char c;
			close(gate[1]);
			_exit(read(gate[0], &c, 1) != 0);
		}
	}
	int error = errno;
	close(gate[1]);
	for (int i = 0; i < count; i++)
		wait(NULL);
	return count < most && error != EAGAIN ? 97 : count;
}

static void processes_within_the_limit(void)
{
	struct cgroup *group = make(&(struct cgroup_limits){ .memory = 64 * MIB, .pids = 6 });

	CHECK_INT(finish(start(group, fork_many, 5)), W_EXITCODE(5, 0));
	unmake(group);
}

static void processes_beyond_the_limit(void)
{
	struct cgroup *group = make(&(struct cgroup_limits){ .memory = 64 * MIB, .pids = 4 });

	CHECK_INT(finish(start(group, fork_many, 10)), W_EXITCODE(3, 0));
	unmake(group);
}

static int burn(int milliseconds)
{
	struct timespec now;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < milliseconds);
	return 0;
}

static void cpu_time_is_counted(void)
{
	struct cgroup *group = make(&(struct cgroup_limits){ .memory = 64 * MIB, .pids = 4 });
	struct cgroup_usage before, after;
	struct error err = { 0 };

	CHECK_INT(cgroup_usage(group, &before, &err), 0);
	CHECK(before.cpu_usec < 10000);
	CHECK_INT(finish(start(group, burn, 100)), 0);
	CHECK_INT(cgroup_usage(group, &after, &err), 0);
	CHECK(after.cpu_usec >= 80000);
	CHECK(after.cpu_usec < 1000000);
	unmake(group);
}

static void cpu_share_is_enforced(void)
{
	struct cgroup *group = make(&(struct cgroup_limits){ .memory = 64 * MIB, .pids = 4, .cpus = 0.1 });
	struct timespec from, to;

	/* 60 ms at 10 ms in each 100: five waits at least. */
	clock_gettime(CLOCK_MONOTONIC, &from);
	CHECK_INT(finish(start(group, burn, 60)), 0);
	clock_gettime(CLOCK_MONOTONIC, &to);
	long took = (to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000;
	if (took < 300)
		check_fail("60 ms of CPU took %ld ms at a tenth of a core", took);
	unmake(group);
}

static int wait_for_end(int fd)
{
	char c;

	return read(fd, &c, 1) == 0 ? 0 : 1;
}

static void remove_says_busy_while_a_member_lives(void)
{
	struct cgroup *group = make(&usual);
	struct error err = { 0 };
	int ready[2];

	CHECK_INT(pipe2(ready, O_CLOEXEC), 0);
	/* The member holds the gate's reading end; it is in the group once a v1 join is done, so it says so first. */
	int gate[2];
	CHECK_INT(pipe2(gate, O_CLOEXEC), 0);
	int fds[CGROUP_CONTROLLERS];
	size_t count = cgroup_join_fds(group, fds);
	struct clone_args args = { .exit_signal = SIGCHLD };
	if (cgroup_clone_fd(group) >= 0) {
		args.flags = CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)cgroup_clone_fd(group);
	}
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0) {
		close(gate[1]);
		if (cgroup_join(fds, count) < 0 || write(ready[1], "x", 1) != 1)
			_exit(99);
		_exit(wait_for_end(gate[0]));
	}
	close(ready[1]);
	char c;
	CHECK_INT(read(ready[0], &c, 1), 1);
	CHECK_INT(cgroup_remove(group, &err), -1);
	CHECK_INT(err.errnum, EBUSY);
	close(gate[1]);
	CHECK_INT(finish(pid), 0);
	unmake(group);
	close(gate[0]);
	close(ready[0]);
	CHECK_INT(groups_left(), 0);
}

static void kill_where_the_kernel_can(void)
{
	struct cgroup *group = make(&usual);
	int gate[2];

	CHECK_INT(pipe2(gate, O_CLOEXEC), 0);
	if (cgroup_clone_fd(group) < 0) {
		CHECK_ERRNO(cgroup_kill(group), ENOTSUP);
	} else {
		pid_t pid = start(group, wait_for_end, gate[0]);
		CHECK_INT(cgroup_kill(group), 0);
		CHECK_INT(finish(pid), SIGKILL);
	}
	close(gate[0]);
	close(gate[1]);
	unmake(group);
}

static void make_dir(const char *name)
{
	for (size_t i = 0; i < site.count; i++) {
		char path[PATH_MAX + 128];
		snprintf(path, sizeof(path), "%s/%s", site.base[i], name);
		CHECK_INT(mkdir(path, 0755), 0);
	}
}

/* Removes it from each hierarchy: in how many it was. */
static int remove_dir(const char *name)
{
	int found = 0;

	for (size_t i = 0; i < site.count; i++) {
		char path[PATH_MAX + 128];
		snprintf(path, sizeof(path), "%s/%s", site.base[i], name);
		found += rmdir(path) == 0;
	}
	return found;
}

static void sweep_takes_what_the_dead_left(void)
{
	char dead[64], living[64], other[64], held[64];
	struct cgroup *group = NULL;
	struct error err = { 0 };
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	CHECK_INT(finish(pid), 0);
	snprintf(dead, sizeof(dead), "box-%d-1", pid);
	snprintf(held, sizeof(held), "box-%d-held", pid);
	snprintf(living, sizeof(living), "box-%d-sweep", getpid());
	snprintf(other, sizeof(other), "tox-%d-1", pid);
	make_dir(dead);
	make_dir(living);
	make_dir(other);
	/* In use by one whose pid means nothing here. */
	CHECK_INT(cgroup_make(&site, held, &(struct cgroup_limits){ .memory = 64 << 20, .pids = 8 }, &group, &err), 0);
	cgroup_sweep(&site);
	CHECK_INT(cgroup_remove(group, &err), 0);
	cgroup_free(group);
	CHECK_INT(remove_dir(dead), 0);
	CHECK_INT(remove_dir(living), site.count);
	CHECK_INT(remove_dir(other), site.count);
}

static void no_site_is_said(void)
{
	struct cgroup_site none = { .version = 0, .why = "No control group tree is mounted" };
	struct cgroup *group;
	struct error err = { 0 };

	CHECK_INT(cgroup_make(&none, "box-1-1", &usual, &group, &err), -1);
	CHECK_INT(err.code, CODE_CANNOT_ENFORCE);
	CHECK_STR(err.text, none.why);
	cgroup_free(NULL);
}

/* With --site: says where groups are made, and tries one. */
int main(int argc, char **argv)
{
	bool quick = argc > 1 && strcmp(argv[1], "--site") == 0;
	struct error err = { 0 };

	if (!quick)
		RUN(no_site_is_said);
	if (cgroup_find(&site, &err) < 0) {
		printf("not ok cgroup_find: %s\n", err.text);
		return 1;
	}
	if (site.version == 0) {
		/* Without a site there is a sentence, never silence. */
		if (!site.why[0]) {
			printf("not ok cgroup_find: no site and no reason\n");
			return 1;
		}
		printf("skip cgroup: %s: %s\n", geteuid() ? "no delegated cgroup" : "no cgroup", site.why);
		return check_failures != 0;
	}
	printf("# version %d:", site.version);
	for (size_t i = 0; i < site.count; i++)
		printf(" %s", site.base[i]);
	putchar('\n');
	if (quick) {
		RUN(processes_within_the_limit);
		return check_failures != 0;
	}
	RUN(site_is_the_same_at_the_second_look);
	RUN(limits_are_set);
	RUN(memory_may_be_rounded_to_pages);
	RUN(small_share_of_cpu);
	RUN(impossible_limits_are_refused);
	RUN(kept_value_other_than_asked_is_refused);
	RUN(bad_names_are_refused);
	RUN(memory_within_the_limit);
	RUN(memory_beyond_the_limit);
	RUN(memory_in_use_now);
	RUN(reclaim_is_no_kill);
	if (v2_has(CGROUP_MEMORY)) {
		RUN(unknown_peak_is_said);
		RUN(swap_that_is_not_counted_is_refused);
	} else {
		RUN(refused_peak_is_an_error);
	}
	RUN(processes_within_the_limit);
	RUN(processes_beyond_the_limit);
	RUN(cpu_time_is_counted);
	if (site.where[CGROUP_CPU] >= 0)
		RUN(cpu_share_is_enforced);
	else
		check_skip("cpu_share_is_enforced", "no cpu controller here");
	RUN(remove_says_busy_while_a_member_lives);
	RUN(kill_where_the_kernel_can);
	RUN(sweep_takes_what_the_dead_left);
	return check_failures != 0;
}
