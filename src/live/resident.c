#include "live/resident.h"
#include "live/beside.h"
#include "live/live_files.h"

#include "base/clock.h"
#include "base/own.h"
#include "engine/local/local_engine.h"
#include "engine/local/supervise.h"
#include "engine/warm/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

enum {
	STACK = 256 << 10,     /* bytes of a thread's stack: what making a box needs */
	READY_MSEC = 30000,    /* for a program to say that it is ready; it takes milliseconds, an interpreter's start
				* included */
	SILENCE_MSEC = 200,    /* for the box of a program that did not begin to end by itself, and so to say why */
	COMPLAINT_MAX = 65536, /* bytes of such a program's stderr that are looked at */
	END_MSEC = 60000,      /* for a killed box to be gone; its thread has bounds of its own that are shorter */
};

static void raise_event(int fd)
{
	(void)!write(fd, &(uint64_t){ 1 }, sizeof(uint64_t));
}

int resident_init(struct resident *resident)
{
	*resident = (struct resident){ .job.channel = -1,
				       .build = BUILD_INIT,
				       .input = -1,
				       .output = { -1, -1 },
				       .stop_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
				       .ended_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
				       .turn_fd = -1 };
	pthread_mutex_init(&resident->lock, NULL);
	pthread_cond_init(&resident->changed, NULL);
	return resident->stop_fd >= 0 && resident->ended_fd >= 0 ? 0 : -1;
}

enum resident_state resident_state(struct resident *resident)
{
	enum resident_state state;

	pthread_mutex_lock(&resident->lock);
	state = resident->state;
	pthread_mutex_unlock(&resident->lock);
	return state;
}

void resident_why(struct resident *resident, char why[256])
{
	pthread_mutex_lock(&resident->lock);
	memcpy(why, resident->why, sizeof(resident->why));
	pthread_mutex_unlock(&resident->lock);
}

/* With the lock held. */
static void say_why(struct resident *resident, const char *why)
{
	if (resident->why[0] == '\0')
		snprintf(resident->why, sizeof(resident->why), "%s", why);
}

/* With the lock held: in so many seconds, 0: never. What is to end stays so. */
static void set_timer(struct resident *resident, double seconds)
{
	const struct itimerspec when = { .it_value = { .tv_sec = (time_t)seconds,
						       .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9) } };

	if (!resident->stopping)
		timerfd_settime(resident->stop_fd, 0, &when, NULL);
}

void resident_end(struct resident *resident, const char *why, const char *by)
{
	pthread_mutex_lock(&resident->lock);
	if (resident->why[0] == '\0' && resident->state != RESIDENT_ENDED)
		snprintf(resident->by, sizeof(resident->by), "%s", by ? by : "");
	say_why(resident, why);
	set_timer(resident, 1e-9);
	resident->stopping = true;
	pthread_mutex_unlock(&resident->lock);
}

/* On the box's thread: its directories are there. */
static void on_started(struct box *box, void *userdata)
{
	struct resident *resident = userdata;
	struct error ignored;

	/* What a late report would be explained by is the spec's. */
	if (box == &resident->own)
		resident->plan.op_count = 0;
	pthread_mutex_lock(&resident->lock);
	resident->box = box;
	if (box->plan->accounted)
		resident->account = calloc(1, sizeof(*resident->account));
	if (resident->account) {
		resident->account->proc_fd = resident->account->work_fd = resident->account->segments_fd = -1;
		if (account_open(box->handles[REPORT_FD_PROC], box->handles[REPORT_FD_WORK], resident->account,
				 &ignored) < 0) {
			free(resident->account);
			resident->account = NULL;
		}
	}
	/* Thousands may live: a group tells what this directory would. */
	if (box->group)
		close_fd(&box->handles[REPORT_FD_PROC]);
	resident->live = true;
	pthread_cond_broadcast(&resident->changed);
	pthread_mutex_unlock(&resident->lock);
}

/* Nobody reads the box from here on. */
static void close_live(struct resident *resident)
{
	pthread_mutex_lock(&resident->lock);
	resident->live = false;
	if (resident->account)
		account_close(resident->account);
	free(resident->account);
	resident->account = NULL;
	pthread_mutex_unlock(&resident->lock);
}

