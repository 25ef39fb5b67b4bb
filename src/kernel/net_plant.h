/*
 * What is planted in a box's empty network so that egress (daemon/egress/) can serve it: local routes and sockets.
 *
 * A `local` route for a range of addresses makes the box itself the owner of all of them (AnyIP). A connection to one
 *of them stays on lo and ends at a listener in this network. The listeners belong to this network, whatever process
 *holds them. getsockname() of an accepted socket is the address and the port that the program asked for; there is no
 * SO_ORIGINAL_DST. There are two ways to the listeners:
 *
 *	steered  If the kernel has nftables with tproxy, connections to the policy's ports reach one listener for each
 *	         family, on an address that no program can reach. The loopback's addresses (127.0.0.0/8, ::1) and lo's
 *	         own are not touched: programs can listen on any address and port, also on a port of the policy
 *	         (on every address with SO_REUSEADDR alone, while connections to that port are alive).
 *	bound    Otherwise each port of the policy has a listener on every address. Programs cannot listen on these
 *ports (EADDRINUSE), on which below 1024 they cannot listen anyway. Connections to the loopback's addresses on these
 *ports end at egress, which resets them. `everything` fails.
 *
 * Either way, an address that is not planted is ENETUNREACH at once (EADDRNOTAVAIL in IPv6 if that is disabled), and a
 * port that is not the policy's ECONNREFUSED.
 * With `everything`, every TCP connection reaches the listener, and everything else is EPERM at once, except to the
 * box's own addresses. UDP to planted addresses is ECONNREFUSED without `everything`.
 *
 * IPv6 is planted for a range of IPv6, and for `everything`, if the kernel has IPv6. Otherwise lo has no address of
 * IPv6 but ::1, so that resolvers ask for A alone (AI_ADDRCONFIG). Names have synthetic addresses of IPv4 alone; egress
 * connects to them over both.
 *
 * icmp_echo_ignore_all stays as it is: a program in a box cannot send an echo request. It has no raw sockets, the
 *filter refuses datagram sockets of ICMP, and the ping_group_range of a new network is empty.
 *
 * Called in the box's network with lo up, with CAP_NET_ADMIN and CAP_NET_BIND_SERVICE over it, by a process that
 * allocates nothing: 0, or -1 with errno.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The range of the addresses that stand for names: 198.18.0.0/15. The last is lo's own, so that programs that look for
 * an interface with IPv4 find one. Connections come from there. */
#define NET_PLANT_BASE "198.18.0.0"
#define NET_PLANT_BITS 15
#define NET_PLANT_OWN  "198.19.255.254"
/* The same in IPv6: fd00:eb::/32. */
#define NET_PLANT_BASE6 "fd00:eb::"
#define NET_PLANT_BITS6 32
#define NET_PLANT_OWN6  "fd00:eb::1"
/* Where the name server listens, as /etc/resolv.conf says. */
#define NET_PLANT_DNS "127.0.0.53"
/* Where connections are steered to: the dummy address of RFC 7600, and one of the discard prefix of RFC 6666. */
#define NET_PLANT_LISTENER      "192.0.0.8"
#define NET_PLANT_LISTENER6     "100::1"
#define NET_PLANT_LISTENER_PORT 1

enum {
	NET_PLANT_SOCKETS_MAX = 80 /* that net_plant() makes at most */
};

struct net_range {
	uint8_t family;    /* AF_INET, AF_INET6 */
	uint8_t bits;      /* of the range */
	uint8_t bytes[16]; /* its base */
};

struct net_plant {
	const uint16_t *ports;          /* of the policy */
	size_t port_count;              /* how many */
	const uint16_t *bound;          /* with `again`: ports that have a listener already */
	size_t bound_count;             /* how many */
	const struct net_range *ranges; /* local routes beside the synthetic range */
	size_t range_count;             /* how many */
	bool everything;                /* public: every address and port */
	bool again;                     /* a policy was planted here before: this one replaces it */
	bool never_steer; /* the kernel is known to have no tproxy: saves a try, which may start modprobe */
};

/*
 * fds: the name server's UDP socket and TCP listener (not with `again`), then the listeners: two at most if *steered,
 * otherwise one for each port at most. All are close-on-exec and non-blocking. *count: how many. With `again`,
 * listeners that are there stay, and only those that are missing are made; routes that the policy does not have are
 * dropped.
 *
 * On failure there are no descriptors, and part of the rest may be planted. EINVAL: a range of the loopback's
 * addresses. EADDRINUSE: a program listens on a port of the policy (bound). With `everything`: EPROTONOSUPPORT,
 * EOPNOTSUPP, ENOENT, EPERM: there is no nftables, no tproxy, or the host does not let us.
 */
int net_plant(const struct net_plant *plant, int *fds, size_t *count, bool *steered);

/* Tries what was planted: 0 if an address outside is ENETUNREACH in IPv4 and IPv6, or UDP to it EPERM with
 * `everything`; -1 with EEXIST otherwise. An address outside that is within a range is not tried. */
int net_plant_prove(const struct net_plant *plant);
