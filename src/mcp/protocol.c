#include "mcp/protocol.h"

#include "base/base64.h"
#include "base/own.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define META_CLIENT  "io.modelcontextprotocol/clientCapabilities"
#define META_SERVER  "io.modelcontextprotocol/serverInfo"

enum {
	LISTS_TTL_MSEC = 3600 * 1000, /* lists of tools and guides change only with the program */
	PARAM_MAX = 64,               /* bytes of an x-mcp-header, including the NUL */
};

static const char *const old_versions[] = { MCP_LATEST_2025, "2025-06-18", "2025-03-26", "2024-11-05", NULL };

static const json_t *meta_of(const struct rpc_message *message)
{
	return json_object_get(message->params, "_meta");
}

static const char *version_of(const struct rpc_message *message)
{
	return json_string_value(json_object_get(meta_of(message), META_VERSION));
}

enum mcp_era mcp_era_of(const struct rpc_message *message, const struct mcp_head *head)
{
	return json_object_get(meta_of(message), META_VERSION) || strcmp(head->version, MCP_MODERN) == 0 ? ERA_2026
													 : ERA_2025;
}

bool mcp_version_known(const char *version)
{
	for (const char *const *known = old_versions; *known; known++)
		if (strcmp(*known, version) == 0)
			return true;
	return !*version;
}

const char *mcp_version_for(const json_t *params)
{
	const char *asked = json_string_value(json_object_get(params, "protocolVersion"));

	for (const char *const *known = old_versions; asked && *known; known++)
		if (strcmp(*known, asked) == 0)
			return *known;
	return MCP_LATEST_2025;
}

bool mcp_client_elicits(const json_t *capabilities)
{
	const json_t *can = json_object_get(capabilities, "elicitation");

	/* An empty object means forms; an object with only `url` does not. */
	return json_is_object(can) && (json_object_size(can) == 0 || json_object_get(can, "form"));
}

bool mcp_client_takes_links(const json_t *capabilities)
{
	static const char name[] = "emberbox/resource-links";

	/* 2025 has only `experimental`; 2026 has `extensions` too. */
	return json_is_object(json_object_get(json_object_get(capabilities, "experimental"), name)) ||
	       json_is_object(json_object_get(json_object_get(capabilities, "extensions"), name));
}

const json_t *mcp_capabilities_of(const struct rpc_message *message)
{
	return json_object_get(meta_of(message), META_CLIENT);
}

static int __attribute__((format(printf, 3, 4)))
refuse(struct mcp_fault *fault, enum rpc_code code, const char *format, ...)
{
	va_list args;

	*fault = (struct mcp_fault){ .status = 400, .code = code };
	va_start(args, format);
	vsnprintf(fault->message, sizeof(fault->message), format, args);
	va_end(args);
	return -1;
}

static json_t *is_supported(void)
{
	json_t *list = json_pack("[s]", MCP_MODERN);

	for (const char *const *known = old_versions; *known; known++)
		json_array_append_new(list, json_string(*known));
	return list;
}

/* The required content of Mcp-Name; NULL: none. */
static const char *name_of(const struct rpc_message *message)
{
	static const struct {
		const char *method; /* the method */
		const char *param;  /* its parameter */
	} names[] = { { "tools/call", "name" }, { "prompts/get", "name" }, { "resources/read", "uri" } };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i].method, message->method) == 0)
			return json_string_value(json_object_get(message->params, names[i].param));
	return NULL;
}

/* Compares with a field, whose value is encoded as =?base64?…?= if it is not plain ASCII. */
static bool header_is(const char *field, const char *value)
{
	static const char start[] = "=?base64?";
	unsigned char decoded[MCP_NAME_MAX];
	size_t size = strlen(field);
	ssize_t got;

	if (size < sizeof(start) + 1 || strncmp(field, start, sizeof(start) - 1) != 0 ||
	    strcmp(field + size - 2, "?=") != 0)
		return strcmp(field, value) == 0;
	got = base64_decode(field + sizeof(start) - 1, size - sizeof(start) - 1, decoded);
	return got >= 0 && (size_t)got == strlen(value) && memcmp(decoded, value, (size_t)got) == 0;
}

static const char param_start[] = "mcp-param-";

void mcp_keep_param(struct mcp_head *head, const char *name, size_t name_size, const char *value, size_t size)
{
	const size_t start = strlen(param_start);
	char key[PARAM_MAX];
	size_t length = 0;

	if (name_size <= start || name_size - start >= sizeof(key) || strncasecmp(name, param_start, start) != 0)
		return;
	for (; length < name_size - start; length++)
		key[length] = (char)tolower((unsigned char)name[start + length]);
	key[length] = '\0';
	if (!head->params)
		head->params = json_object();
	/* A duplicate or non-text value counts as missing. */
	json_object_set_new(head->params, key, json_object_get(head->params, key) ? json_null() : json_stringn(value, size) ?: json_null());
}

static const json_t *properties_of(const json_t *tools, const char *name)
{
	const json_t *tool;
	size_t i;

	json_array_foreach(tools, i, tool)
	{
		const char *known = json_string_value(json_object_get(tool, "name"));

		if (known && strcmp(known, name) == 0)
			return json_object_get(json_object_get(tool, "inputSchema"), "properties");
	}
	return NULL;
}

/* Whether the header equals the argument; a missing argument has no header. */
static bool param_is(const char *field, const json_t *argument)
{
	_cleanup_free_ char *dumped = NULL;

	if (!argument || json_is_null(argument) || !field)
		return (!argument || json_is_null(argument)) && !field;
	if (json_is_string(argument))
		return strlen(json_string_value(argument)) == json_string_length(argument) &&
		       strlen(field) < MCP_NAME_MAX && header_is(field, json_string_value(argument));
	dumped = json_dumps(argument, JSON_ENCODE_ANY | JSON_COMPACT);
	return dumped && strcmp(field, dumped) == 0;
}

