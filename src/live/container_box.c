/*
 * A container's box: made, supervised and ended by a thread of its own.
 *
 * The path is that of any run, but for two things. The pipes to the program,
 * which is the agent, are taken from the box before it is supervised: what comes
 * by them is not a program's output, and no bound of outputs is for it. And the
 * box's time is the container's.
 */
#include "live/container_parts.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "engine/local/local_engine.h"
#include "engine/local/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

/* Made by the build of src/agent. */
extern const unsigned char agent_data[];
extern const size_t agent_size;

enum {
	STACK = 512 << 10,  /* bytes of a thread's stack: a run needs 256 KiB */
	HELLO_MSEC = 30000, /* for an agent to greet; it takes milliseconds */
};

static void raise_event(int fd)
{
	(void)!write(fd, &(uint64_t){ 1 }, sizeof(uint64_t));
}

enum container_state container_state(struct container *container)
{
	enum container_state state;

	pthread_mutex_lock(&container->lock);
	state = container->state;
	pthread_mutex_unlock(&container->lock);
	return state;
}

/* With the lock held. */
static void say_why(struct container *container, const char *why)
{
	if (container->why[0] == '\0')
		snprintf(container->why, sizeof(container->why), "%s", why);
}

void container_end(struct container *container, const char *why)
{
	container_end_by(container, why, NULL);
}

void container_end_by(struct container *container, const char *why, const char *by)
{
	pthread_mutex_lock(&container->lock);
	if (container->why[0] == '\0' && container->state != CONTAINER_ENDED)
		snprintf(container->by, sizeof(container->by), "%s", by ? by : "");
	say_why(container, why);
	pthread_mutex_unlock(&container->lock);
	raise_event(container->stop_fd);
}

/* On the box's thread: its directories are there, and the spec is not needed any more. */
static void on_started(struct box *box, void *userdata)
{
	struct container *container = userdata;
	struct error ignored;

	/* What a late report would be explained by is the spec's. */
	container->plan.op_count = 0;
	pthread_mutex_lock(&container->lock);
	for (int i = 0; i < REPORT_FDS; i++)
		if (box->handles[i] >= 0)
			container->handles[i] = fcntl(box->handles[i], F_DUPFD_CLOEXEC, 3);
	if (container->plan.accounted) {
		container->account = calloc(1, sizeof(*container->account));
		if (container->account) {
			container->account->proc_fd = container->account->work_fd = -1;
			container->account->segments_fd = -1;
		}
		if (container->account &&
		    account_open(container->handles[REPORT_FD_PROC], container->handles[REPORT_FD_WORK],
				 container->account, &ignored) < 0) {
			free(container->account);
			container->account = NULL;
		}
	}
	container->live = true;
	pthread_cond_broadcast(&container->changed);
	pthread_mutex_unlock(&container->lock);
}

/* Why a box ended that nobody has said a word about. */
static void explain_end(const struct container *container, const struct verdict *v, char *why, size_t size)
{
	if (v->status == STATUS_ERROR)
		snprintf(why, size, "%.200s", v->failure.text);
	else if (v->status == STATUS_OUT_OF_MEMORY)
		snprintf(why, size, "its memory limit was exceeded");
	else if (v->limit && strcmp(v->limit, "timeout") == 0)
		snprintf(why, size, "its time to live of %.6gs was over", container->ttl);
	else if (v->ended && WIFSIGNALED(v->wait_status))
		snprintf(why, size, "its agent was ended by signal SIG%s",
			 sigabbrev_np(WTERMSIG(v->wait_status)) ?: "?");
	else if (v->ended)
		snprintf(why, size, "its agent ended with exit code %d", WEXITSTATUS(v->wait_status));
	else
		snprintf(why, size, "its box was ended from outside");
}

/* Nobody reads the box from here on. */
static void close_live(struct container *container)
{
	pthread_mutex_lock(&container->lock);
	container->live = false;
	for (int i = 0; i < REPORT_FDS; i++)
		close_fd(&container->handles[i]);
	if (container->account)
		account_close(container->account);
	free(container->account);
	container->account = NULL;
	pthread_mutex_unlock(&container->lock);
}

/* Before anybody sees that it has ended: who stops one finds it written down. */
static void tell_end(const struct container *container)
{
	const struct container_ended ended = {
		.id = container->id,
		.owner = container->owner,
		.profile = container->profile,
		.why = container->why,
		.by = container->by[0] ? container->by : "service",
	};

	if (container->watch.ended)
		container->watch.ended(&ended, container->watch.userdata);
}

