/* The outer side of a box's terminal: what the supervisor does with it besides reading and writing. */
#pragma once

#include "base/terminal_size.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/*
 * After that. A program that edits lines itself, as readline does, has not heard
 * an end that was typed before it began to: Linux keeps a Ctrl-D as the end of a
 * line that it edits, and gives it as a NUL to who does not want lines any more.
 * So it is typed again while the terminal is such a program's, ever more rarely.
 */
struct terminal_again {
	uint64_t due_usec;  /* when it is looked at next; 0: never */
	uint64_t wait_usec; /* and how long after that once more */
	bool line_open;     /* the last line has no end yet */
};
/* The end was typed; `size` is what terminal_end() returned. */
void terminal_again_begin(struct terminal_again *again, size_t size, uint64_t now);
/* To be called when it is due, and at any other time; the terminal does not block. */
void terminal_again_on_time(struct terminal_again *again, int terminal, uint64_t now);
