/* Text in a terminal: its width in cells, and its colours. Pure. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum paint {
	PAINT_NONE,
	PAINT_GOOD,  /* green */
	PAINT_BAD,   /* red */
	PAINT_LIMIT, /* yellow: ended by a limit or by the user */
	PAINT_DIM,   /* less important text */
	PAINT_BOLD,  /* titles */
	PAINT_CYAN,  /* bars */
};

/* Decodes one character of text that is terminated by a NUL and may be invalid UTF-8. Returns its bytes. An invalid
 * byte is U+FFFD. */
size_t text_rune(const unsigned char *at, uint32_t *rune);
/* Whether the character controls a terminal: C0, DEL, C1, and changes of the direction of writing. */
bool text_is_control(uint32_t rune);
size_t rune_cells(uint32_t rune);
/* The number of cells of a text. */
size_t text_cells(const char *text);
/* The first line of a text without control characters, truncated to `cells` with an ellipsis; 0: not truncated. */
void text_line(const char *text, size_t cells, struct buf *out);
/* The escape sequence that starts a colour, "" for none. */
const char *paint_begin(enum paint paint, bool colour);
const char *paint_end(enum paint paint, bool colour);
