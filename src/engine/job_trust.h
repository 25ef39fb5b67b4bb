/* What a box needs so that its programs trust egress, where that ends TLS. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "net/net_policy.h"
#include "net/net_secret.h"

struct job_trust {
	const char *bundle; /* the certificates that the host trusts, and that of egress (PEM) */
	size_t bundle_size; /* bytes */
	const char *store;  /* the same for Java; NULL: the host has none */
	size_t store_size;  /* bytes */
};

/* Whether egress ends TLS for some connection that they allow. */
bool job_trust_needed(const struct net_policy *policy, const struct net_secrets *secrets);
/* Reads what the host trusts. */
int job_trust_make(struct arena *arena, struct job_trust *out, struct error *err);
