#include "engine/local/inside.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "engine/local/prove_inside.h"
#include "kernel/caps.h"
#include "kernel/cgroup.h"
#include "kernel/fdset.h"
#include "kernel/landlock.h"
#include "kernel/mount.h"
#include "kernel/net_plant.h"
#include "kernel/netns.h"
#include "kernel/rootfs.h"
#include "kernel/seccomp.h"
#include "kernel/userns.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

/* Where the root is built: every host has it, and what a plan binds is never below it (a project is taken before). */
#define STAGE "/tmp"

/* How long after the program's time pid 1 ends the box, if the supervisor has not. */
enum {
	GRACE_USEC = 300000
};

/* Scaffolding beside the new root: it is part of the old one, and goes with it in one step. */
#define WORK "../work"

enum {
	PLACE_MAX = 64 /* bytes of a path below the work tmpfs */
};

static void report(const struct inside *in, struct report report)
{
	fd_send(in->control, &report, sizeof(report), NULL, 0);
}

/* A field of /proc/self/stat by its number in proc(5); the name in field 2 may hold anything, but ends at the last
 * parenthesis. */
static unsigned long stat_field(const char *text, int field)
{
	const char *at = strrchr(text, ')');

	for (int i = 2; at && i < field; i++)
		at = strchr(at + 1, ' ');
	return at ? strtoul(at + 1, NULL, 10) : 0;
}

/*
 * pid 1's command line and environment are the caller's: /proc/1/cmdline would
 * tell the program how emberbox was called. They are cleared in this copy.
 */
int inside_veil(const char *name)
{
	char text[1024];
	unsigned long from, to;

	if (fd_slurp(AT_FDCWD, "/proc/self/stat", text, sizeof(text)) < 0)
		return -1;
	for (int field = 48; field <= 50; field += 2) {
		from = stat_field(text, field);
		to = stat_field(text, field + 1);
		if (from && to > from)
			memset((void *)from, 0, to - from); /* NOLINT(performance-no-int-to-ptr) */
	}
	if (prctl(PR_SET_NAME, name) < 0)
		return -1;
	/* Same uid as the program: without this it could read our memory. */
	return prctl(PR_SET_DUMPABLE, 0);
}

/* What one operation leaves for a later one. */
struct progress {
	int join_fds[FD_MESSAGE_MAX]; /* after OP_MAPPED: v1 groups to enter */
	size_t join_count;            /* how many */
	int trees[JOB_TREES_MAX];     /* between OP_TREE and what shows them */
	int plain[JOB_TREES_MAX];     /* the same without translated owners, if they have some; else -1 */
	int stdio[3];                 /* the program's 0, 1, 2 */
	int master;                   /* after OP_TERMINAL, until it is handed over: its other side */
	pid_t program;                /* after OP_EXEC */
	uint64_t at_usec;             /* when it was started */
};

static int await_maps(const struct inside *in, struct progress *progress)
{
	char go = 0;
	ssize_t n = fd_receive(in->go, &go, 1, progress->join_fds, &progress->join_count);

	if (n == 1 && go == INSIDE_GO)
		return 0;
	if (n >= 0)
		errno = ECANCELED;
	return -1;
}

/* Our own copies are closed again: no process of the box may hold them. */
static int plant_network(const struct inside *in)
{
	int fds[NET_PLANT_SOCKETS_MAX];
	size_t count = 0, sent = 0;
	bool steered;
	int done = net_plant(in->plan->plant, fds, &count, &steered);

	if (done == 0)
		done = net_plant_prove(in->plan->plant);

	while (done == 0 && sent < count) {
		const size_t part = count - sent < FD_MESSAGE_MAX ? count - sent : FD_MESSAGE_MAX;
		const struct report planted = { .kind = REPORT_PLANTED, .index = (uint32_t)(count - sent - part) };

		done = fd_send(in->control, &planted, sizeof(planted), fds + sent, part);
		sent += part;
	}
	for (size_t i = 0; i < count; i++)
		close_fd(&fds[i]);
	return done;
}

