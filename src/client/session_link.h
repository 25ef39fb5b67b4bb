/* Sessions of the service, as their clients see them: each call is one of the API's paths below /v1/sessions. */
#pragma once

#include "base/error.h"
#include "client/http_call.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum {
	SESSION_ID_SIZE = 64, /* bytes of an id, its NUL included */
};

struct session_link {
	const char *socket;       /* the service's */
	char id[SESSION_ID_SIZE]; /* of the session; "": none yet */
};

/* An answer of the service that is no success: its sentence becomes the error's. `status` may be NULL. */
int session_link_refusal(const struct http_reply *reply, struct error *err);

/* {"sessions": [all that we may see, the oldest first]}. The caller frees *answer. */
int session_link_list(const struct session_link *link, json_t **answer, struct error *err);
/* Makes one and keeps its id. The caller frees *object. */
int session_link_open(struct session_link *link, const json_t *request, json_t **object, struct error *err);
/*
 * One call that is answered at once: METHOD /v1/sessions/ID/TAIL, TAIL encoded already, "" for the session itself.
 * `body` and `answer` may be NULL; the caller frees *answer. The error has the code and the field that the service
 * gave.
 */
int session_link_ask(const struct session_link *link, const char *method, const char *tail, const json_t *body,
		     json_t **answer, struct error *err);
/* A cell with its events; the result is one of them. Watches as in http_call(). The caller frees the body. */
int session_link_execute(const struct session_link *link, const json_t *body, http_event_fn *on_event, void *userdata,
			 const struct http_watch watches[HTTP_CALL_WATCHES], struct error *err);
/* A path as people write it, "/sandbox/output/x", as the API has it: below /sandbox. */
const char *session_link_path(const char *path);
/* The bytes of a file in the session, and back. */
int session_link_get_file(const struct session_link *link, const char *path, struct buf *content, struct error *err);
int session_link_put_file(const struct session_link *link, const char *path, const void *data, size_t size,
			  struct error *err);
