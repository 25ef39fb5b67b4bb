/*
 * The network of a place that stays.
 *
 * Egress serves it for as long as the box lives, and reports what all of its programs do. A run's part of the report is
 * what was reported since the run began, so what a background process of an earlier cell does counts for the cell that
 * runs meanwhile. The policy can be changed while the place lives.
 */
#pragma once

#include "engine/engine.h"

#include <pthread.h>

/* How far the report was. */
struct live_network_mark {
	size_t count;                                       /* connections */
	uint64_t allowed, refused, queries, sent, received; /* totals */
};

struct live_network {
	pthread_mutex_t lock;              /* for all below */
	struct box_network open;           /* the network, with all that was reported */
	struct net_policy policy;          /* in force */
	struct arena arena;                /* owns it */
	const struct net_secrets *secrets; /* of the spec; NULL: none */
	uint16_t bound[NET_PORTS_MAX];     /* ports that the box may have listeners for */
	size_t bound_count;                /* how many */
	struct egress_sockets further;     /* planted by changes; those from the beginning are the engine's */
	struct live_network_mark told;     /* what the results of earlier runs have */
	bool has_sockets;                  /* something was planted: a name server is there */
};

/* NULL: no memory. */
struct live_network *live_network_new(void);
/* NULL is fine. Closes the network. */
void live_network_free(struct live_network *network);
/* Opens it for the job of the place. */
int live_network_open(struct live_network *network, const struct engines *engines, const struct engine_place *place,
		      const struct job *job, struct error *err);
void live_network_end(struct live_network *network);

/* `place` NULL: it has ended. Until live_network_fill() reports go to `io`, too. */
void live_network_mark(struct live_network *network, const struct engines *engines, const struct engine_place *place,
		       const struct engine_io *io, struct live_network_mark *mark);
/* Moves what was reported since then into the result. */
void live_network_fill(struct live_network *network, const struct live_network_mark *mark, struct result *result);
/* Replaces the policy's own list by that of `wanted`. Live connections that the new policy does not allow end. `inside`
 * is as of place_plant(). */
int live_network_change(struct live_network *network, const struct engines *engines, const struct engine_place *place,
			int inside, const struct net_policy *wanted, struct error *err);
