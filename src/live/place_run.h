/*
 * A run in a place, as the target of a run (run/run.h).
 *
 * Cells and runs in containers share these steps: the place is found and held, it decides the language, the run waits
 * for its turn, and the files that it left are collected. A kind embeds a struct place_run at the beginning of its own.
 */
#pragma once

#include "live/place.h"
#include "run/run.h"

struct place_run {
	struct run_target target; /* first */
	struct places *places;    /* the list with the place… */
	const char *id;           /* …of this id… */
	const char *owner;        /* …of this caller */
	const char *field;        /* the field of the request that names the place; NULL: that of its kind */
	struct place *place;      /* the place, held; NULL: it was not found */
	int handles[REPORT_FDS];  /* directories of its box while the run executes; -1: none */
	/* Checks the request, and fills in what belongs to the place. */
	int (*check)(struct place_run *run, struct spec *spec, struct error *err);
	/* The caller has the turn. The verdict is in the result. After -1 nothing was executed. */
	int (*execute)(struct place_run *run, struct run_state *state, struct error *err);
};

/* The functions of the target. A kind may replace them. */
#define PLACE_RUN_TARGET                                                                                               \
	{                                                                                                              \
		.admit = place_run_admit, .begin = place_run_begin, .execute = place_run_execute,                      \
		.leave = place_run_leave,                                                                              \
	}
int place_run_admit(struct run_target *target, struct spec *spec, struct error *err);
int place_run_begin(struct run_target *target, struct run_state *state, struct error *err);
int place_run_execute(struct run_target *target, struct run_state *state, struct error *err);
void place_run_leave(struct run_target *target);

/* In execute(): collects the files that the program left. */
void place_run_collect(struct place_run *run, struct run_state *state);
/* Runs it through the pipeline. */
int place_run(struct place_run *run, const struct run_request *request, struct result **out, struct error *err);
