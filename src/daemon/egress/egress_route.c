/*
 * Which addresses are this machine's own: the kernel's routes tell, each time anew.
 *
 * A list of addresses would be old as soon as one is added, and would not have what is routed to the machine without
 * being an interface's (a whole range by a local route, as containers use them).
 */
#include "daemon/egress/egress_parts.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

int egress_route_open(struct error *err)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	return fd >= 0 ? fd : error_errno(err, "cannot ask the kernel for routes");
}

int egress_route_is_own(int route, const struct net_address *address)
{
	static uint32_t sequence;
	struct {
		struct nlmsghdr head;
		struct rtmsg message;
		struct rtattr attribute;
		uint8_t bytes[16];
	} ask = { 0 };
	const unsigned size = address->family == AF_INET ? 4 : 16;
	union {
		struct nlmsghdr head;
		char room[4096];
	} answer;
	ssize_t got;

	ask.head = (struct nlmsghdr){ .nlmsg_len = (uint32_t)(sizeof(ask) - sizeof(ask.bytes)) + size,
				      .nlmsg_type = RTM_GETROUTE,
				      .nlmsg_flags = NLM_F_REQUEST,
				      .nlmsg_seq = ++sequence };
	ask.message = (struct rtmsg){ .rtm_family = (unsigned char)address->family,
				      .rtm_dst_len = (unsigned char)(8 * size) };
	ask.attribute = (struct rtattr){ .rta_len = (unsigned short)RTA_LENGTH(size), .rta_type = RTA_DST };
	memcpy(ask.bytes, address->bytes, size);
	if (send(route, &ask, ask.head.nlmsg_len, MSG_NOSIGNAL) < 0)
		return -1;
	/* The kernel has answered before send() returns. */
	do
		got = recv(route, &answer, sizeof(answer), MSG_DONTWAIT);
	while ((got < 0 && errno == EINTR) ||
	       (got >= (ssize_t)sizeof(answer.head) && answer.head.nlmsg_seq != sequence));
	if (got < (ssize_t)sizeof(answer.head))
		return -1;
	if (answer.head.nlmsg_type == NLMSG_ERROR && got >= (ssize_t)NLMSG_LENGTH(sizeof(struct nlmsgerr))) {
		const int error = -((const struct nlmsgerr *)NLMSG_DATA(&answer.head))->error;

		/* No route at all: connecting fails by itself. */
		return error == ENETUNREACH || error == EHOSTUNREACH ? 0 : -1;
	}
	if (answer.head.nlmsg_type != RTM_NEWROUTE || got < (ssize_t)NLMSG_LENGTH(sizeof(struct rtmsg)))
		return -1;
	return ((const struct rtmsg *)NLMSG_DATA(&answer.head))->rtm_type != RTN_UNICAST;
}
