#include "kernel/netns.h"

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

/* IPv4's table names the interface in the first word. */
static bool route4_is_own(const char *line)
{
	return strncmp(line, "lo\t", 3) == 0;
}

/* IPv6's names it in the last word. */
static bool route6_is_own(const char *line)
{
	const char *name = strrchr(line, ' ');

	return name && strcmp(name + 1, "lo") == 0;
}

/* Whether each line of a routing table is a route of lo. The table may be longer than any buffer: a policy can have
 * hundreds of routes. */
static int table_prove(const char *path, bool has_headline, bool (*is_own)(const char *line))
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[4096];
	size_t size = 0;
	ssize_t n;

	if (fd < 0)
		return -1;
	while ((n = read(fd, text + size, sizeof(text) - size)) > 0) {
		char *line = text, *end;

		size += (size_t)n;
		for (; (end = memchr(line, '\n', size - (size_t)(line - text))); line = end + 1) {
			*end = '\0';
			if (!has_headline && !is_own(line)) {
				errno = EEXIST;
				return -1;
			}
			has_headline = false;
		}
		size -= (size_t)(line - text);
		memmove(text, line, size);
	}
	if (n < 0)
		return -1;
	/* A line without an end has not been checked, nor has a table without its headline. */
	if (size > 0 || has_headline) {
		errno = EEXIST;
		return -1;
	}
	return 0;
}

int netns_prove_routes(void)
{
	if (table_prove("/proc/self/net/route", true, route4_is_own) < 0)
		return -1;
	/* A kernel without IPv6 does not have this table. */
	if (table_prove("/proc/self/net/ipv6_route", false, route6_is_own) < 0)
		return errno == ENOENT ? 0 : -1;
	return 0;
}
