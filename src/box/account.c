#include "box/account.h"
#include "base/own.h"
#include "kern/netns.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

enum {
	FREE_SOCKETS = 32, /* not counted: an event loop, a few pairs to children, a connection or two */
	FILE_COST = 1280,  /* bytes of an empty file: a shmem inode, a dentry, a long name */
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

	out->proc_fd = out->work_fd = -1;
	out->work_dev = 0;
	out->limit = UINT64_MAX;
	out->peak = out->cpu_usec = out->lost_ticks = out->doubt_ticks = 0;
	out->tracked = 0;
	out->turn = 0;
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
}

/* Opens /proc/PID/FILE of the box; -1 when the process is gone or the file refused. */
static int open_of(const struct account *account, const char *pid, const char *file)
{
	char path[64];
	size_t n = strlen(pid);

	if (n > 20 || strlen(file) > 30)
		return -1;
	memcpy(path, pid, n);
	path[n] = '/';
	strcpy(path + n + 1, file);
	return openat(account->proc_fd, path, O_RDONLY | O_CLOEXEC);
}

/* Reads the file's beginning into account->text and terminates it. Bytes, or -1. */
static ssize_t read_of(struct account *account, const char *pid, const char *file)
{
	_cleanup_close_ int fd = open_of(account, pid, file);
	ssize_t n = fd < 0 ? -1 : read(fd, account->text, sizeof(account->text) - 1);

	if (n >= 0)
		account->text[n] = '\0';
	return n;
}

static uint64_t parse_number(const char **at)
{
	uint64_t value = 0;

	while (**at == ' ' || **at == '\t')
		(*at)++;
	while (**at >= '0' && **at <= '9')
		value = value * 10 + (uint64_t)(*(*at)++ - '0');
	return value;
}

/* The number of a line "KEY:   NUMBER kB"; key holds the newline before it, for a line's middle is the box's to choose.
 */
static uint64_t line_number(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	if (!at)
		return 0;
	at += strlen(key);
	return parse_number(&at);
}

/* Whether a mapping, by its line "START-END PERM OFFSET MAJ:MIN INODE NAME", is not a file of the work tmpfs. */
static bool mapping_counts(const struct account *account, const char *line)
{
	unsigned major_of, minor_of;

	/* The name comes last and is the box's to choose; nothing of it is looked at. */
	return sscanf(line, "%*x-%*x %*4s %*x %x:%x", &major_of, &minor_of) != 2 ||
	       makedev(major_of, minor_of) != account->work_dev;
}

/* One line of smaps: begins a mapping, or adds to the one begun. */
static void add_line(const struct account *account, const char *line, bool *counts, uint64_t *kib)
{
	const char *number = NULL;

	if (strncmp(line, "Pss:", 4) == 0)
		number = line + 4;
	else if (strncmp(line, "SwapPss:", 8) == 0)
		number = line + 8;
	else if ((line[0] >= '0' && line[0] <= '9') || (line[0] >= 'a' && line[0] <= 'f'))
		*counts = mapping_counts(account, line);
	if (number && *counts)
		*kib += parse_number(&number);
}

/*
 * The sum of Pss and SwapPss of the mappings that are not files of the work
 * tmpfs. False when the process is gone or may not be looked into.
 */
