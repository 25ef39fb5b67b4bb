/*
 * Options of a command, as a table.
 *
 * The parser accepts `--name value`, `--name=value`, `-n value`, `-nvalue`,
 * combined letters (`-qj`), and `--`, after which all arguments are words.
 * Options and words may be mixed. Abbreviations are refused: a script with
 * `--mem` would break when a second such option is added. Pure: prints nothing,
 * and keeps its state in the caller's struct.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

struct option_spec {
	int id;            /* id in the command, > 0; 0 ends the table */
	char letter;       /* short form, or 0 */
	const char *name;  /* long form, without the dashes */
	const char *value; /* name of the value in the help; NULL: no value */
	const char *help;  /* one line */
};

/* Names of the values of limits, by their KIND in schema/limits.def. */
#define OPTION_VALUE_SECONDS "SEC"
#define OPTION_VALUE_BYTES   "SIZE"
#define OPTION_VALUE_CORES   "N"
#define OPTION_VALUE_COUNT   "N"

enum {
	OPTION_END = 0,   /* no more arguments */
	OPTION_WORD = -1, /* not an option: `value` is the word */
	OPTION_BAD = -2,  /* an error: `message` has it */
};

struct option_reader {
	const struct option_spec *specs; /* the table */
	int argc;                        /* arguments */
	char **argv;                     /* argv[0] is skipped */
	int next;                        /* index of the next argument; start at 1 */
	const char *cluster;             /* rest of a word of short options, or NULL */
	int only_words;                  /* a `--` was seen */
	const char *value;               /* value of the option, or the word */
	char message[256];               /* for OPTION_BAD: one sentence */
	char unknown[80];                /* for OPTION_BAD: the unknown option as typed; "": the option exists */
	int suggests;                    /* the message suggests another option */
};

/* The id of the next option, or one of OPTION_…; the reader has the value and the message. */
int option_next(struct option_reader *reader);

/* Prints the table as help text, one option a line. */
void option_print(FILE *out, const struct option_spec *specs);