static void set_ended(struct container *container, const struct verdict *verdict)
{
	char why[sizeof(container->why)];
	bool ran;

	explain_end(container, verdict, why, sizeof(why));
	pthread_mutex_lock(&container->lock);
	say_why(container, why);
	ran = container->state == CONTAINER_RUNNING;
	pthread_mutex_unlock(&container->lock);
	if (ran)
		tell_end(container);
	pthread_mutex_lock(&container->lock);
	container->state = CONTAINER_ENDED;
	container->verdict = *verdict;
	if (verdict->status == STATUS_ERROR)
		container->failure = verdict->failure;
	pthread_cond_broadcast(&container->changed);
	pthread_mutex_unlock(&container->lock);
	raise_event(container->ended_fd);
}

struct start {
	struct container *container; /* whose thread it is */
	const struct probe *probe;   /* of this host */
	int launched_fd;             /* eventfd of who waits: readable when there is a box, or there will be none */
};

/* The starter's word is gone once it is told. */
static void *live(void *argument)
{
	struct start start = *(struct start *)argument;
	struct container *container = start.container;
	const struct supervise_io io = {
		.on_started = on_started, .userdata = container, .cancel_fd = container->stop_fd, .stdin_fd = -1
	};
	struct verdict verdict = { .status = STATUS_ERROR };
	struct output outputs[2];
	struct error err = { 0 };
	int launched =
		launch_box(&container->job, &container->plan, start.probe, true, &container->box, &verdict.failure);

	if (launched == 0) {
		container->ids = container->box.ids;
		container->channel.to = take_fd(&container->box.input);
		container->channel.from = take_fd(&container->box.output[0]);
	}
	raise_event(start.launched_fd);
	if (launched == 0) {
		output_init(&outputs[0]);
		output_init(&outputs[1]);
		supervise_box(&container->box, &container->job, &io, outputs, &verdict);
		output_free(&outputs[0]);
		output_free(&outputs[1]);
		close_live(container);
		if (launch_end(&container->box, &err) < 0) {
			verdict.status = STATUS_ERROR;
			verdict.failure = err;
		}
	}
	set_ended(container, &verdict);
	return NULL;
}

static int start_thread(struct container *container, struct start *start, struct error *err)
{
	pthread_attr_t attr;
	int errnum = pthread_attr_init(&attr);

	if (errnum == 0)
		errnum = pthread_attr_setstacksize(&attr, STACK);
	if (errnum == 0)
		errnum = pthread_create(&container->thread, &attr, live, start);
	pthread_attr_destroy(&attr);
	return errnum == 0 ? 0 : error_set(err, ERROR_FAILED, errnum, "cannot start a thread for the container");
}

/* 1: the agent greets as it should. 0: not yet. -1: it does not. */
static int hear_hello(struct container *container)
{
	struct agent_head head;
	struct agent_hello hello;
	const void *body;
	int got = channel_read(&container->channel);

	if (got < 0 && errno == EAGAIN)
		return 0;
	got = got <= 0 ? -1 : channel_next(&container->channel, &head, &body);
	if (got <= 0)
		return got;
	if (head.kind != AGENT_HELLO || head.order != 0 || head.size != sizeof(hello))
		return -1;
	memcpy(&hello, body, sizeof(hello));
	return hello.version == AGENT_VERSION ? 1 : -1;
}

static int await_hello(struct container *container)
{
	uint64_t until = clock_usec() + HELLO_MSEC * 1000ULL;
	int heard = 0;

	while (heard == 0 && clock_usec() < until) {
		struct pollfd fds[] = { { .fd = container->channel.from, .events = POLLIN },
					{ .fd = container->ended_fd, .events = POLLIN } };

		if (poll(fds, ARRAY_SIZE(fds), HELLO_MSEC) < 0 && errno != EINTR)
			return -1;
		if (fds[0].revents)
			heard = hear_hello(container);
		else if (fds[1].revents)
			return -1;
	}
	return heard == 1 ? 0 : -1;
}

/* The box's own reason, where it has one, says more than that its agent was silent. */
static int explain_start(struct container *container, struct error *err)
{
	container_end(container, "");
	container_join(container);
	if (container->verdict.status == STATUS_ERROR) {
		*err = container->failure;
		return error_prefix(err, "cannot start the container");
	}
	return error_set(err, ERROR_FAILED, 0, "cannot start the container: %s", container->why);
}

