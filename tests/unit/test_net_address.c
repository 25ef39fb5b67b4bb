/* Addresses as data: their spellings, and which of them lead out to the public internet. */
#include "../check.h"

#include "net/net_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

static struct net_address address_of(const char *text)
{
	struct net_address address = { 0 };

	if (!net_address_parse(text, &address))
		check_fail("%s is not parsed", text);
	return address;
}

static void scope_is(const char *text, enum net_scope want)
{
	struct net_address address = address_of(text);
	const enum net_scope got = net_address_scope(&address);

	if (got != want)
		check_fail("%s is %s, not %s", text, net_scope_words(got), net_scope_words(want));
}

/* The first and last address of each special range, and their neighbours outside. */
static const struct {
	const char *before, *first, *last, *after;
	enum net_scope scope, below, above;
} edges[] = {
#define ALONE NET_SCOPE_GLOBAL, NET_SCOPE_GLOBAL
	{ NULL, "0.0.0.0", "0.255.255.255", "1.0.0.0", NET_SCOPE_UNSPECIFIED, ALONE },
	{ "9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0", NET_SCOPE_PRIVATE, ALONE },
	{ "100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0", NET_SCOPE_SHARED, ALONE },
	{ "126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0", NET_SCOPE_LOOPBACK, ALONE },
	{ "168.63.129.15", "168.63.129.16", "168.63.129.16", "168.63.129.17", NET_SCOPE_LINK_LOCAL, ALONE },
	{ "169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0", NET_SCOPE_LINK_LOCAL, ALONE },
	{ "172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0", NET_SCOPE_PRIVATE, ALONE },
	{ "191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0", NET_SCOPE_RESERVED, ALONE },
	{ "192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0", NET_SCOPE_RESERVED, ALONE },
	{ "192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0", NET_SCOPE_RESERVED, ALONE },
	{ "192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0", NET_SCOPE_PRIVATE, ALONE },
	{ "198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0", NET_SCOPE_RESERVED, ALONE },
	{ "198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0", NET_SCOPE_RESERVED, ALONE },
	{ "203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0", NET_SCOPE_RESERVED, ALONE },
	{ "223.255.255.255", "224.0.0.0", "239.255.255.255", "240.0.0.0", NET_SCOPE_MULTICAST, NET_SCOPE_GLOBAL,
	  NET_SCOPE_RESERVED },
	{ "239.255.255.255", "240.0.0.0", "255.255.255.254", "255.255.255.255", NET_SCOPE_RESERVED, NET_SCOPE_MULTICAST,
	  NET_SCOPE_MULTICAST },

	{ NULL, "::", "::", "::1", NET_SCOPE_UNSPECIFIED, NET_SCOPE_GLOBAL, NET_SCOPE_LOOPBACK },
	{ "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2000::", "2000:ffff::", "2001:0:801:801::f7f7:f7f7",
	  NET_SCOPE_GLOBAL, NET_SCOPE_RESERVED, NET_SCOPE_GLOBAL },
	{ "64:ff9a:ffff::", "64:ff9b::808:808", "64:ff9b::dfff:ffff", "64:ff9b:0:0:0:1::", NET_SCOPE_GLOBAL,
	  NET_SCOPE_RESERVED, NET_SCOPE_RESERVED },
	{ "64:ff9b:0:ffff::", "64:ff9b:1::808:808", "64:ff9b:1:ffff:ffff:ffff:808:808",
	  "64:ff9b:2::", NET_SCOPE_PRIVATE, NET_SCOPE_RESERVED, NET_SCOPE_RESERVED },
	{ "ff:ffff::", "100::", "100::ffff:ffff:ffff:ffff", "100:0:0:1::", NET_SCOPE_RESERVED, NET_SCOPE_RESERVED,
	  NET_SCOPE_RESERVED },
	{ "2000:ffff:ffff:ffff::", "2001:1::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
	  "2001:200::", NET_SCOPE_RESERVED, ALONE },
	{ "2001:db7:ffff:ffff::", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
	  "2001:db9::", NET_SCOPE_RESERVED, ALONE },
	{ "3ffd:ffff::", "3ffe::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::", NET_SCOPE_RESERVED, ALONE },
	{ "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "4000::", "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
	  "fc00::", NET_SCOPE_RESERVED, NET_SCOPE_GLOBAL, NET_SCOPE_PRIVATE },
	{ "fbff::", "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fe00::", NET_SCOPE_PRIVATE,
	  NET_SCOPE_RESERVED, NET_SCOPE_RESERVED },
	{ "fe7f:ffff::", "fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fec0::", NET_SCOPE_LINK_LOCAL,
	  NET_SCOPE_RESERVED, NET_SCOPE_PRIVATE },
	{ "febf:ffff::", "fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ff00::", NET_SCOPE_PRIVATE,
	  NET_SCOPE_LINK_LOCAL, NET_SCOPE_MULTICAST },
	{ "feff::", "ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL, NET_SCOPE_MULTICAST, NET_SCOPE_PRIVATE,
	  NET_SCOPE_GLOBAL },
#undef ALONE
};