/* After the change of uid, which clears the death signal; a supervisor that died before is seen as a hang-up. */
static int leash(const struct inside *in)
{
	struct pollfd socket = { .fd = in->control };

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return -1;
	if (poll(&socket, 1, 0) < 0 || (socket.revents & POLLHUP)) {
		errno = ECANCELED;
		return -1;
	}
	return inside_veil("init");
}

static int make_root(void)
{
	if (mount_tmpfs(STAGE, 1 << 20, 16 + JOB_TREES_MAX, 0700, MOUNT_NODEV) < 0 || chdir(STAGE) < 0)
		return -1;
	if (mkdir("root", 0700) < 0 || mkdir("work", 0700) < 0)
		return -1;
	if (mount_tmpfs("root", 16 << 20, 0, 0755, MOUNT_NODEV) < 0)
		return -1;
	return chdir("root");
}

/* A detached tree with its flags set, attached once the root is there: the stage may hide where it came from. */
static int take_tree(const struct inside *in, const struct op *op, struct progress *progress)
{
	int given = in->trees[op->index], plain = in->plain[op->index];
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV };

	/* Where the supervisor took it we may not reach it ourselves: its home is closed to the box's uid. */
	if (plain < 0) {
		plain = open_tree(AT_FDCWD, op->from, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
		/* Before Linux 5.2: what is only shown can be bound from where it is. */
		if (plain < 0 && errno == ENOSYS && op->flags) {
			progress->trees[op->index] = open(op->from, O_PATH | O_CLOEXEC);
			return progress->trees[op->index] < 0 ? -1 : 0;
		}
		if (plain < 0 || mount_setattr(plain, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) < 0)
			return -1;
	}
	progress->trees[op->index] = given >= 0 ? given : plain;
	progress->plain[op->index] = given >= 0 ? plain : -1;
	return 0;
}

/* `dev/shm` is shm of the work tmpfs: the last part names it. */
static int place(const struct inside *in, const struct op *op)
{
	const char *slash = strrchr(op->path, '/');
	char part[PLACE_MAX] = "";

	strncat(part, in->plan->work, sizeof(part) / 2);
	strcat(part, "/");
	strncat(part, slash ? slash + 1 : op->path, sizeof(part) / 2 - 2);
	if (mkdir(part, 0755) < 0 || chmod(part, op->mode) < 0 || rootfs_dir(op->path, 0755) < 0)
		return -1;
	return mount_bind(part, op->path, MOUNT_NODEV | op->flags);
}

/* The file lies beside the parts of the work tmpfs, where nobody in the box finds it by another name. */
static int show_cores(const struct inside *in, const struct op *op)
{
	char file[PLACE_MAX] = "";
	_cleanup_close_ int fd = -1;

	strncat(file, in->plan->work, sizeof(file) / 2);
	strcat(file, "/cores");
	fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0 || fchmod(fd, 0644) < 0 || fd_write(fd, op->data, op->size) < 0)
		return -1;
	return mount_bind(file, op->path, MOUNT_NODEV | MOUNT_NOEXEC);
}

static int attach(const struct op *op, const struct progress *progress)
{
	int tree = progress->trees[op->index];
	char from[32];
	struct stat st;

	if (fstat(tree, &st) < 0)
		return -1;
	if ((S_ISDIR(st.st_mode) ? rootfs_dir(op->path, 0755) : rootfs_file(op->path, 0644, "", 0)) < 0)
		return -1;
	if (mount_attach(tree, op->path) == 0)
		return 0;
	if (errno != ENOSYS)
		return -1;
	snprintf(from, sizeof(from), "/proc/self/fd/%d", tree);
	return mount_bind(from, op->path, op->flags | MOUNT_NODEV);
}

static int show_overlay(const struct op *op, const char *lower, const char *upper, const char *work)
{
	if (mount_overlay(lower, upper, work, op->path) < 0)
		return -1;
	return op->flags ? mount_tighten(op->path, op->flags | MOUNT_NODEV) : 0;
}

