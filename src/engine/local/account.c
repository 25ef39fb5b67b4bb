#include "engine/local/account.h"
#include "base/own.h"
#include "kernel/netns.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>

enum {
	FREE_SOCKETS = 32,      /* not counted: an event loop, a few pairs to children, a connection or two */
	FILE_COST = 1280,       /* bytes of an empty file: a shmem inode, a dentry, a long name */
	WHO_SIZE = 64,          /* of a PID/task/TID */
	THREAD_ATTEMPTS = 4,    /* to find a living thread of a process whose first has ended */
	HIDDEN_SAMPLES = 10,    /* without finding one: nobody is that unlucky by chance */
	CONFIRM_NSEC = 1000000, /* between a sum above the limit and the one that confirms it */
};

/* How exactly the memory of one process is read; each is dearer than the one before. */
enum pass {
	PASS_RESIDENT, /* status: pages shared within the box count once for each process */
	PASS_SHARES,   /* smaps_rollup: each page once, files of the tmpfs once more than they should */
	PASS_MAPPINGS, /* smaps: without the mappings of files on the tmpfs */
};

struct sums {
	uint64_t memory;    /* bytes */
	uint64_t shared;    /* bytes of it that may be files of the tmpfs */
	uint64_t ticks;     /* of CPU, with that of children waited for */
	uint64_t processes; /* seen */
	uint64_t threads;   /* of them */
};

int account_open(int proc_fd, int work_fd, struct account *out, struct error *err)
{
	struct stat st;

	out->proc_fd = out->work_fd = out->segments_fd = -1;
	out->work_dev = 0;
	out->limit = UINT64_MAX;
	out->peak = out->cpu_usec = out->lost_ticks = out->doubt_ticks = 0;
	out->tracked = out->parent_count = 0;
	out->turn = 0;
	out->hiding = false;
	out->hidden = 0;
	long ticks = sysconf(_SC_CLK_TCK);
	out->tick_usec = 1000000 / (uint64_t)(ticks > 0 ? ticks : 100);

	/* A descriptor of our own: its offset is ours, and O_PATH ones cannot be listed. */
	_cleanup_close_ int proc = openat(proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0)
		return error_errno(err, "Opening the processes of the box");
	if (work_fd >= 0) {
		_cleanup_close_ int work = fcntl(work_fd, F_DUPFD_CLOEXEC, 3);
		if (work < 0 || fstat(work, &st) < 0)
			return error_errno(err, "Opening the files of the box");
		out->work_dev = st.st_dev;
		out->work_fd = take_fd(&work);
	}
	out->proc_fd = take_fd(&proc);
	return 0;
}

void account_close(struct account *account)
{
	close_fd(&account->proc_fd);
	close_fd(&account->work_fd);
	close_fd(&account->segments_fd);
}

/* A process that ended meanwhile. Any other failure is ours, and what is not counted must not pass for nothing. */
static bool means_gone(int errnum)
{
	return errnum == ENOENT || errnum == ESRCH;
}

/* The kernel does not let us look into a process that made itself undumpable. */
static bool means_refused(int errnum)
{
	return errnum == EACCES || errnum == EPERM;
}

