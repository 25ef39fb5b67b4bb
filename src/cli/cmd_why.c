/* emberbox why: which rule would decide about a connection. Nothing is run, and no name is resolved. */
#include "base/own.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/options.h"
#include "cli/past.h"
#include "net/net_why.h"
#include "registry/config.h"
#include "registry/network.h"
#include "schema/spec.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	OPT_NET = 1,
	OPT_RULES,
	OPT_PROFILE,
	OPT_REGISTRY,
	OPT_JSON,
	OPT_HELP
};

static const struct option_spec specs[] = {
	{ OPT_NET, 0, "net", "HOST[:PORT]", "the connection in question; without a port: any port" },
	{ OPT_RULES, 0, "rules", "RULES", "the rules of the run, as for `emberbox run --net`" },
	{ OPT_PROFILE, 0, "profile", "NAME", "the profile of the run" },
	{ OPT_REGISTRY, 0, "registry", "FILE", "the registry, for its profiles" },
	{ OPT_JSON, 0, "json", NULL, "print JSON" },
	{ OPT_HELP, 'h', "help", NULL, "show this help" },
	{ 0 },
};

/* What was typed; all but `net` may be NULL. */
struct why {
	const char *net;      /* of --net */
	const char *rules;    /* of --rules */
	const char *profile;  /* of --profile */
	const char *registry; /* of --registry */
	bool json;            /* --json */
};

/* The answer, before it is printed. */
struct why_answer {
	char host[NET_NAME_MAX];   /* canonical; addresses are shorter */
	uint16_t port;             /* 0: none was asked about */
	struct net_decision given; /* by the rules */
	const char *rule;          /* its text, or NULL */
	struct buf sentence;       /* for a person */
	struct buf allow;          /* the rule that would allow it; empty: none would */
};

static void free_answer(struct why_answer *answer)
{
	buf_free(&answer->sentence);
	buf_free(&answer->allow);
}

static int print_help(void)
{
	puts("Usage: emberbox why --net HOST[:PORT] [options]\n"
	     "Shows which rule decides about a connection of a run with these rules, this\n"
	     "profile, and the setting EMBERBOX_NET. Nothing is run and no name is resolved:\n"
	     "the address that a name leads to is checked when a program connects to it.\n");
	option_print(stdout, specs);
	puts("\nExit code: 0 allowed; 1 refused; 2 bad usage.");
	return cmd_flush(0);
}

/* The request that `emberbox run` would make, as far as it is about the network. */
struct why_request {
	struct spec spec;  /* with its network */
	const char *rules; /* that were given, or NULL */
};

static const char *get_said(void *to, const char *key)
{
	const struct why_request *request = to;

	return strcmp(key, "net") == 0 ? request->rules : NULL;
}

static int set_missing(void *to, const char *key, const char *value, struct error *err)
{
	struct why_request *request = to;

	return spec_set(&request->spec, key, value, err);
}

/* The policy that the run would have: the rules of the request, narrowed by the profile and the settings. */
static int settle_request(const struct why *why, const struct config *config, struct why_request *request,
			  struct error *err)
{
	const struct profile_target target = { .get = get_said, .set = set_missing, .request = request };
	const struct config_value *values = config->values;
	struct network_bounds bounds = {
		.net = values[CONFIG_NET].text,
		.host = values[CONFIG_NET_HOST].text && strcmp(values[CONFIG_NET_HOST].text, "true") == 0,
	};
	struct error fault = { 0 };
	struct net_needs needs;

	if (why->profile) {
		bounds.profile = registry_find(&config->registry, why->profile, NULL);
		if (!bounds.profile) {
			profile_unknown(&config->registry, NULL, why->profile, err);
			return -1;
		}
	}
	if (why->rules && spec_set(&request->spec, "net", why->rules, &fault) < 0)
		return error_field(err, "--rules", "%s", error_detail(&fault));
	if (network_settle(&bounds, &target, err) < 0)
		return -1;
	/* Rules for which a run would be refused, such as host:PORT without EMBERBOX_NET_HOST. */
	return net_policy_is_none(&request->spec.network) ? 0 : net_policy_needs(&request->spec.network, &needs, err);
}

