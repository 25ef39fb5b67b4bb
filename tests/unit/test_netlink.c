/* Batches of netlink messages, byte by byte, and what the kernel says to them. */
#include "../check.h"

#include "kernel/netlink.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

static struct netlink batch;

static const struct nlmsghdr *header_at(size_t offset)
{
	return (const struct nlmsghdr *)(batch.data + offset);
}

static const struct nlattr *attribute_at(size_t offset)
{
	return (const struct nlattr *)(batch.data + offset);
}

static void messages_follow_each_other(void)
{
	memset(batch.data, 0x55, sizeof(batch.data));
	netlink_init(&batch);
	netlink_message(&batch, 7, NLM_F_CREATE, "ab", 2);
	netlink_put(&batch, 3, "xyz", 3);
	netlink_message(&batch, 8, 0, "c", 1);
	netlink_confirm(&batch);
	CHECK_INT(batch.size, 16 + 4 + 8 + 16 + 4);
	CHECK_INT(header_at(0)->nlmsg_len, 28);
	CHECK_INT(header_at(0)->nlmsg_type, 7);
	CHECK_INT(header_at(0)->nlmsg_flags, NLM_F_REQUEST | NLM_F_CREATE);
	CHECK_INT(header_at(0)->nlmsg_seq, 1);
	CHECK_INT(memcmp(batch.data + 16, "ab\0\0", 4), 0);
	CHECK_INT(attribute_at(20)->nla_len, 7);
	CHECK_INT(attribute_at(20)->nla_type, 3);
	CHECK_INT(memcmp(batch.data + 24, "xyz\0", 4), 0);
	CHECK_INT(header_at(28)->nlmsg_len, 20);
	CHECK_INT(header_at(28)->nlmsg_flags, NLM_F_REQUEST | NLM_F_ACK);
	CHECK_INT(header_at(28)->nlmsg_seq, 2);
	CHECK_INT(batch.confirmed, 2);
}

static void attributes_lie_within_each_other(void)
{
	size_t outer, inner;
	uint32_t number;

	netlink_init(&batch);
	netlink_message(&batch, 7, 0, "", 0);
	outer = netlink_open(&batch, 1);
	inner = netlink_open(&batch, 2);
	netlink_put_number(&batch, 3, 0x01020304);
	netlink_close(&batch, inner);
	netlink_put_string(&batch, 4, "tcp");
	netlink_close(&batch, outer);
	CHECK_INT(attribute_at(outer)->nla_type, NLA_F_NESTED | 1);
	CHECK_INT(attribute_at(outer)->nla_len, 4 + 12 + 8);
	CHECK_INT(attribute_at(inner)->nla_type, NLA_F_NESTED | 2);
	CHECK_INT(attribute_at(inner)->nla_len, 12);
	memcpy(&number, batch.data + inner + 8, sizeof(number));
	CHECK_INT(ntohl(number), 0x01020304);
	CHECK_STR(batch.data + inner + 16, "tcp");
	CHECK_INT(header_at(0)->nlmsg_len, 16 + 4 + 12 + 8);
}

static void what_does_not_fit_is_an_error(void)
{
	static const char kilobyte[1024];
	size_t opened;

	netlink_init(&batch);
	netlink_message(&batch, RTM_GETLINK, 0, kilobyte, sizeof(struct ifinfomsg));
	for (int i = 0; i < 31; i++)
		netlink_put(&batch, 1, kilobyte, sizeof(kilobyte));
	CHECK(!batch.full);
	opened = netlink_open(&batch, 1);
	netlink_put(&batch, 1, kilobyte, sizeof(kilobyte));
	CHECK(batch.full);
	netlink_put(&batch, 1, "x", 1); /* nor does anything after it */
	netlink_close(&batch, opened);
	netlink_message(&batch, RTM_GETLINK, 0, "", 0);
	netlink_confirm(&batch);
	CHECK_INT(batch.count, 1);
	CHECK(batch.size <= sizeof(batch.data));
	CHECK_ERRNO(netlink_send(&batch, NETLINK_ROUTE), EMSGSIZE);
}

static void the_kernel_answers(void)
{
	struct ifinfomsg none = { .ifi_index = 0x7ffffff0 };

	netlink_init(&batch);
	netlink_message(&batch, NLMSG_NOOP, 0, "", 0);
	netlink_confirm(&batch);
	CHECK_INT(netlink_send(&batch, NETLINK_ROUTE), 0);
	/* The error of an earlier message counts, though the confirmed one is fine. */
	netlink_init(&batch);
	netlink_message(&batch, RTM_GETLINK, 0, &none, sizeof(none));
	netlink_message(&batch, NLMSG_NOOP, 0, "", 0);
	netlink_confirm(&batch);
	CHECK_ERRNO(netlink_send(&batch, NETLINK_ROUTE), ENODEV);
	CHECK_ERRNO(netlink_send(&batch, 31), EPROTONOSUPPORT);
}

int main(void)
{
	RUN(messages_follow_each_other);
	RUN(attributes_lie_within_each_other);
	RUN(what_does_not_fit_is_an_error);
	RUN(the_kernel_answers);
	return check_failures ? 1 : 0;
}
