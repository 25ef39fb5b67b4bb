/*
 * The list of containers: who may see which, how many there may be, and when
 * they are forgotten.
 *
 * One lock is for the list and for who holds an entry of it; it is never held
 * while anything is waited for. Who takes an entry off the list waits for its
 * thread and for those who hold it, and frees it.
 */
#include "live/container_parts.h"

#include "base/clock.h"
#include "base/own.h"
#include "policy/in_force.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

enum {
	STOP_MSEC = 60000 /* for a killed box to be gone; its thread has bounds of its own that are shorter */
};

struct containers {
	const struct probe *probe;    /* of this host */
	struct container_watch watch; /* who is told of ends */
	pthread_mutex_t lock;         /* for all below */
	pthread_cond_t left;          /* somebody let go of an entry, or left a call */
	struct container *list;       /* newest first */
	size_t callers;               /* threads in a call */
	bool closing;                 /* no new ones */
};

int containers_open(const struct probe *probe, const struct container_watch *watch, struct containers **out,
		    struct error *err)
{
	struct containers *containers = calloc(1, sizeof(*containers));

	if (!containers)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot keep containers");
	containers->probe = probe;
	if (watch)
		containers->watch = *watch;
	pthread_mutex_init(&containers->lock, NULL);
	pthread_cond_init(&containers->left, NULL);
	*out = containers;
	return 0;
}

static int enter(struct containers *containers, struct error *err)
{
	bool closing;

	pthread_mutex_lock(&containers->lock);
	closing = containers->closing;
	containers->callers += !closing;
	pthread_mutex_unlock(&containers->lock);
	return closing ? error_set(err, ERROR_FAILED, ECANCELED, "the service is ending") : 0;
}

static void leave(struct containers *containers)
{
	pthread_mutex_lock(&containers->lock);
	containers->callers--;
	pthread_cond_broadcast(&containers->left);
	pthread_mutex_unlock(&containers->lock);
}

/* With the lock held, which is let go of meanwhile. It has ended, or is about to. */
static void forget(struct containers *containers, struct container *container)
{
	struct container **at = &containers->list;

	while (*at && *at != container)
		at = &(*at)->next;
	if (!*at)
		return; /* another does */
	*at = container->next;
	while (container->users > 0)
		pthread_cond_wait(&containers->left, &containers->lock);
	pthread_mutex_unlock(&containers->lock);
	container_free(container);
	pthread_mutex_lock(&containers->lock);
}

static bool is_visible(const struct container *container, const char *owner)
{
	return !owner || strcmp(container->owner, owner) == 0;
}

/* With the lock held: the oldest that has ended and may go, or NULL; *kept counts those that stay. Nobody holds it, so
 * that forgetting it waits for nothing but a thread that is done. */
static struct container *find_ended(struct containers *containers, const char *owner, bool all, size_t *kept)
{
	struct container *oldest = NULL;

	*kept = 0;
	for (struct container *c = containers->list; c; c = c->next) {
		if (!is_visible(c, owner) || c->users > 0 || container_state(c) != CONTAINER_ENDED)
			continue;
		if (all || c->auto_cleanup)
			return c;
		++*kept;
		oldest = c;
	}
	return *kept > CONTAINERS_KEPT_MAX ? oldest : NULL;
}

/* With the lock held. How many went. */
static size_t sweep(struct containers *containers, const char *owner, bool all)
{
	struct container *ended;
	size_t count = 0, kept;

	while ((ended = find_ended(containers, owner, all, &kept))) {
		forget(containers, ended);
		count++;
	}
	for (struct container *c = containers->list; c; c = c->next)
		if (c->users == 0 && container_state(c) == CONTAINER_ENDED)
			container_shrink(c);
	return count;
}

void containers_close(struct containers *containers)
{
	if (!containers)
		return;
	pthread_mutex_lock(&containers->lock);
	containers->closing = true;
	for (struct container *c = containers->list; c; c = c->next)
		container_end(c, "the service ended");
	while (containers->callers > 0)
		pthread_cond_wait(&containers->left, &containers->lock);
	while (containers->list) {
		/* One that was begun meanwhile has not heard of it. */
		container_end(containers->list, "the service ended");
		forget(containers, containers->list);
	}
	pthread_mutex_unlock(&containers->lock);
	pthread_cond_destroy(&containers->left);
	pthread_mutex_destroy(&containers->lock);
	free(containers);
}

