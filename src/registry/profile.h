/*
 * What a request gets that it does not say itself, and what its token forbids.
 *
 * A limit is the request's own, else the environment's or .env's, else the
 * profile's, else the registry's settings', else the language's own or the
 * default. A token bounds them: a request that asks for more is refused, one that
 * does not say gets the smaller of its default and the token's most.
 *
 * Pure but for runtime_find().
 */
#pragma once

#include "base/error.h"
#include "registry/config.h"

/* A request, whatever form it has, by the keys of spec_set(): language, net, read-only, timeout, cpu-time… */
struct profile_target {
	/* What the request says itself, NULL: nothing. Valid until the next call. */
	const char *(*get)(void *request, const char *key);
	int (*set)(void *request, const char *key, const char *value, struct error *err); /* adds what it lacks */
	void *request;                                                                    /* for both */
};

/*
 * Language, network and read-only of the profile, and the limits of all. `profile`
 * and `token` may be NULL, and so may both limits of the configuration. ERROR_USAGE
 * begins with the key as spec_set() has it ("max-output: …") or with "profile: ".
 *
 * It does not ask for a confirmation: see profile->needs_confirm.
 */
int profile_settle(const struct profile *profile, const struct token *token, const struct limit_texts *said,
		   const struct limit_texts *settings, const struct profile_target *target, struct error *err);

/* The same with what the front has. */
int profile_defaults(const struct profile *profile, const struct token *token, const struct front_config *config,
		     const struct profile_target *target, struct error *err);

/* network_mode as `net` takes it: "none", "bridge" or "HOST,HOST"; `out` is cut to its size. */
const char *profile_network(const struct profile *profile, char *out, size_t size);

/* "profile: there is no NAME", with all that would do: of the registry, and of the language unless that is NULL. */
void profile_unknown(const struct registry *registry, const char *language, const char *name, struct error *err);
