/*
 * What a service answers over HTTP/1.1, read as it comes. Pure: bytes in, a
 * status and content out; who reads the socket is http_call.c.
 *
 * The service is ours or the user's own, but its words pass on what programs
 * said, so everything is bounded and nothing is believed about sizes.
 */
#pragma once

#include "base/buf.h"
#include "http/http.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	HTTP_ANSWER_MAX = 64 << 20, /* bytes of a body that is kept whole */
	HTTP_EVENT_MAX = 64 << 20,  /* bytes of one event */
};

enum http_answer_body {
	HTTP_BODY_HEAD,    /* the head is not whole yet */
	HTTP_BODY_LENGTH,  /* `left` bytes are to come */
	HTTP_BODY_CHUNKED, /* chunks */
	HTTP_BODY_CLOSE,   /* until the connection ends */
	HTTP_BODY_DONE,    /* all is there */
};

struct http_answer {
	int status;                 /* of the final answer; 0 until its head is whole */
	bool events;                /* the body is a text/event-stream */
	bool keep_alive;            /* the connection can carry another request when all is there */
	enum http_answer_body body; /* how it is delimited, and how far it is */
	uint64_t left;              /* of a body with a length */
	struct http_chunks chunks;  /* of a chunked one */
	struct buf head;            /* bytes of the head so far; owned */
};

/* Takes all of `data`; content is added to `out`. 1: the answer is whole; 0: more is to come; -1: that is no answer. */
int http_answer_take(struct http_answer *answer, const char *data, size_t size, struct buf *out, struct error *err);
/* The connection has ended. 0: the answer is whole; -1: something is missing. */
int http_answer_end(struct http_answer *answer, struct error *err);
void http_answer_free(struct http_answer *answer);

/* A stream of server-sent events. */
struct http_events {
	struct buf line; /* the line so far; owned */
	struct buf name; /* of the event so far; owned */
	struct buf data; /* its lines, joined; owned */
	bool has_data;   /* there was a line of it */
	bool after_cr;   /* an LF that comes next belongs to the line before */
};

typedef void http_event_fn(const char *name, const char *data, size_t size, void *userdata);

/* Calls `on_event` for each event that is whole now; its texts are terminated. -1: one is too large. */
int http_events_take(struct http_events *events, const char *data, size_t size, http_event_fn *on_event, void *userdata,
		     struct error *err);
void http_events_free(struct http_events *events);
