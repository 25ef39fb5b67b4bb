/*
 * What is planted in a box's empty network so that it can be reached from outside: local routes and listening sockets.
 *
 * A `local` route for a range of addresses on lo makes the box itself the owner of them all (AnyIP), so that a listener
 * on every address of the box receives what is sent to each of them; its accepted sockets tell by getsockname() which.
 * The sockets stay in this network, whoever holds them. Called in the box's network, with CAP_NET_ADMIN and
 * CAP_NET_BIND_SERVICE over it, by a process that allocates nothing: 0, or -1 with errno.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The range of the addresses that stand for names: 198.18.0.0/15. The last is lo's own, so that programs that look for
 * an interface with IPv4 find one. */
#define NET_PLANT_BASE "198.18.0.0"
#define NET_PLANT_BITS 15
#define NET_PLANT_OWN "198.19.255.254"
/* Where the name server listens, as /etc/resolv.conf says. */
#define NET_PLANT_DNS "127.0.0.53"
/* The port of public's listener, which nothing connects to by itself. */
#define NET_PLANT_PUBLIC_PORT 1

struct net_range {
	uint8_t family;    /* AF_INET, AF_INET6 */
	uint8_t bits;      /* of the range */
	uint8_t bytes[16]; /* its base */
};

struct net_plant {
	const uint16_t *ports;          /* a listener for each */
	size_t port_count;
	const struct net_range *ranges; /* local routes beside the synthetic range */
	size_t range_count;
	bool everything; /* public: every address is redirected (nftables) to one listener, the last of fds */
	bool again;      /* the network has routes and name server already: only what is new */
};

/* fds: the name server's UDP socket and TCP listener (not with `again`), then a listener for each port, then that of
 * `everything`. All close-on-exec. *count: how many. */
int net_plant(const struct net_plant *plant, int *fds, size_t *count);
