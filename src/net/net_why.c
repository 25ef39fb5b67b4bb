#include "net/net_why.h"

#include "net/net_rule.h"

#include <string.h>

static bool is_there(const char *text)
{
	return text && *text;
}

/* Text of a stranger in a sentence: without control characters and other alphabets, which reports do not have. */
static void add_shown(struct buf *out, const char *text)
{
	for (; *text; text++)
		buf_add(out, (unsigned char)*text > ' ' && (unsigned char)*text < 0x7f ? text : "?", 1);
}

/* HOST:PORT as rules have it: IPv6 in brackets. */
static void add_place(struct buf *out, const struct net_outcome *outcome)
{
	const bool v6 = strchr(outcome->host, ':');

	buf_text(out, v6 ? "[" : "");
	add_shown(out, outcome->host);
	buf_text(out, v6 ? "]" : "");
	if (outcome->port)
		buf_printf(out, ":%u", outcome->port);
}

static bool is_request(const struct net_outcome *outcome)
{
	return is_there(outcome->method) && is_there(outcome->path);
}

/* "Network access to HOST:PORT" or "The request GET https://HOST/PATH". */
static void add_subject(struct buf *out, const struct net_outcome *outcome)
{
	if (!is_request(outcome)) {
		buf_text(out, "Network access to ");
		add_place(out, outcome);
		return;
	}
	buf_text(out, "The request ");
	add_shown(out, outcome->method);
	buf_text(out, " https://");
	add_shown(out, outcome->host);
	if (outcome->port && outcome->port != 443)
		buf_printf(out, ":%u", outcome->port);
	add_shown(out, outcome->path);
}

static bool address_of(const struct net_outcome *outcome, struct net_address *address)
{
	return is_there(outcome->address) && net_address_parse(outcome->address, address);
}

/* Whether {private: true} would let the name lead there. */
static bool is_private(const struct net_outcome *outcome)
{
	struct net_address address;

	if (!address_of(outcome, &address))
		return false;
	const enum net_scope scope = net_address_scope(&address);

	return scope == NET_SCOPE_PRIVATE || scope == NET_SCOPE_SHARED;
}

static bool add_request_rule(const struct net_outcome *outcome, struct buf *out)
{
	const char *method = is_request(outcome) ? net_rule_method(outcome->method, strlen(outcome->method)) : NULL;
	char path[NET_PATH_MAX];

	if (!method || *method == '*' || !net_path_canonical(outcome->path, strlen(outcome->path), path))
		return false;
	buf_printf(out, "%s https://%s:%u%s", method, outcome->host, outcome->port ?: 443, path);
	return true;
}

bool net_why_rule(const struct net_outcome *outcome, struct buf *out)
{
	_cleanup_arena_ struct arena arena = { 0 };
	_cleanup_buf_ struct buf text = { 0 };
	struct net_address address;
	struct error err = { 0 };
	struct net_rule rule;

	switch (outcome->reason) {
	case NET_REASON_NO_RULE:
	case NET_REASON_PORT:
		add_place(&text, outcome);
		break;
	case NET_REASON_NO_SNI:
		add_place(&text, outcome);
		buf_text(&text, "#no-sni");
		break;
	case NET_REASON_SCOPE:
		add_place(&text, outcome);
		if (net_address_parse(outcome->host, &address))
			break;
		if (!is_private(outcome))
			return false;
		buf_text(&text, "#private");
		break;
	case NET_REASON_REQUEST:
		if (!add_request_rule(outcome, &text))
			return false;
		break;
	default:
		return false;
	}
	/* What could not be a rule would be no help: 127.0.0.1, an address without a port, a very long path. */
	if (text.failed || net_rule_parse(text.data, &arena, &rule, &err) < 0)
		return false;
	buf_text(out, rule.text);
	return true;
}

/* As a word of a shell. Brackets stay as they are: no file is named so. */
static void add_word(struct buf *out, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:+/%@=#[]";

	if (strspn(text, plain) == strlen(text)) {
		buf_text(out, text);
		return;
	}
	buf_text(out, "'");
	for (; *text; text++)
		buf_add(out, *text == '\'' ? "'\\''" : text, *text == '\'' ? 4 : 1);
	buf_text(out, "'");
}

static void add_allowed(struct buf *out, const struct net_outcome *outcome)
{
	const bool some = !is_request(outcome) && is_there(outcome->rule) && strstr(outcome->rule, "://");

	buf_text(out, some ? " is allowed, for some requests" : " is allowed");
	if (is_there(outcome->rule))
		buf_printf(out, ", by the rule %s", outcome->rule);
}

/* Where the name led. */
static void add_address(struct buf *out, const struct net_outcome *outcome, const char *words)
{
	if (is_there(outcome->address) && strcmp(outcome->address, outcome->host) != 0)
		buf_printf(out, "the name leads to %s, %s", outcome->address, words);
	else
		buf_printf(out, "it is %s", words);
}

