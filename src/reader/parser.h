/* The parser as a reader has it: parser.c. All else of it is tree-sitter's own. */
#pragma once

#include <tree_sitter/api.h>

/* Instead of ts_parser_new(). */
TSParser *parser_new(void);
