/* The planted network of a policy that allows every public address. tests/run: args=--as root | --as user | --as userns
 */
#include "planted.h"

#include "kernel/caps.h"

#include <netinet/ip_icmp.h>

static int host_fd = -1;   /* a listener outside, on every address */
static uint16_t host_port; /* its port */
static bool six;           /* this kernel has IPv6 */

static void plant_public(void)
{
	plant_network((struct net_plant){ .everything = true });
	CHECK(planted_steered);
	CHECK_INT(planted_count, six ? 4 : 3);
}

static void child_everywhere(void)
{
	static const char *const four[] = { "8.8.8.8",    "192.0.2.1",  "10.0.0.1",         "169.254.169.254",
					    "100.64.0.1", "198.18.0.5", NET_PLANT_LISTENER, "240.0.0.1",
					    "0.0.0.1",    "126.0.0.1",  "128.0.0.1" };
	static const char *const others[] = { "2001:db8::1",       "fc00::1", "fd00:eb::2",
					      NET_PLANT_LISTENER6, "::2",     "64:ff9b::a9fe:a9fe" };
	static const uint16_t ports[] = { 1, 22, 53, 443, 8080, 65535 };

	/* The control: outside, the machine's addresses are the machine's. */
	for (size_t i = 0; i < host_address_count; i++) {
		CHECK_ERRNUM(attempt(SOCK_STREAM, host_addresses[i], host_port), 0);
		CHECK(serve_one(host_fd) >= 0);
	}
	plant_public();
	for (size_t i = 0; i < sizeof(four) / sizeof(four[0]); i++)
		check_arrives(four[i], ports[i % 6], NET_PLANT_OWN);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]) && six; i++)
		check_arrives(others[i], ports[i % 6], NET_PLANT_OWN6);
	for (size_t i = 0; i < host_address_count; i++)
		check_arrives(host_addresses[i], host_port,
			      strchr(host_addresses[i], ':') ? NET_PLANT_OWN6 : NET_PLANT_OWN);
	if (six) {
		CHECK_ERRNUM(attempt(SOCK_STREAM, "::ffff:8.8.4.4", 443), 0);
		CHECK_STR(name_text(getsockname, arrived()), "8.8.4.4 443");
	}
	CHECK_ERRNUM(attempt(SOCK_STREAM, "224.0.0.1", 443), ENETUNREACH);
	CHECK_ERRNUM(attempt(SOCK_STREAM, "255.255.255.255", 443), ENETUNREACH);
	CHECK(nothing_arrived());
	CHECK_ERRNO(accept(host_fd, NULL, NULL), EAGAIN);
}

static void every_connection_arrives(void)
{
	in_space(0, child_everywhere);
}

static void child_own(void)
{
	static const char *const own[] = { "127.0.0.1", "127.9.9.9", NET_PLANT_OWN, "::1", NET_PLANT_OWN6 };
	static const char *const all[] = { "0.0.0.0", "0.0.0.0", "0.0.0.0", "::", "::" };

	plant_public();
	CHECK_INT(caps_drop(), 0); /* as a program */
	for (size_t i = 0; i < (six ? 5 : 3); i++) {
		int fd;

		CHECK_ERRNUM(attempt(SOCK_STREAM, own[i], host_port), ECONNREFUSED);
		CHECK_ERRNUM(attempt(SOCK_STREAM, own[i], 443), ECONNREFUSED);
		CHECK_ERRNUM(attempt(SOCK_STREAM, own[i], NET_PLANT_LISTENER_PORT), ECONNREFUSED);
		/* The control: servers of its own, on the address and on every one. */
		fd = serve(own[i], 8080);
		CHECK_ERRNUM(attempt(SOCK_STREAM, own[i], 8080), 0);
		CHECK(serve_one(fd) >= 0);
		close(fd);
		fd = serve(all[i], 8080);
		CHECK_ERRNUM(attempt(SOCK_STREAM, own[i], 8080), 0);
		CHECK(serve_one(fd) >= 0);
		check_arrives("8.8.8.8", 8080, NET_PLANT_OWN);
		close(fd);
	}
	CHECK(nothing_arrived());
}

static void own_addresses_are_the_boxes(void)
{
	in_space(0, child_own);
}

