/*
 * Filters the output of programs for a terminal.
 *
 * Colours and cursor movement are allowed, because progress bars need them.
 * Removed are sequences that make a terminal answer (the answer would be read
 * as input), set its title or clipboard, print, load a font, or change its
 * mode, and sequences that do not end. The filter is a state machine; the input
 * may be split anywhere.
 *
 * Other text (sentences, reports, JSON) goes through filter_text().
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	FILTER_SEQUENCE_MAX = 64, /* bytes of an escape sequence that can pass */
};

struct filter {
	int state;                          /* state in a sequence; 0: plain text */
	char sequence[FILTER_SEQUENCE_MAX]; /* the sequence so far */
	size_t size;                        /* its bytes */
	bool painted;                       /* colours or the cursor were changed */
	bool open_line;                     /* the last line has no line end */
};

/* Appends the allowed parts of `data` to `out`. Invalid UTF-8 is passed unchanged. */
void filter_take(struct filter *filter, const char *data, size_t size, struct buf *out);
/* Appends a text of ours that may contain untrusted quotes. Line ends and tabs pass. Other control characters (C0, DEL,
 * C1, and changes of the direction of writing) become \u001b and so on, which JSON readers decode; invalid UTF-8
 * becomes U+FFFD. `painted`: our own colours (term/cells.h) pass too, for texts whose quotes went through
 * text_line(). */
void filter_text(const char *text, bool painted, struct buf *out);
/* At the end of a program's output: resets colours and cursor, and starts a new line if necessary. */
void filter_end(struct filter *filter, struct buf *out);
