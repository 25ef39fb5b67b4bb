/* Boxes made ahead, and the requests that they serve. */
#pragma once

#include "engine/local/box_place.h"
#include "engine/warm/stem.h"
#include "kernel/probe.h"

#include <stdbool.h>

struct pool;

/* An ember, and whose it is. */
struct held {
	struct box_place common;     /* first: the ember as a place of the engine (warm_engine.c) */
	struct ember ember;          /* itself */
	struct hearth *hearth;       /* where it waited */
	struct ember_source *source; /* what it was made from */
	struct held *next;           /* of the ashes */
};

/* Starts what has to run; no ember is made before a language was asked for. */
int pool_open(const struct engine_options *options, struct pool **out, struct error *err);
/* Ends every ember and zygote. Runs under way have to be over. NULL is fine. */
void pool_close(struct pool *pool);

/* An ember that fits the job, from any thread; NULL: none does. It is the caller's until pool_return(). */
struct held *pool_take(struct pool *pool, const struct job *job);
/* Kills what is left in the ember's box. The box is taken down, and another made, by other threads. */
void pool_return(struct held *held);
/* Counts a run that has an ember (warm), or has to go elsewhere. */
void pool_count(struct pool *pool, bool warm);
/* The ember was unusable, and its run has to go elsewhere; `counted`: it was counted as warm. */
void pool_reject(struct held *held, bool counted);
/* Languages may have changed: what was made from the old definitions goes, as soon as nobody uses it. */
void pool_reload(struct pool *pool);
/* What it knows of the host. */
const struct probe *pool_probe(const struct pool *pool);
/* Adds its counts. */
void pool_stats(struct pool *pool, struct engine_stats *stats);
