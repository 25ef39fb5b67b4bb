/* A rule: from its text to its parts, and its canonical text. */
#include "net/net_rule.h"

#include "base/json_check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
	QUOTED_MAX = 120 /* bytes of a rule in a sentence */
};

/* A rule while it is read. */
struct rule_reader {
	const char *whole;     /* as it was given, for sentences */
	struct arena *arena;   /* of the parts */
	struct error *err;     /* the caller's */
	struct net_rule *rule; /* is filled */
	unsigned flags;        /* enum net_rule_flag, those that were written */
	uint16_t ports[NET_PORTS_MAX];
	size_t port_count;
};

const char *const net_rule_flag_names[NET_FLAGS] = { "no-sni", "private", "terminate" };

/* What a stranger wrote, so that it can stand in a sentence: cut, valid UTF-8, without control characters. */
static void quote_rule(const char *rule, char out[QUOTED_MAX + 4])
{
	size_t size = strlen(rule);
	const bool cut = size > QUOTED_MAX;
	bool plain;

	/* Not within a character. */
	for (size = cut ? QUOTED_MAX : size; cut && size > 0 && ((unsigned char)rule[size] & 0xc0) == 0x80;)
		size--;
	plain = json_is_plain_text(rule, size);
	for (size_t i = 0; i < size; i++) {
		const unsigned char c = (unsigned char)rule[i];

		out[i] = c < ' ' || c == 0x7f || (c >= 0x80 && !plain) ? '?' : rule[i];
	}
	snprintf(out + size, 4, "%s", cut ? "…" : "");
}

int net_rule_refuse(struct error *err, const char *rule, const char *format, ...)
{
	char quoted[QUOTED_MAX + 4], what[512];
	va_list args;

	quote_rule(rule, quoted);
	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	return error_field(err, "net", "\"%s\" %s", quoted, what);
}

int net_rule_no_memory(struct error *err)
{
	return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the rules of the network");
}

const char *net_rule_method(const char *text, size_t size)
{
	/* CONNECT and TRACE are in no rule: the one is a tunnel, the other shows a secret to who sent its placeholder.
	 */
	static const char *const methods[] = { "*", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS" };

	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++)
		if (strlen(methods[i]) == size && strncasecmp(methods[i], text, size) == 0)
			return methods[i];
	return NULL;
}

const char *net_rule_path_fault(const char *text, size_t size, char out[NET_PATH_MAX])
{
	const bool open = size > 0 && text[size - 1] == '*';
	size_t used;

	if (memchr(text, '?', size))
		return "has a query, and rules compare paths alone; leave out the part from \"?\"";
	if (size == 0 || text[0] != '/')
		return "has a path that does not begin with a slash";
	if (open)
		size--;
	if (memchr(text, '*', size))
		return "has a star within its path; a star stands for the rest, at the end";
	if (!net_path_canonical(text, size, out))
		return "has a path that servers read in different ways (a \".\" or \"..\" segment, a blank, "
		       "what is encoded twice, other alphabets that are not percent-encoded), or a very long one";
	used = strlen(out);
	if (open && used + 1 >= NET_PATH_MAX)
		return "has a very long path";
	if (open)
		memcpy(out + used, "*", 2);
	return NULL;
}

static bool text_is(const char *text, size_t size, const char *word)
{
	return strlen(word) == size && memcmp(text, word, size) == 0;
}

static int read_flags(struct rule_reader *r, const char *text)
{
	for (const char *end;; text = end + 1) {
		size_t i = 0;

		end = strchrnul(text, '+');
		while (i < NET_FLAGS && !text_is(text, (size_t)(end - text), net_rule_flag_names[i]))
			i++;
		if (i == NET_FLAGS)
			return net_rule_refuse(
				r->err, r->whole,
				"has something else after \"#\" than private, no-sni and terminate, with + "
				"between them");
		r->flags |= 1U << i;
		if (*end == '\0')
			return 0;
	}
}

/* A decimal number from 1 to 65535 without zeros before it; 0: it is none. */
static unsigned port_number(const char *text, size_t size)
{
	unsigned port = 0;

	if (size == 0 || size > 5 || text[0] == '0')
		return 0;
	for (size_t i = 0; i < size; i++) {
		if (text[i] < '0' || text[i] > '9')
			return 0;
		port = port * 10 + (unsigned)(text[i] - '0');
	}
	return port <= UINT16_MAX ? port : 0;
}

