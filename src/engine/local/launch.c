#include "engine/local/launch.h"

#include "base/fd.h"
#include "base/own.h"
#include "base/fault.h"
#include "engine/ember/notice.h"
#include "kernel/clone.h"
#include "kernel/mount.h"
#include "schema/host_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* How long the kernel gets to end a killed box before that is an error. */
enum {
	END_MSEC = 10000,
	OVER_MSEC = 50 /* the same of one that is over, before it is not believed */
};

/* The supervisor's side of what a box needs, until it runs. */
struct staging {
	struct inside inside;    /* for the child */
	int *file_fds;           /* host files, by index in the job */
	size_t file_count;       /* how many */
	struct launch_ends ends; /* of the child */
	int channel;             /* a copy of the job's, above 3; 0: none */
};

/* Fault injection: which operation of the plan fails, see base/fault.h. */
static void fault_choose(struct inside *inside)
{
	inside->fault_kind = -1;
#ifdef EMBERBOX_FAULTS
	const char *fault = getenv("EMBERBOX_FAULT");

	for (int kind = 0; fault && kind < OP_KINDS; kind++) {
		size_t length = strlen(op_name(kind));

		if (strncmp(fault, op_name(kind), length) != 0 || (fault[length] != '\0' && fault[length] != ':'))
			continue;
		inside->fault_kind = kind;
		inside->fault_index = fault[length] == ':' ? atoi(fault + length + 1) : 0;
	}
#endif
}

static void staging_free(struct staging *staging)
{
	for (size_t i = 0; i < staging->file_count; i++)
		close_fd(&staging->file_fds[i]);
	free(staging->file_fds);
	launch_close_ends(&staging->ends);
	if (staging->channel > 0)
		close(staging->channel);
	for (size_t i = 0; i < JOB_TREES_MAX; i++) {
		close_fd(&staging->inside.trees[i]);
		close_fd(&staging->inside.plain[i]);
	}
}

/* Out of the way of 0, 1 and 2, which the program's own will be, also when the caller has some of those closed. */
static int raise_fd(int *fd)
{
	int raised;

	if (*fd > 2)
		return 0;
	raised = fcntl(*fd, F_DUPFD_CLOEXEC, 3);
	if (raised < 0)
		return -1;
	close_fd(fd);
	*fd = raised;
	return 0;
}

static int make_pair(int *ours, int *theirs, bool ours_reads)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	*ours = ends[ours_reads ? 0 : 1];
	*theirs = ends[ours_reads ? 1 : 0];
	if (raise_fd(ours) < 0 || raise_fd(theirs) < 0)
		return -1;
	return fcntl(*ours, F_SETFL, O_NONBLOCK | (ours_reads ? O_RDONLY : O_WRONLY));
}

void launch_close_ends(struct launch_ends *ends)
{
	for (size_t i = 0; i < ARRAY_SIZE(ends->fds); i++)
		close_fd(&ends->fds[i]);
}

int launch_channels(struct box *box, struct launch_ends *far, struct error *err)
{
	int ends[2];

	/* A terminal is made inside, and comes by the control socket. */
	if (fault_hit("channels") || (!box->plan->terminal && (make_pair(&box->input, &far->fds[0], false) < 0 ||
							       make_pair(&box->output[0], &far->fds[1], true) < 0 ||
							       make_pair(&box->output[1], &far->fds[2], true) < 0)))
		return error_errno(err, "cannot make the box's pipes");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_errno(err, "cannot make the box's control socket");
	box->control = ends[0];
	far->fds[3] = ends[1];
	if (raise_fd(&box->control) < 0 || raise_fd(&far->fds[3]) < 0)
		return error_errno(err, "cannot make the box's control socket");
	return 0;
}

/* A caller who has so many pipes that the kernel refuses has lines that go out at once. */
void launch_say_buffered(const struct box *box, const struct job *job)
{
	if (job->buffered && box->input >= 0)
		fcntl(box->input, F_SETPIPE_SZ, NOTICE_PLAIN_PAGES * (int)sysconf(_SC_PAGESIZE));
}

/* Host files are opened by the caller's own rights; only plain files are taken, so that no fifo or device can block us.
 */
