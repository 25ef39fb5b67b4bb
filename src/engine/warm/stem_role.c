/*
 * The stem: pid 1 of a namespace with the root of a language. It makes boxes,
 * which are copies of its mounts in nested namespaces, and starts the zygotes
 * that are forked into them.
 *
 * It is executed anew, so that neither it nor the init of a box contains memory
 * of the keeper. It has every capability in its user namespace, which contains
 * only the ids of boxes, and none outside.
 */
#include "base/fd.h"
#include "base/own.h"
#include "engine/local/inside.h"
#include "engine/ember/zygote.h"
#include "kernel/clone.h"
#include "kernel/net_plant.h"
#include "engine/warm/stem.h"
#include "engine/warm/stem_job.h"
#include "engine/warm/stem_nets.h"
#include "engine/warm/stem_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

struct stem_role {
	struct stem_begin begin;   /* language, profile and surroundings */
	struct stem_job root;      /* its own plan */
	struct stem_job zygote;    /* plan of its zygotes */
	struct stem_job box;       /* plan of its boxes */
	int zygotes[ZYGOTE_KINDS]; /* their sockets, until they are started */
	struct nets nets;          /* networks of its boxes */
};

static void stem_answer(int errnum, uint32_t index, int pidfd)
{
	const struct stem_answer text = { .errnum = errnum, .index = index };

	fd_send(STEM_FD_SOCKET, &text, sizeof(text), &pidfd, pidfd >= 0);
}

/* Descriptors that are forbidden in boxes have numbers far above a box's limit; the zygote needs them. */
static int raise_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return -1;
	files.rlim_cur = files.rlim_max;
	if (files.rlim_max != RLIM_INFINITY && files.rlim_max < ZYGOTE_FD_FIRST + 64) {
		errno = EMFILE;
		return -1;
	}
	return setrlimit(RLIMIT_NOFILE, &files);
}

static void reset_signals(void)
{
	sigset_t none;

	inside_default_signals();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Standard input is empty; standard error is the service's log. */
static int wire_zygote(int socket)
{
	_cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, 0) < 0 || dup2(2, 1) < 0 || dup2(socket, ZYGOTE_FD_SOCKET) < 0)
		return -1;
	return 0;
}

/* A fork of the exec zygote: executes the program of its order. */
static _Noreturn void zygote_execute(void)
{
	const struct enter_claim *claim;

	zygote_arm();
	claim = zygote_wait(NULL);
	execve(claim->argv[0], claim->argv, claim->claim.envp);
	enter_fail(claim->control, EMBER_STEP_EXEC, errno);
}

/* Receives the listener of a zygote's filter, which all of its forks share; -1: none. */
static int hear_listener(int zygote)
{
	int fds[FD_MESSAGE_MAX];
	size_t count = 0;
	struct report report;

	return fd_receive(zygote, &report, sizeof(report), fds, &count) == sizeof(report) && count == 1 ? fds[0] : -1;
}

static _Noreturn void become_zygote(const struct stem_role *role, enum zygote_kind kind, int stem)
{
	struct inside inside = { .plan = &role->zygote.plan, .heard = true, .fault_kind = -1 };
	uint32_t index;

	reset_signals();
	setsid();
	/* Moves sockets to free numbers: keeps its own, closes those of other zygotes; the stem's is closed when the
	 * filter is reported. */
	inside.control = fcntl(stem, F_DUPFD_CLOEXEC, ZYGOTE_FD_SOCKET + 1);
	if (inside.control < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || wire_zygote(role->zygotes[kind]) < 0 ||
	    chdir(BOX_CODE) < 0 || close_range(3, ZYGOTE_FD_SOCKET - 1, 0) < 0 || inside_perform(&inside, &index) < 0)
		_exit(1);
	close(inside.control);
	umask(022);
	if (kind == ZYGOTE_EXEC)
		zygote_execute();
	execve(role->zygote.argv[0], (char *const *)role->zygote.argv, (char *const *)role->zygote.envp);
	_exit(127);
}