/* Into the rising order, once. */
static bool add_port(struct rule_reader *r, uint16_t port)
{
	size_t at = r->port_count;

	for (size_t i = 0; i < r->port_count; i++)
		if (r->ports[i] == port)
			return true;
	if (r->port_count == NET_PORTS_MAX)
		return false;
	for (; at > 0 && r->ports[at - 1] > port; at--)
		r->ports[at] = r->ports[at - 1];
	r->ports[at] = port;
	r->port_count++;
	return true;
}

static int read_ports(struct rule_reader *r, const char *text, size_t size)
{
	for (const char *end, *last = text + size;; text = end + 1) {
		unsigned port;

		end = memchr(text, '+', (size_t)(last - text)) ?: last;
		port = port_number(text, (size_t)(end - text));
		if (!port)
			return net_rule_refuse(
				r->err, r->whole,
				"has a port that is not a number from 1 to 65535; several have + between "
				"them, as in example.com:80+443");
		if (!add_port(r, (uint16_t)port))
			return net_rule_refuse(r->err, r->whole, "has more than %d ports", NET_PORTS_MAX);
		if (end == last)
			return 0;
	}
}

static int read_name(struct rule_reader *r, const char *text, size_t size)
{
	char name[NET_NAME_MAX];
	const char *fault = net_name_fault(text, size, name);

	if (fault)
		return net_rule_refuse(r->err, r->whole, "names a host that %s", fault);
	r->rule->name = arena_string(r->arena, name);
	return r->rule->name ? 0 : net_rule_no_memory(r->err);
}

static bool is_localhost(const char *name)
{
	const size_t size = strlen(name);

	return strcmp(name, "localhost") == 0 || (size > 10 && strcmp(name + size - 10, ".localhost") == 0);
}

/* NAME, BELOW; and the words that look like names. */
static int read_host(struct rule_reader *r, const char *text, size_t size)
{
	struct net_rule *rule = r->rule;
	const bool below = size > 2 && memcmp(text, "*.", 2) == 0;

	if (text_is(text, size, "*") || text_is(text, size, "*."))
		return net_rule_refuse(r->err, r->whole,
				       "would allow every host; name the hosts, or write public for all of them");
	if (below) {
		text += 2;
		size -= 2;
	}
	if (memchr(text, '*', size))
		return net_rule_refuse(r->err, r->whole,
				       "has a star in another place than *.DOMAIN, where it stands for whole labels");
	if (read_name(r, text, size) < 0)
		return -1;
	rule->kind = below ? NET_RULE_BELOW : NET_RULE_NAME;
	if (is_localhost(rule->name))
		return net_rule_refuse(r->err, r->whole,
				       "names the box itself; for a service on emberbox's own machine write host:PORT");
	if (below && !strchr(rule->name, '.'))
		return net_rule_refuse(r->err, r->whole,
				       "would allow all names below a top-level domain; name a domain, as in "
				       "*.example.com");
	if (below)
		return 0;
	if (strcmp(rule->name, "none") == 0)
		return net_rule_refuse(r->err, r->whole, "is no rule: none stands alone, and allows nothing");
	if (strcmp(rule->name, "host") == 0)
		rule->kind = NET_RULE_HOST;
	if (strcmp(rule->name, "public") == 0)
		rule->kind = NET_RULE_PUBLIC;
	if (rule->kind != NET_RULE_NAME)
		rule->name = NULL;
	return 0;
}

static bool is_link_local6(const struct net_address *address)
{
	static const struct net_address link_local = { .family = AF_INET6, .bytes = { 0xfe, 0x80 } };

	return net_address_within(address, &link_local, 10);
}

static int check_address(struct rule_reader *r)
{
	static const struct net_address synthetic = { .family = AF_INET, .bytes = { 198, 18 } };
	const struct net_rule *rule = r->rule;
	const enum net_scope scope = net_range_scope(&rule->address, rule->bits);

	if (scope == NET_SCOPE_LOOPBACK)
		return net_rule_refuse(r->err, r->whole,
				       "names the box itself; for a service on emberbox's own machine write host:PORT");
	if (scope == NET_SCOPE_MULTICAST || scope == NET_SCOPE_UNSPECIFIED)
		return net_rule_refuse(r->err, r->whole, "names %s, to which there are no connections",
				       net_scope_words(scope));
	if (is_link_local6(&rule->address))
		return net_rule_refuse(r->err, r->whole,
				       "names a link-local IPv6 address, which means nothing without an interface");
	if (net_address_within(&rule->address, &synthetic, 15) && rule->bits >= 15)
		return net_rule_refuse(r->err, r->whole,
				       "names an address of 198.18.0.0/15, which stand for names inside boxes");
	return 0;
}

