#include "engine/local/cycle.h"

#include "base/own.h"
#include "engine/local/launch.h"

#include <errno.h>

int cycle_layers(struct result *result, const struct plan *plan, const struct userns_ids *ids)
{
	result->layer_count = 0;
	result->layers = arena_alloc(&result->arena, (plan->layer_count + 1) * sizeof(char *));
	if (!result->layers)
		return -1;
	result->layers[result->layer_count++] =
		arena_printf(&result->arena, "user-namespace: uid %d is host uid %u%s", USERNS_INSIDE, ids->uid,
			     ids->own ? ", of this box alone" : ", the caller's");
	for (size_t i = 0; i < plan->layer_count; i++)
		result->layers[result->layer_count++] = arena_string(&result->arena, plan->layers[i]);
	for (size_t i = 0; i < result->layer_count; i++)
		if (!result->layers[i])
			return -1;
	return 0;
}

static int run_box(const struct job *job, const struct plan *plan, const struct probe *probe,
		   const struct supervise_io *io, struct result *result, cycle_collect *collect, void *userdata,
		   struct error *err)
{
	struct error later = { 0 };
	struct box box;

	if (launch_box(job, plan, probe, true, &box, err) < 0)
		return -1;
	if (cycle_layers(result, plan, &box.ids) < 0) {
		launch_end(&box, NULL);
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot make the result");
	}
	supervise_box(&box, job, io, result->outputs, &result->verdict);
	if (box.handles[REPORT_FD_OUTPUT] >= 0 && result->verdict.status != STATUS_ERROR &&
	    collect(box.handles, result, userdata, &later) < 0)
		result_fail(result, &later);
	if (launch_end(&box, &later) < 0)
		result_fail(result, &later);
	return 0;
}

int cycle_run(const struct job *job, const struct probe *probe, const struct supervise_io *io, struct result *result,
	      cycle_collect *collect, void *userdata, struct error *err)
{
	struct plan plan = { 0 };
	int done = plan_make(job, probe, &plan, err);

	result_begin(result, job->kind, &job->limits);
	result->terminal = job->rows > 0;
	if (done == 0) {
		if (!plan.group || probe->cgroup.where[CGROUP_CPU] < 0)
			result->limits.cpus = 0;
		done = run_box(job, &plan, probe, io, result, collect, userdata, err);
	}
	plan_free(&plan);
	return done;
}