/* In this order: the interpreter has to be pid 2. */
static int start_zygotes(struct stem_role *role)
{
	size_t started = 0;

	for (int kind = 0; kind < ZYGOTE_KINDS; kind++) {
		_cleanup_close_ int ours = -1;
		_cleanup_close_ int theirs = -1;
		int ends[2];
		pid_t pid;

		if (kind == ZYGOTE_FORK && !role->begin.forks)
			continue;
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
			return -1;
		ours = ends[0], theirs = ends[1];
		pid = fork();
		if (pid < 0)
			return -1;
		if (pid == 0)
			become_zygote(role, (enum zygote_kind)kind, theirs);
		close_fd(&theirs);
		nets_listen(&role->nets, started++, hear_listener(ours));
	}
	nets_all_told(&role->nets, started);
	role->nets.cores = role->box.plan.cores;
	for (int kind = 0; kind < ZYGOTE_KINDS; kind++)
		close_fd(&role->zygotes[kind]);
	return 0;
}

/* The sockets are only passed to the keeper. */
static void answer_sockets(const int *fds, size_t count)
{
	size_t sent = 0;

	do {
		const size_t part = count - sent < FD_MESSAGE_MAX ? count - sent : FD_MESSAGE_MAX;
		const struct stem_answer text = { .index = (uint32_t)(count - sent - part) };

		fd_send(STEM_FD_SOCKET, &text, sizeof(text), fds + sent, part);
		sent += part;
	} while (sent < count);
}

static void plant_network(struct stem_role *role, uint64_t number, const struct stem_plant *wanted)
{
	const struct net_plant plant = { .ports = wanted->ports,
					 .port_count = wanted->port_count,
					 .ranges = wanted->ranges,
					 .range_count = wanted->range_count,
					 .everything = wanted->everything,
					 .bound = wanted->bound,
					 .bound_count = wanted->bound_count,
					 .again = wanted->again };
	int fds[NET_PLANT_SOCKETS_MAX], done, errnum;
	size_t count = 0;
	bool steered;

	if (plant.port_count > NET_PORTS_MAX || plant.bound_count > NET_PORTS_MAX ||
	    plant.range_count > NET_RANGES_MAX) {
		stem_answer(EPROTO, 0, -1);
		return;
	}
	if (nets_visit(&role->nets, number) < 0) {
		stem_answer(errno, 0, -1);
		return;
	}
	done = net_plant(&plant, fds, &count, &steered);
	if (done == 0)
		done = net_plant_prove(&plant);
	errnum = errno;
	/* If this process cannot leave the box's network, it must not make another box. */
	if (nets_home(&role->nets) < 0)
		_exit(1);
	if (done == 0)
		answer_sockets(fds, count);
	else
		stem_answer(errnum, 0, -1);
	for (size_t i = 0; i < count; i++)
		close_fd(&fds[i]);
}

/* Makes a box: its init, in namespaces nested in ours, with maps that we write. */
static void make_box(struct stem_role *role)
{
	struct inside inside = { .plan = &role->box.plan, .lock_fd = -1, .stdio = { -1, -1, -1 }, .fault_kind = -1 };
	const uint64_t namespaces = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS;
	_cleanup_close_ int pidfd = -1;
	int go[2] = { -1, -1 }, fds[FD_MESSAGE_MAX];
	struct stem_make make;
	struct stem_plant plant;
	const struct iovec parts[] = { { &make, sizeof(make) }, { &plant, sizeof(plant) } };
	struct error err;
	size_t count = 0;
	pid_t pid;
	ssize_t n = fd_receive_parts(STEM_FD_SOCKET, parts, ARRAY_SIZE(parts), fds, &count);

	if (n <= 0)
		_exit(0);
	if (n == sizeof(make) && make.ask == STEM_ASK_LENT && count == 0) {
		nets_lent(&role->nets, make.number);
		stem_answer(0, 0, -1);
		return;
	}
	if (n == sizeof(make) + sizeof(plant) && make.ask == STEM_ASK_PLANT && count == 0) {
		plant_network(role, make.number, &plant);
		return;
	}
	if (n == sizeof(make) && make.ask == STEM_ASK_CORES && count == 0) {
		nets_bound(&role->nets, make.number, make.cores);
		stem_answer(0, 0, -1);
		return;
	}
	if (n == sizeof(make) && make.ask == STEM_ASK_REFUSED && count == 0) {
		int call = nets_refused(&role->nets, make.number);

		stem_answer(call < 0 ? ENOENT : 0, (uint32_t)call, -1);
		return;
	}
	errno = EPROTO;
	if (n != sizeof(make) || make.ask != STEM_ASK_MAKE || count != STEM_MAKE_FDS + make.groups ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, go) < 0 || nets_enter(&role->nets, make.number) < 0) {
		stem_answer(errno, 0, -1);
	} else {
		inside.control = fds[0];
		inside.lock_fd = make.ids.own ? fds[1] : -1;
		inside.go = go[0];
		/* With SIGCHLD: only children_reap() waits for it. */
		pid = clone_into(namespaces | SIGCHLD, -1, &pidfd);
		if (pid == 0) {
			close(go[1]);
			inside_run(&inside);
		}
		/* If this process cannot return to its own network, it must not make another zygote or box: that one
		 * would share a network with this one. */
		if (nets_leave(&role->nets, pid > 0 ? pid : 0) < 0)
			_exit(1);
		if (pid > 0 && userns_map(pid, &make.ids, &err) == 0 &&
		    fd_send(go[1], &(char){ INSIDE_GO }, 1, fds + STEM_MAKE_FDS, make.groups) == 0)
			stem_answer(0, 0, pidfd);
		else
			stem_answer(errno ? errno : EPROTO, 0, -1);
	}
	/* A box without a map ends when this descriptor is closed. */
	close_fd(&go[0]);
	close_fd(&go[1]);
	for (size_t i = 0; i < count; i++)
		close_fd(&fds[i]);
}

