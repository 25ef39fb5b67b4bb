/*
 * The caller's terminal while a program in a box has one (-t).
 *
 * It is set to raw mode: every key is passed on as a byte, and the terminal in
 * the box echoes, edits lines and generates signals. So the mode has to be
 * restored at every exit, including by a signal.
 */
#pragma once

#include <stdbool.h>

/* The size of the terminal at 0, 1 or 2. False: none of them is one. */
bool terminal_size(unsigned *rows, unsigned *columns);

/* Starts writing changes of the size to a pipe, whose reading end it returns (-1 with errno). With `keys`, sets the
 * terminal at 0 to raw mode. */
int terminal_open(bool keys);
/* Restores the mode; may be called several times and from signal handlers. */
void terminal_restore(void);
