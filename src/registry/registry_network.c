/* A profile's network_mode: its rules become the text of a list (net/net_policy.h). */
#include "registry/registry_parts.h"

#include "base/own.h"
#include "base/text.h"
#include "schema/spec.h"

#include <errno.h>
#include <string.h>

enum {
	WORDS_MAX = NET_PORTS_MAX /* ports, methods, and paths of one rule */
};

static int read_ports(const struct yaml_doc *doc, const struct yaml_node *node, int64_t *ports,
		      struct net_rule_parts *parts, struct error *err)
{
	uint64_t port;

	if (yaml_expect(doc, node, YAML_LIST, "a list of ports", err) < 0)
		return -1;
	yaml_each(item, node)
	{
		if (item->kind != YAML_TEXT || !text_count(item->text, &port) || port > 65535)
			return yaml_expected(doc, item, err, "a port from 1 to 65535");
		if (parts->port_count >= WORDS_MAX)
			return yaml_fault(doc, node, err, "expected at most %d ports", WORDS_MAX);
		ports[parts->port_count++] = (int64_t)port;
	}
	parts->ports = ports;
	return 0;
}

static int read_words(const struct yaml_doc *doc, const struct yaml_node *node, const char *what,
		      const char *const **words, size_t *count, struct error *err)
{
	if (yaml_list(doc, node, what, words, err) < 0)
		return -1;
	*count = node->count;
	return 0;
}

static int read_tls(const struct yaml_doc *doc, const struct yaml_node *node, enum net_tls *out, struct error *err)
{
	*out = node->kind == YAML_TEXT && strcmp(node->text, "pass") == 0 ? NET_TLS_PASS : NET_TLS_TERMINATE;
	if (*out == NET_TLS_TERMINATE && (node->kind != YAML_TEXT || strcmp(node->text, "terminate") != 0))
		return yaml_expected(doc, node, err, "pass or terminate");
	return 0;
}

/* A rule as a mapping, with the members that it has in a request. */
static int read_object(const struct yaml_doc *doc, const struct yaml_node *node, struct net_rule_parts *parts,
		       int64_t *ports, struct error *err)
{
	static const char *const known[] = { "host", "ports", "methods", "paths", "tls", "private", "sni", NULL };
	const struct yaml_node *value;
	bool sni = true;

	if (yaml_unknown_keys(doc, node, known, err) < 0)
		return -1;
	value = yaml_map_get(node, "host");
	if (!value)
		return yaml_fault(doc, node, err, "expected a host in the rule");
	if (yaml_text(doc, value, "a host such as api.example.com", &parts->host, err) < 0)
		return -1;
	if ((value = yaml_map_get(node, "ports")) && read_ports(doc, value, ports, parts, err) < 0)
		return -1;
	if ((value = yaml_map_get(node, "methods")) &&
	    read_words(doc, value, "a list of methods such as GET", &parts->methods, &parts->method_count, err) < 0)
		return -1;
	if ((value = yaml_map_get(node, "paths")) &&
	    read_words(doc, value, "a list of paths such as /v1/*", &parts->paths, &parts->path_count, err) < 0)
		return -1;
	if ((value = yaml_map_get(node, "tls")) && read_tls(doc, value, &parts->tls, err) < 0)
		return -1;
	if ((value = yaml_map_get(node, "private")) && yaml_bool(doc, value, &parts->private_too, err) < 0)
		return -1;
	if ((value = yaml_map_get(node, "sni")) && yaml_bool(doc, value, &sni, err) < 0)
		return -1;
	parts->without_sni = !sni;
	return 0;
}

static int read_rule(const struct yaml_doc *doc, const struct yaml_node *node, struct buf *list, struct error *err)
{
	struct net_rule_parts parts = { 0 };
	int64_t ports[WORDS_MAX];
	struct error why = { 0 };
	int done;

	if (node->kind == YAML_MAP) {
		if (read_object(doc, node, &parts, ports, err) < 0)
			return -1;
		done = net_rule_from_parts(&parts, list, &why);
	} else {
		if (node->kind != YAML_TEXT)
			return yaml_expected(doc, node, err, "a rule such as api.example.com:443");
		done = net_rule_from_text(node->text, list, &why);
	}
	return done < 0 ? yaml_fault(doc, node, err, "%s", error_detail(&why)) : 0;
}

static int read_allow(const struct yaml_doc *doc, const struct yaml_node *node, const char *key, struct profile *out,
		      struct error *err)
{
	_cleanup_buf_ struct buf list = { 0 };

	(void)key;
	if (yaml_expect(doc, node, YAML_LIST, "a list of rules such as api.example.com or api.example.com:443", err) <
	    0)
		return -1;
	if (node->count == 0)
		return yaml_fault(doc, node, err, "expected at least one rule; for no network, write none");
	yaml_each(item, node) if (read_rule(doc, item, &list, err) < 0) return -1;
	out->network = list.failed ? NULL : arena_string(doc->arena, list.data);
	return out->network ? 0 : error_set(err, ERROR_FAILED, ENOMEM, "cannot hold %s", doc->where);
}

/* Checked by the setter of a request, whose text it becomes. */
static int read_bound(const struct yaml_doc *doc, const struct yaml_node *node, const char *key, struct profile *out,
		      struct error *err)
{
	static const struct {
		const char *key; /* here */
		const char *of;  /* of spec_set() */
	} bounds[NET_BOUNDS] = {
		[NET_BOUND_RATE] = { "rate", "net-rate" },
		[NET_BOUND_TOTAL] = { "total", "net-total" },
		[NET_BOUND_CONNECTIONS] = { "connections", "net-connections" },
	};
	size_t i = 0;
	struct error why = { 0 };
	struct spec checks;
	int done;

	while (strcmp(bounds[i].key, key) != 0)
		i++;
	if (node->kind != YAML_TEXT)
		return yaml_expected(doc, node, err, "a number or a size");
	spec_init(&checks);
	done = spec_set(&checks, bounds[i].of, node->text, &why);
	spec_free(&checks);
	out->net_bounds[i] = node->text;
	return done < 0 ? yaml_fault(doc, node, err, "%s", error_detail(&why)) : 0;
}

int registry_read_network(const struct yaml_doc *doc, const struct yaml_node *node, const char *key,
			  struct profile *out, struct error *err)
{
	static const struct registry_reader readers[] = { { "allow", read_allow },
							  { "rate", read_bound },
							  { "total", read_bound },
							  { "connections", read_bound },
							  { NULL } };
	static const char what[] = "none, bridge, public or {allow: [RULE, ...]}";

	(void)key;
	if (node->kind == YAML_MAP && node->count > 0) {
		if (registry_read_keys(doc, node, readers, what, out, err) < 0)
			return -1;
		return out->network ? 0 : yaml_fault(doc, node, err, "expected allow: [RULE, ...] in it");
	}
	if (node->kind != YAML_TEXT)
		return yaml_expected(doc, node, err, "%s", what);
	if (strcmp(node->text, "none") == 0)
		out->network = "none";
	else if (strcmp(node->text, "bridge") == 0 || strcmp(node->text, "public") == 0)
		out->network = "public";
	else
		return yaml_expected(doc, node, err, "%s", what);
	return 0;
}
