/* What a result says of its box. */
#pragma once

#include "engine/local/launch.h"
#include "result/result.h"

/* What meta.isolation says of a box made by this plan. -1 without memory. */
int cycle_layers(struct result *result, const struct plan *plan, const struct userns_ids *ids);
