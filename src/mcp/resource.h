/*
 * Resources and their addresses. Pure.
 *
 *	emberbox://runtime/NAME               how an assistant uses a language well: its SYSTEM.md
 *	emberbox://session/ID/output/PATH     a file below /sandbox/output of a session
 *	emberbox://execution/ID/output/PATH   a file that a run left there
 */
#pragma once

#include "mcp/tables.h"

#include <jansson.h>
#include <stdbool.h>

enum {
	RESOURCE_URI_MAX = 3328, /* bytes of an address: a path may have to be escaped whole */
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
	char id[RESOURCE_ID_MAX];     /* a language, a session or a run */
	char path[RESOURCE_PATH_MAX]; /* below /sandbox/output; "" of a language */
};

/* The address; false: it is too long. */
bool resource_uri(enum resource_kind kind, const char *id, const char *path, char out[RESOURCE_URI_MAX]);
/* The other way; false: it is none of these. */
bool resource_parse(const char *uri, struct resource *out);

/* A language's guide; NULL: there is none. */
const struct mcp_guide *guide_find(const char *language);
/* What a client tells its model about this server: made of the guides. The caller frees; NULL without memory. */
char *guide_instructions(void);
/* The guides, as resources/list has them; and what can be made of addresses. */
json_t *resource_guides(void);
json_t *resource_templates(void);
/* One file of a session, for resources/list. */
json_t *resource_file(const char *session, const char *path, json_int_t size);
