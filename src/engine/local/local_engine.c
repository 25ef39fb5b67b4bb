#include "engine/local/local_engine.h"

#include "engine/local/box_place.h"
#include "engine/local/plant_beside.h"

#include <errno.h>
#include <stdlib.h>

/* A box of one job. */
struct local_place {
	struct box_place common; /* first */
	struct plan plan;        /* of the box */
	struct box box;          /* itself */
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

static int place_open(void *self, const struct job *job, struct engine_place **out, struct error *err)
{
	struct local_place *local = calloc(1, sizeof(*local));

	if (!local)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot make a box");
	local->common = (struct box_place){
		.place.engine = &local_engine, .probe = self, .box = &local->box, .own_plan = &local->plan
	};
	if (plan_make(job, self, &local->plan, err) < 0 ||
	    launch_box(job, &local->plan, self, true, &local->box, err) < 0) {
		plan_free(&local->plan);
		free(local);
		return -1;
	}
	*out = &local->common.place;
	return 0;
}

static int place_close(struct engine_place *place, struct error *err)
{
	struct local_place *local = (struct local_place *)place;
	int done = launch_end(&local->box, err);

	box_place_free(&local->common);
	plan_free(&local->plan);
	free(local);
	return done;
}

static int place_plant(const struct engine_place *place, int inside, const struct net_plant *plant,
		       struct egress_sockets *sockets, struct error *err)
{
	return plant_beside(inside, plant, sockets, err);
}

const struct engine local_engine = {
	.runtime = "local",
	.choice = ENGINE_LOCAL,
	.can = ENGINE_BUILDS,
	.open = local_open,
	.close = free,
	.explain = local_explain,
	.place_open = place_open,
	.place_watch = box_place_watch,
	.place_describe = box_place_describe,
	.place_files = box_place_files,
	.place_sockets = box_place_sockets,
	.place_close = place_close,
	.place_take_streams = box_place_take_streams,
	.place_usage = box_place_usage,
	.place_room = box_place_room,
	.place_exec = box_place_exec,
	.place_plant = place_plant,
};