/* Opens /proc/WHO/FILE of the box, WHO being PID or PID/task/TID. */
static int open_of(const struct account *account, const char *who, const char *file, int flags)
{
	char path[96];

	if (snprintf(path, sizeof(path), "%s/%s", who, file) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return openat(account->proc_fd, path, O_RDONLY | O_CLOEXEC | flags);
}

/* Reads the file's beginning into account->text and terminates it. Bytes, or -1 with errno. */
static ssize_t read_of(struct account *account, const char *who, const char *file)
{
	_cleanup_close_ int fd = open_of(account, who, file, 0);
	ssize_t n = fd < 0 ? -1 : read(fd, account->text, sizeof(account->text) - 1);

	account->text[n < 0 ? 0 : n] = '\0';
	return n;
}

/* 1 when it was read, 0 when there is no such process any more, -1 with errno. */
static int read_status(struct account *account, const char *who, struct account_status *status)
{
	ssize_t n = read_of(account, who, "status");

	if (n < 0 && !means_gone(errno))
		return -1;
	if (n <= 0)
		return 0;
	account_parse_status(account->text, status);
	return 1;
}

/* What is done with each thread of a process; not 0 ends the walk and is its result. */
typedef int thread_visit(struct account *account, const char *who, void *data);

static int threads_visit(struct account *account, const char *pid, thread_visit *visit, void *data)
{
	_cleanup_close_ int dir = open_of(account, pid, "task", O_DIRECTORY);
	char who[WHO_SIZE];
	int r;

	if (dir < 0)
		return means_gone(errno) ? 0 : -1;
	for (;;) {
		ssize_t n = getdents64(dir, account->threads, sizeof(account->threads));
		if (n < 0)
			return means_gone(errno) ? 0 : -1;
		if (n == 0)
			return 0;
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *entry = (const void *)(account->threads + at);
			at += entry->d_reclen;
			if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
				continue;
			snprintf(who, sizeof(who), "%.20s/task/%.20s", pid, entry->d_name);
			r = visit(account, who, data);
			if (r != 0)
				return r;
		}
	}
}

/* A search for a thread that has memory. */
struct living {
	struct account_status status; /* of it */
	char who[WHO_SIZE];           /* it */
	bool missed;                  /* a thread was gone before it was looked at */
};

static int living_visit(struct account *account, const char *who, void *data)
{
	struct living *living = data;
	int r = read_status(account, who, &living->status);

	if (r == 0)
		living->missed = true;
	if (r <= 0 || !living->status.memory)
		return r < 0 ? -1 : 0;
	strcpy(living->who, who);
	return 1;
}

/*
 * After its first thread has ended, a process shows its memory only in the
 * others. They may hand it on to each other faster than they are looked at;
 * when all of them are seen ended, twice, the process is ending. 1 when one was
 * found, 0 when not, -1 with errno.
 */
static int find_living(struct account *account, const char *pid, struct living *living)
{
	for (int attempt = 0, ended = 0; attempt < THREAD_ATTEMPTS; attempt++) {
		living->missed = false;
		int r = threads_visit(account, pid, living_visit, living);
		if (r != 0)
			return r;
		ended = living->missed ? 0 : ended + 1;
		if (ended == 2)
			return 0;
	}
	account->hiding = true;
	return 0;
}

static int vfork_visit(struct account *account, const char *who, void *data)
{
	struct account_status status;
	ssize_t n = read_of(account, who, "syscall");

	/* Absent from kernels without tracing: then no memory is known to be shared. */
	if (n < 0)
		return means_gone(errno) || means_refused(errno) ? 0 : -1;
	if (!account_parse_vfork(account->text))
		return 0;
	int r = read_status(account, who, &status);
	if (r > 0 && status.blocked)
		++*(int *)data;
	return r < 0 ? -1 : 0;
}

/* The entry of this parent, made when there is none; NULL when there are too many. */
static struct account_parent *parent_find(struct account *account, uint64_t pid)
{
	struct account_parent *end = account->parents + account->parent_count;

	for (struct account_parent *parent = account->parents; parent < end; parent++)
		if (parent->pid == pid)
			return parent;
	if (account->parent_count == ACCOUNT_TRACKED)
		return NULL;
	account->parent_count++;
	*end = (struct account_parent){ .pid = pid };
	return end;
}

/*
 * Between vfork and exec two processes have one memory, and each shows the
 * whole of it. Nothing tells that two are one, and sizes can be made equal; but
 * a thread that waits in vfork has exactly one such child. So for each of them
 * one child of the same size counts with what it has more. This is looked at
 * right after the child's status and before its shares, which take
 * milliseconds, and the status again when the parent does not wait: the child
 * may just have executed its program. 1 with the memory that is the parent's
 * in *kib, 0 when there is none or the process is gone, or -1.
 */