static bool add_mappings(struct account *account, const char *pid, uint64_t *kib)
{
	_cleanup_close_ int fd = open_of(account, pid, "smaps");
	size_t used = 0;
	bool counts = true, tail = false;

	if (fd < 0)
		return false;
	for (;;) {
		ssize_t n = read(fd, account->text + used, sizeof(account->text) - 1 - used);
		if (n <= 0)
			return n == 0;
		used += (size_t)n;
		account->text[used] = '\0';
		char *line = account->text, *end;
		for (; (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			if (!tail)
				add_line(account, line, &counts, kib);
			tail = false;
		}
		used -= (size_t)(line - account->text);
		memmove(account->text, line, used + 1);
		/* A line longer than the buffer has a long name at its end: what counts is at its beginning. */
		if (used == sizeof(account->text) - 1) {
			if (!tail)
				add_line(account, account->text, &counts, kib);
			tail = true;
			used = 0;
		}
	}
}

static void add_memory(struct account *account, const char *pid, enum pass pass, struct sums *sums)
{
	/* The kernel escapes newlines in the name on the first line, so a line's beginning is the kernel's own. */
	if (read_of(account, pid, "status") <= 0)
		return;
	uint64_t resident = line_number(account->text, "\nVmRSS:") + line_number(account->text, "\nVmSwap:");
	uint64_t tables = line_number(account->text, "\nVmPTE:");
	uint64_t huge = line_number(account->text, "\nHugetlbPages:");
	sums->threads += line_number(account->text, "\nThreads:");
	sums->processes++;

	if (pass != PASS_RESIDENT && resident > 0) {
		uint64_t kib = 0;
		/* Where the kernel refuses to show the shares (a process that made itself undumpable), the bound
		 * stands. */
		if (pass == PASS_MAPPINGS) {
			if (add_mappings(account, pid, &kib))
				resident = kib;
		} else if (read_of(account, pid, "smaps_rollup") > 0) {
			resident = line_number(account->text, "\nPss:") + line_number(account->text, "\nSwapPss:");
			/* Absent before 5.4: then anything may be. */
			sums->shared += 1024 * (strstr(account->text, "\nPss_Shmem:")
							? line_number(account->text, "\nPss_Shmem:")
							: resident);
		}
	}
	sums->memory += 1024 * (resident + tables + huge);
}

/* The two lists of processes, walked side by side: both are in the order of pids, as the kernel lists them. */
struct walk {
	const struct account_process *old; /* what the last sample saw */
	size_t old_count;                  /* of it */
	size_t at;                         /* the first of it not yet passed */
	struct account_process *now;       /* what this sample sees */
	size_t count;                      /* of it so far */
	uint64_t gone;                     /* ticks of those that are no more */
	int64_t waited;                    /* ticks that the living got from children since */
};

static void walk_to(struct walk *walk, const struct account_process *process)
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
static void walk_end(struct account *account, struct walk *walk)
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

/*
 * PID (NAME) STATE …: utime to cstime are fields 14 to 17, the start 22. The
 * name may hold anything, so the last parenthesis counts.
 */
static void add_cpu(struct account *account, const char *pid, struct walk *walk, struct sums *sums)
{
	struct account_process process = { 0 };
	uint64_t field[23] = { 0 };

	if (read_of(account, pid, "stat") <= 0)
		return;
	const char *at = strrchr(account->text, ')');
	for (int i = 3; at && i <= 22; i++) {
		at = strchr(at, ' ');
		if (!at)
			return;
		at++;
		if (i >= 14)
			field[i] = parse_number(&at);
	}
	process.pid = parse_number(&pid);
	process.start = field[22];
	process.waited = field[16] + field[17];
	process.ticks = field[14] + field[15] + process.waited;
	sums->ticks += process.ticks;
	walk_to(walk, &process);
}

static int sum(struct account *account, enum pass pass, struct sums *sums)
{
	struct walk walk = {
		.old = account->seen[account->turn],
		.old_count = account->tracked,
		.now = account->seen[!account->turn],
	};

	memset(sums, 0, sizeof(*sums));
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
			add_memory(account, entry->d_name, pass, sums);
			if (pass == PASS_RESIDENT)
				add_cpu(account, entry->d_name, &walk, sums);
		}
	}
	if (pass == PASS_RESIDENT)
		walk_end(account, &walk);
	return 0;
}

static uint64_t tmpfs_used(const struct account *account)
{
	struct statfs fs;

	if (account->work_fd < 0 || fstatfs(account->work_fd, &fs) < 0)
		return 0;
	/* An empty file is no block, but an inode and a name in the kernel's memory. */
	return (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize +
	       (uint64_t)(fs.f_files - fs.f_ffree) * FILE_COST;
}

/*
 * What may wait in the box's sockets, which belongs to no process: nothing
 * tells cheaply how much it is, so each counts as full. A program's first few
 * are free. Sockets closed with data on its way are still counted here.
 */
static uint64_t sockets_used(struct account *account)
{
	static const char key[] = "sockets: used ";
	const char *at = account->text + sizeof(key) - 1;
	uint64_t count;

	if (read_of(account, "1", "net/sockstat") <= 0 || strncmp(account->text, key, sizeof(key) - 1) != 0)
		return 0;
	count = parse_number(&at);
	return count > FREE_SOCKETS ? (count - FREE_SOCKETS) * NETNS_SOCKET_MAX : 0;
}

int account_sample(struct account *account, struct account_usage *usage)
{
	struct sums sums, exact;

	if (sum(account, PASS_RESIDENT, &sums) < 0)
		return -1;
	uint64_t files = tmpfs_used(account);
	uint64_t sockets = sockets_used(account);
	uint64_t memory = sums.memory + files + sockets;
	if (memory > account->limit) {
		if (sum(account, PASS_SHARES, &exact) < 0)
			return -1;
		memory = exact.memory + files + sockets;
		/* Only a sum that hangs on what may have been counted twice is worth the third look. */
		uint64_t twice = exact.shared < files ? exact.shared : files;
		if (memory > account->limit && memory - twice <= account->limit) {
			if (sum(account, PASS_MAPPINGS, &exact) < 0)
				return -1;
			memory = exact.memory + files + sockets;
		}
	}

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
