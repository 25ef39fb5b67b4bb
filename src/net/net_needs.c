/* What a policy needs in the box's network: ports to listen on, and ranges that the box has to take for its own. */
#include "net/net_policy.h"

#include <string.h>

enum {
	PORT_WORDS = 65536 / 64
};

/* Ports, a bit for each. */
struct port_set {
	uint64_t words[PORT_WORDS];
};

/* A range that rules give. A special one gives all its addresses, which are not public; another only its public ones.
 * So the two have nothing in common even where one contains the other. */
struct range_item {
	struct net_address base;
	unsigned bits;
	bool special;
};

/* Ranges of which none contains another of the same kind. */
struct range_set {
	struct range_item items[NET_RANGES_MAX + 2];
	size_t count;
};

static bool list_is_public(const struct net_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->rules[i].kind == NET_RULE_PUBLIC)
			return true;
	return false;
}

bool net_policy_is_public(const struct net_policy *policy)
{
	for (size_t i = 0; i < policy->list_count; i++)
		if (!list_is_public(&policy->lists[i]))
			return false;
	return policy->list_count > 0;
}

static void list_ports(const struct net_list *list, struct port_set *set)
{
	memset(set, 0, sizeof(*set));
	for (size_t i = 0; i < list->count; i++)
		for (size_t k = 0; k < list->rules[i].port_count; k++)
			set->words[list->rules[i].ports[k] / 64] |= UINT64_C(1) << list->rules[i].ports[k] % 64;
}

static int find_ports(const struct net_policy *policy, struct net_needs *needs, struct error *err)
{
	struct port_set all, one;

	memset(&all, 0xff, sizeof(all));
	for (size_t i = 0; i < policy->list_count; i++) {
		if (list_is_public(&policy->lists[i]))
			continue;
		list_ports(&policy->lists[i], &one);
		for (size_t k = 0; k < PORT_WORDS; k++)
			all.words[k] &= one.words[k];
	}
	for (unsigned port = 1; port <= UINT16_MAX; port++) {
		if (!(all.words[port / 64] & UINT64_C(1) << port % 64))
			continue;
		if (needs->port_count == NET_PORTS_MAX)
			return error_field(err, "net", "the rules have more than %d different ports", NET_PORTS_MAX);
		needs->ports[needs->port_count++] = (uint16_t)port;
	}
	return 0;
}

static bool range_contains(const struct range_item *outer, const struct range_item *inner)
{
	return outer->bits <= inner->bits && net_address_within(&inner->base, &outer->base, outer->bits);
}

static int add_range(struct range_set *set, const struct range_item *item, struct error *err)
{
	size_t kept = 0;

	for (size_t i = 0; i < set->count; i++)
		if (set->items[i].special == item->special && range_contains(&set->items[i], item))
			return 0;
	for (size_t i = 0; i < set->count; i++)
		if (set->items[i].special != item->special || !range_contains(item, &set->items[i]))
			set->items[kept++] = set->items[i];
	set->count = kept;
	if (set->count == sizeof(set->items) / sizeof(*set->items))
		return error_field(err, "net", "the rules have more than %d addresses and ranges", NET_RANGES_MAX);
	set->items[set->count++] = *item;
	return 0;
}

static int list_ranges(const struct net_list *list, struct range_set *set, struct error *err)
{
	static const struct range_item all[] = { { { .family = AF_INET }, 0, false },
						 { { .family = AF_INET6 }, 0, false } };

	set->count = 0;
	for (size_t i = 0; i < list->count; i++) {
		const struct net_rule *rule = &list->rules[i];
		const struct range_item item = { rule->address, rule->bits,
						 net_range_scope(&rule->address, rule->bits) != NET_SCOPE_GLOBAL };

		if (rule->kind == NET_RULE_ADDRESS && add_range(set, &item, err) < 0)
			return -1;
		if (rule->kind == NET_RULE_PUBLIC &&
		    (add_range(set, &all[0], err) < 0 || add_range(set, &all[1], err) < 0))
			return -1;
	}
	return 0;
}

/* What is in both. Of two ranges one contains the other, or they have nothing in common. */
static int intersect_ranges(const struct range_set *a, const struct range_set *b, struct range_set *out,
			    struct error *err)
{
	out->count = 0;
	for (size_t i = 0; i < a->count; i++)
		for (size_t k = 0; k < b->count; k++) {
			const struct range_item *one = &a->items[i], *other = &b->items[k];

			if (one->special != other->special)
				continue;
			if (range_contains(one, other) && add_range(out, other, err) < 0)
				return -1;
			if (range_contains(other, one) && add_range(out, one, err) < 0)
				return -1;
		}
	return 0;
}

static int find_ranges(const struct net_policy *policy, struct net_needs *needs, struct error *err)
{
	struct range_set set, one, both;

	if (list_ranges(&policy->lists[0], &set, err) < 0)
		return -1;
	for (size_t i = 1; i < policy->list_count; i++) {
		if (list_ranges(&policy->lists[i], &one, err) < 0 || intersect_ranges(&set, &one, &both, err) < 0)
			return -1;
		set = both;
	}
	/* For a route it does not matter which addresses of it are allowed. */
	for (size_t i = 0; i < set.count; i++)
		set.items[i].special = false;
	one = set;
	set.count = 0;
	for (size_t i = 0; i < one.count; i++)
		if (add_range(&set, &one.items[i], err) < 0)
			return -1;
	if (set.count > NET_RANGES_MAX)
		return error_field(err, "net", "the rules have more than %d addresses and ranges", NET_RANGES_MAX);
	for (size_t i = 0; i < set.count; i++) {
		needs->ranges[i].base = set.items[i].base;
		needs->ranges[i].bits = set.items[i].bits;
	}
	needs->range_count = set.count;
	return 0;
}

static int check_host(const struct net_policy *policy, struct error *err)
{
	const struct net_list *list = &policy->lists[0];

	for (size_t i = 0; i < list->count && !policy->host_allowed; i++)
		if (list->rules[i].kind == NET_RULE_HOST)
			return error_refuse(
				err, CODE_BLOCKED, "net",
				"\"%s\" is not allowed: the configuration of emberbox opens no services of its "
				"own machine to boxes",
				list->rules[i].text);
	return 0;
}

int net_policy_needs(const struct net_policy *policy, struct net_needs *needs, struct error *err)
{
	memset(needs, 0, sizeof(*needs));
	if (net_policy_is_none(policy))
		return 0;
	if (check_host(policy, err) < 0)
		return -1;
	needs->everything = net_policy_is_public(policy);
	if (needs->everything)
		return 0;
	if (find_ports(policy, needs, err) < 0)
		return -1;
	return needs->port_count > 0 ? find_ranges(policy, needs, err) : 0;
}
