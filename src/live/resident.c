#include "live/resident.h"
#include "live/live_files.h"

#include "base/clock.h"
#include "base/own.h"

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
	STACK = 256 << 10,     /* bytes of a thread's stack, as much as making a box needs */
	READY_MSEC = 30000,    /* for a program to say that it is ready; it takes milliseconds, an interpreter's start
				* included */
	SILENCE_MSEC = 200,    /* for the box of a program that did not begin to end by itself, which tells why */
	COMPLAINT_MAX = 65536, /* bytes of such a program's stderr that are read */
	END_MSEC = 60000,      /* for a killed box to be gone; the bounds of its thread are shorter */
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

/* With the lock held: ends it in so many seconds; 0: never. Does not revoke resident_end(). */
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

/* On the resident's thread. */
static void set_live(struct resident *resident, bool live)
{
	pthread_mutex_lock(&resident->lock);
	resident->live = live;
	pthread_cond_broadcast(&resident->changed);
	pthread_mutex_unlock(&resident->lock);
}

static void on_started(void *userdata)
{
	set_live(userdata, true);
}

/* The reason from the verdict, which counts if no other was given before. */
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
	/* Before callers see that it has ended: when a stop returns, the end has been recorded. */
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
	struct resident *resident;     /* of the thread */
	const struct engines *engines; /* to make the box */
};

static void set_failure(struct verdict *verdict, const struct error *err)
{
	verdict->status = STATUS_ERROR;
	verdict->failure = *err;
}

/* Runs in a place of this engine until the end. 1: the engine has none, or the place was unusable; nothing ran. */
static int live_in(struct resident *resident, size_t index, struct verdict *verdict)
{
	const struct engine *engine = resident->engines->open[index].engine;
	const struct engine_io io = { .on_started = on_started,
				      .userdata = resident,
				      .cancel_fd = resident->stop_fd,
				      .stdin_fd = -1,
				      .network = &resident->network->open };
	struct output outputs[2];
	struct error err;
	int done = engine->place_open(resident->engines->open[index].self, &resident->job, &resident->place, &err);

	if (done < 0)
		set_failure(verdict, &err);
	if (done != 0)
		return done;
	if (live_network_open(resident->network, resident->engines, resident->place, &resident->job, &err) < 0) {
		set_failure(verdict, &err);
		engine->place_close(resident->place, &err);
		return -1;
	}
	resident->warm = engine->can & ENGINE_IS_WARM;
	engine->place_take_streams(resident->place, &resident->input, resident->output);
	output_init(&outputs[0]);
	output_init(&outputs[1]);
	done = engine->place_watch(resident->place, &resident->job, &io, outputs, verdict);
	output_free(&outputs[0]);
	output_free(&outputs[1]);
	/* Usage and files cannot be read from now on. */
	set_live(resident, false);
	live_network_end(resident->network);
	if (engine->place_close(resident->place, &err) < 0)
		set_failure(verdict, &err);
	if (done == 1) {
		close_fd(&resident->input);
		close_fd(&resident->output[0]);
		close_fd(&resident->output[1]);
	}
	return done;
}

