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
	WISH_NET,
	WISH_NET_RATE,
	WISH_NET_TOTAL,
	WISH_NET_CONNECTIONS,
	WISH_LAST,
};

struct session_wish {
	struct spec spec;     /* its language, limits, files and variables */
	const char *profile;  /* or NULL */
	const char *ttl;      /* or NULL */
	const char *idle_ttl; /* or NULL */
	const char *name;     /* or NULL */
	bool any;             /* something was given that only a new session can have */
	const char *bound;    /* an option that needs rules of the network, or NULL */
};

/* Whether the option bounds what the network's rules allow. */
static inline bool session_wish_is_bound(int option)
{
	return option == WISH_NET_RATE || option == WISH_NET_TOTAL || option == WISH_NET_CONNECTIONS;
}

/* One of the options above. Returns 0, or an exit code: it was said why. */
int session_wish_take(struct session_wish *wish, const char *command, int option, const char *value);
/* The value of `network` in requests, from the rules and the options; the caller frees it. The same codes. */
int session_wish_network(struct session_wish *wish, const char *command, const char *rules, json_t **network);
/* What POST /v1/sessions is sent, which the caller frees; the same codes. */
int session_wish_request(const struct session_wish *wish, const char *command, json_t **request);

/* Says an error of ours and returns its exit code. */
int session_failed(const struct error *err);
/* The settings, as far as they are about the service, which may be said in a file. Returns 0, or an exit code. */
int session_configure(struct config *config);
