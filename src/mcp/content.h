/*
 * Results and errors of the service as MCP content for a model, within a
 * budget. Pure.
 *
 * The budget counts text. Of a long output, the head and the tail are shown,
 * with a line between them that says how much is left out and how to read it.
 */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CONTENT_TOKENS = 2000,         /* default budget of text */
	CONTENT_TOKEN_BYTES = 3,       /* bytes per token; a low estimate */
	CONTENT_IMAGE_MAX = 4 << 20,   /* characters of a picture in base64 */
	CONTENT_MESSAGE_MAX = 8 << 20, /* bytes of a result: clients refuse lines of 10 MiB */
};

/* A JSON string; invalid UTF-8 is replaced. */
json_t *content_text(const char *text, size_t size);
/* {type: "text"}. */
json_t *content_block(const char *text, size_t size);
/* {content, isError: true} with a sentence. */
json_t *content_refusal(const char *sentence);
/* How to show a run. */
struct content_form {
	const char *lead; /* "" or a first line */
	json_t *pictures; /* blocks to append, not taken; NULL: none */
	size_t tokens;    /* budget of text */
	bool links;       /* the client accepts resource links */
};

/* {content, structuredContent, isError} of a run's result, which it takes. */
json_t *content_run(json_t *result, const struct content_form *form);
/* content_run() for another object, with a text for clients that ignore structured content. */
json_t *content_answer(json_t *structured, const char *text, size_t size);
/* The media type of an image by its name; NULL: not an image. */
const char *content_image_type(const char *path);
/* How many of these bytes, at most, are complete characters; `*text` says whether they are UTF-8, apart from a
 * truncated last character. */
size_t content_whole(const char *data, size_t size, bool *text);
