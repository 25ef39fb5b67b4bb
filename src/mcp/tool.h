/*
 * A tool call as requests to the service, one after the other, and their answers
 * as the tool's result. Pure: who asks is daemon/front/front_mcp.c.
 *
 *	tool_begin(), then for each request its answer to tool_answer(), until
 *	that has a result.
 */
#pragma once

#include "base/error.h"
#include "http/http.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum {
	TOOL_PATH_MAX = 1280,    /* bytes of a path: that of a file, and what is before it */
	TOOL_QUERY_MAX = 1024,   /* bytes of a query */
	TOOL_CONFIRM_MAX = 128,  /* bytes of a confirmation */
	TOOL_FILE_MAX = 4 << 20, /* bytes of a file that is read at once */
};

struct tool;

/* What to ask of the service: one of its paths. */
struct tool_request {
	enum http_method method;
	char path[TOOL_PATH_MAX];   /* decoded */
	char query[TOOL_QUERY_MAX]; /* as in an address */
	char range[64];             /* a Range field, or "" */
	char *body;                 /* owned; NULL: none */
	size_t size;                /* of it */
};

/* What it said. */
struct tool_answer {
	int status;       /* of HTTP */
	const char *body; /* as it came */
	size_t size;      /* of it */
	uint64_t total;   /* of a part of a file: the size of all of it; 0: not said */
};

struct tool_call {
	const struct tool *tool;        /* which; NULL: none */
	json_t *arguments;              /* owned */
	json_t *kept;                   /* of an earlier answer; owned */
	json_t *pictures;               /* blocks of content, found so far; owned */
	size_t tokens;                  /* of text that the result may have */
	uint64_t shown_max;             /* bytes of a stream that a result may show; 0: as many as it can */
	bool links;                     /* the client takes resource links */
	int step;                       /* which request it is at */
	char session[64];               /* the id of one that it made, or works in */
	char confirm[TOOL_CONFIRM_MAX]; /* that a person agreed; "": nobody was asked */
};

/* All of them, as tools/list has them: parsed once. NULL without memory. */
json_t *tools_list(void);
bool tool_is_known(const char *name);
/* The first request of a call. The arguments are not taken, and may be NULL or null; `shown_max` is what the caller's
 * token bounds the shown part of a stream to, 0: nothing does. -1: they are not as the schema says. */
int tool_begin(struct tool_call *call, const json_t *tools, const char *name, json_t *arguments, uint64_t shown_max,
	       struct tool_request *request, struct error *err);
/* The same request again, now that a person has agreed. */
int tool_again(struct tool_call *call, struct tool_request *request, struct error *err);
/* The result of the call, {content, structuredContent?, isError?}; NULL: *request is the next thing to ask. */
json_t *tool_answer(struct tool_call *call, const struct tool_answer *answer, struct tool_request *request);
void tool_call_free(struct tool_call *call);
void tool_request_free(struct tool_request *request);
/* The sentence of a refusal, {"error": {…}}. */
void tool_refusal(const struct tool_answer *answer, char *sentence, size_t size);
