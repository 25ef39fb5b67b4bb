/*
 * A parser for the service's HTTP/1.1 answers, incremental. Pure: bytes in, a
 * status and content out; http_call.c reads the socket.
 *
 * The service is trusted, but its answers contain the output of programs, so
 * everything is bounded and no size is trusted.
 */
#pragma once

#include "base/buf.h"
#include "http/http.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	HTTP_ANSWER_MAX = 64 << 20, /* bytes of a body that is kept */
	HTTP_EVENT_MAX = 64 << 20,  /* bytes of one event */
};

enum http_answer_body {
	HTTP_BODY_HEAD,    /* the head is incomplete */
	HTTP_BODY_LENGTH,  /* `left` bytes are missing */
	HTTP_BODY_CHUNKED, /* chunks */
	HTTP_BODY_CLOSE,   /* ends with the connection */
	HTTP_BODY_DONE,    /* complete */
};

struct http_answer {
	int status;                 /* of the final answer; 0 until its head is complete */
	bool events;                /* the body is a text/event-stream */
	bool keep_alive;            /* the connection can be used for another request after the body */
	enum http_answer_body body; /* how the body is delimited, and its state */
	uint64_t left;              /* for a body with a length */
	struct http_chunks chunks;  /* for a chunked body */
	struct buf head;            /* the head so far; owned */
};

/* Parses all of `data` and appends content to `out`. 1: the answer is complete; 0: more bytes are needed; -1:
 * invalid. */
int http_answer_take(struct http_answer *answer, const char *data, size_t size, struct buf *out, struct error *err);
/* Call it when the connection has ended. 0: the answer is complete; -1: it is not. */
int http_answer_end(struct http_answer *answer, struct error *err);
void http_answer_free(struct http_answer *answer);

/* A parser for server-sent events. */
struct http_events {
	struct buf line; /* the incomplete line; owned */
	struct buf name; /* name of the current event; owned */
	struct buf data; /* its data lines, joined; owned */
	bool has_data;   /* the event has a data line */
	bool after_cr;   /* a CR ended the line, so ignore an LF */
};

typedef void http_event_fn(const char *name, const char *data, size_t size, void *userdata);

/* Calls `on_event` for each complete event, with terminated strings. -1: an event is too large. */
int http_events_take(struct http_events *events, const char *data, size_t size, http_event_fn *on_event, void *userdata,
		     struct error *err);
void http_events_free(struct http_events *events);
