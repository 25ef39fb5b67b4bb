#include "net/net_secret.h"

#include "base/base64.h"
#include "base/own.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* ---- the parts; each check's error names the field ---- */

static int name_check(const char *name, size_t size, struct error *err)
{
	bool valid = size > 0 && !is_digit(name[0]);

	for (size_t i = 0; i < size; i++)
		valid &= is_letter(name[i]) || is_digit(name[i]) || name[i] == '_';
	if (!valid)
		return error_field(err, "secrets.name", "expected the name of a variable: letters, digits and _");
	if (size >= NET_SECRET_NAME_MAX)
		return error_field(err, "secrets.name", "the name has %zu bytes; at most %d are possible", size,
				   NET_SECRET_NAME_MAX - 1);
	return 0;
}

/* The sentences say nothing of the value but what is wrong with it. */
static int value_check(const char *value, size_t size, struct error *err)
{
	if (size < NET_SECRET_VALUE_MIN)
		return error_field(err, "secrets.value",
				   "the value has less than %d bytes; it could not be told apart from other text",
				   NET_SECRET_VALUE_MIN);
	if (size > NET_SECRET_VALUE_MAX)
		return error_field(err, "secrets.value", "the value has more than %d bytes", NET_SECRET_VALUE_MAX);
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)value[i] < 0x20 || value[i] == 0x7f)
			return error_field(
				err, "secrets.value",
				"the value contains a control character (line break, NUL), which no header can have");
	if (value[0] == ' ' || value[size - 1] == ' ')
		return error_field(err, "secrets.value", "the value begins or ends with a blank");
	if (memmem(value, size, NET_SECRET_PREFIX, strlen(NET_SECRET_PREFIX)))
		return error_field(err, "secrets.value", "the value looks like a placeholder of emberbox");
	return 0;
}

/* Fields that say where a request goes and where it ends. */
static bool header_is_reserved(const char *name)
{
	static const char *const reserved[] = {
		"connection", "content-length",   "content-type", "expect",  "host",
		"keep-alive", "proxy-connection", "te",           "trailer", "transfer-encoding",
		"upgrade",    "accept-encoding",  "range"
	};

	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		if (strcasecmp(name, reserved[i]) == 0)
			return true;
	return false;
}

