/*
 * Options of a command, as a table.
 *
 * A reader walks the arguments: `--name value`, `--name=value`, `-n value`,
 * `-nvalue`, letters in one word (`-qj`), and `--`, after which everything is
 * a word. Options and words may be mixed. Nothing is abbreviated: a script
 * that relies on `--mem` would break when a second option starts so. A pure
 * core: it prints nothing and keeps its position in the caller's struct.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

struct option_spec {
	int id;            /* what the command calls it, > 0; 0 ends the table */
	char letter;       /* its short form, or 0 */
	const char *name;  /* its long form, without the dashes */
	const char *value; /* what the value is called in the help; NULL: takes none */
	const char *help;  /* one line */
};

/* What the values of limits are called, by their KIND in schema/limits.def. */
#define OPTION_VALUE_SECONDS "SEC"
#define OPTION_VALUE_BYTES   "SIZE"
#define OPTION_VALUE_CORES   "N"
#define OPTION_VALUE_COUNT   "N"

enum {
	OPTION_END = 0,   /* no more arguments */
	OPTION_WORD = -1, /* not an option: value is the word */
	OPTION_BAD = -2,  /* message says what is wrong */
};

struct option_reader {
	const struct option_spec *specs; /* the table */
	int argc;                        /* arguments */
	char **argv;                     /* the arguments; argv[0] is not looked at */
	int next;                        /* index of the next argument; start at 1 */
	const char *cluster;             /* rest of a word of short options, or NULL */
	int only_words;                  /* a `--` was seen */
	const char *value;               /* of the option or word just read */
	char message[256];               /* for OPTION_BAD: one sentence */
	char unknown[80]; /* for OPTION_BAD: the option that there is not, as it was typed; "": it is there */
	int suggests;     /* the message names another one */
};

/* The next option's id, or one of OPTION_…; value and message are in the reader. */
int option_next(struct option_reader *reader);

/* The table as help text, one option a line. */
void option_print(FILE *out, const struct option_spec *specs);
