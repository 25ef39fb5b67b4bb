#include "kern/fdset.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static int close_between(unsigned first, unsigned last)
{
	struct rlimit limit;

	if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
		return 0;
	if (errno != ENOSYS)
		return -1;
	/* Before 5.9: none can be at or above the limit, which nobody raises and lowers again. */
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return -1;
	for (unsigned fd = first; fd <= last && fd < limit.rlim_max; fd++)
		close((int)fd);
	return 0;
}

int fdset_keep(const int *keep, size_t count)
{
	unsigned next = 0;

	for (;;) {
		int lowest = -1;

		for (size_t i = 0; i < count; i++)
			if (keep[i] >= (int)next && (lowest < 0 || keep[i] < lowest))
				lowest = keep[i];
		if (lowest < 0)
			return close_between(next, ~0U);
		if (lowest > 0 && close_between(next, (unsigned)lowest - 1) < 0)
			return -1;
		next = (unsigned)lowest + 1;
	}
}

int fdset_prove(void)
{
	for (int fd = 3; fd < 64; fd++) {
		int flags = fcntl(fd, F_GETFD);

		if (flags >= 0 && !(flags & FD_CLOEXEC)) {
			errno = EBADF;
			return -1;
		}
	}
	return 0;
}
