/* Languages: how each is found, versioned, installed and started. */
#pragma once

#include "base/error.h"
#include "runtime/syntax.h"

#include <stdbool.h>
#include <stddef.h>

struct runtime {
	const char *name;                /* "python", as requests have it */
	const char *display;             /* "Python", as sentences have it */
	const char *const *aliases;      /* other names, NULL at the end */
	const char *const *extensions;   /* of files, without the dot, NULL at the end */
	const char *const *interpreters; /* words in #! lines, NULL at the end */
	const char *const *programs;     /* where it may be, in order, NULL at the end */
	const char *const *flags;        /* between the program and the file, NULL at the end */
	const char *file;                /* the code's name in the box */
	const char *version_flag;        /* prints the version */
	const char *install;             /* the command that installs it */
	syntax_reader *syntax;           /* tells a syntax error of the program from its other errors */
};

/* By name or alias; NULL when there is none. */
const struct runtime *runtime_find(const char *name);
/* By a file's name, or the #! line at the head of its content; NULL when nothing tells. */
const struct runtime *runtime_detect(const char *name, const void *head, size_t size);
/* All of them, by index; NULL past the end. */
const struct runtime *runtime_at(size_t index);

/* The program's path on this host; NULL when it is not installed. Static. */
const char *runtime_program(const struct runtime *runtime);

/* "3.11.2"; runs the program outside a box, which is as safe as the program itself. False when it does not say. */
bool runtime_version(const struct runtime *runtime, char *out, size_t size);

/* Fills err with the sentence for an unknown language, or one that is not installed. Returns -1. */
int runtime_unknown(const char *name, struct error *err);
int runtime_missing(const struct runtime *runtime, struct error *err);
