/* What the programs of a session may reach, and the change of it. */
#include "live/session_parts.h"

#include "base/own.h"

#include <errno.h>
#include <jansson.h>

/* The session's policy with another list of its own; what narrows it stays. */
static void replace_own(struct net_policy *policy, const struct net_policy *wanted)
{
	policy->lists[0] = wanted->lists[0];
	if (policy->list_count == 0)
		policy->list_count = 1;
	policy->rate = wanted->rate ? wanted->rate : policy->rate;
	policy->total = wanted->total ? wanted->total : policy->total;
	policy->connections = wanted->connections ? wanted->connections : policy->connections;
	policy->host_allowed = policy->host_allowed && wanted->host_allowed;
}

/* A bound that there is may be a profile's: which part is the session's own is not known any more. */
static bool raises_bound(const struct net_policy *now, const struct net_policy *wanted)
{
	return (now->rate && wanted->rate > now->rate) || (now->total && wanted->total > now->total) ||
	       (now->connections && wanted->connections > now->connections);
}

int session_network(struct session *session, const struct net_policy *wanted, struct error *err)
{
	struct resident *home = &session->place.home;
	_cleanup_arena_ struct arena arena = { 0 };
	_cleanup_buf_ struct buf text = { 0 };
	struct net_policy policy, served;
	int done;

	pthread_mutex_lock(&home->lock);
	policy = session->spec.network;
	pthread_mutex_unlock(&home->lock);
	if (raises_bound(&policy, wanted))
		return error_field(err, "network",
				   "the rate, total and connections of a session can be lowered, not raised");
	replace_own(&policy, wanted);
	net_policy_write(&policy, &text);
	if (text.failed)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the network's rules");
	if (net_policy_read(text.data, text.size, &arena, &policy, err) < 0)
		return -1;
	served = policy;
	net_policy_default(&served);
	done = resident_network_change(home, session->driver_pidfd, &served, err);
	if (done > 0)
		return session_refuse_ended(&session->place, err);
	if (done < 0)
		return -1;
	pthread_mutex_lock(&home->lock);
	arena_free(&session->network_arena);
	session->network_arena = arena;
	arena = (struct arena){ 0 };
	session->spec.network = policy;
	pthread_mutex_unlock(&home->lock);
	return 0;
}

json_t *session_network_json(struct session *session)
{
	struct resident *home = &session->place.home;
	const struct net_list *own = &session->spec.network.lists[0];
	json_t *rules = NULL;

	pthread_mutex_lock(&home->lock);
	if (!net_policy_is_none(&session->spec.network)) {
		rules = json_array();
		for (size_t i = 0; i < own->count; i++)
			json_array_append_new(rules, json_string(own->rules[i].text));
	}
	pthread_mutex_unlock(&home->lock);
	return rules ? json_pack("{s:o}", "allow", rules) : json_string("none");
}
