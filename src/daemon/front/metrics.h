/*
 * What the front counts, and how Prometheus reads it. Pure: no clock, no descriptor.
 *
 * All memory is taken once. Labels are bounded: what comes after the first METRICS_NAMES_MAX languages, routes or
 * events (16 methods, METRICS_REQUESTS_MAX combinations of method, route and code) is counted as "other", so nobody can
 * make the front grow by inventing names. One thread.
 */
#pragma once

#include "base/buf.h"
#include "daemon/outcome.h"

#include <stddef.h>
#include <stdint.h>

#define METRICS_NAMES_MAX    64
#define METRICS_REQUESTS_MAX 512

struct metrics;

/* The boxes made ahead, as the keeper counts them (struct engine_stats of engine/engine.h). */
struct metrics_pool {
	size_t idle;     /* embers that wait */
	size_t zygotes;  /* interpreters that embers are forked from */
	uint64_t warm;   /* runs that found one */
	uint64_t cold;   /* runs that did not */
	uint64_t forked; /* embers made */
	uint64_t failed; /* embers that could not be made, or died before they were used */
};

/* What is so right now. */
struct metrics_now {
	size_t clients;                  /* connections to the front, HTTP and frames */
	size_t running;                  /* runs at the keeper */
	size_t queued;                   /* runs that wait for a place */
	size_t streams;                  /* event streams that are open */
	size_t containers;               /* that run */
	size_t sessions;                 /* that live */
	uint64_t held;                   /* bytes of requests and answers */
	const struct metrics_pool *pool; /* or NULL: not known, and left out */
	uint64_t uptime_usec;            /* since the front started */
};

/* NULL when there is no memory. */
struct metrics *metrics_new(void);
void metrics_free(struct metrics *metrics);
/* A request that was answered: the route as the table has it ("/v1/executions/ID"), and the status. */
void metrics_request(struct metrics *metrics, const char *method, const char *route, int status, uint64_t usec);
/* A run that ended, and how long it waited before the keeper got it. */
void metrics_outcome(struct metrics *metrics, const struct outcome *outcome, uint64_t waited_usec);
/* Something that happened otherwise: "unauthorized", "forbidden_origin", "busy", "confirm_asked"… */
void metrics_event(struct metrics *metrics, const char *event);
/* The text format, version 0.0.4. Histograms of time have buckets from 0.5 ms to 60 s. */
void metrics_text(const struct metrics *metrics, const struct metrics_now *now, struct buf *out);
