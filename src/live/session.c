/*
 * The list of sessions: who may see which, how many there may be, and when they
 * are forgotten.
 *
 * One lock is for the list and for who holds an entry of it; it is never held
 * while anything is waited for. Who takes an entry off the list waits for its
 * thread and for those who hold it, and frees it. Of one that has ended only what
 * can be told of it is kept: the rest goes with its thread, or with the last who
 * holds it, whichever comes later.
 */
#include "live/session_parts.h"
#include "live/watch.h"

#include "base/own.h"
#include "policy/in_force.h"
#include "engine/warm/pool.h"
#include "language/version.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
	FILES_KEPT = 256 /* descriptors that sessions leave to runs, at the least */
};

struct sessions {
	struct pool *pool;          /* where boxes come from */
	struct session_watch watch; /* who is told of ends */
	pthread_mutex_t lock;       /* for all below */
	pthread_cond_t left;        /* somebody let go of an entry, or left a call */
	struct session *list;       /* newest first */
	size_t callers;             /* threads in a call */
	bool closing;               /* no new ones */
};

int sessions_open(struct pool *pool, const struct session_watch *watch, struct sessions **out, struct error *err)
{
	struct sessions *sessions = calloc(1, sizeof(*sessions));

	if (!sessions)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot keep sessions");
	sessions->pool = pool;
	if (watch)
		sessions->watch = *watch;
	pthread_mutex_init(&sessions->lock, NULL);
	pthread_cond_init(&sessions->left, NULL);
	*out = sessions;
	return 0;
}

static int enter(struct sessions *sessions, struct error *err)
{
	bool closing;

	pthread_mutex_lock(&sessions->lock);
	closing = sessions->closing;
	sessions->callers += !closing;
	pthread_mutex_unlock(&sessions->lock);
	return closing ? error_set(err, ERROR_FAILED, ECANCELED, "the service is ending") : 0;
}

static void leave(struct sessions *sessions)
{
	pthread_mutex_lock(&sessions->lock);
	sessions->callers--;
	pthread_cond_broadcast(&sessions->left);
	pthread_mutex_unlock(&sessions->lock);
}

/* With the lock held, which is let go of meanwhile. It has ended, or is about to. */
static void forget(struct sessions *sessions, struct session *session)
{
	struct session **at = &sessions->list;

	while (*at && *at != session)
		at = &(*at)->next;
	if (!*at)
		return; /* another does */
	*at = session->next;
	while (session->users > 0 || (session->home.thread && !session->gone))
		pthread_cond_wait(&sessions->left, &sessions->lock);
	pthread_mutex_unlock(&sessions->lock);
	session_free(session);
	pthread_mutex_lock(&sessions->lock);
}

static bool is_visible(const struct session *session, const char *owner)
{
	return !owner || strcmp(session->owner, owner) == 0;
}

static bool has_ended(struct session *session)
{
	return resident_state(&session->home) == RESIDENT_ENDED;
}

/* With the lock held: of those that have ended, the oldest beyond what is told of go. Nobody holds them, not even their
 * threads, so that forgetting one waits for nothing. */
static void sweep(struct sessions *sessions)
{
	struct session *oldest;
	size_t kept;

	do {
		oldest = NULL;
		kept = 0;
		for (struct session *s = sessions->list; s; s = s->next) {
			if (s->users > 0 || !s->gone)
				continue;
			kept++;
			oldest = s;
		}
		if (kept > SESSIONS_KEPT_MAX)
			forget(sessions, oldest);
	} while (kept > SESSIONS_KEPT_MAX);
}

static void tidy(struct sessions *sessions)
{
	pthread_mutex_lock(&sessions->lock);
	sweep(sessions);
	pthread_mutex_unlock(&sessions->lock);
}

