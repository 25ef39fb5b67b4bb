/*
 * WebSocket (RFC 6455), the server's side of it. Pure: bytes in, messages and
 * bytes out. No extensions. What a client sends is taken strictly: frames are
 * masked, their lengths as short as they can be, control frames whole and small,
 * text is UTF-8; everything is bounded.
 */
#pragma once

#include "base/buf.h"
#include "http/http.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	WEBSOCKET_MESSAGE_MAX = 1 << 20, /* bytes of one message, whatever its frames */
	WEBSOCKET_CONTROL_MAX = 125,     /* bytes of a control frame */
	WEBSOCKET_ACCEPT = 29,           /* bytes of Sec-WebSocket-Accept, its NUL included */
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
	WEBSOCKET_GOING = 1001,     /* the service ends */
	WEBSOCKET_PROTOCOL = 1002,  /* that was no WebSocket */
	WEBSOCKET_NO_CODE = 1005,   /* a close without one; never sent */
	WEBSOCKET_BAD_TEXT = 1007,  /* text that is no UTF-8 */
	WEBSOCKET_POLICY = 1008,    /* not allowed */
	WEBSOCKET_TOO_LARGE = 1009, /* a message over its bound */
	WEBSOCKET_FAILED = 1011,    /* our own failure */
};

/* A client's bytes on their way to messages. */
struct websocket {
	struct buf message;       /* of the message that is not whole */
	enum websocket_kind kind; /* of it; 0: none is under way */
	bool closed;              /* a close frame came: nothing counts any more */
};

/* A message, or a control frame; its bytes are good until the next call. */
struct websocket_message {
	enum websocket_kind kind; /* which */
	char *data;               /* its bytes; of a close, its reason's */
	size_t size;              /* how many */
	unsigned code;            /* of a close */
};

/* Whether the request asks for it rightly: NULL, or what is missing. *accept gets the answer's key. */
const char *websocket_handshake(const struct http_head *head, char accept[WEBSOCKET_ACCEPT]);

/* Takes one frame from `data`, which is unmasked in place; *used says how many bytes it had, 0: it is not whole yet. 1:
 * *message is whole; 0: more is to come; -1: *code says why the connection has to end. */
int websocket_take(struct websocket *socket, char *data, size_t size, size_t *used, struct websocket_message *message,
		   unsigned *code);
void websocket_free(struct websocket *socket);

/* A frame, whole and unmasked, as servers send them: its header into `out`; how many bytes. */
size_t websocket_header(enum websocket_kind kind, uint64_t size, unsigned char out[WEBSOCKET_HEADER_MAX]);
/* A close frame, whole; the reason is cut to what fits. */
void websocket_close(struct buf *out, unsigned code, const char *reason);
