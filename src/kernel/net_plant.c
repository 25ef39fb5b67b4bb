#include "kernel/net_plant.h"

#include "base/own.h"
#include "kernel/net_steer.h"
#include "kernel/netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

/* Connections that wait to be accepted. Further ones try again after a second. */
#define BACKLOG 128
/* Of every network. */
#define LO_INDEX 1

/* The socket's address of text. */
static socklen_t place_of(int family, const char *text, uint16_t port, struct sockaddr_storage *place)
{
	struct sockaddr_in *four = (struct sockaddr_in *)place;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)place;

	memset(place, 0, sizeof(*place));
	if (family == AF_INET6) {
		six->sin6_family = AF_INET6;
		six->sin6_port = htons(port);
		inet_pton(AF_INET6, text, &six->sin6_addr);
		return sizeof(*six);
	}
	four->sin_family = AF_INET;
	four->sin_port = htons(port);
	inet_pton(AF_INET, text, &four->sin_addr);
	return sizeof(*four);
}

static int place_bind(int fd, int family, const char *text, uint16_t port)
{
	struct sockaddr_storage place;
	socklen_t size = place_of(family, text, port, &place);

	return bind(fd, (struct sockaddr *)&place, size);
}

static int place_connect(int fd, int family, const char *text, uint16_t port)
{
	struct sockaddr_storage place;
	socklen_t size = place_of(family, text, port, &place);

	return connect(fd, (struct sockaddr *)&place, size);
}

/* Whether this network has the IPv6 address. It has not even ::1 if IPv6 is disabled. */
static bool six_has(const char *address)
{
	_cleanup_close_ int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd >= 0 && place_bind(fd, AF_INET6, address, 0) == 0;
}

static void own_put(struct netlink *batch, uint8_t family, const char *text)
{
	struct ifaddrmsg fixed = { .ifa_family = family, .ifa_index = LO_INDEX };
	/* Nobody else could have it, and its route is made below. */
	uint32_t flags = IFA_F_NODAD | IFA_F_NOPREFIXROUTE;
	size_t size = family == AF_INET ? 4 : 16;
	uint8_t bytes[16];

	inet_pton(family, text, bytes);
	fixed.ifa_prefixlen = (uint8_t)(size * 8);
	netlink_message(batch, RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, &fixed, sizeof(fixed));
	netlink_put(batch, IFA_LOCAL, bytes, size);
	if (family == AF_INET6)
		netlink_put(batch, IFA_FLAGS, &flags, sizeof(flags));
}

static void route_put(struct netlink *batch, uint8_t family, const void *base, uint8_t bits)
{
	struct rtmsg fixed = {
		.rtm_family = family,
		.rtm_dst_len = bits,
		.rtm_table = RT_TABLE_LOCAL,
		.rtm_protocol = RTPROT_STATIC,
		.rtm_scope = RT_SCOPE_HOST,
		.rtm_type = RTN_LOCAL,
	};
	size_t size = family == AF_INET ? 4 : 16;
	uint8_t prefix[16], own[16];

	memcpy(prefix, base, size);
	for (size_t i = bits; i < size * 8; i++)
		prefix[i / 8] &= (uint8_t) ~(0x80 >> i % 8);
	inet_pton(family, family == AF_INET ? NET_PLANT_OWN : NET_PLANT_OWN6, own);
	netlink_message(batch, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, &fixed, sizeof(fixed));
	netlink_put(batch, RTA_DST, prefix, size);
	netlink_put(batch, RTA_OIF, &(uint32_t){ LO_INDEX }, sizeof(uint32_t));
	/* Without it a connection would come from the address that it goes to. */
	netlink_put(batch, RTA_PREFSRC, own, size);
}

/* Whether IPv6 is to be planted, or to be kept as it is. */
static bool six_is_wanted(const struct net_plant *plant)
{
	bool wanted = plant->everything;

	for (size_t i = 0; i < plant->range_count; i++)
		wanted = wanted || plant->ranges[i].family == AF_INET6;
	if (wanted)
		return six_has("::1");
	return plant->again && six_has(NET_PLANT_OWN6);
}

