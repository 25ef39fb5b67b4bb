/*
 * Is this failure a syntax error of the program itself?
 *
 * Only the interpreter's own words tell, and a program can print the same ones:
 * JSON.parse() throws a SyntaxError, exec() in Python raises one, and `echo
 * "syntax error" >&2` is two words. So not the name of the error counts but
 * where it stands: at the place where the interpreter reports that it could not
 * even read the code file. Pure; each language's reader is in its runtime.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct syntax_input {
	const char *file;   /* the code file's path in the box */
	const char *errors; /* standard error, whole */
	int exit_code;      /* the program's */
	bool printed;       /* something came on standard output */
};

/* True with "invalid syntax (line 3)" in `detail`. */
typedef bool syntax_reader(const struct syntax_input *input, char *detail, size_t size);

syntax_reader syntax_python, syntax_node, syntax_bash;
