/*
 * HTTP over the service's Unix socket, where no token is needed: a request, and
 * its answer whole or event by event. A connection a call: on a Unix socket it
 * costs less than keeping one and being wrong about it.
 */
#pragma once

#include "base/buf.h"
#include "client/http_answer.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	HTTP_CALL_WATCHES = 4, /* descriptors at most */
};

/* Something else to look at while the answer is waited for. */
struct http_watch {
	int fd;                              /* readable: the function is called; -1: none */
	int (*on_ready)(int fd, void *data); /* 0; 1: do not watch it any more; -1: give the call up */
	void *data;                          /* for it */
	int after_msec;                      /* not looked at before the call is so old */
};

struct http_call {
	const char *socket;                           /* the service's path */
	const char *method;                           /* "GET", "POST"… */
	const char *path;                             /* of the resource, encoded already */
	const char *body;                             /* NULL: none */
	size_t body_size;                             /* of it */
	const char *body_type;                        /* NULL: application/json */
	http_event_fn *on_event;                      /* not NULL: events are asked for, and come here */
	void *userdata;                               /* for it */
	int timeout_msec;                             /* for the whole of it; 0: none */
	struct http_watch watches[HTTP_CALL_WATCHES]; /* the first without a function ends the list */
};

struct http_reply {
	int status;      /* 200… */
	bool events;     /* it came as events: no body */
	bool given_up;   /* a watch said so */
	struct buf body; /* terminated if there is any; owned */
};

/* -1: no service, or none that speaks HTTP, or it took too long. Whatever status it answers with is a reply. */
int http_call(const struct http_call *call, struct http_reply *reply, struct error *err);
void http_reply_free(struct http_reply *reply);
#define _cleanup_http_reply_ _cleanup_(http_reply_free)

/* A name as a part of a path: what is not plain is encoded; '/' only if `slash`. */
void http_path_add(struct buf *path, const char *name, bool slash);
