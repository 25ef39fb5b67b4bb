/*
 * Sessions as callers see them: started, found by id, described, ended. The list
 * and its lock are those of live/place.h.
 */
#include "live/session_parts.h"
#include "live/live_files.h"
#include "live/slots.h"
#include "live/watch.h"

#include "base/own.h"
#include "policy/in_force.h"
#include "language/version.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	TERMINALS_MAX = 64,  /* open terminals of all sessions… */
	TERMINALS_EACH = 32, /* …and of one owner, whose shells may outlive their clients */
};

struct sessions {
	struct places places;          /* first: their list */
	const struct engines *engines; /* where boxes come from */
	struct slots terminals;        /* of open terminals; each has a thread, which ends after its box */
	struct slots watches;          /* of open watches, likewise */
};

static json_t *session_json(struct place *place);

static const struct place_kind kind = {
	.noun = "session",
	.field = "session",
	.program = "driver",
	.stopped = "it was ended",
	.kept_max = SESSIONS_KEPT_MAX,
	.shrink = session_shrink,
	.free = session_free,
	.describe = session_json,
	.runs = "cells",
	.refuse_ended = session_refuse_ended,
};

int sessions_open(const struct engines *engines, const struct place_watch *watch, struct sessions **out,
		  struct error *err)
{
	struct sessions *sessions = calloc(1, sizeof(*sessions));

	if (!sessions)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot keep sessions");
	places_init(&sessions->places, &kind, watch);
	slots_init(&sessions->terminals, TERMINALS_MAX, TERMINALS_EACH);
	slots_init(&sessions->watches, WATCHES_MAX, WATCHES_EACH);
	sessions->engines = engines;
	*out = sessions;
	return 0;
}

void sessions_close(struct sessions *sessions)
{
	if (!sessions)
		return;
	places_close(&sessions->places, "the service ended");
	/* No box lives, so the threads of terminals and watches are ending. */
	slots_close(&sessions->terminals);
	slots_close(&sessions->watches);
	free(sessions);
}

static int check_time(const char *name, double seconds, struct error *err)
{
	if (seconds >= 1 && seconds <= SESSIONS_TTL_MAX)
		return 0;
	return error_field(err, name, "expected seconds from 1 to %.0f", SESSIONS_TTL_MAX);
}

static int check_start(const struct spec *spec, double ttl, double idle_ttl, struct error *err)
{
	const struct runtime *runtime = spec->runtime;
	struct spec checked = *spec;

	if (!runtime)
		return error_field(err, "language", "it is not set; name one, such as python");
	if (!runtime->session.step.argv) {
		error_refuse(err, CODE_NO_SESSIONS, "language", "%s has no sessions", runtime->display);
		return error_remedy(err, "; run programs of it one by one", "");
	}
	if (spec->code)
		return error_field(err, "code", "a session starts without; send it as the first cell");
	if (check_time("ttl", ttl, err) < 0 || check_time("idle_ttl", idle_ttl, err) < 0)
		return -1;
	checked.code = "";
	return spec_check(&checked, err);
}

/* The options have their times. Takes the spec: *spec is empty afterwards. */
static struct session *session_new(struct sessions *sessions, const struct session_options *options, struct spec *spec)
{
	struct session *session = calloc(1, sizeof(*session));

	if (!session)
		return NULL;
	session->driver_pidfd = session->input_fd = session->channel = session->interrupt_fd = -1;
	spec_init(&session->spec);
	if (place_init(&session->place, &sessions->places, options->owner, options->profile) < 0 ||
	    !(session->name = arena_string(&session->place.arena, options->name ? options->name : ""))) {
		session_free(&session->place);
		return NULL;
	}
	session->place.home.ttl = options->ttl;
	session->place.home.idle_ttl = options->idle_ttl;
	session->place.asks = options->asks;
	session->used = session->place.created;
	session->spec = *spec;
	spec_init(spec);
	session->place.runtime = session->spec.runtime;
	session->place.limits = limits_settle_place(&session->spec.limits, &session->place.runtime->limits);
	return session;
}

