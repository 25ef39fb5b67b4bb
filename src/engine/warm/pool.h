/* Boxes made ahead, and the requests that they serve. */
#pragma once

#include "run/run.h"
#include "kernel/probe.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pool;

struct pool_options {
	size_t embers_max;   /* idle embers altogether */
	uint64_t memory_max; /* bytes that idle embers may take, by an estimate of each */
	void (*say)(const char *format, ...) EB_PRINTF(1, 2); /* what went wrong with boxes made ahead; or NULL */
};

struct pool_stats {
	size_t idle;     /* embers that wait */
	size_t zygotes;  /* interpreters that embers are forked from */
	uint64_t warm;   /* runs that found one */
	uint64_t cold;   /* runs that did not */
	uint64_t forked; /* embers made */
	uint64_t failed; /* embers that could not be made, or died before they were used */
};

/* Starts what has to run; no ember is made before a language was asked for. */
int pool_open(const struct pool_options *options, struct pool **out, struct error *err);
/* Ends every ember and zygote. Runs under way have to be over. NULL is fine. */
void pool_close(struct pool *pool);

/* As run_spec(), with an ember where one fits the request. From any thread. */
int pool_run(struct pool *pool, const struct spec *spec, const struct run_ticket *ticket, const struct supervise_io *io,
	     struct result **out, struct error *err);
/* A box made ahead that has been given the job, for who watches it himself: it is the caller's until pool_return(),
 * which kills what is left of it. NULL: none fits. Whether the program starts is told by the box: one that does not was
 * no good, and another, or a cold one, is. */
struct held;
struct held *pool_lend(struct pool *pool, const struct job *job, struct box **box);
void pool_return(struct held *held);
/* Languages may have changed: what was made from the old definitions goes, as soon as nobody uses it. */
void pool_reload(struct pool *pool);
/* What it knows of the host. */
const struct probe *pool_probe(const struct pool *pool);
void pool_stats(struct pool *pool, struct pool_stats *stats);
