/* A network that is planted for a test: connections in it, and what arrives at its listeners. */
#pragma once

#include "../check.h"
#include "as.h"
#include "space.h"

#include "kernel/net_plant.h"
#include "kernel/netns.h"

#include <arpa/inet.h>
#include <fcntl.h>
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
		return strerrorname_np(errno);
	if (address.ss_family == AF_INET6)
		inet_ntop(AF_INET6, &six->sin6_addr, numbers, sizeof(numbers));
	else
		inet_ntop(AF_INET, &four->sin_addr, numbers, sizeof(numbers));
	snprintf(text[turn], sizeof(text[turn]), "%s %d", strncmp(numbers, "::ffff:", 7) == 0 ? numbers + 7 : numbers,
		 ntohs(address.ss_family == AF_INET6 ? six->sin6_port : four->sin_port));
	return text[turn];
}

static int attempt_fd = -1; /* of the last attempt() that was connected, or of UDP */

/* Connects: 0, or the errno. It must not wait. */
static inline int attempt(int type, const char *address, uint16_t port)
{
	struct sockaddr_storage to;
	socklen_t size = address_of(address, port, &to);
	struct pollfd wait = { .events = POLLOUT };
	int error = 0;
	socklen_t error_size = sizeof(error);

	if (attempt_fd >= 0)
		close(attempt_fd);
	attempt_fd = wait.fd = socket(to.ss_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (attempt_fd < 0 || connect(attempt_fd, (struct sockaddr *)&to, size) == 0)
		return attempt_fd < 0 ? errno : 0;
	if (errno != EINPROGRESS)
		return errno;
	/* On lo it is over at once, unless nobody answers. */
	if (poll(&wait, 1, PLANTED_PATIENCE) != 1)
		return ETIMEDOUT;
	getsockopt(attempt_fd, SOL_SOCKET, SO_ERROR, &error, &error_size);
	return error;
}

/* The connection that waits at one of the listeners; -1: there is none. On lo it is there when connect() is through. */
static inline int arrived(void)
{
	for (size_t i = planted_first; i < planted_count; i++) {
		int fd = accept4(planted_fds[i], NULL, NULL, SOCK_CLOEXEC);

		if (fd >= 0)
			return fd;
	}
	return -1;
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
	    bind(fd, (struct sockaddr *)&at, size) == 0 && listen(fd, 8) == 0)
		return fd;
	saved = errno;
	if (fd >= 0)
		close(fd);
	errno = saved;
	return -1;
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