static void decide(const struct net_policy *policy, const struct net_asked *asked, struct why_answer *answer)
{
	const struct net_question question = {
		.name = *asked->name ? asked->name : NULL,
		.address = *asked->name ? NULL : &asked->address,
		.port = asked->port,
	};
	struct net_outcome outcome = { .host = answer->host, .port = asked->port };

	answer->port = asked->port;
	if (*asked->name)
		snprintf(answer->host, sizeof(answer->host), "%s", asked->name);
	else
		net_address_text(&asked->address, answer->host);
	net_policy_decide(policy, &question, &answer->given);
	answer->rule = answer->given.rule ? answer->given.rule->text : NULL;
	outcome.reason = answer->given.reason;
	outcome.rule = answer->rule;
	net_why_sentence(&outcome, &answer->sentence);
	if (!answer->given.allowed)
		net_why_rule(&outcome, &answer->allow);
}

static void print_json(const struct why_answer *answer, struct buf *out)
{
	json_t *root = json_pack("{s:s, s:o, s:s, s:s?, s:s, s:s, s:s?}", "host", answer->host, "port",
				 answer->port ? json_integer(answer->port) : json_null(), "verdict",
				 answer->given.allowed ? "allowed" : "refused", "rule", answer->rule, "reason",
				 net_reason_name(answer->given.reason), "message", answer->sentence.data, "allow",
				 answer->allow.data);
	_cleanup_free_ char *dump = json_dumps(root, JSON_COMPACT);

	json_decref(root);
	if (dump)
		buf_printf(out, "%s\n", dump);
	out->failed |= !dump;
}

static int answer_print(const struct why_answer *answer, bool json)
{
	_cleanup_buf_ struct buf out = { 0 };

	if (!answer->sentence.failed && !answer->allow.failed && !json)
		buf_printf(&out, "%s\n", answer->sentence.data);
	else if (!answer->sentence.failed && !answer->allow.failed)
		print_json(answer, &out);
	out.failed |= answer->sentence.failed || answer->allow.failed;
	return past_print(&out, answer->given.allowed ? 0 : 1);
}

static int explain(const struct why *why, const struct config *config)
{
	_cleanup_(free_answer) struct why_answer answer = { 0 };
	struct why_request request = { .rules = why->rules };
	struct net_asked asked;
	struct error err = { 0 };
	int code = EXIT_USAGE;

	if (net_asked_parse(why->net, &asked, &err) < 0) {
		cmd_complain("--net: %s", error_detail(&err));
		return EXIT_USAGE;
	}
	spec_init(&request.spec);
	if (settle_request(why, config, &request, &err) < 0) {
		cmd_complain("%s", err.text);
	} else {
		decide(&request.spec.network, &asked, &answer);
		code = answer_print(&answer, why->json);
	}
	spec_free(&request.spec);
	return code;
}

int cmd_why(int argc, char **argv)
{
	struct option_reader reader = { .specs = specs, .argc = argc, .argv = argv, .next = 1 };
	struct config_option chosen = { CONFIG_REGISTRY_FILE, NULL };
	_cleanup_config_ struct config config = { 0 };
	struct why why = { 0 };
	struct error err = { 0 };
	int option;

	while ((option = option_next(&reader)) != OPTION_END) {
		switch (option) {
		case OPT_NET:
			why.net = reader.value;
			break;
		case OPT_RULES:
			why.rules = reader.value;
			break;
		case OPT_PROFILE:
			why.profile = reader.value;
			break;
		case OPT_REGISTRY:
			chosen.value = reader.value;
			break;
		case OPT_JSON:
			why.json = true;
			break;
		case OPT_HELP:
			return print_help();
		case OPTION_WORD:
			return cmd_usage("why", "unexpected argument \"%s\"", reader.value);
		default:
			return cmd_usage("why", "%s", reader.message);
		}
	}
	if (!why.net)
		return cmd_usage("why", "nothing to explain: give --net HOST[:PORT]");
	if (config_load(&chosen, chosen.value ? 1 : 0, &config, &err) < 0)
		return cmd_misconfigured(err.text);
	return explain(&why, &config);
}