/* Why a box ended that nobody has said a word about. */
static void explain_end(const struct resident *resident, const struct verdict *v, char *why, size_t size)
{
	if (v->status == STATUS_ERROR)
		snprintf(why, size, "%.200s", v->failure.text);
	else if (v->status == STATUS_OUT_OF_MEMORY)
		snprintf(why, size, "its memory limit was exceeded");
	else if (v->cancelled)
		snprintf(why, size, "it was not used for %.6gs", resident->idle_ttl);
	else if (v->limit && strcmp(v->limit, "timeout") == 0)
		snprintf(why, size, "its time to live of %.6gs was over", resident->ttl);
	else if (v->ended && WIFSIGNALED(v->wait_status))
		snprintf(why, size, "its %s was ended by signal SIG%s", resident->program,
			 sigabbrev_np(WTERMSIG(v->wait_status)) ?: "?");
	else if (v->ended)
		snprintf(why, size, "its %s ended with exit code %d", resident->program, WEXITSTATUS(v->wait_status));
	else
		snprintf(why, size, "its box was ended from outside");
}

static void set_ended(struct resident *resident, const struct verdict *verdict)
{
	char why[sizeof(resident->why)];
	bool ran;

	explain_end(resident, verdict, why, sizeof(why));
	pthread_mutex_lock(&resident->lock);
	say_why(resident, why);
	ran = resident->state == RESIDENT_RUNNING;
	pthread_mutex_unlock(&resident->lock);
	/* Before anybody sees that it has ended: who stops one finds it written down. */
	if (ran && resident->ended)
		resident->ended(resident);
	pthread_mutex_lock(&resident->lock);
	resident->state = RESIDENT_ENDED;
	resident->verdict = *verdict;
	if (verdict->status == STATUS_ERROR)
		resident->failure = verdict->failure;
	pthread_cond_broadcast(&resident->changed);
	pthread_mutex_unlock(&resident->lock);
	raise_event(resident->ended_fd);
}

struct start {
	struct resident *resident; /* whose thread it is */
	struct pool *pool;         /* to lend a box, or NULL */
	const struct probe *probe; /* of this host */
};

static void watch_box(struct resident *resident, struct box *box, struct verdict *verdict)
{
	const struct supervise_io io = {
		.on_started = on_started, .userdata = resident, .cancel_fd = resident->stop_fd, .stdin_fd = -1
	};
	struct output outputs[2];

	resident->ids = box->ids;
	resident->input = take_fd(&box->input);
	resident->output[0] = take_fd(&box->output[0]);
	resident->output[1] = take_fd(&box->output[1]);
	output_init(&outputs[0]);
	output_init(&outputs[1]);
	supervise_box(box, &resident->job, &io, outputs, verdict);
	output_free(&outputs[0]);
	output_free(&outputs[1]);
	close_live(resident);
}

/* False: there was none, or it was no good, and nothing ran. */
static bool live_lent(struct resident *resident, struct pool *pool, struct verdict *verdict)
{
	struct box *box = NULL;

	resident->held = pool ? pool_lend(pool, &resident->job, &box) : NULL;
	if (!resident->held)
		return false;
	resident->warm = true;
	watch_box(resident, box, verdict);
	pool_return(resident->held);
	resident->held = NULL;
	if (verdict->status != STATUS_ERROR || verdict->started_usec)
		return true;
	close_fd(&resident->input);
	close_fd(&resident->output[0]);
	close_fd(&resident->output[1]);
	resident->warm = false;
	return false;
}

static void live_own(struct resident *resident, const struct probe *probe, struct verdict *verdict)
{
	struct error err = { 0 };

	*verdict = (struct verdict){ .status = STATUS_ERROR };
	if (plan_make(&resident->job, probe, &resident->plan, &verdict->failure) < 0 ||
	    launch_box(&resident->job, &resident->plan, probe, true, &resident->own, &verdict->failure) < 0)
		return;
	watch_box(resident, &resident->own, verdict);
	if (launch_end(&resident->own, &err) < 0) {
		verdict->status = STATUS_ERROR;
		verdict->failure = err;
	}
}

/* The starter's word is its own until this is live or has ended. */
static void *live_thread(void *argument)
{
	struct start start = *(struct start *)argument;
	struct verdict verdict = { .status = STATUS_ERROR };

	if (!live_lent(start.resident, start.pool, &verdict))
		live_own(start.resident, start.probe, &verdict);
	set_ended(start.resident, &verdict);
	if (start.resident->gone)
		start.resident->gone(start.resident);
	return NULL;
}

