#include "daemon/front/connection.h"

#include "base/own.h"
#include "http/tls.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

void connection_empty(struct buf *buf)
{
	buf->size = 0;
	buf->failed = false;
	if (buf->room > CONNECTION_SMALL)
		buf_free(buf);
}

size_t connection_pending(const struct connection *c)
{
	return c->out.size - c->out_at + c->lent.size;
}

size_t connection_held(const struct connection *c)
{
	return c->in.size + c->out.size;
}

bool connection_has_more(const struct connection *c)
{
	return c->tls && tls_pending(c->tls) > 0;
}

bool connection_wants_write(const struct connection *c)
{
	return connection_pending(c) > 0 || (c->tls && tls_wants_write(c->tls));
}

/* The same through TLS, which takes one place at a time. */
static size_t send_ciphered(struct connection *c, const struct iovec *parts, size_t count)
{
	size_t sent = 0;

	for (size_t i = 0; i < count; i++) {
		for (size_t at = 0; at < parts[i].iov_len;) {
			ssize_t n = tls_write(c->tls, (const char *)parts[i].iov_base + at, parts[i].iov_len - at);

			if (n <= 0) {
				c->broken |= n < 0 && errno != EAGAIN;
				return sent;
			}
			at += (size_t)n;
			sent += (size_t)n;
		}
	}
	return sent;
}

/* Bytes sent; 0 when the peer has to read first, or will never. */
static size_t send_parts(struct connection *c, struct iovec *parts, size_t count)
{
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = count };
	ssize_t n;

	if (c->tls)
		return send_ciphered(c, parts, count);
	do
		n = sendmsg(c->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno != EAGAIN)
		c->broken = true;
	return n < 0 ? 0 : (size_t)n;
}

/* What is left after `sent` bytes of both parts together. */
static void keep_rest(struct connection *c, const struct iovec *parts, size_t count, size_t sent)
{
	/* What is written already is dropped when it is the larger part: each byte moves once or twice. */
	if (c->out_at > c->out.size - c->out_at) {
		memmove(c->out.data, c->out.data + c->out_at, c->out.size - c->out_at);
		c->out.size -= c->out_at;
		c->out_at = 0;
	}
	/* Nothing overtakes what was lent. */
	buf_add(&c->out, c->lent.data, c->lent.size);
	c->lent.size = 0;
	for (size_t i = 0; i < count; i++) {
		size_t done = sent < parts[i].iov_len ? sent : parts[i].iov_len;

		buf_add(&c->out, (const char *)parts[i].iov_base + done, parts[i].iov_len - done);
		sent -= done;
	}
	c->broken |= c->out.failed;
}

void connection_write(struct connection *c, struct iovec parts[], size_t count)
{
	size_t sent = 0, size = 0;

	for (size_t i = 0; i < count; i++)
		size += parts[i].iov_len;
	if (c->broken || size == 0)
		return;
	if (connection_pending(c) == 0)
		sent = send_parts(c, parts, count);
	if (!c->broken && sent < size)
		keep_rest(c, parts, count, sent);
}

void connection_lend(struct connection *c, const void *data, size_t size)
{
	struct iovec part = { .iov_base = (void *)data, .iov_len = size };
	size_t sent = 0;

	if (c->lent.size > 0) {
		connection_write(c, &part, 1);
		return;
	}
	if (c->broken || size == 0)
		return;
	if (connection_pending(c) == 0)
		sent = send_parts(c, &part, 1);
	c->lent.data = (const char *)data + sent;
	c->lent.size = c->broken ? 0 : size - sent;
}

void connection_send(struct connection *c, enum frame_kind kind, const void *payload, size_t size)
{
	struct frame frame = { .kind = kind, .size = (uint32_t)size };
	unsigned char header[FRAME_HEADER];
	struct iovec parts[2] = {
		{ .iov_base = header, .iov_len = sizeof(header) },
		{ .iov_base = (void *)payload, .iov_len = size },
	};

	frame_encode(&frame, header);
	connection_write(c, parts, size > 0 ? 2 : 1);
}

void connection_flush(struct connection *c)
{
	struct iovec part = { .iov_base = c->out.data + c->out_at, .iov_len = c->out.size - c->out_at };
	struct iovec lent = { .iov_base = (void *)c->lent.data, .iov_len = c->lent.size };

	if (!c->broken && part.iov_len > 0) {
		c->out_at += send_parts(c, &part, 1);
		if (c->out.size == c->out_at) {
			connection_empty(&c->out);
			c->out_at = 0;
		}
	}
	if (!c->broken && c->out.size == 0 && lent.iov_len > 0) {
		size_t sent = send_parts(c, &lent, 1);

		c->lent.data += sent;
		c->lent.size -= sent;
	}
}

size_t connection_read(struct connection *c, void *room, size_t size)
{
	ssize_t n;

	do
		n = c->tls ? tls_read(c->tls, room, size) : recv(c->fd, room, size, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n == 0)
		c->ended = true;
	else if (n < 0 && errno != EAGAIN)
		c->broken = true;
	return n < 0 ? 0 : (size_t)n;
}

void connection_keep(struct connection *c, const char *data, size_t size)
{
	if (size > 0)
		buf_add(&c->in, data, size);
	c->broken |= c->in.failed;
}

void connection_consume(struct connection *c, size_t size)
{
	if (size == c->in.size) {
		connection_empty(&c->in);
	} else if (size > 0) {
		memmove(c->in.data, c->in.data + size, c->in.size - size);
		c->in.size -= size;
	}
}

void connection_skip(struct connection *c, const struct frame *frame)
{
	c->skip = FRAME_HEADER + (size_t)frame->size - c->in.size;
	connection_empty(&c->in);
}

void connection_close(struct connection *c)
{
	tls_free(c->tls);
	c->tls = NULL;
	/* The keeper may have it as well, for the answer. */
	if (c->fd >= 0)
		shutdown(c->fd, SHUT_RDWR);
	close_fd(&c->fd);
	buf_free(&c->in);
	buf_free(&c->out);
}