static int role_begin(struct stem_role *role, uint32_t *index)
{
	struct inside inside = { .plan = &role->root.plan, .control = -1, .go = -1, .lock_fd = -1, .fault_kind = -1 };
	struct error err;
	int fds[FD_MESSAGE_MAX];
	size_t count = 0;
	ssize_t n = fd_receive(STEM_FD_SOCKET, &role->begin, sizeof(role->begin), fds, &count);

	errno = EPROTO;
	if (n != sizeof(role->begin) || count != ZYGOTE_KINDS)
		return -1;
	for (int i = 0; i < ZYGOTE_KINDS; i++)
		role->zygotes[i] = fds[i];
	for (int i = 0; i < JOB_TREES_MAX; i++)
		inside.trees[i] = inside.plain[i] = -1;
	if (stem_job_make(&role->begin, STEM_ROOT, &role->root, &err) < 0 ||
	    stem_job_make(&role->begin, STEM_ZYGOTE, &role->zygote, &err) < 0 ||
	    stem_job_make(&role->begin, STEM_BOX, &role->box, &err) < 0) {
		errno = err.errnum ? err.errnum : EINVAL;
		return -1;
	}
	if (raise_limit() < 0 || inside_perform(&inside, index) < 0 || nets_open(&role->nets) < 0)
		return -1;
	return start_zygotes(role);
}

/* Reaps boxes and zygotes. */
static void children_reap(struct stem_role *role, int signals)
{
	struct signalfd_siginfo info;
	pid_t pid;

	(void)!read(signals, &info, sizeof(info));
	while ((pid = waitpid(-1, NULL, WNOHANG | __WALL)) > 0)
		nets_ended(&role->nets, pid);
}

/* Handles each kind of event in turn, so that a program with many notifications cannot delay the reaping. */
static void role_turn(struct stem_role *role, int signals)
{
	struct pollfd fds[2 + NETS_LISTENERS] = {
		{ .fd = STEM_FD_SOCKET, .events = POLLIN },
		{ .fd = signals, .events = POLLIN },
	};

	for (size_t i = 0; i < NETS_LISTENERS; i++)
		fds[2 + i] = (struct pollfd){ .fd = role->nets.listeners[i], .events = POLLIN };
	if (poll(fds, ARRAY_SIZE(fds), refusals_wait_msec(&role->nets.refusals)) < 0 && errno != EINTR)
		_exit(1);
	refusals_on_time(&role->nets.refusals);
	if (fds[1].revents)
		children_reap(role, signals);
	for (size_t i = 0; i < NETS_LISTENERS; i++)
		if (fds[2 + i].revents)
			nets_hear(&role->nets, i);
	if (fds[0].revents)
		make_box(role);
}

int stem_role_run(void)
{
	static struct stem_role role = { .zygotes = { -1, -1 } };
	uint32_t index = UINT32_MAX;
	sigset_t child;
	int signals;

	/* Of its own: the init of a box inherits none, and killing the keeper kills the stem. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || fcntl(STEM_FD_SOCKET, F_SETFD, FD_CLOEXEC) < 0)
		return 1;
	prctl(PR_SET_NAME, "stem");
	if (role_begin(&role, &index) < 0) {
		stem_answer(errno ? errno : EPROTO, index, -1);
		return 1;
	}
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_SETMASK, &child, NULL);
	signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0)
		return 1;
	stem_answer(0, 0, -1);
	for (;;)
		role_turn(&role, signals);
}