static int check_start(const struct spec *spec, const struct container_options *options, struct error *err)
{
	struct spec checked = *spec;

	if (!(options->ttl > 0) || options->ttl > CONTAINERS_TTL_MAX)
		return error_usage(err, "ttl: expected seconds above 0 and at most %.0f", CONTAINERS_TTL_MAX);
	/* Its code comes later. */
	if (checked.runtime && !checked.code && !spec_gives(&checked, spec_entry(&checked)))
		checked.code = "";
	return spec_check(&checked, err);
}

static struct container *container_new(const struct spec *spec, const struct container_options *options)
{
	struct container *container = calloc(1, sizeof(*container));

	if (!container)
		return NULL;
	container->profile = arena_string(&container->arena, options->profile ? options->profile : "");
	container->owner = arena_string(&container->arena, options->owner ? options->owner : "");
	container->box_profile = spec->profile ? arena_string(&container->arena, spec->profile) : NULL;
	if (!container->profile || !container->owner || (spec->profile && !container->box_profile)) {
		arena_free(&container->arena);
		free(container);
		return NULL;
	}
	container->runtime = spec->runtime;
	container->read_only = spec->read_only;
	container->policy = spec->policy;
	memcpy(container->weaker, spec->weaker, sizeof(container->weaker));
	container->auto_cleanup = options->auto_cleanup;
	container->asks = options->asks;
	container->ttl = options->ttl;
	container->limits = limits_settle_place(&spec->limits, &spec->runtime->limits);
	container->build = (struct build)BUILD_INIT;
	container->channel.to = container->channel.from = -1;
	container->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	container->ended_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	container->turn_fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
	for (int i = 0; i < REPORT_FDS; i++)
		container->handles[i] = -1;
	gettimeofday(&container->started, NULL);
	container->asked_usec = clock_usec();
	result_make_id(container->id);
	pthread_mutex_init(&container->lock, NULL);
	pthread_cond_init(&container->changed, NULL);
	if (container->stop_fd >= 0 && container->ended_fd >= 0 && container->turn_fd >= 0)
		return container;
	container_free(container);
	return NULL;
}

/* With the lock held. owner NULL: of all. */
static size_t count_running(struct containers *containers, const char *owner)
{
	size_t count = 0;

	for (struct container *c = containers->list; c; c = c->next)
		count += is_visible(c, owner) && container_state(c) != CONTAINER_ENDED;
	return count;
}

/* On the list from the beginning, so that it counts; nobody finds it before it runs. */
static int add(struct containers *containers, struct container *container, const struct container_options *options,
	       struct error *err)
{
	size_t running, own;
	bool room, room_own;

	pthread_mutex_lock(&containers->lock);
	sweep(containers, NULL, false);
	running = count_running(containers, NULL);
	own = count_running(containers, container->owner);
	room = options->most == 0 || running < options->most;
	room_own = options->most_own == 0 || own < options->most_own;
	if (room && room_own) {
		container->watch = containers->watch;
		container->users = 1;
		container->next = containers->list;
		containers->list = container;
		pthread_mutex_unlock(&containers->lock);
		return 0;
	}
	pthread_mutex_unlock(&containers->lock);
	running = room ? own : running;
	error_usage(err, "max_concurrent: %zu container%s%s already, as many as may; stop one first", running,
		    room ? (running == 1 ? " of this token" : "s of this token") : (running == 1 ? "" : "s"),
		    running == 1 ? " runs" : " run");
	err->errnum = EBUSY;
	return -1;
}

static void release(struct containers *containers, struct container *container)
{
	pthread_mutex_lock(&containers->lock);
	container->users--;
	pthread_cond_broadcast(&containers->left);
	pthread_mutex_unlock(&containers->lock);
}