/* The box's own addresses cannot be anything else. */
static bool ranges_are_valid(const struct net_plant *plant)
{
	static const uint8_t one[16] = { [15] = 1 };

	for (size_t i = 0; i < plant->range_count; i++) {
		const struct net_range *range = &plant->ranges[i];

		if (range->family == AF_INET ? range->bits >= 8 && range->bytes[0] == 127
					     : range->bits == 128 && memcmp(range->bytes, one, sizeof(one)) == 0)
			return false;
	}
	return true;
}

static int routes_make(const struct net_plant *plant, bool six)
{
	static const uint8_t any[16];
	struct netlink batch;
	uint8_t base[16];

	netlink_init(&batch);
	own_put(&batch, AF_INET, NET_PLANT_OWN);
	inet_pton(AF_INET, NET_PLANT_BASE, base);
	route_put(&batch, AF_INET, base, NET_PLANT_BITS);
	if (six) {
		own_put(&batch, AF_INET6, NET_PLANT_OWN6);
		inet_pton(AF_INET6, NET_PLANT_BASE6, base);
		route_put(&batch, AF_INET6, base, NET_PLANT_BITS6);
	}
	for (size_t i = 0; i < plant->range_count; i++) {
		const struct net_range *range = &plant->ranges[i];

		if (range->family == AF_INET || six)
			route_put(&batch, range->family, range->bytes, range->bits);
	}
	if (plant->everything) {
		route_put(&batch, AF_INET, any, 0);
		if (six)
			route_put(&batch, AF_INET6, any, 0);
	}
	netlink_confirm(&batch);
	return netlink_send(&batch, NETLINK_ROUTE);
}

/* What goes through the routes that are there. */
struct stale {
	const struct net_plant *plant; /* that is there now */
	struct netlink batch;          /* to drop what it does not have */
};

static bool range_has(const struct net_range *range, int family, const uint8_t *bytes)
{
	size_t whole = range->bits / 8;
	uint8_t mask = (uint8_t)(0xff00 >> range->bits % 8);

	if (range->family != family || memcmp(range->bytes, bytes, whole) != 0)
		return false;
	return mask == 0 || ((range->bytes[whole] ^ bytes[whole]) & mask) == 0;
}

static bool route_is_wanted(const struct net_plant *plant, uint8_t family, uint8_t bits, const uint8_t *base)
{
	struct net_range synthetic = { .family = family };

	synthetic.bits = family == AF_INET ? NET_PLANT_BITS : NET_PLANT_BITS6;
	inet_pton(family, family == AF_INET ? NET_PLANT_BASE : NET_PLANT_BASE6, synthetic.bytes);
	if (bits == 0 && plant->everything)
		return true;
	if (bits == synthetic.bits && range_has(&synthetic, family, base))
		return true;
	for (size_t i = 0; i < plant->range_count; i++)
		if (plant->ranges[i].bits == bits && range_has(&plant->ranges[i], family, base))
			return true;
	return false;
}

/* Routes of an earlier policy are ours too: the kernel's own have another protocol. */
static void stale_look(void *context, const struct nlmsghdr *message)
{
	struct stale *stale = context;
	const struct rtmsg *route = NLMSG_DATA(message);
	const struct rtattr *attribute = RTM_RTA(route);
	size_t size = route->rtm_family == AF_INET ? 4 : 16;
	int left = (int)RTM_PAYLOAD(message);
	uint8_t base[16] = { 0 };

	if (message->nlmsg_type != RTM_NEWROUTE || route->rtm_protocol != RTPROT_STATIC ||
	    route->rtm_table != RT_TABLE_LOCAL)
		return;
	for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left))
		if (attribute->rta_type == RTA_DST && RTA_PAYLOAD(attribute) == size)
			memcpy(base, RTA_DATA(attribute), size);
	if (route_is_wanted(stale->plant, route->rtm_family, route->rtm_dst_len, base))
		return;
	netlink_message(&stale->batch, RTM_DELROUTE, 0,
			&(struct rtmsg){ .rtm_family = route->rtm_family,
					 .rtm_dst_len = route->rtm_dst_len,
					 .rtm_table = RT_TABLE_LOCAL,
					 .rtm_protocol = RTPROT_STATIC,
					 .rtm_scope = RT_SCOPE_NOWHERE,
					 .rtm_type = RTN_LOCAL },
			sizeof(struct rtmsg));
	netlink_put(&stale->batch, RTA_DST, base, size);
}

