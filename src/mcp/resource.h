/*
 * Resources and their addresses. Pure.
 *
 *	emberbox://runtime/NAME               instructions for a language: its SYSTEM.md
 *	emberbox://session/ID/output/PATH     a file below /sandbox/output of a session
 *	emberbox://execution/ID/output/PATH   a file that a run wrote there
 */
#pragma once

#include "mcp/tables.h"

#include <jansson.h>
#include <stdbool.h>

enum {
	RESOURCE_URI_MAX = 3328, /* bytes of an address: every byte of a path may be encoded */
	RESOURCE_ID_MAX = 64,
	RESOURCE_PATH_MAX = 1024,
};

enum resource_kind {
	RESOURCE_RUNTIME,
	RESOURCE_SESSION,
	RESOURCE_EXECUTION,
};

struct resource {
	enum resource_kind kind;
	char id[RESOURCE_ID_MAX];     /* id of a language, a session or a run */
	char path[RESOURCE_PATH_MAX]; /* below /sandbox/output; "" for a language */
};

/* Writes the address. False if it is too long. */
bool resource_uri(enum resource_kind kind, const char *id, const char *path, char out[RESOURCE_URI_MAX]);
/* Parses an address. False if it is none of these. */
bool resource_parse(const char *uri, struct resource *out);

/* The guide of a language; NULL: there is none. */
const struct mcp_guide *guide_find(const char *language);
/* The server's instructions for models, generated from the guides. The caller frees them; NULL if memory ran out. */
char *guide_instructions(void);
/* The guides for resources/list, and the templates of addresses. */
json_t *resource_guides(void);
json_t *resource_templates(void);
/* A session's file for resources/list. */
json_t *resource_file(const char *session, const char *path, json_int_t size);
