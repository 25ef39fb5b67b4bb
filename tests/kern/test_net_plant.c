/* What is planted in a box's network. tests/run: args=--as root | --as user | --as userns */
#include "planted.h"

#include "base/fd.h"
#include "kernel/caps.h"

#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define PORTS(...) .ports = (const uint16_t[]){ __VA_ARGS__ }, .port_count = sizeof((uint16_t[]){ __VA_ARGS__ }) / 2

static uint16_t host_port;                  /* of a listener outside, on every address */
static bool can_steer;                      /* this kernel has tproxy */
static bool six;                            /* and IPv6 */
static int outside_fd = -1, inside_fd = -1; /* a socket between the box and a process outside */

/* The policy of most tests: names, a range of either family. */
static void plant_usual(void)
{
	struct net_range ranges[] = { range_of("10.20.0.0", 16), range_of("2606:4700::", 32) };

	plant_network((struct net_plant){ PORTS(80, 443, 8080), .ranges = ranges, .range_count = 2 });
	CHECK_INT(planted_steered, !never_steer);
}

static void child_arrives(void)
{
	plant_usual();
	check_arrives("198.18.0.5", 443, NET_PLANT_OWN);
	check_arrives("198.18.0.5", 80, NET_PLANT_OWN);
	check_arrives("198.19.255.253", 8080, NET_PLANT_OWN);
	check_arrives("10.20.30.40", 443, NET_PLANT_OWN);
	if (six)
		check_arrives("2606:4700::1111", 443, NET_PLANT_OWN6);
	/* As IPv6 programs write IPv4. */
	if (six) {
		CHECK_ERRNUM(attempt(SOCK_STREAM, "::ffff:198.18.0.9", 443), 0);
		CHECK_STR(name_text(getsockname, arrived()), "198.18.0.9 443");
	}
	/* Nothing arrives that was not sent. */
	CHECK(nothing_arrived());
	CHECK_INT(net_plant_prove(&(struct net_plant){ 0 }), 0);
	CHECK_INT(netns_prove(), 0);
	CHECK_INT(netns_prove_routes(), 0);
}

static void connections_arrive_with_their_destination(void)
{
	in_space(0, child_arrives);
}

/* What the box sends to a listener is accepted by a process that has never been in its network. */
static void child_outside(void)
{
	char got = 0;

	plant_usual();
	CHECK_INT(fd_send(inside_fd, "l", 1, planted_fds, planted_count), 0);
	CHECK_ERRNUM(attempt(SOCK_STREAM, "198.18.0.77", 443), 0);
	CHECK_INT(read(attempt_fd, &got, 1), 1);
	CHECK_INT(got, 'o');
}

static void serve_outside(void)
{
	struct timeval patience = { .tv_sec = PLANTED_PATIENCE / 1000 };
	char byte;
	int fd;

	CHECK_INT(setsockopt(outside_fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
	CHECK_INT(fd_receive(outside_fd, &byte, 1, planted_fds, &planted_count), 1);
	planted_first = 2;
	fd = arrived();
	CHECK_STR(name_text(getsockname, fd), "198.18.0.77 443");
	CHECK_INT(write(fd, "o", 1), 1);
	close(fd);
	for (size_t i = 0; i < planted_count; i++)
		close(planted_fds[i]);
}

static void a_process_outside_accepts(void)
{
	int pair[2];

	CHECK_INT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	outside_fd = pair[0];
	inside_fd = pair[1];
	in_space_while(0, child_outside, serve_outside);
	close(pair[0]);
	close(pair[1]);
}

static void child_elsewhere(void)
{
	static const char *const four[] = { "192.0.2.1",  "8.8.8.8",         "1.1.1.1",         "169.254.169.254",
					    "10.0.0.1",   "10.21.0.1",       "172.16.0.1",      "192.168.0.1",
					    "100.64.0.1", "198.20.0.1",      "198.17.255.255",  "240.0.0.1",
					    "224.0.0.1",  "255.255.255.255", NET_PLANT_LISTENER };
	static const char *const others[] = { "2001:db8::1",      "2606:4701::1",           "2002:a9fe:a9fe::1",
					      "fc00::1",          "64:ff9b::a9fe:a9fe",     "::ffff:8.8.8.8",
					      "::8.8.8.8",        "::ffff:169.254.169.254", "fd00:ec2::254",
					      NET_PLANT_LISTENER6 };

	/* The controls: outside, the machine's listener answers. */
	CHECK_ERRNUM(attempt(SOCK_STREAM, "127.0.0.1", host_port), 0);
	for (size_t i = 0; i < host_address_count; i++)
		CHECK_ERRNUM(attempt(SOCK_STREAM, host_addresses[i], host_port), 0);
	plant_usual();
	for (size_t i = 0; i < sizeof(four) / sizeof(four[0]); i++) {
		CHECK_ERRNUM(attempt(SOCK_STREAM, four[i], 443), ENETUNREACH);
		CHECK_ERRNUM(attempt(SOCK_DGRAM, four[i], 443), ENETUNREACH);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]) && six; i++) {
		CHECK_ERRNUM(attempt(SOCK_STREAM, others[i], 443), ENETUNREACH);
		CHECK_ERRNUM(attempt(SOCK_DGRAM, others[i], 443), ENETUNREACH);
	}
	for (size_t i = 0; i < host_address_count; i++) {
		CHECK_ERRNUM(attempt(SOCK_STREAM, host_addresses[i], host_port), ENETUNREACH);
		CHECK_ERRNUM(attempt(SOCK_STREAM, host_addresses[i], 443), ENETUNREACH);
	}
	CHECK(nothing_arrived());
	check_arrives("198.18.0.5", 443, NET_PLANT_OWN);
}