/* With the lock held: the session of the same owner and name that lives, or NULL. */
static const struct session *find_namesake(const struct places *places, const struct session *session)
{
	for (struct place *p = places->list; p && *session->name; p = p->next) {
		const struct session *other = (const struct session *)p;

		if (!place_has_ended(p) && strcmp(p->owner, session->place.owner) == 0 &&
		    strcmp(other->name, session->name) == 0)
			return other;
	}
	return NULL;
}

/* A place_admit. `options` is the session_options of the start. */
static int admit_session(struct places *places, const struct place *place, const void *options, struct error *err)
{
	const unsigned most_own = ((const struct session_options *)options)->most_own;
	const struct session *session = (const struct session *)place;
	const struct session *other = find_namesake(places, session);
	const size_t own = places_living(places, place->owner), all = places_living(places, NULL);

	if (other)
		return error_field(err, "name",
				   "the session %s is called \"%s\" already; end it first, or choose another name",
				   other->place.id, session->name);
	if (most_own > 0 && own >= most_own)
		return error_refuse(err, CODE_TOO_MANY, "session",
				    "this caller has %zu sessions, as many as it may; end one first", own);
	if (!place_leaves_files(place))
		return error_refuse(err, CODE_TOO_MANY, "session",
				    "the service has too few file descriptors left for another one (%zu live); end "
				    "one, or start the service with a higher limit: ulimit -n",
				    all);
	if (all >= SESSIONS_MAX)
		return error_refuse(
			err, CODE_TOO_MANY, "session",
			"there are %zu sessions, %zu of them of this caller, as many as may be; end one first", all,
			own);
	return 0;
}

int sessions_start(struct sessions *sessions, struct spec *spec, const struct session_options *options,
		   char id[RESULT_ID], struct error *err)
{
	struct session_options settled = *options;
	struct session *session;

	settled.ttl = options->ttl > 0 ? options->ttl : SESSIONS_TTL;
	settled.idle_ttl = options->idle_ttl > 0 ? options->idle_ttl : SESSIONS_IDLE;
	if (check_start(spec, settled.ttl, settled.idle_ttl, err) < 0)
		return -1;
	session = session_new(sessions, &settled, spec);
	if (!session)
		return error_errno(err, "cannot keep another session");
	memcpy(id, session->place.id, sizeof(session->place.id));
	if (places_add(&sessions->places, &session->place, admit_session, &settled, err) < 0)
		return -1;
	return places_settle(&session->place, session_launch(session, sessions->engines, err));
}

struct places *sessions_places(struct sessions *sessions)
{
	return &sessions->places;
}

static struct session *find_session(struct sessions *sessions, const char *id, const char *owner, struct error *err)
{
	return (struct session *)places_find(&sessions->places, id, owner, err);
}

void sessions_tell_owner(struct sessions *sessions, const char *id, struct error *err)
{
	struct error none = { 0 };
	struct session *session = find_session(sessions, id, NULL, &none);

	if (!session)
		return;
	error_refuse(err, CODE_FORBIDDEN_SCOPE, "session",
		     "it belongs to the caller \"%s\", and only that caller can run cells in it; you can see, "
		     "interrupt, restart and end it",
		     session->place.owner);
	place_let_go(&session->place);
}

bool sessions_confirm(struct sessions *sessions, const char *id, const char *owner, const char *in_force)
{
	return places_confirm(&sessions->places, id, owner, in_force);
}

int sessions_policy(struct sessions *sessions, const char *id, const char *owner, const char *in_force,
		    struct spec *out, struct error *err)
{
	struct session *session = find_session(sessions, id, owner, err);

	if (!session)
		return -1;
	out->runtime = session->place.runtime;
	out->policy_in_force = in_force;
	out->policy = in_force_settle(out, session->spec.policy);
	place_let_go(&session->place);
	return 0;
}

int sessions_ask(struct sessions *sessions, const char *id, const char *owner, bool inspect, const char *code,
		 size_t size, size_t cursor, char **json, struct error *err)
{
	struct session *session = find_session(sessions, id, owner, err);
	int done;

	if (!session)
		return -1;
	done = session_ask(session, inspect, code, size, cursor, json, err);
	place_let_go(&session->place);
	return done;
}

