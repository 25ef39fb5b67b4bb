/* Checks before a run and reports after it: check_code, detect_intent, get_report. */
#include "base/buf.h"
#include "base/own.h"
#include "mcp/content.h"
#include "mcp/tool_parts.h"
#include "mcp/words.h"

#include <stdio.h>

int tool_ask_check(struct tool_call *call, struct tool_request *request, struct error *err)
{
	return tool_post_arguments(call, "/v1/check", request, err);
}

json_t *tool_told_check(struct tool_call *call, const struct tool_answer *answer)
{
	json_t *body = tool_load(answer);
	_cleanup_buf_ struct buf text = { 0 };

	words_check(body, call->tokens * CONTENT_TOKEN_BYTES, &text);
	if (json_is_object(body) && text.data)
		return content_answer(body, text.data, text.size);
	json_decref(body);
	return tool_no_answer();
}

int tool_ask_detect(struct tool_call *call, struct tool_request *request, struct error *err)
{
	return tool_post_arguments(call, "/v1/detect", request, err);
}

json_t *tool_told_detect(struct tool_call *call, const struct tool_answer *answer)
{
	json_t *body = tool_load(answer), *block;
	const char *reason = json_string_value(json_object_get(body, "reason"));
	_cleanup_buf_ struct buf text = { 0 };
	size_t i;

	(void)call;
	if (!reason) {
		json_decref(body);
		return tool_no_answer();
	}
	buf_printf(&text, "%s (%.2f): %s\n", json_is_true(json_object_get(body, "execute")) ? "yes" : "no",
		   json_number_value(json_object_get(body, "confidence")), reason);
	json_array_foreach(json_object_get(body, "blocks"), i, block)
	{
		const char *language = json_string_value(json_object_get(block, "language"));

		buf_printf(&text, "block %zu: %s, %zu bytes\n", i + 1, language ? language : "no known language",
			   json_string_length(json_object_get(block, "code")));
	}
	return content_answer(body, text.data ? text.data : "", text.size);
}

int tool_ask_report(struct tool_call *call, struct tool_request *request, struct error *err)
{
	char id[64];

	if (tool_take_id(call, "id", id, err) < 0)
		return -1;
	request->method = HTTP_GET;
	snprintf(request->path, sizeof(request->path), "/v1/executions/%s/report", id);
	snprintf(request->query, sizeof(request->query), "format=markdown");
	return 0;
}

/* The beginning matters most: the failure, the code, the output. */
json_t *tool_told_report(struct tool_call *call, const struct tool_answer *answer)
{
	size_t room = call->tokens * CONTENT_TOKEN_BYTES, size = answer->size;
	_cleanup_buf_ struct buf text = { 0 };
	bool is_text;

	if (size > room)
		size = content_whole(answer->body, room, &is_text);
	buf_add(&text, answer->body, size);
	if (size < answer->size)
		buf_printf(&text, "\n[… %zu of %zu bytes left out; ask again with a larger max_tokens …]\n",
			   answer->size - size, answer->size);
	return content_answer(json_pack("{s:s, s:o, s:b}", "id", tool_argument(call, "id"), "markdown",
					content_text(answer->body, size), "truncated", size < answer->size),
			      text.data ? text.data : "", text.size);
}