static int stale_drop(const struct net_plant *plant, uint8_t family)
{
	struct netlink list;
	struct stale stale;

	stale.plant = plant;
	netlink_init(&stale.batch);
	netlink_init(&list);
	netlink_message(&list, RTM_GETROUTE, NLM_F_DUMP, &(struct rtmsg){ .rtm_family = family }, sizeof(struct rtmsg));
	if (netlink_dump(&list, NETLINK_ROUTE, stale_look, &stale) < 0)
		return -1;
	if (stale.batch.count == 0 && !stale.batch.full)
		return 0;
	netlink_confirm(&stale.batch);
	return netlink_send(&stale.batch, NETLINK_ROUTE);
}

static int option_set(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value));
}

static int socket_make(int family, int type)
{
	return socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static int name_server_make(int type)
{
	_cleanup_close_ int fd = socket_make(AF_INET, type);

	if (fd < 0 || place_bind(fd, AF_INET, NET_PLANT_DNS, 53) < 0)
		return -1;
	if (type == SOCK_STREAM && listen(fd, BACKLOG) < 0)
		return -1;
	return take_fd(&fd);
}

/* On every address of the box, for what goes to the port. */
static int bound_make(int family, uint16_t port)
{
	_cleanup_close_ int fd = socket_make(family, SOCK_STREAM);

	if (fd < 0 || option_set(fd, SOL_SOCKET, SO_REUSEADDR, 1) < 0)
		return -1;
	if (family == AF_INET6 && option_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0) < 0)
		return -1;
	if (place_bind(fd, family, family == AF_INET6 ? "::" : "0.0.0.0", port) < 0 || listen(fd, BACKLOG) < 0)
		return -1;
	return take_fd(&fd);
}

/* On an address that the box does not have, for what is steered to it. */
static int steered_make(int family)
{
	_cleanup_close_ int fd = socket_make(family, SOCK_STREAM);

	if (fd < 0 || option_set(fd, SOL_SOCKET, SO_REUSEADDR, 1) < 0)
		return -1;
	if (family == AF_INET6 ? option_set(fd, IPPROTO_IPV6, IPV6_TRANSPARENT, 1) < 0 ||
					 option_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1) < 0
			       : option_set(fd, IPPROTO_IP, IP_TRANSPARENT, 1) < 0)
		return -1;
	if (place_bind(fd, family, family == AF_INET6 ? NET_PLANT_LISTENER6 : NET_PLANT_LISTENER,
		       NET_PLANT_LISTENER_PORT) < 0 ||
	    listen(fd, BACKLOG) < 0)
		return -1;
	return take_fd(&fd);
}

/* Descriptors as they are made. */
struct harvest {
	int *fds;
	size_t *count;
};

static int harvest_add(struct harvest *harvest, int fd)
{
	if (fd < 0)
		return -1;
	harvest->fds[(*harvest->count)++] = fd;
	return 0;
}

/* What a kernel says that has no nftables or no tproxy, or a host that does not let us. */
static bool steering_is_missing(int errnum)
{
	switch (errnum) {
	case EACCES:
	case EAFNOSUPPORT:
	case ENOENT:
	case ENOSYS:
	case EOPNOTSUPP:
	case EPERM:
	case EPROTONOSUPPORT:
		return true;
	}
	return false;
}

/* An earlier policy may have made it. No program can be in its place: the port is below 1024. */
static int steered_add(const struct net_plant *plant, int family, struct harvest *harvest)
{
	int fd = steered_make(family);

	if (fd < 0 && plant->again && errno == EADDRINUSE)
		return 0;
	return harvest_add(harvest, fd);
}

