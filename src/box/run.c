#include "box/run.h"

#include "base/clock.h"
#include "base/own.h"
#include "box/fault.h"
#include "box/launch.h"

#include <errno.h>
#include <stdlib.h>

static int copy_layers(struct result *result, const struct plan *plan, const struct userns_ids *ids)
{
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

static void note_failure(struct result *result, const struct error *err)
{
	result->verdict.status = STATUS_ERROR;
	result->verdict.failure = *err;
}

static void collect(struct result *result, const struct spec *spec, struct box *box)
{
	struct error err = { 0 };
	int dir = box->handles[REPORT_FD_OUTPUT];

	if (dir < 0 || result->verdict.status == STATUS_ERROR)
		return;
	if (fault_fail("collect", &err) < 0 || files_list(dir, &result->files, &err) < 0 ||
	    (spec->output && files_copy(dir, &result->files, spec->output, spec->limits.disk, &err) < 0))
		note_failure(result, &err);
}

static int execute(const struct spec *spec, const struct plan *plan, const struct probe *probe,
		   const struct supervise_io *io, struct result *result, struct error *err)
{
	struct box box;

	if (launch_box(spec, plan, probe, &box, err) < 0)
		return -1;
	if (copy_layers(result, plan, &box.ids) < 0) {
		launch_end(&box, NULL);
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot make the result");
	}
	supervise_box(&box, spec, io, result->outputs, &result->verdict);
	collect(result, spec, &box);
	if (launch_end(&box, err) < 0)
		note_failure(result, err);
	return 0;
}

int run_spec(const struct spec *spec, const struct supervise_io *io, struct result **out, struct error *err)
{
	struct probe probe;
	struct plan plan = { 0 };
	struct result *result;
	int done;

	result = result_new(spec);
	if (!result)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot make the result");
	result->begin_usec = clock_usec();
	done = spec_check(spec, err);
	if (done == 0 && spec->output)
		done = files_check_target(spec->output, err);
	if (done == 0)
		done = probe_host(&probe, err);
	if (done == 0)
		done = plan_make(spec, &probe, &plan, err);
	if (done == 0) {
		if (!plan.group || probe.cgroup.where[CGROUP_CPU] < 0)
			result->limits.cpus = 0;
		done = execute(spec, &plan, &probe, io, result, err);
	}
	plan_free(&plan);
	/* A request that cannot be meant is the caller's to mend; all else is a result. */
	if (done < 0 && err->kind == ERROR_USAGE) {
		result_free(result);
		return -1;
	}
	if (done < 0)
		note_failure(result, err);
	result->finish_usec = clock_usec();
	result_explain(result);
	*out = result;
	return 0;
}

int run_explain(const struct spec *spec, char **text, struct error *err)
{
	struct probe probe;
	struct plan plan = { 0 };
	struct buf out = { 0 };
	int done;

	if (spec_check(spec, err) < 0 || probe_host(&probe, err) < 0)
		return -1;
	done = plan_make(spec, &probe, &plan, err);
	if (done == 0) {
		plan_explain(&plan, &out);
		*text = buf_take(&out);
		done = *text ? 0 : error_set(err, ERROR_FAILED, ENOMEM, "cannot print the plan");
	}
	plan_free(&plan);
	return done;
}