static int open_files(const struct job *job, struct staging *staging, struct error *err)
{
	staging->file_fds = calloc(job->file_count + 1, sizeof(int));
	if (!staging->file_fds || fault_hit("files"))
		return error_errno(err, "cannot open the files");
	for (size_t i = 0; i < job->file_count; i++) {
		const char *host = job->files[i].host;
		int *fd = &staging->file_fds[staging->file_count++];
		struct stat st;

		*fd = -1;
		if (job->files[i].fd >= 0 &&
		    ((*fd = fcntl(job->files[i].fd, F_DUPFD_CLOEXEC, 3)) < 0 || fstat(*fd, &st) < 0))
			return error_errno(err, "cannot open the files");
		if (job->files[i].fd >= 0 && (uint64_t)st.st_size > job->limits.disk)
			return error_field(err, "disk",
					   "the compiled program is larger than the box's disk; raise --disk");
		if (!host)
			continue;
		*fd = host_file_open(host, &st, err);
		if (*fd < 0)
			return -1;
		if ((uint64_t)st.st_size > job->limits.disk)
			return error_field(err, "file", "\"%s\" is larger than the box's disk; raise --disk", host);
	}
	staging->inside.file_fds = staging->file_fds;
	return 0;
}

/*
 * Root's boxes have a uid of their own, which cannot read what belongs to the
 * tree's owner alone; an ID-mapped mount (5.12; 5.19 below an overlay) shows
 * the files as the box's. Where the file system cannot, the plain tree is used,
 * and private files stay private. Not for what a definition binds: that is the
 * host's, and what is closed to others there stays closed.
 */
static int open_tree_of(const struct job_tree *tree, const struct box *box, int *translated, int *plain,
			struct error *err)
{
	_cleanup_close_ int dir = -1;
	_cleanup_close_ int userns = -1;
	struct stat st;

	dir = tree->dir >= 0 ? fcntl(tree->dir, F_DUPFD_CLOEXEC, 3) : open(tree->host, O_PATH | O_CLOEXEC);
	if (dir < 0 || fstat(dir, &st) < 0)
		return error_errno(err, "cannot open \"%s\"", tree->host);
	if (!box->ids.own || (!tree->writable && tree->dir < 0))
		return 0;
	userns = userns_translate(st.st_uid, st.st_gid, box->ids.uid, box->ids.gid, err);
	if (userns < 0)
		return -1;
	*translated = mount_translated(dir, userns);
	/* What we keep ourselves lies where the box's uid may not even look. */
	if (tree->dir >= 0)
		*plain = mount_translated(dir, -1);
	return 0;
}

