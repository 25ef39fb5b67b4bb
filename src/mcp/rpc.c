#include "mcp/rpc.h"

#include "base/json_check.h"

#include <string.h>

static int fault_set(struct rpc_fault *fault, enum rpc_code code, const char *message)
{
	fault->code = code;
	fault->message = message;
	return -1;
}

static bool id_is_one(const json_t *id)
{
	return json_is_integer(id) || json_is_real(id) || (json_is_string(id) && json_string_length(id) <= RPC_ID_MAX);
}

/* A request, or a notification. */
static int decode_call(struct rpc_message *message, struct rpc_fault *fault)
{
	json_t *method = json_object_get(message->root, "method"), *params = json_object_get(message->root, "params");

	if (!json_is_string(method) || strlen(json_string_value(method)) != json_string_length(method) ||
	    json_string_length(method) == 0 || json_string_length(method) > RPC_METHOD_MAX)
		return fault_set(fault, RPC_BAD_MESSAGE, "method: expected the name of a method");
	if (params && !json_is_object(params))
		return fault_set(fault, RPC_BAD_PARAMS, "params: expected an object");
	message->kind = message->id ? RPC_REQUEST : RPC_NOTIFICATION;
	message->method = json_string_value(method);
	message->params = params;
	return 0;
}

static int decode_response(struct rpc_message *message, struct rpc_fault *fault)
{
	json_t *result = json_object_get(message->root, "result"), *error = json_object_get(message->root, "error");

	if (!message->id || !result == !error || (result && !json_is_object(result)) ||
	    (error && !json_is_object(error)))
		return fault_set(fault, RPC_BAD_MESSAGE,
				 "expected a request, a notification, or a response with a result or an error");
	message->kind = RPC_RESPONSE;
	message->result = result;
	return 0;
}

static int message_decode(struct rpc_message *message, struct rpc_fault *fault)
{
	json_t *id = json_object_get(message->root, "id");
	const char *version = json_string_value(json_object_get(message->root, "jsonrpc"));

	if (json_is_array(message->root))
		return fault_set(fault, RPC_BAD_MESSAGE, "expected one message: MCP has no batches");
	if (!json_is_object(message->root))
		return fault_set(fault, RPC_BAD_MESSAGE, "expected a JSON-RPC message, which is an object");
	if (id && !id_is_one(id))
		return fault_set(fault, RPC_BAD_MESSAGE, "id: expected a number, or a string of at most 256 bytes");
	message->id = id;
	if (!version || strcmp(version, "2.0") != 0)
		return fault_set(fault, RPC_BAD_MESSAGE, "jsonrpc: expected \"2.0\"");
	return json_object_get(message->root, "method") ? decode_call(message, fault) : decode_response(message, fault);
}

int rpc_decode(const char *data, size_t size, struct rpc_message *message, struct rpc_fault *fault)
{
	*message = (struct rpc_message){ 0 };
	*fault = (struct rpc_fault){ 0 };
	if (!json_has_few_values(data, size, RPC_VALUES_MAX))
		return fault_set(fault, RPC_BAD_MESSAGE, "the message has too many values; 16384 are enough for any");
	/* Jansson treats a NUL as the end of a number and continues. */
	if (!memchr(data, '\0', size))
		message->root = json_loadb(data, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
	if (!message->root)
		return fault_set(fault, RPC_NOT_JSON, "the message is not JSON, or has a duplicate key");
	if (message_decode(message, fault) == 0)
		return 0;
	fault->id = json_incref(message->id);
	rpc_message_free(message);
	return -1;
}

void rpc_message_free(struct rpc_message *message)
{
	json_decref(message->root);
	*message = (struct rpc_message){ 0 };
}

void rpc_fault_free(struct rpc_fault *fault)
{
	json_decref(fault->id);
	fault->id = NULL;
}

/* Takes the tree. */
static char *json_text(json_t *root)
{
	/* With more digits than a double has, 0.1 would look like another number. */
	char *text = root ? json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;

	json_decref(root);
	return text;
}

char *rpc_result_text(json_t *id, json_t *result)
{
	return json_text(json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result));
}

char *rpc_error_text(json_t *id, enum rpc_code code, const char *message, json_t *data)
{
	json_t *root =
		json_pack("{s:s, s:{s:i, s:s}}", "jsonrpc", "2.0", "error", "code", (int)code, "message", message);

	/* The revision of 2025-11-25 omits an unknown id; null is not valid. */
	if (id)
		json_object_set(root, "id", id);
	if (data)
		json_object_set_new(json_object_get(root, "error"), "data", data);
	return json_text(root);
}

char *rpc_notification_text(const char *method, json_t *params)
{
	return json_text(json_pack("{s:s, s:s, s:o*}", "jsonrpc", "2.0", "method", method, "params", params));
}

char *rpc_request_text(const char *id, const char *method, json_t *params)
{
	return json_text(
		json_pack("{s:s, s:s, s:s, s:o*}", "jsonrpc", "2.0", "id", id, "method", method, "params", params));
}