static bool has_host_bits(const struct net_address *address, unsigned bits)
{
	const unsigned most = address->family == AF_INET ? 32 : 128;

	for (unsigned i = bits; i < most; i++)
		if (address->bytes[i / 8] & (0x80 >> i % 8))
			return true;
	return false;
}

static void clear_host_bits(struct net_address *address, unsigned bits)
{
	const unsigned most = address->family == AF_INET ? 32 : 128;

	for (unsigned i = bits; i < most; i++)
		address->bytes[i / 8] &= (uint8_t) ~(0x80 >> i % 8);
}

/* ADDRESS or ADDRESS/BITS. 1: it is; 0: it is none; -1: it is, and wrong. */
static int read_address(struct rule_reader *r, const char *text, size_t size)
{
	struct net_rule *rule = r->rule;
	const char *slash = memchr(text, '/', size);
	const size_t length = slash ? (size_t)(slash - text) : size, digits = slash ? size - length - 1 : 0;
	char address[NET_ADDRESS_TEXT];
	unsigned most;

	if (length >= sizeof(address))
		return 0;
	memcpy(address, text, length);
	address[length] = '\0';
	if (!net_address_parse(address, &rule->address))
		return 0;
	most = rule->address.family == AF_INET ? 32 : 128;
	rule->kind = NET_RULE_ADDRESS;
	rule->bits = most;
	if (slash) {
		if (digits == 0 || digits > 3 || strspn(slash + 1, "0123456789") < digits ||
		    (digits > 1 && slash[1] == '0'))
			return net_rule_refuse(r->err, r->whole,
					       "has a range whose bits are not a number, as in 10.0.0.0/8:443");
		rule->bits = 0;
		for (size_t i = 0; i < digits; i++)
			rule->bits = rule->bits * 10 + (unsigned)(slash[1 + i] - '0');
	}
	if (rule->bits > most)
		return net_rule_refuse(r->err, r->whole, "has a range of more than %u bits", most);
	if (has_host_bits(&rule->address, rule->bits)) {
		clear_host_bits(&rule->address, rule->bits);
		net_address_text(&rule->address, address);
		return net_rule_refuse(r->err, r->whole, "has an address that does not begin its range; write %s/%u",
				       address, rule->bits);
	}
	return check_address(r) < 0 ? -1 : 1;
}

/* "[V6]", "[V6/BITS]" and what comes after the bracket. */
static int read_bracket(struct rule_reader *r, const char *text, const char **rest)
{
	const char *end = strchr(text, ']');
	int found;

	if (!end)
		return net_rule_refuse(r->err, r->whole, "has a bracket that is not closed");
	found = read_address(r, text + 1, (size_t)(end - text) - 1);
	if (found < 0)
		return -1;
	if (!found || !memchr(text, ':', (size_t)(end - text)))
		return net_rule_refuse(r->err, r->whole, "has no IPv6 address in its brackets");
	*rest = end + 1;
	return 0;
}

/* "2001:db8::1:443": which part is the port? */
static bool looks_like_bare_ipv6(const char *text)
{
	return strchr(text, ':') && strchr(strchr(text, ':') + 1, ':') &&
	       strspn(text, "0123456789abcdefABCDEF:./+") == strlen(text);
}

static int check_need_of_ports(struct rule_reader *r, bool written)
{
	static const uint16_t web[] = { 80, 443 };

	switch (r->rule->kind) {
	case NET_RULE_PUBLIC:
		if (written)
			return net_rule_refuse(r->err, r->whole,
					       "has ports, and public means every port; leave them out");
		return 0;
	case NET_RULE_HOST:
		if (!written)
			return net_rule_refuse(r->err, r->whole,
					       "needs a port: host:PORT is a service on emberbox's own machine");
		return 0;
	case NET_RULE_ADDRESS:
		if (!written)
			return net_rule_refuse(r->err, r->whole, "is an address, and needs a port, as in %s:443",
					       r->rule->address.family == AF_INET ? "192.0.2.1" : "[2001:db8::1]");
		return 0;
	default:
		for (size_t i = 0; !written && i < 2; i++)
			add_port(r, web[i]);
		return 0;
	}
}