int sessions_interrupt(struct sessions *sessions, const char *id, const char *owner, bool *interrupted,
		       struct error *err)
{
	struct session *session = find_session(sessions, id, owner, err);

	if (!session)
		return -1;
	pthread_mutex_lock(&session->place.home.lock);
	*interrupted =
		session->busy && write(session->interrupt_fd, &(uint64_t){ 1 }, sizeof(uint64_t)) == sizeof(uint64_t);
	pthread_mutex_unlock(&session->place.home.lock);
	place_let_go(&session->place);
	return 0;
}

int sessions_stop(struct sessions *sessions, const char *id, const char *owner, const char *by, struct error *err)
{
	return places_stop(&sessions->places, id, owner, by, err);
}

/* A new session with the id, the options and the spec of `old`, which has ended and is held. */
static struct session *make_again(struct sessions *sessions, struct session *old)
{
	const struct session_options same = { .owner = old->place.owner,
					      .name = old->name,
					      .profile = old->place.profile,
					      .asks = old->place.asks,
					      .ttl = old->place.home.ttl,
					      .idle_ttl = old->place.home.idle_ttl };
	struct session *session = session_new(sessions, &same, &old->spec);

	if (!session)
		return NULL;
	memcpy(session->place.id, old->place.id, sizeof(session->place.id));
	session->network_arena = old->network_arena;
	old->network_arena = (struct arena){ 0 };
	return session;
}

int sessions_restart(struct sessions *sessions, const char *id, const char *owner, const char *by, struct error *err)
{
	struct session *old = find_session(sessions, id, owner, err), *session;
	bool first;

	if (!old)
		return -1;
	pthread_mutex_lock(&sessions->places.lock);
	first = !old->place.replaced;
	old->place.replaced = true;
	pthread_mutex_unlock(&sessions->places.lock);
	resident_end(&old->place.home, "it was restarted", by);
	session = NULL;
	if (!first || !resident_await_end(&old->place.home, -1))
		error_set(err, ERROR_FAILED, 0, "the session %s is being restarted already, or did not end",
			  old->place.id);
	else if (!(session = make_again(sessions, old)))
		error_errno(err, "cannot keep another session");
	if (!session) {
		place_let_go(&old->place);
		return -1;
	}
	places_replace(&old->place, &session->place);
	return places_settle(&session->place, session_launch(session, sessions->engines, err));
}

int sessions_terminal(struct sessions *sessions, const char *id, const char *owner, unsigned rows, unsigned columns,
		      int *master, struct error *err)
{
	struct session *session = find_session(sessions, id, owner, err);
	int done;

	*master = -1;
	if (!session)
		return -1;
	done = session_terminal(session, &sessions->terminals, rows, columns, master, err);
	place_let_go(&session->place);
	return done;
}

/* The files of a session that is held. */
static int open_files(struct session *session, struct live_files *files, struct error *err)
{
	int done = resident_files(&session->place.home, files, err);

	return done == 1 ? session_refuse_ended(&session->place, err) : done;
}

int sessions_files(struct sessions *sessions, const char *id, const char *owner, struct live_files *files,
		   struct error *err)
{
	struct session *session = find_session(sessions, id, owner, err);
	int done;

	if (!session)
		return -1;
	done = open_files(session, files, err);
	place_let_go(&session->place);
	return done;
}

int sessions_watch(struct sessions *sessions, const char *id, const char *owner, const char *path, bool recursive,
		   int *out, struct error *err)
{
	struct session *session = find_session(sessions, id, owner, err);
	struct live_files files;
	int done, ended;

	*out = -1;
	if (!session)
		return -1;
	done = open_files(session, &files, err);
	if (done == 0) {
		ended = fcntl(session->place.home.ended_fd, F_DUPFD_CLOEXEC, 3);
		done = ended < 0 ? error_errno(err, "cannot watch the session")
				 : watch_start(&sessions->watches, &files, ended, session->place.owner, path, recursive,
					       out, err);
		live_close(&files);
	}
	place_let_go(&session->place);
	return done;
}

size_t sessions_end(struct sessions *sessions, const char *owner, const char *why)
{
	return places_end(&sessions->places, owner, why);
}

size_t sessions_running(struct sessions *sessions)
{
	return places_count(&sessions->places);
}

