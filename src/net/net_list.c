/* A list of rules: its one line of text, and how requests and the registry make that from rules and objects. */
#include "net/net_rule.h"

#include <inttypes.h>
#include <string.h>

/* The text without blanks around it. */
static const char *trim_text(const char *text, size_t *size)
{
	while (*size > 0 && text[0] == ' ') {
		text++;
		(*size)--;
	}
	while (*size > 0 && text[*size - 1] == ' ')
		(*size)--;
	return text;
}

static bool list_has(const struct net_list *list, const char *text)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->rules[i].text, text) == 0)
			return true;
	return false;
}

/* The rules of the text, each once. */
static int read_rules(const char *text, struct arena *arena, struct net_rule *rules, struct net_list *list,
		      struct error *err)
{
	list->rules = rules;
	for (const char *end;; text = end + 1) {
		char *one;

		end = strchrnul(text, ',');
		one = arena_copy(arena, text, (size_t)(end - text));
		if (!one)
			return net_rule_no_memory(err);
		if (net_rule_parse(one, arena, &rules[list->count], err) < 0)
			return -1;
		if (!list_has(list, rules[list->count].text))
			list->count++;
		if (*end == '\0')
			return 0;
	}
}

int net_list_parse(const char *text, struct arena *arena, struct net_list *list, struct error *err)
{
	size_t size = strlen(text), count = 1;
	const char *inner = trim_text(text, &size);
	struct net_rule *rules;

	*list = (struct net_list){ 0 };
	if (size == 0)
		return error_field(err, "net", "the list of rules is empty; write none to allow nothing");
	if (size == 4 && memcmp(inner, "none", 4) == 0)
		return 0;
	if (size >= NET_LIST_TEXT)
		return error_field(err, "net", "the list of rules is longer than %d bytes", NET_LIST_TEXT - 1);
	for (size_t i = 0; i < size; i++)
		count += inner[i] == ',';
	if (count > NET_RULES_MAX)
		return error_field(err, "net", "the list has more than %d rules", NET_RULES_MAX);
	rules = arena_alloc(arena, count * sizeof(*rules));
	if (!rules)
		return net_rule_no_memory(err);
	if (read_rules(text, arena, rules, list, err) < 0) {
		*list = (struct net_list){ 0 };
		return -1;
	}
	return 0;
}

void net_list_write(const struct net_list *list, struct buf *out)
{
	for (size_t i = 0; i < list->count; i++) {
		buf_text(out, i > 0 ? "," : "");
		buf_text(out, list->rules[i].text);
	}
	if (list->count == 0)
		buf_text(out, "none");
}

int net_rule_from_text(const char *rule, struct buf *list, struct error *err)
{
	_cleanup_arena_ struct arena arena = { 0 };
	struct net_rule parsed;

	if (net_rule_parse(rule, &arena, &parsed, err) < 0)
		return -1;
	buf_text(list, list->size > 0 ? "," : "");
	buf_text(list, parsed.text);
	return list->failed ? net_rule_no_memory(err) : 0;
}

/* A slash belongs to a host only as that of a range. */
static bool has_foreign_slash(const char *host)
{
	const char *begin = *host == '[' ? host + 1 : host;
	const size_t length = strcspn(begin, "/");
	char text[NET_ADDRESS_TEXT];
	struct net_address address;

	if (begin[length] == '\0')
		return false;
	if (length >= sizeof(text))
		return true;
	memcpy(text, begin, length);
	text[length] = '\0';
	return !net_address_parse(text, &address);
}

/* The host as rules have it: IPv6 in brackets. What would be another part of a rule is refused here, because it would
 * be read as that: "example.com#private". */
static int write_parts_host(const char *host, struct buf *out, struct error *err)
{
	const char *colon = strchr(host, ':');

	if (*host == '\0')
		return error_field(err, "net", "a rule has an empty host");
	if (strpbrk(host, "#,+@? ") || has_foreign_slash(host))
		return net_rule_refuse(err, host,
				       "is more than a host; ports, paths and flags are members of their own");
	if (!colon || *host == '[') {
		if (*host == '[' && host[strlen(host) - 1] != ']')
			return net_rule_refuse(err, host, "is more than a host; put the port into ports");
		buf_text(out, host);
		return 0;
	}
	/* IPv6 has two colons at least. */
	if (!strchr(colon + 1, ':'))
		return net_rule_refuse(err, host, "is more than a host; put the port into ports");
	buf_printf(out, "[%s]", host);
	return 0;
}