/* HOST and ports, without a method. */
static int read_target(struct rule_reader *r, const char *text)
{
	const char *rest = text;
	size_t size;
	int found;

	if (text[0] == '[') {
		if (read_bracket(r, text, &rest) < 0)
			return -1;
		if (*rest != '\0' && *rest != ':')
			return net_rule_refuse(r->err, r->whole, "has something else than a port after the bracket");
	} else {
		if (looks_like_bare_ipv6(text))
			return net_rule_refuse(r->err, r->whole,
					       "is an IPv6 address without brackets; write [2001:db8::1]:443");
		size = strcspn(text, ":");
		rest = text + size;
		found = read_address(r, text, size);
		if (found < 0)
			return -1;
		if (!found && memchr(text, '/', size))
			return net_rule_refuse(
				r->err, r->whole,
				"has a path, which needs a method: GET https://example.com/PATH; without "
				"one write the host alone");
		if (!found && read_host(r, text, size) < 0)
			return -1;
	}
	if (*rest == ':' && read_ports(r, rest + 1, strlen(rest + 1)) < 0)
		return -1;
	return check_need_of_ports(r, *rest == ':');
}

static int read_authority(struct rule_reader *r, const char *text, size_t size)
{
	const char *colon = memchr(text, ':', size);
	const size_t host = colon ? (size_t)(colon - text) : size;

	if (memchr(text, '@', size))
		return net_rule_refuse(r->err, r->whole, "has a user or password; leave out the part up to \"@\"");
	if (text[0] == '[' || read_address(r, text, host) != 0)
		return net_rule_refuse(
			r->err, r->whole,
			"names an address, and requests are checked for names only; write the address and "
			"its port, without method and path");
	if (read_host(r, text, host) < 0)
		return -1;
	if (r->rule->kind != NET_RULE_NAME && r->rule->kind != NET_RULE_BELOW)
		return net_rule_refuse(r->err, r->whole, "needs the name of a host in its URL");
	if (!colon)
		return add_port(r, 443) ? 0 : -1;
	return read_ports(r, colon + 1, size - host - 1);
}

/* "METHOD https://HOST/PATH*": `blank` is where the method ends. */
static int read_request(struct rule_reader *r, const char *text, const char *blank)
{
	static const char https[] = "https://";
	const char *url = blank + strspn(blank, " ");
	char path[NET_PATH_MAX];
	const char *fault;
	size_t size;

	r->rule->method = net_rule_method(text, (size_t)(blank - text));
	if (!r->rule->method)
		return net_rule_refuse(r->err, r->whole,
				       "begins with an unknown method; rules know GET, HEAD, POST, PUT, PATCH, DELETE, "
				       "OPTIONS, and * for all of them");
	if (strncasecmp(url, https, sizeof(https) - 1) != 0)
		return net_rule_refuse(r->err, r->whole,
				       "has a method without a URL of https, as in GET https://example.com/PATH*");
	url += sizeof(https) - 1;
	size = strcspn(url, "/?");
	if (read_authority(r, url, size) < 0)
		return -1;
	if (url[size] == '\0')
		return net_rule_refuse(r->err, r->whole, "has no path; write /* at its end for all paths");
	fault = net_rule_path_fault(url + size, strlen(url + size), path);
	if (fault)
		return net_rule_refuse(r->err, r->whole, "%s", fault);
	r->rule->path = arena_string(r->arena, path);
	return r->rule->path ? 0 : net_rule_no_memory(r->err);
}

static int check_flags(struct rule_reader *r)
{
	static const unsigned allowed[] = {
		[NET_RULE_NAME] = NET_FLAG_PRIVATE | NET_FLAG_NO_SNI | NET_FLAG_TERMINATE,
		[NET_RULE_BELOW] = NET_FLAG_PRIVATE | NET_FLAG_NO_SNI | NET_FLAG_TERMINATE,
		[NET_RULE_ADDRESS] = 0,
		[NET_RULE_HOST] = NET_FLAG_NO_SNI,
		[NET_RULE_PUBLIC] = NET_FLAG_NO_SNI,
	};
	static const char *const reasons[NET_FLAGS] = {
		"says no-sni, and TLS to an address needs no name anyway",
		"says private, which is for names: an address that a rule names is allowed as it is",
		"says terminate, which needs the name of a host",
	};
	const unsigned wrong = r->flags & ~allowed[r->rule->kind];

	for (size_t i = 0; i < NET_FLAGS; i++)
		if (wrong & 1U << i)
			return net_rule_refuse(r->err, r->whole, "%s", reasons[i]);
	r->rule->private_too = r->flags & NET_FLAG_PRIVATE;
	r->rule->without_sni = r->flags & NET_FLAG_NO_SNI;
	r->rule->terminate = r->rule->method || r->flags & NET_FLAG_TERMINATE;
	return 0;
}

