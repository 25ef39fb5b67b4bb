/*
 * What has to be there before a program runs: the tree that its toolchain is
 * prepared with, and the program itself if its language is compiled. Both are
 * made in boxes, and kept by a digest of all that decides them (cache.h,
 * prepared.h).
 */
#pragma once

#include "engine/engine.h"
#include "result/result.h"
#include "language/prepared.h"

struct build {
	struct prepared prepared; /* dir -1: it is not needed, or not there yet */
	int artifact;             /* the program, -1: the language is not compiled */
};

#define BUILD_INIT                                                                                                     \
	{                                                                                                              \
		.prepared = { .dir = -1, .lock = -1 }, .artifact = -1                                                  \
	}

/* 0: it is there, or the language has none. -1: we failed, or what was asked cannot be meant. */
int build_prepare(const struct spec *spec, const struct engines *engines, const struct engine_io *io,
		  struct build *build, struct error *err);
/* 0: the artifact is there. 1: it does not compile, and the result says so. -1: we failed. */
int build_compile(const struct spec *spec, const struct engines *engines, const struct engine_io *io,
		  struct build *build, struct result *result, struct error *err);
void build_free(struct build *build);
/* For a job that needs it. */
struct job_given build_given(const struct build *build);
