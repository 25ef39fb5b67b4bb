/*
 * The caller's own terminal while a program in a box has one (-t).
 *
 * Ours becomes a wire: every key goes through as a byte, and it is the terminal
 * in the box that echoes, edits lines and makes signals of Ctrl-C. So it has to
 * be put back on every way out, also those that a signal takes.
 */
#pragma once

#include <stdbool.h>

/* The size of the terminal that one of 0, 1, 2 is; false: none of them is one. */
bool terminal_size(unsigned *rows, unsigned *columns);

/* From here on changes of the size are written to a pipe, whose reading end this returns (-1 with errno); with `keys`
 * the terminal at 0 is a wire. */
int terminal_open(bool keys);
/* Puts it back as it was; more than once does no harm. A signal handler may call it. */
void terminal_restore(void);
