/*
 * The network of a box: from the job's policy to the report of what the program did with it.
 *
 * An engine plants sockets in the network of its box (kernel/net_plant.h) before the program starts. box_network_open()
 * gives them to egress, which serves them from then on. While the program runs, reports are read as they come. At the
 * end egress closes all connections and reports the rest.
 */
#pragma once

#include "engine/job.h"
#include "kernel/net_plant.h"
#include "net/egress_link.h"

#include <pthread.h>

/* What a job needs planted, in the form for net_plant(). */
struct box_plant {
	struct net_plant plant;                  /* points into the two arrays */
	uint16_t ports[NET_PORTS_MAX];           /* ports to listen on */
	struct net_range ranges[NET_RANGES_MAX]; /* local routes */
};

/* Fills in the needs of the policy. -1: they exceed the limits of a box. */
int box_plant_settle(const struct net_policy *policy, struct box_plant *out, struct error *err);
/* Takes descriptors in the order of net_plant(). False: they do not match, and stay the caller's. */
bool box_plant_take(const struct net_plant *plant, const int *fds, size_t count, struct egress_sockets *out);

#define EGRESS_SOCKETS_NONE                                                                                            \
	(struct egress_sockets)                                                                                        \
	{                                                                                                              \
		.dns_udp = -1, .dns_tcp = -1                                                                           \
	}
/* Closes the sockets. */
void egress_sockets_close(struct egress_sockets *sockets);

/* The link to the process that connects out: the service's, or one that this process starts when it first needs it. */
struct egress_way;

/* `shared` NULL: this process starts its own. NULL: memory ran out. */
struct egress_way *egress_way_new(struct egress_link *shared);
/* NULL: the process cannot be started. */
struct egress_link *egress_way_link(struct egress_way *way, struct error *err);
/* Ends the process if it was started here. `way` may be NULL. */
void egress_way_free(struct egress_way *way);

/* An open network. */
struct box_network {
	int fd;                   /* the egress socket; -1: none */
	struct net_report report; /* the report so far */
	void (*on_report)(const struct net_report *report, size_t from,
			  void *userdata); /* called when there is more; or NULL */
	size_t from;                       /* the first new connection in the report */
	void *userdata;                    /* its argument */
	pthread_mutex_t *lock;             /* held by box_network_read() if several threads use the network; or NULL */
};
#define BOX_NETWORK_NONE                                                                                               \
	(struct box_network)                                                                                           \
	{                                                                                                              \
		.fd = -1                                                                                               \
	}

/* -1: egress cannot be reached, or refuses. */
int box_network_open(struct box_network *network, struct egress_link *link, const struct net_policy *policy,
		     const struct net_secrets *secrets, const struct egress_sockets *sockets, struct error *err);
/* Reads new reports. Does not block. */
void box_network_read(struct box_network *network);
/* box_network_read() with the lock held. */
void box_network_read_locked(struct box_network *network);
/* Ends all connections and reads the rest of the report, which stays valid until box_network_free(). */
void box_network_end(struct box_network *network);
void box_network_free(struct box_network *network);
