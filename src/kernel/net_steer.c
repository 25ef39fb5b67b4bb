#include "kernel/net_steer.h"

#include "kernel/net_plant.h"
#include "kernel/netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <string.h>

#define TABLE      "emberbox"
#define PORTS      "ports"
#define PREROUTING "steer"
#define OUTPUT     "refuse"

/* What differs between IPv4 and IPv6. */
struct side {
	uint8_t family;       /* NFPROTO_ */
	uint8_t size;         /* of an address */
	uint8_t daddr;        /* where the destination is in the header */
	uint8_t prefix;       /* bytes that make an address the loopback's */
	uint8_t loopback[16]; /* 127/8, ::1 */
	const char *own;      /* lo's own address */
	const char *listener; /* address of the listener */
};

static const struct side sides[] = {
	{ NFPROTO_IPV4, 4, 16, 1, { 127 }, NET_PLANT_OWN, NET_PLANT_LISTENER },
	{ NFPROTO_IPV6, 16, 24, 16, { [15] = 1 }, NET_PLANT_OWN6, NET_PLANT_LISTENER6 },
};

static void message(struct netlink *batch, uint8_t family, uint16_t type, uint16_t flags)
{
	struct nfgenmsg fixed = { .nfgen_family = family, .version = NFNETLINK_V0 };

	netlink_message(batch, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type), flags, &fixed, sizeof(fixed));
}

/* The batch is a transaction: all of it, or nothing. */
static void transaction(struct netlink *batch, uint16_t type)
{
	struct nfgenmsg fixed = { .version = NFNETLINK_V0, .res_id = htons(NFNL_SUBSYS_NFTABLES) };

	netlink_message(batch, type, 0, &fixed, sizeof(fixed));
}

static void address(const struct side *side, const char *text, uint8_t bytes[16])
{
	inet_pton(side->family == NFPROTO_IPV4 ? AF_INET : AF_INET6, text, bytes);
}

struct open_expression {
	size_t element, data;
};

static struct open_expression expression_open(struct netlink *batch, const char *name)
{
	struct open_expression opened = { .element = netlink_open(batch, NFTA_LIST_ELEM) };

	netlink_put_string(batch, NFTA_EXPR_NAME, name);
	opened.data = netlink_open(batch, NFTA_EXPR_DATA);
	return opened;
}

static void expression_close(struct netlink *batch, struct open_expression opened)
{
	netlink_close(batch, opened.data);
	netlink_close(batch, opened.element);
}

static void value(struct netlink *batch, uint16_t type, const void *data, size_t size)
{
	size_t opened = netlink_open(batch, type);

	netlink_put(batch, NFTA_DATA_VALUE, data, size);
	netlink_close(batch, opened);
}

/* Goes on with the rule if the register is (or is not) that. */
static void compare(struct netlink *batch, uint32_t op, const void *data, size_t size)
{
	struct open_expression opened = expression_open(batch, "cmp");

	netlink_put_number(batch, NFTA_CMP_SREG, NFT_REG_1);
	netlink_put_number(batch, NFTA_CMP_OP, op);
	value(batch, NFTA_CMP_DATA, data, size);
	expression_close(batch, opened);
}

static void load_payload(struct netlink *batch, uint32_t base, uint32_t offset, uint32_t size)
{
	struct open_expression opened = expression_open(batch, "payload");

	netlink_put_number(batch, NFTA_PAYLOAD_DREG, NFT_REG_1);
	netlink_put_number(batch, NFTA_PAYLOAD_BASE, base);
	netlink_put_number(batch, NFTA_PAYLOAD_OFFSET, offset);
	netlink_put_number(batch, NFTA_PAYLOAD_LEN, size);
	expression_close(batch, opened);
}

static void match_tcp(struct netlink *batch)
{
	struct open_expression opened = expression_open(batch, "meta");

	netlink_put_number(batch, NFTA_META_DREG, NFT_REG_1);
	netlink_put_number(batch, NFTA_META_KEY, NFT_META_L4PROTO);
	expression_close(batch, opened);
	compare(batch, NFT_CMP_EQ, &(uint8_t){ IPPROTO_TCP }, 1);
}

