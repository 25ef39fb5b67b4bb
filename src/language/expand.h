/* Command lines of a definition, their placeholders filled. */
#pragma once

#include "base/arena.h"
#include "language/runtime.h"

/* Where things are inside a box. */
#define BOX_CODE     "/sandbox/code"
#define BOX_DATA     "/sandbox/data"
#define BOX_OUTPUT   "/sandbox/output"
#define BOX_BUILD    "/sandbox/build"
#define BOX_DRIVERS  "/opt/emberbox/drivers"
#define BOX_PREPARED "/opt/emberbox/prepared"
#define BOX_RICH     "/run/emberbox"
#define BOX_OUTPUTS  BOX_RICH "/outputs"

struct expand_values {
	const char *name;            /* the entry's path below /sandbox/code; NULL: there is none */
	const char *artifact;        /* what the compiler makes, its name alone */
	const char *const *args;     /* {args}, NULL at the end; or NULL */
	const char *const *sources;  /* {sources} */
	const char *const *files;    /* {files} */
	const struct limits *limits; /* for {memory} and its like; or NULL */
};

/* The words, NULL at the end, in the arena; NULL when memory ran out or a tool is not installed. */
const char **expand_words(struct arena *arena, const struct runtime *runtime, const char *const *words,
			  const struct expand_values *values);
/* One word, which has none that become many. */
const char *expand_word(struct arena *arena, const struct runtime *runtime, const char *word,
			const struct expand_values *values);
/* Whether one of the words has this placeholder. */
bool expand_uses(const char *const *words, const char *placeholder);
