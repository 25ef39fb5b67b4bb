/* Shared by the files of the tools. */
#pragma once

#include "mcp/tool.h"

struct tool {
	const char *name; /* name in api/tools */
	/* Makes the request of call->step. */
	int (*ask)(struct tool_call *call, struct tool_request *request, struct error *err);
	/* The result of a successful answer; NULL: call->step is now the next one. */
	json_t *(*told)(struct tool_call *call, const struct tool_answer *answer);
};

const char *tool_argument(const struct tool_call *call, const char *name);
/* The arguments as a body, without MCP's own, and with a confirmation if there is one. */
int tool_post_arguments(struct tool_call *call, const char *path, struct tool_request *request, struct error *err);
/* The id becomes part of a path, so it must be a plain id. */
int tool_take_id(const struct tool_call *call, const char *name, char out[64], struct error *err);
json_t *tool_load(const struct tool_answer *answer);
json_t *tool_no_answer(void);

/* tool_judge.c. */
int tool_ask_check(struct tool_call *call, struct tool_request *request, struct error *err);
json_t *tool_told_check(struct tool_call *call, const struct tool_answer *answer);
int tool_ask_detect(struct tool_call *call, struct tool_request *request, struct error *err);
json_t *tool_told_detect(struct tool_call *call, const struct tool_answer *answer);
int tool_ask_report(struct tool_call *call, struct tool_request *request, struct error *err);
json_t *tool_told_report(struct tool_call *call, const struct tool_answer *answer);
