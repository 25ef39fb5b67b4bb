/*
 * The control group of one box: creates, limits, reads and removes it.
 *
 * Every limit is read back from the descriptor that it was written to. If the
 * kernel keeps another value (beyond rounding to pages), the box is refused.
 */
#include "kernel/cgroup.h"
#include "kernel/cgroup_parse.h"
#include "base/own.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>

struct cgroup {
	size_t count;                     /* number of hierarchies */
	int where[CGROUP_CONTROLLERS];    /* controller -> hierarchy, or -1 */
	bool unified[CGROUP_CONTROLLERS]; /* the hierarchy is v2 */
	int base[CGROUP_CONTROLLERS];     /* the site's directory in it */
	int dir[CGROUP_CONTROLLERS];      /* the group's directory in each hierarchy */
	int join[CGROUP_CONTROLLERS];     /* v1: its tasks file */
	bool made[CGROUP_CONTROLLERS];    /* the directory exists, and this group removes it */
	int now;                          /* v2: memory.current, v1: memory.usage_in_bytes */
	int peak;                         /* v2: memory.peak, -1 before 5.19; v1: memory.max_usage_in_bytes */
	int events;                       /* v2: memory.events, v1: memory.oom_control */
	int oom;                          /* polled for events: on v2 the same descriptor as events, on v1 an eventfd */
	char name[64];                    /* the directory's name */
};

static struct cgroup *group_new(const struct cgroup_site *site, const char *name)
{
	struct cgroup *group = calloc(1, sizeof(*group));

	if (!group)
		return NULL;
	group->count = site->count;
	group->now = group->peak = group->events = group->oom = -1;
	for (size_t i = 0; i < CGROUP_CONTROLLERS; i++) {
		group->where[i] = site->where[i];
		group->unified[i] = i < site->count && site->unified[i];
		group->base[i] = group->dir[i] = group->join[i] = -1;
	}
	strcpy(group->name, name);
	return group;
}

static int open_in(const struct cgroup *group, int controller, const char *file, int flags)
{
	return openat(group->dir[group->where[controller]], file, flags | O_CLOEXEC);
}