void sessions_close(struct sessions *sessions)
{
	if (!sessions)
		return;
	pthread_mutex_lock(&sessions->lock);
	sessions->closing = true;
	for (struct session *s = sessions->list; s; s = s->next)
		resident_end(&s->home, "the service ended", NULL);
	while (sessions->callers > 0)
		pthread_cond_wait(&sessions->left, &sessions->lock);
	while (sessions->list) {
		/* One that was begun meanwhile has not heard of it. */
		resident_end(&sessions->list->home, "the service ended", NULL);
		forget(sessions, sessions->list);
	}
	pthread_mutex_unlock(&sessions->lock);
	pthread_cond_destroy(&sessions->left);
	pthread_mutex_destroy(&sessions->lock);
	free(sessions);
}

/* On the session's thread. */
static void tell_end(struct resident *home)
{
	const struct session *session = (const struct session *)home;
	const struct session_ended ended = {
		.id = session->id,
		.owner = session->owner,
		.language = session->runtime->name,
		.why = home->why,
		.by = home->by[0] ? home->by : "service",
	};

	if (session->watch.ended)
		session->watch.ended(&ended, session->watch.userdata);
}

/* On the session's thread, which needs it no more. */
static void on_gone(struct resident *home)
{
	struct session *session = (struct session *)home;
	struct sessions *sessions = session->sessions;

	pthread_mutex_lock(&sessions->lock);
	session->gone = true;
	if (session->users == 0) {
		resident_leave(home);
		session_shrink(session);
	}
	pthread_cond_broadcast(&sessions->left);
	pthread_mutex_unlock(&sessions->lock);
}

static int check_time(const char *name, double seconds, struct error *err)
{
	if (seconds >= 1 && seconds <= SESSIONS_TTL_MAX)
		return 0;
	return error_usage(err, "%s: expected seconds from 1 to %.0f", name, SESSIONS_TTL_MAX);
}

static int check_start(const struct spec *spec, double ttl, double idle_ttl, struct error *err)
{
	const struct runtime *runtime = spec->runtime;
	struct spec checked = *spec;

	if (!runtime)
		return error_usage(err, "language: it is not set; name one, such as python");
	if (!runtime->session.step.argv) {
		error_usage(err, "language: %s has no sessions; run programs of it one by one", runtime->display);
		err->errnum = ENOTSUP;
		return -1;
	}
	if (spec->code)
		return error_usage(err, "code: a session starts without; send it as the first cell");
	if (check_time("ttl", ttl, err) < 0 || check_time("idle_ttl", idle_ttl, err) < 0)
		return -1;
	checked.code = "";
	return spec_check(&checked, err);
}

/* The times are settled. */
static struct session *session_new(struct sessions *sessions, const struct session_options *options)
{
	const char *owner = options->owner, *name = options->name, *profile = options->profile;

	struct session *session = calloc(1, sizeof(*session));

	if (!session)
		return NULL;
	session->driver_pidfd = session->input_fd = session->channel = session->interrupt_fd = -1;
	spec_init(&session->spec);
	if (resident_init(&session->home) < 0 ||
	    !(session->owner = arena_string(&session->arena, owner ? owner : "")) ||
	    !(session->name = arena_string(&session->arena, name ? name : "")) ||
	    !(session->profile = arena_string(&session->arena, profile ? profile : ""))) {
		session_free(session);
		return NULL;
	}
	session->sessions = sessions;
	session->watch = sessions->watch;
	session->home.program = "driver";
	session->home.ended = tell_end;
	session->home.gone = on_gone;
	session->home.ttl = options->ttl;
	session->home.idle_ttl = options->idle_ttl;
	session->asks = options->asks;
	gettimeofday(&session->created, NULL);
	session->used = session->created;
	result_make_id(session->id);
	return session;
}

/* Gives it the spec, which is empty afterwards. */
static void give_spec(struct session *session, struct spec *spec)
{
	session->spec = *spec;
	spec_init(spec);
	session->runtime = session->spec.runtime;
	session->limits = limits_settle_place(&session->spec.limits, &session->runtime->limits);
}

