/* S: system calls and privileges. */
#include "probe.h"

#include <asm/termbits.h>
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <fcntl.h>

/* What older headers lack; the numbers are the same on every architecture from 424 on. */
#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif
#ifndef SYS_mseal
#define SYS_mseal 462
#endif

static const struct {
	const char *name;
	long number;
} calls[] = {
#define CALL(name)                                                                                                     \
	{                                                                                                              \
#name, SYS_##name                                                                                      \
	}
	CALL(acct),
	CALL(add_key),
	CALL(adjtimex),
	CALL(bpf),
	CALL(chroot),
	CALL(clock_adjtime),
	CALL(clock_settime),
	CALL(delete_module),
	CALL(fanotify_init),
	CALL(finit_module),
	CALL(fsconfig),
	CALL(fsmount),
	CALL(fsopen),
	CALL(fspick),
	CALL(getpid),
	CALL(init_module),
	CALL(io_uring_enter),
	CALL(io_uring_register),
	CALL(io_uring_setup),
	CALL(kcmp),
	CALL(kexec_load),
	CALL(keyctl),
	CALL(landlock_create_ruleset),
	CALL(lookup_dcookie),
	CALL(mbind),
	CALL(memfd_secret),
	CALL(migrate_pages),
	CALL(mount),
	CALL(mount_setattr),
	CALL(move_mount),
	CALL(move_pages),
	CALL(name_to_handle_at),
	CALL(open_by_handle_at),
	CALL(open_tree),
	CALL(perf_event_open),
	CALL(personality),
	CALL(pidfd_getfd),
	CALL(pivot_root),
	CALL(process_madvise),
	CALL(process_vm_readv),
	CALL(process_vm_writev),
	CALL(ptrace),
	CALL(quotactl),
	CALL(reboot),
	CALL(request_key),
	CALL(set_mempolicy),
	CALL(setdomainname),
	CALL(sethostname),
	CALL(setns),
	CALL(settimeofday),
	CALL(swapoff),
	CALL(swapon),
	CALL(syslog),
	CALL(umount2),
	CALL(unshare),
	CALL(userfaultfd),
	CALL(vhangup),
#ifdef __x86_64__

	CALL(ioperm),
	CALL(iopl),
	CALL(kexec_file_load),
	CALL(modify_ldt),

	CALL(uselib),
	CALL(ustat),
#endif
#undef CALL
};

/*
 * Every argument is -1: what gets past the filter fails for a bad pointer or
 * descriptor (EFAULT, EBADF, EINVAL), so an EPERM is the filter's own.
 */
static void call(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(calls[i].name, name) == 0) {
			say_rc(syscall(calls[i].number, -1L, -1L, -1L, -1L, -1L, -1L));
			return;
		}
	say("ENOSYS");
}

static void numbered(const char *number)
{
	say_rc(syscall(strtol(number, NULL, 0), 0L, 0L, 0L, 0L, 0L, 0L));
}

static const struct {
	const char *name;
	unsigned long flag;
} namespaces[] = {
	{ "user", CLONE_NEWUSER }, { "mnt", CLONE_NEWNS },  { "pid", CLONE_NEWPID },       { "net", CLONE_NEWNET },
	{ "ipc", CLONE_NEWIPC },   { "uts", CLONE_NEWUTS }, { "cgroup", CLONE_NEWCGROUP }, { "time", CLONE_NEWTIME },
	{ "files", CLONE_FILES },  { "none", 0 },
};

static unsigned long flag_of(const char *name)
{
	for (size_t i = 0; i < sizeof(namespaces) / sizeof(namespaces[0]); i++)
		if (strcmp(namespaces[i].name, name) == 0)
			return namespaces[i].flag;
	return 0;
}

static void unshare_one(const char *name)
{
	say_rc(syscall(SYS_unshare, flag_of(name)));
}

static void clone_one(const char *name)
{
	long pid = syscall(SYS_clone, flag_of(name) | SIGCHLD, 0L, 0L, 0L, 0L);

	if (pid == 0)
		_exit(0);
	say_rc(pid);
	if (pid > 0)
		waitpid((pid_t)pid, NULL, 0);
}

static void clone3_one(const char *name)
{
	struct clone_args args = { .flags = flag_of(name), .exit_signal = SIGCHLD };
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		_exit(0);
	say_rc(pid);
	if (pid > 0)
		waitpid((pid_t)pid, NULL, 0);
}

static void join_namespace(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		say("open: %s", error_name(errno));
	else
		say_rc(syscall(SYS_setns, fd, 0));
}

#ifdef __x86_64__
/* A kernel without 32-bit support has no such door at all. */
static void no_door(int signal)
{
	(void)signal;
	say("ENOSYS");
	_exit(0);
}
#endif

/* The ways into the kernel that are not this architecture's own: 20 and 39 are getpid. */
static void other_entry(const char *which)
{
#ifdef __x86_64__
	if (strcmp(which, "int80") == 0) {
		long rc = 20;

		signal(SIGSEGV, no_door);
		__asm__ volatile("int $0x80" : "+a"(rc) : : "memory", "r8", "r9", "r10", "r11");
		errno = (int)-rc;
		say_rc(rc < 0 ? -1 : 0);
		return;
	}
	if (strcmp(which, "x32") == 0) {
		say_rc(syscall(0x40000000 | 39));
		return;
	}
	if (strcmp(which, "x32-mount") == 0) {
		say_rc(syscall(0x40000000 | SYS_mount, -1L, -1L, -1L, -1L, -1L));
		return;
	}
#endif
	say("%s", strcmp(which, "native") == 0 ? "OK" : "ENOSYS");
}

static void *thread_wait(void *arg)
{
	while (!arg)
		pause();
	return NULL;
}

