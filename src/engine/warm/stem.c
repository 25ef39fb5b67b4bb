#include "engine/warm/stem.h"

#include "base/fd.h"
#include "base/own.h"
#include "engine/local/zone.h"
#include "engine/ember/ember_wire.h"
#include "kernel/cgroup.h"
#include "kernel/clone.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	PATIENCE_MSEC = 20000 /* for an answer of our own processes, including an interpreter's start */
};

struct stem {
	struct stem_begin begin;         /* language, profile and surroundings */
	struct stem_job box;             /* the plan of its boxes */
	struct userns_ids ids;           /* its own uid and gid */
	pid_t pid;                       /* its pid; 0: none */
	int pidfd;                       /* its pidfd */
	int socket;                      /* socket to it */
	int zygotes[ZYGOTE_KINDS];       /* sockets to its zygotes */
	atomic_bool alive[ZYGOTE_KINDS]; /* zygotes that have answered */
	pthread_mutex_t turn;            /* one request at a time */
	atomic_uint_fast64_t boxes;      /* number of boxes so far */
	struct stat zone;                /* of the host's /etc/localtime when its root was made; all zero: none */
};

/* A change of the zone changes the link or the file. */
static void look_at_zone(struct stat *zone)
{
	if (lstat("/etc/localtime", zone) < 0)
		*zone = (struct stat){ 0 };
}

static bool wait_for(int fd)
{
	struct pollfd one = { .fd = fd, .events = POLLIN };
	int n;

	do
		n = poll(&one, 1, PATIENCE_MSEC);
	while (n < 0 && errno == EINTR);
	if (n == 0)
		errno = ETIMEDOUT;
	return n > 0;
}

/* In the child: executes the stem with only its socket. */
static _Noreturn void become_stem(int go, int socket, bool own, const char *zone)
{
	static char *const argv[] = { (char *)"emberbox", (char *)"serve", (char *)"--role=stem", NULL };
	/* TZ matters if nothing else names the time zone, see engine/local/zone.h: boxes of all kinds get the same
	 * zone. */
	char tz[sizeof("TZ=") + ZONE_NAME_MAX] = "TZ=";
	char *const envp[] = { (char *)"PATH=/usr/bin:/bin", zone ? tz : NULL, NULL };
	char word = 0;
	int exe;

	strncat(tz, zone ?: "", ZONE_NAME_MAX);
	if (read(go, &word, 1) != 1 || word != INSIDE_GO)
		_exit(1);
	if (own && syscall(SYS_setgroups, 0, NULL) < 0)
		_exit(1);
	if (syscall(SYS_setresgid, 0, 0, 0) < 0 || syscall(SYS_setresuid, 0, 0, 0) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		_exit(1);
	/* First, move both to high numbers. */
	socket = fcntl(socket, F_DUPFD_CLOEXEC, STEM_FD_SOCKET + 2);
	exe = fcntl(open("/proc/self/exe", O_PATH | O_CLOEXEC), F_DUPFD_CLOEXEC, STEM_FD_SOCKET + 2);
	if (exe < 0 || dup3(exe, STEM_FD_SOCKET + 1, O_CLOEXEC) < 0 || dup2(socket, STEM_FD_SOCKET) < 0 ||
	    syscall(SYS_close_range, STEM_FD_SOCKET + 2, ~0U, 0) < 0)
		_exit(1);
	syscall(SYS_execveat, STEM_FD_SOCKET + 1, "", argv, envp, AT_EMPTY_PATH);
	_exit(1);
}

static int start_process(struct stem *stem, int socket, struct error *err)
{
	const uint64_t namespaces =
		CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
	const char *zone = getenv("TZ");
	int go[2];
	int done = -1;

	if (pipe2(go, O_CLOEXEC) < 0)
		return error_errno(err, "cannot make a pipe");
	stem->pid = clone_into(namespaces, -1, &stem->pidfd);
	if (stem->pid == 0) {
		close(go[1]);
		become_stem(go[0], socket, stem->ids.own, zone);
	}
	if (stem->pid < 0)
		stem->pid = error_errno(err, "cannot start a stem") + 1;
	else if (userns_map_stem(stem->pid, &stem->ids, err) == 0)
		done = write(go[1], &(char){ INSIDE_GO }, 1) == 1 ? 0 : error_errno(err, "cannot start a stem");
	close(go[0]);
	close(go[1]);
	return done;
}

/* Reads the stem's answer: the root is made, the zygotes are started. */
static int hear_stem(struct stem *stem, struct error *err)
{
	struct stem_job root;
	struct stem_answer answer;
	struct buf text = { 0 };
	int fds[FD_MESSAGE_MAX];
	size_t count = 0;
	ssize_t n = wait_for(stem->socket) ? fd_receive(stem->socket, &answer, sizeof(answer), fds, &count) : -1;

	if (n != sizeof(answer))
		return error_set(err, ERROR_FAILED, n < 0 ? errno : EPIPE, "the stem of %s did not start",
				 stem->begin.language);
	if (answer.errnum == 0)
		return 0;
	if (stem_job_make(&stem->begin, STEM_ROOT, &root, err) == 0 && answer.index < root.plan.op_count)
		op_explain(&root.plan, &root.plan.ops[answer.index], 0, &text);
	error_set(err, ERROR_FAILED, answer.errnum, "cannot make the stem of %s%s%.200s", stem->begin.language,
		  text.data ? ", " : "", text.data ? text.data : "");
	buf_free(&text);
	stem_job_free(&root);
	return -1;
}

/* Without an interpreter, the stem's boxes can still be used. */
static void hear_zygotes(struct stem *stem)
{
	for (int kind = 0; kind < ZYGOTE_KINDS; kind++) {
		char word = 0;

		if (kind == ZYGOTE_FORK && !stem->begin.forks)
			continue;
		stem->alive[kind] =
			wait_for(stem->zygotes[kind]) && recv(stem->zygotes[kind], &word, 1, 0) == 1 && word == 'z';
	}
}

static int sockets_make(int ends[2])
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
}