/* With the lock held. owner NULL: of all. */
static size_t count_living(struct sessions *sessions, const char *owner)
{
	size_t count = 0;

	for (struct session *s = sessions->list; s; s = s->next)
		count += is_visible(s, owner) && !has_ended(s);
	return count;
}

/* Runs need descriptors as well. The kernel gives the lowest number that is free, so that this one tells how many are
 * in use. */
static bool leaves_files(const struct session *session)
{
	struct rlimit files;
	rlim_t kept;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return false;
	kept = files.rlim_cur / 64 > FILES_KEPT ? files.rlim_cur / 64 : FILES_KEPT;
	return (rlim_t)session->home.stop_fd + kept < files.rlim_cur;
}

/* The caller's session that lives and is called so, or NULL. */
static struct session *namesake(struct sessions *sessions, const char *owner, const char *name)
{
	for (struct session *s = sessions->list; s && *name; s = s->next)
		if (!has_ended(s) && strcmp(s->owner, owner) == 0 && strcmp(s->name, name) == 0)
			return s;
	return NULL;
}

/* On the list from the beginning, so that it counts; nobody finds it before it runs. */
static int add(struct sessions *sessions, struct session *session, unsigned most_own, struct error *err)
{
	size_t own, all;
	const struct session *other;
	bool own_room, room, files;
	char taken[RESULT_ID] = "";

	pthread_mutex_lock(&sessions->lock);
	other = namesake(sessions, session->owner, session->name);
	if (other)
		memcpy(taken, other->id, sizeof(taken));
	own = count_living(sessions, session->owner);
	all = count_living(sessions, NULL);
	own_room = most_own == 0 || own < most_own;
	files = leaves_files(session);
	room = !other && all < SESSIONS_MAX && own_room && files;
	if (room) {
		session->users = 1;
		session->next = sessions->list;
		sessions->list = session;
	}
	pthread_mutex_unlock(&sessions->lock);
	if (room)
		return 0;
	if (*taken)
		return error_usage(
			err, "name: the session %s is called \"%s\" already; end it first, or choose another name",
			taken, session->name);
	if (!own_room)
		error_usage(err, "session: this caller has %zu sessions, as many as it may; end one first", own);
	else if (files)
		error_usage(
			err,
			"session: there are %zu sessions, %zu of them of this caller, as many as may be; end one first",
			all, own);
	else
		error_usage(err,
			    "session: the service has too few file descriptors left for another one (%zu live); end "
			    "one, or start the service with a higher limit: ulimit -n",
			    all);
	err->errnum = EBUSY;
	return -1;
}

static void release(struct sessions *sessions, struct session *session)
{
	pthread_mutex_lock(&sessions->lock);
	session->users--;
	if (session->users == 0 && session->gone)
		session_shrink(session);
	pthread_cond_broadcast(&sessions->left);
	pthread_mutex_unlock(&sessions->lock);
}

/* Of one that is on the list, and held. What could not be made is forgotten. */
static int launch(struct sessions *sessions, struct session *session, struct error *err)
{
	int done = session_launch(session, sessions->pool, err);

	if (done == 0) {
		release(sessions, session);
		return 0;
	}
	resident_end(&session->home, "it could not be started", NULL);
	pthread_mutex_lock(&sessions->lock);
	session->users--;
	forget(sessions, session);
	pthread_mutex_unlock(&sessions->lock);
	return -1;
}

static int start(struct sessions *sessions, struct spec *spec, const struct session_options *options,
		 char id[RESULT_ID], struct error *err)
{
	struct session_options settled = *options;
	struct session *session;

	settled.ttl = options->ttl > 0 ? options->ttl : SESSIONS_TTL;
	settled.idle_ttl = options->idle_ttl > 0 ? options->idle_ttl : SESSIONS_IDLE;
	if (check_start(spec, settled.ttl, settled.idle_ttl, err) < 0)
		return -1;
	tidy(sessions);
	session = session_new(sessions, &settled);
	if (!session)
		return error_errno(err, "cannot keep another session");
	give_spec(session, spec);
	memcpy(id, session->id, sizeof(session->id));
	if (add(sessions, session, options->most_own, err) < 0) {
		session_free(session);
		return -1;
	}
	return launch(sessions, session, err);
}