static void other_addresses_are_unreachable(void)
{
	in_space(0, child_elsewhere);
}

static void child_ports(void)
{
	plant_usual();
	CHECK_ERRNUM(attempt(SOCK_STREAM, "198.18.0.5", 81), ECONNREFUSED);
	CHECK_ERRNUM(attempt(SOCK_STREAM, "198.18.0.5", 1), ECONNREFUSED);
	CHECK_ERRNUM(attempt(SOCK_STREAM, "198.18.0.5", 53), ECONNREFUSED);
	CHECK_ERRNUM(attempt(SOCK_STREAM, "198.18.0.5", 65535), ECONNREFUSED);
	CHECK_ERRNUM(attempt(SOCK_STREAM, "10.20.30.40", 22), ECONNREFUSED);
	CHECK_ERRNUM(attempt(SOCK_STREAM, NET_PLANT_OWN, 81), ECONNREFUSED);
	if (six) {
		CHECK_ERRNUM(attempt(SOCK_STREAM, "2606:4700::1111", 22), ECONNREFUSED);
		CHECK_ERRNUM(attempt(SOCK_STREAM, NET_PLANT_OWN6, 22), ECONNREFUSED);
	}
	CHECK(nothing_arrived());
	check_arrives("198.18.0.5", 80, NET_PLANT_OWN);
}

static void other_ports_are_refused(void)
{
	in_space(0, child_ports);
}

static void child_loopback(void)
{
	static const char *const own[] = { "127.0.0.1", "127.9.9.9", NET_PLANT_OWN, "::1", NET_PLANT_OWN6 };

	plant_usual();
	/* The machine's listener is on 127.0.0.1 of another network. */
	CHECK_ERRNUM(attempt(SOCK_STREAM, "127.0.0.1", host_port), ECONNREFUSED);
	for (size_t i = 0; i < (six ? 5 : 3); i++) {
		char want[64];

		snprintf(want, sizeof(want), "%s 443", own[i]);
		/* Bound listeners have these as well. Egress sees it and resets them. */
		if (never_steer) {
			CHECK_ERRNUM(attempt(SOCK_STREAM, own[i], 443), 0);
			CHECK_STR(name_text(getsockname, arrived()), want);
		} else {
			CHECK_ERRNUM(attempt(SOCK_STREAM, own[i], 443), ECONNREFUSED);
		}
		CHECK_ERRNUM(attempt(SOCK_STREAM, own[i], 444), ECONNREFUSED);
	}
	CHECK(nothing_arrived());
	/* The control: a server of the program's own. */
	CHECK(serve("127.0.0.1", 8000) >= 0);
	CHECK_ERRNUM(attempt(SOCK_STREAM, "127.0.0.1", 8000), 0);
}

static void loopback_is_the_boxes(void)
{
	in_space(0, child_loopback);
}

