/*
 * HTTP/1.1, the part of it that a server of JSON needs. Pure: bytes in, values
 * and bytes out; who reads and writes them is daemon/front/front_http.c.
 *
 * What strangers send is taken strictly, for what two readers understand in two
 * ways is how requests are smuggled: lines end with CR LF, a length is given
 * once or chunks are used and not both, a header is not folded, and names are
 * tokens. Everything is bounded, and nothing is allocated for a request's head.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	HTTP_HEAD_MAX = 16 << 10, /* bytes of a request's head */
	HTTP_HEADERS_MAX = 64,    /* fields in it */
	HTTP_PATH_MAX = 1024,     /* bytes of a path, decoded, its NUL included */
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

/* Bytes of the request, not terminated. */
struct http_text {
	const char *data; /* NULL: it is not there */
	size_t size;      /* how many */
};

struct http_field {
	struct http_text name, value; /* the value without blanks around it */
};

struct http_head {
	enum http_method method;
	char path[HTTP_PATH_MAX];                   /* decoded, UTF-8, no control byte, no "." or ".." part; or "*" */
	struct http_text query;                     /* behind the '?', as sent */
	struct http_field fields[HTTP_HEADERS_MAX]; /* in their order */
	size_t field_count;                         /* how many */
	struct http_text host;                      /* of the Host field, or of an absolute target */
	uint64_t length;                            /* of the body, unless it is chunked */
	unsigned minor;                             /* of HTTP/1.x: 0 or 1. An old client is not sent chunks */
	bool chunked;                               /* the body is */
	bool keep_alive;                            /* the connection may carry another request */
	bool expects_continue;                      /* the client waits for 100 before it sends the body it has */
	bool upgrade;                               /* it asks for another protocol */
};

/* Why a request is refused before anybody looks at its meaning. */
struct http_fault {
	int status;          /* 400, 404, 413, 414, 417, 431, 501, 505. The connection cannot be used further */
	const char *message; /* one sentence, constant: nothing of the request is in it */
};

/* The bytes of the head at the beginning of `data`; 0: it is not whole yet; -1: `fault` says why. Texts in `head` point
 * into `data`. Empty lines before a request are skipped. */
long http_parse(const char *data, size_t size, struct http_head *head, struct http_fault *fault);
/* The value of a field, by its name in small letters; data NULL when it is not there, or more than once (*twice, which
 * may be NULL). */
struct http_text http_field(const struct http_head *head, const char *name, bool *twice);
bool http_text_is(struct http_text text, const char *word); /* not minding capitals */
/* A list separated by commas has it, with or without parameters behind a ';'. */
bool http_text_has_token(struct http_text text, const char *word);

/* A chunked body, decoded as it comes. */
struct http_chunks {
	int state;         /* where in the grammar; 0 at the beginning */
	uint64_t left;     /* of the chunk */
	uint64_t total;    /* bytes of content so far */
	unsigned digits;   /* of the chunk's size so far */
	unsigned overhead; /* bytes of extensions and trailers so far */
	struct buf *trailers; /* gets their lines, with CR LF; NULL: they are skipped */
};
/* Takes what it can of `data` (*used bytes), adds content to `out`. 1: the body is whole; 0: more is to come; -1: that
 * is no chunked body, or it has more than `most` bytes (status 413), see `fault`. */
int http_chunks_take(struct http_chunks *chunks, const char *data, size_t size, size_t *used, uint64_t most,
		     struct buf *out, struct http_fault *fault);

/* A parameter of the query, decoded and terminated. 1; 0: it is not there; -1: it is there twice, too long, no valid
 * encoding, no UTF-8 or with a NUL. */
int http_query_get(struct http_text query, const char *name, char *out, size_t size);
/* The next parameter's name, decoded; `*at` begins at 0. False at the end. For refusing those that nobody knows: a name
 * that cannot be decoded comes as it was sent, with its '%', and one that is too long ends with "...". */
bool http_query_next(struct http_text query, size_t *at, char *name, size_t size);

/* Whether the Host is one of ours: localhost, 127.0.0.0/8, [::1] with any port, or one of `names` (NULL-terminated or
 * NULL; "*" takes any, also none), each with any port. */
bool http_host_allowed(struct http_text host, const char *const *names);
/* Whether a page of that Origin may ask: http or https and a host as above. "null" may not. */
bool http_origin_allowed(struct http_text origin, const char *const *names);

/* "bytes=a-b", "a-", "-n" of `total` bytes. 1: *first and *last are set; 0: no range, or one that is to be ignored; -1:
 * it cannot be satisfied (416). Several ranges are ignored, as RFC 9110 lets a server do. */
int http_range(struct http_text value, uint64_t total, uint64_t *first, uint64_t *last);

const char *http_reason(int status);
/* Status line and headers into `out`: date-less, with the security headers, Content-Type (unless `type` is NULL),
 * Content-Length (unless `size` is HTTP_CHUNKED: Transfer-Encoding; neither for 1xx, 204 and 304), Connection: close or
 * keep-alive, which old clients want to read (neither for 1xx). `extra` is "" or whole lines, each with CR LF; its
 * Cache-Control and its Content-Security-Policy replace ours. */
#define HTTP_CHUNKED UINT64_MAX
void http_reply_head(struct buf *out, int status, const char *type, uint64_t size, bool keep_alive, const char *extra);
/* A whole reply. */
void http_reply(struct buf *out, int status, const char *type, const void *body, size_t size, bool keep_alive,
		const char *extra);
/* One chunk of a chunked reply; of size 0: the last. */
void http_chunk(struct buf *out, const void *data, size_t size);
/* A server-sent event as one chunk: "event: NAME\ndata: …\n\n"; a newline in the data begins another data line. NAME
 * NULL: a comment that keeps the connection alive. */
void http_event(struct buf *out, const char *name, const char *data, size_t size);
