/*
 * Defaults for the unset fields of a request, and the bounds of its token.
 *
 * A limit comes from the first of these that sets it: the request, the environment or .env, the profile, the registry's
 * settings, the language, the default. A token bounds limits: a request above the bound is refused, and a default is
 * reduced to it.
 *
 * Pure, except for runtime_find().
 */
#pragma once

#include "base/error.h"
#include "registry/config.h"

/* A request in any form, by the keys of spec_set(): language, net, read-only, timeout, cpu-time… */
struct profile_target {
	/* The request's own value, or NULL. Valid until the next call. */
	const char *(*get)(void *request, const char *key);
	int (*set)(void *request, const char *key, const char *value, struct error *err); /* adds a missing value */
	void *request;                                                                    /* passed to both */
};

/*
 * Adds the language and read-only of the profile, and all limits. `profile`, `token` and both limits of the
 * configuration may be NULL. ERROR_USAGE begins with the key of spec_set() ("max-output: …") or with "profile: ".
 *
 * Does not handle confirmations: see profile->needs_confirm.
 */
int profile_settle(const struct profile *profile, const struct token *token, const struct limit_texts *said,
		   const struct limit_texts *settings, const struct profile_target *target, struct error *err);

/* profile_settle() with the configuration of the front, and network_settle() (registry/network.h), where `model` is as
 * there. */
int profile_defaults(const struct profile *profile, const struct token *token, const struct front_config *config,
		     bool model, const struct profile_target *target, struct error *err);

/* "profile: there is no NAME", with a list of the profiles of the registry and, unless NULL, of the language. */
void profile_unknown(const struct registry *registry, const char *language, const char *name, struct error *err);