static void add_scope(struct buf *out, const struct net_outcome *outcome)
{
	struct net_address address = { 0 };

	if (!address_of(outcome, &address) && !net_address_parse(outcome->host, &address)) {
		buf_text(out, net_reason_words(NET_REASON_SCOPE));
		return;
	}
	add_address(out, outcome, net_scope_words(net_address_scope(&address)));
}

/* The reason, behind a colon. */
static void add_reason(struct buf *out, const struct net_outcome *outcome)
{
	switch (outcome->reason) {
	case NET_REASON_NARROWED:
		if (is_there(outcome->rule))
			buf_printf(out, "the rule %s would allow it, but ", outcome->rule);
		buf_text(out, net_reason_words(NET_REASON_NARROWED));
		return;
	case NET_REASON_SCOPE:
		add_scope(out, outcome);
		return;
	case NET_REASON_OWN_ADDRESS:
		add_address(out, outcome, "an address of emberbox's own machine");
		buf_text(out, ", whose services are reached as host:PORT if the configuration of emberbox allows it");
		return;
	case NET_REASON_TOTAL:
		buf_text(out, "the limit of bytes is used up; raise it with --net-total");
		return;
	case NET_REASON_UNREACHABLE:
		if (is_there(outcome->address))
			buf_printf(out, "%s does not answer, or refuses the connection", outcome->address);
		else
			buf_text(out, net_reason_words(NET_REASON_UNREACHABLE));
		return;
	default:
		buf_text(out, net_reason_words(outcome->reason));
		return;
	}
}

/* What no rule had a say in. */
static bool is_failure(enum net_reason reason)
{
	return reason == NET_REASON_UNRESOLVED || reason == NET_REASON_UNREACHABLE || reason == NET_REASON_CERTIFICATE;
}

/* What "is not allowed" says already. */
static bool is_plain(const struct net_outcome *outcome, bool has_rule)
{
	return has_rule && (outcome->reason == NET_REASON_NO_RULE || outcome->reason == NET_REASON_PORT ||
			    outcome->reason == NET_REASON_REQUEST);
}

void net_why_sentence(const struct net_outcome *outcome, struct buf *out)
{
	_cleanup_buf_ struct buf rule = { 0 };
	const bool has_rule = net_why_rule(outcome, &rule) && !rule.failed;

	if (outcome->reason == NET_REASON_NAME) {
		buf_text(out, "\"");
		add_shown(out, outcome->host);
		buf_text(out, "\" is not a valid name of a host");
		return;
	}
	add_subject(out, outcome);
	if (outcome->reason == NET_REASON_RULE) {
		add_allowed(out, outcome);
		return;
	}
	buf_text(out, is_failure(outcome->reason) ? " failed" : " is not allowed");
	if (!is_plain(outcome, has_rule)) {
		buf_text(out, ": ");
		add_reason(out, outcome);
	}
	if (has_rule) {
		buf_text(out, "; allow it with --net ");
		add_word(out, rule.data);
	}
}

/* Without the port, if the text is one host with it; *port 0: there was none. */
static bool split_port(const char *text, size_t *size, uint16_t *port)
{
	const char *last = strrchr(text, ':');
	unsigned number = 0;

	*size = strlen(text);
	*port = 0;
	if (text[0] == '[' ? !last || last[-1] != ']' : !last || strchr(text, ':') != last)
		return true;
	for (const char *digit = last + 1; *digit; digit++) {
		if (*digit < '0' || *digit > '9' || number > UINT16_MAX)
			return false;
		number = number * 10 + (unsigned)(*digit - '0');
	}
	*size = (size_t)(last - text);
	*port = (uint16_t)number;
	return number > 0 && number <= UINT16_MAX && last[1] != '0';
}

int net_asked_parse(const char *text, struct net_asked *asked, struct error *err)
{
	char address[NET_ADDRESS_TEXT];
	const char *host = text, *fault;
	size_t size;

	*asked = (struct net_asked){ 0 };
	if (strstr(text, "://"))
		return net_rule_refuse(err, text, "is a URL; ask about its host and port, as in example.com:443");
	if (!split_port(text, &size, &asked->port))
		return net_rule_refuse(err, text, "has a port that is not a number from 1 to 65535");
	if (size > 1 && host[0] == '[' && host[size - 1] == ']') {
		host++;
		size -= 2;
	}
	if (size < sizeof(address)) {
		memcpy(address, host, size);
		address[size] = '\0';
		if (net_address_parse(address, &asked->address))
			return 0;
	}
	if (host > text)
		return net_rule_refuse(err, text, "has no IPv6 address in its brackets");
	fault = net_name_fault(host, size, asked->name);
	return fault ? net_rule_refuse(err, text, "names a host that %s", fault) : 0;
}