/* A letter tells the trees of a job apart. */
static int overlay(const struct op *op, const struct progress *progress)
{
	char lower[] = "../tree-0", upper[] = WORK "/upper-0", work[] = WORK "/overlay-0";
	const char *above = strcmp(op->path, "sandbox/code") == 0 ? WORK "/sandbox/code" : upper;

	lower[sizeof(lower) - 2] = upper[sizeof(upper) - 2] = work[sizeof(work) - 2] = (char)('A' + op->index);
	if (mkdir(lower, 0700) < 0 || mount_attach(progress->trees[op->index], lower) < 0 || mkdir(work, 0700) < 0)
		return -1;
	if (above == upper && (mkdir(upper, 0755) < 0 || rootfs_dir(op->path, 0755) < 0))
		return -1;
	if (show_overlay(op, lower, above, work) == 0)
		return 0;
	/* No overlays at all, or none for us (before 5.11): what we keep ourselves can be shown as it is, to be read. A
	 * project cannot: programs write beside their code. */
	if ((errno == ENODEV || errno == EPERM) && above == upper)
		return mount_bind(lower, op->path, op->flags | MOUNT_READONLY | MOUNT_NODEV);
	/* Before 5.19 an overlay takes no layer with translated owners: private files stay private there. */
	if (errno != EINVAL || progress->plain[op->index] < 0)
		return -1;
	if (umount2(lower, MNT_DETACH) < 0 || mount_attach(progress->plain[op->index], lower) < 0)
		return -1;
	return show_overlay(op, lower, above, work);
}

static int copy_in(const struct inside *in, const struct op *op)
{
	int from = in->file_fds[op->index];
	_cleanup_close_ int to = -1;
	struct stat st;

	if (fstat(from, &st) < 0)
		return -1;
	to = rootfs_create(op->path, op->mode | (st.st_mode & 0111 ? 0111 : 0));
	if (to < 0)
		return -1;
	return fd_copy(from, to, in->plan->limits->disk);
}

/* Out of the way of 0, 1 and 2. */
static int raised(int fd)
{
	int up = fd < 0 || fd > 2 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 3);

	if (up != fd)
		close(fd);
	return up;
}

/*
 * The program's terminal. Made here, of the box's own devpts, so that it has a
 * name that the program finds; nothing of the host's terminals is ever inside.
 */