static int find_borrowed(struct account *account, const char *who, struct account_status *status, uint64_t *kib)
{
	struct account_status parent_status;
	char pid[24];
	int waiting = 0, r;

	snprintf(pid, sizeof(pid), "%llu", (unsigned long long)status->parent);
	r = read_status(account, pid, &parent_status);
	if (r <= 0 || !parent_status.memory || parent_status.size != status->size)
		return r < 0 ? -1 : 0;
	struct account_parent *parent = parent_find(account, status->parent);
	if (!parent)
		return 0;
	if (threads_visit(account, pid, vfork_visit, &waiting) < 0)
		return -1;
	if (waiting > parent->children) {
		parent->children++;
		*kib = parent_status.resident + parent_status.tables + parent_status.huge;
		return 1;
	}
	r = read_status(account, who, status);
	if (r == 0)
		status->memory = false;
	return r < 0 ? -1 : 0;
}

/*
 * The sum of Pss and SwapPss of the mappings that are not files of the work
 * tmpfs. 1, 0 when the process is gone or may not be looked into, or -1.
 */
static int add_mappings(struct account *account, const char *who, uint64_t *kib)
{
	_cleanup_close_ int fd = open_of(account, who, "smaps", 0);
	struct account_shares shares = { .leave = account->work_dev, .counts = true };
	size_t used = 0;
	bool tail = false;

	if (fd < 0)
		return means_gone(errno) || means_refused(errno) ? 0 : -1;
	for (;;) {
		ssize_t n = read(fd, account->text + used, sizeof(account->text) - 1 - used);
		if (n < 0)
			return means_gone(errno) || means_refused(errno) ? 0 : -1;
		if (n == 0)
			break;
		used += (size_t)n;
		account->text[used] = '\0';
		char *line = account->text, *end;
		for (; (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			if (!tail)
				account_parse_smaps(line, &shares);
			tail = false;
		}
		used -= (size_t)(line - account->text);
		memmove(account->text, line, used + 1);
		/* A line longer than the buffer has a long name at its end: what counts is at its beginning. */
		if (used == sizeof(account->text) - 1) {
			if (!tail)
				account_parse_smaps(account->text, &shares);
			tail = true;
			used = 0;
		}
	}
	*kib = shares.kib;
	return 1;
}

/* The sum of Pss and SwapPss; 1, 0 when the process is gone or may not be looked into, or -1. */
static int add_shares(struct account *account, const char *who, uint64_t *kib, struct sums *sums)
{
	ssize_t n = read_of(account, who, "smaps_rollup");

	if (n < 0 && !means_gone(errno) && !means_refused(errno))
		return -1;
	if (n <= 0)
		return 0;
	*kib = account_parse_line(account->text, "\nPss:") + account_parse_line(account->text, "\nSwapPss:");
	/* Absent before 5.4: then anything may be. */
	sums->shared +=
		1024 *
		(strstr(account->text, "\nPss_Shmem:") ? account_parse_line(account->text, "\nPss_Shmem:") : *kib);
	return 1;
}

static int add_memory(struct account *account, const char *pid, enum pass pass, struct sums *sums)
{
	struct account_status status;
	struct living living;
	const char *who = pid;
	uint64_t borrowed = 0;
	int r = read_status(account, pid, &status);

	if (r <= 0)
		return r;
	sums->threads += status.threads;
	sums->processes++;
	if (!status.memory && status.threads > 1) {
		r = find_living(account, pid, &living);
		if (r < 0)
			return -1;
		if (r > 0) {
			status = living.status;
			who = living.who;
		}
	}
	if (!status.memory)
		return 0;

	if (pass != PASS_RESIDENT) {
		r = find_borrowed(account, who, &status, &borrowed);
		if (r < 0)
			return -1;
		/* Where the kernel refuses to show the shares (a process that made itself undumpable), the bound
		 * stands. */
		if (r == 0 && status.memory)
			r = pass == PASS_MAPPINGS ? add_mappings(account, who, &status.resident)
						  : add_shares(account, who, &status.resident, sums);
		if (r < 0)
			return -1;
	}
	uint64_t kib = status.resident + status.tables + status.huge;
	if (status.memory && kib > borrowed)
		sums->memory += 1024 * (kib - borrowed);
	return 0;
}

/* The two lists of processes, walked side by side: both are in the order of pids, as the kernel lists them. */
struct process_walk {
	const struct account_process *old; /* what the last sample saw */
	size_t old_count;                  /* of it */
	size_t at;                         /* the first of it not yet passed */
	struct account_process *now;       /* what this sample sees */
	size_t count;                      /* of it so far */
	uint64_t gone;                     /* ticks of those that are no more */
	int64_t waited;                    /* ticks that the living got from children since */
};

static void walk_to(struct process_walk *walk, const struct account_process *process)
{
	for (; walk->at < walk->old_count && walk->old[walk->at].pid <= process->pid; walk->at++) {
		const struct account_process *old = &walk->old[walk->at];
		if (old->pid != process->pid || old->start != process->start)
			walk->gone += old->ticks;
		else
			walk->waited -= (int64_t)old->waited;
	}
	walk->waited += (int64_t)process->waited;
	if (walk->count < ACCOUNT_TRACKED)
		walk->now[walk->count++] = *process;
}

/*
 * A process whose parent ignores SIGCHLD takes its CPU time with it: nobody's
 * cutime gets it, and a program could compute for ever in such children. So
 * what the vanished were last seen to have used, and no parent has been given
 * since, is kept. One that ends while the list is read may reach its parent
 * only by the next sample: as much as the last one added can be taken back.
 */
static void walk_end(struct account *account, struct process_walk *walk)
{
	for (; walk->at < walk->old_count; walk->at++)
		walk->gone += walk->old[walk->at].ticks;
	account->tracked = walk->count;
	account->turn = !account->turn;

	uint64_t waited = walk->waited > 0 ? (uint64_t)walk->waited : 0;
	if (walk->gone >= waited) {
		account->doubt_ticks = walk->gone - waited;
		account->lost_ticks += account->doubt_ticks;
	} else {
		uint64_t back = waited - walk->gone;
		account->lost_ticks -= back < account->doubt_ticks ? back : account->doubt_ticks;
		account->doubt_ticks = 0;
	}
}

static int add_cpu(struct account *account, const char *pid, struct process_walk *walk, struct sums *sums)
{
	struct account_process process = { 0 };
	ssize_t n = read_of(account, pid, "stat");

	if (n < 0 && !means_gone(errno))
		return -1;
	if (n <= 0 || !account_parse_stat(account->text, &process))
		return 0;
	process.pid = account_parse_number(&pid);
	sums->ticks += process.ticks;
	walk_to(walk, &process);
	return 0;
}

static int sum(struct account *account, enum pass pass, struct sums *sums)
{
	struct process_walk walk = {
		.old = account->seen[account->turn],
		.old_count = account->tracked,
		.now = account->seen[!account->turn],
	};

	memset(sums, 0, sizeof(*sums));
	account->parent_count = 0;
	if (lseek(account->proc_fd, 0, SEEK_SET) < 0)
		return -1;
	for (;;) {
		/* In the order of pids: a parent is nearly always read before its child, so that nothing is counted
		 * twice. */
		ssize_t n = getdents64(account->proc_fd, account->entries, sizeof(account->entries));
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *entry = (const void *)(account->entries + at);
			at += entry->d_reclen;
			if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
				continue;
			if (add_memory(account, entry->d_name, pass, sums) < 0)
				return -1;
			if (pass == PASS_RESIDENT && add_cpu(account, entry->d_name, &walk, sums) < 0)
				return -1;
		}
	}
	if (pass == PASS_RESIDENT)
		walk_end(account, &walk);
	return 0;
}

