#include "kern/netns.h"

#include "base/own.h"

#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

int netns_make(void)
{
	return unshare(CLONE_NEWNET);
}

int netns_loopback(void)
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = { .ifr_name = "lo" };

	if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &request) < 0)
		return -1;
	request.ifr_flags |= IFF_UP;
	return ioctl(fd, SIOCSIFFLAGS, &request);
}

int netns_prove(void)
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	/* By index: kernels with sit, gre or tunl built in make unused devices of these in every namespace, all of them down. */
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
