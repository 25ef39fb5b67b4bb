#include "live/live_network.h"

#include "base/own.h"
#include "result/result_network.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct live_network *live_network_new(void)
{
	struct live_network *network = calloc(1, sizeof(*network));

	if (!network)
		return NULL;
	pthread_mutex_init(&network->lock, NULL);
	network->open = BOX_NETWORK_NONE;
	network->further = EGRESS_SOCKETS_NONE;
	network->open.lock = &network->lock;
	return network;
}

void live_network_free(struct live_network *network)
{
	if (!network)
		return;
	box_network_free(&network->open);
	egress_sockets_close(&network->further);
	arena_free(&network->arena);
	pthread_mutex_destroy(&network->lock);
	free(network);
}

/* A copy that refers to nothing of the original's. */
static int copy_policy(const struct net_policy *from, struct arena *arena, struct net_policy *out, struct error *err)
{
	_cleanup_buf_ struct buf text = { 0 };

	net_policy_write(from, &text);
	if (text.failed)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the network's rules");
	return net_policy_read(text.data, text.size, arena, out, err);
}

static bool has_port(const struct live_network *network, uint16_t port)
{
	for (size_t i = 0; i < network->bound_count; i++)
		if (network->bound[i] == port)
			return true;
	return false;
}

/* Ports that the network may have listeners for from now on. -1: there are too many in all. */
static int remember_ports(struct live_network *network, const struct net_plant *plant)
{
	for (size_t i = 0; i < plant->port_count; i++) {
		if (has_port(network, plant->ports[i]))
			continue;
		if (network->bound_count >= NET_PORTS_MAX)
			return -1;
		network->bound[network->bound_count++] = plant->ports[i];
	}
	network->has_sockets = true;
	return 0;
}

int live_network_open(struct live_network *network, const struct engines *engines, const struct engine_place *place,
		      const struct job *job, struct error *err)
{
	if (!job->network)
		return 0;
	if (copy_policy(job->network, &network->arena, &network->policy, err) < 0)
		return -1;
	remember_ports(network, job->plant);
	/* The spec of a container is gone once it lives. */
	network->secrets = job->session ? job->secrets : NULL;
	return engines_network_open(engines, job->network, job->secrets, place->engine->place_sockets(place),
				    &network->open, err);
}

/* Adds copies of the numbers. */
static void add_sockets(struct egress_sockets *all, const struct egress_sockets *more)
{
	if (more->dns_udp >= 0) {
		all->dns_udp = more->dns_udp;
		all->dns_tcp = more->dns_tcp;
	}
	for (size_t i = 0; i < more->count && all->count < EGRESS_LISTENERS_MAX; i++)
		all->listeners[all->count++] = more->listeners[i];
}

/* With the lock held: egress may have been started again since the last run. If this fails, the program's connections
 * are reset. */
static void reopen(struct live_network *network, const struct engines *engines, const struct engine_place *place)
{
	struct egress_sockets all = network->further;
	struct error ignored;

	if (network->open.fd >= 0 || net_policy_is_none(&network->policy))
		return;
	add_sockets(&all, place->engine->place_sockets(place));
	engines_network_open(engines, &network->policy, network->secrets, &all, &network->open, &ignored);
}

void live_network_end(struct live_network *network)
{
	pthread_mutex_lock(&network->lock);
	box_network_end(&network->open);
	pthread_mutex_unlock(&network->lock);
}

void live_network_mark(struct live_network *network, const struct engines *engines, const struct engine_place *place,
		       const struct engine_io *io, struct live_network_mark *mark)
{
	pthread_mutex_lock(&network->lock);
	box_network_read_locked(&network->open);
	/* What came since the last run counts for this one, so that nothing is left out. */
	*mark = network->told;
	if (place)
		reopen(network, engines, place);
	network->open.on_report = io ? io->on_network : NULL;
	network->open.userdata = io ? io->userdata : NULL;
	network->open.from = mark->count;
	pthread_mutex_unlock(&network->lock);
}