/* Sends a datagram: 0, or the errno. */
static int send_to(int type, int protocol, const char *address, uint16_t port, const void *data, size_t size)
{
	struct sockaddr_storage to;
	socklen_t to_size = address_of(address, port, &to);
	int result, fd = socket(to.ss_family, type | SOCK_CLOEXEC, protocol);

	result = sendto(fd, data, size, 0, (struct sockaddr *)&to, to_size) == (ssize_t)size ? 0 : errno;
	close(fd);
	return result;
}

static void child_udp(void)
{
	static const char *const outside[] = { "8.8.8.8",     "10.0.0.1",   "198.18.0.5", "224.0.0.1",
					       "2001:db8::1", "fd00:eb::2", "ff02::1" };
	static const char *const own[] = { "127.0.0.1", NET_PLANT_OWN, "::1", NET_PLANT_OWN6 };
	char byte;

	plant_public();
	for (size_t i = 0; i < (six ? 7 : 4); i++) {
		/* Each time, not once; and nothing is left behind that makes another call fail. */
		CHECK_ERRNUM(send_to(SOCK_DGRAM, 0, outside[i], 443, "x", 1), EPERM);
		if (strcmp(outside[i], "ff02::1") == 0)
			continue;
		CHECK_ERRNUM(attempt(SOCK_DGRAM, outside[i], 443), 0);
		for (int k = 0; k < 3; k++)
			CHECK_ERRNO(send(attempt_fd, "x", 1, 0), EPERM);
		CHECK_ERRNO(recv(attempt_fd, &byte, 1, MSG_DONTWAIT), EAGAIN);
	}
	/* The control: within the box. */
	for (size_t i = 0; i < (six ? 4 : 2); i++) {
		struct sockaddr_storage at;
		socklen_t size = address_of(own[i], 9000, &at);
		int fd = socket(at.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

		CHECK_INT(bind(fd, (struct sockaddr *)&at, size), 0);
		CHECK_ERRNUM(attempt(SOCK_DGRAM, own[i], 9000), 0);
		CHECK_INT(send(attempt_fd, "y", 1, 0), 1);
		CHECK(ready(fd));
		CHECK_INT(recv(fd, &byte, 1, 0), 1);
		/* The errors of the box's own ports come back. */
		CHECK_ERRNUM(attempt(SOCK_DGRAM, own[i], 9001), 0);
		CHECK_INT(send(attempt_fd, "y", 1, 0), 1);
		CHECK_ERRNO(recv(attempt_fd, &byte, 1, 0), ECONNREFUSED);
		close(fd);
	}
	CHECK_ERRNUM(send_to(SOCK_DGRAM, 0, NET_PLANT_DNS, 53, "query", 5), 0);
	CHECK(ready(planted_fds[0]));
}

static void udp_is_not_permitted(void)
{
	in_space(0, child_udp);
}

/* With the capability that programs do not have. */
static void child_raw(void)
{
	struct icmphdr echo = { .type = ICMP_ECHO };

	plant_public();
	CHECK_ERRNUM(send_to(SOCK_RAW, IPPROTO_ICMP, "8.8.8.8", 0, &echo, sizeof(echo)), EPERM);
	CHECK_ERRNUM(send_to(SOCK_RAW, IPPROTO_ICMP, "198.18.0.5", 0, &echo, sizeof(echo)), EPERM);
	CHECK_ERRNUM(send_to(SOCK_RAW, 253, "8.8.8.8", 0, "x", 1), EPERM);
	if (six)
		CHECK_ERRNUM(send_to(SOCK_RAW, 253, "2001:db8::1", 0, "x", 1), EPERM);
	CHECK_ERRNUM(send_to(SOCK_RAW, IPPROTO_ICMP, "127.0.0.1", 0, &echo, sizeof(echo)), 0);
	CHECK_ERRNUM(send_to(SOCK_RAW, 253, "127.0.0.1", 0, "x", 1), 0);
}

static void other_protocols_are_not_permitted(void)
{
	in_space(0, child_raw);
}

/* From a list to everything, and back. */
static void child_changes(void)
{
	static const uint16_t ports[] = { 443 };
	struct net_plant list = { .ports = ports, .port_count = 1, .again = true };
	int all[8], fd, live;
	size_t count;

	plant_network((struct net_plant){ .ports = ports, .port_count = 1 });
	CHECK_INT(planted_count, 3);
	CHECK_ERRNUM(attempt(SOCK_STREAM, "8.8.8.8", 443), ENETUNREACH);
	memcpy(all, planted_fds, sizeof(all));
	CHECK_INT(plant_now((struct net_plant){ .everything = true, .again = true }), 0);
	CHECK_INT(planted_count, six ? 1 : 0); /* of IPv6 */
	all[3] = planted_fds[0];
	planted_first = 2;
	planted_count = count = six ? 4 : 3;
	memcpy(planted_fds, all, sizeof(all));
	CHECK_INT(net_plant_prove(&(struct net_plant){ .everything = true }), 0);
	check_arrives("8.8.8.8", 22, NET_PLANT_OWN);
	if (six)
		check_arrives("2001:db8::1", 22, NET_PLANT_OWN6);
	CHECK_ERRNUM(send_to(SOCK_DGRAM, 0, "8.8.8.8", 53, "x", 1), EPERM);
	CHECK_ERRNUM(attempt(SOCK_STREAM, "198.18.0.5", 22), 0);
	fd = arrived();
	live = dup(attempt_fd);

	CHECK_INT(plant_now(list), 0);
	CHECK_INT(planted_count, 0);
	planted_count = count;
	planted_first = 2;
	CHECK_ERRNUM(attempt(SOCK_STREAM, "8.8.8.8", 443), ENETUNREACH);
	CHECK_ERRNUM(send_to(SOCK_DGRAM, 0, "8.8.8.8", 53, "x", 1), ENETUNREACH);
	if (six)
		CHECK_ERRNUM(attempt(SOCK_STREAM, "2001:db8::1", 443), ENETUNREACH);
	CHECK_ERRNUM(attempt(SOCK_STREAM, "198.18.0.5", 22), ECONNREFUSED);
	check_arrives("198.18.0.5", 443, NET_PLANT_OWN);
	CHECK_INT(net_plant_prove(&list), 0);
	/* Whether a connection may live on is decided by egress. */
	CHECK_INT(send(live, "x", 1, 0), 1);
	CHECK_INT(read(fd, &(char){ 0 }, 1), 1);
	close(fd);
	close(live);
}

static void a_policy_becomes_public_and_back(void)
{
	in_space(0, child_changes);
}

static void child_proof(void)
{
	struct net_range all = range_of("0.0.0.0", 0);
	struct net_plant everything = { .everything = true };

	plant_public();
	CHECK_INT(net_plant_prove(&everything), 0);
	CHECK_INT(netns_prove_routes(), 0);
	CHECK_ERRNO(net_plant_prove(&(struct net_plant){ 0 }), EEXIST);
	/* Routes alone are no public network: UDP would get lost. */
	plant_network(
		(struct net_plant){ .ports = &(uint16_t){ 443 }, .port_count = 1, .ranges = &all, .range_count = 1 });
	CHECK_ERRNO(net_plant_prove(&everything), EEXIST);
}

static void the_proof_sees_what_is_missing(void)
{
	in_space(0, child_proof);
}

/* With the errno that says so, and without anything of it in the network. */
static void child_refused(void)
{
	CHECK_INT(netns_make(), 0);
	CHECK_INT(netns_loopback(), 0);
	CHECK_INT(plant_now((struct net_plant){ .everything = true }), -1);
	CHECK(errno == EPROTONOSUPPORT || errno == EOPNOTSUPP || errno == ENOENT);
	CHECK_INT(planted_count, 0);
	CHECK_ERRNUM(attempt(SOCK_STREAM, "8.8.8.8", 443), ENETUNREACH);
	CHECK_INT(plant_now((struct net_plant){ .ports = &(uint16_t){ 443 }, .port_count = 1 }), 0);
	check_arrives("198.18.0.5", 443, NET_PLANT_OWN);
}

static void without_steering_it_is_refused(void)
{
	in_space(0, child_refused);
}

int main(int argc, char **argv)
{
	as_enter(argc, argv);
	if (!find_steering()) {
		check_skip("public_networks", "the kernel has no nftables with tproxy");
		RUN(without_steering_it_is_refused);
		return check_failures ? 1 : 0;
	}
	six = has_six();
	check_name = "listener";
	host_fd = serve(six ? "::" : "0.0.0.0", 0);
	host_port = serve_port(host_fd);
	find_host_addresses();
	RUN(every_connection_arrives);
	RUN(own_addresses_are_the_boxes);
	RUN(udp_is_not_permitted);
	RUN(other_protocols_are_not_permitted);
	RUN(a_policy_becomes_public_and_back);
	RUN(the_proof_sees_what_is_missing);
	return check_failures ? 1 : 0;
}