static int start_thread(struct resident *resident, struct start *start, struct error *err)
{
	pthread_attr_t attr;
	int errnum = pthread_attr_init(&attr);

	if (errnum == 0)
		errnum = pthread_attr_setstacksize(&attr, STACK);
	if (errnum == 0)
		errnum = pthread_create(&resident->thread, &attr, live_thread, start);
	pthread_attr_destroy(&attr);
	return errnum == 0 ? 0 : error_set(err, ERROR_FAILED, errnum, "cannot start a thread for the box");
}

int resident_prepare(struct resident *resident, const struct spec *spec, const struct probe *probe, bool needed,
		     struct job_given *given, struct error *err)
{
	const struct supervise_io io = { .cancel_fd = resident->stop_fd, .stdin_fd = -1 };
	const struct engines engines = local_engines(probe);

	if (needed && build_prepare(spec, &engines, &io, &resident->build, err) < 0)
		return -1;
	*given = build_given(&resident->build);
	if (!needed)
		given->prepared = NULL;
	return 0;
}

static int launch_thread(struct resident *resident, struct pool *pool, const struct probe *probe, struct error *err)
{
	struct start start = { .resident = resident, .pool = pool, .probe = probe };

	if (start_thread(resident, &start, err) < 0)
		return -1;
	pthread_mutex_lock(&resident->lock);
	while (!resident->live && resident->state != RESIDENT_ENDED)
		pthread_cond_wait(&resident->changed, &resident->lock);
	pthread_mutex_unlock(&resident->lock);
	if (resident_state(resident) != RESIDENT_ENDED)
		return 0;
	if (resident->verdict.status == STATUS_ERROR) {
		*err = resident->failure;
		return -1;
	}
	return error_set(err, ERROR_FAILED, 0, "%s", resident->why);
}

int resident_launch(struct resident *resident, struct pool *pool, const struct probe *probe, struct error *err)
{
	if (launch_thread(resident, pool, probe, err) == 0)
		return 0;
	return error_prefix(err, "cannot start the %s", resident->noun);
}

int resident_await_ready(struct resident *resident, int fd, int (*hear)(struct resident *resident))
{
	const uint64_t until = clock_usec() + READY_MSEC * 1000ULL;
	int heard = 0;

	while (heard == 0 && clock_usec() < until) {
		struct pollfd fds[] = { { .fd = fd, .events = POLLIN },
					{ .fd = resident->ended_fd, .events = POLLIN } };

		if (poll(fds, ARRAY_SIZE(fds), READY_MSEC) < 0 && errno != EINTR)
			return -1;
		if (fds[0].revents)
			heard = hear(resident);
		else if (fds[1].revents)
			return -1;
	}
	return heard == 1 ? 0 : -1;
}

/* The last line of what its program complained about. */
static void read_complaint(struct resident *resident, char *line, size_t size)
{
	struct output complaint;
	char block[4096];
	ssize_t n;

	output_init(&complaint);
	while ((n = read(resident->output[1], block, sizeof(block))) > 0 &&
	       output_add(&complaint, block, (size_t)n) > 0 && complaint.bytes < COMPLAINT_MAX)
		;
	output_last_line(&complaint, line, size);
	output_free(&complaint);
}

int resident_explain_start(struct resident *resident, struct error *err)
{
	char line[256] = "", silent[64];

	snprintf(silent, sizeof(silent), "its %s did not begin", resident->program);
	resident_await_end(resident, SILENCE_MSEC);
	resident_end(resident, silent, NULL);
	resident_join(resident);
	read_complaint(resident, line, sizeof(line));
	if (resident->verdict.status == STATUS_ERROR)
		*err = resident->failure;
	else
		error_set(err, ERROR_FAILED, 0, "%s%s%s", resident->why, line[0] ? ": " : "", line);
	return error_prefix(err, "cannot start the %s", resident->noun);
}

bool resident_begin(struct resident *resident)
{
	bool runs;

	pthread_mutex_lock(&resident->lock);
	if (resident->state == RESIDENT_STARTING)
		resident->state = RESIDENT_RUNNING;
	runs = resident->state == RESIDENT_RUNNING;
	if (runs && resident->idle_ttl > 0)
		set_timer(resident, resident->idle_ttl);
	pthread_mutex_unlock(&resident->lock);
	return runs;
}

bool resident_await_end(struct resident *resident, int msec)
{
	struct pollfd ended = { .fd = resident->ended_fd, .events = POLLIN };
	int n;

	if (resident_state(resident) == RESIDENT_ENDED)
		return true;
	while ((n = poll(&ended, 1, msec < 0 ? END_MSEC : msec)) < 0 && errno == EINTR)
		;
	return n == 1;
}

