/*
 * Serialization of the configuration for the front.
 *
 * A list of records: "NAME SIZE\n", SIZE bytes, a newline. The registry is sent
 * as its file's text and parsed again, so there is no second format to keep
 * consistent.
 */
#include "base/buf.h"
#include "base/own.h"
#include "base/text.h"
#include "registry/config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	NAME_ROOM = 32 /* bytes of a record's name */
};

/* Prefix of the limits set by the registry's settings. */
#define SETTINGS "settings."

static void record_put(struct buf *out, const char *name, const void *data, size_t size)
{
	buf_printf(out, "%s %zu\n", name, size);
	buf_add(out, data, size);
	buf_add(out, "\n", 1);
}

static void put_text(struct buf *out, const char *name, const char *text)
{
	if (text)
		record_put(out, name, text, strlen(text));
}

static void put_limits(struct buf *out, const char *before, const struct limit_texts *limits)
{
	char name[NAME_ROOM];

	for (size_t i = 0; i < LIMITS; i++) {
		snprintf(name, sizeof(name), "%s%s", before, limit_rows[i].name);
		put_text(out, name, limits->of[i]);
	}
}

enum policy_mode config_policy(const struct config *config)
{
	const char *block = config->values[CONFIG_BLOCK_IMPORTS].text, *mode = config->values[CONFIG_POLICY].text;

	if ((block && strcmp(block, "true") == 0) || (mode && strcmp(mode, "block") == 0))
		return POLICY_BLOCK;
	return mode && strcmp(mode, "warn") == 0 ? POLICY_WARN : POLICY_OFF;
}

static const char *const modes[] = { [POLICY_OFF] = "off", [POLICY_WARN] = "warn", [POLICY_BLOCK] = "block" };

int config_encode(const struct config *config, const char *first_token, const char *tokens_json, size_t tokens_size,
		  char **text, size_t *size, struct error *err)
{
	_cleanup_buf_ struct buf out = { 0 };
	unsigned char hash[TOKEN_HASH];
	char hex[2 * TOKEN_HASH + 1];

	put_text(&out, "where", config->registry_where);
	record_put(&out, "registry", config->registry_text ? config->registry_text : "", config->registry_size);
	put_limits(&out, "", &config->said);
	put_limits(&out, SETTINGS, &config->settings);
	put_text(&out, "hosts", config->values[CONFIG_HOSTS].text);
	put_text(&out, "store_code", config->values[CONFIG_STORE_CODE].text);
	put_text(&out, "audit", config->values[CONFIG_AUDIT].text);
	put_text(&out, "net", config->values[CONFIG_NET].text);
	put_text(&out, "net_host", config->values[CONFIG_NET_HOST].text);
	put_text(&out, "policy", modes[config_policy(config)]);
	if (first_token) {
		token_hash(first_token, strlen(first_token), hash);
		token_hex(hash, sizeof(hash), hex);
		put_text(&out, "first", hex);
	}
	record_put(&out, "tokens", tokens_json ? tokens_json : "", tokens_json ? tokens_size : 0);
	*size = out.size;
	*text = out.failed ? NULL : buf_take(&out);
	return *text ? 0 : error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the configuration");
}

struct wire_span {
	const char *data; /* terminated, in the arena; NULL: missing */
	size_t size;      /* bytes */
};

/* The records by name. */
struct wire {
	struct wire_span where, registry, first, tokens,
		hosts; /* strings of the registry's path and text, the tokens and the hosts */
	struct wire_span store_code, audit, policy, net, net_host; /* settings */
	struct wire_span said[LIMITS], settings[LIMITS]; /* limits set by the environment, and by the registry */
};

static struct wire_span *record_of(struct wire *wire, const char *name)
{
	const bool setting = strncmp(name, SETTINGS, strlen(SETTINGS)) == 0;
	const struct limit_row *limit = limit_by_name(setting ? name + strlen(SETTINGS) : name);