static void child_serves(void)
{
	static const char *const places[] = { "127.0.0.1", NET_PLANT_OWN, "198.18.0.5", "::1", "0.0.0.0", "::" };
	int fd, live;

	plant_usual();
	CHECK_INT(caps_drop(), 0); /* as a program */
	CHECK_ERRNUM(attempt(SOCK_STREAM, "198.18.0.5", 8080), 0);
	live = arrived();
	for (size_t i = 0; i < 6; i++) {
		const char *to = strcmp(places[i], "0.0.0.0") == 0 ? "127.0.0.1"
				 : strcmp(places[i], "::") == 0    ? "::1"
								   : places[i];

		if (strchr(to, ':') && !six)
			continue;
		fd = serve(places[i], 8080);
		if (never_steer) {
			CHECK_ERRNUM(fd < 0 ? errno : 0, EADDRINUSE);
			continue;
		}
		CHECK(fd >= 0);
		if (strcmp(to, "198.18.0.5") != 0) {
			CHECK_ERRNUM(attempt(SOCK_STREAM, to, 8080), 0);
			CHECK(nothing_arrived());
			close(serve_one(fd));
		}
		/* Its own server takes nothing from egress. */
		check_arrives("198.18.0.5", 8080, NET_PLANT_OWN);
		CHECK_ERRNO(accept(fd, NULL, NULL), EAGAIN);
		close(fd);
	}
	close(live);
	/* Ports that are not the policy's are free in any case. */
	fd = serve("0.0.0.0", 8081);
	CHECK(fd >= 0);
	CHECK_ERRNUM(attempt(SOCK_STREAM, "127.0.0.1", 8081), 0);
	CHECK(serve_one(fd) >= 0);
}

static void programs_listen_on_ports_of_the_policy(void)
{
	in_space(0, child_serves);
}

static void child_served_before(void)
{
	int fd;

	CHECK_INT(netns_make(), 0);
	CHECK_INT(netns_loopback(), 0);
	fd = serve("0.0.0.0", 8080);
	CHECK(fd >= 0);
	if (never_steer) {
		CHECK_ERRNO(plant_now((struct net_plant){ PORTS(80, 8080) }), EADDRINUSE);
		CHECK_INT(planted_count, 0);
		return;
	}
	CHECK_INT(plant_now((struct net_plant){ PORTS(80, 8080) }), 0);
	check_arrives("198.18.0.5", 8080, NET_PLANT_OWN);
	CHECK_ERRNUM(attempt(SOCK_STREAM, "127.0.0.1", 8080), 0);
	CHECK(serve_one(fd) >= 0);
}

static void a_server_that_is_there_before(void)
{
	in_space(0, child_served_before);
}

static void child_udp(void)
{
	char byte;

	plant_usual();
	CHECK_ERRNUM(attempt(SOCK_DGRAM, "198.18.0.5", 443), 0);
	CHECK_INT(send(attempt_fd, "x", 1, 0), 1);
	CHECK_ERRNO(recv(attempt_fd, &byte, 1, 0), ECONNREFUSED);
	CHECK_ERRNUM(attempt(SOCK_DGRAM, "8.8.8.8", 53), ENETUNREACH);
	/* The control: what is sent within the box arrives. */
	CHECK_ERRNUM(attempt(SOCK_DGRAM, NET_PLANT_DNS, 53), 0);
	CHECK_INT(send(attempt_fd, "q", 1, 0), 1);
	CHECK(ready(planted_fds[0]));
	CHECK_INT(recv(planted_fds[0], &byte, 1, 0), 1);
}

static void udp_goes_nowhere(void)
{
	in_space(0, child_udp);
}

