/*
 * Runs a tool call as a sequence of requests to the service. Pure:
 * daemon/front/front_mcp.c sends the requests.
 *
 *	tool_begin(), then tool_answer() with the answer to each request,
 *	until there is a result.
 */
#pragma once

#include "base/error.h"
#include "http/http.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum {
	TOOL_PATH_MAX = 1280,    /* bytes of a path, including the path of a file */
	TOOL_QUERY_MAX = 1024,   /* bytes of a query */
	TOOL_CONFIRM_MAX = 128,  /* bytes of a confirmation */
	TOOL_FILE_MAX = 4 << 20, /* bytes of a file that is read in one call */
};

struct tool;

/* A request to the service. */
struct tool_request {
	enum http_method method;
	char path[TOOL_PATH_MAX];   /* decoded */
	char query[TOOL_QUERY_MAX]; /* encoded, as in a URL */
	char range[64];             /* a Range field, or "" */
	char *body;                 /* owned; NULL: none */
	size_t size;                /* bytes */
};

/* The service's answer. */
struct tool_answer {
	int status;       /* HTTP status */
	const char *body; /* body, unparsed */
	size_t size;      /* bytes */
	uint64_t total;   /* for a part of a file: the size of the whole file; 0: unknown */
};

struct tool_call {
	const struct tool *tool;        /* the tool; NULL: none */
	json_t *arguments;              /* owned */
	json_t *kept;                   /* data from an earlier answer; owned */
	json_t *pictures;               /* content blocks with images, found so far; owned */
	size_t tokens;                  /* budget of the result's text */
	uint64_t shown_max;             /* maximum bytes of a stream in a result; 0: no limit */
	bool links;                     /* the client accepts resource links */
	int step;                       /* number of the current request */
	char session[64];               /* id of the session that the call created or uses */
	char confirm[TOOL_CONFIRM_MAX]; /* confirmation of a person; "": nobody was asked */
};

/* All tools for tools/list, parsed once. NULL if memory ran out. */
json_t *tools_list(void);
bool tool_is_known(const char *name);
/* Starts a call. The arguments are not taken, and may be NULL or null; `shown_max` is the token's limit for the output
 * of a stream, 0: none. -1: the arguments do not match the schema. */
int tool_begin(struct tool_call *call, const json_t *tools, const char *name, json_t *arguments, uint64_t shown_max,
	       struct tool_request *request, struct error *err);
/* Repeats the request after a person has approved it. */
int tool_again(struct tool_call *call, struct tool_request *request, struct error *err);
/* The result of the call, {content, structuredContent?, isError?}, or NULL: send *request next. */
json_t *tool_answer(struct tool_call *call, const struct tool_answer *answer, struct tool_request *request);
void tool_call_free(struct tool_call *call);
void tool_request_free(struct tool_request *request);
/* The sentence of an error answer, {"error": {…}}. */
void tool_refusal(const struct tool_answer *answer, char *sentence, size_t size);
