/*
 * The root file system and engine of a box, apart from its language: the rows of fields.def with FIELD_BOX.
 *
 * Each has only one accepted value today, but all code that handles boxes distinguishes the values: the spec, the job,
 * the plan, and the key of boxes made ahead. A new value needs its setter (spec.c), the operations that provide it
 * (engine/local/plan.c), and no other change.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The engine that executes the run. */
enum engine_choice {
	ENGINE_AUTO,  /* any available engine */
	ENGINE_LOCAL, /* an engine that makes boxes on this machine */
};

/* The names of all engines. Only local and auto are available yet. */
#define ENGINE_NAMES "local, docker, e2b, cluster, auto"

struct surroundings {
	enum engine_choice engine; /* the engine that executes the run */
	const char *image;         /* its root file system; NULL: this machine's /usr */
	const char **packages;     /* packages in addition to the language's */
	size_t package_count;      /* number of them */
};

/* Whether it is one of ENGINE_NAMES. */
bool engine_is_named(const char *name);

enum {
	SURROUNDINGS_MAX = 512 /* bytes of surroundings_text() */
};

/* Lines of "KEY VALUE" for spec_set(). Boxes with the same text are interchangeable: auto is written as local, and
 * packages keep their order. False if the text is too long, or a value contains a line end. */
bool surroundings_text(const struct surroundings *around, char out[SURROUNDINGS_MAX]);