/* The posture of every thread, each line of interest once when all agree. */
static void posture(const char *arg)
{
	static const char *const wanted[] = {
		"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp"
	};
	unsigned long long values[7] = { 0 };
	int threads = 0;
	pthread_t thread;
	DIR *dir;

	(void)arg;
	for (int i = 0; i < 2; i++)
		pthread_create(&thread, NULL, thread_wait, NULL);
	dir = opendir("/proc/self/task");
	if (!dir) {
		say("%s", error_name(errno));
		return;
	}
	for (struct dirent *e; (e = readdir(dir));) {
		char path[512], line[512];
		FILE *f;

		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/status", e->d_name);
		f = fopen(path, "re");
		if (!f)
			continue;
		threads++;
		while (fgets(line, sizeof(line), f))
			for (int i = 0; i < 7; i++) {
				size_t length = strlen(wanted[i]);

				if (strncmp(line, wanted[i], length) == 0 && line[length] == ':')
					values[i] += strtoull(line + length + 1, NULL, 16);
			}
		fclose(f);
	}
	/* Sums: three threads with NoNewPrivs give 3, with seccomp mode 2 give 6. */
	say("threads %d caps %llx %llx %llx %llx %llx no-new-privs %llu seccomp %llu", threads, values[0], values[1],
	    values[2], values[3], values[4], values[5], values[6]);
}

static void ids(const char *arg)
{
	uid_t r, e, s;
	gid_t gr, ge, gs;

	(void)arg;
	getresuid(&r, &e, &s);
	getresgid(&gr, &ge, &gs);
	say("%u %u %u %u %u %u", r, e, s, gr, ge, gs);
}

static void groups(const char *arg)
{
	gid_t list[256];
	int count = getgroups(256, list);
	char *names[256];

	(void)arg;
	if (count < 0) {
		say("%s", error_name(errno));
		return;
	}
	for (int i = 0; i < count; i++)
		if (asprintf(&names[i], "%u", list[i]) < 0)
			return;
	say_names(names, (size_t)count);
}

static void set_id(const char *which)
{
	if (strcmp(which, "uid") == 0)
		say_rc(setuid(0));
	else if (strcmp(which, "gid") == 0)
		say_rc(setgid(0));
	else if (strcmp(which, "resuid") == 0)
		say_rc(setresuid(0, 0, 0));
	else if (strcmp(which, "groups") == 0)
		say_rc(setgroups(1, (gid_t[]){ 0 }));
	else
		say_rc(setuid(getuid()));
}

static const struct {
	const char *name;
	unsigned long request;
} requests[] = {
	{ "TIOCSTI", TIOCSTI },   { "TIOCLINUX", TIOCLINUX }, { "TIOCSETD", TIOCSETD },
	{ "TIOCCONS", TIOCCONS }, { "FIONREAD", FIONREAD },
};

/* Arg: a request; with a + the same with a bit above 32, which the kernel ignores and a careless filter does not
 * (CVE-2019-7303). */
static void control(const char *name)
{
	bool high = name[strlen(name) - 1] == '+';
	size_t length = strlen(name) - high;
	char byte[8] = "x";

	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
		if (strlen(requests[i].name) == length && memcmp(requests[i].name, name, length) == 0) {
			unsigned long request = requests[i].request | (high ? 1UL << 32 : 0);

			say_rc(syscall(SYS_ioctl, 1, request, byte));
			return;
		}
	say("unknown request");
}

/* A filter that allows everything, in the ways there are to add one. */
static void add_filter(const char *how)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { .len = 1, .filter = &allow };

	if (strcmp(how, "prctl") == 0)
		say_rc(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
	else if (strcmp(how, "listener") == 0)
		say_rc(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
	else
		say_rc(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}

static void set_clock(const char *which)
{
	struct timespec now;
	struct timeval past = { .tv_sec = 1 };
	struct timex change = { .modes = ADJ_TICK, .tick = 10000 };

	clock_gettime(CLOCK_REALTIME, &now);
	if (strcmp(which, "timeofday") == 0)
		say_rc(settimeofday(&past, NULL));
	else if (strcmp(which, "adjust") == 0)
		say_rc(adjtimex(&change));
	else if (strcmp(which, "read") == 0)
		say_rc(clock_gettime(CLOCK_REALTIME, &now));
	else
		say_rc(clock_settime(CLOCK_REALTIME, &now));
}

/* Executes it without a shell; arg: PATH ARGUMENT…. Says the exit status, the output being the command's own. */
static void execute(const char *arg)
{
	char *text = strdup(arg), *words[16], *save = NULL;
	int count = 0, status = 0;

	for (char *w = strtok_r(text, " ", &save); w && count < 15; w = strtok_r(NULL, " ", &save))
		words[count++] = w;
	words[count] = NULL;
	pid_t pid = fork();

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		dup2(null, 0);
		dup2(null, 2);
		execvp(words[0], words);
		_exit(errno == ENOENT ? 127 : 126);
	}
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		say("SIG%s", sigabbrev_np(WTERMSIG(status)));
	else
		say("exit %d", WEXITSTATUS(status));
}

static void write_fd(const char *arg)
{
	say_rc(write(atoi(arg), "{}", 2));
}

const struct probe syscall_probes[] = {
	{ "call", call },
	{ "number", numbered },
	{ "unshare", unshare_one },
	{ "clone", clone_one },
	{ "clone3", clone3_one },
	{ "setns", join_namespace },
	{ "entry", other_entry },
	{ "posture", posture },
	{ "ids", ids },
	{ "groups", groups },
	{ "set-id", set_id },
	{ "ioctl", control },
	{ "add-filter", add_filter },
	{ "clock", set_clock },
	{ "exec", execute },
	{ "write-fd", write_fd },
	{ NULL, NULL },
};
