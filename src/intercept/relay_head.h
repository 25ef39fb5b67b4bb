/*
 * Heads of HTTP/1.1 requests and responses that are passed on: start line, fields, and where the body ends. Pure.
 *
 * http_parse() (http/http.h) reads requests to ourselves, of methods and paths that we know; here both sides are
 * strangers to each other and to us, and the bytes go on. What two readers could understand in two ways is refused:
 * two lengths, a length beside chunks, a folded line, a line that ends with LF alone, a blank before a colon.
 */
#pragma once

#include "http/http.h"

enum {
	RELAY_FIELDS_MAX = 128,
	RELAY_REQUEST_MAX = 32 << 10,  /* bytes of a request's head */
	RELAY_RESPONSE_MAX = 64 << 10, /* bytes of a response's head */
	RELAY_METHOD_MAX = 32,         /* bytes of a method, its NUL included */
};

struct relay_head {
	struct http_text method, target; /* of a request */
	unsigned status;                 /* of a response */
	struct http_text reason;         /* the same */
	unsigned minor;                  /* HTTP/1.x: 0 or 1 */
	struct http_field fields[RELAY_FIELDS_MAX];
	size_t field_count;
	struct http_text host;    /* of the field Host */
	struct http_text upgrade; /* of the field Upgrade, if Connection lists it */
	uint64_t length;          /* of the field Content-Length */
	bool has_length;          /* there is one */
	bool chunked;             /* Transfer-Encoding: chunked */
	bool close;               /* Connection lists close, or does not list keep-alive and it is HTTP/1.0 */
	bool expects_continue;
};

/* Whether a head ends in these bytes: how many it has, 0: not yet. One with lines that end with LF alone ends too, so
 * that it can be refused. `from`: how many bytes were there at the last call. */
size_t relay_head_end(const char *data, size_t size, size_t from);

/* `data` is a whole head; what is returned points into it. -1: `fault` says why; its status is for the client. */
int relay_request_read(const char *data, size_t size, struct relay_head *head, struct http_fault *fault);
int relay_response_read(const char *data, size_t size, struct relay_head *head, struct http_fault *fault);

/* A field of this name; NULL: there is none. */
const struct http_field *relay_field(const struct relay_head *head, const char *name);
/* Whether it is about the connection alone, and is not passed on: Connection and what it lists, Keep-Alive, … */
bool relay_field_is_hop(const struct relay_head *head, const struct http_field *field);