static int check_params(const struct rpc_message *message, const struct mcp_head *head, const json_t *tools,
			struct mcp_fault *fault)
{
	const char *name = name_of(message), *argument;
	json_t *schema;

	if (!name || strcmp(message->method, "tools/call") != 0)
		return 0;
	json_object_foreach((json_t *)properties_of(tools, name), argument, schema)
	{
		const char *header = json_string_value(json_object_get(schema, "x-mcp-header"));
		char key[PARAM_MAX];
		size_t i = 0;

		if (!header || strlen(header) >= sizeof(key))
			continue;
		do
			key[i] = (char)tolower((unsigned char)header[i]);
		while (header[i++]);
		if (!param_is(json_string_value(json_object_get(head->params, key)),
			      json_object_get(json_object_get(message->params, "arguments"), argument)))
			return refuse(
				fault, RPC_HEADER_MISMATCH,
				"Mcp-Param-%s: expected the value of the argument %.64s, and no header without it",
				header, argument);
	}
	return 0;
}

static int check_headers(const struct rpc_message *message, const struct mcp_head *head, const json_t *tools,
			 struct mcp_fault *fault)
{
	const char *name = name_of(message);

	if (strcmp(head->version, version_of(message)) != 0)
		return refuse(fault, RPC_HEADER_MISMATCH, "MCP-Protocol-Version: expected the version in _meta");
	if (strcmp(head->method, message->method) != 0)
		return refuse(fault, RPC_HEADER_MISMATCH, "Mcp-Method: expected the method of the body");
	if (name && !header_is(head->name, name))
		return refuse(fault, RPC_HEADER_MISMATCH, "Mcp-Name: expected the name in the body");
	return check_params(message, head, tools, fault);
}

int mcp_check(const struct rpc_message *message, const struct mcp_head *head, const json_t *tools,
	      struct mcp_fault *fault)
{
	const char *version = version_of(message);

	if (!version)
		return refuse(fault, RPC_BAD_PARAMS, "_meta: expected %s", META_VERSION);
	if (!head->pipe && message->kind == RPC_REQUEST && check_headers(message, head, tools, fault) < 0)
		return -1;
	if (strcmp(version, MCP_MODERN) != 0) {
		refuse(fault, RPC_BAD_VERSION, "this version of the protocol is not supported");
		fault->data = json_pack("{s:o, s:s}", "supported", is_supported(), "requested", version);
		return -1;
	}
	if (message->kind == RPC_REQUEST && !json_is_object(mcp_capabilities_of(message)))
		return refuse(fault, RPC_BAD_PARAMS, "_meta: expected %s, an object", META_CLIENT);
	return 0;
}

static json_t *server_info(void)
{
	return json_pack("{s:s, s:s, s:s}", "name", "emberbox", "title", "emberbox", "version", EMBERBOX_VERSION);
}

json_t *mcp_capabilities(void)
{
	return json_pack("{s:{}, s:{}}", "tools", "resources");
}

json_t *mcp_initialized(const char *version, json_t *capabilities, const char *instructions)
{
	return json_pack("{s:s, s:o, s:o, s:s}", "protocolVersion", version, "capabilities", capabilities, "serverInfo",
			 server_info(), "instructions", instructions);
}

json_t *mcp_discovered(json_t *capabilities, const char *instructions)
{
	return json_pack("{s:o, s:o, s:o, s:s}", "supportedVersions", is_supported(), "capabilities", capabilities,
			 "serverInfo", server_info(), "instructions", instructions);
}

/* Whether clients may cache the answers, and with which scope. */
static const char *cache_scope(const char *method)
{
	if (strcmp(method, "resources/list") == 0 || strcmp(method, "resources/read") == 0)
		return "private";
	return strcmp(method, "server/discover") == 0 || strcmp(method, "tools/list") == 0 ||
			       strcmp(method, "resources/templates/list") == 0 || strcmp(method, "prompts/list") == 0
		       ? "public"
		       : NULL;
}

json_t *mcp_finish(enum mcp_era era, const char *method, json_t *result)
{
	const char *scope = cache_scope(method);
	json_t *meta;

	if (era == ERA_2025 || !result)
		return result;
	if (!json_object_get(result, "resultType"))
		json_object_set_new(result, "resultType", json_string("complete"));
	meta = json_object_get(result, "_meta");
	if (!meta) {
		meta = json_object();
		json_object_set_new(result, "_meta", meta);
	}
	json_object_set_new(meta, META_SERVER, server_info());
	if (scope) {
		json_object_set_new(result, "ttlMs", json_integer(strcmp(scope, "public") == 0 ? LISTS_TTL_MSEC : 0));
		json_object_set_new(result, "cacheScope", json_string(scope));
	}
	return result;
}

json_t *mcp_question(const char *message)
{
	return json_pack("{s:s, s:s, s:{s:s, s:{s:{s:s, s:s, s:s}}, s:[s]}}", "mode", "form", "message", message,
			 "requestedSchema", "type", "object", "properties", "ok", "type", "boolean", "title", "Run it",
			 "description", "Whether this may be run", "required", "ok");
}

bool mcp_agreed(const json_t *answer)
{
	const char *action = json_string_value(json_object_get(answer, "action"));

	return action && strcmp(action, "accept") == 0 &&
	       json_is_true(json_object_get(json_object_get(answer, "content"), "ok"));
}