static void child_names(void)
{
	struct sockaddr_storage from;
	socklen_t size = sizeof(from);
	char got[8] = "";
	int fd;

	plant_usual();
	CHECK(planted_count <= (never_steer ? 5 : 4));
	for (size_t i = 0; i < planted_count; i++) {
		CHECK_INT(fcntl(planted_fds[i], F_GETFD), FD_CLOEXEC);
		CHECK_INT(fcntl(planted_fds[i], F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	}
	CHECK_INT(caps_drop(), 0);
	CHECK_ERRNUM(attempt(SOCK_DGRAM, NET_PLANT_DNS, 53), 0);
	CHECK_INT(send(attempt_fd, "query", 5, 0), 5);
	CHECK(ready(planted_fds[0]));
	CHECK_INT(recvfrom(planted_fds[0], got, sizeof(got), 0, (struct sockaddr *)&from, &size), 5);
	CHECK_STR(got, "query");
	CHECK_INT(sendto(planted_fds[0], "answer", 6, 0, (struct sockaddr *)&from, size), 6);
	CHECK_INT(recv(attempt_fd, got, sizeof(got), 0), 6);
	CHECK_ERRNUM(attempt(SOCK_STREAM, NET_PLANT_DNS, 53), 0);
	fd = serve_one(planted_fds[1]);
	CHECK_INT(write(attempt_fd, "tcp", 3), 3);
	CHECK_INT(read(fd, got, sizeof(got)), 3);
	/* No other address has a name server. */
	CHECK_ERRNUM(attempt(SOCK_STREAM, "127.0.0.1", 53), ECONNREFUSED);
	CHECK_ERRNUM(attempt(SOCK_STREAM, "127.0.0.54", 53), ECONNREFUSED);
	CHECK(nothing_arrived());
}

static void the_name_server_is_asked(void)
{
	in_space(0, child_names);
}

/* Not the program's, and all of it would lead out of the plan. */
static void child_powers(void)
{
	struct net_range further = range_of("8.8.8.0", 24);
	struct net_plant wider = { .ranges = &further, .range_count = 1, .again = true };
	int fd, one = 1;

	plant_usual();
	/* The controls: with capabilities all of it works. */
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_INT(setsockopt(fd, IPPROTO_IP, IP_TRANSPARENT, &one, sizeof(one)), 0);
	close(fd);
	fd = serve("0.0.0.0", 25);
	CHECK(fd >= 0);
	close(fd);
	CHECK_INT(caps_drop(), 0);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_ERRNO(setsockopt(fd, IPPROTO_IP, IP_TRANSPARENT, &one, sizeof(one)), EPERM);
	CHECK_ERRNO(setsockopt(fd, SOL_SOCKET, SO_MARK, &one, sizeof(one)), EPERM);
	close(fd);
	CHECK_ERRNO(serve("0.0.0.0", 25), EACCES);
	CHECK_ERRNO(serve("198.18.0.5", 443), EACCES);
	CHECK_ERRNO(plant_now(wider), EPERM);
	wider = (struct net_plant){ .everything = true, .again = true };
	if (can_steer)
		CHECK_ERRNO(plant_now(wider), EPERM);
	CHECK_ERRNO(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_ICMP), EACCES);
	CHECK_ERRNO(socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP), EPERM);
	CHECK_ERRNUM(attempt(SOCK_STREAM, "198.18.0.5", 22), ECONNREFUSED);
	CHECK_ERRNUM(attempt(SOCK_STREAM, "8.8.8.8", 443), ENETUNREACH);
}

static void programs_change_nothing(void)
{
	in_space(0, child_powers);
}

/* Whether a table of sockets has one with the local port; *uid is its owner's. */
static bool table_has(const char *path, uint16_t port, unsigned *uid)
{
	FILE *file = fopen(path, "re");
	char line[512];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file)) {
		unsigned local;

		found = sscanf(line, " %*d: %*[0-9A-F]:%x %*s %*s %*s %*s %*s %u", &local, uid) == 2 && local == port;
	}
	if (file)
		fclose(file);
	return found;
}

static bool tables_have(uint16_t port)
{
	unsigned uid;

	return table_has("/proc/thread-self/net/tcp", port, &uid) ||
	       table_has("/proc/thread-self/net/tcp6", port, &uid);
}

static void child_sees(void)
{
	struct ucred peer = { .pid = 1 };
	socklen_t size = sizeof(peer);
	unsigned uid = ~0u;

	CHECK(tables_have(host_port)); /* the control */
	plant_usual();
	CHECK(!tables_have(host_port));
	CHECK(table_has("/proc/thread-self/net/tcp", 53, &uid));
	CHECK_INT(uid, geteuid());
	CHECK(tables_have(never_steer ? 443 : NET_PLANT_LISTENER_PORT));
	CHECK_ERRNUM(attempt(SOCK_STREAM, "198.18.0.5", 443), 0);
	CHECK_INT(getsockopt(attempt_fd, SOL_SOCKET, SO_PEERCRED, &peer, &size), 0);
	CHECK_INT(peer.pid, 0);
	CHECK_INT(peer.uid, (uid_t)-1);
}

static void programs_see_no_sockets_of_the_host(void)
{
	in_space(0, child_sees);
}

