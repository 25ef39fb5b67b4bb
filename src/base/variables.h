/* The environment of a process that is started with few of this one's variables. */
#pragma once

enum {
	VARIABLES_MAX = 24 /* variables that are kept */
};

/* The variables with these names, for execve(). They stay where they are; only the array is new. */
void variables_keep(const char *const *names, char *out[VARIABLES_MAX + 1]);