static void ranges_end_where_the_registries_say(void)
{
	for (size_t i = 0; i < sizeof(edges) / sizeof(*edges); i++) {
		scope_is(edges[i].first, edges[i].scope);
		scope_is(edges[i].last, edges[i].scope);
		if (edges[i].before)
			scope_is(edges[i].before, edges[i].below);
		if (edges[i].after)
			scope_is(edges[i].after, edges[i].above);
	}
}

static void public_addresses_are_public(void)
{
	static const char *const texts[] = {
		"1.1.1.1",
		"8.8.8.8",
		"100.0.0.1",
		"192.31.196.1",
		"192.52.193.1",
		"192.175.48.1",
		"172.64.0.1",
		"198.41.0.4",
		"2606:4700::1111",
		"2a00:1450:4001::200e",
		"2620:4f:8000::",
		"2001:4860:4860::8888",
		"2001:503:ba3e::2:30",
		"2002:808:808::1",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		scope_is(texts[i], NET_SCOPE_GLOBAL);
}

/* Each special IPv4 address, in each form that carries it. */
static void forms_that_carry_an_address_have_its_scope(void)
{
	static const struct {
		const char *address;
		enum net_scope scope;
	} carried[] = {
		{ "127.0.0.1", NET_SCOPE_LOOPBACK },         { "10.0.0.1", NET_SCOPE_PRIVATE },
		{ "172.16.0.1", NET_SCOPE_PRIVATE },         { "192.168.1.1", NET_SCOPE_PRIVATE },
		{ "169.254.169.254", NET_SCOPE_LINK_LOCAL }, { "168.63.129.16", NET_SCOPE_LINK_LOCAL },
		{ "100.100.100.200", NET_SCOPE_SHARED },     { "224.0.0.1", NET_SCOPE_MULTICAST },
		{ "255.255.255.255", NET_SCOPE_MULTICAST },  { "0.1.2.3", NET_SCOPE_UNSPECIFIED },
		{ "198.18.0.1", NET_SCOPE_RESERVED },        { "240.0.0.1", NET_SCOPE_RESERVED },
		{ "192.0.0.192", NET_SCOPE_RESERVED },
	};
	/* How the address's two halves stand in the text; ~ inverts them. */
	static const char *const forms[] = {
		"::ffff:%x:%x",
		"::%x:%x",
		"::ffff:0:%x:%x",
		"64:ff9b::%x:%x",
		"64:ff9b:1::%x:%x",
		"64:ff9b:1:a:b:c:%x:%x",
		"2002:%x:%x::1",
		"2001:0:%x:%x::f7f7:f7f7",
		"2001:0:808:808:0:1234:~%x:%x",
		"2606:4700::5efe:%x:%x",
		"2606:4700::200:5efe:%x:%x",
	};

	for (size_t i = 0; i < sizeof(carried) / sizeof(*carried); i++) {
		const struct net_address v4 = address_of(carried[i].address);
		const unsigned high = v4.bytes[0] << 8 | v4.bytes[1], low = v4.bytes[2] << 8 | v4.bytes[3];

		for (size_t k = 0; k < sizeof(forms) / sizeof(*forms); k++) {
			char text[64], form[64], *tilde;

			snprintf(form, sizeof(form), "%s", forms[k]);
			tilde = strchr(form, '~');
			if (tilde)
				memmove(tilde, tilde + 1, strlen(tilde));
			snprintf(text, sizeof(text), form, tilde ? high ^ 0xffff : high, tilde ? low ^ 0xffff : low);
			scope_is(text, carried[i].scope);
		}
	}
}

/* The control: the same forms around a public address. */
static void forms_that_carry_a_public_address_have_their_own_scope(void)
{
	scope_is("::ffff:8.8.8.8", NET_SCOPE_GLOBAL);
	scope_is("64:ff9b::8.8.8.8", NET_SCOPE_GLOBAL);
	scope_is("2002:808:808::1", NET_SCOPE_GLOBAL);
	scope_is("2001:0:808:808::f7f7:f7f7", NET_SCOPE_GLOBAL);
	scope_is("2606:4700::5efe:808:808", NET_SCOPE_GLOBAL);
	/* Forms that lead to no public host whatever they carry. */
	scope_is("::8.8.8.8", NET_SCOPE_RESERVED);
	scope_is("::ffff:0:8.8.8.8", NET_SCOPE_RESERVED);
	scope_is("64:ff9b:1::8.8.8.8", NET_SCOPE_PRIVATE);
	scope_is("fd00::5efe:808:808", NET_SCOPE_PRIVATE);
}

static void mapped_addresses_become_ipv4(void)
{
	struct net_address mapped = address_of("::ffff:10.1.2.3"), plain = address_of("10.1.2.3");
	struct sockaddr_in6 from = { .sin6_family = AF_INET6, .sin6_port = htons(443) };
	struct net_address got;
	uint16_t port = 0;
	char text[NET_ADDRESS_TEXT];

	CHECK_INT(mapped.family, AF_INET);
	CHECK(net_address_equal(&mapped, &plain));
	CHECK_INT(inet_pton(AF_INET6, "::ffff:10.1.2.3", &from.sin6_addr), 1);
	CHECK(net_address_from((struct sockaddr *)&from, &got, &port));
	CHECK_INT(port, 443);
	CHECK(net_address_equal(&got, &plain));
	net_address_text(&got, text);
	CHECK_STR(text, "10.1.2.3");
}

static void only_strict_spellings_are_parsed(void)
{
	static const char *const bad[] = {
		"",
		" ",
		"1",
		"1.2",
		"1.2.3",
		"1.2.3.4.5",
		"1.2.3.",
		".1.2.3",
		"1..2.3",
		"256.1.1.1",
		"1.1.1.256",
		"1.2.3.4 ",
		" 1.2.3.4",
		"1.2.3.4\n",
		"01.2.3.4",
		"1.2.3.04",
		"0x1.2.3.4",
		"1.2.3.0x4",
		"0177.0.0.1",
		"2130706433",
		"0x7f000001",
		"127.1",
		"+1.2.3.4",
		"-1.2.3.4",
		"1.2.3.4/32",
		"1.2.3.4:80",
		"1e1.2.3.4",
		"１.2.3.4",
		":",
		":::",
		"1:2:3:4:5:6:7",
		"1:2:3:4:5:6:7:8:9",
		"::1::",
		"1::2::3",
		"12345::",
		"::g",
		"::1%lo",
		"fe80::1%eth0",
		"[::1]",
		"::1/128",
		"::1 ",
		"::ffff:1.2.3",
		"::ffff:01.2.3.4",
		"::1.2.3.4.5",
		"1.2.3.4::",
		"::ffff:256.1.1.1",
		"localhost",
		"a.b.c.d",
		":1::",
		"::1:",
	};
	struct net_address address;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (net_address_parse(bad[i], &address))
			check_fail("\"%s\" is parsed", bad[i]);
}

static void texts_are_canonical(void)
{
	static const char *const texts[][2] = {
		{ "1.2.3.4", "1.2.3.4" },
		{ "2001:0DB8:0:0:0:0:0:1", "2001:db8::1" },
		{ "0:0:0:0:0:0:0:0", "::" },
		{ "::ffff:7f00:1", "127.0.0.1" },
		{ "64:ff9b::169.254.169.254", "64:ff9b::a9fe:a9fe" },
		{ "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct net_address address = address_of(texts[i][0]), again;
		char text[NET_ADDRESS_TEXT];

		net_address_text(&address, text);
		CHECK_STR(text, texts[i][1]);
		again = address_of(text);
		CHECK(net_address_equal(&address, &again));
	}
}

static void sockets_addresses_come_back(void)
{
	static const char *const texts[] = { "1.2.3.4", "2001:db8::1" };
	const struct sockaddr_un {
		sa_family_t family;
	} other = { AF_UNIX };
	struct net_address got;
	uint16_t port;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		const struct net_address address = address_of(texts[i]);
		struct sockaddr_storage storage;
		const socklen_t size = net_address_to(&address, 8443, &storage);

		CHECK_INT(size, i == 0 ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
		CHECK(net_address_from((struct sockaddr *)&storage, &got, &port));
		CHECK(net_address_equal(&got, &address));
		CHECK_INT(port, 8443);
	}
	CHECK(!net_address_from((const struct sockaddr *)&other, &got, &port));
}

static void addresses_are_within_ranges(void)
{
	static const struct {
		const char *address, *base;
		unsigned bits;
		bool within;
	} cases[] = {
		{ "10.0.0.5", "10.0.0.0", 8, true },
		{ "11.0.0.5", "10.0.0.0", 8, false },
		{ "10.0.0.5", "10.0.0.4", 31, true },
		{ "10.0.0.6", "10.0.0.4", 31, false },
		{ "10.0.0.5", "10.0.0.5", 32, true },
		{ "10.0.0.4", "10.0.0.5", 32, false },
		{ "255.1.1.1", "0.0.0.0", 0, true },
		{ "10.0.0.5", "10.0.0.5", 33, false },
		{ "::1", "0.0.0.0", 0, false },
		{ "0.0.0.0", "::", 0, false },
		{ "2001:db8::1", "2001:db8::", 32, true },
		{ "2001:db9::1", "2001:db8::", 32, false },
		{ "2001:db8::1", "2001:db8::", 127, true },
		{ "2001:db8::2", "2001:db8::", 127, false },
		{ "::1", "::1", 128, true },
		{ "::1", "::1", 129, false },
		{ "172.31.255.255", "172.16.0.0", 12, true },
		{ "172.32.0.0", "172.16.0.0", 12, false },
	};
	const struct net_address none = { .family = AF_UNSPEC };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct net_address address = address_of(cases[i].address), base = address_of(cases[i].base);

		if (net_address_within(&address, &base, cases[i].bits) != cases[i].within)
			check_fail("%s in %s/%u", cases[i].address, cases[i].base, cases[i].bits);
	}
	CHECK(!net_address_within(&none, &none, 0));
	CHECK(!net_address_equal(&none, &none));
	CHECK_INT(net_address_scope(&none), NET_SCOPE_RESERVED);
}

/* A range is special only as a whole. */
static void ranges_have_a_scope_that_all_addresses_share(void)
{
	static const struct {
		const char *base;
		unsigned bits;
		enum net_scope scope;
	} cases[] = {
		{ "10.0.0.0", 8, NET_SCOPE_PRIVATE },
		{ "10.1.0.0", 16, NET_SCOPE_PRIVATE },
		{ "10.0.0.0", 7, NET_SCOPE_GLOBAL },
		{ "0.0.0.0", 0, NET_SCOPE_GLOBAL },
		{ "10.0.0.5", 32, NET_SCOPE_PRIVATE },
		{ "169.254.169.254", 32, NET_SCOPE_LINK_LOCAL },
		{ "8.8.8.0", 24, NET_SCOPE_GLOBAL },
		{ "168.63.129.0", 24, NET_SCOPE_GLOBAL },
		{ "240.0.0.0", 4, NET_SCOPE_GLOBAL },
		{ "240.0.0.0", 5, NET_SCOPE_RESERVED },
		{ "::", 0, NET_SCOPE_GLOBAL },
		{ "fc00::", 7, NET_SCOPE_PRIVATE },
		{ "fd00::", 8, NET_SCOPE_PRIVATE },
		{ "f800::", 5, NET_SCOPE_GLOBAL },
		{ "64:ff9b::", 96, NET_SCOPE_GLOBAL },
		{ "64:ff9b::a9fe:0", 112, NET_SCOPE_GLOBAL },
		{ "64:ff9b::a9fe:a9fe", 128, NET_SCOPE_LINK_LOCAL },
		{ "2001:db8::", 48, NET_SCOPE_RESERVED },
		{ "2000::", 3, NET_SCOPE_GLOBAL },
		{ "4000::", 3, NET_SCOPE_RESERVED },
		{ "::1", 128, NET_SCOPE_LOOPBACK },
		{ "::", 96, NET_SCOPE_GLOBAL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct net_address base = address_of(cases[i].base);

		if (net_range_scope(&base, cases[i].bits) != cases[i].scope)
			check_fail("%s/%u is %s", cases[i].base, cases[i].bits,
				   net_scope_words(net_range_scope(&base, cases[i].bits)));
	}
}

static void every_scope_has_words(void)
{
	for (int scope = NET_SCOPE_GLOBAL; scope <= NET_SCOPE_RESERVED; scope++) {
		CHECK(strncmp(net_scope_words((enum net_scope)scope), "a", 1) == 0);
		for (int other = NET_SCOPE_GLOBAL; other < scope; other++)
			CHECK(strcmp(net_scope_words((enum net_scope)scope), net_scope_words((enum net_scope)other)) !=
			      0);
	}
	CHECK_STR(net_scope_words((enum net_scope)99), "a reserved address");
}

int main(void)
{
	RUN(ranges_end_where_the_registries_say);
	RUN(public_addresses_are_public);
	RUN(forms_that_carry_an_address_have_its_scope);
	RUN(forms_that_carry_a_public_address_have_their_own_scope);
	RUN(mapped_addresses_become_ipv4);
	RUN(only_strict_spellings_are_parsed);
	RUN(texts_are_canonical);
	RUN(sockets_addresses_come_back);
	RUN(addresses_are_within_ranges);
	RUN(ranges_have_a_scope_that_all_addresses_share);
	RUN(every_scope_has_words);
	return check_failures != 0;
}
