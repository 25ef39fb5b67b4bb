/* The field `network` of a request: rules as texts or objects become the text of a list. */
#include "schema/request_parts.h"

#include "base/own.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	RULE_PORTS_MAX = NET_PORTS_MAX, /* of one rule; more cannot be allowed in any case */
	RULE_WORDS_MAX = 32             /* methods, and paths */
};

/* A rule as an object, while it is read. */
struct rule_object {
	struct net_rule_parts parts;         /* refers to the others */
	int64_t ports[RULE_PORTS_MAX];       /* as they were given */
	const char *methods[RULE_WORDS_MAX]; /* the same */
	const char *paths[RULE_WORDS_MAX];   /* the same */
};

static int read_rule_words(struct reading *r, const char *name, json_t *value, const char **words, size_t *count)
{
	json_t *item;
	size_t i;

	if (!json_is_array(value))
		return request_expected(r, name, "a list of strings", value);
	if (json_array_size(value) > RULE_WORDS_MAX)
		return request_fault(r, name, "there are more than %d", RULE_WORDS_MAX);
	json_array_foreach(value, i, item)
	{
		if (request_text_of(r, name, item, &words[i]) < 0)
			return -1;
	}
	*count = json_array_size(value);
	return 0;
}

static int read_rule_ports(struct reading *r, const char *name, json_t *value, struct rule_object *rule)
{
	json_t *item;
	size_t i;

	if (!json_is_array(value))
		return request_expected(r, name, "a list of ports", value);
	if (json_array_size(value) > RULE_PORTS_MAX)
		return request_fault(r, name, "there are more than %d", RULE_PORTS_MAX);
	json_array_foreach(value, i, item)
	{
		if (!json_is_integer(item))
			return request_expected(r, name, "numbers in the list", item);
		rule->ports[i] = json_integer_value(item);
	}
	rule->parts.ports = rule->ports;
	rule->parts.port_count = json_array_size(value);
	return 0;
}

static int read_rule_member(struct reading *r, const char *key, const char *name, json_t *value,
			    struct rule_object *rule)
{
	static const char *const names[] = { "host", "ports", "methods", "paths", "tls", "private", "sni", NULL };
	const char *text;
	char why[128];

	if (strcmp(key, "host") == 0)
		return request_text_of(r, name, value, &rule->parts.host);
	if (strcmp(key, "ports") == 0)
		return read_rule_ports(r, name, value, rule);
	if (strcmp(key, "methods") == 0) {
		rule->parts.methods = rule->methods;
		return read_rule_words(r, name, value, rule->methods, &rule->parts.method_count);
	}
	if (strcmp(key, "paths") == 0) {
		rule->parts.paths = rule->paths;
		return read_rule_words(r, name, value, rule->paths, &rule->parts.path_count);
	}
	if (strcmp(key, "tls") == 0) {
		if (request_text_of(r, name, value, &text) < 0)
			return -1;
		rule->parts.tls = strcmp(text, "pass") == 0 ? NET_TLS_PASS : NET_TLS_TERMINATE;
		return strcmp(text, "pass") == 0 || strcmp(text, "terminate") == 0
			       ? 0
			       : request_fault(r, name, "expected \"pass\" or \"terminate\"");
	}
	if (field_unknown(key, names, why, sizeof(why)))
		return request_fault(r, name, "%s", why);
	if (!json_is_boolean(value))
		return request_expected(r, name, "true or false", value);
	if (*key == 'p')
		rule->parts.private_too = json_is_true(value);
	else
		rule->parts.without_sni = json_is_false(value);
	return 0;
}

/* One rule of `allow`, which is added to the list's text. */
static int read_rule(struct reading *r, const char *name, json_t *value, struct buf *list)
{
	struct rule_object rule = { 0 };
	struct error why = { 0 };
	char member[REQUEST_FIELD_MAX];
	const char *key, *text = NULL;
	json_t *item;
	int done;

	if (json_is_object(value)) {
		json_object_foreach(value, key, item)
		{
			snprintf(member, sizeof(member), "%s.%s", name, key);
			if (read_rule_member(r, key, member, item, &rule) < 0)
				return -1;
		}
		if (!rule.parts.host)
			return request_fault(r, name, "a rule needs a host");
		done = net_rule_from_parts(&rule.parts, list, &why);
	} else {
		if (request_text_of(r, name, value, &text) < 0)
			return -1;
		done = net_rule_from_text(text, list, &why);
	}
	return done < 0 ? request_fault(r, name, "%s", error_detail(&why)) : 0;
}

static int read_allow(struct reading *r, const struct request_field *field, const char *name, json_t *value)
{
	_cleanup_buf_ struct buf list = { 0 };
	char member[REQUEST_FIELD_MAX];
	json_t *item;
	size_t i;

	if (!json_is_array(value))
		return request_expected(r, name, "a list of rules such as [\"api.example.com:443\"]", value);
	if (json_array_size(value) == 0)
		return request_fault(r, name,
				     "it is empty; expected a rule such as api.example.com:443, or network \"none\"");
	json_array_foreach(value, i, item)
	{
		snprintf(member, sizeof(member), "%s[%zu]", name, i);
		if (read_rule(r, member, item, &list) < 0)
			return -1;
	}
	if (list.failed)
		return error_set(r->err, ERROR_FAILED, ENOMEM, "cannot hold the request");
	return request_put_checked(r, name, field->key, list.data);
}