static int add_tmpfs(const struct account *account, uint64_t *files)
{
	struct statfs fs;

	*files = 0;
	if (account->work_fd < 0)
		return 0;
	if (fstatfs(account->work_fd, &fs) < 0)
		return -1;
	/* An empty file is no block, but an inode and a name in the kernel's memory. */
	*files = (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize +
		 (uint64_t)(fs.f_files - fs.f_ffree) * FILE_COST;
	return 0;
}

/*
 * What may wait in the box's sockets, which belongs to no process: nothing
 * tells cheaply how much it is, so each counts as full. A program's first few
 * are free. Sockets closed with data on its way are still counted here.
 */
static int add_sockets(struct account *account, uint64_t *sockets)
{
	static const char key[] = "sockets: used ";
	const char *at = account->text + sizeof(key) - 1;
	ssize_t n = read_of(account, "1", "net/sockstat");

	*sockets = 0;
	if (n < 0 && !means_gone(errno))
		return -1;
	if (n <= 0 || strncmp(account->text, key, sizeof(key) - 1) != 0)
		return 0;
	uint64_t count = account_parse_number(&at);
	if (count > FREE_SOCKETS)
		*sockets = (count - FREE_SOCKETS) * NETNS_SOCKET_MAX;
	return 0;
}

/* Line by line: there may be thousands, and a read ends anywhere. */
static int add_segments(struct account *account, uint64_t *segments)
{
	size_t kept = 0;
	ssize_t n;

	*segments = 0;
	if (account->segments_fd < 0)
		return 0;
	if (lseek(account->segments_fd, 0, SEEK_SET) < 0)
		return -1;
	while ((n = read(account->segments_fd, account->text + kept, sizeof(account->text) - 1 - kept)) > 0) {
		char *line = account->text, *end;

		account->text[kept + (size_t)n] = '\0';
		for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
			*end = '\0';
			*segments += account_parse_segment(line);
		}
		kept = strlen(line);
		memmove(account->text, line, kept + 1);
		if (kept == sizeof(account->text) - 1)
			kept = 0;
	}
	return n < 0 ? -1 : 0;
}