static ssize_t read_in(const struct cgroup *group, int hierarchy, const char *file, char *text, size_t size)
{
	_cleanup_close_ int fd = openat(group->dir[hierarchy], file, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -1 : read(fd, text, size);
}

static bool number_in(const struct cgroup *group, int hierarchy, const char *file, uint64_t *value)
{
	char text[64];
	ssize_t n = read_in(group, hierarchy, file, text, sizeof(text));

	return n > 0 && cgroup_parse_number(text, (size_t)n, value);
}

/* Writes a number and compares it with the value that the kernel reports, which may be smaller by less than `grain`. */
static int limit_set(const struct cgroup *group, int controller, const char *file, uint64_t value, uint64_t grain,
		     struct error *err)
{
	char text[64];
	uint64_t kept;
	_cleanup_close_ int fd = open_in(group, controller, file, O_RDWR);

	if (fd < 0)
		return error_errno(err, "Opening %s of the control group", file);
	int n = snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	/* v1's memory controller stops reclaiming when the caller has a pending signal. */
	if (TEMP_FAILURE_RETRY(pwrite(fd, text, (size_t)n, 0)) < 0)
		return error_errno(err, "Setting %s of the control group to %s", file, text);
	ssize_t got = pread(fd, text, sizeof(text), 0);
	if (got < 0)
		return error_errno(err, "Reading %s of the control group back", file);
	if (!cgroup_parse_number(text, (size_t)got, &kept) || kept > value || value - kept >= grain)
		return error_set(err, ERROR_FAILED, 0, "The kernel set %s of the control group to %.*s, not to %llu",
				 file, (int)strcspn(text, "\n"), text, (unsigned long long)value);
	return 0;
}

/* Reads a number from an open descriptor. False with errno. */
static bool number_at(int fd, uint64_t *value)
{
	char text[64];
	ssize_t n = pread(fd, text, sizeof(text), 0);

	if (n >= 0)
		errno = ENODATA;
	return n > 0 && cgroup_parse_number(text, (size_t)n, value);
}

static bool file_exists(const struct cgroup *group, int controller, const char *file)
{
	return faccessat(group->dir[group->where[controller]], file, F_OK, 0) == 0;
}

static int limit_memory(const struct cgroup *group, uint64_t bytes, struct error *err)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	if (group->unified[group->where[CGROUP_MEMORY]]) {
		if (limit_set(group, CGROUP_MEMORY, "memory.max", bytes, page, err) < 0)
			return -1;
		/* memory.swap.max is missing in a kernel without swap (cgroup_find() has checked this),
		 * memory.oom.group before 4.19. */
		if (file_exists(group, CGROUP_MEMORY, "memory.swap.max") &&
		    limit_set(group, CGROUP_MEMORY, "memory.swap.max", 0, 1, err) < 0)
			return -1;
		if (file_exists(group, CGROUP_MEMORY, "memory.oom.group") &&
		    limit_set(group, CGROUP_MEMORY, "memory.oom.group", 1, 1, err) < 0)
			return -1;
		return 0;
	}
	if (limit_set(group, CGROUP_MEMORY, "memory.limit_in_bytes", bytes, page, err) < 0)
		return -1;
	/* v1 counts the memory of TCP sockets apart, and only if it has a limit. Without one, a box could use gigabytes
	 * of the host's tcp_mem. */
	if (file_exists(group, CGROUP_MEMORY, "memory.kmem.tcp.limit_in_bytes") &&
	    limit_set(group, CGROUP_MEMORY, "memory.kmem.tcp.limit_in_bytes", bytes, page, err) < 0)
		return -1;
	/*
	 * The same limit for memory and for memory with swap: no swap. The
	 * order matters, because the limit of memory may never exceed the limit
	 * of both. If swap is not accounted, a swappiness of 0 keeps the group
	 * out of it.
	 */
	if (file_exists(group, CGROUP_MEMORY, "memory.memsw.limit_in_bytes"))
		return limit_set(group, CGROUP_MEMORY, "memory.memsw.limit_in_bytes", bytes, page, err);
	return limit_set(group, CGROUP_MEMORY, "memory.swappiness", 0, 1, err);
}

static int limit_cpu_v2(const struct cgroup *group, uint64_t quota, uint64_t period, struct error *err)
{
	char text[64];
	uint64_t kept_quota, kept_period;
	_cleanup_close_ int fd = open_in(group, CGROUP_CPU, "cpu.max", O_RDWR);

	if (fd < 0)
		return error_errno(err, "Opening cpu.max of the control group");
	int n = snprintf(text, sizeof(text), "%llu %llu", (unsigned long long)quota, (unsigned long long)period);
	if (TEMP_FAILURE_RETRY(pwrite(fd, text, (size_t)n, 0)) < 0)
		return error_errno(err, "Setting cpu.max of the control group to %s", text);
	ssize_t got = pread(fd, text, sizeof(text), 0);
	if (got < 0)
		return error_errno(err, "Reading cpu.max of the control group back");
	if (!cgroup_parse_cpu_max(text, (size_t)got, &kept_quota, &kept_period) || kept_quota != quota ||
	    kept_period != period)
		return error_set(err, ERROR_FAILED, 0,
				 "The kernel set cpu.max of the control group to %.*s, not to %llu %llu",
				 (int)strcspn(text, "\n"), text, (unsigned long long)quota, (unsigned long long)period);
	return 0;
}

static int limit_cpu(const struct cgroup *group, double cpus, struct error *err)
{
	/* The kernel accepts quotas from 1 ms and periods up to 1 s, so a small share needs the long period. */
	uint64_t period = cpus < 0.01 ? 1000000 : 100000;
	double quota = round(cpus * (double)period);

	if (!(quota >= 1000) || quota > 1e12)
		return error_set(err, ERROR_USAGE, 0, "A share of %g cores cannot be set; the least is 0.001", cpus);
	if (group->unified[group->where[CGROUP_CPU]])
		return limit_cpu_v2(group, (uint64_t)quota, period, err);
	/* A new group has a period of 100 ms. */
	if (period != 100000 && limit_set(group, CGROUP_CPU, "cpu.cfs_period_us", period, 1, err) < 0)
		return -1;
	return limit_set(group, CGROUP_CPU, "cpu.cfs_quota_us", (uint64_t)quota, 1, err);
}

