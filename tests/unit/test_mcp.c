/* MCP's pure core: messages, eras, schemas, addresses, tools as requests, and what a model reads. */
#include "../check.h"

#include "mcp/content.h"
#include "mcp/protocol.h"
#include "mcp/resource.h"
#include "mcp/tool_schema.h"
#include "mcp/tool.h"

static int decoded(const char *text)
{
	struct rpc_message message;
	struct rpc_fault fault;
	int done = rpc_decode(text, strlen(text), &message, &fault);
	int code = done < 0 ? (int)fault.code : (int)message.kind;

	rpc_message_free(&message);
	rpc_fault_free(&fault);
	return code;
}

static void messages(void)
{
	CHECK_INT(decoded("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"), RPC_REQUEST);
	CHECK_INT(decoded("{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\",\"params\":{}}"), RPC_REQUEST);
	CHECK_INT(decoded("{\"jsonrpc\":\"2.0\",\"method\":\"ping\"}"), RPC_NOTIFICATION);
	CHECK_INT(decoded("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"), RPC_RESPONSE);
	CHECK_INT(decoded("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"\"}}"), RPC_RESPONSE);
	CHECK_INT(decoded(""), RPC_NOT_JSON);
	CHECK_INT(decoded("{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":1,\"method\":\"a\"}"), RPC_NOT_JSON);
	CHECK_INT(decoded("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]"), RPC_BAD_MESSAGE);
	CHECK_INT(decoded("{\"id\":1,\"method\":\"ping\"}"), RPC_BAD_MESSAGE);
	CHECK_INT(decoded("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}"), RPC_BAD_MESSAGE);
	CHECK_INT(decoded("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\\u0000b\"}"), RPC_BAD_MESSAGE);
	CHECK_INT(decoded("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\"}"), RPC_BAD_MESSAGE);
	CHECK_INT(decoded("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{}}"), RPC_BAD_MESSAGE);
	CHECK_INT(decoded("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":[]}"), RPC_BAD_PARAMS);
}

static void bounds(void)
{
	struct buf text = { 0 };

	buf_text(&text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"a\":[1");
	for (int i = 0; i < RPC_VALUES_MAX; i++)
		buf_text(&text, ",1");
	buf_text(&text, "]}}");
	CHECK_INT(decoded(text.data), RPC_BAD_MESSAGE);
	text.size = 0;
	/* In a text they are no values. */
	buf_text(&text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"a\":\"");
	for (int i = 0; i < RPC_VALUES_MAX; i++)
		buf_text(&text, ",1");
	buf_text(&text, "\"}}");
	CHECK_INT(decoded(text.data), RPC_REQUEST);
	buf_free(&text);
}

static void encoded(void)
{
	json_t *id = json_string("x");
	char *text = rpc_result_text(id, json_pack("{s:f}", "seconds", 0.000817));

	CHECK_STR(text, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{\"seconds\":0.000817}}");
	free(text);
	text = rpc_error_text(NULL, RPC_NOT_JSON, "no", NULL);
	CHECK_STR(text, "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"no\"}}");
	free(text);
	text = rpc_notification_text("n", NULL);
	CHECK_STR(text, "{\"jsonrpc\":\"2.0\",\"method\":\"n\"}");
	free(text);
	json_decref(id);
}

/* The tools that messages are judged by; NULL: none. */
static json_t *judging;

static int judged(const char *text, const struct mcp_head *head)
{
	struct rpc_message message;
	struct rpc_fault fault;
	struct mcp_fault refusal = { 0 };
	int code = 1;

	CHECK_INT(rpc_decode(text, strlen(text), &message, &fault), 0);
	if (mcp_era_of(&message, head) == ERA_2026)
		code = mcp_check(&message, head, judging, &refusal) < 0 ? (int)refusal.code : 0;
	json_decref(refusal.data);
	rpc_message_free(&message);
	return code;
}

#define META                                                                                                           \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                                       \
	"\"io.modelcontextprotocol/clientCapabilities\":{}}"

static void eras(void)
{
	static const char call[] =
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"é\"," META "}}";
	struct mcp_head head = { .version = MCP_MODERN, .method = "tools/call", .name = "=?base64?w6k=?=" };
	struct mcp_head pipe = { .pipe = true }, none = { 0 };

	CHECK_INT(judged("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", &none), 1);
	CHECK_INT(judged(call, &head), 0);
	CHECK_INT(judged(call, &pipe), 0);
	CHECK_INT(judged(call, &none), RPC_HEADER_MISMATCH);
	strcpy(head.name, "e");
	CHECK_INT(judged(call, &head), RPC_HEADER_MISMATCH);
	CHECK_INT(judged("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", &head), RPC_BAD_PARAMS);
	CHECK_INT(judged("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"_meta\":"
			 "{\"io.modelcontextprotocol/protocolVersion\":\"1\"}}}",
			 &pipe),
		  RPC_BAD_VERSION);
	CHECK_INT(judged("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"_meta\":"
			 "{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}",
			 &pipe),
		  RPC_BAD_PARAMS);
	CHECK(mcp_version_known("") && mcp_version_known("2025-06-18") && !mcp_version_known("2025"));
}

/* What a call of `t` is, with these arguments and these Mcp-Param fields, "NAME=VALUE" up to NULL. */
static int called(const char *arguments, const char *const *fields)
{
	struct mcp_head head = { .version = MCP_MODERN, .method = "tools/call", .name = "t" };
	char call[512];
	int code;

	snprintf(call, sizeof(call),
		 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
		 "call\",\"params\":{\"name\":\"t\",\"arguments\":%s," META "}}",
		 arguments);
	for (; *fields; fields++) {
		size_t size = strcspn(*fields, "=");

		mcp_keep_param(&head, *fields, size, *fields + size + 1, strlen(*fields + size + 1));
	}
	code = judged(call, &head);
	json_decref(head.params);
	return code;
}

#define CALLED(arguments, ...) called(arguments, (const char *const[]){ __VA_ARGS__, NULL })

static void arguments_that_are_headers(void)
{
	judging = json_loads(
		"[{\"name\":\"t\",\"inputSchema\":{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":"
		"\"Region\"},\"n\":{\"type\":\"integer\",\"x-mcp-header\":\"N\"},\"b\":{\"type\":\"boolean\","
		"\"x-mcp-header\":\"B\"},\"free\":{}}}}]",
		0, NULL);
	CHECK(judging);
	CHECK_INT(CALLED("{\"a\":\"west\"}", "Mcp-Param-Region=west"), 0);
	CHECK_INT(CALLED("{\"a\":\"west\"}", "MCP-PARAM-REGION=west"), 0);
	CHECK_INT(CALLED("{\"a\":\"Hello\"}", "Mcp-Param-Region==?base64?SGVsbG8=?="), 0);
	CHECK_INT(CALLED("{\"a\":\"SGVsbG8=\"}", "Mcp-Param-Region=SGVsbG8="), 0);
	CHECK_INT(
		CALLED("{\"a\":\"x\",\"n\":42,\"b\":true}", "Mcp-Param-Region=x", "Mcp-Param-N=42", "Mcp-Param-B=true"),
		0);
	CHECK_INT(CALLED("{\"free\":1}", "X=1"), 0);
	CHECK_INT(CALLED("{\"a\":null}", "X=1"), 0);
	CHECK_INT(CALLED("{\"a\":\"west\"}", "X=1"), RPC_HEADER_MISMATCH);
	CHECK_INT(CALLED("{\"a\":\"west\"}", "Mcp-Param-Region=WEST"), RPC_HEADER_MISMATCH);
	CHECK_INT(CALLED("{\"a\":\"west\"}", "Mcp-Param-Region=west", "Mcp-Param-Region=west"), RPC_HEADER_MISMATCH);
	CHECK_INT(CALLED("{\"a\":\"Hello\"}", "Mcp-Param-Region==?base64?SGVsbG8?="), RPC_HEADER_MISMATCH);
	CHECK_INT(CALLED("{\"a\":\"Hello\"}", "Mcp-Param-Region==?base64?SGVs!!!bG8=?="), RPC_HEADER_MISMATCH);
	CHECK_INT(CALLED("{\"a\":\"w\\u0000\"}", "Mcp-Param-Region=w"), RPC_HEADER_MISMATCH);
	CHECK_INT(CALLED("{}", "Mcp-Param-Region=west"), RPC_HEADER_MISMATCH);
	CHECK_INT(CALLED("{\"n\":42}", "Mcp-Param-N=042"), RPC_HEADER_MISMATCH);
	CHECK_INT(CALLED("{\"b\":true}", "Mcp-Param-B=\xff"), RPC_HEADER_MISMATCH);
	json_decref(judging);
	judging = NULL;
}

static void agreements(void)
{
	static const struct {
		const char *text; /* a person's answer */
		bool yes;         /* what it means */
	} answers[] = {
		{ "{\"action\":\"accept\",\"content\":{\"ok\":true}}", true },
		{ "{\"action\":\"accept\",\"content\":{\"ok\":false}}", false },
		{ "{\"action\":\"accept\",\"content\":{}}", false },
		{ "{\"action\":\"accept\"}", false },
		{ "{\"action\":\"decline\",\"content\":{\"ok\":true}}", false },
		{ "{\"content\":{\"ok\":true}}", false },
		{ "{\"action\":\"accept\",\"content\":{\"ok\":\"true\"}}", false },
	};

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		json_t *answer = json_loads(answers[i].text, 0, NULL);

		if (mcp_agreed(answer) != answers[i].yes)
			check_fail("%s", answers[i].text);
		json_decref(answer);
	}
	CHECK(!mcp_agreed(NULL));
}

static void schema_says(const char *schema, const char *value, const char *sentence)
{
	json_t *one = json_loads(schema, 0, NULL), *other = json_loads(value, JSON_DECODE_ANY, NULL);
	struct error err = { 0 };
	int done = schema_check(one, other, &err);

	CHECK_INT(done, *sentence ? -1 : 0);
	CHECK_STR(err.text, sentence);
	json_decref(one);
	json_decref(other);
}

static void schemas(void)
{
	static const char schema[] =
		"{\"type\":\"object\",\"required\":[\"code\"],\"additionalProperties\":false,"
		"\"properties\":{\"code\":{\"type\":\"string\"},\"n\":{\"type\":\"integer\",\"minimum\":1,"
		"\"maximum\":3},\"s\":{\"enum\":[\"a\",\"b\"]},\"l\":{\"type\":\"array\",\"items\":"
		"{\"type\":\"string\"}},\"o\":{\"type\":\"object\",\"additionalProperties\":{\"type\":"
		"[\"string\",\"object\"]}},\"t\":{\"type\":\"number\",\"exclusiveMinimum\":0}}}";

	schema_says(schema, "{\"code\":\"\",\"n\":2,\"s\":\"a\",\"l\":[\"x\"],\"o\":{\"k\":{}},\"t\":0.5}", "");
	schema_says(schema, "{\"code\":\"\",\"n\":2.0}", "");
	schema_says(schema, "[]", "expected an object, not a list");
	schema_says(schema, "{}", "code: it is missing");
	schema_says(schema, "{\"cod\":\"\"}", "cod: there is no such field; did you mean code?");
	schema_says(schema, "{\"code\":1}", "code: expected a string, not a number");
	schema_says(schema, "{\"code\":\"\",\"n\":4}", "n: expected a number from 1 to 3");
	schema_says(schema, "{\"code\":\"\",\"n\":1.5}", "n: expected a whole number");
	schema_says(schema, "{\"code\":\"\",\"n\":1e300}", "n: expected a whole number");
	schema_says(schema, "{\"code\":\"\",\"s\":\"c\"}", "s: expected one of a b");
	schema_says(schema, "{\"code\":\"\",\"l\":[\"\",1]}", "l[1]: expected a string, not a number");
	schema_says(schema, "{\"code\":\"\",\"o\":{\"k\":1}}", "o.k: expected a string or an object, not a number");
	schema_says(schema, "{\"code\":\"\",\"t\":0}", "t: expected a number above 0");
}

static void addresses(void)
{
	char uri[RESOURCE_URI_MAX], path[RESOURCE_PATH_MAX];
	struct resource r;

	CHECK(resource_uri(RESOURCE_SESSION, "s1", "a b/é%.txt", uri));
	CHECK_STR(uri, "emberbox://session/s1/output/a%20b/%C3%A9%25.txt");
	CHECK(resource_parse(uri, &r));
	CHECK_INT(r.kind, RESOURCE_SESSION);
	CHECK_STR(r.id, "s1");
	CHECK_STR(r.path, "a b/é%.txt");
	CHECK(resource_parse("emberbox://runtime/python", &r) && r.kind == RESOURCE_RUNTIME);
	CHECK(!resource_parse("emberbox://runtime/python/x", &r));
	CHECK(!resource_parse("emberbox://runtime/", &r));
	CHECK(!resource_parse("emberbox://session/s/output/", &r));
	CHECK(!resource_parse("emberbox://session/s/output/%00", &r));
	CHECK(!resource_parse("emberbox://session/s/output/%ff", &r));
	CHECK(!resource_parse("emberbox://session/s/output/%4", &r));
	CHECK(!resource_parse("emberbox://session/s/x", &r));
	CHECK(!resource_parse("file:///etc/passwd", &r));
	memset(path, ' ', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	CHECK(resource_uri(RESOURCE_EXECUTION, "x", path, uri));
	CHECK(resource_parse(uri, &r) && strcmp(r.path, path) == 0);
}

/* The request that a call begins with, and the sentence where it does not. */
static void asks(const char *name, const char *arguments, enum http_method method, const char *path, const char *body)
{
	json_t *tools = tools_list(), *given = json_loads(arguments, 0, NULL);
	struct tool_request request;
	struct tool_call call;
	struct error err = { 0 };

	if (tool_begin(&call, tools, name, given, 0, &request, &err) < 0) {
		CHECK_STR(err.text, body);
	} else {
		CHECK_INT(request.method, method);
		CHECK_STR(request.path, path);
		CHECK_STR(request.body ? request.body : "", body);
	}
	tool_request_free(&request);
	tool_call_free(&call);
	json_decref(given);
	json_decref(tools);
}

static void requests(void)
{
	asks("run_code", "{\"language\":\"c\",\"code\":\"x\",\"max_tokens\":200}", HTTP_POST, "/v1/execute",
	     "{\"language\":\"c\",\"code\":\"x\"}");
	/* A result shows 20 KiB of a stream by itself; a larger budget asks for as much as it holds. */
	asks("run_code", "{\"language\":\"c\",\"code\":\"x\",\"max_tokens\":6000}", HTTP_POST, "/v1/execute",
	     "{\"language\":\"c\",\"code\":\"x\"}");
	asks("run_code", "{\"language\":\"c\",\"code\":\"x\",\"max_tokens\":20000}", HTTP_POST, "/v1/execute",
	     "{\"language\":\"c\",\"code\":\"x\",\"limits\":{\"max_output\":60000}}");
	asks("run_in_session", "{\"session\":\"s1\",\"code\":\"x\",\"max_tokens\":20000}", HTTP_POST,
	     "/v1/sessions/s1/execute", "{\"code\":\"x\",\"limits\":{\"max_output\":60000}}");
	asks("run_in_session", "{\"language\":\"c\",\"code\":\"x\",\"memory_limit\":\"1g\"}", HTTP_POST, "/v1/sessions",
	     "{\"language\":\"c\",\"limits\":{\"memory\":\"1g\"}}");
	asks("run_in_session", "{\"session\":\"s1\",\"code\":\"x\",\"timeout\":3}", HTTP_POST,
	     "/v1/sessions/s1/execute", "{\"code\":\"x\",\"timeout\":3}");
	asks("run_in_session", "{\"session\":\"../x\",\"code\":\"x\"}", 0, "",
	     "session: expected an id from an earlier answer");
	asks("check_code", "{\"language\":\"c\",\"code\":\"x\"}", HTTP_POST, "/v1/check",
	     "{\"language\":\"c\",\"code\":\"x\"}");
	asks("read_file", "{\"session\":\"s1\",\"path\":\"/sandbox/output/a b\"}", HTTP_GET,
	     "/v1/sessions/s1/files/output/a b", "");
	asks("read_file", "{\"execution\":\"e1\",\"path\":\"/sandbox/output/a\"}", HTTP_GET,
	     "/v1/executions/e1/files/a", "");
	asks("read_file", "{\"execution\":\"e1\",\"session\":\"s1\",\"path\":\"a\"}", 0, "",
	     "session: give either a session or an execution");
	asks("read_file", "{\"session\":\"s1\",\"path\":\"\"}", 0, "", "path: expected the path of a file");
	asks("write_file", "{\"session\":\"s1\",\"path\":\"a\",\"base64\":\"YWI=\"}", HTTP_PUT,
	     "/v1/sessions/s1/files/code/a", "ab");
	asks("write_file", "{\"session\":\"s1\",\"path\":\"a\",\"base64\":\"?\"}", 0, "",
	     "base64: expected bytes as base64");
	asks("read_file", "{\"session\":\"s1\",\"path\":\"/etc/passwd\"}", 0, "",
	     "path: expected a file below /sandbox/code, data, output or temp");
	asks("read_file", "{\"session\":\"s1\",\"path\":\"/sandboxes/x\"}", 0, "",
	     "path: expected a file below /sandbox/code, data, output or temp");
	asks("read_file", "{\"session\":\"s1\",\"path\":\"/sandbox\"}", 0, "",
	     "path: expected a file below /sandbox/code, data, output or temp");
	asks("list_files", "{\"session\":\"s1\"}", HTTP_GET, "/v1/sessions/s1/files", "");
	asks("get_output", "{\"id\":\"e1\",\"stream\":\"stderr\"}", HTTP_GET, "/v1/executions/e1/stderr", "");
	asks("get_report", "{\"id\":\"e1\"}", HTTP_GET, "/v1/executions/e1/report", "");
	asks("get_report", "{\"id\":\"../e1\"}", 0, "", "id: expected an id from an earlier answer");
	asks("detect_intent", "{\"message\":\"run it\"}", HTTP_POST, "/v1/detect", "{\"message\":\"run it\"}");
	asks("container_list", "{}", HTTP_GET, "/containers", "");
	asks("container_start", "{\"container\":\"x\",\"ttl\":9}", HTTP_POST, "/containers/start",
	     "{\"container\":\"x\",\"ttl\":9}");
	asks("container_exec", "{\"id\":\"x\",\"command\":\"ls\"}", HTTP_POST, "/containers/exec",
	     "{\"id\":\"x\",\"command\":\"ls\"}");
	asks("container_stop", "{\"id\":\"x\"}", HTTP_POST, "/containers/stop", "{\"id\":\"x\"}");
}

static void every_definition_is_a_tool(void)
{
	json_t *list = tools_list(), *tool;
	size_t i;

	CHECK_INT(json_array_size(list), 13);
	json_array_foreach(list, i, tool) CHECK(tool_is_known(json_string_value(json_object_get(tool, "name"))));
	CHECK_INT(mcp_guide_count, 18);
	json_decref(list);
}

static json_t *run_result(size_t output, size_t errors, bool success)
{
	struct buf text = { 0 }, other = { 0 };
	json_t *result;

	for (size_t i = 0; text.size < output; i++)
		buf_printf(&text, "line %zu\n", i);
	for (size_t i = 0; other.size < errors; i++)
		buf_printf(&other, "error %zu\n", i);
	result = json_pack("{s:s, s:s, s:b, s:i, s:n, s:s, s:s, s:I, s:I, s:f, s:n, s:n, s:[], s:[]}", "id", "X",
			   "status", success ? "ok" : "failed", "success", (int)success, "exit_code", success ? 0 : 1,
			   "signal", "stdout", text.data ? text.data : "", "stderr", other.data ? other.data : "",
			   "stdout_bytes", (json_int_t)text.size, "stderr_bytes", (json_int_t)other.size,
			   "execution_time", 0.5, "error_message", "error", "outputs", "files");
	buf_free(&text);
	buf_free(&other);
	return result;
}

/* As a client without resource links gets it. */
static json_t *told(json_t *result, size_t tokens)
{
	return content_run(result, &(struct content_form){ .lead = "", .tokens = tokens });
}

static void budgets(void)
{
	static const size_t tokens[] = { 200, 500, 2000, 10000 };

	for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
		for (int ok = 0; ok < 2; ok++) {
			json_t *answer = told(run_result(200000, 200000, ok), tokens[i]);
			const json_t *block = json_array_get(json_object_get(answer, "content"), 0);
			const json_t *text = json_object_get(block, "text");

			/* The budget, and what names it: a few lines. */
			CHECK(json_string_length(text) < tokens[i] * CONTENT_TOKEN_BYTES + 700);
			CHECK(json_string_length(text) > tokens[i] * CONTENT_TOKEN_BYTES / 2);
			CHECK(strstr(json_string_value(text),
				     "bytes left out; get_output with id X, stream stdout, offset "));
			CHECK(strstr(json_string_value(text),
				     "bytes left out; get_output with id X, stream stderr, offset "));
			CHECK(json_is_true(json_object_get(answer, "isError")) == !ok);
			json_decref(answer);
		}
	}
}

/* A result that had left something out before a budget did: a head of 9000 bytes and a tail of 9000, of lines of ten
 * bytes each that say where they are. */
static json_t *cut_result(bool odd)
{
	struct buf text = { 0 };
	json_t *result = run_result(0, 0, true);

	for (int i = 0; i < 900; i++)
		buf_printf(&text, odd ? "%08d\xEF\xBF\xBD\n" : "%09d\n", i * 10);
	buf_text(&text, "\n... 82000 bytes left out ...\n");
	for (int i = 9100; i < 10000; i++)
		buf_printf(&text, odd ? "%08d\xEF\xBF\xBD\n" : "%09d\n", i * 10);
	json_object_set_new(result, "stdout", json_string(text.data ? text.data : ""));
	json_object_set_new(result, "stdout_bytes", json_integer(100000));
	json_object_set_new(result, "truncated", json_true());
	buf_free(&text);
	return result;
}

static void what_is_left_out_is_counted_once(void)
{
	static const size_t tokens[] = { 200, 1000, 3000, 4500, 5900, 6500, 20000 };

	for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]) * 2; i++) {
		const bool odd = i % 2;
		json_t *answer = told(cut_result(odd), tokens[i / 2]);
		const char *text = json_string_value(
			json_object_get(json_array_get(json_object_get(answer, "content"), 0), "text"));
		const char *head = strstr(text, "stdout:\n"), *mark = strstr(text, "[… "), *tail;
		long long left = 0, all = 0, offset = 0;

		CHECK(head && mark && !strstr(mark + 1, "[… ") && !strstr(text, "..."));
		if (!head || !mark)
			break;
		CHECK_INT(sscanf(mark,
				 "[… %lld of %lld bytes left out; get_output with id X, stream stdout, offset %lld",
				 &left, &all, &offset),
			  3);
		tail = strchr(mark, '\n') + 1;
		/* Each line is ten bytes, and the first after the gap says where it was. */
		CHECK_INT(all, 100000);
		CHECK_INT((mark - head - (long)strlen("stdout:\n")) / (odd ? 12 : 10) * 10, offset);
		CHECK_INT(atoll(tail), offset + left);
		CHECK(strlen(text) < tokens[i / 2] * CONTENT_TOKEN_BYTES + 400);
		CHECK(tokens[i / 2] < 10000 || (offset == 9000 && left == 82000));
		json_decref(answer);
	}
}

