/* The table of engines. */
#include "engine/engine.h"

#include "engine/local/local_engine.h"
#include "engine/warm/warm_engine.h"

/* The warm engine comes first, because its places exist already; the local engine accepts every job. */
const struct engine *const engine_table[] = { &warm_engine, &local_engine, NULL };