static void child_later(void)
{
	struct net_range range = range_of("10.30.0.0", 16);
	static const uint16_t before[] = { 443 };
	int first, fd, live;

	plant_network((struct net_plant){ .ports = before, .port_count = 1 });
	first = planted_fds[2];
	CHECK_ERRNUM(attempt(SOCK_STREAM, "10.30.0.1", 443), ENETUNREACH);
	CHECK_ERRNUM(attempt(SOCK_STREAM, "198.18.0.5", 8080), ECONNREFUSED);
	CHECK_ERRNUM(attempt(SOCK_STREAM, "198.18.0.5", 443), 0);
	fd = serve_one(first);
	live = dup(attempt_fd);
	CHECK_INT(plant_now((struct net_plant){ PORTS(443, 8080), .bound = before, .bound_count = 1, .ranges = &range,
						.range_count = 1, .again = true }),
		  0);
	CHECK_INT(planted_steered, !never_steer);
	CHECK_INT(planted_count, never_steer ? 1 : 0);
	/* Live connections live on. */
	CHECK_INT(write(live, "x", 1), 1);
	CHECK_INT(read(fd, &(char){ 0 }, 1), 1);
	if (!never_steer)
		planted_fds[planted_count++] = first;
	check_arrives("198.18.0.5", 8080, NET_PLANT_OWN);
	check_arrives("10.30.0.1", 8080, NET_PLANT_OWN);
	CHECK_ERRNUM(attempt(SOCK_STREAM, "10.31.0.1", 8080), ENETUNREACH);
	CHECK_ERRNUM(attempt(SOCK_STREAM, "198.18.0.5", 8081), ECONNREFUSED);
}

/* Ranges that the policy does not have any more are unreachable; the others are not touched. */
static void child_fewer(void)
{
	struct net_range ranges[] = { range_of("10.30.0.0", 16),   range_of("10.30.4.0", 24),
				      range_of("10.0.0.0", 9),     range_of("2606:4700::", 32),
				      range_of("2606:4700::", 48), range_of("2001:db8::", 32) };
	struct net_plant fewer = { PORTS(443), .bound = (const uint16_t[]){ 443 }, .bound_count = 1, .again = true };
	struct net_range left[] = { ranges[1], ranges[4] };
	size_t count;
	int live, fd;

	plant_network((struct net_plant){ PORTS(443), .ranges = ranges, .range_count = 6 });
	check_arrives("10.30.4.1", 443, NET_PLANT_OWN);
	check_arrives("10.1.0.1", 443, NET_PLANT_OWN);
	/* The proof gets as far as a listener where there is no longer to be a route. */
	if (six) {
		CHECK_ERRNO(net_plant_prove(&fewer), EEXIST);
		close(arrived());
	}
	CHECK_ERRNUM(attempt(SOCK_STREAM, "10.30.4.1", 443), 0);
	live = dup(attempt_fd);
	fd = arrived();
	fewer.ranges = left;
	fewer.range_count = 2;
	count = planted_count;
	CHECK_INT(plant_now(fewer), 0);
	CHECK_INT(planted_count, 0);
	planted_count = count;
	planted_first = 2;
	CHECK_INT(net_plant_prove(&fewer), 0);
	CHECK_ERRNUM(attempt(SOCK_STREAM, "10.30.5.1", 443), ENETUNREACH);
	CHECK_ERRNUM(attempt(SOCK_STREAM, "10.1.0.1", 443), ENETUNREACH);
	check_arrives("10.30.4.1", 443, NET_PLANT_OWN);
	check_arrives("198.18.0.5", 443, NET_PLANT_OWN);
	if (six) {
		CHECK_ERRNUM(attempt(SOCK_STREAM, "2001:db8::1", 443), ENETUNREACH);
		CHECK_ERRNUM(attempt(SOCK_STREAM, "2606:4700:1::1", 443), ENETUNREACH);
		check_arrives("2606:4700::1", 443, NET_PLANT_OWN6);
	}
	CHECK_INT(write(live, "x", 1), 1);
	CHECK_INT(read(fd, &(char){ 0 }, 1), 1);
}

static void a_policy_has_fewer_ranges(void)
{
	in_space(0, child_fewer);
}

static void a_policy_changes(void)
{
	in_space(0, child_later);
}

