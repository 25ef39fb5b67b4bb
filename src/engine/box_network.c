#include "engine/box_network.h"

#include "base/own.h"
#include "kernel/clone.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	END_MSEC = 2000 /* for egress to report the last connections, which takes a fraction of a millisecond */
};

int box_plant_settle(const struct net_policy *policy, struct box_plant *out, struct error *err)
{
	struct net_needs needs;

	if (net_policy_needs(policy, &needs, err) < 0)
		return -1;
	memcpy(out->ports, needs.ports, needs.port_count * sizeof(*out->ports));
	for (size_t i = 0; i < needs.range_count; i++) {
		out->ranges[i].family = (uint8_t)needs.ranges[i].base.family;
		out->ranges[i].bits = (uint8_t)needs.ranges[i].bits;
		memcpy(out->ranges[i].bytes, needs.ranges[i].base.bytes, sizeof(out->ranges[i].bytes));
	}
	out->plant = (struct net_plant){ .ports = out->ports,
					 .port_count = needs.port_count,
					 .ranges = out->ranges,
					 .range_count = needs.range_count,
					 .everything = needs.everything };
	return 0;
}

bool box_plant_take(const struct net_plant *plant, const int *fds, size_t count, struct egress_sockets *out)
{
	const size_t named = plant->again ? 0 : 2;

	*out = EGRESS_SOCKETS_NONE;
	if (count < named || count - named > EGRESS_LISTENERS_MAX)
		return false;
	if (!plant->again) {
		out->dns_udp = fds[0];
		out->dns_tcp = fds[1];
	}
	memcpy(out->listeners, fds + named, (count - named) * sizeof(*fds));
	out->count = count - named;
	return true;
}

void egress_sockets_close(struct egress_sockets *sockets)
{
	close_fd(&sockets->dns_udp);
	close_fd(&sockets->dns_tcp);
	for (size_t i = 0; i < sockets->count; i++)
		close_fd(&sockets->listeners[i]);
	sockets->count = 0;
}

struct egress_way {
	struct egress_link *shared; /* the service's link; NULL: none */
	struct egress_link own;     /* link to the process that was started here */
	pid_t pid;                  /* that process; 0: not started yet */
};

struct egress_way *egress_way_new(struct egress_link *shared)
{
	struct egress_way *way = calloc(1, sizeof(*way));

	if (way)
		way->shared = shared;
	return way;
}

struct egress_link *egress_way_link(struct egress_way *way, struct error *err)
{
	if (way->shared)
		return way->shared;
	if (way->pid == 0) {
		egress_link_init(&way->own);
		if (egress_start_own("/proc/self/exe", &way->own, &way->pid, err) < 0)
			return NULL;
	}
	return &way->own;
}

void egress_way_free(struct egress_way *way)
{
	if (way && way->pid > 0) {
		egress_link_set(&way->own, -1);
		clone_wait(way->pid, NULL);
	}
	free(way);
}

int box_network_open(struct box_network *network, struct egress_link *link, const struct net_policy *policy,
		     const struct net_secrets *secrets, const struct egress_sockets *sockets, struct error *err)
{
	if (egress_open_secret(link, policy, secrets, sockets, &network->fd, err) < 0)
		return error_prefix(err, "the network");
	return 0;
}

void box_network_read(struct box_network *network)
{
	if (network->lock)
		pthread_mutex_lock(network->lock);
	box_network_read_locked(network);
	if (network->lock)
		pthread_mutex_unlock(network->lock);
}

void box_network_read_locked(struct box_network *network)
{
	const size_t count = network->report.count;
	const uint64_t queries = network->report.queries;

	if (network->fd < 0)
		return;
	if (egress_read(network->fd, &network->report) <= 0)
		close_fd(&network->fd);
	if (network->on_report && (network->report.count != count || network->report.queries != queries))
		network->on_report(&network->report, network->from, network->userdata);
}

void box_network_end(struct box_network *network)
{
	if (network->fd < 0)
		return;
	if (egress_finish(network->fd) < 0 || egress_read_all(network->fd, &network->report, END_MSEC) != 0)
		network->report.gone = true;
	close_fd(&network->fd);
	if (network->on_report)
		network->on_report(&network->report, network->from, network->userdata);
}

void box_network_free(struct box_network *network)
{
	close_fd(&network->fd);
	net_report_free(&network->report);
}
