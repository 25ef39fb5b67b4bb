#include "registry/network.h"

#include "base/text.h"
#include "schema/spec.h"

#include <string.h>

static bool is_none(const char *rules)
{
	return !rules || strcmp(rules, "none") == 0;
}

static int narrow(const struct profile_target *target, const char *rules, struct error *err)
{
	return rules ? target->set(target->request, "net-within", rules, err) : 0;
}

/* Whether the request asks for more than that, or says nothing. */
static bool is_more(const char *asked, const char *most)
{
	uint64_t a, b;

	return !asked || !text_size(asked, &a) || !text_size(most, &b) || a > b;
}

static int settle_profile(const struct profile *profile, const struct profile_target *target, struct error *err)
{
	static const char *const keys[NET_BOUNDS] = { "net-rate", "net-total", "net-connections" };
	const char *asked = target->get(target->request, "net");

	if (!profile || !profile->network)
		return 0;
	if (!is_none(asked) && is_none(profile->network))
		return error_field(err, "net", "the profile \"%s\" has no network; leave it out", profile->name);
	if (!asked && target->set(target->request, "net", profile->network, err) < 0)
		return -1;
	for (size_t i = 0; i < NET_BOUNDS; i++) {
		const char *most = profile->net_bounds[i];

		if (most && is_more(target->get(target->request, keys[i]), most) &&
		    target->set(target->request, keys[i], most, err) < 0)
			return -1;
	}
	/* Also what the profile itself gave: the rules of a session can be replaced later. */
	return narrow(target, profile->network, err);
}

int network_settle(const struct network_bounds *bounds, const struct profile_target *target, struct error *err)
{
	const struct token *token = bounds->token;
	/* What a model wrote may come from a page that it read. Rules of a profile are the administrator's. */
	const bool stranger = (token && !(token->scopes & SCOPE_TRUSTED)) ||
			      (bounds->model && !is_none(target->get(target->request, "net")));
	const char *least = stranger ? "public" : NULL;

	if (settle_profile(bounds->profile, target, err) < 0)
		return -1;
	/* A stranger's program reaches no private network unless somebody who may decide that names it. */
	if (narrow(target, token && token->net ? token->net : least, err) < 0)
		return -1;
	if (narrow(target, bounds->net, err) < 0)
		return -1;
	return bounds->host ? target->set(target->request, "net-host", "yes", err) : 0;
}
