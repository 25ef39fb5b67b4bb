/* Netlink: messages written one behind the other, and sent at once. For the child after clone: nothing allocates. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nlmsghdr;

enum {
	NETLINK_BATCH_MAX = 32 << 10 /* bytes of a batch */
};

struct netlink {
	uint32_t count;                           /* messages so far */
	size_t size;                              /* of all messages */
	size_t last;                              /* where the last message begins */
	uint32_t confirmed;                       /* number of the message that the kernel confirms, from 1 */
	bool full;                                /* something did not fit */
	_Alignas(4) char data[NETLINK_BATCH_MAX]; /* the messages; not cleared */
};

void netlink_init(struct netlink *batch);
/* Begins a message with its fixed part. If a message or an attribute does not fit, netlink_send() fails. */
void netlink_message(struct netlink *batch, uint16_t type, uint16_t flags, const void *fixed, size_t size);
/* Adds an attribute to the last message. */
void netlink_put(struct netlink *batch, uint16_t type, const void *data, size_t size);
void netlink_put_string(struct netlink *batch, uint16_t type, const char *text);
/* A number in network order, as nftables has them. */
void netlink_put_number(struct netlink *batch, uint16_t type, uint32_t number);
/* Attributes that follow are inside this one, until it is closed. */
size_t netlink_open(struct netlink *batch, uint16_t type);
void netlink_close(struct netlink *batch, size_t opened);
/* Has the kernel confirm the last message. Every batch needs one. */
void netlink_confirm(struct netlink *batch);
/* Sends the batch and reads the answers up to the confirmation: 0, or -1 with the errno of the first message that the
 * kernel refused, or EMSGSIZE. It never waits: the kernel has done everything when the batch is sent. */
int netlink_send(const struct netlink *batch, int protocol);
/* Sends a batch of one message that asks for a list (NLM_F_DUMP), and calls `each` with every message of the answer. 0,
 * or -1 with errno. */
int netlink_dump(const struct netlink *batch, int protocol, void (*each)(void *context, const struct nlmsghdr *message),
		 void *context);
