#include "kernel/fdset.h"

#include "base/own.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Calls `visit` for every open descriptor until it returns other than 0. Uses the kernel's list, not RLIMIT_NOFILE:
 * descriptors opened before that limit was lowered can be above it, and counting to an unlimited one takes minutes.
 */
static int visit_open(int (*visit)(int fd, const unsigned *range), const unsigned *range)
{
	_cleanup_close_ int dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_Alignas(struct dirent64) char block[2048];
	ssize_t n;

	if (dir < 0)
		return -1;
	/* readdir() would allocate. Positions in this directory are descriptor numbers, so closing one does not move
	 * the others. */
	while ((n = syscall(SYS_getdents64, dir, block, sizeof(block))) > 0) {
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *entry = (const struct dirent64 *)(block + at);
			int fd = atoi(entry->d_name);

			at += entry->d_reclen;
			if (entry->d_name[0] == '.' || fd == dir)
				continue;
			if (visit(fd, range) < 0)
				return -1;
		}
	}
	return n < 0 ? -1 : 0;
}

static int close_within(int fd, const unsigned *range)
{
	if ((unsigned)fd >= range[0] && (unsigned)fd <= range[1])
		close(fd);
	return 0;
}

static int close_between(unsigned first, unsigned last)
{
	if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
		return 0;
	/* Linux before 5.9. */
	return errno == ENOSYS ? visit_open(close_within, (const unsigned[]){ first, last }) : -1;
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

static int stays_over_exec(int fd, const unsigned *range)
{
	(void)range;
	if (fd <= 2 || (fcntl(fd, F_GETFD) & FD_CLOEXEC))
		return 0;
	errno = EBADF;
	return -1;
}

int fdset_prove(void)
{
	return visit_open(stays_over_exec, NULL);
}