static int start(struct containers *containers, const struct spec *spec, const struct container_options *options,
		 char id[RESULT_ID], struct error *err)
{
	struct container *container;
	int done = check_start(spec, options, err);

	if (done < 0)
		return -1;
	container = container_new(spec, options);
	if (!container)
		return error_errno(err, "cannot keep another container");
	if (add(containers, container, options, err) < 0) {
		container_free(container);
		return -1;
	}
	done = container_launch(container, containers->probe, spec, err);
	memcpy(id, container->id, sizeof(container->id));
	pthread_mutex_lock(&containers->lock);
	container->users--;
	if (done < 0)
		forget(containers, container);
	pthread_cond_broadcast(&containers->left);
	pthread_mutex_unlock(&containers->lock);
	return done;
}

int containers_start(struct containers *containers, const struct spec *spec, const struct container_options *options,
		     char id[RESULT_ID], struct error *err)
{
	int done;

	if (spec->rows > 0)
		return error_usage(err, "tty: programs in a container have none; leave it out");
	if (enter(containers, err) < 0)
		return -1;
	done = start(containers, spec, options, id, err);
	leave(containers);
	return done;
}

/* Held until release(); NULL with the error set. */
static struct container *find(struct containers *containers, const char *id, const char *owner, struct error *err)
{
	struct container *found = NULL;

	pthread_mutex_lock(&containers->lock);
	sweep(containers, NULL, false);
	for (struct container *c = containers->list; c && !found; c = c->next)
		if (strcmp(c->id, id) == 0 && is_visible(c, owner) && container_state(c) != CONTAINER_STARTING)
			found = c;
	if (found)
		found->users++;
	pthread_mutex_unlock(&containers->lock);
	if (!found) {
		error_usage(err, "id: there is no container \"%.64s\"", id);
		err->errnum = ENOENT;
	}
	return found;
}

int containers_exec(struct containers *containers, const char *id, const char *owner, const struct spec *spec,
		    const char *command, const struct run_ticket *ticket, const struct supervise_io *io,
		    struct result **out, struct error *err)
{
	struct container *container;
	int done = -1;

	if (enter(containers, err) < 0)
		return -1;
	container = find(containers, id, owner, err);
	if (container) {
		done = container_exec(container, containers->probe, spec, command, ticket, io, out, err);
		release(containers, container);
	}
	leave(containers);
	return done;
}

bool containers_ask(struct containers *containers, const char *id, const char *owner, const char *in_force)
{
	bool asks = false;

	pthread_mutex_lock(&containers->lock);
	for (const struct container *c = containers->list; c && !asks; c = c->next)
		asks = strcmp(c->id, id) == 0 && is_visible(c, owner) &&
		       (c->asks || in_force_confirms(in_force, c->profile));
	pthread_mutex_unlock(&containers->lock);
	return asks;
}

size_t containers_end(struct containers *containers, const char *owner, const char *why)
{
	size_t count = 0;

	pthread_mutex_lock(&containers->lock);
	for (struct container *c = containers->list; c; c = c->next) {
		if (!is_visible(c, owner) || container_state(c) == CONTAINER_ENDED)
			continue;
		container_end(c, why);
		count++;
	}
	pthread_mutex_unlock(&containers->lock);
	return count;
}

int containers_stop(struct containers *containers, const char *id, const char *owner, const char *by, struct error *err)
{
	struct container *container;
	struct pollfd ended = { .events = POLLIN };
	int done = -1;

	if (enter(containers, err) < 0)
		return -1;
	container = find(containers, id, owner, err);
	if (container && container_state(container) == CONTAINER_ENDED) {
		release(containers, container);
		done = 0;
	} else if (container) {
		container_end_by(container, "it was stopped", by);
		ended.fd = container->ended_fd;
		while ((done = poll(&ended, 1, STOP_MSEC)) < 0 && errno == EINTR)
			;
		done = done == 1 ? 0 : error_set(err, ERROR_FAILED, 0, "the container %s did not end", container->id);
		release(containers, container);
		pthread_mutex_lock(&containers->lock);
		sweep(containers, NULL, false);
		pthread_mutex_unlock(&containers->lock);
	}
	leave(containers);
	return done;
}

