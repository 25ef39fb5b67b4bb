/* The outer side of a box's terminal: what the supervisor does with it besides reading and writing. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A size as it travels to who holds the terminal: written in one piece to a pipe. */
struct terminal_size {
	uint16_t rows;    /* lines */
	uint16_t columns; /* characters of one */
};

/* Takes all sizes that wait in a pipe, and gives the terminal the last of them; who runs there gets SIGWINCH. 0, or -1
 * when no more will come. */
int terminal_follow(int terminal, int pipe);

enum {
	TERMINAL_END_MAX = 3 /* bytes */
};
/* What is typed for the end of the input after `last` (0: nothing was typed yet): Ctrl-D, as the program has it.
 * Inside a line the first only sends what there is, the next is the end, and Python's input() asks once more. How many
 * bytes. */
size_t terminal_end(int terminal, char last, char out[TERMINAL_END_MAX]);
