/*
 * What a session is asked for with: the options that `emberbox repl` and
 * `emberbox session start` have in common (session_wish.def), and the request
 * that is made of them.
 */
#pragma once

#include "base/error.h"
#include "schema/spec.h"
#include "cli/options.h"
#include "registry/config.h"

#include <jansson.h>
#include <stdbool.h>

enum {
	WISH_FIRST = 100, /* behind all options of a command's own */
	WISH_FILE,
	WISH_ENV,
	WISH_LIMIT, /* and enum limit_id */
	WISH_PROFILE = WISH_LIMIT + LIMITS,
	WISH_READ_ONLY,
	WISH_ALLOW_WEAKER,
	WISH_TTL,
	WISH_IDLE_TTL,
	WISH_NAME,
	WISH_LAST,
};

struct session_wish {
	struct spec spec;     /* its language, limits, files and variables */
	const char *profile;  /* or NULL */
	const char *ttl;      /* or NULL */
	const char *idle_ttl; /* or NULL */
	const char *name;     /* or NULL */
	bool any;             /* something was given that only a new session can have */
};

/* One of the options above. Returns 0, or an exit code: it was said why. */
int session_wish_take(struct session_wish *wish, const char *command, int option, const char *value);
/* What POST /v1/sessions is sent, which the caller frees; the same codes. */
int session_wish_request(const struct session_wish *wish, const char *command, json_t **request);

/* Says an error of ours and returns its exit code. */
int session_failed(const struct error *err);
/* The settings, as far as they are about the service, which may be said in a file. Returns 0, or an exit code. */
int session_configure(struct config *config);
