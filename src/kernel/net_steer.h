/*
 * nftables in a box's own network: TCP connections to addresses that the network does not have are steered to one
 * listener. See docs/decisions/planted-network.md.
 *
 * The kernel patches its code when the first of all networks gets such rules, and when the last one ends. That takes
 * longer than the rules themselves: a process that plants often had better keep one network that has some.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct net_steer {
	const uint16_t *ports; /* that are steered */
	size_t port_count;
	bool everything; /* every port is, and what is not TCP is refused */
	bool six;        /* IPv6 as well */
	bool again;      /* the network has such rules already */
};

/* Replaces the rules of this network. -1 with errno: the rules are as before. EPROTONOSUPPORT, EOPNOTSUPP, ENOENT: the
 * kernel has no nftables, or not what these rules use. */
int net_steer(const struct net_steer *steer);
