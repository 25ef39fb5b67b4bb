/*
 * Options for a new session, shared by `emberbox repl` and `emberbox session
 * start` (session_wish.def), and the request that they become.
 */
#pragma once

#include "base/error.h"
#include "schema/spec.h"
#include "cli/options.h"
#include "registry/config.h"

#include <jansson.h>
#include <stdbool.h>

enum {
	WISH_FIRST = 100, /* above all options of the command itself */
	WISH_FILE,
	WISH_ENV,
	WISH_LIMIT, /* plus enum limit_id */
	WISH_PROFILE = WISH_LIMIT + LIMITS,
	WISH_READ_ONLY,
	WISH_ALLOW_WEAKER,
	WISH_TTL,
	WISH_IDLE_TTL,
	WISH_NAME,
	WISH_NET,
	WISH_NET_RATE,
	WISH_NET_TOTAL,
	WISH_NET_CONNECTIONS,
	WISH_LAST,
};

struct session_wish {
	struct spec spec;     /* language, limits, files and variables */
	const char *profile;  /* or NULL */
	const char *ttl;      /* or NULL */
	const char *idle_ttl; /* or NULL */
	const char *name;     /* or NULL */
	bool any;             /* an option was given that only a new session can have */
	const char *bound;    /* an option that needs rules of the network, or NULL */
};

/* Whether the option bounds what the network's rules allow. */
static inline bool session_wish_is_bound(int option)
{
	return option == WISH_NET_RATE || option == WISH_NET_TOTAL || option == WISH_NET_CONNECTIONS;
}

/* Handles one of the options above. Returns 0, or an exit code after an error message. */
int session_wish_take(struct session_wish *wish, const char *command, int option, const char *value);
/* The value of `network` in requests, from the rules and the options; the caller frees it. The same codes. */
int session_wish_network(struct session_wish *wish, const char *command, const char *rules, json_t **network);
/* The body of POST /v1/sessions, which the caller frees. Returns as session_wish_take(). */
int session_wish_request(const struct session_wish *wish, const char *command, json_t **request);

/* Reports an error and returns its exit code. */
int session_failed(const struct error *err);
/* Reads the settings for the service, which may be in a file. Returns 0, or an exit code. */
int session_configure(struct config *config);
