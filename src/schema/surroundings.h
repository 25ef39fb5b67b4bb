/*
 * What a box is made of and connected to, beside its language: the rows of fields.def with FIELD_BOX.
 *
 * Each has one value today that is not refused, but everything that handles boxes tells them apart already: the spec,
 * the job, the plan, and the key of boxes made ahead. A new value needs its setter (spec.c), the operations that
 * provide it (engine/local/plan.c), and no other change on the way.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* What a program may reach beside its own loopback. */
enum network_mode {
	NETWORK_NONE, /* nothing */
};

/* Which engine executes the run. */
enum engine_choice {
	ENGINE_AUTO,  /* any that has a place for it */
	ENGINE_LOCAL, /* one that makes boxes on this machine */
};

/* The names of all engines. Only local and auto are available yet. */
#define ENGINE_NAMES "local, docker, e2b, cluster, auto"

struct surroundings {
	enum network_mode network; /* what the program may reach */
	enum engine_choice engine; /* which engine executes the run */
	const char *image;         /* what its root is made of; NULL: this machine's own /usr */
	const char **packages;     /* installed beside what the language has */
	size_t package_count;      /* how many */
};

/* Whether it is one of ENGINE_NAMES. */
bool engine_is_named(const char *name);

enum {
	SURROUNDINGS_MAX = 512 /* bytes of surroundings_text() */
};

/* Lines of "KEY VALUE" as spec_set() takes them. Boxes with the same text are made in the same way: auto is written as
 * local, and packages keep their order. False: the text is too long, or a value has a line end in it. */
bool surroundings_text(const struct surroundings *around, char out[SURROUNDINGS_MAX]);