int sessions_start(struct sessions *sessions, struct spec *spec, const struct session_options *options,
		   char id[RESULT_ID], struct error *err)
{
	int done;

	if (enter(sessions, err) < 0)
		return -1;
	done = start(sessions, spec, options, id, err);
	leave(sessions);
	return done;
}

/* Held until let_go(), and the caller counted; NULL with the error set. */
static struct session *find(struct sessions *sessions, const char *id, const char *owner, struct error *err)
{
	struct session *found = NULL;

	if (enter(sessions, err) < 0)
		return NULL;
	pthread_mutex_lock(&sessions->lock);
	for (struct session *s = sessions->list; s && !found; s = s->next)
		if (strcmp(s->id, id) == 0 && is_visible(s, owner) && resident_state(&s->home) != RESIDENT_STARTING &&
		    !s->replaced)
			found = s;
	if (found)
		found->users++;
	pthread_mutex_unlock(&sessions->lock);
	if (found)
		return found;
	leave(sessions);
	error_usage(err, "session: there is no session \"%.64s\"", id);
	err->errnum = ENOENT;
	return NULL;
}

static void let_go(struct sessions *sessions, struct session *session)
{
	release(sessions, session);
	leave(sessions);
}

int sessions_execute(struct sessions *sessions, const char *id, const char *owner, const struct spec *spec,
		     const struct run_ticket *ticket, const struct supervise_io *io, struct result **out,
		     struct error *err)
{
	struct session *session = find(sessions, id, owner, err);
	int done;

	if (!session)
		return -1;
	done = session_execute(session, spec, ticket, io, out, err);
	let_go(sessions, session);
	return done;
}

void sessions_tell_owner(struct sessions *sessions, const char *id, struct error *err)
{
	struct error none = { 0 };
	struct session *session = find(sessions, id, NULL, &none);

	if (!session)
		return;
	error_set(
		err, ERROR_BLOCKED, 0,
		"session: it is another caller's, \"%s\", who alone runs cells in it; you may see, interrupt, restart "
		"and end it",
		session->owner);
	let_go(sessions, session);
}

bool sessions_confirm(struct sessions *sessions, const char *id, const char *owner, const char *in_force)
{
	struct error none = { 0 };
	struct session *session = find(sessions, id, owner, &none);
	bool asks;

	if (!session)
		return false;
	asks = session->asks || in_force_confirms(in_force, session->profile);
	let_go(sessions, session);
	return asks;
}

int sessions_policy(struct sessions *sessions, const char *id, const char *owner, const char *in_force,
		    struct spec *out, struct error *err)
{
	struct session *session = find(sessions, id, owner, err);

	if (!session)
		return -1;
	out->runtime = session->runtime;
	out->policy_in_force = in_force;
	out->policy = in_force_settle(out, session->spec.policy);
	let_go(sessions, session);
	return 0;
}

int sessions_ask(struct sessions *sessions, const char *id, const char *owner, bool inspect, const char *code,
		 size_t size, size_t cursor, char **json, struct error *err)
{
	struct session *session = find(sessions, id, owner, err);
	int done;

	if (!session)
		return -1;
	done = session_ask(session, inspect, code, size, cursor, json, err);
	let_go(sessions, session);
	return done;
}

int sessions_interrupt(struct sessions *sessions, const char *id, const char *owner, bool *interrupted,
		       struct error *err)
{
	struct session *session = find(sessions, id, owner, err);

	if (!session)
		return -1;
	pthread_mutex_lock(&session->home.lock);
	*interrupted =
		session->busy && write(session->interrupt_fd, &(uint64_t){ 1 }, sizeof(uint64_t)) == sizeof(uint64_t);
	pthread_mutex_unlock(&session->home.lock);
	let_go(sessions, session);
	return 0;
}