static int header_check(const char *header, const char *format, struct error *err)
{
	const size_t size = header ? strlen(header) : 0;
	const char *place = format ? strstr(format, "{}") : NULL;

	if (!header)
		return format ? error_field(err, "secrets.format", "a format needs a header") : 0;
	for (size_t i = 0; i < size; i++)
		if (!is_letter(header[i]) && !is_digit(header[i]) && header[i] != '-' && header[i] != '_')
			return error_field(err, "secrets.header", "expected the name of an HTTP header");
	if (size == 0 || size >= NET_SECRET_HEADER_MAX)
		return error_field(err, "secrets.header", "expected the name of an HTTP header");
	if (header_is_reserved(header))
		return error_field(err, "secrets.header", "the header %s cannot carry a secret", header);
	if (!format)
		return 0;
	for (const char *c = format; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			return error_field(err, "secrets.format",
					   "the format contains a control character, which no header can have");
	if (!place || strstr(place + 2, "{}") || strlen(format) >= NET_SECRET_FORMAT_MAX)
		return error_field(err, "secrets.format", "expected a text with {} once, for the value");
	if (*format == ' ' || format[strlen(format) - 1] == ' ')
		return error_field(err, "secrets.format", "the format begins or ends with a blank");
	return 0;
}

static int host_parse(const char *text, struct arena *arena, struct net_secret_host *host, struct error *err)
{
	const char *colon = strchr(text, ':');
	char name[NET_NAME_MAX];
	unsigned long port = 443;

	if (colon) {
		const size_t digits = strspn(colon + 1, "0123456789");

		port = digits > 0 && digits <= 5 && colon[1] != '0' ? strtoul(colon + 1, NULL, 10) : 0;
		if (colon[1 + digits] != '\0' || port == 0 || port > 65535)
			return error_field(err, "secrets.hosts", "\"%.80s\" has no valid port", text);
	}
	host->port = (uint16_t)port;
	host->below = strncmp(text, "*.", 2) == 0;
	text += host->below ? 2 : 0;
	if (!net_name_canonical(text, colon ? (size_t)(colon - text) : strlen(text), name))
		return error_field(
			err, "secrets.hosts",
			"\"%.80s\" is no host that a secret can be for: expected HOST, HOST:PORT or *.DOMAIN", text);
	/* "*.com" is not a host of anybody's. */
	if (host->below && !strchr(name, '.'))
		return error_field(err, "secrets.hosts", "\"*.%.80s\" is too wide for a secret", name);
	if (port == 80)
		return error_field(err, "secrets.hosts", "port 80 of %.80s has no TLS; a secret is only sent over TLS",
				   name);
	host->name = arena_string(arena, name);
	return host->name ? 0 : error_set(err, ERROR_FAILED, 0, "out of memory");
}

static int hosts_parse(const char *const *texts, size_t count, struct arena *arena, struct net_secret *secret,
		       struct error *err)
{
	struct net_secret_host *hosts = arena_alloc(arena, (count ? count : 1) * sizeof(*hosts));

	if (!hosts)
		return error_set(err, ERROR_FAILED, 0, "out of memory");
	if (count == 0)
		return error_field(err, "secrets.hosts", "a secret needs at least one host");
	if (count > NET_SECRET_HOSTS_MAX)
		return error_field(err, "secrets.hosts", "a secret can have at most %d hosts", NET_SECRET_HOSTS_MAX);
	for (size_t i = 0; i < count; i++)
		if (host_parse(texts[i], arena, &hosts[i], err) < 0)
			return -1;
	secret->hosts = hosts;
	secret->host_count = count;
	return 0;
}

static char *placeholder_make(struct arena *arena)
{
	char text[NET_PLACEHOLDER_SIZE + 1] = NET_SECRET_PREFIX;
	unsigned char bytes[16];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return NULL;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(text + strlen(NET_SECRET_PREFIX) + 2 * i, 3, "%02x", bytes[i]);
	return arena_string(arena, text);
}

/* All but the placeholder. */
static int secret_make(const struct net_secrets *secrets, const struct net_secret_parts *parts, struct arena *arena,
		       struct net_secret *secret, struct error *err)
{
	memset(secret, 0, sizeof(*secret));
	if (secrets->count == NET_SECRETS_MAX)
		return error_field(err, "secrets", "at most %d secrets are possible", NET_SECRETS_MAX);
	if (name_check(parts->name, strlen(parts->name), err) < 0 || value_check(parts->value, parts->size, err) < 0 ||
	    header_check(parts->header, parts->format, err) < 0 ||
	    hosts_parse(parts->hosts, parts->host_count, arena, secret, err) < 0)
		return -1;
	for (size_t i = 0; i < secrets->count; i++)
		if (strcmp(secrets->items[i].name, parts->name) == 0)
			return error_field(err, "secrets.name", "the secret %s is given twice", parts->name);
	secret->name = arena_string(arena, parts->name);
	secret->value = arena_copy(arena, parts->value, parts->size);
	secret->size = parts->size;
	if (parts->header) {
		secret->header = arena_string(arena, parts->header);
		secret->format = arena_string(arena, parts->format ? parts->format : "{}");
	}
	if (!secret->name || !secret->value || (parts->header && (!secret->header || !secret->format)))
		return error_set(err, ERROR_FAILED, 0, "out of memory");
	return 0;
}

int net_secret_add(struct net_secrets *secrets, const struct net_secret_parts *parts, struct arena *arena,
		   struct error *err)
{
	struct net_secret secret;

	if (secret_make(secrets, parts, arena, &secret, err) < 0)
		return -1;
	secret.placeholder = placeholder_make(arena);
	if (!secret.placeholder)
		return error_errno(err, "cannot make a placeholder");
	secrets->items[secrets->count++] = secret;
	return 0;
}

int net_secret_option_parse(const char *text, struct net_secret_option *option, struct error *err)
{
	const char *at = strrchr(text, '@'), *equals = strchr(text, '='), *end;

	memset(option, 0, sizeof(*option));
	if (!at || at[1] == '\0')
		return error_field(err, "secret", "expected NAME@HOST, NAME=file:PATH@HOST or NAME=-@HOST");
	end = equals && equals < at ? equals : at;
	if (name_check(text, (size_t)(end - text), err) < 0)
		return error_about(err, "secret");
	memcpy(option->name, text, (size_t)(end - text));
	if (strlen(at + 1) >= sizeof(option->host))
		return error_field(err, "secret", "the host is too long");
	strcpy(option->host, at + 1);
	if (end == at)
		return 0;
	if (at - equals == 2 && equals[1] == '-') {
		option->source = NET_SECRET_STDIN;
		return 0;
	}
	/* NAME=VALUE would stand in the list of processes and in the shell's history. */
	if (strncmp(equals + 1, "file:", 5) != 0 || at - equals == 6)
		return error_field(err, "secret",
				   "expected NAME@HOST, NAME=file:PATH@HOST or NAME=-@HOST; the value itself cannot be "
				   "given here");
	if ((size_t)(at - equals - 6) >= sizeof(option->path))
		return error_field(err, "secret", "the path is too long");
	memcpy(option->path, equals + 6, (size_t)(at - equals - 6));
	option->source = NET_SECRET_FILE;
	return 0;
}

/* ---- whom they are for ---- */

static bool host_covers(const struct net_secret_host *host, const char *name, uint16_t port)
{
	const size_t size = strlen(name), own = strlen(host->name);

	if (host->port != port)
		return false;
	if (!host->below)
		return strcmp(host->name, name) == 0;
	return size > own + 1 && name[size - own - 1] == '.' && strcmp(name + size - own, host->name) == 0;
}

bool net_secret_covers(const struct net_secret *secret, const char *name, uint16_t port)
{
	for (size_t i = 0; i < secret->host_count; i++)
		if (host_covers(&secret->hosts[i], name, port))
			return true;
	return false;
}

bool net_secrets_cover(const struct net_secrets *secrets, const char *name, uint16_t port)
{
	for (size_t i = 0; i < secrets->count; i++)
		if (net_secret_covers(&secrets->items[i], name, port))
			return true;
	return false;
}

const struct net_secret *net_secret_at(const struct net_secrets *secrets, const char *text, size_t size)
{
	for (size_t i = 0; size >= NET_PLACEHOLDER_SIZE && i < secrets->count; i++)
		if (memcmp(secrets->items[i].placeholder, text, NET_PLACEHOLDER_SIZE) == 0)
			return &secrets->items[i];
	return NULL;
}

static int host_is_allowed(const struct net_secret *secret, const struct net_secret_host *host,
			   const struct net_policy *policy, struct error *err)
{
	char below[NET_NAME_MAX + 16];
	struct net_decision decision;

	/* A rule for some names below the domain is narrower than the secret. */
	snprintf(below, sizeof(below), "%s%s", host->below ? "emberbox-any." : "", host->name);
	net_policy_decide(policy, &(struct net_question){ .name = below, .port = host->port }, &decision);
	if (decision.allowed)
		return 0;
	error_field(err, "secrets.hosts", "%s is for %s%s:%u, which the network does not allow", secret->name,
		    host->below ? "*." : "", host->name, host->port);
	return -1;
}

static bool hosts_overlap(const struct net_secret *a, const struct net_secret *b)
{
	for (size_t i = 0; i < a->host_count; i++)
		for (size_t j = 0; j < b->host_count; j++) {
			const struct net_secret_host *x = &a->hosts[i], *y = &b->hosts[j];

			if (x->port == y->port && ((x->below == y->below && strcmp(x->name, y->name) == 0) ||
						   (x->below && host_covers(x, y->name, y->port)) ||
						   (y->below && host_covers(y, x->name, x->port))))
				return true;
		}
	return false;
}

static int size_check(const struct net_secrets *secrets, struct error *err)
{
	_cleanup_buf_ struct buf text = { 0 };

	net_secrets_write(secrets, &text);
	if (text.data)
		explicit_bzero(text.data, text.size);
	return text.failed || text.size > NET_SECRETS_TEXT
		       ? error_field(err, "secrets", "the secrets and their hosts are too long together")
		       : 0;
}

int net_secrets_check(const struct net_secrets *secrets, const struct net_policy *policy, struct error *err)
{
	if (size_check(secrets, err) < 0)
		return -1;
	for (size_t i = 0; i < secrets->count; i++) {
		const struct net_secret *secret = &secrets->items[i];

		for (size_t j = 0; j < secret->host_count; j++)
			if (host_is_allowed(secret, &secret->hosts[j], policy, err) < 0)
				return -1;
		for (size_t j = 0; secret->header && j < i; j++) {
			const struct net_secret *other = &secrets->items[j];

			if (other->header && strcasecmp(secret->header, other->header) == 0 &&
			    hosts_overlap(secret, other))
				return error_field(err, "secrets.header", "%s and %s both set %s of one host",
						   other->name, secret->name, secret->header);
		}
	}
	return 0;
}

/* ---- between processes ---- */

static void encoded_line(struct buf *out, const char *word, const char *text, size_t size)
{
	buf_text(out, word);
	base64_add(out, text, size);
	buf_text(out, "\n");
}

void net_secrets_write(const struct net_secrets *secrets, struct buf *out)
{
	for (size_t i = 0; i < secrets->count; i++) {
		const struct net_secret *secret = &secrets->items[i];

		buf_printf(out, "secret %s\nplaceholder %s\n", secret->name, secret->placeholder);
		encoded_line(out, "value ", secret->value, secret->size);
		for (size_t j = 0; j < secret->host_count; j++)
			buf_printf(out, "host %s%s:%u\n", secret->hosts[j].below ? "*." : "", secret->hosts[j].name,
				   secret->hosts[j].port);
		if (secret->header) {
			buf_printf(out, "header %s\n", secret->header);
			encoded_line(out, "format ", secret->format, strlen(secret->format));
		}
		buf_text(out, "end\n");
	}
}

/* What the lines of one secret say; points into the arena. */
struct secret_lines {
	const char *name, *placeholder, *value, *header, *format;
	const char *hosts[NET_SECRET_HOSTS_MAX];
	size_t host_count;
};

static int line_broken(struct error *err)
{
	return error_set(err, ERROR_FAILED, 0, "the secrets' text is broken");
}

/* Decoded, terminated, without a NUL inside; NULL: it is none. */
static char *decoded_text(const char *text, size_t most, struct arena *arena, size_t *size)
{
	const size_t length = strlen(text);
	unsigned char *out;
	ssize_t got;

	if (length > (most + 2) / 3 * 4)
		return NULL;
	out = arena_alloc(arena, length + 1);
	got = out ? base64_decode(text, length, out) : -1;
	if (got < 0 || memchr(out, 0, (size_t)got))
		return NULL;
	out[got] = '\0';
	*size = (size_t)got;
	return (char *)out;
}

static bool placeholder_is_valid(const char *text)
{
	const size_t prefix = strlen(NET_SECRET_PREFIX);

	return strlen(text) == NET_PLACEHOLDER_SIZE && memcmp(text, NET_SECRET_PREFIX, prefix) == 0 &&
	       strspn(text + prefix, "0123456789abcdef") == 32;
}

static int secret_finish(const struct secret_lines *lines, struct arena *arena, struct net_secrets *secrets,
			 struct error *err)
{
	struct net_secret_parts parts = {
		.name = lines->name, .hosts = lines->hosts, .host_count = lines->host_count, .header = lines->header
	};
	size_t ignored;

	if (!lines->name || !lines->placeholder || !lines->value || !placeholder_is_valid(lines->placeholder) ||
	    !lines->header != !lines->format)
		return line_broken(err);
	for (size_t i = 0; i < secrets->count; i++)
		if (strcmp(secrets->items[i].placeholder, lines->placeholder) == 0)
			return line_broken(err);
	parts.value = decoded_text(lines->value, NET_SECRET_VALUE_MAX, arena, &parts.size);
	parts.format = lines->format ? decoded_text(lines->format, NET_SECRET_FORMAT_MAX, arena, &ignored) : NULL;
	if (!parts.value || (lines->format && !parts.format))
		return line_broken(err);
	if (secret_make(secrets, &parts, arena, &secrets->items[secrets->count], err) < 0)
		return -1;
	explicit_bzero((char *)parts.value, parts.size);
	secrets->items[secrets->count++].placeholder = lines->placeholder;
	return 0;
}

static int line_take(char *line, struct secret_lines *lines, struct error *err)
{
	const struct {
		const char *word;
		const char **place;
	} words[] = {
		{ "secret ", &lines->name },   { "placeholder ", &lines->placeholder }, { "value ", &lines->value },
		{ "header ", &lines->header }, { "format ", &lines->format },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const size_t size = strlen(words[i].word);

		if (strncmp(line, words[i].word, size) != 0)
			continue;
		if (*words[i].place)
			return line_broken(err);
		*words[i].place = line + size;
		return 0;
	}
	if (strncmp(line, "host ", 5) != 0 || lines->host_count == NET_SECRET_HOSTS_MAX)
		return line_broken(err);
	lines->hosts[lines->host_count++] = line + 5;
	return 0;
}

int net_secrets_read(const char *text, size_t size, struct arena *arena, struct net_secrets *secrets, struct error *err)
{
	struct secret_lines lines = { .name = NULL };
	char *copy;

	secrets->count = 0;
	if (size > NET_SECRETS_TEXT || memchr(text, 0, size))
		return line_broken(err);
	copy = arena_copy(arena, text, size);
	if (!copy)
		return error_set(err, ERROR_FAILED, 0, "out of memory");
	while (*copy) {
		char *end = strchr(copy, '\n');

		if (!end)
			return line_broken(err);
		*end = '\0';
		if (strcmp(copy, "end") == 0) {
			if (secret_finish(&lines, arena, secrets, err) < 0)
				return -1;
			explicit_bzero((char *)lines.value, strlen(lines.value));
			lines = (struct secret_lines){ .name = NULL };
		} else if (line_take(copy, &lines, err) < 0) {
			return -1;
		}
		copy = end + 1;
	}
	return lines.name || lines.host_count || lines.value || lines.placeholder ? line_broken(err) : 0;
}

void net_secrets_wipe(struct net_secrets *secrets)
{
	for (size_t i = 0; i < secrets->count; i++)
		explicit_bzero(secrets->items[i].value, secrets->items[i].size);
}