/* What is read of a result that has these members too. */
static void reads(json_t *result, json_t *more, const char *wanted)
{
	json_t *answer;

	json_object_update(result, more);
	json_decref(more);
	answer = told(result, 2000);
	CHECK_STR(json_string_value(json_object_get(json_array_get(json_object_get(answer, "content"), 0), "text")),
		  wanted);
	json_decref(answer);
}

static void nothing_is_said_twice(void)
{
	static const char stack[] = "node:internal/modules/cjs/loader:1210\n  throw err;\n  ^\n\nError: no\n"
				    "    at Module._load (node:internal/modules/cjs/loader:1038:27)\n"
				    "    at f (/sandbox/code/main.js:1:1)\n"
				    "    at node:internal/main/run_main_module:28:49 {\n  code: 'X'\n}\n";

	reads(run_result(0, 0, true), json_object(), "ok: exit code 0, 0.500 s\nno output\nid: X\n");
	reads(run_result(0, 0, true), json_pack("{s:[{s:s, s:i}]}", "files", "path", "a", "size", 3),
	      "ok: exit code 0, 0.500 s\nfiles in /sandbox/output: 1\n  a (3 bytes)\nid: X\n");
	/* A table that is printed, and one that is not. */
	reads(run_result(0, 0, true),
	      json_pack("{s:s, s:i, s:[{s:{s:[s]}}, {s:{s:[s]}}]}", "stdout", " a \n---\n 1\n", "stdout_bytes", 11,
			"outputs", "application/json", "columns", "a", "application/json", "columns", "b"),
	      "ok: exit code 0, 0.500 s\nresult:\n{\"columns\":[\"b\"]}\nstdout:\n a \n---\n 1\nid: X\n");
	/* The last line of what fits is not left out. */
	reads(run_result(0, 0, true), json_pack("{s:[{s:s}]}", "outputs", "text/plain", " a\n---\n(0 rows)"),
	      "ok: exit code 0, 0.500 s\nresult:\n a\n---\n(0 rows)\nid: X\n");
	/* Why it failed is told with the place; without one the errors say it; what they do not say is told. */
	reads(run_result(0, 0, false),
	      json_pack("{s:s, s:{s:s, s:s, s:s, s:i, s:s}}", "error_message", "Execution failed: E: no", "error",
			"type", "E", "message", "no", "file", "main.py", "line", 2, "suggestion", "Do."),
	      "failed: exit code 1, 0.500 s\nmain.py:2: E: no\nsuggestion: Do.\nno output\nid: X\n");
	reads(run_result(0, 0, false),
	      json_pack("{s:s, s:s, s:i, s:{s:s, s:s, s:s}}", "error_message", "Execution failed: sh: no", "stderr",
			"sh: no\n", "stderr_bytes", 7, "error", "type", "ShellError", "message", "sh: no", "suggestion",
			"Do."),
	      "failed: exit code 1, 0.500 s\nsuggestion: Do.\nstderr:\nsh: no\nid: X\n");
	reads(run_result(0, 0, false),
	      json_pack("{s:s, s:{s:s, s:s}}", "error_message", "Execution failed: ended by a signal", "error", "type",
			"SIGSEGV", "message", ""),
	      "failed: exit code 1, 0.500 s\nExecution failed: ended by a signal\nno output\nid: X\n");
	/* Frames of Node are none of the program's; in another language the same text is. */
	reads(run_result(0, 0, false),
	      json_pack("{s:s, s:s, s:i}", "language", "javascript", "stderr", stack, "stderr_bytes",
			(int)strlen(stack)),
	      "failed: exit code 1, 0.500 s\nstderr:\nError: no\n    at f (/sandbox/code/main.js:1:1)\n    {\n"
	      "  code: 'X'\n}\nid: X\n");
	reads(run_result(0, 0, false),
	      json_pack("{s:s, s:s, s:i}", "language", "python", "stderr", "  at (node:internal/x)\n", "stderr_bytes",
			23),
	      "failed: exit code 1, 0.500 s\nstderr:\n  at (node:internal/x)\nid: X\n");
}

