/* The engines of this program: a row each. */
#include "engine/engine.h"

#include "engine/local/local_engine.h"
#include "engine/warm/warm_engine.h"

/* A place that is there already comes first; a box made for the purpose takes every job. */
const struct engine *const engine_table[] = { &warm_engine, &local_engine, NULL };
