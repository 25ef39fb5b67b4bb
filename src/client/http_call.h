/*
 * HTTP over the service's Unix socket, which needs no token: sends a request,
 * and receives the answer as a whole or event by event. Each call opens a
 * connection, which is cheap on a Unix socket and simpler than keeping one.
 */
#pragma once

#include "base/buf.h"
#include "client/http_answer.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	HTTP_CALL_WATCHES = 4, /* maximum of watches */
};

/* A descriptor to poll while waiting for the answer. */
struct http_watch {
	int fd;                              /* the function is called if it is readable; -1: none */
	int (*on_ready)(int fd, void *data); /* returns 0, 1 to stop watching, or -1 to abandon the call */
	void *data;                          /* its argument */
	int after_msec;                      /* age of the call at which watching starts */
};

struct http_call {
	const char *socket;                           /* path of the service's socket */
	const char *method;                           /* "GET", "POST"… */
	const char *path;                             /* encoded path */
	const char *body;                             /* NULL: none */
	size_t body_size;                             /* bytes */
	const char *body_type;                        /* NULL: application/json */
	http_event_fn *on_event;                      /* if not NULL: requests events, and is called for each */
	void *userdata;                               /* its argument */
	int timeout_msec;                             /* for the whole call; 0: none */
	struct http_watch watches[HTTP_CALL_WATCHES]; /* an entry without a function ends the list */
};

struct http_reply {
	int status;      /* 200… */
	bool events;     /* the answer was a stream of events: no body */
	bool given_up;   /* a watch abandoned the call */
	struct buf body; /* terminated, if there is one; owned */
};

/* -1: there is no service, it does not speak HTTP, or it timed out. An answer of any status is a success. */
int http_call(const struct http_call *call, struct http_reply *reply, struct error *err);
void http_reply_free(struct http_reply *reply);
#define _cleanup_http_reply_ _cleanup_(http_reply_free)

/* Appends a name to a path: special characters are encoded; '/' only if `slash`. */
void http_path_add(struct buf *path, const char *name, bool slash);
