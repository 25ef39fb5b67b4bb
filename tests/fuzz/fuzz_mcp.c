/* Messages of MCP: whatever comes is a message or a fault, a call is a request that can be asked, and what is answered
 * to that becomes a result. The first line of the input is the message, the rest the service's answer. */
#include "fuzz.h"

#include "mcp/protocol.h"
#include "mcp/resource.h"
#include "mcp/tool.h"

static void mcp_text_holds(char *text)
{
	json_t *root = text ? json_loads(text, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL) : NULL;

	/* One line of JSON-RPC. */
	MUST(root && !strchr(text, '\n'));
	MUST(strcmp(json_string_value(json_object_get(root, "jsonrpc")), "2.0") == 0);
	json_decref(root);
	free(text);
}

static void mcp_result_holds(json_t *result)
{
	const json_t *content = json_object_get(result, "content");

	MUST(json_array_size(content) > 0);
	MUST(json_is_object(json_object_get(result, "structuredContent")) ||
	     json_is_true(json_object_get(result, "isError")));
	json_decref(result);
}

static void mcp_request_holds(const struct tool_request *request)
{
	MUST(strncmp(request->path, "/v1/", 4) == 0 || strncmp(request->path, "/containers", 11) == 0);
	MUST(strlen(request->path) < TOOL_PATH_MAX && strlen(request->query) < TOOL_QUERY_MAX);
	MUST(!request->size || request->body);
}

static void mcp_call_holds(const json_t *tools, const struct rpc_message *message, const char *body, size_t size)
{
	static const int statuses[] = { 200, 201, 206, 404, 416, 500 };
	const char *name = json_string_value(json_object_get(message->params, "name"));
	json_t *arguments = json_object_get(message->params, "arguments");

	for (size_t i = 0; name && i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		struct tool_request request;
		struct tool_call call;
		struct error err = { 0 };
		json_t *result = NULL;
		int steps = 0, done = tool_begin(&call, tools, name, arguments, 0, &request, &err);

		MUST(done == 0 || err.text[0]);
		while (done == 0 && !result && ++steps < 8) {
			const struct tool_answer answer = { .status = statuses[i],
							    .body = body,
							    .size = size,
							    .total = statuses[i] == 206 ? size * 2 : 0 };

			mcp_request_holds(&request);
			tool_request_free(&request);
			result = tool_answer(&call, &answer, &request);
		}
		MUST(done < 0 || result);
		if (result)
			mcp_result_holds(result);
		tool_request_free(&request);
		tool_call_free(&call);
	}
}

static void mcp_uri_holds(const char *uri)
{
	char again[RESOURCE_URI_MAX];
	struct resource resource, same;

	if (!resource_parse(uri, &resource))
		return;
	MUST(resource.id[0] && strlen(resource.id) < RESOURCE_ID_MAX && !strchr(resource.id, '/'));
	MUST(resource_uri(resource.kind, resource.id, resource.path, again) && resource_parse(again, &same));
	MUST(strcmp(resource.id, same.id) == 0 && strcmp(resource.path, same.path) == 0);
}

/* The same message by HTTP, with a header that stands for an argument of a tool. */
static void mcp_headers_hold(const struct rpc_message *message, const char *value, size_t size)
{
	static json_t *tools;
	struct mcp_head head = { .version = MCP_MODERN, .name = "t" };
	struct mcp_fault refusal = { 0 };

	if (!tools)
		tools = json_loads(
			"[{\"name\":\"t\",\"inputSchema\":{\"properties\":{\"a\":{\"x-mcp-header\":\"A\"}}}}]", 0,
			NULL);
	snprintf(head.method, sizeof(head.method), "%s", message->method);
	mcp_keep_param(&head, "Mcp-Param-A", 11, value, size);
	if (mcp_check(message, &head, tools, &refusal) < 0)
		mcp_text_holds(rpc_error_text(message->id, refusal.code, refusal.message, refusal.data));
	json_decref(head.params);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static json_t *tools;
	const char *text = (const char *)data, *end = size ? memchr(text, '\n', size) : NULL;
	size_t first = end ? (size_t)(end - text) : size, rest = end ? size - first - 1 : 0;
	struct mcp_head head = { .pipe = true };
	struct mcp_fault refusal = { 0 };
	struct rpc_message message;
	struct rpc_fault fault;

	if (!tools)
		tools = tools_list();
	MUST(tools);
	if (rpc_decode(text, first, &message, &fault) < 0) {
		MUST(fault.code == RPC_NOT_JSON || fault.code == RPC_BAD_MESSAGE || fault.code == RPC_BAD_PARAMS);
		mcp_text_holds(rpc_error_text(fault.id, fault.code, fault.message, NULL));
		rpc_fault_free(&fault);
		return 0;
	}
	MUST((message.kind == RPC_RESPONSE) == !message.method && (message.kind == RPC_NOTIFICATION) == !message.id);
	if (message.kind != RPC_RESPONSE && mcp_era_of(&message, &head) == ERA_2026 &&
	    mcp_check(&message, &head, NULL, &refusal) < 0)
		mcp_text_holds(rpc_error_text(message.id, refusal.code, refusal.message, refusal.data));
	if (message.kind == RPC_REQUEST) {
		mcp_headers_hold(&message, end ? end + 1 : "", rest);
		mcp_text_holds(rpc_result_text(message.id, mcp_finish(ERA_2026, message.method, json_object())));
		if (json_is_string(json_object_get(message.params, "uri")))
			mcp_uri_holds(json_string_value(json_object_get(message.params, "uri")));
		mcp_call_holds(tools, &message, end ? end + 1 : "", rest);
	}
	rpc_message_free(&message);
	return 0;
}