/* An egress that was started again counts from 0. */
static uint64_t count_since(uint64_t now, uint64_t then)
{
	return now >= then ? now - then : now;
}

void live_network_fill(struct live_network *network, const struct live_network_mark *mark, struct result *result)
{
	const struct net_report *report = &network->open.report;
	struct net_report part;

	pthread_mutex_lock(&network->lock);
	box_network_read_locked(&network->open);
	network->open.on_report = NULL;
	part = (struct net_report){
		.allowed = count_since(report->allowed, mark->allowed),
		.refused = count_since(report->refused, mark->refused),
		.queries = count_since(report->queries, mark->queries),
		.sent = count_since(report->sent, mark->sent),
		.received = count_since(report->received, mark->received),
		.lost = report->lost,
		.gone = report->gone,
	};
	if (report->count > mark->count)
		part.connections = malloc((report->count - mark->count) * sizeof(*part.connections));
	if (part.connections) {
		part.count = report->count - mark->count;
		memcpy(part.connections, report->connections + mark->count, part.count * sizeof(*part.connections));
	}
	network->told = (struct live_network_mark){
		.count = report->count,
		.allowed = report->allowed,
		.refused = report->refused,
		.queries = report->queries,
		.sent = report->sent,
		.received = report->received,
	};
	result_set_network(result, net_policy_is_none(&network->policy) ? NULL : &network->policy, &part);
	pthread_mutex_unlock(&network->lock);
}

static int plant_more(struct live_network *network, const struct engine_place *place, int inside,
		      const struct net_policy *policy, struct egress_sockets *sockets, struct error *err)
{
	uint16_t bound[NET_PORTS_MAX];
	struct box_plant wanted;

	if (box_plant_settle(policy, &wanted, err) < 0)
		return -1;
	if (!place->engine->place_plant)
		return error_refuse(err, CODE_CANNOT_ENFORCE, "network",
				    "this engine cannot change the network of a place that lives");
	memcpy(bound, network->bound, sizeof(bound));
	wanted.plant.bound = bound;
	wanted.plant.bound_count = network->bound_count;
	wanted.plant.again = network->has_sockets;
	if (remember_ports(network, &wanted.plant) < 0)
		return error_field(err, "network", "the session had more than %d different ports in all",
				   NET_PORTS_MAX);
	return place->engine->place_plant(place, inside, &wanted.plant, sockets, err);
}

static int change(struct live_network *network, const struct engines *engines, const struct engine_place *place,
		  int inside, const struct net_policy *policy, struct error *err)
{
	struct egress_sockets sockets = EGRESS_SOCKETS_NONE;
	int done = 0;

	if (!net_policy_is_none(policy) && plant_more(network, place, inside, policy, &sockets, err) < 0)
		return -1;
	if (network->open.fd >= 0)
		done = egress_change(network->open.fd, policy, &sockets, err);
	else if (!net_policy_is_none(policy))
		done = engines_network_open(engines, policy, network->secrets, &sockets, &network->open, err);
	/* Kept for egress when it is started again. */
	add_sockets(&network->further, &sockets);
	return done;
}

int live_network_change(struct live_network *network, const struct engines *engines, const struct engine_place *place,
			int inside, const struct net_policy *wanted, struct error *err)
{
	struct arena arena = { 0 };
	struct net_policy policy;
	int done;

	if (copy_policy(wanted, &arena, &policy, err) < 0) {
		arena_free(&arena);
		return -1;
	}
	pthread_mutex_lock(&network->lock);
	done = change(network, engines, place, inside, &policy, err);
	if (done == 0) {
		arena_free(&network->arena);
		network->arena = arena;
		network->policy = policy;
		arena = (struct arena){ 0 };
	}
	pthread_mutex_unlock(&network->lock);
	arena_free(&arena);
	return done;
}
