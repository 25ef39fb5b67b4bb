/* The decision: what the rules of all lists say about a name or an address. */
#include "net/net_policy.h"

#include <string.h>

/* How far a rule goes along with a question. */
enum match_depth {
	MATCH_NONE,  /* it names another host */
	MATCH_SCOPE, /* it would name the address, which is not public */
	MATCH_HOST,  /* it names the host, and not the port */
	MATCH_PORT,  /* and the port, and not the request */
	MATCH_ALL
};

/* What a list says. */
struct list_answer {
	enum match_depth depth;      /* of the rule */
	const struct net_rule *rule; /* the nearest of those that go farthest */
	bool terminate, private_too, without_sni;
};

const char *net_reason_name(enum net_reason reason)
{
	static const char *const names[NET_REASONS] = {
		[NET_REASON_RULE] = "rule",
		[NET_REASON_NO_RULE] = "no-rule",
		[NET_REASON_PORT] = "port",
		[NET_REASON_NARROWED] = "narrowed",
		[NET_REASON_SCOPE] = "scope",
		[NET_REASON_OWN_ADDRESS] = "own-address",
		[NET_REASON_NAME] = "name",
		[NET_REASON_SNI] = "sni",
		[NET_REASON_NO_SNI] = "no-sni",
		[NET_REASON_REQUEST] = "request",
		[NET_REASON_HTTP] = "http",
		[NET_REASON_UNRESOLVED] = "unresolved",
		[NET_REASON_UNREACHABLE] = "unreachable",
		[NET_REASON_CERTIFICATE] = "certificate",
		[NET_REASON_CONNECTIONS] = "connections",
		[NET_REASON_TOTAL] = "total",
		[NET_REASON_UDP] = "udp",
		[NET_REASON_QUERIES] = "queries",
		[NET_REASON_SECRET] = "secret",
	};

	return (unsigned)reason < NET_REASONS ? names[reason] : "";
}

const char *net_reason_words(enum net_reason reason)
{
	static const char *const words[NET_REASONS] = {
		[NET_REASON_RULE] = "a rule allows it",
		[NET_REASON_NO_RULE] = "no rule names the host",
		[NET_REASON_PORT] = "a rule names the host, but not this port",
		[NET_REASON_NARROWED] = "the profile, the token or the service does not allow it",
		[NET_REASON_SCOPE] = "the address is not public, and no rule names it",
		[NET_REASON_OWN_ADDRESS] = "the address is one of emberbox's own machine",
		[NET_REASON_NAME] = "it is not a valid name of a host",
		[NET_REASON_SNI] = "the TLS handshake names another host than the one that was asked for",
		[NET_REASON_NO_SNI] = "the TLS handshake names no host",
		[NET_REASON_REQUEST] = "no rule allows the method and path of the request",
		[NET_REASON_HTTP] = "the HTTP request is malformed or ambiguous",
		[NET_REASON_UNRESOLVED] = "the name does not exist, or its name server does not answer",
		[NET_REASON_UNREACHABLE] = "the host does not answer, or refuses the connection",
		[NET_REASON_CERTIFICATE] = "the certificate of the server is not valid",
		[NET_REASON_CONNECTIONS] = "the limit of connections is reached",
		[NET_REASON_TOTAL] = "the limit of bytes is used up",
		[NET_REASON_UDP] = "UDP is not carried, except for DNS",
		[NET_REASON_QUERIES] = "the limit of DNS queries is reached",
		[NET_REASON_SECRET] = "the request would send the placeholder of a secret where it is not replaced",
	};

	return (unsigned)reason < NET_REASONS ? words[reason] : "";
}

const char *net_level_name(enum net_level level)
{
	static const char *const names[] = {
		[NET_LEVEL_NAME] = "name",
		[NET_LEVEL_SNI] = "sni",
		[NET_LEVEL_REQUEST] = "request",
	};

	return (unsigned)level < sizeof(names) / sizeof(*names) ? names[level] : "";
}

static bool name_is_below(const char *name, const char *domain)
{
	const size_t size = strlen(name), length = strlen(domain);

	return size > length + 1 && name[size - length - 1] == '.' && strcmp(name + size - length, domain) == 0;
}

static enum match_depth match_name(const struct net_rule *rule, const char *name)
{
	bool named;

	if (strcmp(name, "host") == 0)
		named = rule->kind == NET_RULE_HOST;
	else if (rule->kind == NET_RULE_NAME)
		named = strcmp(rule->name, name) == 0;
	else if (rule->kind == NET_RULE_BELOW)
		named = name_is_below(name, rule->name);
	else
		named = rule->kind == NET_RULE_PUBLIC;
	return named ? MATCH_HOST : MATCH_NONE;
}

static enum match_depth match_address(const struct net_rule *rule, const struct net_address *address)
{
	const bool public = net_address_scope(address) == NET_SCOPE_GLOBAL;

	if (rule->kind == NET_RULE_PUBLIC)
		return public ? MATCH_HOST : MATCH_SCOPE;
	if (rule->kind != NET_RULE_ADDRESS || !net_address_within(address, &rule->address, rule->bits))
		return MATCH_NONE;
	return public || net_range_scope(&rule->address, rule->bits) != NET_SCOPE_GLOBAL ? MATCH_HOST : MATCH_SCOPE;
}