static void match_loopback(struct netlink *batch, const struct side *side, uint32_t op)
{
	load_payload(batch, NFT_PAYLOAD_NETWORK_HEADER, side->daddr, side->prefix);
	compare(batch, op, side->loopback, side->prefix);
}

static void match_own(struct netlink *batch, const struct side *side, uint32_t op)
{
	uint8_t own[16];

	address(side, side->own, own);
	load_payload(batch, NFT_PAYLOAD_NETWORK_HEADER, side->daddr, side->size);
	compare(batch, op, own, side->size);
}

static void match_ports(struct netlink *batch)
{
	struct open_expression opened;

	load_payload(batch, NFT_PAYLOAD_TRANSPORT_HEADER, 2, 2);
	opened = expression_open(batch, "lookup");
	netlink_put_string(batch, NFTA_LOOKUP_SET, PORTS);
	netlink_put_number(batch, NFTA_LOOKUP_SREG, NFT_REG_1);
	expression_close(batch, opened);
}

static void load_value(struct netlink *batch, uint32_t reg, const void *data, size_t size)
{
	struct open_expression opened = expression_open(batch, "immediate");

	netlink_put_number(batch, NFTA_IMMEDIATE_DREG, reg);
	value(batch, NFTA_IMMEDIATE_DATA, data, size);
	expression_close(batch, opened);
}

