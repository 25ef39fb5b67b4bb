#include "engine/local/local_engine.h"

#include "engine/local/cycle.h"

#include <errno.h>
#include <stdlib.h>

/* A box of one job. */
struct local_place {
	struct engine_place place; /* first: as the engine's callers see it */
	const struct probe *probe; /* of the host */
	struct plan plan;          /* of the box */
	struct box box;            /* itself */
};

static int local_open(const struct engine_options *options, void **self, struct error *err)
{
	struct probe *probe = malloc(sizeof(*probe));

	if (!probe)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot probe the host");
	if (probe_host(probe, err) < 0) {
		free(probe);
		return -1;
	}
	*self = probe;
	return 0;
}

static int local_explain(void *self, const struct job *job, struct buf *out, struct error *err)
{
	struct plan plan = { 0 };
	int done = plan_make(job, self, &plan, err);

	if (done == 0)
		plan_explain(&plan, out);
	plan_free(&plan);
	return done;
}

static struct local_place *local_of(const struct engine_place *place)
{
	return (struct local_place *)place;
}

static int place_open(void *self, const struct job *job, struct engine_place **out, struct error *err)
{
	struct local_place *local = calloc(1, sizeof(*local));

	if (!local)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot make a box");
	local->place.engine = &local_engine;
	local->probe = self;
	if (plan_make(job, self, &local->plan, err) < 0 ||
	    launch_box(job, &local->plan, self, true, &local->box, err) < 0) {
		plan_free(&local->plan);
		free(local);
		return -1;
	}
	*out = &local->place;
	return 0;
}

static int place_watch(struct engine_place *place, const struct job *job, const struct supervise_io *io,
		       struct output outputs[2], struct verdict *verdict)
{
	supervise_box(&local_of(place)->box, job, io, outputs, verdict);
	return 0;
}

static int place_describe(const struct engine_place *place, struct result *result, struct error *err)
{
	const struct local_place *local = local_of(place);

	if (!local->plan.group || local->probe->cgroup.where[CGROUP_CPU] < 0)
		result->limits.cpus = 0;
	return cycle_layers(result, &local->plan, &local->box.ids) == 0
		       ? 0
		       : error_set(err, ERROR_FAILED, ENOMEM, "cannot make the result");
}

static const int *place_files(const struct engine_place *place)
{
	return local_of(place)->box.handles;
}

static int place_close(struct engine_place *place, struct error *err)
{
	struct local_place *local = local_of(place);
	int done = launch_end(&local->box, err);

	plan_free(&local->plan);
	free(local);
	return done;
}

const struct engine local_engine = {
	.name = "local",
	.runtime = "local",
	.can = ENGINE_BUILDS,
	.open = local_open,
	.close = free,
	.explain = local_explain,
	.place_open = place_open,
	.place_watch = place_watch,
	.place_describe = place_describe,
	.place_files = place_files,
	.place_close = place_close,
};

struct engines local_engines(const struct probe *probe)
{
	return (struct engines){ .count = 1, .open = { { &local_engine, (void *)probe } } };
}