/* The job and its plan. */
static int make_plan(struct container *container, const struct probe *probe, const struct spec *spec, struct error *err)
{
	const struct supervise_io io = { .cancel_fd = container->stop_fd, .stdin_fd = -1 };
	const struct engines engines = local_engines(probe);
	struct job_given given;

	if (job_run_needs_prepared(spec->runtime) && build_prepare(spec, &engines, &io, &container->build, err) < 0)
		return -1;
	given = build_given(&container->build);
	if (!job_run_needs_prepared(spec->runtime))
		given.prepared = NULL;
	if (job_make(JOB_RUN, spec, &given, &container->job, err) < 0 ||
	    job_set_agent(&container->job, AGENT_PATH, agent_data, agent_size, container->ttl, err) < 0 ||
	    plan_make(&container->job, probe, &container->plan, err) < 0)
		return -1;
	if (!container->plan.group || probe->cgroup.where[CGROUP_CPU] < 0)
		container->limits.cpus = 0;
	return 0;
}

int container_launch(struct container *container, const struct probe *probe, const struct spec *spec, struct error *err)
{
	_cleanup_close_ int launched_fd = eventfd(0, EFD_CLOEXEC);
	struct start start = { .container = container, .probe = probe, .launched_fd = launched_fd };
	uint64_t count;

	if (launched_fd < 0)
		return error_errno(err, "cannot start the container");
	if (make_plan(container, probe, spec, err) < 0 || start_thread(container, &start, err) < 0)
		return -1;
	while (read(launched_fd, &count, sizeof(count)) < 0 && errno == EINTR)
		;
	if (container->channel.from < 0 || await_hello(container) < 0)
		return explain_start(container, err);
	/* The agent may be quicker than its box's supervisor, who has bounds of his own. */
	pthread_mutex_lock(&container->lock);
	while (!container->live && container->state != CONTAINER_ENDED)
		pthread_cond_wait(&container->changed, &container->lock);
	if (container->state == CONTAINER_STARTING)
		container->state = CONTAINER_RUNNING;
	pthread_mutex_unlock(&container->lock);
	return 0;
}

void container_join(struct container *container)
{
	pthread_t thread = container->thread;

	if (!thread)
		return;
	container->thread = 0;
	pthread_join(thread, NULL);
}

void container_shrink(struct container *container)
{
	container_join(container);
	plan_free(&container->plan);
	job_free(&container->job);
	build_free(&container->build);
	close_fd(&container->channel.to);
	close_fd(&container->channel.from);
	close_fd(&container->stop_fd);
	close_fd(&container->ended_fd);
	close_fd(&container->turn_fd);
}

void container_free(struct container *container)
{
	container_shrink(container);
	pthread_cond_destroy(&container->changed);
	pthread_mutex_destroy(&container->lock);
	arena_free(&container->arena);
	free(container);
}

/* With the lock held, of a box that lives. What cannot be read stays as it was. */
static void look(const struct container *container, struct container_usage *usage)
{
	struct account_usage account;
	struct cgroup_usage group;
	uint64_t tasks;

	if (container->box.group && cgroup_usage_aside(container->box.group, &group, NULL) == 0) {
		usage->cpu_usec = group.cpu_usec;
		usage->memory = group.memory_now;
		usage->memory_peak = group.memory_peak;
		usage->oom_kills = group.oom_kills;
		if (cgroup_tasks_now(container->box.group, &tasks) == 0)
			usage->pids = tasks;
	} else if (container->account && account_sample(container->account, &account) == 0) {
		usage->cpu_usec = account.cpu_usec;
		usage->memory = account.memory_now;
		usage->memory_peak = account.memory_peak;
		usage->pids = account.threads;
	}
}

void container_usage(struct container *container, struct container_usage *usage)
{
	*usage = (struct container_usage){ 0 };
	pthread_mutex_lock(&container->lock);
	usage->live = container->live;
	if (container->live) {
		look(container, usage);
	} else if (container->state == CONTAINER_ENDED) {
		usage->cpu_usec = container->verdict.cpu_usec;
		usage->memory_peak = container->verdict.memory_peak;
	}
	pthread_mutex_unlock(&container->lock);
}