static void child_nothing(void)
{
	static const uint16_t before[] = { 443 };
	struct net_plant nothing = { .bound = before, .bound_count = 1, .again = true };

	plant_network((struct net_plant){ .ports = before, .port_count = 1 });
	check_arrives("198.18.0.5", 443, NET_PLANT_OWN);
	CHECK_INT(plant_now(nothing), 0);
	CHECK_INT(planted_count, 0);
	if (never_steer) /* then the listeners are the holder's to close */
		CHECK_INT(close(planted_fds[2]), 0);
	CHECK_ERRNUM(attempt(SOCK_STREAM, "198.18.0.5", 443), ECONNREFUSED);
	CHECK_ERRNUM(attempt(SOCK_STREAM, "8.8.8.8", 443), ENETUNREACH);
	/* And something again. */
	CHECK_INT(plant_now((struct net_plant){ PORTS(80), .again = true }), 0);
	CHECK_INT(planted_count, never_steer ? 1 : 0);
	CHECK_ERRNUM(attempt(SOCK_STREAM, "198.18.0.5", 443), ECONNREFUSED);
	if (!never_steer)
		planted_count = (planted_first = 2) + 1;
	check_arrives("198.18.0.5", 80, NET_PLANT_OWN);
}

static void a_policy_becomes_none_and_back(void)
{
	in_space(0, child_nothing);
}

static void child_many(void)
{
	struct net_range ranges[256];
	uint16_t ports[64];

	for (int i = 0; i < 256; i++) {
		char text[64];

		snprintf(text, sizeof(text), six && i % 2 ? "2001:db8:%x::1" : "10.0.%d.1", i);
		ranges[i] = range_of(text, six && i % 2 ? 128 : 32);
	}
	for (int i = 0; i < 64; i++)
		ports[i] = (uint16_t)(2000 + i);
	plant_network((struct net_plant){ .ports = ports, .port_count = 64, .ranges = ranges, .range_count = 256 });
	check_arrives("10.0.254.1", 2063, NET_PLANT_OWN);
	check_arrives("10.0.0.1", 2000, NET_PLANT_OWN);
	if (six)
		check_arrives("2001:db8:ff::1", 2031, NET_PLANT_OWN6);
	CHECK_INT(netns_prove_routes(), 0);
	CHECK_ERRNUM(attempt(SOCK_STREAM, "10.0.254.2", 2063), ENETUNREACH);
	CHECK_ERRNUM(attempt(SOCK_STREAM, "10.0.254.1", 2064), ECONNREFUSED);
	CHECK_INT(plant_now((struct net_plant){
			  .ports = ports, .port_count = 64, .bound = ports, .bound_count = 64, .again = true }),
		  0);
	for (int i = 0; i < 256; i++) {
		char text[INET6_ADDRSTRLEN];

		if (!six && i % 2)
			continue;
		inet_ntop(ranges[i].family, ranges[i].bytes, text, sizeof(text));
		CHECK_ERRNUM(attempt(SOCK_STREAM, text, 2063), ENETUNREACH);
	}
}

static void many_ranges_and_ports(void)
{
	in_space(0, child_many);
}

static void child_loopback_range(void)
{
	struct net_range four = range_of("127.0.0.1", 32), other = range_of("::1", 128);

	CHECK_INT(netns_make(), 0);
	CHECK_INT(netns_loopback(), 0);
	CHECK_ERRNO(plant_now((struct net_plant){ PORTS(80), .ranges = &four, .range_count = 1 }), EINVAL);
	CHECK_ERRNO(plant_now((struct net_plant){ PORTS(80), .ranges = &other, .range_count = 1 }), EINVAL);
	CHECK_INT(planted_count, 0);
	CHECK_INT(plant_now((struct net_plant){ PORTS(80) }), 0);
}

static void loopback_is_no_range(void)
{
	in_space(0, child_loopback_range);
}

/* A network of the lists and one of everything. */
static void child_all(void)
{
	struct net_range all[] = { range_of("0.0.0.0", 0), range_of("::", 0) };

	plant_network((struct net_plant){ PORTS(443), .ranges = all, .range_count = 2 });
	check_arrives("8.8.8.8", 443, NET_PLANT_OWN);
	CHECK_ERRNUM(attempt(SOCK_STREAM, "8.8.8.8", 444), ECONNREFUSED);
	if (six)
		check_arrives("2001:db8::1", 443, NET_PLANT_OWN6);
	CHECK_ERRNO(net_plant_prove(&(struct net_plant){ 0 }), EEXIST);
	CHECK_INT(net_plant_prove(&(struct net_plant){ .ranges = all, .range_count = 2 }), 0);
	CHECK_ERRNO(net_plant_prove(&(struct net_plant){ .ranges = all + 1, .range_count = 1 }), EEXIST);
	if (six)
		CHECK_ERRNO(net_plant_prove(&(struct net_plant){ .ranges = all, .range_count = 1 }), EEXIST);
}

