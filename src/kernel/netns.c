#include "kernel/netns.h"

#include "base/fd.h"
#include "base/own.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

int netns_make(void)
{
	return unshare(CLONE_NEWNET);
}

/*
 * TCP lets the buffers of a connection grow to 10 MiB, which v1 groups count
 * apart and /proc does not show: a thousand idle connections would fill the
 * host's tcp_mem. In this namespace they are limited to NETNS_SOCKET_MAX. In a
 * container, a read-only /proc/sys refuses this; the container's own limit
 * holds then.
 */
static void buffers_bound(void)
{
	static const char *const files[] = { "/proc/sys/net/ipv4/tcp_wmem", "/proc/sys/net/ipv4/tcp_rmem" };
	static const char values[] = "4096 16384 131072\n";

	for (int i = 0; i < 2; i++) {
		_cleanup_close_ int fd = open(files[i], O_WRONLY | O_CLOEXEC);

		if (fd >= 0)
			(void)!write(fd, values, sizeof(values) - 1);
	}
}

int netns_loopback(void)
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = { .ifr_name = "lo" };

	if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &request) < 0)
		return -1;
	request.ifr_flags |= IFF_UP;
	buffers_bound();
	return ioctl(fd, SIOCSIFFLAGS, &request);
}

int netns_prove(void)
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	/* By index: kernels with sit, gre or tunl built in create unused devices of them in every namespace, all
	 * down. */
	for (int index = 2; index < 32; index++) {
		struct ifreq request = { .ifr_ifindex = index };

		if (ioctl(fd, SIOCGIFNAME, &request) < 0)
			continue;
		if (ioctl(fd, SIOCGIFFLAGS, &request) < 0 || (request.ifr_flags & IFF_UP)) {
			errno = EEXIST;
			return -1;
		}
	}
	return 0;
}

/* Whether each line of a routing table is a route of lo; the last word of a line is the interface. */
static bool routes_are_own(char *text)
{
	char *rest = NULL;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		const char *name = strrchr(line, ' ');

		if (!name || strcmp(name + 1, "lo") != 0)
			return false;
	}
	return true;
}

/* The same of IPv4's table, below its headline, where the first word names the interface. */
static bool routes4_are_own(const char *text)
{
	const char *line = strchr(text, '\n');

	while (line && line[1] != '\0') {
		if (strncmp(line + 1, "lo\t", 3) != 0)
			return false;
		line = strchr(line + 1, '\n');
	}
	return line != NULL;
}

int netns_prove_routes(void)
{
	char text[4096];
	ssize_t n = fd_slurp(AT_FDCWD, "/proc/self/net/route", text, sizeof(text));

	if (n < 0)
		return -1;
	if (n >= (ssize_t)sizeof(text) - 1 || !routes4_are_own(text)) {
		errno = EEXIST;
		return -1;
	}
	n = fd_slurp(AT_FDCWD, "/proc/self/net/ipv6_route", text, sizeof(text));
	/* A kernel without IPv6 does not have this table. */
	if (n < 0)
		return errno == ENOENT ? 0 : -1;
	/* A table that does not fit has not been checked. */
	if (n >= (ssize_t)sizeof(text) - 1 || !routes_are_own(text)) {
		errno = EEXIST;
		return -1;
	}
	return 0;
}
