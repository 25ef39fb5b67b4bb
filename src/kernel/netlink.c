#include "kernel/netlink.h"

#include "base/own.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>

enum {
	DUMP_MAX = 32 << 10 /* bytes of a part of a list; the kernel makes none longer */
};

void netlink_init(struct netlink *batch)
{
	batch->count = 0;
	batch->size = 0;
	batch->last = 0;
	batch->confirmed = 0;
	batch->full = false;
}

/* Room at the end of the last message, which grows by it; NULL if there is none. Padding is zero. */
static void *room(struct netlink *batch, size_t size)
{
	char *at = batch->data + batch->size;
	size_t padded = NLMSG_ALIGN(size);

	if (batch->full || padded > sizeof(batch->data) - batch->size) {
		batch->full = true;
		return NULL;
	}
	memset(at + size, 0, padded - size);
	batch->size += padded;
	((struct nlmsghdr *)(batch->data + batch->last))->nlmsg_len = (uint32_t)(batch->size - batch->last);
	return at;
}

void netlink_message(struct netlink *batch, uint16_t type, uint16_t flags, const void *fixed, size_t size)
{
	size_t begin = batch->size;
	struct nlmsghdr *header;
	void *at;

	if (batch->full || sizeof(*header) > sizeof(batch->data) - begin) {
		batch->full = true;
		return;
	}
	header = (struct nlmsghdr *)(batch->data + begin);
	*header = (struct nlmsghdr){
		.nlmsg_type = type,
		.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags),
		.nlmsg_seq = ++batch->count,
	};
	batch->last = begin;
	batch->size = begin + sizeof(*header);
	at = room(batch, size);
	if (at)
		memcpy(at, fixed, size);
}

void netlink_put(struct netlink *batch, uint16_t type, const void *data, size_t size)
{
	struct nlattr *attribute = room(batch, NLA_HDRLEN + size);

	if (!attribute)
		return;
	*attribute = (struct nlattr){ .nla_len = (uint16_t)(NLA_HDRLEN + size), .nla_type = type };
	memcpy((char *)attribute + NLA_HDRLEN, data, size);
}

void netlink_put_string(struct netlink *batch, uint16_t type, const char *text)
{
	netlink_put(batch, type, text, strlen(text) + 1);
}

void netlink_put_number(struct netlink *batch, uint16_t type, uint32_t number)
{
	uint32_t ordered = htonl(number);

	netlink_put(batch, type, &ordered, sizeof(ordered));
}

size_t netlink_open(struct netlink *batch, uint16_t type)
{
	size_t opened = batch->size;

	netlink_put(batch, NLA_F_NESTED | type, "", 0);
	return opened;
}

void netlink_close(struct netlink *batch, size_t opened)
{
	if (!batch->full)
		((struct nlattr *)(batch->data + opened))->nla_len = (uint16_t)(batch->size - opened);
}

/* Reads answers until the confirmation. An error's answer contains the message that it is about. */
static int answers_read(int fd, uint32_t confirmed)
{
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
	} answer;

	for (;;) {
		ssize_t n = recv(fd, &answer, sizeof(answer), MSG_DONTWAIT);

		if (n < 0)
			return -1;
		if (n < (ssize_t)sizeof(answer) || answer.header.nlmsg_type != NLMSG_ERROR) {
			errno = EPROTO;
			return -1;
		}
		if (answer.error.error != 0) {
			errno = -answer.error.error;
			return -1;
		}
		if (answer.header.nlmsg_seq == confirmed)
			return 0;
	}
}

void netlink_confirm(struct netlink *batch)
{
	if (batch->full)
		return;
	((struct nlmsghdr *)(batch->data + batch->last))->nlmsg_flags |= NLM_F_ACK;
	batch->confirmed = batch->count;
}

/* A socket that the batch was sent by. */
static int batch_send(const struct netlink *batch, int protocol)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	_cleanup_close_ int fd = -1;

	if (batch->full) {
		errno = EMSGSIZE;
		return -1;
	}
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	if (fd < 0)
		return -1;
	if (sendto(fd, batch->data, batch->size, 0, (struct sockaddr *)&kernel, sizeof(kernel)) < 0)
		return -1;
	return take_fd(&fd);
}

int netlink_send(const struct netlink *batch, int protocol)
{
	_cleanup_close_ int fd = batch_send(batch, protocol);

	return fd < 0 ? -1 : answers_read(fd, batch->confirmed);
}

int netlink_dump(const struct netlink *batch, int protocol, void (*each)(void *context, const struct nlmsghdr *message),
		 void *context)
{
	_cleanup_close_ int fd = batch_send(batch, protocol);
	_Alignas(NLMSG_ALIGNTO) char data[DUMP_MAX];

	if (fd < 0)
		return -1;
	for (;;) {
		/* The length of the whole part, also of what did not fit. */
		ssize_t n = recv(fd, data, sizeof(data), MSG_DONTWAIT | MSG_TRUNC);
		const struct nlmsghdr *message = (const struct nlmsghdr *)data;

		if (n < 0)
			return -1;
		if ((size_t)n > sizeof(data)) {
			errno = EMSGSIZE;
			return -1;
		}
		for (int left = (int)n; NLMSG_OK(message, left); message = NLMSG_NEXT(message, left)) {
			if (message->nlmsg_type == NLMSG_DONE)
				return 0;
			if (message->nlmsg_type == NLMSG_ERROR) {
				const struct nlmsgerr *error = NLMSG_DATA(message);

				errno = message->nlmsg_len < NLMSG_LENGTH(sizeof(*error)) ? EPROTO : -error->error;
				return -1;
			}
			each(context, message);
		}
	}
}
