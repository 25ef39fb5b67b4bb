/* What MCP's surface is made of, as data: api/tools/ and runtimes/NAME/SYSTEM.md, by tools/mcp_gen.c at build time. */
#pragma once

#include <stddef.h>

struct mcp_definition {
	const char *name; /* of the tool: its file's */
	const char *json; /* as tools/list has it: valid, compact */
};

struct mcp_guide {
	const char *language; /* whose: its folder's name */
	const char *text;     /* Markdown; its first line is "# Title", its first paragraph says what it is for */
};

/* Sorted by name. */
extern const struct mcp_definition mcp_definitions[];
extern const size_t mcp_definition_count;
extern const struct mcp_guide mcp_guides[];
extern const size_t mcp_guide_count;
