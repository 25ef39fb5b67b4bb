/*
 * The protocol between clients and the service, over a Unix stream socket.
 *
 * A frame is a header of 8 bytes, the payload's size (32 bits, little-endian),
 * its kind (one byte) and three zero bytes, and then the payload. A connection
 * carries one request after the other. RESULT or ERROR ends the answer to a
 * request; the next request may be sent after it.
 *
 *	client:  REQUEST  [INPUT … INPUT(empty)]  [RESIZE …]  [CANCEL]
 *	service: [STARTED]  [STDOUT | STDERR …]   RESULT | ERROR
 *
 * REQUEST is a JSON object with the fields of POST /v1/execute, and also
 * `filename`, `entry`, `check`, `allow_weaker`, `stream` (true: STARTED, STDOUT
 * and STDERR are sent during the run; false, the default: only the result) and
 * `input` ("stream": INPUT frames are the program's stdin until an empty one;
 * otherwise `stdin` is). `code`, `stdin` and each file may be {"base64":
 * string}, a file with "mode" ("644" or "755") beside it. RESULT is the result
 * object. ERROR is {"error": {"code", "message", "field"?, "retry_after"?}}:
 * there was no run, or its answer is lost. Codes: bad_request,
 * unknown_language, busy, draining, cancelled, failed. A client that closes the
 * connection cancels its run; a client that only shuts down its sending side
 * (SHUT_WR) still receives the answer.
 *
 * A REQUEST that comes early, and every frame after it, is read when the answer
 * to the previous request is written. INPUT waits until the program has room
 * for it. A CANCEL after such a frame is therefore delayed; closing the
 * connection is not. INPUT and CANCEL without a run are ignored: the run may
 * have ended while they were in transit. An invalid frame is answered with
 * ERROR, and the connection is closed.
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
	FRAME_ERROR = 'E',   /* to the client: JSON, the reason why there is no result */
};

enum {
	FRAME_HEADER = 8, /* bytes */
	FRAME_WINDOW = 4, /* bytes of the payload of RESIZE: rows, then columns, 16 bits each, little-endian */
	FRAME_REQUEST_MAX = 64 << 20, /* bytes of a REQUEST: code, stdin and files, escaped */
	FRAME_BYTES_MAX = 64 << 10,   /* bytes of INPUT, STDOUT, STDERR */
	FRAME_RESULT_MAX = 64 << 20,  /* bytes of a RESULT */
};

struct frame {
	enum frame_kind kind;
	uint32_t size; /* of the payload */
};

void frame_encode(const struct frame *frame, unsigned char header[FRAME_HEADER]);
/* Returns 0, or -1 if the kind is unknown, the padding is not zero, or the payload is too large for the kind. */
int frame_decode(const unsigned char header[FRAME_HEADER], struct frame *frame);

/* Writes the payload of a RESIZE. */
void frame_put_window(unsigned rows, unsigned columns, unsigned char payload[FRAME_WINDOW]);
void frame_get_window(const unsigned char payload[FRAME_WINDOW], uint16_t *rows, uint16_t *columns);
