#include "daemon/supervisor/announce.h"

#include "base/fd.h"
#include "base/own.h"
#include "base/state.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char name[] = "address";

static bool is_ours(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid();
}

int announce_address(const char *address)
{
	const struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	_cleanup_close_ int dir = -1, fd = -1;
	char line[ANNOUNCE_MAX + 1];
	int size = snprintf(line, sizeof(line), "%s\n", address);

	if (size >= ANNOUNCE_MAX)
		return -1;
	dir = state_dir(true);
	fd = dir < 0 ? -1 : openat(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	/* A lock of the open file: it goes with the descriptor, whatever else this process opens and closes. */
	if (fd < 0 || !is_ours(fd) || fcntl(fd, F_OFD_SETLK, &all) < 0)
		return -1;
	if (fchmod(fd, 0600) < 0 || ftruncate(fd, 0) < 0 || fd_write(fd, line, (size_t)size) < 0)
		return -1;
	return take_fd(&fd);
}

void announce_end(int *fd)
{
	_cleanup_close_ int dir = *fd < 0 ? -1 : state_dir(false);

	if (dir >= 0)
		unlinkat(dir, name, 0);
	close_fd(fd);
}

int announce_read(char address[ANNOUNCE_MAX])
{
	_cleanup_close_ int dir = state_dir(false), fd = -1;
	struct flock held = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	ssize_t size;

	fd = dir < 0 ? -1 : openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	/* Only asked for, never taken: that would keep a service from taking it. */
	if (fd < 0 || !is_ours(fd) || fcntl(fd, F_OFD_GETLK, &held) < 0 || held.l_type == F_UNLCK)
		return -1;
	size = fd_read(fd, address, ANNOUNCE_MAX - 1);
	/* Locked, and not written yet: in a moment it is. */
	if (size <= 0)
		return -1;
	address[size] = '\0';
	address[strcspn(address, "\n")] = '\0';
	return 0;
}