int sessions_stop(struct sessions *sessions, const char *id, const char *owner, const char *by, struct error *err)
{
	struct session *session = find(sessions, id, owner, err);
	int done = 0;

	if (!session)
		return -1;
	if (!has_ended(session)) {
		resident_end(&session->home, "it was ended", by);
		if (!resident_await_end(&session->home, -1))
			done = error_set(err, ERROR_FAILED, 0, "the session %s did not end", session->id);
	}
	/* Who ends one finds its descriptors free. */
	pthread_mutex_lock(&sessions->lock);
	while (done == 0 && !session->gone)
		pthread_cond_wait(&sessions->left, &sessions->lock);
	pthread_mutex_unlock(&sessions->lock);
	release(sessions, session);
	tidy(sessions);
	leave(sessions);
	return done;
}

/* Takes the place of one that has ended and is held, and of its times and names. */
static struct session *replace(struct sessions *sessions, struct session *old, struct error *err)
{
	const struct session_options same = { .owner = old->owner,
					      .name = old->name,
					      .profile = old->profile,
					      .asks = old->asks,
					      .ttl = old->home.ttl,
					      .idle_ttl = old->home.idle_ttl };
	struct session *session = session_new(sessions, &same);

	if (!session) {
		error_errno(err, "cannot keep another session");
		return NULL;
	}
	memcpy(session->id, old->id, sizeof(session->id));
	give_spec(session, &old->spec);
	pthread_mutex_lock(&sessions->lock);
	session->users = 1;
	session->next = sessions->list;
	sessions->list = session;
	old->users--;
	forget(sessions, old);
	pthread_mutex_unlock(&sessions->lock);
	return session;
}

int sessions_restart(struct sessions *sessions, const char *id, const char *owner, const char *by, struct error *err)
{
	struct session *old = find(sessions, id, owner, err), *session;
	bool first;
	int done = -1;

	if (!old)
		return -1;
	pthread_mutex_lock(&sessions->lock);
	first = !old->replaced;
	old->replaced = true;
	pthread_mutex_unlock(&sessions->lock);
	resident_end(&old->home, "it was restarted", by);
	if (!first || !resident_await_end(&old->home, -1)) {
		error_set(err, ERROR_FAILED, 0, "the session %s is being restarted already, or did not end", old->id);
		let_go(sessions, old);
		return -1;
	}
	session = replace(sessions, old, err);
	if (session)
		done = launch(sessions, session, err);
	else
		release(sessions, old);
	leave(sessions);
	return done;
}

int sessions_terminal(struct sessions *sessions, const char *id, const char *owner, unsigned rows, unsigned columns,
		      int *master, struct error *err)
{
	struct session *session = find(sessions, id, owner, err);
	int done;

	*master = -1;
	if (!session)
		return -1;
	done = session_terminal(session, rows, columns, master, err);
	let_go(sessions, session);
	return done;
}

/* What its memory limit has left: of the group, or as the supervisor counts. With the lock of a live one held. */
static int measure_room(struct resident *home, struct live_place *place)
{
	struct account_usage usage;

	place->memory = place->room = home->job.limits.memory;
	if (home->box->group) {
		place->group = cgroup_charge_fd(home->box->group);
		return place->group < 0 ? -1 : cgroup_memory_room(home->box->group, place->memory, &place->room);
	}
	if (!home->account)
		return 0;
	if (account_sample(home->account, &usage) < 0)
		return -1;
	place->room = usage.memory_now < place->memory ? place->memory - usage.memory_now : 0;
	return 0;
}

