/*
 * JSON-RPC 2.0 for MCP: a single message, no batches; an id is a string or a number. Pure: bytes to a message or a
 * fault, and back.
 *
 * The number of values is bounded before a tree is built: a small text could contain very many.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum {
	RPC_VALUES_MAX = 16384, /* commas, colons and brackets outside of strings, as for any request */
	RPC_ID_MAX = 256,       /* bytes of an id that is a string */
	RPC_METHOD_MAX = 128,   /* bytes of a method's name */
};

enum rpc_code {
	RPC_NOT_JSON = -32700,
	RPC_BAD_MESSAGE = -32600,
	RPC_NO_METHOD = -32601,
	RPC_BAD_PARAMS = -32602,
	RPC_FAILED = -32603,
	/* MCP's codes. Those below -32019 indicate a server of 2026, so clients of other revisions must not get
	 * them. */
	RPC_NO_SESSION = -32000,
	RPC_NO_RESOURCE = -32002,
	RPC_HEADER_MISMATCH = -32020,
	RPC_CANNOT_ASK = -32021,
	RPC_BAD_VERSION = -32022,
};

enum rpc_kind {
	RPC_REQUEST,
	RPC_NOTIFICATION,
	RPC_RESPONSE,
};

struct rpc_message {
	enum rpc_kind kind; /* kind of the message */
	json_t *root;       /* the whole message; owned */
	json_t *id;         /* part of root; NULL for a notification */
	const char *method; /* part of root; NULL for a response */
	json_t *params;     /* part of root: an object; NULL if missing */
	json_t *result;     /* part of root, for a response: an object; NULL for an error */
};

/* Why a message is invalid. */
struct rpc_fault {
	enum rpc_code code;  /* code for the client */
	const char *message; /* one sentence; constant */
	json_t *id;          /* id of the message, owned; NULL: unknown */
};

/* Returns 0, or -1 with the fault. */
int rpc_decode(const char *data, size_t size, struct rpc_message *message, struct rpc_fault *fault);
void rpc_message_free(struct rpc_message *message);
void rpc_fault_free(struct rpc_fault *fault);

/* Texts of messages, which the caller frees; NULL if memory ran out. `id` is not taken, and may be NULL in an error;
 * result, data and params are taken; data and params may be NULL. */
char *rpc_result_text(json_t *id, json_t *result);
char *rpc_error_text(json_t *id, enum rpc_code code, const char *message, json_t *data);
char *rpc_notification_text(const char *method, json_t *params);
char *rpc_request_text(const char *id, const char *method, json_t *params);
