/* The size of a terminal, as the processes between a user and a box's terminal pass it on. */
#pragma once

#include <stdint.h>

/* Written as a whole to a pipe; the reader of the pipe owns the terminal. */
struct terminal_size {
	uint16_t rows;    /* lines */
	uint16_t columns; /* characters in a line */
};
