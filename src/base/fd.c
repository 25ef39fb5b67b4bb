#include "base/fd.h"

#include "base/own.h"

#include <errno.h>
#include <sys/syscall.h>
#include <linux/openat2.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

void close_fd(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = saved;
}

int fd_write(int fd, const void *data, size_t size)
{
	const char *at = data;

	while (size > 0) {
		ssize_t n = write(fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

ssize_t fd_read(int fd, void *data, size_t size)
{
	size_t used = 0;

	while (used < size) {
		ssize_t n = read(fd, (char *)data + used, size - used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		used += (size_t)n;
	}
	return (ssize_t)used;
}

int fd_copy(int from, int to, uint64_t limit)
{
	char block[16384];
	uint64_t done = 0;

	for (;;) {
		ssize_t n = read(from, block, sizeof(block));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			return 0;
		done += (uint64_t)n;
		if (done > limit) {
			errno = EFBIG;
			return -1;
		}
		if (fd_write(to, block, (size_t)n) < 0)
			return -1;
	}
}

union control {
	struct cmsghdr header;
	char space[CMSG_SPACE(sizeof(int) * FD_MESSAGE_MAX)];
};

int fd_send(int socket, const void *data, size_t size, const int *fds, size_t count)
{
	struct iovec part = { .iov_base = (void *)data, .iov_len = size };

	return fd_send_parts(socket, &part, 1, fds, count);
}

int fd_send_parts(int socket, const struct iovec *parts, size_t part_count, const int *fds, size_t count)
{
	union control control = { 0 };
	struct msghdr message = { .msg_iov = (struct iovec *)parts, .msg_iovlen = part_count };
	ssize_t n;

	if (count > 0) {
		struct cmsghdr *header;

		message.msg_control = control.space;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int) * count);
		memcpy(CMSG_DATA(header), fds, sizeof(int) * count);
	}
	do
		n = sendmsg(socket, &message, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -1 : 0;
}

ssize_t fd_receive(int socket, void *data, size_t size, int *fds, size_t *count)
{
	struct iovec part = { .iov_base = data, .iov_len = size };

	return fd_receive_parts(socket, &part, 1, fds, count);
}

ssize_t fd_receive_parts(int socket, const struct iovec *parts, size_t part_count, int *fds, size_t *count)
{
	union control control = { 0 };
	struct msghdr message = {
		.msg_iov = (struct iovec *)parts,
		.msg_iovlen = part_count,
		.msg_control = control.space,
		.msg_controllen = sizeof(control.space),
	};
	bool reset = false;
	ssize_t n;

	*count = 0;
	for (;;) {
		n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
		if (n < 0 && errno == EINTR)
			continue;
		/* ECONNRESET: the peer ended without reading all that we sent. The kernel reports it once, before the
		 * messages that the peer sent. */
		if (n < 0 && errno == ECONNRESET && !reset) {
			reset = true;
			continue;
		}
		break;
	}
	if (n < 0)
		return -1;
	for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
		if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
			continue;
		*count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(header), sizeof(int) * *count);
	}
	/* The kernel drops descriptors beyond our limit without an error. A box would then run outside its control
	 * groups. */
	if (message.msg_flags & MSG_CTRUNC) {
		while (*count > 0)
			close_fd(&fds[--*count]);
		errno = EMFILE;
		return -1;
	}
	return n;
}

ssize_t fd_slurp(int dir, const char *path, char *text, size_t size)
{
	_cleanup_close_ int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = fd_read(fd, text, size - 1);
	if (n < 0)
		return -1;
	text[n] = '\0';
	return n;
}

static int open_below(int dir, const char *path, int flags, uint64_t resolve)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | resolve,
	};

	return (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
}

int fd_open_beneath(int dir, const char *path, int flags)
{
	return open_below(dir, path, flags | O_NOFOLLOW, RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
}

int fd_open_within(int dir, const char *path, int flags)
{
	return open_below(dir, path, flags, 0);
}
