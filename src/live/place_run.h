/*
 * A run in a place, as the target of a run (run/run.h).
 *
 * What cells and runs in containers share is here: the place is found and held, has the say about the language, waits
 * for the turn, and its files are collected. A kind embeds a struct place_run at the beginning of its own.
 */
#pragma once

#include "live/place.h"
#include "run/run.h"

struct place_run {
	struct run_target target; /* first */
	struct places *places;    /* where to look… */
	const char *id;           /* …for this one… */
	const char *owner;        /* …of this caller */
	const char *field;        /* of the request, that names the place; NULL: as its kind calls it */
	struct place *place;      /* the same, held; NULL: it was not found */
	int handles[REPORT_FDS];  /* its directories, while it executes; -1: none */
	/* Checks the request, and completes the spec by what is the place's to say. */
	int (*check)(struct place_run *run, struct spec *spec, struct error *err);
	/* With the turn. The verdict is in the result, unless -1: nothing was executed. */
	int (*execute)(struct place_run *run, struct run_state *state, struct error *err);
};

/* The functions of the target, which a kind may replace. */
#define PLACE_RUN_TARGET                                                                                               \
	{                                                                                                              \
		.admit = place_run_admit, .begin = place_run_begin, .execute = place_run_execute,                      \
		.leave = place_run_leave,                                                                              \
	}
int place_run_admit(struct run_target *target, struct spec *spec, struct error *err);
int place_run_begin(struct run_target *target, struct run_state *state, struct error *err);
int place_run_execute(struct run_target *target, struct run_state *state, struct error *err);
void place_run_leave(struct run_target *target);

/* In execute(): takes the files that the program left. */
void place_run_collect(struct place_run *run, struct run_state *state);
/* By the pipeline. */
int place_run(struct place_run *run, const struct run_request *request, struct result **out, struct error *err);
