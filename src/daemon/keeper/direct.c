#include "daemon/keeper/direct.h"

#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum {
	PATIENCE_MSEC = 20, /* for a client to read; the run's deadlines wait as long */
	WIDE = 512 << 10,   /* bytes that a socket holds of a program that writes much; the kernel may give less */
};

/* Whether all of it would be taken at once; the kernel counts what it needs for the bytes, not the bytes. */
static bool has_room(int client, size_t size)
{
	int most = 0, waiting = 0;
	socklen_t length = sizeof(most);

	return getsockopt(client, SOL_SOCKET, SO_SNDBUF, &most, &length) == 0 &&
	       ioctl(client, SIOCOUTQ, &waiting) == 0 && size + size / 4 + 4096 + (size_t)waiting <= (size_t)most;
}

/* A socket is said to be writable when most of what was sent to it is read. */
static bool wait_for_room(int client, size_t size)
{
	struct pollfd one = { .fd = client, .events = POLLOUT };

	return has_room(client, size) || (poll(&one, 1, PATIENCE_MSEC) == 1 && has_room(client, size));
}

/* A socket is writable again when three quarters are read: with a small one the client, the program and we would wait
 * for each other in turn. */
static void widen(struct direct *direct)
{
	if (!direct->wide)
		setsockopt(direct->client, SOL_SOCKET, SO_SNDBUF, &(int){ WIDE }, sizeof(int));
	direct->wide = true;
}

/* Half a frame could only be misread: the end is clear to both. */
static bool sent_whole(struct direct *direct, ssize_t sent, size_t size)
{
	if (sent == (ssize_t)size)
		return true;
	if (sent > 0)
		shutdown(direct->client, SHUT_RDWR);
	direct->client = -1;
	return false;
}

/* The header, and what follows in memory. */
static ssize_t send_parts(int client, enum frame_kind kind, size_t whole, const void *payload, size_t size)
{
	const struct frame frame = { .kind = kind, .size = (uint32_t)whole };
	unsigned char header[FRAME_HEADER];
	struct iovec parts[2] = { { header, sizeof(header) }, { (void *)payload, size } };
	const struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

	frame_encode(&frame, header);
	return sendmsg(client, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool direct_send(struct direct *direct, enum frame_kind kind, const void *payload, size_t size)
{
	ssize_t sent = -1;

	if (direct->client < 0)
		return false;
	if (wait_for_room(direct->client, FRAME_HEADER + size))
		sent = send_parts(direct->client, kind, size, payload, size);
	return sent_whole(direct, sent, FRAME_HEADER + size);
}

bool direct_send_file(struct direct *direct, enum frame_kind kind, int file, uint64_t offset, size_t size)
{
	off_t at = (off_t)offset;
	ssize_t sent = -1, n = 1;

	if (direct->client < 0)
		return false;
	widen(direct);
	if (wait_for_room(direct->client, FRAME_HEADER + size))
		sent = send_parts(direct->client, kind, size, NULL, 0);
	/* Neither waits nor signals: there is room, or nobody. */
	while (sent >= FRAME_HEADER && (size_t)sent < FRAME_HEADER + size && n > 0) {
		n = sendfile(direct->client, file, &at, FRAME_HEADER + size - (size_t)sent);
		sent += n > 0 ? n : 0;
	}
	return sent_whole(direct, sent, FRAME_HEADER + size);
}
