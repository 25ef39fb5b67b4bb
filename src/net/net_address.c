#include "net/net_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

/* The special-purpose registries of IANA (RFC 6890 and what was added since), and what is not in them but leads to no
 * public host. The longest prefix decides. The few anycast services that the registries call reachable (192.0.0.9,
 * 192.0.0.10, 2001:1::1 to ::3, 2001:3::/32, 2001:4:112::/48, ORCHIDv2, DRIP) stay with the block around them: no
 * program connects there by TCP. AS112 and AMT have blocks of their own, and are public. */
struct scope_range {
	uint8_t bytes[16]; /* the base */
	uint8_t bits;
	uint8_t scope; /* enum net_scope */
};

static const struct scope_range ranges4[] = {
	{ { 0 }, 0, NET_SCOPE_GLOBAL },
	{ { 0 }, 8, NET_SCOPE_UNSPECIFIED }, /* RFC 791: "this network"; Linux takes 0.0.0.0 as the machine itself */
	{ { 10 }, 8, NET_SCOPE_PRIVATE },
	{ { 100, 64 }, 10, NET_SCOPE_SHARED },
	{ { 127 }, 8, NET_SCOPE_LOOPBACK },
	{ { 168, 63, 129, 16 }, 32, NET_SCOPE_LINK_LOCAL }, /* Azure's host, with its metadata: a public address */
	{ { 169, 254 }, 16, NET_SCOPE_LINK_LOCAL },
	{ { 172, 16 }, 12, NET_SCOPE_PRIVATE },
	{ { 192, 0, 0 }, 24, NET_SCOPE_RESERVED },   /* protocol assignments; Oracle's metadata at .192 */
	{ { 192, 0, 2 }, 24, NET_SCOPE_RESERVED },   /* documentation */
	{ { 192, 88, 99 }, 24, NET_SCOPE_RESERVED }, /* 6to4 relays, given up by RFC 7526 */
	{ { 192, 168 }, 16, NET_SCOPE_PRIVATE },
	{ { 198, 18 }, 15, NET_SCOPE_RESERVED },      /* benchmarks */
	{ { 198, 51, 100 }, 24, NET_SCOPE_RESERVED }, /* documentation */
	{ { 203, 0, 113 }, 24, NET_SCOPE_RESERVED },  /* documentation */
	{ { 224 }, 4, NET_SCOPE_MULTICAST },
	{ { 240 }, 4, NET_SCOPE_RESERVED },
	{ { 255, 255, 255, 255 }, 32, NET_SCOPE_MULTICAST }, /* limited broadcast */
};

static const struct scope_range ranges6[] = {
	{ { 0 }, 0, NET_SCOPE_RESERVED }, /* only 2000::/3 is assigned as global unicast */
	{ { 0 }, 128, NET_SCOPE_UNSPECIFIED },
	{ { [15] = 1 }, 128, NET_SCOPE_LOOPBACK },
	{ { 0x00, 0x64, 0xff, 0x9b }, 96, NET_SCOPE_GLOBAL },              /* NAT64 */
	{ { 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01 }, 48, NET_SCOPE_PRIVATE }, /* NAT64 of this network, RFC 8215 */
	{ { 0x20 }, 3, NET_SCOPE_GLOBAL },
	{ { 0x20, 0x01 }, 23, NET_SCOPE_RESERVED },             /* protocol assignments, ORCHID */
	{ { 0x20, 0x01, 0x00, 0x00 }, 32, NET_SCOPE_GLOBAL },   /* Teredo */
	{ { 0x20, 0x01, 0x0d, 0xb8 }, 32, NET_SCOPE_RESERVED }, /* documentation */
	{ { 0x3f, 0xfe }, 16, NET_SCOPE_RESERVED },             /* 6bone, returned by RFC 3701 */
	{ { 0x3f, 0xff }, 20, NET_SCOPE_RESERVED },             /* documentation, RFC 9637 */
	{ { 0xfc }, 7, NET_SCOPE_PRIVATE },
	{ { 0xfe, 0x80 }, 10, NET_SCOPE_LINK_LOCAL },
	{ { 0xfe, 0xc0 }, 10, NET_SCOPE_PRIVATE }, /* site-local, deprecated by RFC 3879 */
	{ { 0xff }, 8, NET_SCOPE_MULTICAST },
};

