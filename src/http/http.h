/*
 * HTTP/1.1, as far as a JSON server needs it. Pure: bytes in, values and bytes
 * out; daemon/front/front_http.c reads and writes sockets.
 *
 * Requests are parsed strictly, because ambiguity between two parsers allows
 * request smuggling: lines end with CR LF, a body has either one length or
 * chunks, fields are not folded, and names are tokens. Everything is bounded,
 * and a request's head needs no allocation.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	HTTP_HEAD_MAX = 16 << 10, /* bytes of a request's head */
	HTTP_HEADERS_MAX = 64,    /* fields in it */
	HTTP_PATH_MAX = 1024,     /* bytes of a decoded path, including the NUL */
};

enum http_method {
	HTTP_GET,
	HTTP_HEAD,
	HTTP_POST,
	HTTP_PUT,
	HTTP_DELETE,
	HTTP_OPTIONS,
	HTTP_PATCH
};

/* A part of the request, not terminated. */
struct http_text {
	const char *data; /* NULL: missing */
	size_t size;      /* bytes */
};

struct http_field {
	struct http_text name, value; /* the value without blanks around it */
};

struct http_head {
	enum http_method method;
	char path[HTTP_PATH_MAX];                   /* decoded, UTF-8, no control byte, no "." or ".." part; or "*" */
	struct http_text query;                     /* after the '?', as sent */
	struct http_field fields[HTTP_HEADERS_MAX]; /* in their order */
	size_t field_count;                         /* number of them */
	struct http_text host;                      /* from the Host field, or from an absolute target */
	uint64_t length;                            /* of the body, unless it is chunked */
	unsigned minor;                             /* x of HTTP/1.x: 0 or 1. HTTP/1.0 clients do not get chunks */
	bool chunked;                               /* the body is chunked */
	bool keep_alive;                            /* the connection may carry another request */
	bool expects_continue;                      /* the client waits for 100 before it sends the body */
	bool upgrade;                               /* the client asks for another protocol */
};

/* Why a request is refused by the parser. */
struct http_fault {
	int status;          /* 400, 404, 413, 414, 417, 431, 501, 505. The connection has to be closed */
	const char *message; /* one constant sentence: contains nothing of the request */
};

/* Parses the head at the start of `data`. Returns its bytes; 0: incomplete; -1: invalid, see `fault`. Texts in `head`
 * point into `data`. Empty lines before a request are skipped. */
long http_parse(const char *data, size_t size, struct http_head *head, struct http_fault *fault);
/* The value of a field, by its lower-case name; data is NULL if the field is missing or occurs more than once (*twice,
 * which may be NULL). */
struct http_text http_field(const struct http_head *head, const char *name, bool *twice);
bool http_text_is(struct http_text text, const char *word); /* case-insensitive */
/* Whether a comma-separated list has the token, with or without parameters after a ';'. */
bool http_text_has_token(struct http_text text, const char *word);

/* State of decoding a chunked body. */
struct http_chunks {
	int state;            /* position in the grammar; 0 at the start */
	uint64_t left;        /* bytes left of the chunk */
	uint64_t total;       /* bytes of content so far */
	unsigned digits;      /* digits of the chunk's size so far */
	unsigned overhead;    /* bytes of extensions and trailers so far */
	struct buf *trailers; /* receives the lines of trailers, with CR LF; NULL: trailers are skipped */
};
/* Decodes `data` (*used bytes), and appends content to `out`. 1: the body is complete; 0: more bytes are needed; -1:
 * the body is invalid, or larger than `most` bytes (status 413), see `fault`. */
int http_chunks_take(struct http_chunks *chunks, const char *data, size_t size, size_t *used, uint64_t most,
		     struct buf *out, struct http_fault *fault);

/* Reads a parameter of the query, decoded and terminated. 1; 0: missing; -1: it occurs twice, is too long, has an
 * invalid encoding, is not UTF-8, or contains a NUL. */
int http_query_get(struct http_text query, const char *name, char *out, size_t size);
/* Reads the next parameter's name, decoded; `*at` starts at 0. False at the end. For refusing unknown parameters: a
 * name that cannot be decoded is returned as sent, with its '%', and one that is too long ends with "...". */
bool http_query_next(struct http_text query, size_t *at, char *name, size_t size);

/* Whether the Host is allowed: localhost, 127.0.0.0/8, [::1], or one of `names` (NULL-terminated, or NULL; "*" allows
 * any, also a missing one), each with any port. */
bool http_host_allowed(struct http_text host, const char *const *names);
/* Whether a page of that Origin may send requests: http or https, and an allowed host. "null" may not. */
bool http_origin_allowed(struct http_text origin, const char *const *names);

/* Parses "bytes=a-b", "a-", "-n" of `total` bytes. 1: *first and *last are set; 0: no range, or one to be ignored; -1:
 * not satisfiable (416). Several ranges are ignored, as RFC 9110 permits. */
int http_range(struct http_text value, uint64_t total, uint64_t *first, uint64_t *last);

const char *http_reason(int status);
/* Writes the status line and headers: no Date; security headers; Content-Type (unless `type` is NULL); Content-Length
 * (unless `size` is HTTP_CHUNKED: Transfer-Encoding; neither for 1xx, 204 and 304); Connection: close or keep-alive,
 * which old clients need (neither for 1xx). `extra` is "" or lines that end with CR LF; its Cache-Control and
 * Content-Security-Policy replace ours. */
#define HTTP_CHUNKED UINT64_MAX
void http_reply_head(struct buf *out, int status, const char *type, uint64_t size, bool keep_alive, const char *extra);
/* Writes a whole reply. */
void http_reply(struct buf *out, int status, const char *type, const void *body, size_t size, bool keep_alive,
		const char *extra);
/* Writes one chunk of a chunked reply; size 0: the last one. */
void http_chunk(struct buf *out, const void *data, size_t size);
/* Writes a server-sent event as one chunk: "event: NAME\ndata: …\n\n"; a newline in the data starts another data line.
 * NAME NULL: a comment that keeps the connection alive. */
void http_event(struct buf *out, const char *name, const char *data, size_t size);
