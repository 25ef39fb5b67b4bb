/* The data of MCP: api/tools/ and runtimes/NAME/SYSTEM.md, converted by tools/mcp_gen.c at build time. */
#pragma once

#include <stddef.h>

struct mcp_definition {
	const char *name; /* name of the tool: that of its file */
	const char *json; /* entry of tools/list: valid, compact */
};

struct mcp_guide {
	const char *language; /* name of the language's folder */
	const char *text;     /* Markdown; its first line is "# Title", its first paragraph a summary */
};

/* Sorted by name. */
extern const struct mcp_definition mcp_definitions[];
extern const size_t mcp_definition_count;
extern const struct mcp_guide mcp_guides[];
extern const size_t mcp_guide_count;