void resident_join(struct resident *resident)
{
	pthread_t thread = resident->thread;

	if (!thread)
		return;
	resident->thread = 0;
	pthread_join(thread, NULL);
}

void resident_leave(struct resident *resident)
{
	pthread_detach(pthread_self());
	resident->thread = 0;
}

void resident_shrink(struct resident *resident)
{
	resident_join(resident);
	plan_free(&resident->plan);
	close_fd(&resident->job.channel);
	job_free(&resident->job);
	resident->job.channel = -1;
	build_free(&resident->build);
	close_fd(&resident->input);
	close_fd(&resident->output[0]);
	close_fd(&resident->output[1]);
	close_fd(&resident->stop_fd);
	close_fd(&resident->ended_fd);
	close_fd(&resident->turn_fd);
}

void resident_free(struct resident *resident)
{
	resident_shrink(resident);
	pthread_cond_destroy(&resident->changed);
	pthread_mutex_destroy(&resident->lock);
}

/* With the lock held, of a box that lives. What cannot be read stays as it was. */
static void read_usage(const struct resident *resident, struct resident_usage *usage)
{
	const struct box *box = resident->box;
	struct account_usage account;
	struct cgroup_usage group;
	uint64_t tasks;

	if (box->group && cgroup_usage_aside(box->group, &group, NULL) == 0) {
		usage->cpu_usec = group.cpu_usec > box->cpu_usec ? group.cpu_usec - box->cpu_usec : 0;
		usage->memory = group.memory_now;
		usage->memory_peak = group.memory_peak;
		usage->oom_kills = group.oom_kills;
		if (cgroup_tasks_now(box->group, &tasks) == 0)
			usage->pids = tasks;
	} else if (resident->account && account_sample(resident->account, &account) == 0) {
		usage->cpu_usec = account.cpu_usec;
		usage->memory = account.memory_now;
		usage->memory_peak = account.memory_peak;
		usage->pids = account.threads;
	}
}

void resident_usage(struct resident *resident, struct resident_usage *usage)
{
	*usage = (struct resident_usage){ 0 };
	pthread_mutex_lock(&resident->lock);
	usage->live = resident->live;
	if (resident->live) {
		read_usage(resident, usage);
	} else if (resident->state == RESIDENT_ENDED) {
		usage->cpu_usec = resident->verdict.cpu_usec;
		usage->memory_peak = resident->verdict.memory_peak;
	}
	pthread_mutex_unlock(&resident->lock);
}

void resident_handles(struct resident *resident, int handles[REPORT_FDS])
{
	pthread_mutex_lock(&resident->lock);
	for (int i = 0; i < REPORT_FDS; i++)
		handles[i] = resident->live && resident->box->handles[i] >= 0
				     ? fcntl(resident->box->handles[i], F_DUPFD_CLOEXEC, 3)
				     : -1;
	pthread_mutex_unlock(&resident->lock);
}

/* What its memory limit has left: of the group, or as the supervisor counts. With the lock of a live one held. */
static int measure_room(struct resident *resident, struct live_files *files)
{
	struct account_usage usage;

	files->memory = files->room = resident->job.limits.memory;
	if (resident->box->group) {
		files->group = cgroup_charge_fd(resident->box->group);
		return files->group < 0 ? -1 : cgroup_memory_room(resident->box->group, files->memory, &files->room);
	}
	if (!resident->account)
		return 0;
	if (account_sample(resident->account, &usage) < 0)
		return -1;
	files->room = usage.memory_now < files->memory ? files->memory - usage.memory_now : 0;
	return 0;
}

