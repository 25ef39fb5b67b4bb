/*
 * Whether what was typed so far is a whole cell, or more lines have to come.
 *
 * Simple rules by the family of the language: brackets, quotes and comments,
 * words that open and close blocks, an operator or a backslash at the end. Not
 * a parser: where it cannot tell, the cell is taken for whole, and the language
 * says what is wrong with it. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum unfinished {
	UNFINISHED_NOT,   /* it can be run */
	UNFINISHED_OPEN,  /* something is open: a bracket, a quote, a block with a word at its end */
	UNFINISHED_BLOCK, /* it could be run, but may go on: an empty line ends it */
};

/* `language` is its name; of one that is not known, brackets and quotes are looked at. */
enum unfinished unfinished(const char *language, const char *text, size_t size);
/* Of a program that comes through a pipe: whether `line` goes on with the cell before it, which is UNFINISHED_BLOCK.
 * Both are terminated. */
bool unfinished_goes_on(const char *language, const char *cell, const char *line);
/* How a comment begins: "#", "//" or "--". */
const char *unfinished_comment(const char *language);
