/* What the files of the tools share. */
#pragma once

#include "mcp/tool.h"

struct tool {
	const char *name; /* as api/tools has it */
	/* The request of call->step. */
	int (*ask)(struct tool_call *call, struct tool_request *request, struct error *err);
	/* The result of a good answer; NULL: call->step was set to the next. */
	json_t *(*told)(struct tool_call *call, const struct tool_answer *answer);
};

const char *tool_argument(const struct tool_call *call, const char *name);
/* The arguments as a body, but for those of MCP's own; with a confirmation, if there is one. */
int tool_post_arguments(struct tool_call *call, const char *path, struct tool_request *request, struct error *err);
/* An id stands in a path: nothing else may be made of it. */
int tool_take_id(const struct tool_call *call, const char *name, char out[64], struct error *err);
json_t *tool_load(const struct tool_answer *answer);
json_t *tool_no_answer(void);

/* tool_judge.c: a look before a run, and one after it. */
int tool_ask_check(struct tool_call *call, struct tool_request *request, struct error *err);
json_t *tool_told_check(struct tool_call *call, const struct tool_answer *answer);
int tool_ask_detect(struct tool_call *call, struct tool_request *request, struct error *err);
json_t *tool_told_detect(struct tool_call *call, const struct tool_answer *answer);
int tool_ask_report(struct tool_call *call, struct tool_request *request, struct error *err);
json_t *tool_told_report(struct tool_call *call, const struct tool_answer *answer);
