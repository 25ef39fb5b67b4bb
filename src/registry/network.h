/*
 * What a request may reach: its own rules, narrowed by others.
 *
 * A program needs a rule in each list that there is: the request's own (or its profile's, if it has none), its
 * profile's, its token's, and that of the setting EMBERBOX_NET. So whoever writes a request can reach less than these
 * allow, and never more.
 */
#pragma once

#include "registry/profile.h"

struct network_bounds {
	const struct profile *profile; /* NULL: none */
	const struct token *token;     /* NULL: the request came without one, from a user of this machine */
	const char *net;               /* EMBERBOX_NET; NULL: not set */
	bool host;                     /* EMBERBOX_NET_HOST */
	bool model;                    /* a model wrote the request (MCP) */
};

/* Adds what the request lacks, by the keys of spec_set(). An error has the field "net". */
int network_settle(const struct network_bounds *bounds, const struct profile_target *target, struct error *err);
