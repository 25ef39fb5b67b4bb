/* One job in one box, from its plan until nothing of it is left. */
#pragma once

#include "engine/job.h"
#include "engine/local/launch.h"
#include "result/result.h"
#include "kernel/probe.h"

/* Called when the program has ended, while the box's directories can still be read: take what is wanted. */
typedef int cycle_collect(const int handles[], struct result *result, void *userdata, struct error *err);

/* What meta.isolation says of a box made by this plan. -1 without memory. */
int cycle_layers(struct result *result, const struct plan *plan, const struct userns_ids *ids);

/* -1: the box could not be made. Otherwise the verdict, the output and the layers are in the result, also of status
 * "error" when something failed later. */
int cycle_run(const struct job *job, const struct probe *probe, const struct supervise_io *io, struct result *result,
	      cycle_collect *collect, void *userdata, struct error *err);