static int open_trees(const struct job *job, const struct box *box, struct staging *staging, struct error *err)
{
	if (job->tree_count > 0 && fault_fail("trees", err) < 0)
		return -1;
	for (size_t i = 0; i < job->tree_count; i++) {
		_cleanup_close_ int project = -1;

		if (job->trees[i].host == job->spec->project) {
			project = open(job->trees[i].host, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			if (project < 0)
				return error_field_errno(err, "project", "cannot open the directory \"%s\"",
							 job->trees[i].host);
		}
		if (open_tree_of(&job->trees[i], box, &staging->inside.trees[i], &staging->inside.plain[i], err) < 0)
			return -1;
	}
	return 0;
}

struct cgroup_limits launch_group_limits(const struct limits *limits)
{
	/* init is one of them. */
	return (struct cgroup_limits){ .memory = limits->memory, .pids = limits->pids + 1, .cpus = limits->cpus };
}

int launch_group(const struct probe *probe, struct box *box, struct error *err)
{
	const struct plan *plan = box->plan;
	const struct cgroup_limits limits = launch_group_limits(plan->limits);
	char name[64];
	uint64_t chance;

	if (!plan->group)
		return 0;
	/* By chance: another pid namespace may have our pid as well. */
	if (fault_hit("group") || getrandom(&chance, sizeof(chance), 0) != sizeof(chance))
		return error_errno(err, "cannot name a control group");
	snprintf(name, sizeof(name), "box-%d-%016" PRIx64, (int)getpid(), chance);
	return cgroup_make(&probe->cgroup, name, &limits, &box->group, err);
}

static int clone_box(struct box *box, struct staging *staging, struct error *err)
{
	const uint64_t namespaces = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS;
	pid_t pid;

	for (int i = 0; i < 3; i++)
		staging->inside.stdio[i] = staging->ends.fds[i];
	staging->inside.control = staging->inside.go = staging->ends.fds[3];
	staging->inside.lock_fd = box->ids.lock_fd;
	staging->inside.channel = staging->channel;
	pid = fault_hit("clone") ? -1
				 : clone_into(namespaces, box->group ? cgroup_clone_fd(box->group) : -1, &box->pidfd);
	if (pid == 0)
		inside_run(&staging->inside);
	/* No more processes or descriptors is nothing that the host's settings refuse. */
	if (pid < 0 && errno != EPERM && errno != EACCES && errno != EINVAL && errno != ENOSYS && errno != ENOSPC &&
	    errno != EUSERS)
		return error_errno(err, "cannot make the box's first process");
	if (pid < 0) {
		error_errno(err, "the kernel refuses the namespaces of a box (`emberbox doctor` shows what to change)");
		return error_recode(err, CODE_CANNOT_ENFORCE);
	}
	box->pid = pid;
	return 0;
}

int launch_own_channels(const struct box *box, const struct launch_ends *ends, struct error *err)
{
	for (int i = 0; i < 3 && box->ids.own; i++)
		if (ends->fds[i] >= 0 && fchown(ends->fds[i], box->ids.uid, box->ids.gid) < 0)
			return error_errno(err, "cannot give the box its pipes");
	return 0;
}

static bool has_reported(const struct box *box)
{
	struct pollfd control = { .fd = box->control, .events = POLLIN };

	return poll(&control, 1, 0) > 0;
}

/* A v2 group is entered by clone itself; v1 groups by the child, and they are made while it makes its network. */
static bool group_comes_first(const struct cgroup_site *site)
{
	for (size_t i = 0; i < site->count; i++)
		if (site->unified[i])
			return true;
	return false;
}

static int let_go(struct box *box, struct error *err)
{
	int fds[CGROUP_CONTROLLERS];
	size_t count = box->group ? cgroup_join_fds(box->group, fds) : 0;

	if (!fault_hit("go") && fd_send(box->control, &(char){ INSIDE_GO }, 1, fds, count) == 0)
		return 0;
	/* It may be gone already: then its report, or its silence, tells. */
	if (errno == EPIPE || errno == ECONNRESET)
		return 0;
	return error_errno(err, "cannot let the box go");
}

/* The sockets of its network, which it sends before it waits for its maps. A box that fails before that has sent why.
 */
static int hear_planted(struct box *box, struct error *err)
{
	struct pollfd control = { .fd = box->control, .events = POLLIN };
	int fds[NET_PLANT_SOCKETS_MAX + FD_MESSAGE_MAX];
	size_t count = 0;
	struct report report = { .index = 1 };

	while (report.index > 0) {
		size_t more = 0;
		ssize_t n = poll(&control, 1, END_MSEC) > 0
				    ? fd_receive(box->control, &report, sizeof(report), fds + count, &more)
				    : -1;

		count += n > 0 ? more : 0;
		if (n != sizeof(report) || report.kind != REPORT_PLANTED || count > NET_PLANT_SOCKETS_MAX)
			break;
	}
	if (report.kind == REPORT_PLANTED && report.index == 0 &&
	    box_plant_take(box->plan->plant, fds, count, &box->planted))
		return 0;
	for (size_t i = 0; i < count; i++)
		close_fd(&fds[i]);
	if (report.kind != REPORT_FAILED)
		return error_set(err, ERROR_FAILED, 0, "the box did not hand over the sockets of its network");
	box->early = report;
	return 0;
}

static int set_up(const struct job *job, const struct probe *probe, struct box *box, struct staging *staging,
		  struct error *err)
{
	if (launch_channels(box, &staging->ends, err) < 0 || open_files(job, staging, err) < 0)
		return -1;
	launch_say_buffered(box, job);
	if (job->session && job->channel >= 0 &&
	    (staging->channel = fcntl(job->channel, F_DUPFD_CLOEXEC, STDERR_FILENO + 2)) < 0)
		return error_errno(err, "cannot give the driver its channel");
	if (fault_fail("uid", err) < 0 || userns_take(box->plan->range, &box->ids, err) < 0 ||
	    open_trees(job, box, staging, err) < 0)
		return -1;
	if (launch_own_channels(box, &staging->ends, err) < 0)
		return -1;
	if (group_comes_first(&probe->cgroup) && launch_group(probe, box, err) < 0)
		return -1;
	if (clone_box(box, staging, err) < 0)
		return -1;
	if (!box->group && launch_group(probe, box, err) < 0)
		return -1;
	/* The /proc of a box that has failed already is closed to us; why it failed is what matters. */
	if ((fault_fail("maps", err) < 0 || userns_map(box->pid, &box->ids, err) < 0) && !has_reported(box))
		return -1;
	if (box->plan->plant && hear_planted(box, err) < 0)
		return -1;
	if (let_go(box, err) < 0)
		return -1;
	/* What an emberbox that was killed left behind; now, because the box is busy and we are not. */
	if (box->group)
		cgroup_sweep(&probe->cgroup);
	return 0;
}

void launch_init(struct box *box, const struct plan *plan)
{
	*box = (struct box){
		.plan = plan,
		.pidfd = -1,
		.warden = -1,
		.listener = -1,
		.control = -1,
		.input = -1,
		.output = { -1, -1 },
		.terminal = -1,
		.handles = { -1, -1, -1, -1, -1, -1 },
		.planted = EGRESS_SOCKETS_NONE,
		.ids = { .lock_fd = -1 },
	};
}

int launch_box(const struct job *job, const struct plan *plan, const struct probe *probe, bool heard, struct box *box,
	       struct error *err)
{
	struct staging staging = { .ends = LAUNCH_ENDS_NONE, .inside = { .plan = plan, .heard = heard } };
	int result;

	for (size_t i = 0; i < JOB_TREES_MAX; i++)
		staging.inside.trees[i] = staging.inside.plain[i] = -1;

	launch_init(box, plan);
	box->refused.cores = plan->cores;
	fault_choose(&staging.inside);
	result = set_up(job, probe, box, &staging, err);
	staging_free(&staging);
	if (result < 0)
		launch_end(box, NULL);
	return result;
}

void launch_kill(struct box *box)
{
	/* What is over cannot be held up by its share of the processors. */
	if (box->group && !box->over)
		cgroup_kill(box->group);
	if (box->pidfd >= 0)
		syscall(SYS_pidfd_send_signal, box->pidfd, SIGKILL, NULL, 0);
}

/* Whether init is dead, after at most that long. */
static bool is_dead(const struct box *box, int msec)
{
	struct pollfd end = { .fd = box->pidfd, .events = POLLIN };
	int n;

	do
		n = poll(&end, 1, msec);
	while (n < 0 && errno == EINTR);
	return n > 0;
}

static int reap(struct box *box, struct error *err)
{
	if (!is_dead(box, 0))
		launch_kill(box);
	/* What was taken for over was not: its share of the processors may hold it up all the same. */
	if (box->over && !is_dead(box, OVER_MSEC)) {
		box->over = false;
		launch_kill(box);
	}
	if (!is_dead(box, END_MSEC))
		return error_set(err, ERROR_FAILED, 0, "the box did not end within %d s of being killed",
				 END_MSEC / 1000);
	if (box->pid > 0)
		clone_wait(box->pid, NULL);
	box->pid = 0;
	return 0;
}

/* A writer of ours, or whoever waits for a shell beside a session's driver, may be a member still. */
static int remove_group(struct cgroup *group, struct error *err)
{
	struct error busy;

	if (cgroup_remove(group, &busy) == 0)
		return 0;
	if (busy.errnum == EBUSY)
		cgroup_evict(group);
	return cgroup_remove(group, err);
}

int launch_end(struct box *box, struct error *err)
{
	int result = 0;

	if (box->pidfd >= 0)
		result = reap(box, err);
	if (box->group && result == 0)
		result = fault_fail("remove", err) < 0 ? -1 : remove_group(box->group, err);
	cgroup_free(box->group);
	box->group = NULL;
	userns_release(&box->ids);
	close_fd(&box->pidfd);
	close_fd(&box->control);
	close_fd(&box->input);
	close_fd(&box->output[0]);
	close_fd(&box->output[1]);
	close_fd(&box->terminal);
	close_fd(&box->listener);
	egress_sockets_close(&box->planted);
	for (int i = 0; i < REPORT_FDS; i++)
		close_fd(&box->handles[i]);
	return result;
}
