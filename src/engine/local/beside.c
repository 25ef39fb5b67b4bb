#include "engine/local/beside.h"

#include "base/fd.h"
#include "base/own.h"
#include "engine/local/prove_inside.h"
#include "kernel/caps.h"
#include "kernel/cgroup.h"
#include "kernel/clone.h"
#include "kernel/fdset.h"
#include "kernel/landlock.h"
#include "kernel/mount.h"
#include "kernel/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
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

enum {
	BEGIN_MSEC = 5000, /* for the child to confine itself; it takes a few */
	GRACE_MSEC = 5000, /* for its report that it did not */
};

/* The step that failed, for the sentence. */
enum step {
	STEP_GROUP,
	STEP_NAMESPACES,
	STEP_IDENTITY,
	STEP_FORK,
	STEP_TERMINAL,
	STEP_LIMITS,
	STEP_LANDLOCK,
	STEP_CAPS,
	STEP_SECCOMP,
	STEP_PROVE,
	STEP_PROGRAM,
	STEP_STARTED, /* not a failure; comes with the terminal's other side */
};

static const char *const step_names[] = {
	"its control group", "its namespaces", "its user",   "a process in it", "a terminal", "its limits",
	"Landlock",          "capabilities",   "the filter", "the proof",       "a shell",
};

/* What is to be done. */
struct beside {
	const struct box *box;          /* which */
	const struct engine_exec *exec; /* what is run in it */
};

struct beside_word {
	uint32_t step;  /* enum step */
	int32_t errnum; /* why the step failed */
};

static _Noreturn void stop(int socket, enum step step)
{
	const struct beside_word word = { .step = step, .errnum = errno };

	fd_send(socket, &word, sizeof(word), NULL, 0);
	_exit(1);
}

/* ---- In the box. As after any clone: nothing is allocated, and stdio is not used. */

/* From the box's own devpts, if it was made with one. Otherwise from a devpts that is mounted nowhere: such a terminal
 * works, but has no name. */