/* With the session held: its /sandbox, and who it is. */
static int open_place(struct session *session, struct live_place *place, struct error *err)
{
	struct resident *home = &session->home;
	int done = 0;

	*place = (struct live_place)LIVE_PLACE_NONE;
	pthread_mutex_lock(&home->lock);
	place->own = home->ids.own;
	place->uid = home->ids.uid;
	place->gid = home->ids.gid;
	/* The program cannot move what is above: /sandbox itself is read-only to it. */
	if (home->live)
		place->sandbox = openat(home->box->handles[REPORT_FD_OUTPUT], "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (home->live && place->sandbox < 0)
		done = error_errno(err, "cannot open the session's files");
	else if (home->live && measure_room(home, place) < 0)
		done = error_errno(err, "cannot measure the session's memory");
	pthread_mutex_unlock(&home->lock);
	if (done == 0 && place->sandbox < 0)
		done = session_has_ended(session, err);
	if (done < 0)
		live_close(place);
	return done;
}

int sessions_place(struct sessions *sessions, const char *id, const char *owner, struct live_place *place,
		   struct error *err)
{
	struct session *session = find(sessions, id, owner, err);
	int done;

	if (!session)
		return -1;
	done = open_place(session, place, err);
	let_go(sessions, session);
	return done;
}

int sessions_watch(struct sessions *sessions, const char *id, const char *owner, const char *path, bool recursive,
		   int *out, struct error *err)
{
	struct session *session = find(sessions, id, owner, err);
	struct live_place place;
	int done, ended;

	*out = -1;
	if (!session)
		return -1;
	done = open_place(session, &place, err);
	if (done == 0) {
		ended = fcntl(session->home.ended_fd, F_DUPFD_CLOEXEC, 3);
		done = ended < 0 ? error_errno(err, "cannot watch the session")
				 : watch_start(&place, ended, session->owner, path, recursive, out, err);
		live_close(&place);
	}
	let_go(sessions, session);
	return done;
}

size_t sessions_end(struct sessions *sessions, const char *owner, const char *why)
{
	size_t count = 0;

	pthread_mutex_lock(&sessions->lock);
	for (struct session *s = sessions->list; s; s = s->next) {
		if (!is_visible(s, owner) || has_ended(s))
			continue;
		resident_end(&s->home, why, NULL);
		count++;
	}
	pthread_mutex_unlock(&sessions->lock);
	return count;
}

size_t sessions_running(struct sessions *sessions)
{
	size_t count;

	pthread_mutex_lock(&sessions->lock);
	count = count_living(sessions, NULL);
	pthread_mutex_unlock(&sessions->lock);
	return count;
}

/* What is told of them */

static json_t *timestamp(const struct timeval *time, double later)
{
	const long long msec = (long long)time->tv_sec * 1000 + time->tv_usec / 1000 + (long long)(later * 1000);
	const time_t second = (time_t)(msec / 1000);
	char day[32], text[48];
	struct tm parts;

	gmtime_r(&second, &parts);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &parts);
	snprintf(text, sizeof(text), "%s.%03dZ", day, (int)(msec % 1000));
	return json_string(text);
}

/* A whole number as one: it is what start was told, and answered. */
static json_t *seconds(double value)
{
	return value == (double)(json_int_t)value ? json_integer((json_int_t)value) : json_real(value);
}

static json_t *session_json(struct session *session)
{
	struct resident *home = &session->home;
	json_t *isolation = json_array();
	struct resident_usage usage;
	struct timeval used;
	char version[64], why[256];
	uint64_t cells;
	bool ended, busy, known = runtime_version_cached(session->runtime, version, sizeof(version));

	resident_usage(home, &usage);
	pthread_mutex_lock(&home->lock);
	ended = home->state == RESIDENT_ENDED;
	memcpy(why, home->why, sizeof(why));
	busy = session->busy;
	cells = session->cells;
	used = session->used;
	pthread_mutex_unlock(&home->lock);
	for (size_t i = 0; i < session->layer_count; i++)
		json_array_append_new(isolation, json_string(session->layers[i]));
	return json_pack(
		"{s:s, s:s, s:s, s:s, s:s?, s:s, s:s, s:b, s:b, s:s, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:f, "
		"s:o, s:o, s:o}",
		"id", session->id, "name", session->name, "caller", session->owner, "language", session->runtime->name,
		"language_version", known ? version : NULL, "status",
		ended  ? "ended"
		: busy ? "busy"
		       : "idle",
		"driver", session->driver, "complete", session->completes, "inspect", session->inspects, "start",
		home->warm ? "warm" : "cold", "created", timestamp(&session->created, 0), "last_used",
		timestamp(&used, 0), "ttl", seconds(home->ttl), "idle_ttl", seconds(home->idle_ttl), "expires",
		timestamp(&session->created, home->ttl), "cells", (json_int_t)cells, "memory_used",
		(json_int_t)usage.memory, "memory_limit", (json_int_t)session->limits.memory, "cpu_time",
		(double)usage.cpu_usec / 1e6, "reason", ended ? json_string(why) : json_null(), "limits",
		result_limits_json(&session->limits), "isolation", isolation);
}

