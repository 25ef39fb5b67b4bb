/*
 * Decides whether the typed lines form a complete cell.
 *
 * Simple rules by the family of the language: brackets, quotes and comments,
 * words that open and close blocks, an operator or a backslash at the end. This
 * is no parser: in doubt the cell counts as complete, and the language reports
 * an error. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum unfinished {
	UNFINISHED_NOT,   /* complete */
	UNFINISHED_OPEN,  /* open: a bracket, a quote, or a block that needs an end word */
	UNFINISHED_BLOCK, /* complete, but may continue: an empty line ends it */
};

/* `language` is a name; for an unknown one, only brackets and quotes count. */
enum unfinished unfinished(const char *language, const char *text, size_t size);
/* For a program from a pipe: whether `line` continues the cell before it, which is UNFINISHED_BLOCK. Both are
 * terminated. */
bool unfinished_goes_on(const char *language, const char *cell, const char *line);
/* The start of a comment: "#", "//" or "--". */
const char *unfinished_comment(const char *language);
