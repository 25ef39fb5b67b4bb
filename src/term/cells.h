/* Text as a terminal shows it: how many cells it takes, and in which colour. Pure. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum paint {
	PAINT_NONE,
	PAINT_GOOD,  /* green */
	PAINT_BAD,   /* red */
	PAINT_LIMIT, /* yellow: a limit or somebody ended it */
	PAINT_DIM,   /* what matters less */
	PAINT_BOLD,  /* titles */
	PAINT_CYAN,  /* bars */
};

/* One character of valid or invalid UTF-8, terminated by a NUL somewhere; its bytes. What is not valid is one byte,
 * U+FFFD. */
size_t text_rune(const unsigned char *at, uint32_t *rune);
/* Whether it steers a terminal: C0, DEL, C1, and what changes the direction of writing. */
bool text_is_control(uint32_t rune);
size_t rune_cells(uint32_t rune);
/* The cells of a terminal that a text takes. */
size_t text_cells(const char *text);
/* One line of a text without control characters, cut to so many cells with an ellipsis; 0: not cut. */
void text_line(const char *text, size_t cells, struct buf *out);
/* The escape that begins a colour, "" for none. */
const char *paint_begin(enum paint paint, bool colour);
const char *paint_end(enum paint paint, bool colour);