/* Opens the counters that are read during the run, or at its end, when a new descriptor may not be available. */
static int open_counters(struct cgroup *group, struct error *err)
{
	bool v2 = group->unified[group->where[CGROUP_MEMORY]];

	group->now = open_in(group, CGROUP_MEMORY, v2 ? "memory.current" : "memory.usage_in_bytes", O_RDONLY);
	if (group->now < 0)
		return error_errno(err, "Opening the memory in use of the control group");
	group->peak = open_in(group, CGROUP_MEMORY, v2 ? "memory.peak" : "memory.max_usage_in_bytes", O_RDONLY);
	if (group->peak < 0 && (!v2 || errno != ENOENT))
		return error_errno(err, "Opening the peak memory of the control group");
	return 0;
}

/* Notification of an OOM is optional: cgroup_usage() counts the kills anyway. On failure the descriptor stays -1. */
static void watch_oom(struct cgroup *group)
{
	char text[512];

	if (group->unified[group->where[CGROUP_MEMORY]]) {
		group->events = open_in(group, CGROUP_MEMORY, "memory.events", O_RDONLY);
		/* poll() reports a change since the last read of this descriptor, and always reports one that was never
		 * read. */
		if (group->events >= 0 && pread(group->events, text, sizeof(text), 0) > 0)
			group->oom = group->events;
		return;
	}
	group->events = open_in(group, CGROUP_MEMORY, "memory.oom_control", O_RDONLY);
	_cleanup_close_ int control = open_in(group, CGROUP_MEMORY, "cgroup.event_control", O_WRONLY);
	_cleanup_close_ int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (group->events < 0 || control < 0 || event < 0)
		return;
	int n = snprintf(text, sizeof(text), "%d %d", event, group->events);
	if (write(control, text, (size_t)n) == n)
		group->oom = take_fd(&event);
}

/* The PID of "box-PID-SERIAL", or 0. */
static pid_t name_owner(const char *name)
{
	if (strncmp(name, "box-", 4) != 0)
		return 0;
	char *end;
	long pid = strtol(name + 4, &end, 10);
	return name[4] >= '1' && name[4] <= '9' && *end == '-' && end[1] && pid <= INT_MAX ? (pid_t)pid : 0;
}