/* Lists that narrow `allow`, as `within`: our own client sends those of its registry. */
static int read_within(struct reading *r, const struct request_field *field, const char *name, json_t *value)
{
	char member[REQUEST_FIELD_MAX];
	json_t *item;
	size_t i;

	if (!json_is_array(value))
		return request_expected(r, name, "a list of lists of rules", value);
	json_array_foreach(value, i, item)
	{
		snprintf(member, sizeof(member), "%s[%zu]", name, i);
		if (read_allow(r, field, member, item) < 0)
			return -1;
	}
	return 0;
}

/* A size or a number. */
static int read_amount(struct reading *r, const struct request_field *field, const char *name, json_t *value)
{
	char number[TEXT_NUMBER_MAX];
	const char *text = number;

	if (json_is_number(value))
		request_number_text(value, number);
	else if (!json_is_string(value))
		return request_expected(r, name, "a number or a string", value);
	else if (request_text_of(r, name, value, &text) < 0)
		return -1;
	return request_put_checked(r, name, field->key, text);
}

int request_read_network(struct reading *r, const struct request_field *field, const char *name, json_t *value)
{
	static const struct request_field members[] = {
		{ "allow", "net", read_allow },
		{ "within", "net-within", read_within },
		{ "rate", "net-rate", read_amount },
		{ "total", "net-total", read_amount },
		{ "connections", "net-connections", read_amount },
		{ NULL },
	};

	if (json_is_string(value))
		return request_read_text(r, field, name, value);
	if (!json_is_object(value))
		return request_expected(r, name, "\"none\", \"public\" or {\"allow\": [\"HOST:PORT\"]}", value);
	if (!json_object_get(value, "allow"))
		return request_fault(
			r, name, "it has no `allow`; expected {\"allow\": [\"HOST:PORT\"]}, \"none\" or \"public\"");
	return request_read_fields(r, value, "network.", members);
}

/* The members of a secret as texts; `hosts` is a list of them. */
static int read_secret_member(struct reading *r, const char *key, const char *name, json_t *value,
			      struct net_secret_parts *parts, const char **hosts)
{
	static const char *const names[] = { "name", "hosts", "value", "header", "format", NULL };
	char why[128];

	if (field_unknown(key, names, why, sizeof(why)))
		return request_fault(r, name, "%s", why);
	if (strcmp(key, "hosts") == 0) {
		if (json_array_size(value) > NET_SECRET_HOSTS_MAX)
			return request_fault(r, name, "there are more than %d", NET_SECRET_HOSTS_MAX);
		parts->hosts = hosts;
		return read_rule_words(r, name, value, hosts, &parts->host_count);
	}
	if (strcmp(key, "value") == 0) {
		parts->size = json_string_length(value);
		return request_text_of(r, name, value, &parts->value);
	}
	return request_text_of(r, name, value,
			       *key == 'n'   ? &parts->name
			       : *key == 'h' ? &parts->header
					     : &parts->format);
}

static int read_secret(struct reading *r, const struct request_field *field, const char *name, json_t *value)
{
	const char *hosts[RULE_WORDS_MAX];
	struct net_secret_parts parts = { 0 };
	_cleanup_buf_ struct buf text = { 0 };
	char member[2 * REQUEST_FIELD_MAX];
	const char *key;
	json_t *item;
	int done;

	if (!json_is_object(value))
		return request_expected(r, name, "an object with name, hosts and value", value);
	json_object_foreach(value, key, item)
	{
		snprintf(member, sizeof(member), "%.60s.%.60s", name, key);
		if (read_secret_member(r, key, member, item, &parts, hosts) < 0)
			return -1;
	}
	if (!parts.name || !parts.value || parts.host_count == 0)
		return request_fault(r, name, "a secret needs a name, hosts and a value");
	for (size_t i = 0; i < parts.host_count; i++)
		if (strchr(parts.hosts[i], ',') || strchr(parts.hosts[i], '\n'))
			return request_fault(r, name, "a host cannot have a comma or a line end in it");
	if (strchr(parts.name, '\n') || (parts.header && strchr(parts.header, '\n')) ||
	    (parts.format && strchr(parts.format, '\n')))
		return request_fault(r, name, "only the value can have other than plain text, and no line end");
	spec_secret_text(&parts, &text);
	done = text.failed ? error_set(r->err, ERROR_FAILED, ENOMEM, "cannot hold the request")
			   : request_put_checked(r, name, field->key, text.data);
	if (text.data)
		explicit_bzero(text.data, text.size);
	return done;
}

int request_read_secrets(struct reading *r, const struct request_field *field, const char *name, json_t *value)
{
	char member[REQUEST_FIELD_MAX];
	json_t *item;
	size_t i;

	if (!json_is_array(value))
		return request_expected(r, name, "a list of objects", value);
	json_array_foreach(value, i, item)
	{
		snprintf(member, sizeof(member), "%s[%zu]", name, i);
		if (read_secret(r, field, member, item) < 0)
			return -1;
	}
	return 0;
}