size_t containers_running(struct containers *containers)
{
	size_t count;

	pthread_mutex_lock(&containers->lock);
	count = count_running(containers, NULL);
	pthread_mutex_unlock(&containers->lock);
	return count;
}

static json_t *timestamp(const struct timeval *time)
{
	char day[32], text[48];
	struct tm parts;

	gmtime_r(&time->tv_sec, &parts);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &parts);
	snprintf(text, sizeof(text), "%s.%03dZ", day, (int)(time->tv_usec / 1000));
	return json_string(text);
}

/* A whole number as one: it is what start was told, and answered. */
static json_t *seconds(double value)
{
	return value == (double)(json_int_t)value ? json_integer((json_int_t)value) : json_real(value);
}

static json_t *container_json(struct container *container)
{
	struct container_usage usage;
	double percent = 0;
	char why[sizeof(container->why)];
	uint64_t now = clock_usec(), execs;
	bool ended;

	container_usage(container, &usage);
	pthread_mutex_lock(&container->lock);
	ended = container->state == CONTAINER_ENDED;
	memcpy(why, container->why, sizeof(why));
	execs = container->execs;
	if (!ended && now > container->asked_usec && usage.cpu_usec > container->asked_cpu_usec)
		percent = 100.0 * (double)(usage.cpu_usec - container->asked_cpu_usec) /
			  (double)(now - container->asked_usec);
	container->asked_usec = now;
	container->asked_cpu_usec = usage.cpu_usec;
	pthread_mutex_unlock(&container->lock);
	return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:I, s:f, s:f, s:I, s:I, s:I}", "id", container->id,
			 "container", container->profile, "language", container->runtime->name, "status",
			 ended ? "exited" : "running", "reason", ended ? json_string(why) : json_null(), "started",
			 timestamp(&container->started), "ttl", seconds(container->ttl), "execs", (json_int_t)execs,
			 "cpu_time", (double)usage.cpu_usec / 1e6, "cpu_percent", round(percent * 10) / 10,
			 "memory_used", (json_int_t)usage.memory, "memory_limit", (json_int_t)container->limits.memory,
			 "pids", (json_int_t)(usage.pids > 2 ? usage.pids - 2 : 0));
}

/* Those that are visible, held; how many. The caller releases and frees. */
static size_t hold_visible(struct containers *containers, const char *owner, struct container ***out)
{
	size_t count = 0, n = 0;

	pthread_mutex_lock(&containers->lock);
	sweep(containers, NULL, false);
	for (struct container *c = containers->list; c; c = c->next)
		count++;
	*out = calloc(count + 1, sizeof(**out));
	for (struct container *c = containers->list; *out && c; c = c->next) {
		if (!is_visible(c, owner) || container_state(c) == CONTAINER_STARTING)
			continue;
		c->users++;
		(*out)[n++] = c;
	}
	pthread_mutex_unlock(&containers->lock);
	return n;
}

int containers_status(struct containers *containers, const char *owner, char **json, struct error *err)
{
	struct container **list = NULL;
	json_t *array, *root;
	size_t count;

	if (enter(containers, err) < 0)
		return -1;
	count = hold_visible(containers, owner, &list);
	array = json_array();
	for (size_t i = count; i > 0; i--) {
		json_array_append_new(array, container_json(list[i - 1]));
		release(containers, list[i - 1]);
	}
	root = list ? json_pack("{s:o}", "containers", array) : NULL;
	free(list);
	*json = root ? json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
	json_decref(root);
	leave(containers);
	return *json ? 0 : error_set(err, ERROR_FAILED, ENOMEM, "cannot tell of the containers");
}

int containers_cleanup(struct containers *containers, const char *owner, size_t *removed, struct error *err)
{
	if (enter(containers, err) < 0)
		return -1;
	pthread_mutex_lock(&containers->lock);
	*removed = sweep(containers, owner, true);
	pthread_mutex_unlock(&containers->lock);
	leave(containers);
	return 0;
}