static int make_terminal(const struct op *op, struct progress *progress)
{
	const struct winsize size = { .ws_row = (unsigned short)op->rows, .ws_col = (unsigned short)op->columns };
	struct termios modes;
	int slave;

	progress->master = raised(open("dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
	if (progress->master < 0 || ioctl(progress->master, TIOCSPTLCK, &(int){ 0 }) < 0 ||
	    ioctl(progress->master, TIOCSWINSZ, &size) < 0)
		return -1;
	slave = raised(ioctl(progress->master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
	if (slave < 0 || tcgetattr(slave, &modes) < 0)
		return -1;
	/* LANG is UTF-8: one key takes one character away. */
	modes.c_iflag |= IUTF8;
	for (int i = 0; i < 3; i++)
		progress->stdio[i] = slave;
	return tcsetattr(slave, TCSANOW, &modes);
}

/* The supervisor reads the output directory, and where nothing else counts, the box's own /proc and the work tmpfs. */
static int hand_over(const struct inside *in, const struct progress *progress)
{
	const char *const paths[REPORT_FDS] = {
		[REPORT_FD_OUTPUT] = "/sandbox/output",
		[REPORT_FD_PROC] = "/proc",
		[REPORT_FD_WORK] = "/sandbox",
		[REPORT_FD_RICH] = in->plan->rich ? BOX_RICH : BOX_OUTPUT,
		[REPORT_FD_SEGMENTS] = in->plan->segments ? "/proc/sysvipc/shm" : BOX_OUTPUT,
	};
	const int count = in->plan->shared     ? REPORT_FD_SEGMENTS + 1
			  : in->plan->segments ? REPORT_FD_SEGMENTS + 1
			  : in->plan->rich     ? REPORT_FD_RICH + 1
					       : REPORT_FD_RICH;
	const struct report ready = { .kind = REPORT_READY };
	const struct report terminal = { .kind = REPORT_TERMINAL };
	const int keep[] = { in->control,        in->lock_fd,        progress->stdio[0],
			     progress->stdio[1], progress->stdio[2], in->channel > 0 ? in->channel : -1 };
	int fds[REPORT_FDS];

	if (in->plan->terminal && fd_send(in->control, &terminal, sizeof(terminal), &progress->master, 1) < 0)
		return -1;
	for (int i = 0; i < count; i++) {
		fds[i] =
			open(paths[i], O_RDONLY | (i == REPORT_FD_SEGMENTS ? 0 : O_DIRECTORY) | O_NOFOLLOW | O_CLOEXEC);
		if (fds[i] < 0)
			return -1;
	}
	if (in->plan->shared) {
		/* With the directory again where there is no Landlock: numbers stay what they are. */
		fds[REPORT_FD_RULESET] =
			in->plan->landlock ? landlock_ruleset(in->plan->rules, in->plan->rule_count, in->plan->landlock)
					   : fds[REPORT_FD_OUTPUT];
		if (fds[REPORT_FD_RULESET] < 0)
			return -1;
	}
	if (fd_send(in->control, &ready, sizeof(ready), fds, (size_t)count + in->plan->shared) < 0)
		return -1;
	return fdset_keep(keep, ARRAY_SIZE(keep));
}

/* In the vforked child: only system calls, and the parent's memory is shared. */
static void become_program(const struct inside *in, const int stdio[3], volatile int *errnum)
{
	sigset_t none;

	sigemptyset(&none);
	setsid();
	umask(022);
	for (int i = 0; i < 3; i++) {
		if (dup2(stdio[i], i) < 0) {
			*errnum = errno;
			_exit(1);
		}
	}
	/* The session's own: Ctrl-C is for it, and /dev/tty is this one. */
	if (in->plan->terminal && ioctl(0, TIOCSCTTY, 0) < 0) {
		*errnum = errno;
		_exit(1);
	}
	/* It is above 3, so this is another descriptor, which stays over exec. */
	if (in->channel > 0 && dup2(in->channel, STDERR_FILENO + 1) < 0) {
		*errnum = errno;
		_exit(1);
	}
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (chdir(in->plan->cwd) == 0)
		execve(in->plan->argv[0], (char *const *)in->plan->argv, (char *const *)in->plan->envp);
	*errnum = errno;
	_exit(1);
}

static int start(const struct inside *in, struct progress *progress)
{
	volatile int errnum = 0;

	progress->program = vfork();
	if (progress->program == 0)
		become_program(in, progress->stdio, &errnum);
	if (progress->program < 0)
		return -1;
	if (errnum) {
		errno = errnum;
		return -1;
	}
	/* The output pipes end when the program's last process does, not when we do. A terminal stays: who closes it
	 * can open it again, by its name, and its other side must not take that for the end. */
	for (int i = 0; i < 3 && !in->plan->terminal; i++)
		close(progress->stdio[i]);
	if (in->channel > 0)
		close(in->channel);
	return 0;
}

/* Descriptors in flight are counted for the user on the host, and who has too many may send none. */
static bool may_send(int fd)
{
	int ends[2];
	bool sent;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return false;
	sent = fd_send(ends[0], "", 1, &fd, 1) == 0;
	close(ends[0]);
	close(ends[1]);
	return sent;
}

/* As many descriptors as may be, until the program's own limit is set. */
static void raise_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

/* Where nobody listens, or the kernel cannot tell, the filter refuses by itself. */
static int filter(const struct inside *in, const struct op *op)
{
	const struct report heard = { .kind = REPORT_HEARD };
	const bool gated = op->gated != 0;
	_cleanup_close_ int listener = -1;

	/* Found out before: a filter that tells, and nobody hears, gives ENOSYS to all that it tells of. */
	if (in->heard && op->profile == SECCOMP_BOX && may_send(in->control))
		listener = seccomp_install_heard(gated, op->data, op->count);
	if (listener >= 0)
		return fd_send(in->control, &heard, sizeof(heard), &listener, 1);
	return gated ? seccomp_install_gated(op->data, op->count)
		     : seccomp_install((enum seccomp_profile)op->profile, op->data, op->count);
}

static int perform(const struct inside *in, const struct op *op, struct progress *progress)
{
	const struct rlimit_entry entry = { .name = op->path, .resource = (int)op->resource, .value = op->value };

	switch (op->kind) {
	case OP_JOIN:
		return cgroup_join(progress->join_fds, progress->join_count);
	case OP_NETNS:
		return netns_make();
	case OP_MAPPED:
		return await_maps(in, progress);
	case OP_BECOME:
		return userns_become(op->no_groups != 0);
	case OP_LEASH:
		return leash(in);
	case OP_CGROUPNS:
		return unshare(CLONE_NEWCGROUP);
	case OP_HOSTNAME:
		return sethostname(op->path, strlen(op->path));
	case OP_LOOPBACK:
		return netns_loopback();
	case OP_PLANT:
		return plant_network(in);
	case OP_ISOLATE:
		return mount_isolate();
	case OP_TREE:
		return take_tree(in, op, progress);
	case OP_ROOT:
		return make_root();
	case OP_DIR:
		return rootfs_dir(op->path, op->mode);
	case OP_LINK:
		return symlink(op->from, op->path);
	case OP_TEXT:
		return rootfs_file(op->path, op->mode, op->data, op->size);
	case OP_BIND:
		if (rootfs_target(op->from, op->path) < 0)
			return -1;
		return mount_bind(op->from, op->path, MOUNT_READONLY | MOUNT_NODEV);
	case OP_DEVICE:
		if (rootfs_target(op->from, op->path) < 0)
			return -1;
		/* Read-only is about the node, its times and owner; the device itself can be written to. */
		return mount_bind(op->from, op->path, MOUNT_READONLY | MOUNT_NOEXEC);
	case OP_PTS:
		return rootfs_dir(op->path, 0755) < 0 ? -1 : mount_pts(op->path, op->most);
	case OP_MQUEUE:
		return rootfs_dir(op->path, 0755) < 0 ? -1 : mount_mqueue(op->path);
	case OP_TERMINAL:
		return make_terminal(op, progress);
	case OP_PROC:
		return mount_proc(op->path, op->flags);
	case OP_MASK:
		return mount_mask(op->path, "dev/null", "var/empty");
	case OP_WORK:
		return mount_tmpfs(in->plan->work, op->size + plan_cores_room(in->plan),
				   op->inodes + (in->plan->cores > 0), 0755, MOUNT_NODEV | op->flags);
	case OP_CORES:
		return show_cores(in, op);
	case OP_PLACE:
		return place(in, op);
	case OP_ATTACH:
		return attach(op, progress);
	case OP_OVERLAY:
		return overlay(op, progress);
	case OP_COPY:
		return copy_in(in, op);
	case OP_FREEZE:
		return mount_bind(op->path, op->path, MOUNT_READONLY | MOUNT_NODEV | op->flags);
	case OP_PIVOT:
		return rootfs_pivot();
	case OP_SEAL:
		return mount_seal(op->path);
	case OP_RLIMIT:
		return rlimit_apply(&entry);
	case OP_HANDLES:
		return hand_over(in, progress);
	case OP_NO_NEW_PRIVS:
		return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	case OP_LANDLOCK:
		return landlock_restrict(in->plan->rules, in->plan->rule_count, in->plan->landlock);
	case OP_CAPS:
		return caps_drop();
	case OP_SECCOMP:
		return filter(in, op);
	case OP_PROVE:
		return prove_inside(op->path);
	case OP_EXEC:
		progress->at_usec = clock_usec();
		/* Before it: whatever the program writes is read after this report. */
		report(in, (struct report){ .kind = REPORT_STARTED, .at_usec = progress->at_usec });
		return start(in, progress);
	case OP_KINDS:
		break;
	}
	errno = ENOSYS;
	return -1;
}

/* The kernel's own; all zero is SIG_DFL with no flags on every architecture. */
struct kernel_sigaction {
	unsigned long words[4]; /* handler, flags, restorer, mask */
};

void inside_default_signals(void)
{
	/* Not signal(): the C library hides 32 and 33 as its own, and whoever is started by its posix_spawn() has them
	 * ignored. */
	for (int i = 1; i < NSIG; i++)
		syscall(SYS_rt_sigaction, i, &(struct kernel_sigaction){ 0 }, NULL, sizeof(uint64_t));
}

static void reset_signals(void)
{
	sigset_t none;

	inside_default_signals();
	/* Blocked it stays pending, though its default is to be ignored: await_end() takes it. */
	sigemptyset(&none);
	sigaddset(&none, SIGCHLD);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/*
 * Reaps until the program itself has ended. There is no handler: one would let
 * the program, which has our uid, end its box by a signal to pid 1. A supervisor
 * that is stopped, or stuck because its own output is not read, must not keep
 * the program alive past its time: a little after it, everything ends here.
 */
static int await_end(pid_t program, uint64_t until_usec)
{
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	for (;;) {
		int status = 0;
		pid_t pid = waitpid(-1, &status, WNOHANG);
		uint64_t now = clock_usec();
		struct timespec left;

		if (pid == program)
			return status;
		if (pid > 0)
			continue;
		if (pid < 0 || now >= until_usec)
			_exit(1);
		left.tv_sec = (time_t)((until_usec - now) / 1000000);
		left.tv_nsec = (long)((until_usec - now) % 1000000) * 1000;
		sigtimedwait(&child, NULL, &left);
	}
}

static _Noreturn void reap(const struct inside *in, const struct progress *progress)
{
	uint64_t until = progress->at_usec + (uint64_t)(in->plan->limits->timeout * 1e6) + GRACE_USEC;
	int status = await_end(progress->program, until);
	struct report ended = { .kind = REPORT_ENDED };
	struct rusage usage;

	ended.at_usec = clock_usec();
	getrusage(RUSAGE_CHILDREN, &usage);
	ended.status = status;
	ended.memory = (uint64_t)usage.ru_maxrss * 1024;
	ended.cpu_usec = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
			 (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
	report(in, ended);
	/* The kernel kills the rest of the namespace now. */
	_exit(0);
}

static int perform_all(const struct inside *in, struct progress *progress, uint32_t *index)
{
	int seen[OP_KINDS] = { 0 };

	memcpy(progress->stdio, in->stdio, sizeof(progress->stdio));
	for (size_t i = 0; i < in->plan->op_count; i++) {
		const struct op *op = &in->plan->ops[i];
		int nth = seen[op->kind]++;
		int result;

		if ((int)op->kind == in->fault_kind && nth == in->fault_index) {
			errno = EIO;
			result = -1;
		} else {
			result = perform(in, op, progress);
		}
		if (result < 0) {
			*index = (uint32_t)i;
			return -1;
		}
	}
	return 0;
}

int inside_perform(const struct inside *in, uint32_t *index)
{
	struct progress progress = { 0 };

	umask(0);
	return perform_all(in, &progress, index);
}

/* The init of a box that others enter: it reaps whom they leave behind, until it is killed. */
static _Noreturn void idle(void)
{
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	for (;;) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		sigwaitinfo(&child, NULL);
	}
}

_Noreturn void inside_run(const struct inside *in)
{
	struct progress progress = { 0 };
	uint32_t index;

	reset_signals();
	raise_files();
	setsid();
	umask(0);
	if (perform_all(in, &progress, &index) < 0) {
		report(in, (struct report){ .kind = REPORT_FAILED, .index = index, .errnum = errno });
		_exit(1);
	}
	if (in->plan->shared)
		idle();
	reap(in, &progress);
}
