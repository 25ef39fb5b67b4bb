/* A list of rules, as requests, tokens and the registry have it; and decisions by whatever list it is. */
#include "fuzz.h"

#include "net/net_policy.h"

static void rule_holds(const struct net_rule *rule)
{
	_cleanup_arena_ struct arena arena = { 0 };
	struct error err = { 0 };
	struct net_rule again;

	MUST(strlen(rule->text) < NET_RULE_MAX && !strpbrk(rule->text, ",\n"));
	MUST(net_rule_parse(rule->text, &arena, &again, &err) == 0);
	MUST(strcmp(again.text, rule->text) == 0);
	MUST(again.kind == rule->kind && again.bits == rule->bits && again.port_count == rule->port_count);
	MUST((rule->name != NULL) == (rule->kind == NET_RULE_NAME || rule->kind == NET_RULE_BELOW));
	MUST((rule->port_count == 0) == (rule->kind == NET_RULE_PUBLIC));
	MUST((rule->method != NULL) == (rule->path != NULL) && (!rule->method || rule->terminate));
	for (size_t i = 0; i < rule->port_count; i++)
		MUST(rule->ports[i] > 0 && (i == 0 || rule->ports[i] > rule->ports[i - 1]));
}

/* Nothing that is not public is reached but by an address that a rule names. */
static void decisions_hold(const struct net_policy *policy)
{
	static const char *const addresses[] = { "127.0.0.1", "10.0.0.1", "169.254.169.254",    "8.8.8.8",
						 "::1",       "fd00::1",  "64:ff9b::a9fe:a9fe", "2606:4700::1" };

	for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses); i++) {
		struct net_question question = { .port = 443 };
		struct net_decision decision;
		struct net_address address;

		MUST(net_address_parse(addresses[i], &address));
		question.address = &address;
		net_policy_decide(policy, &question, &decision);
		MUST(decision.allowed == (decision.reason == NET_REASON_RULE));
		if (!decision.allowed)
			continue;
		MUST(decision.rule != NULL && net_address_scope(&address) != NET_SCOPE_LOOPBACK);
		MUST(net_address_scope(&address) == NET_SCOPE_GLOBAL || decision.rule->kind == NET_RULE_ADDRESS);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_arena_ struct arena arena = { 0 };
	char *text = fuzz_text_of(data, size);
	struct net_policy policy = { .list_count = 1 };
	struct net_list again;
	struct error err = { 0 };
	struct net_needs needs;
	struct buf out = { 0 };

	if (net_list_parse(text, &arena, &policy.lists[0], &err) < 0) {
		MUST(err.kind == ERROR_USAGE && strcmp(err.field, "net") == 0 && !strchr(err.text, '\n'));
		MUST(policy.lists[0].count == 0);
	} else {
		for (size_t i = 0; i < policy.lists[0].count; i++)
			rule_holds(&policy.lists[0].rules[i]);
		net_list_write(&policy.lists[0], &out);
		MUST(net_list_parse(out.data, &arena, &again, &err) == 0 && again.count == policy.lists[0].count);
		decisions_hold(&policy);
		(void)net_policy_needs(&policy, &needs, &err);
	}
	buf_free(&out);
	free(text);
	return 0;
}