/* 1: steered; 0: that cannot be had here. */
static int listeners_steer(const struct net_plant *plant, bool six, struct harvest *harvest)
{
	struct net_steer steer = {
		.ports = plant->ports,
		.port_count = plant->port_count,
		.everything = plant->everything,
		.six = six,
		.again = plant->again,
	};

	if (plant->never_steer && !plant->everything)
		return 0;
	if (net_steer(&steer) < 0)
		return plant->everything || !steering_is_missing(errno) ? -1 : 0;
	if (steered_add(plant, AF_INET, harvest) < 0 || (six && steered_add(plant, AF_INET6, harvest) < 0))
		return -1;
	return 1;
}

static bool port_is_bound(const struct net_plant *plant, uint16_t port)
{
	for (size_t i = 0; i < plant->bound_count; i++)
		if (plant->bound[i] == port)
			return true;
	return false;
}

static int listeners_bind(const struct net_plant *plant, struct harvest *harvest)
{
	/* A later policy may want IPv6. */
	int family = six_has("::1") ? AF_INET6 : AF_INET;

	for (size_t i = 0; i < plant->port_count; i++)
		if (!port_is_bound(plant, plant->ports[i]) &&
		    harvest_add(harvest, bound_make(family, plant->ports[i])) < 0)
			return -1;
	return 0;
}

/* Routes come last: until then nothing leads to what is not there yet, and a policy that fails changes nothing. Those
 * of an earlier policy go after the new ones are there, so that connections that are still allowed are not cut off. */
static int plant_all(const struct net_plant *plant, struct harvest *harvest, bool *steered)
{
	bool six = six_is_wanted(plant);
	int result;

	if (!ranges_are_valid(plant)) {
		errno = EINVAL;
		return -1;
	}
	if (!plant->again && (harvest_add(harvest, name_server_make(SOCK_DGRAM)) < 0 ||
			      harvest_add(harvest, name_server_make(SOCK_STREAM)) < 0))
		return -1;
	result = listeners_steer(plant, six, harvest);
	if (result < 0)
		return -1;
	*steered = result > 0;
	if (!*steered && listeners_bind(plant, harvest) < 0)
		return -1;
	if (routes_make(plant, six) < 0)
		return -1;
	if (plant->again && (stale_drop(plant, AF_INET) < 0 || (six && stale_drop(plant, AF_INET6) < 0)))
		return -1;
	return 0;
}

int net_plant(const struct net_plant *plant, int *fds, size_t *count, bool *steered)
{
	struct harvest harvest = { .fds = fds, .count = count };

	*count = 0;
	*steered = false;
	if (plant_all(plant, &harvest, steered) == 0)
		return 0;
	while (*count > 0)
		close_fd(&fds[--*count]);
	return -1;
}

/* Addresses of documentation, which nobody has, and some more if a policy has those. */
static const char *const outside[] = {
	"192.0.2.1", "198.51.100.1", "10.0.0.1", "2001:db8::1", "2001:db8:ffff::1", "fc00::1",
};

static const char *outside_find(const struct net_plant *plant, int family)
{
	for (size_t i = 0; i < ARRAY_SIZE(outside); i++) {
		uint8_t bytes[16];
		bool planted = false;

		if (inet_pton(family, outside[i], bytes) != 1)
			continue;
		for (size_t k = 0; k < plant->range_count && !planted; k++)
			planted = range_has(&plant->ranges[k], family, bytes);
		if (!planted)
			return outside[i];
	}
	return NULL;
}

/* Whether a connection to the address fails as it should. */
static bool outside_is_refused(int family, const char *address, bool everything)
{
	_cleanup_close_ int fd = socket_make(family, everything ? SOCK_DGRAM : SOCK_STREAM);

	/* A kernel without IPv6. */
	if (fd < 0)
		return errno == EAFNOSUPPORT;
	/* With IPv6 disabled there is no address to connect from. */
	if (place_connect(fd, family, address, 443) < 0)
		return errno == ENETUNREACH || (family == AF_INET6 && errno == EADDRNOTAVAIL);
	return everything && send(fd, "", 1, 0) < 0 && errno == EPERM;
}

int net_plant_prove(const struct net_plant *plant)
{
	static const int families[] = { AF_INET, AF_INET6 };

	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		const char *address = outside_find(plant, families[i]);

		if (address && !outside_is_refused(families[i], address, plant->everything)) {
			errno = EEXIST;
			return -1;
		}
	}
	return 0;
}