static int make_in(struct cgroup *group, size_t i, const char *base, struct error *err)
{
	group->base[i] = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (group->base[i] < 0)
		return error_errno(err, "Opening the control group %s", base);
	if (mkdirat(group->base[i], group->name, 0755) < 0)
		return error_errno(err, "Making the control group %s/%s", base, group->name);
	group->made[i] = true;
	group->dir[i] = openat(group->base[i], group->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (group->dir[i] < 0)
		return error_errno(err, "Opening the control group %s/%s", base, group->name);
	/* The lock tells cgroup_sweep() that the group is in use, also in another pid namespace, where our pid means
	 * nothing. */
	flock(group->dir[i], LOCK_SH | LOCK_NB);
	if (group->unified[i])
		return 0;
	group->join[i] = openat(group->dir[i], "tasks", O_WRONLY | O_CLOEXEC);
	if (group->join[i] < 0)
		return error_errno(err, "Opening tasks of the control group %s/%s", base, group->name);
	return 0;
}

int cgroup_make(const struct cgroup_site *site, const char *name, const struct cgroup_limits *limits,
		struct cgroup **out, struct error *err)
{
	*out = NULL;
	if (site->version == 0)
		return error_refuse(err, CODE_CANNOT_ENFORCE, "", "%s", site->why);
	if (!name[0] || name[0] == '.' || strchr(name, '/') || strlen(name) >= sizeof((*out)->name))
		return error_set(err, ERROR_FAILED, EINVAL, "A control group cannot be named \"%s\"", name);

	struct cgroup *group = group_new(site, name);
	if (!group)
		return error_set(err, ERROR_FAILED, ENOMEM, "Making a control group");
	for (size_t i = 0; i < group->count; i++)
		if (make_in(group, i, site->base[i], err) < 0)
			goto fail;
	if (limit_memory(group, limits->memory, err) < 0)
		goto fail;
	if (limit_set(group, CGROUP_PIDS, "pids.max", limits->pids, 1, err) < 0)
		goto fail;
	if (group->where[CGROUP_CPU] >= 0 && limits->cpus != 0 && limit_cpu(group, limits->cpus, err) < 0)
		goto fail;
	if (open_counters(group, err) < 0)
		goto fail;
	watch_oom(group);
	*out = group;
	return 0;

fail:
	for (size_t i = 0; i < group->count; i++)
		if (group->made[i])
			unlinkat(group->base[i], group->name, AT_REMOVEDIR);
	cgroup_free(group);
	return -1;
}

int cgroup_change(struct cgroup *group, const struct cgroup_limits *before, const struct cgroup_limits *limits,
		  struct error *err)
{
	const char *both = "memory.memsw.limit_in_bytes";
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	/* v1: the limit of memory must never exceed the limit of memory and swap. */
	if (limits->memory > before->memory && !group->unified[group->where[CGROUP_MEMORY]] &&
	    file_exists(group, CGROUP_MEMORY, both) &&
	    limit_set(group, CGROUP_MEMORY, both, limits->memory, page, err) < 0)
		return -1;
	if (limits->memory != before->memory && limit_memory(group, limits->memory, err) < 0)
		return -1;
	if (limits->pids != before->pids && limit_set(group, CGROUP_PIDS, "pids.max", limits->pids, 1, err) < 0)
		return -1;
	if (limits->cpus != before->cpus && group->where[CGROUP_CPU] >= 0 && limits->cpus != 0)
		return limit_cpu(group, limits->cpus, err);
	return 0;
}

int cgroup_clone_fd(const struct cgroup *group)
{
	for (size_t i = 0; i < group->count; i++)
		if (group->unified[i])
			return group->dir[i];
	return -1;
}

size_t cgroup_join_fds(const struct cgroup *group, int *fds)
{
	size_t count = 0;

	for (size_t i = 0; i < group->count; i++)
		if (group->join[i] >= 0)
			fds[count++] = group->join[i];
	return count;
}

int cgroup_enter_fds(struct cgroup *group, int *fds)
{
	for (size_t i = 0; i < group->count; i++) {
		if (group->join[i] < 0)
			group->join[i] = openat(group->dir[i], group->unified[i] ? "cgroup.procs" : "tasks",
						O_WRONLY | O_CLOEXEC);
		if (group->join[i] < 0)
			return -1;
		fds[i] = group->join[i];
	}
	return (int)group->count;
}

void cgroup_entered(struct cgroup *group)
{
	for (size_t i = 0; i < group->count; i++) {
		close_fd(&group->join[i]);
		close_fd(&group->base[i]);
	}
}

int cgroup_join(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (write(fds[i], "0", 1) != 1)
			return -1;
	return 0;
}

int cgroup_oom_fd(const struct cgroup *group, short *events)
{
	*events = group->oom >= 0 && group->oom == group->events ? POLLPRI : POLLIN;
	return group->oom;
}

/* Nanoseconds on v1, microseconds on v2; 0 if neither is counted. */
static int read_cpu(const struct cgroup *group, uint64_t *usec, struct error *err)
{
	char text[1024];

	*usec = 0;
	if (group->where[CGROUP_CPUACCT] >= 0) {
		if (!number_in(group, group->where[CGROUP_CPUACCT], "cpuacct.usage", usec))
			return error_errno(err, "Reading cpuacct.usage of the control group");
		*usec /= 1000;
		return 0;
	}
	for (size_t i = 0; i < group->count; i++) {
		if (!group->unified[i])
			continue;
		ssize_t n = read_in(group, (int)i, "cpu.stat", text, sizeof(text));
		if (n < 0 || !cgroup_parse_field(text, (size_t)n, "usage_usec", usec))
			return error_errno(err, "Reading cpu.stat of the control group");
		return 0;
	}
	return 0;
}

bool cgroup_knows_peak(const struct cgroup *group)
{
	return group->peak >= 0;
}

int cgroup_tasks_now(const struct cgroup *group, uint64_t *tasks)
{
	_cleanup_close_ int fd = open_in(group, CGROUP_PIDS, "pids.current", O_RDONLY);

	return fd >= 0 && number_at(fd, tasks) ? 0 : -1;
}

int cgroup_charge_fd(const struct cgroup *group)
{
	bool unified = group->unified[group->where[CGROUP_MEMORY]];

	return open_in(group, CGROUP_MEMORY, unified ? "cgroup.procs" : "tasks", O_WRONLY);
}

int cgroup_memory_room(const struct cgroup *group, uint64_t limit, uint64_t *room)
{
	static const char *const files[] = { "active_file", "inactive_file" };
	char text[4096];
	uint64_t used, bytes;
	ssize_t n;

	if (cgroup_memory_now(group, &used) < 0)
		return -1;
	n = read_in(group, group->where[CGROUP_MEMORY], "memory.stat", text, sizeof(text));
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (n > 0 && cgroup_parse_field(text, (size_t)n, files[i], &bytes))
			used -= bytes < used ? bytes : used;
	*room = used < limit ? limit - used : 0;
	return 0;
}

int cgroup_forks_refused(const struct cgroup *group, uint64_t *times)
{
	char text[256];
	ssize_t n = group->where[CGROUP_PIDS] < 0
			    ? -1
			    : read_in(group, group->where[CGROUP_PIDS], "pids.events", text, sizeof(text));

	if (n > 0 && cgroup_parse_field(text, (size_t)n, "max", times))
		return 0;
	errno = ENODATA;
	return -1;
}

int cgroup_memory_now(const struct cgroup *group, uint64_t *bytes)
{
	return number_at(group->now, bytes) ? 0 : -1;
}

int cgroup_oom_kills(const struct cgroup *group, uint64_t *kills)
{
	char text[512];
	ssize_t n = pread(group->events, text, sizeof(text), 0);

	if (n < 0)
		return -1;
	if (cgroup_parse_field(text, (size_t)n, "oom_kill", kills))
		return 0;
	errno = ENODATA;
	return -1;
}

static int read_usage(const struct cgroup *group, struct cgroup_usage *usage, struct error *err)
{
	memset(usage, 0, sizeof(*usage));
	if (cgroup_memory_now(group, &usage->memory_now) < 0)
		return error_errno(err, "Reading the memory of the control group");
	if (cgroup_knows_peak(group) && !number_at(group->peak, &usage->memory_peak))
		return error_errno(err, "Reading the peak memory of the control group");
	return read_cpu(group, &usage->cpu_usec, err);
}

int cgroup_usage(const struct cgroup *group, struct cgroup_usage *usage, struct error *err)
{
	if (read_usage(group, usage, err) < 0)
		return -1;
	if (cgroup_oom_kills(group, &usage->oom_kills) < 0)
		usage->oom_kills = 0;
	return 0;
}

int cgroup_usage_aside(const struct cgroup *group, struct cgroup_usage *usage, struct error *err)
{
	int where = group->where[CGROUP_MEMORY];
	char text[512];
	ssize_t n;

	if (read_usage(group, usage, err) < 0)
		return -1;
	n = read_in(group, where, group->unified[where] ? "memory.events" : "memory.oom_control", text, sizeof(text));
	if (n <= 0 || !cgroup_parse_field(text, (size_t)n, "oom_kill", &usage->oom_kills))
		usage->oom_kills = 0;
	return 0;
}

/* Dying processes need CPU time too. With a small share, they would need seconds. */
static void lift_cpu_limit(const struct cgroup *group)
{
	int where = group->where[CGROUP_CPU];
	if (where < 0)
		return;
	bool unified = group->unified[where];
	_cleanup_close_ int fd = open_in(group, CGROUP_CPU, unified ? "cpu.max" : "cpu.cfs_quota_us", O_WRONLY);
	if (fd >= 0)
		(void)!write(fd, unified ? "max" : "-1", unified ? 3 : 2);
}

int cgroup_kill(const struct cgroup *group)
{
	lift_cpu_limit(group);
	for (size_t i = 0; i < group->count; i++) {
		if (!group->unified[i])
			continue;
		_cleanup_close_ int fd = openat(group->dir[i], "cgroup.kill", O_WRONLY | O_CLOEXEC);
		if (fd >= 0)
			return write(fd, "1", 1) == 1 ? 0 : -1;
		if (errno != ENOENT)
			return -1;
	}
	errno = ENOTSUP;
	return -1;
}

/*
 * Since Linux 6.19 a task leaves its group only after its last switch away from
 * the processor, which may be after its parent has waited for it. So a group
 * without members can be busy for a moment.
 */
static int remove_dir(const struct cgroup *group, int i)
{
	const struct timespec moment = { .tv_nsec = 500000 };
	char member;

	for (int tries = 0;; tries++) {
		if (unlinkat(group->base[i], group->name, AT_REMOVEDIR) == 0 || errno == ENOENT)
			return 0;
		if (errno != EBUSY)
			return -1;
		if (tries == 100 || group->dir[i] < 0 || read_in(group, i, "cgroup.procs", &member, 1) != 0) {
			errno = EBUSY;
			return -1;
		}
		nanosleep(&moment, NULL);
	}
}

int cgroup_remove(struct cgroup *group, struct error *err)
{
	int failed = 0;

	/* Tries all of them: a second call removes the rest. */
	for (size_t i = 0; i < group->count; i++) {
		if (!group->made[i])
			continue;
		if (group->base[i] < 0)
			group->base[i] = openat(group->dir[i], "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (remove_dir(group, (int)i) == 0)
			group->made[i] = false;
		else
			failed = errno;
	}
	if (failed)
		return error_set(err, ERROR_FAILED, failed, "Removing the control group %s", group->name);
	return 0;
}

static bool kill_members(const struct cgroup *group, int i)
{
	char text[1024] = "";
	ssize_t n = read_in(group, i, "cgroup.procs", text, sizeof(text) - 1);
	char *at = text, *end;

	for (long pid = strtol(at, &end, 10); end != at; pid = strtol(at, &end, 10)) {
		/* 0: a process of another pid namespace. The last line may be truncated. */
		if (pid > 0 && *end == '\n')
			kill((pid_t)pid, SIGKILL);
		at = end;
	}
	return n > 0;
}

void cgroup_evict(const struct cgroup *group)
{
	const struct timespec moment = { .tv_nsec = 1000000 };

	for (size_t i = 0; i < group->count; i++)
		for (int tries = 0; tries < 1000 && kill_members(group, (int)i); tries++)
			nanosleep(&moment, NULL);
}

/* Whether nobody holds the lock that the creator of a group takes. */
static bool is_abandoned(int base, const char *name)
{
	_cleanup_close_ int fd = openat(base, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
}

void cgroup_sweep(const struct cgroup_site *site)
{
	for (size_t i = 0; i < site->count; i++) {
		_cleanup_closedir_ DIR *dir = opendir(site->base[i]);
		if (!dir)
			continue;
		for (struct dirent *entry; (entry = readdir(dir));) {
			pid_t owner = entry->d_type == DT_DIR ? name_owner(entry->d_name) : 0;
			/* The kernel refuses to remove a group with members (EBUSY). */
			if (owner > 0 && kill(owner, 0) < 0 && errno == ESRCH &&
			    is_abandoned(dirfd(dir), entry->d_name))
				unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
		}
	}
}

void cgroup_free(struct cgroup *group)
{
	if (!group)
		return;
	if (group->oom != group->events)
		close_fd(&group->oom);
	close_fd(&group->events);
	close_fd(&group->now);
	close_fd(&group->peak);
	for (size_t i = 0; i < CGROUP_CONTROLLERS; i++) {
		close_fd(&group->join[i]);
		close_fd(&group->dir[i]);
		close_fd(&group->base[i]);
	}
	free(group);
}
