/*
 * MCP's two eras: what a message has to have to be heard, and how answers look.
 * Pure.
 *
 * Up to 2025-11-25 a client begins with `initialize` and has a session. From
 * 2026-07-28 on each request says all about itself. Both are served at one
 * address: a message of the new era says so in its _meta, or in a header.
 */
#pragma once

#include "mcp/rpc.h"

#include <jansson.h>
#include <stdbool.h>

#define MCP_MODERN      "2026-07-28"
#define MCP_LATEST_2025 "2025-11-25"

enum {
	MCP_SESSION_MAX = 64, /* bytes of a session's id */
	MCP_VERSION_MAX = 32, /* bytes of a version */
	MCP_NAME_MAX = 3400,  /* bytes of a Mcp-Name field: an address, perhaps escaped */
};

enum mcp_era {
	ERA_2025,
	ERA_2026,
};

/* What the transport says of a message, each "" when it does not. */
struct mcp_head {
	char session[MCP_SESSION_MAX]; /* Mcp-Session-Id */
	char version[MCP_VERSION_MAX]; /* MCP-Protocol-Version */
	char method[RPC_METHOD_MAX];   /* Mcp-Method */
	char name[MCP_NAME_MAX];       /* Mcp-Name */
	json_t *params; /* Mcp-Param-…, by the rest of their names in small letters; owned; NULL: none */
	bool pipe;      /* it comes from a pipe, where there are no headers */
};

/* Why a message is not heard. */
struct mcp_fault {
	int status;         /* of HTTP */
	enum rpc_code code; /* of JSON-RPC */
	char message[256];  /* one sentence */
	json_t *data;       /* owned, or NULL */
};

enum mcp_era mcp_era_of(const struct rpc_message *message, const struct mcp_head *head);
/* Keeps an Mcp-Param-… field; `name` is all of its name. */
void mcp_keep_param(struct mcp_head *head, const char *name, size_t name_size, const char *value, size_t size);
/* A message of 2026: 0, or -1 with the fault. `tools` are those of tools/list: their schemas say which arguments of a
 * call have to be there as headers, too (x-mcp-header), so that what routes requests need not read them. */
int mcp_check(const struct rpc_message *message, const struct mcp_head *head, const json_t *tools,
	      struct mcp_fault *fault);
/* Whether a client of a session may name this version in its header; "" may stand there. */
bool mcp_version_known(const char *version);
/* The version that `initialize` is answered with. */
const char *mcp_version_for(const json_t *params);
/* Whether the client can ask a person, by forms. */
bool mcp_client_elicits(const json_t *capabilities);
/* Whether it shows resource links as such. The protocol has no word for that, so it is one of ours. */
bool mcp_client_takes_links(const json_t *capabilities);
/* In 2026: what the client can do. */
const json_t *mcp_capabilities_of(const struct rpc_message *message);

/* Results. */
json_t *mcp_initialized(const char *version, json_t *capabilities, const char *instructions);
json_t *mcp_discovered(json_t *capabilities, const char *instructions);
json_t *mcp_capabilities(void);
/* What every result of its era has beside; takes it and gives it back. */
json_t *mcp_finish(enum mcp_era era, const char *method, json_t *result);
/* The question whether something may be run: params of elicitation/create. */
json_t *mcp_question(const char *message);
/* Whether the answer to it is yes. */
bool mcp_agreed(const json_t *answer);