static int stem_start(struct stem *stem, struct error *err)
{
	int ends[2], theirs[ZYGOTE_KINDS] = { -1, -1 };
	int done;

	if (sockets_make(ends) < 0)
		return error_errno(err, "cannot make a stem's socket");
	stem->socket = ends[0];
	done = userns_take(stem->begin.probe.range, &stem->ids, err);
	if (done == 0)
		done = start_process(stem, ends[1], err);
	close(ends[1]);
	for (int kind = 0; kind < ZYGOTE_KINDS && done == 0; kind++) {
		if (sockets_make(ends) < 0)
			done = error_errno(err, "cannot make a zygote's socket");
		else
			stem->zygotes[kind] = ends[0], theirs[kind] = ends[1];
	}
	if (done == 0 && fd_send(stem->socket, &stem->begin, sizeof(stem->begin), theirs, ZYGOTE_KINDS) < 0)
		done = error_errno(err, "cannot tell a stem what it is for");
	for (int kind = 0; kind < ZYGOTE_KINDS; kind++)
		close_fd(&theirs[kind]);
	if (done == 0)
		done = hear_stem(stem, err);
	if (done == 0)
		hear_zygotes(stem);
	return done;
}

int stem_open(const struct stem_begin *begin, struct stem **out, struct error *err)
{
	struct stem *stem = calloc(1, sizeof(*stem));

	if (!stem)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold a stem");
	stem->begin = *begin;
	stem->pidfd = stem->socket = stem->zygotes[0] = stem->zygotes[1] = -1;
	stem->ids.lock_fd = -1;
	pthread_mutex_init(&stem->turn, NULL);
	look_at_zone(&stem->zone);
	if (stem_job_make(begin, STEM_BOX, &stem->box, err) < 0 || stem_start(stem, err) < 0) {
		stem_close(stem);
		return -1;
	}
	*out = stem;
	return 0;
}

void stem_close(struct stem *stem)
{
	if (!stem)
		return;
	if (stem->pid > 0) {
		syscall(SYS_pidfd_send_signal, stem->pidfd, SIGKILL, NULL, 0);
		clone_wait(stem->pid, NULL);
	}
	close_fd(&stem->pidfd);
	close_fd(&stem->socket);
	for (int kind = 0; kind < ZYGOTE_KINDS; kind++)
		close_fd(&stem->zygotes[kind]);
	userns_release(&stem->ids);
	stem_job_free(&stem->box);
	pthread_mutex_destroy(&stem->turn);
	free(stem);
}