int resident_files(struct resident *resident, struct live_files *files, struct error *err)
{
	int done = 0;

	*files = (struct live_files)LIVE_FILES_NONE;
	pthread_mutex_lock(&resident->lock);
	files->own = resident->ids.own;
	files->uid = resident->ids.uid;
	files->gid = resident->ids.gid;
	/* The program cannot move what is above: /sandbox itself is read-only to it. */
	if (resident->live)
		files->sandbox =
			openat(resident->box->handles[REPORT_FD_OUTPUT], "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (resident->live && files->sandbox < 0)
		done = error_errno(err, "cannot open the %s's files", resident->noun);
	else if (resident->live && measure_room(resident, files) < 0)
		done = error_errno(err, "cannot measure the %s's memory", resident->noun);
	else if (!resident->live)
		done = 1;
	pthread_mutex_unlock(&resident->lock);
	if (done < 0)
		live_close(files);
	return done;
}

int resident_beside(struct resident *resident, struct beside *what, struct beside_begun *begun, struct error *err)
{
	int done = 1;

	what->job = &resident->job;
	pthread_mutex_lock(&resident->lock);
	/* While the lock is held nothing of the box is taken down, and calls that list places wait: not for longer than
	 * a fork. */
	if (resident->live) {
		what->box = resident->box;
		done = beside_start(what, begun, err);
		/* The program has joined the group, or never will. */
		if (resident->box->group)
			cgroup_entered(resident->box->group);
	}
	pthread_mutex_unlock(&resident->lock);
	return done;
}

static int await_turn(struct resident *resident, int cancel_fd, int msec)
{
	uint64_t until = clock_usec() + (uint64_t)(msec > 0 ? msec : 0) * 1000, one;

	for (;;) {
		struct pollfd fds[] = { { .fd = resident->turn_fd, .events = POLLIN },
					{ .fd = cancel_fd, .events = POLLIN },
					{ .fd = resident->ended_fd, .events = POLLIN } };
		uint64_t now = clock_usec();
		int left = msec < 0 ? -1 : now < until ? (int)((until - now) / 1000) + 1 : 0;

		if (poll(fds, ARRAY_SIZE(fds), left) < 0 && errno != EINTR)
			return -1;
		if (fds[2].revents) {
			errno = ESRCH;
			return -1;
		}
		if (fds[1].revents || (left == 0 && !fds[0].revents))
			return 0;
		if (fds[0].revents && read(resident->turn_fd, &one, sizeof(one)) == sizeof(one))
			return 1;
	}
}

/* With the lock held, by one who waits no more. A turn that was passed to those who wait, and that nobody of them took,
 * is free again. */
static void leave_waiting(struct resident *resident)
{
	uint64_t one;

	if (--resident->waiting > 0)
		return;
	if (read(resident->turn_fd, &one, sizeof(one)) == sizeof(one))
		resident->taken = false;
	close_fd(&resident->turn_fd);
}

/* With the lock held: 1: it was free. 0: wait for it. -1 with errno: there is no waiting. */
static int take_or_wait(struct resident *resident)
{
	if (!resident->taken) {
		resident->taken = true;
		set_timer(resident, 0);
		return 1;
	}
	if (resident->waiting >= RESIDENT_WAITING_MAX) {
		errno = EBUSY;
		return -1;
	}
	if (resident->turn_fd < 0)
		resident->turn_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
	if (resident->turn_fd < 0)
		return -1;
	resident->waiting++;
	return 0;
}

/* A copy of what `stopping` says. */
static bool is_stopping(struct resident *resident)
{
	bool stopping;

	pthread_mutex_lock(&resident->lock);
	stopping = resident->stopping;
	pthread_mutex_unlock(&resident->lock);
	return stopping;
}

/* As resident_take_turn(), of one that may be about to end. */
static int take_turn(struct resident *resident, int cancel_fd, int msec)
{
	int got, errnum;

	pthread_mutex_lock(&resident->lock);
	got = take_or_wait(resident);
	errnum = errno;
	pthread_mutex_unlock(&resident->lock);
	errno = errnum;
	if (got != 0)
		return got;
	got = await_turn(resident, cancel_fd, msec);
	errnum = errno;
	pthread_mutex_lock(&resident->lock);
	leave_waiting(resident);
	if (got == 1)
		set_timer(resident, 0);
	pthread_mutex_unlock(&resident->lock);
	errno = errnum;
	return got;
}

int resident_take_turn(struct resident *resident, int cancel_fd, int msec)
{
	int got = 0;

	if (resident_state(resident) != RESIDENT_ENDED)
		got = take_turn(resident, cancel_fd, msec);
	else
		errno = ESRCH, got = -1;
	if (got != 1 || !is_stopping(resident))
		return got;
	/* Nothing is begun in a box that is being ended. */
	resident_give_turn(resident);
	resident_await_end(resident, -1);
	errno = ESRCH;
	return -1;
}

void resident_give_turn(struct resident *resident)
{
	pthread_mutex_lock(&resident->lock);
	if (resident->idle_ttl > 0)
		set_timer(resident, resident->idle_ttl);
	if (resident->waiting > 0)
		raise_event(resident->turn_fd);
	else
		resident->taken = false;
	pthread_mutex_unlock(&resident->lock);
}
