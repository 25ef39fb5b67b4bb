/* A network that is planted for a test: connections in it, and what arrives at its listeners. */
#pragma once

#include "../check.h"
#include "as.h"
#include "space.h"

#include "kernel/net_plant.h"
#include "kernel/netns.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>

enum {
	PLANTED_PATIENCE = 20000, /* milliseconds that something may take that takes none */
	PLANTED_FDS = 80
};

static int planted_fds[PLANTED_FDS]; /* of the last net_plant() */
static size_t planted_count;         /* how many */
static bool planted_steered;         /* what it said */
static size_t planted_first;         /* the first of them that is a listener for the policy */
static bool never_steer;             /* the way that the running test is about */

static inline int plant_now(struct net_plant plan)
{
	int result;

	plan.never_steer = plan.never_steer || never_steer;
	result = net_plant(&plan, planted_fds, &planted_count, &planted_steered);
	planted_first = plan.again || planted_count < 2 ? 0 : 2;
	return result;
}

/* A network with this in it. */
static inline void plant_network(struct net_plant plan)
{
	CHECK_INT(netns_make(), 0);
	CHECK_INT(netns_loopback(), 0);
	if (plant_now(plan) < 0)
		check_fail("net_plant: %s", strerrorname_np(errno));
}

static inline socklen_t address_of(const char *text, uint16_t port, struct sockaddr_storage *address)
{
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)address;
	struct sockaddr_in *four = (struct sockaddr_in *)address;

	memset(address, 0, sizeof(*address));
	if (strchr(text, ':')) {
		six->sin6_family = AF_INET6;
		six->sin6_port = htons(port);
		CHECK_INT(inet_pton(AF_INET6, text, &six->sin6_addr), 1);
		return sizeof(*six);
	}
	four->sin_family = AF_INET;
	four->sin_port = htons(port);
	CHECK_INT(inet_pton(AF_INET, text, &four->sin_addr), 1);
	return sizeof(*four);
}

/* "ADDRESS PORT" of a socket's one end, without the prefix of an IPv4 address in an IPv6 socket. */
static inline const char *name_text(int (*name)(int, struct sockaddr *, socklen_t *), int fd)
{
	static char text[2][80];
	static int turn;
	struct sockaddr_storage address = { 0 };
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)&address;
	struct sockaddr_in *four = (struct sockaddr_in *)&address;
	socklen_t size = sizeof(address);
	char numbers[INET6_ADDRSTRLEN] = "?";

	turn = !turn;
	if (name(fd, (struct sockaddr *)&address, &size) < 0)
		return strerrorname_np(errno) ?: "?";
	if (address.ss_family == AF_INET6)
		inet_ntop(AF_INET6, &six->sin6_addr, numbers, sizeof(numbers));
	else
		inet_ntop(AF_INET, &four->sin_addr, numbers, sizeof(numbers));
	snprintf(text[turn], sizeof(text[turn]), "%s %d", strncmp(numbers, "::ffff:", 7) == 0 ? numbers + 7 : numbers,
		 ntohs(address.ss_family == AF_INET6 ? six->sin6_port : four->sin_port));
	return text[turn];
}

static int attempt_fd = -1; /* of the last attempt() */

/* Connects: 0, or the errno. Then the socket's calls wait, but not for ever. */
static inline int attempt(int type, const char *address, uint16_t port)
{
	struct timeval patience = { .tv_sec = PLANTED_PATIENCE / 1000 };
	struct sockaddr_storage to;
	socklen_t size = address_of(address, port, &to);

	if (attempt_fd >= 0)
		close(attempt_fd);
	attempt_fd = socket(to.ss_family, type | SOCK_CLOEXEC, 0);
	if (attempt_fd < 0 || setsockopt(attempt_fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0 ||
	    setsockopt(attempt_fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
	    connect(attempt_fd, (struct sockaddr *)&to, size) < 0)
		return errno;
	return 0;
}

/* Waits until there is something to read or to accept. */
static inline bool ready(int fd)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };

	return poll(&wait, 1, PLANTED_PATIENCE) == 1;
}