static int print(json_t *root, char **json, struct error *err)
{
	*json = root ? json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
	json_decref(root);
	return *json ? 0 : error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the answer");
}

/* Those that are visible, held; how many. The caller releases and frees. */
static size_t hold_visible(struct sessions *sessions, const char *owner, struct session ***out)
{
	size_t count = 0, n = 0;

	pthread_mutex_lock(&sessions->lock);
	sweep(sessions);
	for (struct session *s = sessions->list; s; s = s->next)
		count++;
	*out = calloc(count + 1, sizeof(**out));
	for (struct session *s = sessions->list; *out && s; s = s->next) {
		if (!is_visible(s, owner) || resident_state(&s->home) == RESIDENT_STARTING || s->replaced)
			continue;
		s->users++;
		(*out)[n++] = s;
	}
	pthread_mutex_unlock(&sessions->lock);
	return n;
}

static int status_all(struct sessions *sessions, const char *owner, char **json, struct error *err)
{
	_cleanup_free_ struct session **held = NULL;
	size_t count = hold_visible(sessions, owner, &held);
	json_t *list = json_array();

	for (size_t i = count; i > 0; i--) {
		json_array_append_new(list, session_json(held[i - 1]));
		release(sessions, held[i - 1]);
	}
	return print(json_pack("{s:o}", "sessions", list), json, err);
}

int sessions_status(struct sessions *sessions, const char *id, const char *owner, char **json, struct error *err)
{
	struct session *session;
	int done;

	if (!id) {
		if (enter(sessions, err) < 0)
			return -1;
		done = status_all(sessions, owner, json, err);
		leave(sessions);
		return done;
	}
	session = find(sessions, id, owner, err);
	if (!session)
		return -1;
	done = print(session_json(session), json, err);
	let_go(sessions, session);
	return done;
}

static json_t *cell_json(const struct cell_record *cell)
{
	_cleanup_buf_ struct buf code = { 0 };

	buf_utf8(&code, cell->code, cell->size);
	return json_pack("{s:I, s:o, s:s, s:i, s:f, s:o}", "count", (json_int_t)cell->count, "code",
			 json_stringn(code.data ? code.data : "", code.size), "status", status_name(cell->status),
			 "exit_code", cell->exit_code, "execution_time", (double)cell->usec / 1e6, "timestamp",
			 timestamp(&cell->at, 0));
}

int sessions_cells(struct sessions *sessions, const char *id, const char *owner, char **json, struct error *err)
{
	struct session *session = find(sessions, id, owner, err);
	json_t *list = json_array();
	uint64_t kept = 0, cells;

	if (!session) {
		json_decref(list);
		return -1;
	}
	pthread_mutex_lock(&session->home.lock);
	for (uint64_t i = session->first; i < session->recorded; i++, kept++)
		json_array_append_new(list, cell_json(&session->records[i % SESSION_CELLS_MAX]));
	cells = session->cells - session->busy;
	pthread_mutex_unlock(&session->home.lock);
	let_go(sessions, session);
	return print(json_pack("{s:o, s:I}", "cells", list, "dropped", (json_int_t)(cells > kept ? cells - kept : 0)),
		     json, err);
}