static json_t *session_json(struct place *place)
{
	struct session *session = (struct session *)place;
	struct resident *home = &session->place.home;
	json_t *isolation = json_array();
	struct engine_usage usage;
	struct timeval used;
	char version[64], why[256];
	uint64_t cells;
	bool ended, busy, known = runtime_version_cached(session->place.runtime, version, sizeof(version));

	resident_usage(home, &usage);
	pthread_mutex_lock(&home->lock);
	ended = home->state == RESIDENT_ENDED;
	memcpy(why, home->why, sizeof(why));
	busy = session->busy;
	cells = session->cells;
	used = session->used;
	pthread_mutex_unlock(&home->lock);
	for (size_t i = 0; i < session->place.layer_count; i++)
		json_array_append_new(isolation, json_string(session->place.layers[i]));
	return json_pack(
		"{s:s, s:s, s:s, s:s, s:s?, s:s, s:s, s:b, s:b, s:s, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:f, "
		"s:o, s:o, s:o, s:o}",
		"id", session->place.id, "name", session->name, "caller", session->place.owner, "language",
		session->place.runtime->name, "language_version", known ? version : NULL, "status",
		ended  ? "ended"
		: busy ? "busy"
		       : "idle",
		"driver", session->driver, "complete", session->completes, "inspect", session->inspects, "start",
		home->warm ? "warm" : "cold", "created", place_time_json(&session->place.created, 0), "last_used",
		place_time_json(&used, 0), "ttl", place_seconds_json(home->ttl), "idle_ttl",
		place_seconds_json(home->idle_ttl), "expires", place_time_json(&session->place.created, home->ttl),
		"cells", (json_int_t)cells, "memory_used", (json_int_t)usage.memory, "memory_limit",
		(json_int_t)session->place.limits.memory, "cpu_time", (double)usage.cpu_usec / 1e6, "reason",
		ended ? json_string(why) : json_null(), "limits", result_limits_json(&session->place.limits),
		"isolation", isolation, "network", session_network_json(session));
}

int sessions_network(struct sessions *sessions, const char *id, const char *owner, const struct net_policy *policy,
		     struct error *err)
{
	struct session *session = find_session(sessions, id, owner, err);
	int done;

	if (!session)
		return -1;
	done = session_network(session, policy, err);
	place_let_go(&session->place);
	return done;
}

int sessions_status(struct sessions *sessions, const char *id, const char *owner, char **json, struct error *err)
{
	struct session *session;
	int done;

	if (!id)
		return places_list(&sessions->places, owner, "sessions", json, err);
	session = find_session(sessions, id, owner, err);
	if (!session)
		return -1;
	done = place_print(session_json(&session->place), json, err);
	place_let_go(&session->place);
	return done;
}

static json_t *cell_json(const struct cell_record *cell)
{
	_cleanup_buf_ struct buf code = { 0 };

	buf_utf8(&code, cell->code, cell->size);
	return json_pack("{s:I, s:o, s:s, s:i, s:f, s:o}", "count", (json_int_t)cell->count, "code",
			 json_stringn(code.data ? code.data : "", code.size), "status", status_name(cell->status),
			 "exit_code", cell->exit_code, "execution_time", (double)cell->usec / 1e6, "timestamp",
			 place_time_json(&cell->at, 0));
}

int sessions_cells(struct sessions *sessions, const char *id, const char *owner, char **json, struct error *err)
{
	struct session *session = find_session(sessions, id, owner, err);
	json_t *list = json_array();
	uint64_t kept = 0, cells;

	if (!session) {
		json_decref(list);
		return -1;
	}
	pthread_mutex_lock(&session->place.home.lock);
	for (uint64_t i = session->first; i < session->recorded; i++, kept++)
		json_array_append_new(list, cell_json(&session->records[i % SESSION_CELLS_MAX]));
	cells = session->cells - session->busy;
	pthread_mutex_unlock(&session->place.home.lock);
	place_let_go(&session->place);
	return place_print(
		json_pack("{s:o, s:I}", "cells", list, "dropped", (json_int_t)(cells > kept ? cells - kept : 0)), json,
		err);
}
