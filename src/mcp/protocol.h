/*
 * The two eras of MCP: required parts of a message, and the form of answers.
 * Pure.
 *
 * Until 2025-11-25, a client starts with `initialize` and has a session. From
 * 2026-07-28 on, each request is self-contained. Both use the same address: a
 * message of the new era is recognized by its _meta or a header.
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
	MCP_NAME_MAX = 3400,  /* bytes of an Mcp-Name field: an address, possibly encoded */
};

enum mcp_era {
	ERA_2025,
	ERA_2026,
};

/* The transport's data of a message, each "" if missing. */
struct mcp_head {
	char session[MCP_SESSION_MAX]; /* Mcp-Session-Id */
	char version[MCP_VERSION_MAX]; /* MCP-Protocol-Version */
	char method[RPC_METHOD_MAX];   /* Mcp-Method */
	char name[MCP_NAME_MAX];       /* Mcp-Name */
	json_t *params; /* Mcp-Param-… fields, by the lower-case rest of their names; owned; NULL: none */
	bool pipe;      /* the message came over a pipe, which has no headers */
};

/* Why a message is refused. */
struct mcp_fault {
	int status;         /* HTTP status */
	enum rpc_code code; /* JSON-RPC code */
	char message[256];  /* one sentence */
	json_t *data;       /* owned, or NULL */
};

enum mcp_era mcp_era_of(const struct rpc_message *message, const struct mcp_head *head);
/* Stores an Mcp-Param-… field; `name` is the complete name. */
void mcp_keep_param(struct mcp_head *head, const char *name, size_t name_size, const char *value, size_t size);
/* Checks a message of 2026. Returns 0, or -1 with the fault. `tools` are those of tools/list: their schemas say which
 * arguments must also be headers (x-mcp-header), so that proxies can route requests without parsing them. */
int mcp_check(const struct rpc_message *message, const struct mcp_head *head, const json_t *tools,
	      struct mcp_fault *fault);
/* Whether a client with a session may name this version in its header; "" is allowed. */
bool mcp_version_known(const char *version);
/* The version in the answer to `initialize`. */
const char *mcp_version_for(const json_t *params);
/* Whether the client can ask its user with forms. */
bool mcp_client_elicits(const json_t *capabilities);
/* Whether the client shows resource links. The protocol has no capability for this, so it is one of ours. */
bool mcp_client_takes_links(const json_t *capabilities);
/* In 2026: the client's capabilities. */
const json_t *mcp_capabilities_of(const struct rpc_message *message);

/* Results. */
json_t *mcp_initialized(const char *version, json_t *capabilities, const char *instructions);
json_t *mcp_discovered(json_t *capabilities, const char *instructions);
json_t *mcp_capabilities(void);
/* Adds the members that every result of its era has; takes and returns the result. */
json_t *mcp_finish(enum mcp_era era, const char *method, json_t *result);
/* The question whether to run something: params of elicitation/create. */
json_t *mcp_question(const char *message);
/* Whether the answer is yes. */
bool mcp_agreed(const json_t *answer);