bool stem_is_well(const struct stem *stem)
{
	struct pollfd fds[1 + ZYGOTE_KINDS] = { { .fd = stem->pidfd, .events = POLLIN } };
	struct stat zone;

	for (int kind = 0; kind < ZYGOTE_KINDS; kind++)
		fds[1 + kind].fd = stem->alive[kind] ? stem->zygotes[kind] : -1;
	look_at_zone(&zone);
	return poll(fds, ARRAY_SIZE(fds), 0) == 0 && zone.st_ino == stem->zone.st_ino &&
	       zone.st_ctim.tv_sec == stem->zone.st_ctim.tv_sec && zone.st_ctim.tv_nsec == stem->zone.st_ctim.tv_nsec;
}

bool stem_has(const struct stem *stem, enum zygote_kind kind)
{
	return stem->alive[kind];
}

/* The far ends of an ember's channels, until it has them. */
struct far {
	struct launch_ends ends;        /* stdin, stdout, stderr and the control socket */
	int groups[CGROUP_CONTROLLERS]; /* the group's files, borrowed */
	int group_count;                /* number of them */
};

/* Sends one request and reads the answer. Returns its size, and replaces the sent descriptors by the received ones; or
 * -1 with errno. */
static ssize_t stem_ask(struct stem *stem, const struct stem_make *make, int fds[FD_MESSAGE_MAX], size_t sent,
			struct stem_answer *answer, size_t *count)
{
	ssize_t n = -1;

	pthread_mutex_lock(&stem->turn);
	if (fd_send(stem->socket, make, sizeof(*make), fds, sent) == 0 && wait_for(stem->socket))
		n = fd_receive(stem->socket, answer, sizeof(*answer), fds, count);
	/* A late answer would be taken for the next one, and a program could get into another box. */
	if (n != sizeof(*answer)) {
		int errnum = errno;

		shutdown(stem->socket, SHUT_RDWR);
		errno = errnum;
	}
	pthread_mutex_unlock(&stem->turn);
	return n;
}

static int ask_stem(struct stem *stem, struct ember *ember, const struct far *far, struct error *err)
{
	const int control = far->ends.fds[3];
	struct box *box = &ember->box;
	struct stem_make make = { .ids = userns_in_stem(&box->ids),
				  .number = ember->number,
				  .groups = (uint32_t)far->group_count };
	struct stem_answer answer;
	int fds[FD_MESSAGE_MAX] = { control, box->ids.own ? box->ids.lock_fd : control };
	size_t count = 0;
	ssize_t n = -1;
	int errnum;

	memcpy(fds + STEM_MAKE_FDS, far->groups, (size_t)far->group_count * sizeof(int));
	n = stem_ask(stem, &make, fds, STEM_MAKE_FDS + make.groups, &answer, &count);
	errnum = n < 0 ? errno : EPIPE;
	if (n == sizeof(answer) && answer.errnum == 0 && count == 1) {
		box->pidfd = fds[0];
		return 0;
	}
	for (size_t i = 0; i < count && n > 0; i++)
		close_fd(&fds[i]);
	return error_set(err, ERROR_FAILED, n == sizeof(answer) && answer.errnum ? answer.errnum : errnum,
			 "cannot make a box of %s", stem->begin.language);
}

/* Reads the next report of a box that is being made, and stores its descriptors. */
static int hear_box(struct box *box, uint32_t kind, struct report *report, struct error *err)
{
	int fds[FD_MESSAGE_MAX];
	size_t count = 0;
	ssize_t n = wait_for(box->control) ? fd_receive(box->control, report, sizeof(*report), fds, &count) : -1;

	for (size_t i = 0; i < count && n > 0; i++) {
		if (report->kind == REPORT_READY && i < REPORT_FDS && box->handles[i] < 0)
			box->handles[i] = fds[i];
		else
			close_fd(&fds[i]);
	}
	if (n == sizeof(*report) && report->kind == kind)
		return 0;
	if (n == sizeof(*report) && report->kind == REPORT_FAILED && report->index < box->plan->op_count)
		return error_set(err, ERROR_FAILED, report->errnum, "a box could not be made: %s",
				 op_name(box->plan->ops[report->index].kind));
	if (n == sizeof(*report) && report->kind == REPORT_UNFIT)
		return error_set(err, ERROR_FAILED, report->errnum, "an ember could not enter its box: %s",
				 ember_step_name(report->index));
	return error_set(err, ERROR_FAILED, n < 0 ? errno : EPIPE, "a box could not be made");
}