/* What belongs to no process: files, and in *all segments and what waits in sockets as well. */
static int sum_rest(struct account *account, uint64_t *files, uint64_t *all)
{
	uint64_t sockets, segments;

	if (add_tmpfs(account, files) < 0 || add_sockets(account, &sockets) < 0 || add_segments(account, &segments) < 0)
		return -1;
	*all = *files + sockets + segments;
	return 0;
}

/* Each page once. */
static int sum_exact(struct account *account, uint64_t *memory)
{
	struct sums exact;
	uint64_t files, rest;

	if (sum_rest(account, &files, &rest) < 0 || sum(account, PASS_SHARES, &exact) < 0)
		return -1;
	*memory = exact.memory + rest;
	/* Only a sum that hangs on what may have been counted twice is worth the third look. */
	uint64_t twice = exact.shared < files ? exact.shared : files;
	if (*memory > account->limit && *memory - twice <= account->limit) {
		if (sum(account, PASS_MAPPINGS, &exact) < 0)
			return -1;
		*memory = exact.memory + rest;
	}
	return 0;
}

int account_sample(struct account *account, struct account_usage *usage)
{
	const struct timespec moment = { .tv_nsec = CONFIRM_NSEC };
	struct sums sums;
	uint64_t files, rest, memory, again;

	account->hiding = false;
	if (sum(account, PASS_RESIDENT, &sums) < 0 || sum_rest(account, &files, &rest) < 0)
		return -1;
	memory = sums.memory + rest;
	if (memory > account->limit) {
		if (sum_exact(account, &memory) < 0)
			return -1;
		/* A process may exec or end between two looks of one sample; it does not do so in each of two. */
		if (memory > account->limit) {
			nanosleep(&moment, NULL);
			if (sum_exact(account, &again) < 0)
				return -1;
			memory = again < memory ? again : memory;
		}
	}
	account->hidden = account->hiding ? account->hidden + 1 : 0;
	if (account->hidden >= HIDDEN_SAMPLES && memory <= account->limit && account->limit < UINT64_MAX)
		memory = account->limit + 1;

	uint64_t cpu = (sums.ticks + account->lost_ticks) * account->tick_usec;
	if (cpu > account->cpu_usec)
		account->cpu_usec = cpu;
	if (memory > account->peak)
		account->peak = memory;
	usage->memory_now = memory;
	usage->memory_peak = account->peak;
	usage->cpu_usec = account->cpu_usec;
	usage->processes = sums.processes;
	usage->threads = sums.threads;
	return 0;
}
