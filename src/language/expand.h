/* Command lines of a definition, with placeholders filled in. */
#pragma once

#include "base/arena.h"
#include "language/runtime.h"

/* Paths inside a box. */
#define BOX_CODE     "/sandbox/code"
#define BOX_DATA     "/sandbox/data"
#define BOX_OUTPUT   "/sandbox/output"
#define BOX_BUILD    "/sandbox/build"
#define BOX_DRIVERS  "/opt/emberbox/drivers"
#define BOX_PREPARED "/opt/emberbox/prepared"
#define BOX_RICH     "/run/emberbox"
#define BOX_OUTPUTS  BOX_RICH "/outputs"

struct expand_values {
	const char *name;            /* the entry's path below /sandbox/code; NULL: none */
	const char *artifact;        /* name of the compiled program */
	const char *const *args;     /* {args}, ended by NULL; or NULL */
	const char *const *sources;  /* {sources} */
	const char *const *files;    /* {files} */
	const struct limits *limits; /* for {memory} and similar ones; or NULL */
};

/* The words, ended by NULL, in the arena. NULL if memory ran out or a tool is not installed. */
const char **expand_words(struct arena *arena, const struct runtime *runtime, const char *const *words,
			  const struct expand_values *values);
/* Expands one word, which contains no placeholder for several words. */
const char *expand_word(struct arena *arena, const struct runtime *runtime, const char *word,
			const struct expand_values *values);
/* Whether one of the words has this placeholder. */
bool expand_uses(const char *const *words, const char *placeholder);
