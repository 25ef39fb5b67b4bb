/* How long something takes for each of the files that are named: the loop of check_ours.c and check_bare.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* One look at a source; false: it could not. */
typedef bool check_look(const char *source, size_t size);

/* argv: ROUNDS FILE…; a line for each file: the median and the least of the rounds, in milliseconds. */
int check_times(int argc, char **argv, check_look *look);