/* `argument` is the starter's, and is valid until the resident is live or has ended. */
static void *live_thread(void *argument)
{
	const struct start start = *(struct start *)argument;
	const struct engines *engines = start.engines;
	struct verdict verdict = { .status = STATUS_ERROR };
	int done = 1;

	for (size_t i = 0; i < engines->count && done == 1; i++)
		if (engine_may(engines->open[i].engine, &start.resident->job))
			done = live_in(start.resident, i, &verdict);
	if (done == 1)
		error_set(&verdict.failure, ERROR_FAILED, 0, "no engine has a place that stays");
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

int resident_prepare(struct resident *resident, const struct spec *spec, const struct engines *engines, bool needed,
		     struct job_given *given, struct error *err)
{
	const struct engine_io io = { .cancel_fd = resident->stop_fd, .stdin_fd = -1 };

	if (needed && build_prepare(spec, engines, &io, &resident->build, err) < 0)
		return -1;
	*given = build_given(&resident->build);
	if (!needed)
		given->prepared = NULL;
	return 0;
}

static int launch_thread(struct resident *resident, const struct engines *engines, struct error *err)
{
	struct start start = { .resident = resident, .engines = engines };

	resident->engines = engines;
	if (!resident->network)
		resident->network = live_network_new();
	if (!resident->network)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the network");
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

int resident_launch(struct resident *resident, const struct engines *engines, struct error *err)
{
	if (launch_thread(resident, engines, err) == 0)
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

/* The last line of its program's stderr. */
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
	live_network_free(resident->network);
	resident->network = NULL;
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

bool resident_usage(struct resident *resident, struct engine_usage *usage)
{
	bool live;

	*usage = (struct engine_usage){ 0 };
	pthread_mutex_lock(&resident->lock);
	live = resident->live;
	if (live) {
		resident->place->engine->place_usage(resident->place, usage);
	} else if (resident->state == RESIDENT_ENDED) {
		usage->cpu_usec = resident->verdict.cpu_usec;
		usage->memory_peak = resident->verdict.memory_peak;
	}
	pthread_mutex_unlock(&resident->lock);
	return live;
}

int resident_describe(struct resident *resident, struct result *result, struct error *err)
{
	int done;

	pthread_mutex_lock(&resident->lock);
	if (resident->live) {
		result->engine = resident->place->engine->runtime;
		done = resident->place->engine->place_describe(resident->place, result, err);
	} else {
		done = error_set(err, ERROR_FAILED, 0, "%s", resident->why);
	}
	pthread_mutex_unlock(&resident->lock);
	return done;
}

void resident_handles(struct resident *resident, int handles[REPORT_FDS])
{
	struct engine_files files = { 0 };

	pthread_mutex_lock(&resident->lock);
	if (resident->live)
		resident->place->engine->place_files(resident->place, &files);
	for (int i = 0; i < REPORT_FDS; i++)
		handles[i] = files.handles && files.handles[i] >= 0 ? fcntl(files.handles[i], F_DUPFD_CLOEXEC, 3) : -1;
	pthread_mutex_unlock(&resident->lock);
}

/* With the lock of a live one held. */
static int open_files(struct resident *resident, struct live_files *files, struct error *err)
{
	const struct engine *engine = resident->place->engine;
	struct engine_files place;

	engine->place_files(resident->place, &place);
	files->own = place.own;
	files->uid = place.uid;
	files->gid = place.gid;
	/* The program cannot rename /sandbox/output: /sandbox itself is read-only to it. */
	files->sandbox = openat(place.handles[REPORT_FD_OUTPUT], "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (files->sandbox < 0)
		return error_errno(err, "cannot open the %s's files", resident->noun);
	files->memory = resident->job.limits.memory;
	if (engine->place_room(resident->place, files->memory, &files->room, &files->group) < 0)
		return error_errno(err, "cannot measure the %s's memory", resident->noun);
	return 0;
}

int resident_files(struct resident *resident, struct live_files *files, struct error *err)
{
	int done;

	*files = (struct live_files)LIVE_FILES_NONE;
	pthread_mutex_lock(&resident->lock);
	done = resident->live ? open_files(resident, files, err) : 1;
	pthread_mutex_unlock(&resident->lock);
	if (done < 0)
		live_close(files);
	return done;
}

int resident_exec(struct resident *resident, const struct engine_exec *what, struct engine_execution *begun,
		  struct error *err)
{
	struct engine_exec exec = *what;
	int done = 1;

	exec.job = &resident->job;
	pthread_mutex_lock(&resident->lock);
	/* While the lock is held the box is not taken down, and calls that list places wait, but only for a fork. */
	if (resident->live)
		done = resident->place->engine->place_exec(resident->place, &exec, begun, err);
	pthread_mutex_unlock(&resident->lock);
	return done;
}

void resident_network_mark(struct resident *resident, const struct engine_io *io, struct live_network_mark *mark)
{
	pthread_mutex_lock(&resident->lock);
	live_network_mark(resident->network, resident->engines, resident->live ? resident->place : NULL, io, mark);
	pthread_mutex_unlock(&resident->lock);
}

void resident_network_fill(struct resident *resident, const struct live_network_mark *mark, struct result *result)
{
	live_network_fill(resident->network, mark, result);
}

int resident_network_change(struct resident *resident, int inside, const struct net_policy *policy, struct error *err)
{
	int done = 1;

	pthread_mutex_lock(&resident->lock);
	if (resident->live)
		done = live_network_change(resident->network, resident->engines, resident->place, inside, policy, err);
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

/* With the lock held, by a caller that waits no more. A turn that was passed to those that wait, and that none of them
 * took, is free again. */
static void leave_waiting(struct resident *resident)
{
	uint64_t one;

	if (--resident->waiting > 0)
		return;
	if (read(resident->turn_fd, &one, sizeof(one)) == sizeof(one))
		resident->taken = false;
	close_fd(&resident->turn_fd);
}

/* With the lock held. 1: the caller has the turn. 0: it has to wait. -1 with errno: it cannot wait. */
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

/* A copy of `stopping`. */
static bool is_stopping(struct resident *resident)
{
	bool stopping;

	pthread_mutex_lock(&resident->lock);
	stopping = resident->stopping;
	pthread_mutex_unlock(&resident->lock);
	return stopping;
}

/* As resident_take_turn(), also while it is being ended. */
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
