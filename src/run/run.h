/*
 * A run, from its request to its record. pipeline.c has its steps:
 *
 *	begin     the journal records that the run begins; the caller is told its id
 *	admit     the target accepts or refuses the request, and completes it
 *	gate      the policy checks the program, and may block it
 *	build     the prepared tree and the compiled program are made, unless they exist
 *	execute   an engine runs the program, and its files are collected
 *	explain   the verdict becomes a sentence with a hint
 *	record    the journal records the result, before the caller sees it
 *
 * A run has a target: a box of its own (run.c), a session or a container (live/place_run.h). Targets differ in `admit`
 * and `execute`. All other code is the same for all runs, and for those that are refused.
 */
#pragma once

#include "engine/engine.h"
#include "result/result.h"
#include "run/build.h"
#include "store/record.h"

/* How a run is recorded. */
struct run_record {
	struct journal *journal;     /* NULL: it is not recorded */
	struct record_caller caller; /* the caller, and how it came */
	enum record_code code;       /* when the code is kept */
	/* A record could not be written, at the beginning of the run or (over) at its end. 0: the run goes on; -1: it
	 * fails, with the error as this function leaves it. NULL: it goes on. */
	int (*unwritten)(const struct run_record *record, bool over, struct error *err);
	void *userdata; /* its argument */
};

struct run_target;

struct run_request {
	const struct spec *spec;         /* the program, its files and limits */
	const char *id;                  /* of the result; NULL: a new one. Set when the run is recorded */
	uint64_t waited_usec;            /* in a queue, before it came here */
	const struct engine_io *io;      /* the caller's descriptors */
	const struct engines *engines;   /* open ones; NULL: they are opened for this run */
	struct run_target *target;       /* where it is executed; NULL: in a box of its own */
	const struct run_record *record; /* NULL: it is not recorded */
	/* Called when the begin is recorded; -1 refuses the run. May be NULL. */
	int (*begun)(const struct run_request *request, struct error *err);
	/* Called when the result has its sentence, which may be replaced here. May be NULL. */
	void (*explained)(const struct run_request *request, struct result *result);
	void *userdata; /* of the caller, for both */
};

/* What the steps of one run share. */
struct run_state {
	const struct run_request *request; /* as it came */
	const struct engines *engines;     /* open ones; set for build and execute */
	struct spec spec;                  /* as it is executed; borrows from the request's */
	struct build build;                /* the prepared tree and the compiled program */
	struct result *result;             /* being made */
};

enum run_builds {
	RUN_COMPILES = 1 << 0, /* the program is compiled, if its language is a compiled one */
	RUN_PREPARES = 1 << 1  /* the prepared tree is made, if programs of the language need it */
};

/* The functions may be NULL, but for execute(). A target embeds this at the beginning of its own struct. */
struct run_target {
	/* Accepts the request, and completes `spec`, which is a copy of the request's. -1 refuses it: no result is
	 * made.
	 */
	int (*admit)(struct run_target *target, struct spec *spec, struct error *err);
	/* Checks whether the spec can be executed, and fills in what the new result says of the target. */
	int (*begin)(struct run_target *target, struct run_state *run, struct error *err);
	unsigned builds; /* enum run_builds; set by admit() at the latest */
	/* Executes the program, and collects its files. The verdict is in the result. -1: nothing was executed. */
	int (*execute)(struct run_target *target, struct run_state *run, struct error *err);
	/* Called in place of execute() when the policy blocked the program. */
	void (*blocked)(struct run_target *target, struct result *result);
	/* Called when the result has its sentence. */
	void (*explained)(struct run_target *target, struct result *result);
	/* Called last, also after admit() failed. */
	void (*leave)(struct run_target *target);
};

/* A box of its own, made for the run. */
extern const struct run_target run_own_box;

/* -1 when there is nothing to report but the error; otherwise *out is the result, of status "error" if we failed. */
int pipeline_run(const struct run_request *request, struct result **out, struct error *err);
/* The result of a run that is refused before it begins. It is recorded as any other. NULL: memory ran out. */
struct result *pipeline_refuse(const struct run_request *request, const struct error *why);

/* An engine_collect: the files under /sandbox/output, copied if the spec (userdata) or the result says so, and rich
 * results. */
int run_collect(const int handles[], struct result *result, void *userdata, struct error *err);

/* Makes what the language is prepared with, if it is not there yet. */
int run_prepare(const struct spec *spec, struct error *err);

/* Compiles the program, as a run of it would, and keeps what is made for that run. 1: it does not compile, and the
 * result says why. -1: we failed, or what was asked cannot be meant. */
int run_compile(const struct spec *spec, struct result *result, struct error *err);

/* The plan as text; the caller frees it. */
int run_explain(const struct spec *spec, char **text, struct error *err);
