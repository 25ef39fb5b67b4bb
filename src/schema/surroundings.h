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

/* Who carries the run out. */
enum engine_choice {
	ENGINE_AUTO,  /* whichever can */
	ENGINE_LOCAL, /* boxes of this machine */
};

/* Every engine that has a name, of which only local and auto are there yet. */
#define ENGINE_NAMES "local, docker, e2b, cluster, auto"

struct surroundings {
	enum network_mode network; /* what the program may reach */
	enum engine_choice engine; /* who carries it out */
	const char *image;         /* what its root is made of; NULL: this machine's own /usr */
	const char **packages;     /* installed beside what the language has */
	size_t package_count;      /* how many */
};

/* Whether there is such an engine, now or later. */
bool engine_is_named(const char *name);

enum {
	SURROUNDINGS_MAX = 512 /* bytes of surroundings_text() */
};

/* Lines of "KEY VALUE" as spec_set() takes them. Boxes with one text are made in one way: an engine that was chosen
 * without asking is named, packages keep their order. False: it is too long, or a value has a line end in it. */
bool surroundings_text(const struct surroundings *around, char out[SURROUNDINGS_MAX]);