/* A picture is a block of content and nothing else: a structure that is read as text has no base64 in it. Files are
 * named, and linked only for who takes links. */
static void pictures_come_once_and_links_when_wanted(void)
{
	for (int links = 0; links < 2; links++) {
		json_t *result = run_result(0, 0, true), *answer, *content, *outputs;

		json_object_set_new(result, "outputs",
				    json_pack("[{s:s, s:s}]", "image/png", "iVBORw0K", "text/plain", "<Figure>"));
		json_object_set_new(result, "files",
				    json_pack("[{s:s, s:i, s:b}]", "path", "a b", "size", 3, "kept", 1));
		answer = content_run(result, &(struct content_form){ .lead = "", .tokens = 2000, .links = links == 1 });
		content = json_object_get(answer, "content");
		outputs = json_object_get(json_object_get(answer, "structuredContent"), "outputs");
		CHECK_INT(json_array_size(content), 2 + links);
		CHECK_STR(json_string_value(json_object_get(json_array_get(content, 1), "data")), "iVBORw0K");
		CHECK(json_is_null(json_object_get(json_array_get(outputs, 0), "image/png")));
		CHECK_STR(json_string_value(json_object_get(json_array_get(outputs, 0), "text/plain")), "<Figure>");
		CHECK(strstr(json_string_value(json_object_get(json_array_get(content, 0), "text")),
			     "  a b (3 bytes)"));
		if (links)
			CHECK_STR(json_string_value(json_object_get(json_array_get(content, 2), "uri")),
				  "emberbox://execution/X/output/a%20b");
		json_decref(answer);
	}
}

