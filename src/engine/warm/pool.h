/* The pool of boxes made ahead. */
#pragma once

#include "engine/local/box_place.h"
#include "engine/warm/stem.h"
#include "kernel/probe.h"

#include <stdbool.h>

struct pool;

/* An ember and its owner. */
struct held {
	struct box_place common;     /* first: the place of the engine (warm_engine.c) */
	struct ember ember;          /* the ember */
	struct hearth *hearth;       /* the hearth it was idle in */
	struct ember_source *source; /* the stem that made it */
	struct held *next;           /* next of the ashes */
};

/* Starts the pool's threads; embers are made after the first request for a language. */
int pool_open(const struct engine_options *options, struct pool **out, struct error *err);
/* Ends every ember and zygote. All runs must have ended. `pool` may be NULL. */
void pool_close(struct pool *pool);

/* Takes an ember that fits the job; NULL: there is none. The caller owns it until pool_return(). Thread-safe. */
struct held *pool_take(struct pool *pool, const struct job *job);
/* Kills the processes in the ember's box. Other threads remove the box and make another one. */
void pool_return(struct held *held);
/* Counts a run with an ember (warm), or one without. */
void pool_count(struct pool *pool, bool warm);
/* The ember was unusable, and its run needs another engine; `counted`: it was counted as warm. */
void pool_reject(struct held *held, bool counted);
/* Languages may have changed: closes stems of old definitions as soon as they are unused. */
void pool_reload(struct pool *pool);
/* The result of probing the host. */
const struct probe *pool_probe(const struct pool *pool);
/* Adds its counts. */
void pool_stats(struct pool *pool, struct engine_stats *stats);
