/*
 * What clients and the service say to each other over a Unix stream socket.
 *
 * A frame is a header of 8 bytes, the payload's size (32 bits, little-endian),
 * its kind (one byte) and three zero bytes, and then the payload. A connection
 * carries one request after the other; the answer to one ends with RESULT or
 * ERROR, and only then may the next be sent.
 *
 *	client:  REQUEST  [INPUT … INPUT(empty)]  [RESIZE …]  [CANCEL]
 *	service: [STARTED]  [STDOUT | STDERR …]   RESULT | ERROR
 *
 * REQUEST is a JSON object with the fields of POST /v1/execute, and beside them
 * `filename`, `entry`, `check`, `allow_weaker`, `stream` (true: STARTED, STDOUT
 * and STDERR come as they happen; false, the default: only the result) and
 * `input` ("stream": INPUT frames are the program's stdin until an empty one;
 * else `stdin` is). `code`, `stdin` and each file may be {"base64": text}, a
 * file with "mode" ("644" or "755") beside it. RESULT is the result object.
 * ERROR is {"error": {"code", "message", "field"?, "retry_after"?}}: there was
 * no run, or its answer is lost. Codes: bad_request, unknown_language, busy,
 * draining, cancelled, failed. A client that closes the connection cancels its
 * run; one that only sends no more (SHUT_WR) still hears the answer.
 *
 * A REQUEST that comes early waits unread, and so does all that is behind it,
 * until the answer to the one before is written. INPUT beyond what the program
 * has room for waits as well. So a CANCEL behind either is heard late; closing
 * never is. INPUT and CANCEL that belong to no run are forgotten: it may have
 * ended while they were on their way. After what is no frame comes an ERROR, and
 * the connection is closed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum frame_kind {
	FRAME_REQUEST = 'R', /* to the service: JSON */
	FRAME_INPUT = 'I',   /* to the service: bytes of stdin; empty: its end */
	FRAME_CANCEL = 'C',  /* to the service: end the run; the result says "killed" */
	FRAME_RESIZE = 'W',  /* to the service: the size of the window, for a run with a terminal */
	FRAME_STARTED = 'S', /* to the client: JSON {"id"} */
	FRAME_STDOUT = '1',  /* to the client: bytes */
	FRAME_STDERR = '2',  /* to the client: bytes */
	FRAME_RESULT = 'J',  /* to the client: JSON, the result */
	FRAME_ERROR = 'E',   /* to the client: JSON, why there is none */
};

enum {
	FRAME_HEADER = 8,             /* bytes */
	FRAME_WINDOW = 4,             /* bytes of a RESIZE: rows, then columns, 16 bits each, little-endian */
	FRAME_REQUEST_MAX = 64 << 20, /* bytes of a REQUEST: code, stdin and files, escaped */
	FRAME_BYTES_MAX = 64 << 10,   /* bytes of INPUT, STDOUT, STDERR */
	FRAME_RESULT_MAX = 64 << 20,  /* bytes of a RESULT */
};

struct frame {
	enum frame_kind kind; /* which */
	uint32_t size;        /* of the payload */
};

void frame_encode(const struct frame *frame, unsigned char header[FRAME_HEADER]);
/* 0, or -1 when the kind is none, the padding is not zero, or the size is more than that kind may have. */
int frame_decode(const unsigned char header[FRAME_HEADER], struct frame *frame);

/* The payload of a RESIZE. */
void frame_put_window(unsigned rows, unsigned columns, unsigned char payload[FRAME_WINDOW]);
void frame_get_window(const unsigned char payload[FRAME_WINDOW], uint16_t *rows, uint16_t *columns);