static void clients_say_that_they_take_links(void)
{
	static const struct {
		const char *capabilities; /* of a client */
		bool takes;               /* links */
	} cases[] = {
		{ "{\"experimental\":{\"emberbox/resource-links\":{}}}", true },
		{ "{\"extensions\":{\"emberbox/resource-links\":{}}}", true },
		{ "{\"experimental\":{\"emberbox/resource-links\":true}}", false },
		{ "{\"experimental\":[\"emberbox/resource-links\"]}", false },
		{ "{\"resources\":{},\"elicitation\":{}}", false },
		{ "[]", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *capabilities = json_loads(cases[i].capabilities, 0, NULL);

		CHECK_INT(mcp_client_takes_links(capabilities), cases[i].takes);
		json_decref(capabilities);
	}
	CHECK(!mcp_client_takes_links(NULL));
}

static void a_huge_result_fits_a_line(void)
{
	json_t *answer = told(run_result(12 << 20, 0, true), 2000);

	CHECK(json_dumpb(answer, NULL, 0, JSON_COMPACT) < CONTENT_MESSAGE_MAX);
	CHECK(json_is_true(json_object_get(json_object_get(answer, "structuredContent"), "truncated")));
	json_decref(answer);
}

static void pages_end_with_whole_characters(void)
{
	bool text;

	CHECK_INT(content_whole("aé", 3, &text), 3);
	CHECK(text);
	CHECK_INT(content_whole("aé", 2, &text), 1);
	CHECK(text);
	CHECK_INT(content_whole("\xff\xfe", 2, &text), 1);
	CHECK(!text);
	CHECK_INT(content_whole("", 0, &text), 0);
	CHECK(text);
}

int main(void)
{
	RUN(messages);
	RUN(bounds);
	RUN(encoded);
	RUN(eras);
	RUN(arguments_that_are_headers);
	RUN(agreements);
	RUN(schemas);
	RUN(addresses);
	RUN(requests);
	RUN(every_definition_is_a_tool);
	RUN(budgets);
	RUN(what_is_left_out_is_counted_once);
	RUN(nothing_is_said_twice);
	RUN(pictures_come_once_and_links_when_wanted);
	RUN(clients_say_that_they_take_links);
	RUN(a_huge_result_fits_a_line);
	RUN(pages_end_with_whole_characters);
	return check_failures != 0;
}
