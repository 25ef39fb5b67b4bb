/*
 * The prerequisites of a run: the toolchain's prepared tree, and the compiled
 * program. Both are made in boxes, and cached by a digest of all inputs
 * (cache.h, prepared.h).
 */
#pragma once

#include "engine/engine.h"
#include "result/result.h"
#include "language/prepared.h"

struct build {
	struct prepared prepared; /* dir -1: not needed, or does not exist yet */
	int artifact;             /* the compiled program; -1: the language is not compiled */
};

#define BUILD_INIT                                                                                                     \
	{                                                                                                              \
		.prepared = { .dir = -1, .lock = -1 }, .artifact = -1                                                  \
	}

/* 0: the tree exists, or the language has none. -1: emberbox failed, or the request is invalid. */
int build_prepare(const struct spec *spec, const struct engines *engines, const struct engine_io *io,
		  struct build *build, struct error *err);
/* 0: the artifact exists. 1: the program does not compile, and the result says so. -1: emberbox failed. */
int build_compile(const struct spec *spec, const struct engines *engines, const struct engine_io *io,
		  struct build *build, struct result *result, struct error *err);
void build_free(struct build *build);
/* The files for a job that needs them. */
struct job_given build_given(const struct build *build);
