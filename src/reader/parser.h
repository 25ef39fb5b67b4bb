/* The modified parser of parser.c. Its other functions are tree-sitter's. */
#pragma once

#include <tree_sitter/api.h>

/* Replaces ts_parser_new(). */
TSParser *parser_new(void);
