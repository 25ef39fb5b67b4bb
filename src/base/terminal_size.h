/* The size of a terminal, as every process between a person and a box's terminal passes it on. */
#pragma once

#include <stdint.h>

/* Written in one piece to a pipe, whose reader has the terminal. */
struct terminal_size {
	uint16_t rows;    /* lines */
	uint16_t columns; /* characters of one */
};
