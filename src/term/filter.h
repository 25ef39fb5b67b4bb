/*
 * What a program prints, before it reaches a person's terminal.
 *
 * Colours, and moving about within what was printed, are fine: progress bars
 * need it. What makes a terminal answer (its answer would be typed at the next
 * prompt), set its title or clipboard, print, load a font or change its mode is
 * taken out, and so is what never ends. A state machine that is fed piece by
 * piece; the pieces may be cut anywhere.
 *
 * What is no program's output needs none of that: sentences, reports and JSON go
 * through filter_text().
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	FILTER_SEQUENCE_MAX = 64, /* bytes of an escape sequence that is let through */
};

struct filter {
	int state;                          /* where in a sequence; 0: in plain text */
	char sequence[FILTER_SEQUENCE_MAX]; /* it so far */
	size_t size;                        /* of that */
	bool painted;                       /* colours or the cursor were changed */
	bool open_line;                     /* the last line has no end */
};

/* Adds what may be printed to `out`. UTF-8; what is not is left as it is. */
void filter_take(struct filter *filter, const char *data, size_t size, struct buf *out);
/* Adds a whole text of ours that may quote strangers. Line ends and tabs pass; any other control character (C0, DEL,
 * C1, and those that change the direction of writing) becomes \u001b and its like, which JSON reads as what it was;
 * what is no UTF-8 becomes U+FFFD. `painted`: our own colours (term/cells.h) pass too, for texts whose quotes went
 * through text_line() before. */
void filter_text(const char *text, bool painted, struct buf *out);
/* The end of a program's output: colours and cursor as they were, at the beginning of a line. */
void filter_end(struct filter *filter, struct buf *out);