static void the_proof_sees_a_route(void)
{
	in_space(0, child_all);
}

static void child_without_six(void)
{
	static const char *const files[] = { "/proc/sys/net/ipv6/conf/all/disable_ipv6",
					     "/proc/sys/net/ipv6/conf/lo/disable_ipv6" };
	struct net_range ranges[] = { range_of("10.20.0.0", 16), range_of("2606:4700::", 32) };

	CHECK_INT(netns_make(), 0);
	CHECK_INT(netns_loopback(), 0);
	for (int i = 0; i < 2; i++) {
		int fd = open(files[i], O_WRONLY | O_CLOEXEC);

		CHECK(fd >= 0 && write(fd, "1\n", 2) == 2);
		close(fd);
	}
	CHECK(!has_six());
	CHECK_INT(plant_now((struct net_plant){ PORTS(443), .ranges = ranges, .range_count = 2 }), 0);
	check_arrives("10.20.0.1", 443, NET_PLANT_OWN);
	CHECK_ERRNUM(attempt(SOCK_STREAM, "2606:4700::1", 443), EADDRNOTAVAIL);
	CHECK_INT(net_plant_prove(&(struct net_plant){ 0 }), 0);
}

static void without_ipv6(void)
{
	in_space(0, child_without_six);
}

/* As on a kernel without netfilter: there is no such protocol. */
static void netfilter_deny(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NETLINK_NETFILTER, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPROTONOSUPPORT),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(filter) / sizeof(filter[0]), .filter = filter };

	CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_INT(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static void child_without_netfilter(void)
{
	CHECK_INT(netns_make(), 0);
	CHECK_INT(netns_loopback(), 0);
	netfilter_deny();
	CHECK_ERRNO(plant_now((struct net_plant){ .everything = true }), EPROTONOSUPPORT);
	CHECK_INT(planted_count, 0);
	CHECK_INT(plant_now((struct net_plant){ PORTS(80, 443) }), 0);
	CHECK(!planted_steered);
	CHECK_INT(planted_count, 4);
	check_arrives("198.18.0.5", 443, NET_PLANT_OWN);
	CHECK_ERRNUM(attempt(SOCK_STREAM, "8.8.8.8", 443), ENETUNREACH);
}

static void without_nftables(void)
{
	in_space(0, child_without_netfilter);
}

/* Each test by either way. */
static void run_both(const char *name, void (*test)(void))
{
	char whole[128];

	for (int bound = 0; bound < 2; bound++) {
		never_steer = bound;
		snprintf(whole, sizeof(whole), "%s_%s", name, bound ? "bound" : "steered");
		if (!bound && !can_steer)
			check_skip(whole, "the kernel has no nftables with tproxy");
		else
			check_run(whole, test);
	}
}

#define RUN_BOTH(test) run_both(#test, test)

int main(int argc, char **argv)
{
	as_enter(argc, argv);
	six = has_six();
	check_name = "listener";
	host_port = serve_port(serve(six ? "::" : "0.0.0.0", 0));
	find_host_addresses();
	can_steer = find_steering();
	RUN_BOTH(connections_arrive_with_their_destination);
	RUN_BOTH(a_process_outside_accepts);
	RUN_BOTH(other_addresses_are_unreachable);
	RUN_BOTH(other_ports_are_refused);
	RUN_BOTH(loopback_is_the_boxes);
	RUN_BOTH(programs_listen_on_ports_of_the_policy);
	RUN_BOTH(a_server_that_is_there_before);
	RUN_BOTH(udp_goes_nowhere);
	RUN_BOTH(the_name_server_is_asked);
	RUN_BOTH(programs_change_nothing);
	RUN_BOTH(programs_see_no_sockets_of_the_host);
	RUN_BOTH(a_policy_changes);
	RUN_BOTH(a_policy_has_fewer_ranges);
	RUN_BOTH(a_policy_becomes_none_and_back);
	RUN_BOTH(many_ranges_and_ports);
	RUN_BOTH(loopback_is_no_range);
	RUN_BOTH(the_proof_sees_a_route);
	if (six)
		RUN_BOTH(without_ipv6);
	never_steer = false;
	RUN(without_nftables);
	return check_failures ? 1 : 0;
}
