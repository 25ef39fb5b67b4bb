/* Network policies for tests: from texts, and at random from a pool of rules. */
#pragma once

#include "../check.h"

#include "net/net_policy.h"

#include <stdint.h>

/* A policy of lists, each as its text; NULL ends them. */
#define LISTS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static inline void make_policy(const char *const *lists, struct arena *arena, struct net_policy *policy)
{
	struct error err = { 0 };

	*policy = (struct net_policy){ .connections = NET_CONNECTIONS_DEFAULT, .rate = NET_RATE_DEFAULT };
	for (; *lists; lists++)
		if (net_list_parse(*lists, arena, &policy->lists[policy->list_count++], &err) < 0)
			check_fail("%s: %s", *lists, err.text);
}

static uint64_t chance_state;

/* The same numbers in every run. */
static inline unsigned chance(unsigned most)
{
	chance_state = chance_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(chance_state >> 33) % most;
}

static const char *const pool_rules[] = {
	"a.example",
	"a.example:443",
	"a.example:22+8080",
	"b.a.example#private",
	"*.a.example",
	"*.a.example:22#no-sni",
	"*.b.a.example",
	"public",
	"public#no-sni",
	"10.0.0.0/8:80+443",
	"10.0.0.5:22",
	"10.0.0.5:443",
	"10.0.0.0/7:443+80",
	"0.0.0.0/0:443",
	"[::/0]:80+443",
	"[fd00::/8]:443",
	"169.254.169.254:80",
	"host:443",
	"GET https://a.example/x/*",
	"* https://a.example/*",
	"POST https://b.a.example/y",
	"a.example#terminate",
	"c#no-sni+private",
	"GET https://*.a.example/x*#private",
};

static const char *const pool_hosts[] = {
	"a.example", "b.a.example",     "c.b.a.example", "c",       "host",         "x.org",
	"10.0.0.5",  "10.1.1.1",        "8.8.8.8",       "fd00::1", "2606:4700::1", "169.254.169.254",
	"127.0.0.1", "::ffff:10.0.0.5",
};

static const unsigned pool_ports[] = { 0, 22, 80, 443, 8080, 9 };
static const char *const pool_methods[] = { NULL, "GET", "POST", "CONNECT" };
static const char *const pool_paths[] = { "/", "/x/1", "/x/../y", "/y", "/%78/1" };
#define POOL(pool) (pool)[chance(sizeof(pool) / sizeof(*(pool)))]

static inline void random_list(struct arena *arena, struct net_list *list)
{
	_cleanup_buf_ struct buf text = { 0 };
	const unsigned count = chance(6);
	struct error err = { 0 };

	for (unsigned i = 0; i < count; i++)
		CHECK_INT(net_rule_from_text(POOL(pool_rules), &text, &err), 0);
	CHECK_INT(net_list_parse(count > 0 ? text.data : "none", arena, list, &err), 0);
}

static inline void random_policy(struct arena *arena, struct net_policy *policy, size_t lists)
{
	*policy = (struct net_policy){ .list_count = lists,
				       .host_allowed = chance(2),
				       .rate = chance(100),
				       .connections = 1 + chance(100),
				       .total = chance(2) ? UINT64_MAX : 0,
				       .connections_total = chance(2) ? UINT32_MAX : 0 };
	for (size_t i = 0; i < lists; i++)
		random_list(arena, &policy->lists[i]);
}
