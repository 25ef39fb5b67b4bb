/*
 * What a model reads: results and refusals of the service as the content of MCP,
 * compact and within a budget. Pure.
 *
 * The budget is of text. A page of a long output is its head and its tail, with
 * a line between them that says how much is left out and how to get it.
 */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CONTENT_TOKENS = 2000,         /* of text, unless the caller says otherwise */
	CONTENT_TOKEN_BYTES = 3,       /* bytes that a token stands for, rather too few than too many */
	CONTENT_IMAGE_MAX = 4 << 20,   /* characters of a picture in base64 */
	CONTENT_MESSAGE_MAX = 8 << 20, /* bytes of a result: clients give up on a line of 10 MiB */
};

/* A text's JSON, with what is no UTF-8 replaced. */
json_t *content_text(const char *text, size_t size);
/* {type: "text"}. */
json_t *content_block(const char *text, size_t size);
/* {content, isError: true}: a sentence. */
json_t *content_refusal(const char *sentence);
/* How a run is told. */
struct content_form {
	const char *lead; /* "" or a line to begin with */
	json_t *pictures; /* blocks to add, not taken; NULL: none */
	size_t tokens;    /* of text, at most */
	bool links;       /* the client takes resource links */
};

/* {content, structuredContent, isError} of a run's result, which is taken. */
json_t *content_run(json_t *result, const struct content_form *form);
/* The same of any other object that answers, with a text for who reads no structures. */
json_t *content_answer(json_t *structured, const char *text, size_t size);
/* A picture's media type by its name; NULL: it is none. */
const char *content_image_type(const char *path);
/* How many of these bytes, at most, are whole characters; `*text` says whether they are UTF-8 at all, but for a
 * character that is cut at the end. */
size_t content_whole(const char *data, size_t size, bool *text);