static int open_master(void)
{
	_cleanup_close_ int context = -1, tree = -1;
	int master = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);

	if (master >= 0)
		return master;
	context = fsopen("devpts", FSOPEN_CLOEXEC);
	if (context < 0 || fsconfig(context, FSCONFIG_SET_STRING, "mode", "600", 0) < 0 ||
	    fsconfig(context, FSCONFIG_SET_STRING, "ptmxmode", "600", 0) < 0 ||
	    fsconfig(context, FSCONFIG_SET_STRING, "max", "1", 0) < 0 ||
	    fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	tree = fsmount(context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	return tree < 0 ? -1 : openat(tree, "ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
}

static int open_terminal(const struct beside *what, int *slave)
{
	const struct winsize size = { .ws_row = what->exec->size.rows, .ws_col = what->exec->size.columns };
	int master = open_master();
	struct termios modes;

	if (master < 0 || ioctl(master, TIOCSPTLCK, &(int){ 0 }) < 0 || ioctl(master, TIOCSWINSZ, &size) < 0)
		return -1;
	*slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*slave < 0 || tcgetattr(*slave, &modes) < 0)
		return -1;
	modes.c_iflag |= IUTF8;
	return tcsetattr(*slave, TCSANOW, &modes) < 0 ? -1 : master;
}

static int set_limits(const struct beside *what)
{
	const struct limits *limits = &what->exec->job->limits;
	const struct rlimit_entry entries[] = {
		{ "core", RLIMIT_CORE, 1 },
		{ "memlock", RLIMIT_MEMLOCK, 64 << 10 },
		{ "msgqueue", RLIMIT_MSGQUEUE, 819200 },
		{ "sigpending", RLIMIT_SIGPENDING, 1024 },
		{ "rtprio", RLIMIT_RTPRIO, 0 },
		{ "nice", RLIMIT_NICE, 0 },
		{ "fsize", RLIMIT_FSIZE, limits->disk },
		{ "nproc", RLIMIT_NPROC, plan_processes_max(what->box->plan, limits) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
		if (rlimit_apply(&entries[i]) < 0)
			return -1;
	return 0;
}

/* The box's rules, and one for the terminals that the box may have. A rule for a missing path has no effect. */
static int restrict_files(const struct plan *plan)
{
	struct landlock_rule rules[PLAN_RULES_MAX + 1];

	if (!plan->landlock)
		return 0;
	memcpy(rules, plan->rules, plan->rule_count * sizeof(*rules));
	rules[plan->rule_count] = (struct landlock_rule){ "/dev/pts", LANDLOCK_DEVICE };
	return landlock_restrict(rules, plan->rule_count + 1, plan->landlock);
}

/* Without the calls that a language adds: this is not a program of the language. */
static int install_filters(const struct beside *what)
{
	if (what->box->plan->accounted && seccomp_install(SECCOMP_ACCOUNTED, NULL, 0) < 0)
		return -1;
	if (what->exec->job->profile && seccomp_install(SECCOMP_RESTRICTED, NULL, 0) < 0)
		return -1;
	if (seccomp_install(SECCOMP_UNHEARD, NULL, 0) < 0)
		return -1;
	return seccomp_install(SECCOMP_BOX, NULL, 0);
}

static int prove_confined(const struct plan *plan)
{
	static const char *const properties[] = { "caps", "root", "network", "fds", "seccomp", "landlock" };

	for (size_t i = 0; i < ARRAY_SIZE(properties) - (plan->landlock ? 0 : 1); i++)
		if (prove_inside(properties[i]) < 0)
			return -1;
	return 0;
}

/* The last limit to be set: the kernel compares it with the descriptors in flight of all boxes of this user on the
 * host. With a limit as low as that of programs, another box could keep the terminal from being sent. */
static int limit_files(const struct beside *what)
{
	return rlimit_apply(&(struct rlimit_entry){ "nofile", RLIMIT_NOFILE, plan_files_max(what->box->plan) });
}

static _Noreturn void become_program(const struct beside *what, int socket, int begun)
{
	const struct beside_word started = { .step = STEP_STARTED };
	sigset_t none;
	int slave, master = open_terminal(what, &slave);

	if (master < 0)
		stop(socket, STEP_TERMINAL);
	if (set_limits(what) < 0)
		stop(socket, STEP_LIMITS);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || restrict_files(what->box->plan) < 0)
		stop(socket, STEP_LANDLOCK);
	if (caps_drop() < 0)
		stop(socket, STEP_CAPS);
	if (install_filters(what) < 0)
		stop(socket, STEP_SECCOMP);
	/* The descriptors that are left are closed by exec. */
	if (fdset_keep((const int[]){ socket, slave, master, begun }, 4) < 0)
		stop(socket, STEP_PROVE);
	if (prove_confined(what->box->plan) < 0)
		stop(socket, STEP_PROVE);
	inside_default_signals();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	umask(022);
	setsid();
	for (int i = 0; i < 3; i++)
		if (dup2(slave, i) < 0)
			stop(socket, STEP_TERMINAL);
	if (ioctl(0, TIOCSCTTY, 0) < 0)
		stop(socket, STEP_TERMINAL);
	if (chdir("/sandbox/code") < 0 || fd_send(socket, &started, sizeof(started), &master, 1) < 0)
		stop(socket, STEP_PROGRAM);
	if (limit_files(what) < 0)
		stop(socket, STEP_LIMITS);
	for (const char *const *program = what->exec->programs; *program; program++)
		execve(*program, (char *const[]){ (char *)*program, NULL }, (char *const *)what->exec->envp);
	stop(socket, STEP_PROGRAM);
}

/* ---- The child, which is not in the box's pid namespace: it waits for the program and does nothing else. */

/* Programs in the box may stop any process there, also ours while it confines itself. Its end of the pipe is closed
 * when it executes the program, or ends. */
static void await_begin(pid_t pid, int begun)
{
	struct pollfd end = { .fd = begun };

	if (poll(&end, 1, BEGIN_MSEC) == 0)
		kill(pid, SIGKILL);
}

static _Noreturn void enter(const struct beside *what, const int *groups, size_t group_count, int socket)
{
	const int namespaces = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
			       CLONE_NEWCGROUP;
	/* The service's 0, 1 and 2 stay open, so that no other descriptor gets these numbers. The program gets a
	 * terminal there. */
	int keep[CGROUP_CONTROLLERS + 5] = { 0, 1, 2, socket, what->exec->inside }, begun[2];
	pid_t pid;

	inside_default_signals();
	/* The service's other descriptors are closed before the box can hinder us. Otherwise pipes of other runs would
	 * not end. */
	memcpy(keep + 5, groups, group_count * sizeof(*groups));
	if (fdset_keep(keep, group_count + 5) < 0 || pipe2(begun, O_CLOEXEC) < 0)
		stop(socket, STEP_FORK);
	/* Programs in the box can see this process until it executes the program. */
	if (inside_veil("shell") < 0)
		stop(socket, STEP_IDENTITY);
	if (cgroup_join(groups, group_count) < 0)
		stop(socket, STEP_GROUP);
	if (setns(what->exec->inside, namespaces) < 0 || chdir("/") < 0)
		stop(socket, STEP_NAMESPACES);
	if (userns_become(what->box->ids.own) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0)
		stop(socket, STEP_IDENTITY);
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid < 0)
		stop(socket, STEP_FORK);
	if (pid == 0)
		become_program(what, socket, begun[1]);
	if (fdset_keep(&begun[0], 1) < 0 || caps_drop() < 0)
		_exit(1);
	await_begin(pid, begun[0]);
	clone_wait(pid, NULL);
	_exit(0);
}

/* ---- In the keeper. */

/* As fd_receive(), for a bounded time: the child may have been killed for want of memory. */
static ssize_t receive_word(int socket, struct beside_word *word, int *fds, size_t *count)
{
	struct pollfd heard = { .fd = socket, .events = POLLIN };
	int n;

	while ((n = poll(&heard, 1, BEGIN_MSEC + GRACE_MSEC)) < 0 && errno == EINTR)
		;
	return n > 0 ? fd_receive(socket, word, sizeof(*word), fds, count) : -1;
}

static int hear_word(int socket, struct error *err)
{
	int fds[FD_MESSAGE_MAX], master = -1;
	struct beside_word word;
	size_t count;
	ssize_t n;

	/* One message that it begins, with the terminal. Then the end, or a step that failed after all. */
	while ((n = receive_word(socket, &word, fds, &count)) == sizeof(word)) {
		for (size_t i = 0; i < count; i++) {
			if (word.step == STEP_STARTED && master < 0)
				master = fds[i];
			else
				close_fd(&fds[i]);
		}
		if (word.step == STEP_STARTED)
			continue;
		close_fd(&master);
		return error_set(err, ERROR_FAILED, word.errnum, "cannot run anything beside the session's program: %s",
				 word.step < ARRAY_SIZE(step_names) ? step_names[word.step] : "it");
	}
	if (n == 0 && master >= 0)
		return master;
	close_fd(&master);
	return error_set(
		err, ERROR_FAILED, 0,
		"cannot run anything beside the session's program: it was hindered, or the box has just ended");
}

static int await(struct engine_execution *begun, struct error *err)
{
	int master = hear_word(begun->socket, err);

	close_fd(&begun->socket);
	if (master >= 0)
		return master;
	kill(begun->pid, SIGKILL);
	clone_wait(begun->pid, NULL);
	return -1;
}

int beside_start(const struct box *box, const struct engine_exec *exec, struct engine_execution *begun,
		 struct error *err)
{
	const struct beside what = { .box = box, .exec = exec };
	_cleanup_close_ int ours = -1, theirs = -1, pidfd = -1;
	int groups[CGROUP_CONTROLLERS], ends[2];
	int group_count = box->group ? cgroup_enter_fds(box->group, groups) : 0;

	if (group_count < 0)
		return error_errno(err, "cannot enter the session's control group");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_errno(err, "cannot make a socket");
	ours = ends[0];
	theirs = ends[1];
	begun->pid = clone_into(SIGCHLD, -1, &pidfd);
	if (begun->pid == 0)
		enter(&what, groups, (size_t)group_count, theirs);
	if (begun->pid < 0)
		return error_errno(err, "cannot make a process");
	begun->socket = take_fd(&ours);
	begun->await = await;
	return 0;
}
