/*
 * JSON-RPC 2.0 as MCP has it: one message, no batches, an id that is a string or a
 * number. Pure: bytes in, a message or a fault out; and the other way round.
 *
 * What is decoded is bounded before a tree is made of it: a small text could
 * mean a great many values.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum {
	RPC_VALUES_MAX = 16384, /* commas, colons and brackets outside of strings, as for any request */
	RPC_ID_MAX = 256,       /* bytes of an id that is a text */
	RPC_METHOD_MAX = 128,   /* bytes of a method's name */
};

enum rpc_code {
	RPC_NOT_JSON = -32700,
	RPC_BAD_MESSAGE = -32600,
	RPC_NO_METHOD = -32601,
	RPC_BAD_PARAMS = -32602,
	RPC_FAILED = -32603,
	/* Of MCP. Those below -32019 say "a server of 2026": nobody of another revision may hear them. */
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
	enum rpc_kind kind; /* which of them */
	json_t *root;       /* all of it; owned */
	json_t *id;         /* in it; NULL of a notification */
	const char *method; /* in it; NULL of a response */
	json_t *params;     /* in it: an object; NULL when there are none */
	json_t *result;     /* in it, of a response: an object; NULL when that is an error */
};

/* What is wrong with a message. */
struct rpc_fault {
	enum rpc_code code;  /* as the client hears it */
	const char *message; /* one sentence; constant */
	json_t *id;          /* of the message, owned; NULL: it cannot be told */
};

/* 0, or -1 with the fault. */
int rpc_decode(const char *data, size_t size, struct rpc_message *message, struct rpc_fault *fault);
void rpc_message_free(struct rpc_message *message);
void rpc_fault_free(struct rpc_fault *fault);

/* The texts of messages, which the caller frees; NULL without memory. `id` is not taken, and may be NULL in an error;
 * result, data and params are taken, and data and params may be NULL. */
char *rpc_result_text(json_t *id, json_t *result);
char *rpc_error_text(json_t *id, enum rpc_code code, const char *message, json_t *data);
char *rpc_notification_text(const char *method, json_t *params);
char *rpc_request_text(const char *id, const char *method, json_t *params);