static void write_host(const struct net_rule *rule, struct buf *out)
{
	const bool v6 = rule->kind == NET_RULE_ADDRESS && rule->address.family == AF_INET6;
	char address[NET_ADDRESS_TEXT];

	switch (rule->kind) {
	case NET_RULE_NAME:
		buf_text(out, rule->name);
		return;
	case NET_RULE_BELOW:
		buf_printf(out, "*.%s", rule->name);
		return;
	case NET_RULE_HOST:
		buf_text(out, "host");
		return;
	case NET_RULE_PUBLIC:
		buf_text(out, "public");
		return;
	case NET_RULE_ADDRESS:
		break;
	}
	net_address_text(&rule->address, address);
	buf_printf(out, "%s%s", v6 ? "[" : "", address);
	if (rule->bits < (v6 ? 128 : 32))
		buf_printf(out, "/%u", rule->bits);
	buf_text(out, v6 ? "]" : "");
}

/* Those that the rule would have without being told. */
static bool ports_are_usual(const struct net_rule *rule)
{
	if (rule->method)
		return rule->port_count == 1 && rule->ports[0] == 443;
	return (rule->kind == NET_RULE_NAME || rule->kind == NET_RULE_BELOW) && rule->port_count == 2 &&
	       rule->ports[0] == 80 && rule->ports[1] == 443;
}

static void write_rule(const struct net_rule *rule, struct buf *out)
{
	const unsigned flags = (rule->without_sni ? NET_FLAG_NO_SNI : 0) | (rule->private_too ? NET_FLAG_PRIVATE : 0) |
			       (rule->terminate && !rule->method ? NET_FLAG_TERMINATE : 0);
	const char *between = "#";

	if (rule->method)
		buf_printf(out, "%s https://", rule->method);
	write_host(rule, out);
	for (size_t i = 0; i < rule->port_count && !ports_are_usual(rule); i++)
		buf_printf(out, "%s%u", i == 0 ? ":" : "+", rule->ports[i]);
	if (rule->path)
		buf_text(out, rule->path);
	for (size_t i = 0; i < NET_FLAGS; i++) {
		if (!(flags & 1U << i))
			continue;
		buf_printf(out, "%s%s", between, net_rule_flag_names[i]);
		between = "+";
	}
}

static int keep_text(struct rule_reader *r)
{
	_cleanup_buf_ struct buf text = { 0 };

	write_rule(r->rule, &text);
	if (text.failed)
		return net_rule_no_memory(r->err);
	if (text.size >= NET_RULE_MAX)
		return net_rule_refuse(r->err, r->whole, "is longer than %d bytes", NET_RULE_MAX - 1);
	r->rule->text = arena_copy(r->arena, text.data, text.size);
	return r->rule->text ? 0 : net_rule_no_memory(r->err);
}

static int read_rule(struct rule_reader *r, char *text)
{
	char *flags = strchr(text, '#');
	const char *blank;

	if (flags) {
		*flags++ = '\0';
		if (read_flags(r, flags) < 0)
			return -1;
	}
	blank = strchr(text, ' ');
	if (blank) {
		if (read_request(r, text, blank) < 0)
			return -1;
	} else if (strstr(text, "://")) {
		return net_rule_refuse(r->err, r->whole,
				       "is a URL; write the host alone, or a method before it for requests that egress "
				       "checks, as in GET https://example.com/PATH*");
	} else if (read_target(r, text) < 0) {
		return -1;
	}
	if (check_flags(r) < 0)
		return -1;
	r->rule->ports = arena_copy(r->arena, r->ports, r->port_count * sizeof(*r->ports));
	if (!r->rule->ports)
		return net_rule_no_memory(r->err);
	r->rule->port_count = r->port_count;
	return keep_text(r);
}

int net_rule_parse(const char *text, struct arena *arena, struct net_rule *rule, struct error *err)
{
	size_t size = strlen(text);
	char whole[2 * NET_RULE_MAX], source[2 * NET_RULE_MAX];
	struct rule_reader r = { .whole = whole, .arena = arena, .err = err, .rule = rule };

	*rule = (struct net_rule){ 0 };
	while (*text == ' ') {
		text++;
		size--;
	}
	while (size > 0 && text[size - 1] == ' ')
		size--;
	if (size == 0)
		return error_field(err, "net", "a rule is empty; rules have one comma between them");
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return error_field(err, "net", "a rule has a control character");
	if (!json_is_plain_text(text, size))
		return error_field(err, "net", "a rule is not valid UTF-8");
	if (size >= sizeof(source))
		return net_rule_refuse(err, text, "is longer than %d bytes", NET_RULE_MAX - 1);
	memcpy(whole, text, size);
	whole[size] = '\0';
	memcpy(source, whole, size + 1);
	return read_rule(&r, source);
}