static int write_parts_ports(const struct net_rule_parts *parts, struct buf *out, struct error *err)
{
	if (parts->ports && parts->port_count == 0)
		return net_rule_refuse(err, parts->host, "has no ports in its list; leave ports out for 80 and 443");
	if (parts->port_count > NET_PORTS_MAX)
		return net_rule_refuse(err, parts->host, "has more than %d ports", NET_PORTS_MAX);
	for (size_t i = 0; parts->ports && i < parts->port_count; i++) {
		if (parts->ports[i] < 1 || parts->ports[i] > UINT16_MAX)
			return net_rule_refuse(err, parts->host,
					       "has the port %" PRId64 "; ports are numbers from 1 to 65535",
					       parts->ports[i]);
		buf_printf(out, "%s%" PRId64, i == 0 ? ":" : "+", parts->ports[i]);
	}
	return 0;
}

static void write_parts_flags(const struct net_rule_parts *parts, bool request, struct buf *out)
{
	const bool flags[NET_FLAGS] = { parts->without_sni, parts->private_too,
					parts->tls == NET_TLS_TERMINATE && !request };
	const char *between = "#";

	for (size_t i = 0; i < NET_FLAGS; i++) {
		if (!flags[i])
			continue;
		buf_printf(out, "%s%s", between, net_rule_flag_names[i]);
		between = "+";
	}
}

/* A rule of the object: with a method and a path, or with neither. */
static int add_rule(const struct net_rule_parts *parts, const char *method, const char *path, struct buf *list,
		    struct error *err)
{
	_cleanup_buf_ struct buf text = { 0 };

	if (method)
		buf_printf(&text, "%s https://", method);
	if (write_parts_host(parts->host, &text, err) < 0 || write_parts_ports(parts, &text, err) < 0)
		return -1;
	if (path)
		buf_text(&text, path);
	write_parts_flags(parts, method != NULL, &text);
	if (text.failed)
		return net_rule_no_memory(err);
	return net_rule_from_text(text.data, list, err);
}

static int add_request(const struct net_rule_parts *parts, const char *method, const char *path, struct buf *list,
		       struct error *err)
{
	const char *known = net_rule_method(method, strlen(method)), *fault;
	char canonical[NET_PATH_MAX];

	if (!known)
		return net_rule_refuse(
			err, method,
			"is no method that rules know: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, and * "
			"for all of them");
	/* Before it becomes part of a rule's text, in which a path could go on as something else. */
	fault = net_rule_path_fault(path, strlen(path), canonical);
	if (fault)
		return net_rule_refuse(err, path, "%s", fault);
	return add_rule(parts, known, canonical, list, err);
}

static int add_requests(const struct net_rule_parts *parts, struct buf *list, struct error *err)
{
	static const char *const any_method[] = { "*" }, *const any_path[] = { "/*" };
	const char *const *methods = parts->methods ?: any_method, *const *paths = parts->paths ?: any_path;
	const size_t method_count = parts->methods ? parts->method_count : 1;
	const size_t path_count = parts->paths ? parts->path_count : 1;

	if (method_count == 0)
		return net_rule_refuse(err, parts->host, "has no methods in its list; leave methods out for all");
	if (path_count == 0)
		return net_rule_refuse(err, parts->host, "has no paths in its list; leave paths out for all");
	if (method_count > NET_RULES_MAX || path_count > NET_RULES_MAX || method_count * path_count > NET_RULES_MAX)
		return net_rule_refuse(err, parts->host, "has more than %d methods times paths", NET_RULES_MAX);
	for (size_t i = 0; i < method_count; i++)
		for (size_t k = 0; k < path_count; k++)
			if (add_request(parts, methods[i], paths[k], list, err) < 0)
				return -1;
	return 0;
}

int net_rule_from_parts(const struct net_rule_parts *parts, struct buf *list, struct error *err)
{
	const size_t before = list->size;
	const bool request = parts->methods || parts->paths;
	int done;

	if (!parts->host)
		return error_field(err, "net", "a rule has no host");
	if (request && parts->tls == NET_TLS_PASS)
		return net_rule_refuse(err, parts->host,
				       "has methods or paths, for which egress ends TLS; leave out tls: pass");
	done = request ? add_requests(parts, list, err) : add_rule(parts, NULL, NULL, list, err);
	if (done < 0 && list->size > before) {
		list->size = before;
		list->data[before] = '\0';
	}
	return done;
}
