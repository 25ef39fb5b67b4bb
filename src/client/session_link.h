/* The client side of sessions: each function is a request to a path below /v1/sessions. */
#pragma once

#include "base/error.h"
#include "client/http_call.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum {
	SESSION_ID_SIZE = 64, /* bytes of an id, including the NUL */
};

struct session_link {
	const char *socket;       /* path of the service's socket */
	char id[SESSION_ID_SIZE]; /* id of the session; "": none yet */
};

/* Converts an answer with an error status to an error. `status` may be NULL. */
int session_link_refusal(const struct http_reply *reply, struct error *err);

/* {"sessions": [those that the caller may see, the oldest first]}. The caller frees *answer. */
int session_link_list(const struct session_link *link, json_t **answer, struct error *err);
/* Creates a session and keeps its id. The caller frees *object. */
int session_link_open(struct session_link *link, const json_t *request, json_t **object, struct error *err);
/*
 * A request with a short answer: METHOD /v1/sessions/ID/TAIL, with TAIL encoded, "" for the session itself. `body` and
 * `answer` may be NULL; the caller frees *answer. The error has the service's code and field.
 */
int session_link_ask(const struct session_link *link, const char *method, const char *tail, const json_t *body,
		     json_t **answer, struct error *err);
/* Runs a cell with its events; the result is one of them. Watches as in http_call(). The caller frees the body. */
int session_link_execute(const struct session_link *link, const json_t *body, http_event_fn *on_event, void *userdata,
			 const struct http_watch watches[HTTP_CALL_WATCHES], struct error *err);
/* Converts a path as people write it, "/sandbox/output/x", to the API's form, below /sandbox. */
const char *session_link_path(const char *path);
/* Reads and writes a file in the session. */
int session_link_get_file(const struct session_link *link, const char *path, struct buf *content, struct error *err);
int session_link_put_file(const struct session_link *link, const char *path, const void *data, size_t size,
			  struct error *err);