/* The next connection of a listener; -1: none comes. Its calls do not wait for ever. */
static inline int serve_one(int fd)
{
	struct timeval patience = { .tv_sec = PLANTED_PATIENCE / 1000 };
	int accepted = ready(fd) ? accept4(fd, NULL, NULL, SOCK_CLOEXEC) : -1;

	if (accepted >= 0)
		setsockopt(accepted, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return accepted;
}

/* The connection that one of the listeners gets; -1: none comes. */
static inline int arrived(void)
{
	struct pollfd waits[PLANTED_FDS];
	nfds_t count = 0;

	for (size_t i = planted_first; i < planted_count; i++)
		waits[count++] = (struct pollfd){ .fd = planted_fds[i], .events = POLLIN };
	if (poll(waits, count, PLANTED_PATIENCE) < 1)
		return -1;
	for (nfds_t i = 0; i < count; i++)
		if (waits[i].revents)
			return serve_one(waits[i].fd);
	return -1;
}

/* Whether the listeners have nothing. */
static inline bool nothing_arrived(void)
{
	for (size_t i = planted_first; i < planted_count; i++)
		if (accept(planted_fds[i], NULL, NULL) >= 0 || errno != EAGAIN)
			return false;
	return true;
}

static inline const char *errnum_name(int errnum)
{
	return errnum ? strerrorname_np(errnum) : "0";
}

#define CHECK_ERRNUM(call, want)                                                                                       \
	do {                                                                                                           \
		int errnum_ = (call);                                                                                  \
		if (errnum_ != (want))                                                                                 \
			check_fail("%s:%d: %s is %s, not %s", __FILE__, __LINE__, #call, errnum_name(errnum_),         \
				   errnum_name(want));                                                                 \
	} while (0)

/* A connection reaches a listener, which sees that address and port, and where it comes from; bytes go both ways. */
static inline void check_arrives(const char *address, uint16_t port, const char *from)
{
	char want[80], got[2] = "", *space;
	int error = attempt(SOCK_STREAM, address, port), fd = error ? -1 : arrived();
	const char *peer;

	snprintf(want, sizeof(want), "%s %d", address, port);
	if (error || fd < 0) {
		check_fail("%s: %s", want, error ? strerrorname_np(error) : "no listener has it");
		return;
	}
	CHECK_STR(name_text(getsockname, fd), want);
	CHECK_STR(name_text(getpeername, attempt_fd), want);
	peer = name_text(getpeername, fd);
	CHECK_STR(name_text(getsockname, attempt_fd), peer);
	space = strchr(peer, ' ');
	CHECK(space && strncmp(peer, from, strlen(from)) == 0 && (size_t)(space - peer) == strlen(from));
	CHECK_INT(write(attempt_fd, "a", 1), 1);
	CHECK_INT(read(fd, got, 1), 1);
	CHECK_STR(got, "a");
	CHECK_INT(write(fd, "b", 1), 1);
	CHECK_INT(read(attempt_fd, got, 1), 1);
	CHECK_STR(got, "b");
	close(fd);
}

/* A server of the program's own: a listener on the address, or -1. */
static inline int serve(const char *address, uint16_t port)
{
	struct sockaddr_storage at;
	socklen_t size = address_of(address, port, &at);
	int saved, fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1;

	/* As nearly all servers do. */
	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0 &&
	    bind(fd, (struct sockaddr *)&at, size) == 0 && listen(fd, 128) == 0)
		return fd;
	saved = errno;
	if (fd >= 0)
		close(fd);
	errno = saved;
	return -1;
}

static inline uint16_t serve_port(int fd)
{
	const char *name = fd < 0 ? "" : name_text(getsockname, fd), *space = strchr(name, ' ');

	CHECK(space != NULL);
	return space ? (uint16_t)atoi(space + 1) : 0;
}

static inline struct net_range range_of(const char *text, uint8_t bits)
{
	struct net_range range = { .family = strchr(text, ':') ? AF_INET6 : AF_INET, .bits = bits };

	CHECK_INT(inet_pton(range.family, text, range.bytes), 1);
	return range;
}

/* Whether this kernel has IPv6 on loopback. */
static inline bool has_six(void)
{
	int fd = serve("::1", 0);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static char host_addresses[16][INET6_ADDRSTRLEN]; /* of the machine, outside, but for those of loopback */
static size_t host_address_count;                 /* how many */

static inline void find_host_addresses(void)
{
	struct ifaddrs *all = NULL;

	if (getifaddrs(&all) < 0)
		return;
	for (struct ifaddrs *one = all; one && host_address_count < 16; one = one->ifa_next) {
		char text[INET6_ADDRSTRLEN] = "";
		int family = one->ifa_addr ? one->ifa_addr->sa_family : 0;

		if (one->ifa_flags & IFF_LOOPBACK)
			continue;
		if (family == AF_INET)
			inet_ntop(family, &((struct sockaddr_in *)one->ifa_addr)->sin_addr, text, sizeof(text));
		else if (family == AF_INET6 &&
			 !IN6_IS_ADDR_LINKLOCAL(&((struct sockaddr_in6 *)one->ifa_addr)->sin6_addr))
			inet_ntop(family, &((struct sockaddr_in6 *)one->ifa_addr)->sin6_addr, text, sizeof(text));
		if (text[0])
			memcpy(host_addresses[host_address_count++], text, sizeof(text));
	}
	freeifaddrs(all);
}

static inline void child_can_steer(void)
{
	bool steered = false;

	if (netns_make() == 0 && netns_loopback() == 0 &&
	    plant_now((struct net_plant){ .ports = (const uint16_t[]){ 80 }, .port_count = 1 }) == 0)
		steered = planted_steered;
	_exit(steered ? 10 : 0);
}

/* What this kernel has is not ours to check: a plain child tells, outside of any test. */
static inline bool find_steering(void)
{
	int status = 0, pidfd = -1;
	pid_t pid = clone_into(CLONE_NEWUSER, -1, &pidfd);

	if (pid == 0)
		child_can_steer();
	if (pid < 0 || waitpid(pid, &status, __WALL) != pid)
		return false;
	close(pidfd);
	return WIFEXITED(status) && WEXITSTATUS(status) == 10;
}