	if (limit)
		return &(setting ? wire->settings : wire->said)[limit - limit_rows];
	return strcmp(name, "where") == 0        ? &wire->where
	       : strcmp(name, "registry") == 0   ? &wire->registry
	       : strcmp(name, "first") == 0      ? &wire->first
	       : strcmp(name, "tokens") == 0     ? &wire->tokens
	       : strcmp(name, "audit") == 0      ? &wire->audit
	       : strcmp(name, "policy") == 0     ? &wire->policy
	       : strcmp(name, "net") == 0        ? &wire->net
	       : strcmp(name, "net_host") == 0   ? &wire->net_host
	       : strcmp(name, "hosts") == 0      ? &wire->hosts
	       : strcmp(name, "store_code") == 0 ? &wire->store_code
						 : NULL;
}

/* The bytes of one record; 0: it is invalid. */
static size_t read_record(const char *text, size_t left, struct arena *arena, struct wire *wire)
{
	const char *line = memchr(text, '\n', left), *space = line ? memchr(text, ' ', (size_t)(line - text)) : NULL;
	char name[NAME_ROOM], number[NAME_ROOM];
	struct wire_span *to;
	uint64_t size;
	size_t head;

	if (!space || space - text >= NAME_ROOM || line - space > NAME_ROOM)
		return 0;
	snprintf(name, sizeof(name), "%.*s", (int)(space - text), text);
	snprintf(number, sizeof(number), "%.*s", (int)(line - space - 1), space + 1);
	head = (size_t)(line - text) + 1;
	to = record_of(wire, name);
	if (!to || to->data || !text_count(number, &size) || size >= left - head || text[head + size] != '\n')
		return 0;
	to->size = (size_t)size;
	to->data = arena_copy(arena, text + head, to->size);
	return to->data ? head + to->size + 1 : 0;
}

static const char *const *split_hosts(const struct wire_span *hosts, struct arena *arena)
{
	const char *at = hosts->data ? hosts->data : "";
	const char **list = arena_alloc(arena, (strlen(at) / 2 + 2) * sizeof(*list));

	for (size_t i = 0; list && *at; i++) {
		size_t length = strcspn(at, ",");

		list[i] = arena_copy(arena, at, length);
		if (!list[i])
			return NULL;
		at += length + (at[length] == ',');
	}
	return list;
}

static int record_decode(const char *text, size_t size, struct front_config *out, struct error *err)
{
	unsigned char first[TOKEN_HASH];
	struct wire wire = { 0 };

	for (size_t used = 0, step; used < size; used += step) {
		step = read_record(text + used, size - used, &out->arena, &wire);
		if (step == 0)
			return error_set(err, ERROR_FAILED, 0, "the configuration cannot be read at byte %zu", used);
	}
	if (!wire.where.data || !wire.registry.data || !wire.tokens.data ||
	    (wire.first.data && !token_unhex(wire.first.data, wire.first.size, first, sizeof(first))))
		return error_set(err, ERROR_FAILED, 0, "the configuration is not whole");
	for (size_t i = 0; i < LIMITS; i++) {
		out->said.of[i] = wire.said[i].data;
		out->settings.of[i] = wire.settings[i].data;
	}
	out->hosts = split_hosts(&wire.hosts, &out->arena);
	out->store_code = wire.store_code.data;
	out->audit = wire.audit.data;
	out->net = wire.net.data;
	out->net_host = wire.net_host.data && strcmp(wire.net_host.data, "true") == 0;
	for (size_t i = 0; wire.policy.data && i < ARRAY_SIZE(modes); i++)
		if (strcmp(wire.policy.data, modes[i]) == 0)
			out->policy = (enum policy_mode)i;
	if (!out->hosts)
		return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the configuration");
	if (registry_parse(wire.where.data, wire.registry.data, wire.registry.size, &out->arena, &out->registry, err) <
	    0)
		return -1;
	return tokens_parse_hashed("tokens.json", wire.tokens.data, wire.tokens.size, wire.first.data ? first : NULL,
				   &out->arena, &out->tokens, err);
}

int config_decode(const char *text, size_t size, struct front_config *out, struct error *err)
{
	*out = (struct front_config){ 0 };
	if (record_decode(text, size, out, err) == 0)
		return 0;
	front_config_free(out);
	return -1;
}

void front_config_free(struct front_config *config)
{
	arena_free(&config->arena);
	*config = (struct front_config){ 0 };
}
