/*
 * What the front counts, and how Prometheus reads it. Pure: no clock, no descriptor.
 *
 * All memory is taken once. Labels are bounded: what comes after the first METRICS_NAMES_MAX languages, routes or
 * events (16 methods, METRICS_REQUESTS_MAX combinations of method, route and code) is counted as "other", so nobody can
 * make the front grow by inventing names. One thread.
 */
#pragma once

#include "base/buf.h"
#include "engine/engine.h"

#include <stddef.h>
#include <stdint.h>

#define METRICS_NAMES_MAX    64
#define METRICS_REQUESTS_MAX 512

struct metrics;

/* verdict.limit as a number. */
enum outcome_limit {
	OUTCOME_LIMIT_NONE,
	OUTCOME_LIMIT_TIMEOUT,
	OUTCOME_LIMIT_CPU_TIME,
	OUTCOME_LIMIT_MEMORY,
	OUTCOME_LIMIT_OUTPUT,
};

/* How a run ended, as the keeper tells the front beside the result. */
struct outcome {
	char language[24];  /* its name; not terminated when it is as long as this */
	uint8_t status;     /* enum status of engine/local/supervise.h */
	uint8_t warm;       /* it found a box ready */
	uint8_t limit;      /* enum outcome_limit */
	uint8_t unused;     /* 0 */
	uint32_t exit_code; /* as `emberbox run` exits */
	uint64_t usec;      /* from the keeper's receipt to the result */
	uint64_t run_usec;  /* of that, the program; 0: it never started */
	uint64_t memory;    /* its peak; 0: not known */
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
	const struct engine_stats *pool; /* or NULL: not known, and left out */
	uint64_t uptime_usec;            /* since the front started */
};

/* verdict.limit ("timeout", "cpu_time", "memory", "output" or NULL) as a number, and back; NULL for none and for what
 * is no such number. */
uint8_t outcome_limit(const char *name);
const char *outcome_limit_name(uint8_t limit);

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