static int ask_zygote(struct stem *stem, enum zygote_kind kind, bool hurry, const struct box *box,
		      const struct far *far, struct error *err)
{
	const struct ember_fork order = { .landlock = (uint32_t)box->plan->landlock,
					  .groups = (uint32_t)far->group_count,
					  .hurry = hurry,
					  .nofile = plan_files_max(box->plan),
					  .fsize = box->plan->limits->disk };
	int fds[FD_MESSAGE_MAX] = { box->pidfd,       far->ends.fds[3], far->ends.fds[0],
				    far->ends.fds[1], far->ends.fds[2], box->handles[REPORT_FD_RULESET] };

	memcpy(fds + EMBER_FORK_FDS, far->groups, (size_t)far->group_count * sizeof(int));
	if (fd_send(stem->zygotes[kind], &order, sizeof(order), fds, EMBER_FORK_FDS + order.groups) == 0)
		return 0;
	stem->alive[kind] = false;
	return error_errno(err, "the zygote of %s does not answer", stem->begin.language);
}

static int box_make(struct stem *stem, enum zygote_kind kind, bool hurry, struct ember *ember, struct far *far,
		    struct error *err)
{
	struct box *box = &ember->box;
	struct cgroup_usage usage;
	struct report report;

	if (launch_channels(box, &far->ends, err) < 0 || userns_take(stem->begin.probe.range, &box->ids, err) < 0 ||
	    launch_own_channels(box, &far->ends, err) < 0 || launch_group(&stem->begin.probe, box, err) < 0)
		return -1;
	far->group_count = box->group ? cgroup_enter_fds(box->group, far->groups) : 0;
	if (far->group_count < 0)
		return error_errno(err, "cannot open the box's control group");
	if (ask_stem(stem, ember, far, err) < 0 || hear_box(box, REPORT_READY, &report, err) < 0 ||
	    ask_zygote(stem, kind, hurry, box, far, err) < 0 || hear_box(box, REPORT_WARM, &report, err) < 0)
		return -1;
	/* Thousands of embers may be idle, so only the descriptors that a run needs stay open. */
	if (box->group)
		cgroup_entered(box->group);
	close_fd(&box->handles[REPORT_FD_RULESET]);
	if (!box->plan->accounted)
		close_fd(&box->handles[REPORT_FD_WORK]);
	if (!box->plan->rich)
		close_fd(&box->handles[REPORT_FD_RICH]);
	if (!box->plan->segments)
		close_fd(&box->handles[REPORT_FD_SEGMENTS]);
	box->cpu_usec = box->own_cpu_usec = report.cpu_usec;
	if (box->group && cgroup_usage(box->group, &usage, NULL) == 0)
		box->cpu_usec = usage.cpu_usec;
	return 0;
}

/* Returns 0, or -1: the stem does not answer. */
static int ask_about(const struct ember *ember, enum stem_ask ask, unsigned cores, struct stem_answer *answer)
{
	const struct stem_make make = { .number = ember->number, .ask = ask, .cores = cores };
	int fds[FD_MESSAGE_MAX];
	size_t count = 0;

	return stem_ask(ember->stem, &make, fds, 0, answer, &count) == sizeof(*answer) && answer->errnum == 0 ? 0 : -1;
}

/* The stem has the listeners of all its boxes. */
static void ask_refused(struct box *box)
{
	struct ember *ember = (struct ember *)((char *)box - offsetof(struct ember, box));
	struct stem_answer answer;

	if (ask_about(ember, STEM_ASK_REFUSED, 0, &answer) == 0)
		box->refused = (struct refused){ .count = 1, .call = (int)answer.index };
}

