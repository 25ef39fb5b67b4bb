/*
 * Containers as callers see them: started, found by id, described, ended. The
 * list and its lock are those of live/place.h.
 */
#include "live/container_parts.h"

#include "base/clock.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

struct containers {
	struct places places;          /* first: their list */
	const struct engines *engines; /* where boxes come from */
};

static json_t *container_json(struct place *place);

static const struct place_kind kind = {
	.noun = "container",
	.field = "id",
	.program = "agent",
	.stopped = "it was stopped",
	.kept_max = CONTAINERS_KEPT_MAX,
	.shrink = place_shrink,
	.free = container_free,
	.describe = container_json,
	.runs = "runs",
	.refuse_ended = container_refuse_ended,
};

int containers_open(const struct engines *engines, const struct place_watch *watch, struct containers **out,
		    struct error *err)
{
	struct containers *containers = calloc(1, sizeof(*containers));

	if (!containers)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot keep containers");
	places_init(&containers->places, &kind, watch);
	containers->engines = engines;
	*out = containers;
	return 0;
}

void containers_close(struct containers *containers)
{
	if (!containers)
		return;
	places_close(&containers->places, "the service ended");
	free(containers);
}

static int check_start(const struct spec *spec, const struct container_options *options, struct error *err)
{
	struct spec checked = *spec;

	if (!(options->ttl > 0) || options->ttl > CONTAINERS_TTL_MAX)
		return error_field(err, "ttl", "expected seconds above 0 and at most %.0f", CONTAINERS_TTL_MAX);
	/* Code may come later, with an exec. */
	if (checked.runtime && !checked.code && !spec_gives(&checked, spec_entry(&checked)))
		checked.code = "";
	return spec_check(&checked, err);
}

static struct container *container_new(struct containers *containers, const struct spec *spec,
				       const struct container_options *options)
{
	struct container *container = calloc(1, sizeof(*container));
	struct place *place = &container->place;

	if (!container)
		return NULL;
	if (place_init(place, &containers->places, options->owner, options->profile) < 0 ||
	    (spec->profile && !(container->box_profile = arena_string(&place->arena, spec->profile)))) {
		container_free(place);
		return NULL;
	}
	place->home.ttl = options->ttl;
	place->fleeting = options->auto_cleanup;
	place->asks = options->asks;
	place->runtime = spec->runtime;
	place->limits = limits_settle_place(&spec->limits, &spec->runtime->limits);
	container->read_only = spec->read_only;
	container->policy = spec->policy;
	memcpy(container->weaker, spec->weaker, sizeof(container->weaker));
	container->channel.to = container->channel.from = -1;
	container->asked_usec = clock_usec();
	return container;
}

/* A place_admit. `options` is the container_options of the start. */
static int admit_container(struct places *places, const struct place *place, const void *options, struct error *err)
{
	const struct container_options *start = options;
	const size_t all = places_living(places, NULL), own = places_living(places, place->owner);
	const bool room = start->most == 0 || all < start->most;
	const bool own_room = start->most_own == 0 || own < start->most_own;
	const size_t count = room ? own : all;

	if (!room || !own_room)
		return error_refuse(err, CODE_TOO_MANY, "max_concurrent",
				    "%zu container%s%s %s already, as many as may; stop one first", count,
				    count == 1 ? "" : "s", room ? " of this token" : "", count == 1 ? "runs" : "run");
	if (!place_leaves_files(place))
		return error_refuse(err, CODE_TOO_MANY, "container",
				    "the service has too few file descriptors left for another one (%zu live); stop "
				    "one, or start the service with a higher limit: ulimit -n",
				    all);
	return 0;
}

int containers_start(struct containers *containers, const struct spec *spec, const struct container_options *options,
		     char id[RESULT_ID], struct error *err)
{
	struct container *container;

	if (spec->rows > 0)
		return error_field(err, "tty", "programs in a container have none; leave it out");
	if (check_start(spec, options, err) < 0)
		return -1;
	container = container_new(containers, spec, options);
	if (!container)
		return error_errno(err, "cannot keep another container");
	memcpy(id, container->place.id, sizeof(container->place.id));
	if (places_add(&containers->places, &container->place, admit_container, options, err) < 0)
		return -1;
	return places_settle(&container->place, container_launch(container, containers->engines, spec, err));
}

struct places *containers_places(struct containers *containers)
{
	return &containers->places;
}

bool containers_ask(struct containers *containers, const char *id, const char *owner, const char *in_force)
{
	return places_confirm(&containers->places, id, owner, in_force);
}

int containers_stop(struct containers *containers, const char *id, const char *owner, const char *by, struct error *err)
{
	return places_stop(&containers->places, id, owner, by, err);
}

size_t containers_end(struct containers *containers, const char *owner, const char *why)
{
	return places_end(&containers->places, owner, why);
}

size_t containers_running(struct containers *containers)
{
	return places_count(&containers->places);
}

static json_t *container_json(struct place *place)
{
	struct container *container = (struct container *)place;
	struct resident *home = &place->home;
	struct engine_usage usage;
	double percent = 0;
	char why[sizeof(home->why)];
	uint64_t now = clock_usec(), execs;
	bool ended;

	resident_usage(home, &usage);
	pthread_mutex_lock(&home->lock);
	ended = home->state == RESIDENT_ENDED;
	memcpy(why, home->why, sizeof(why));
	execs = container->execs;
	if (!ended && now > container->asked_usec && usage.cpu_usec > container->asked_cpu_usec)
		percent = 100.0 * (double)(usage.cpu_usec - container->asked_cpu_usec) /
			  (double)(now - container->asked_usec);
	container->asked_usec = now;
	container->asked_cpu_usec = usage.cpu_usec;
	pthread_mutex_unlock(&home->lock);
	return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:I, s:f, s:f, s:I, s:I, s:I}", "id", place->id,
			 "container", place->profile, "language", place->runtime->name, "status",
			 ended ? "exited" : "running", "reason", ended ? json_string(why) : json_null(), "started",
			 place_time_json(&place->created, 0), "ttl", place_seconds_json(home->ttl), "execs",
			 (json_int_t)execs, "cpu_time", (double)usage.cpu_usec / 1e6, "cpu_percent",
			 round(percent * 10) / 10, "memory_used", (json_int_t)usage.memory, "memory_limit",
			 (json_int_t)place->limits.memory, "pids", (json_int_t)(usage.pids > 2 ? usage.pids - 2 : 0));
}

int containers_status(struct containers *containers, const char *owner, char **json, struct error *err)
{
	return places_list(&containers->places, owner, "containers", json, err);
}

int containers_cleanup(struct containers *containers, const char *owner, size_t *removed, struct error *err)
{
	return places_cleanup(&containers->places, owner, removed, err);
}
