/*
 * WebSocket (RFC 6455), server side. Pure: bytes in, messages and bytes out. No
 * extensions. Frames from clients are parsed strictly: masked, lengths in the
 * shortest form, control frames unfragmented and small, text in UTF-8;
 * everything is bounded.
 */
#pragma once

#include "base/buf.h"
#include "http/http.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	WEBSOCKET_MESSAGE_MAX = 1 << 20, /* bytes of one message with all its frames */
	WEBSOCKET_CONTROL_MAX = 125,     /* bytes of a control frame */
	WEBSOCKET_ACCEPT = 29,           /* bytes of Sec-WebSocket-Accept, including the NUL */
	WEBSOCKET_HEADER_MAX = 14,       /* bytes before a frame's payload */
};

enum websocket_kind {
	WEBSOCKET_TEXT = 1,
	WEBSOCKET_BINARY = 2,
	WEBSOCKET_CLOSE = 8,
	WEBSOCKET_PING = 9,
	WEBSOCKET_PONG = 10,
};

enum websocket_code {
	WEBSOCKET_NORMAL = 1000,
	WEBSOCKET_GOING = 1001,     /* the service is shutting down */
	WEBSOCKET_PROTOCOL = 1002,  /* protocol error */
	WEBSOCKET_NO_CODE = 1005,   /* a close frame without a code; never sent */
	WEBSOCKET_BAD_TEXT = 1007,  /* text that is not UTF-8 */
	WEBSOCKET_POLICY = 1008,    /* not allowed */
	WEBSOCKET_TOO_LARGE = 1009, /* message too large */
	WEBSOCKET_FAILED = 1011,    /* internal error */
};

/* State of receiving messages. */
struct websocket {
	struct buf message;       /* content of the incomplete message */
	enum websocket_kind kind; /* its kind; 0: none is incomplete */
	bool closed;              /* a close frame was received: further data is ignored */
};

/* A message, or a control frame; the data is valid until the next call. */
struct websocket_message {
	enum websocket_kind kind; /* kind of the message */
	char *data;               /* content; for a close frame, the reason */
	size_t size;              /* bytes */
	unsigned code;            /* code of a close frame */
};

/* Checks a handshake. Returns NULL, or what is wrong. *accept receives the answer's key. */
const char *websocket_handshake(const struct http_head *head, char accept[WEBSOCKET_ACCEPT]);

/* Takes one frame from `data` and unmasks it in place; *used is its bytes, 0: incomplete. 1: *message is complete; 0:
 * more frames are needed; -1: the connection has to be closed with *code. */
int websocket_take(struct websocket *socket, char *data, size_t size, size_t *used, struct websocket_message *message,
		   unsigned *code);
void websocket_free(struct websocket *socket);

/* Writes the header of an unfragmented, unmasked frame, as servers send them. Returns its bytes. */
size_t websocket_header(enum websocket_kind kind, uint64_t size, unsigned char out[WEBSOCKET_HEADER_MAX]);
/* Writes a close frame; the reason is truncated to fit. */
void websocket_close(struct buf *out, unsigned code, const char *reason);
