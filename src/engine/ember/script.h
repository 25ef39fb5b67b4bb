/*
 * Interpreters that need no glue of their own: bash, dash, zsh, Perl, Lua, and
 * whatever else is linked dynamically.
 *
 * They wait between the dynamic linker and main(). All that comes before is the
 * same for every command line; all that depends on one (words, environment,
 * locale, seeds, the working directory) comes after, in the fork, by the
 * interpreter's own code. So nothing of it can be seen by a program.
 */
#pragma once

#include <stdbool.h>

typedef int script_main_fn(int argc, char **argv, char **envp);

/* main() of a zygote: returns in forks only, with what `program` returns for the command line that was claimed. */
int script_main(script_main_fn *program);
/* Where the program lies that this fork is to run; NULL: this is none. */
const char *script_entry(void);

/*
 * Whether a variable that a start reads before the fork differs between the two environments. `early` has names, NULL
 * at the end; one that ends in * stands for all that begin so.
 */
bool script_env_differs(char *const *one, char *const *other, const char *const *early);

/* Brings the pages that a start writes into this process, before there is a program to pay for them. */
void script_rehearse(int hurry);