static void accept_packet(struct netlink *batch)
{
	struct open_expression opened = expression_open(batch, "immediate");
	size_t data, verdict;

	netlink_put_number(batch, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
	data = netlink_open(batch, NFTA_IMMEDIATE_DATA);
	verdict = netlink_open(batch, NFTA_DATA_VERDICT);
	netlink_put_number(batch, NFTA_VERDICT_CODE, NF_ACCEPT);
	netlink_close(batch, verdict);
	netlink_close(batch, data);
	expression_close(batch, opened);
}

/* Gives the packet to the listener, as if it were for its address; the connection keeps the packet's. */
static void steer_packet(struct netlink *batch, const struct side *side)
{
	uint16_t port = htons(NET_PLANT_LISTENER_PORT);
	struct open_expression opened;
	uint8_t listener[16];

	address(side, side->listener, listener);
	load_value(batch, NFT_REG_1, listener, side->size);
	load_value(batch, NFT_REG_2, &port, sizeof(port));
	opened = expression_open(batch, "tproxy");
	netlink_put_number(batch, NFTA_TPROXY_FAMILY, side->family);
	netlink_put_number(batch, NFTA_TPROXY_REG_ADDR, NFT_REG_1);
	netlink_put_number(batch, NFTA_TPROXY_REG_PORT, NFT_REG_2);
	expression_close(batch, opened);
}

static size_t rule_open(struct netlink *batch, const struct side *side, const char *chain)
{
	message(batch, side->family, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND);
	netlink_put_string(batch, NFTA_RULE_TABLE, TABLE);
	netlink_put_string(batch, NFTA_RULE_CHAIN, chain);
	return netlink_open(batch, NFTA_RULE_EXPRESSIONS);
}

static void chain_make(struct netlink *batch, const struct side *side, const char *name, uint32_t hook, int priority,
		       uint32_t policy)
{
	size_t opened;

	message(batch, side->family, NFT_MSG_NEWCHAIN, NLM_F_CREATE);
	netlink_put_string(batch, NFTA_CHAIN_TABLE, TABLE);
	netlink_put_string(batch, NFTA_CHAIN_NAME, name);
	opened = netlink_open(batch, NFTA_CHAIN_HOOK);
	netlink_put_number(batch, NFTA_HOOK_HOOKNUM, hook);
	netlink_put_number(batch, NFTA_HOOK_PRIORITY, (uint32_t)priority);
	netlink_close(batch, opened);
	netlink_put_number(batch, NFTA_CHAIN_POLICY, policy);
	netlink_put_string(batch, NFTA_CHAIN_TYPE, "filter");
}

static void ports_make(struct netlink *batch, const struct side *side, const struct net_steer *steer)
{
	size_t opened, elements;

	message(batch, side->family, NFT_MSG_NEWSET, NLM_F_CREATE);
	netlink_put_string(batch, NFTA_SET_TABLE, TABLE);
	netlink_put_string(batch, NFTA_SET_NAME, PORTS);
	netlink_put_number(batch, NFTA_SET_ID, 1);
	netlink_put_number(batch, NFTA_SET_FLAGS, NFT_SET_CONSTANT);
	netlink_put_number(batch, NFTA_SET_KEY_LEN, 2);
	opened = netlink_open(batch, NFTA_SET_DESC);
	netlink_put_number(batch, NFTA_SET_DESC_SIZE, (uint32_t)steer->port_count);
	netlink_close(batch, opened);

	message(batch, side->family, NFT_MSG_NEWSETELEM, NLM_F_CREATE);
	netlink_put_string(batch, NFTA_SET_ELEM_LIST_TABLE, TABLE);
	netlink_put_string(batch, NFTA_SET_ELEM_LIST_SET, PORTS);
	netlink_put_number(batch, NFTA_SET_ELEM_LIST_SET_ID, 1);
	elements = netlink_open(batch, NFTA_SET_ELEM_LIST_ELEMENTS);
	for (size_t i = 0; i < steer->port_count; i++) {
		uint16_t port = htons(steer->ports[i]);

		opened = netlink_open(batch, NFTA_LIST_ELEM);
		value(batch, NFTA_SET_ELEM_KEY, &port, sizeof(port));
		netlink_close(batch, opened);
	}
	netlink_close(batch, elements);
}

/* Incoming, which on lo is all that went out: TCP to what is not the network's own. */
static void steering_make(struct netlink *batch, const struct side *side, const struct net_steer *steer)
{
	size_t rule;

	if (!steer->everything)
		ports_make(batch, side, steer);
	chain_make(batch, side, PREROUTING, NF_INET_PRE_ROUTING, -150, NF_ACCEPT);
	rule = rule_open(batch, side, PREROUTING);
	match_tcp(batch);
	match_loopback(batch, side, NFT_CMP_NEQ);
	match_own(batch, side, NFT_CMP_NEQ);
	if (!steer->everything)
		match_ports(batch);
	steer_packet(batch, side);
	netlink_close(batch, rule);
}

/* Outgoing: nobody answers what is not TCP, so it is refused at once instead of getting lost. */
static void refusal_make(struct netlink *batch, const struct side *side)
{
	size_t rule;

	chain_make(batch, side, OUTPUT, NF_INET_LOCAL_OUT, 0, NF_DROP);
	rule = rule_open(batch, side, OUTPUT);
	match_tcp(batch);
	accept_packet(batch);
	netlink_close(batch, rule);
	rule = rule_open(batch, side, OUTPUT);
	match_loopback(batch, side, NFT_CMP_EQ);
	accept_packet(batch);
	netlink_close(batch, rule);
	rule = rule_open(batch, side, OUTPUT);
	match_own(batch, side, NFT_CMP_EQ);
	accept_packet(batch);
	netlink_close(batch, rule);
}

static void table_message(struct netlink *batch, const struct side *side, uint16_t type, uint16_t flags)
{
	message(batch, side->family, type, flags);
	netlink_put_string(batch, NFTA_TABLE_NAME, TABLE);
}

int net_steer(const struct net_steer *steer)
{
	struct netlink batch;

	netlink_init(&batch);
	transaction(&batch, NFNL_MSG_BATCH_BEGIN);
	for (int i = 0; i < (steer->six ? 2 : 1); i++) {
		const struct side *side = &sides[i];

		if (steer->again) {
			table_message(&batch, side, NFT_MSG_NEWTABLE, NLM_F_CREATE);
			table_message(&batch, side, NFT_MSG_DELTABLE, 0);
		}
		table_message(&batch, side, NFT_MSG_NEWTABLE, NLM_F_CREATE);
		steering_make(&batch, side, steer);
		if (steer->everything)
			refusal_make(&batch, side);
	}
	netlink_confirm(&batch);
	transaction(&batch, NFNL_MSG_BATCH_END);
	return netlink_send(&batch, NETLINK_NETFILTER);
}