static bool port_matches(const struct net_rule *rule, uint16_t port)
{
	if (rule->port_count == 0 || port == 0)
		return true;
	for (size_t i = 0; i < rule->port_count; i++)
		if (rule->ports[i] == port)
			return true;
	return false;
}

static bool path_matches(const char *pattern, const char *path)
{
	const size_t size = strlen(pattern);

	if (size > 0 && pattern[size - 1] == '*')
		return strncmp(pattern, path, size - 1) == 0;
	return strcmp(pattern, path) == 0;
}

/* A request with the method and path that it has; `path` is canonical, NULL: it has no such form. */
static bool request_matches(const struct net_rule *rule, const struct net_question *question, const char *path)
{
	/* A tunnel is more than its first request. */
	if (strcmp(question->method, "CONNECT") == 0)
		return false;
	if (!rule->method)
		return true;
	if (strcmp(rule->method, "*") != 0 && strcmp(rule->method, question->method) != 0)
		return false;
	if (strcmp(rule->path, "/*") == 0)
		return question->path && question->path[0] == '/';
	return path && path_matches(rule->path, path);
}

static enum match_depth match_rule(const struct net_rule *rule, const struct net_question *question, const char *path)
{
	const enum match_depth depth = question->name      ? match_name(rule, question->name)
				       : question->address ? match_address(rule, question->address)
							   : MATCH_NONE;

	if (depth != MATCH_HOST || !port_matches(rule, question->port))
		return depth;
	return !question->method || request_matches(rule, question, path) ? MATCH_ALL : MATCH_PORT;
}

/* Which of two rules names the host more exactly. */
static size_t rule_nearness(const struct net_rule *rule)
{
	switch (rule->kind) {
	case NET_RULE_PUBLIC:
		return 0;
	case NET_RULE_ADDRESS:
		return 1 + rule->bits;
	case NET_RULE_BELOW:
		return 1 + strlen(rule->name);
	default:
		return NET_NAME_MAX + 1;
	}
}

static void ask_list(const struct net_list *list, const struct net_question *question, const char *path,
		     struct list_answer *answer)
{
	*answer = (struct list_answer){ 0 };
	for (size_t i = 0; i < list->count; i++) {
		const struct net_rule *rule = &list->rules[i];
		const enum match_depth depth = match_rule(rule, question, path);

		/* A connection on which one rule checks requests has all of them checked. */
		if (depth >= MATCH_PORT)
			answer->terminate |= rule->terminate;
		if (depth == MATCH_ALL) {
			answer->private_too |= rule->private_too;
			answer->without_sni |= rule->without_sni || rule->kind == NET_RULE_ADDRESS;
		}
		if (depth > answer->depth ||
		    (depth == answer->depth && answer->rule && rule_nearness(rule) > rule_nearness(answer->rule))) {
			answer->depth = depth;
			answer->rule = rule;
		}
	}
}

static enum net_reason depth_reason(enum match_depth depth)
{
	switch (depth) {
	case MATCH_ALL:
		return NET_REASON_RULE;
	case MATCH_PORT:
		return NET_REASON_REQUEST;
	case MATCH_HOST:
		return NET_REASON_PORT;
	case MATCH_SCOPE:
		return NET_REASON_SCOPE;
	default:
		return NET_REASON_NO_RULE;
	}
}

static bool is_canonical(const char *name)
{
	char canonical[NET_NAME_MAX];

	return net_name_of_wire(name, strlen(name), canonical) && strcmp(name, canonical) == 0;
}

void net_policy_decide(const struct net_policy *policy, const struct net_question *question,
		       struct net_decision *decision)
{
	char canonical[NET_PATH_MAX];
	const char *path = NULL;

	*decision = (struct net_decision){ .reason = NET_REASON_NO_RULE };
	if (question->name && !is_canonical(question->name)) {
		decision->reason = NET_REASON_NAME;
		return;
	}
	if (question->path && net_path_canonical(question->path, strlen(question->path), canonical))
		path = canonical;
	for (size_t i = 0; i < policy->list_count; i++) {
		struct list_answer answer;

		ask_list(&policy->lists[i], question, path, &answer);
		if (i == 0) {
			decision->rule = answer.rule;
			decision->reason = depth_reason(answer.depth);
			decision->private_too = decision->without_sni = true;
		} else if (answer.depth < MATCH_ALL && decision->reason == NET_REASON_RULE) {
			decision->reason = NET_REASON_NARROWED;
		}
		decision->terminate |= answer.terminate;
		decision->private_too &= answer.private_too;
		decision->without_sni &= answer.without_sni;
	}
	if (decision->reason == NET_REASON_RULE && decision->rule->kind == NET_RULE_HOST && !policy->host_allowed)
		decision->reason = NET_REASON_NARROWED;
	decision->allowed = decision->reason == NET_REASON_RULE;
	if (!decision->allowed)
		decision->private_too = decision->without_sni = false;
}
