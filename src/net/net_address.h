/* IPv4 and IPv6 addresses as data: their text, and which of them lead out of this machine and its private networks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum {
	NET_ADDRESS_TEXT = 46 /* bytes of an address as text, its NUL included */
};

struct net_address {
	sa_family_t family; /* AF_INET or AF_INET6; an IPv4-mapped IPv6 address is never stored: it is AF_INET */
	uint8_t bytes[16];  /* in network order; the first four of AF_INET */
};

enum net_scope {
	NET_SCOPE_GLOBAL,      /* the public internet */
	NET_SCOPE_LOOPBACK,    /* 127.0.0.0/8, ::1 */
	NET_SCOPE_PRIVATE,     /* 10/8, 172.16/12, 192.168/16, fc00::/7 */
	NET_SCOPE_LINK_LOCAL,  /* 169.254/16, fe80::/10, with the metadata services of clouds */
	NET_SCOPE_SHARED,      /* 100.64/10: carrier-grade NAT */
	NET_SCOPE_MULTICAST,   /* 224/4, 255.255.255.255, ff00::/8 */
	NET_SCOPE_UNSPECIFIED, /* 0/8, :: */
	NET_SCOPE_RESERVED     /* documentation, benchmarks (198.18/15), 240/4, and what is not assigned for use */
};

/* The strict spellings only: dotted decimal without leading zeros, RFC 4291 without a zone. False: it is none. */
bool net_address_parse(const char *text, struct net_address *address);
/* As inet_ntop() writes it. */
void net_address_text(const struct net_address *address, char out[NET_ADDRESS_TEXT]);
/* From a socket's address; *port in host order. False: another family. */
bool net_address_from(const struct sockaddr *from, struct net_address *address, uint16_t *port);
/* To one; the size of it. */
socklen_t net_address_to(const struct net_address *address, uint16_t port, struct sockaddr_storage *to);
/* Addresses that carry an IPv4 address (mapped, compatible, NAT64 with the well-known and the local prefix, 6to4,
 * Teredo) have the scope of what they carry, or their own if that is not global. */
enum net_scope net_address_scope(const struct net_address *address);
/* The scope that all addresses of a range share because a single special range contains it; NET_SCOPE_GLOBAL if none
 * does. */
enum net_scope net_range_scope(const struct net_address *base, unsigned bits);
/* "a loopback address", for sentences. */
const char *net_scope_words(enum net_scope scope);
/* False for addresses of different families, and for bits that the family does not have. */
bool net_address_within(const struct net_address *address, const struct net_address *base, unsigned bits);
bool net_address_equal(const struct net_address *a, const struct net_address *b);