/* Where IPv6 addresses carry an IPv4 address. */
static const struct carrier_range {
	uint8_t bytes[16];
	uint8_t bits;
	uint8_t at;     /* the byte where it stands */
	uint8_t invert; /* 0xff: its bits are inverted */
} carriers[] = {
	{ { 0 }, 96, 12, 0 },                                  /* compatible, deprecated by RFC 4291 */
	{ { [10] = 0xff, [11] = 0xff }, 96, 12, 0 },           /* mapped */
	{ { [8] = 0xff, [9] = 0xff }, 96, 12, 0 },             /* translated, RFC 7915 */
	{ { 0x00, 0x64, 0xff, 0x9b }, 96, 12, 0 },             /* NAT64 */
	{ { 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01 }, 48, 12, 0 }, /* and of this network */
	{ { 0x20, 0x02 }, 16, 2, 0 },                          /* 6to4 */
	{ { 0x20, 0x01, 0x00, 0x00 }, 32, 4, 0 },              /* Teredo: the server */
	{ { 0x20, 0x01, 0x00, 0x00 }, 32, 12, 0xff },          /* and the client */
};

static unsigned family_bits(sa_family_t family)
{
	return family == AF_INET ? 32 : family == AF_INET6 ? 128 : 0;
}

static bool prefix_equal(const uint8_t *a, const uint8_t *b, unsigned bits)
{
	const unsigned whole = bits / 8, rest = bits % 8;

	if (memcmp(a, b, whole) != 0)
		return false;
	return rest == 0 || ((a[whole] ^ b[whole]) >> (8 - rest)) == 0;
}

static bool is_mapped(const uint8_t *bytes)
{
	return prefix_equal(bytes, carriers[1].bytes, carriers[1].bits);
}

static void set_address(struct net_address *address, sa_family_t family, const uint8_t *bytes)
{
	*address = (struct net_address){ .family = family };
	if (family == AF_INET6 && is_mapped(bytes)) {
		address->family = AF_INET;
		bytes += 12;
	}
	memcpy(address->bytes, bytes, family_bits(address->family) / 8);
}

bool net_address_parse(const char *text, struct net_address *address)
{
	uint8_t bytes[16];

	/* glibc's inet_pton() refuses leading zeros, short forms, other bases and zones. */
	if (inet_pton(AF_INET, text, bytes) == 1) {
		set_address(address, AF_INET, bytes);
		return true;
	}
	if (inet_pton(AF_INET6, text, bytes) == 1) {
		set_address(address, AF_INET6, bytes);
		return true;
	}
	return false;
}

void net_address_text(const struct net_address *address, char out[NET_ADDRESS_TEXT])
{
	if (!family_bits(address->family) || !inet_ntop(address->family, address->bytes, out, NET_ADDRESS_TEXT))
		*out = '\0';
}

bool net_address_from(const struct sockaddr *from, struct net_address *address, uint16_t *port)
{
	if (from->sa_family == AF_INET) {
		struct sockaddr_in v4;

		memcpy(&v4, from, sizeof(v4));
		set_address(address, AF_INET, (const uint8_t *)&v4.sin_addr);
		*port = ntohs(v4.sin_port);
		return true;
	}
	if (from->sa_family == AF_INET6) {
		struct sockaddr_in6 v6;

		memcpy(&v6, from, sizeof(v6));
		set_address(address, AF_INET6, v6.sin6_addr.s6_addr);
		*port = ntohs(v6.sin6_port);
		return true;
	}
	return false;
}

socklen_t net_address_to(const struct net_address *address, uint16_t port, struct sockaddr_storage *to)
{
	memset(to, 0, sizeof(*to));
	if (address->family == AF_INET) {
		struct sockaddr_in *v4 = (struct sockaddr_in *)to;

		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		memcpy(&v4->sin_addr, address->bytes, 4);
		return sizeof(*v4);
	}
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)to;

	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(port);
	memcpy(&v6->sin6_addr, address->bytes, 16);
	return sizeof(*v6);
}