int stem_make(struct stem *stem, enum zygote_kind kind, bool hurry, struct ember *out, struct error *err)
{
	struct far far = { .ends = LAUNCH_ENDS_NONE };
	int done;

	*out = (struct ember){ .stem = stem, .kind = kind, .number = ++stem->boxes };
	launch_init(&out->box, &stem->box.plan);
	out->box.warden = stem->zygotes[kind];
	out->box.ask_refused = ask_refused;
	done = box_make(stem, kind, hurry, out, &far, err);
	launch_close_ends(&far.ends);
	if (done < 0)
		launch_end(&out->box, NULL);
	return done;
}

int stem_lend(const struct ember *ember)
{
	struct stem_answer answer;

	return ask_about(ember, STEM_ASK_LENT, 0, &answer);
}

int stem_bound(const struct ember *ember, unsigned cores)
{
	struct stem_answer answer;

	return ask_about(ember, STEM_ASK_CORES, cores, &answer);
}

/* Reads the answers to one request, with the turn held. Returns 0, or an errno; the caller owns the received sockets in
 * both cases. */
static int hear_sockets(struct stem *stem, int fds[NET_PLANT_SOCKETS_MAX + FD_MESSAGE_MAX], size_t *count)
{
	struct stem_answer answer = { .index = 1 };

	while (answer.index > 0) {
		size_t more = 0;
		ssize_t n = wait_for(stem->socket)
				    ? fd_receive(stem->socket, &answer, sizeof(answer), fds + *count, &more)
				    : -1;

		if (n != sizeof(answer))
			return EPIPE;
		*count += more;
		if (answer.errnum)
			return answer.errnum;
		if (*count > NET_PLANT_SOCKETS_MAX)
			return EPROTO;
	}
	return 0;
}

int stem_plant(const struct ember *ember, const struct net_plant *plant, struct egress_sockets *out, struct error *err)
{
	struct stem *stem = ember->stem;
	struct stem_make make = { .number = ember->number, .ask = STEM_ASK_PLANT };
	struct stem_plant wanted = { .port_count = (uint32_t)plant->port_count,
				     .range_count = (uint32_t)plant->range_count,
				     .everything = plant->everything,
				     .again = plant->again,
				     .bound_count = (uint32_t)plant->bound_count };
	const struct iovec parts[] = { { &make, sizeof(make) }, { &wanted, sizeof(wanted) } };
	int fds[NET_PLANT_SOCKETS_MAX + FD_MESSAGE_MAX], errnum;
	size_t count = 0;

	memcpy(wanted.ports, plant->ports, plant->port_count * sizeof(*plant->ports));
	if (plant->bound_count > 0)
		memcpy(wanted.bound, plant->bound, plant->bound_count * sizeof(*plant->bound));
	memcpy(wanted.ranges, plant->ranges, plant->range_count * sizeof(*plant->ranges));
	pthread_mutex_lock(&stem->turn);
	errnum = fd_send_parts(stem->socket, parts, ARRAY_SIZE(parts), NULL, 0) == 0 ? hear_sockets(stem, fds, &count)
										     : errno;
	/* A late answer would be taken for the next one. */
	if (errnum == EPIPE || errnum == EPROTO)
		shutdown(stem->socket, SHUT_RDWR);
	pthread_mutex_unlock(&stem->turn);
	if (errnum == 0 && box_plant_take(plant, fds, count, out))
		return 0;
	for (size_t i = 0; i < count; i++)
		close_fd(&fds[i]);
	return error_set(err, ERROR_FAILED, errnum ?: EPROTO, "cannot prepare the network of a box of %s",
			 stem->begin.language);
}

const char *ember_step_name(uint32_t step)
{
	static const char *const names[EMBER_STEPS] = {
		[EMBER_STEP_FORK] = "fork",         [EMBER_STEP_DESCRIPTORS] = "descriptors",
		[EMBER_STEP_GROUP] = "group",       [EMBER_STEP_NAMESPACES] = "namespaces",
		[EMBER_STEP_IDENTITY] = "identity", [EMBER_STEP_LANDLOCK] = "landlock",
		[EMBER_STEP_CAPS] = "capabilities", [EMBER_STEP_PROVE] = "proof of its isolation",
		[EMBER_STEP_ORDER] = "order",       [EMBER_STEP_LIMITS] = "limits",
		[EMBER_STEP_FILES] = "files",       [EMBER_STEP_GATE] = "gate",
		[EMBER_STEP_EXEC] = "exec",
	};

	return step < EMBER_STEPS ? names[step] : "?";
}