static const struct scope_range *ranges_of(sa_family_t family, size_t *count)
{
	*count = family == AF_INET ? sizeof(ranges4) / sizeof(*ranges4) : sizeof(ranges6) / sizeof(*ranges6);
	return family == AF_INET ? ranges4 : ranges6;
}

/* The longest range of the table that contains this one. */
static const struct scope_range *range_around(sa_family_t family, const uint8_t *bytes, unsigned bits)
{
	size_t count;
	const struct scope_range *table = ranges_of(family, &count), *longest = table;

	for (size_t i = 1; i < count; i++)
		if (table[i].bits <= bits && table[i].bits > longest->bits &&
		    prefix_equal(bytes, table[i].bytes, table[i].bits))
			longest = &table[i];
	return longest;
}

/* ISATAP (RFC 5214) can have any prefix: the interface's half begins with 0000:5efe or 0200:5efe. */
static bool is_isatap(const uint8_t *bytes)
{
	return (bytes[8] & ~2) == 0 && bytes[9] == 0 && bytes[10] == 0x5e && bytes[11] == 0xfe;
}

static enum net_scope carried_scope(const uint8_t *at, uint8_t invert)
{
	uint8_t bytes[4];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = at[i] ^ invert;
	return range_around(AF_INET, bytes, 32)->scope;
}

enum net_scope net_address_scope(const struct net_address *address)
{
	const uint8_t *bytes = address->bytes;
	enum net_scope own, carried;

	if (!family_bits(address->family))
		return NET_SCOPE_RESERVED;
	const struct scope_range *around = range_around(address->family, bytes, family_bits(address->family));

	own = around->scope;
	if (address->family == AF_INET || around->bits == 128)
		return own;
	for (size_t i = 0; i < sizeof(carriers) / sizeof(*carriers); i++) {
		if (!prefix_equal(bytes, carriers[i].bytes, carriers[i].bits))
			continue;
		carried = carried_scope(bytes + carriers[i].at, carriers[i].invert);
		if (carried != NET_SCOPE_GLOBAL)
			return carried;
		/* Mapped: nothing else than what it carries. */
		if (is_mapped(bytes))
			return carried;
	}
	if (own == NET_SCOPE_GLOBAL && is_isatap(bytes))
		return carried_scope(bytes + 12, 0);
	return own;
}

enum net_scope net_range_scope(const struct net_address *base, unsigned bits)
{
	const unsigned most = family_bits(base->family);
	size_t count;
	const struct scope_range *table = ranges_of(base->family, &count);

	if (bits >= most)
		return net_address_scope(base);
	const enum net_scope scope = range_around(base->family, base->bytes, bits)->scope;

	/* Another scope within it. */
	for (size_t i = 1; i < count; i++)
		if (table[i].bits > bits && table[i].scope != scope && prefix_equal(base->bytes, table[i].bytes, bits))
			return NET_SCOPE_GLOBAL;
	return scope;
}

const char *net_scope_words(enum net_scope scope)
{
	static const char *const words[] = {
		[NET_SCOPE_GLOBAL] = "a public address",
		[NET_SCOPE_LOOPBACK] = "a loopback address",
		[NET_SCOPE_PRIVATE] = "a private address",
		[NET_SCOPE_LINK_LOCAL] = "a link-local or metadata address",
		[NET_SCOPE_SHARED] = "an address of a provider's own network (carrier-grade NAT)",
		[NET_SCOPE_MULTICAST] = "a multicast or broadcast address",
		[NET_SCOPE_UNSPECIFIED] = "an unspecified address",
		[NET_SCOPE_RESERVED] = "a reserved address",
	};

	return (unsigned)scope < sizeof(words) / sizeof(*words) ? words[scope] : words[NET_SCOPE_RESERVED];
}

bool net_address_within(const struct net_address *address, const struct net_address *base, unsigned bits)
{
	return family_bits(base->family) && address->family == base->family && bits <= family_bits(base->family) &&
	       prefix_equal(address->bytes, base->bytes, bits);
}

bool net_address_equal(const struct net_address *a, const struct net_address *b)
{
	return net_address_within(a, b, family_bits(b->family));
}
