/*
 * A run, from its request to its record. pipeline.c has its steps:
 *
 *	begin     the journal notes that the run begins; whoever waits is told
 *	admit     the target takes the request, or refuses it, and adds what it decides itself
 *	gate      the policy looks at the program, and blocks it, or not
 *	build     the prepared tree and the compiled program are made, unless they are there
 *	execute   an engine runs the program; while its files can be read they are collected
 *	explain   the verdict becomes a sentence, with what helps
 *	record    the journal notes the result, before anybody sees it
 *
 * A run has a target: a box of its own (run.c), a session or a container (src/live). The targets differ in `admit` and
 * `execute`; all other code is the same for all runs, also for those that are refused.
 */
#pragma once

#include "engine/engine.h"
#include "result/result.h"
#include "run/build.h"
#include "store/record.h"

/* Where the journal is, and who is noted there. */
struct run_record {
	struct journal *journal;     /* NULL: nothing is noted */
	struct record_caller caller; /* who asks */
	enum record_code code;       /* when the code is kept */
	/* Something could not be noted, before (over: after) the run. 0: that is no reason not to go on. */
	int (*unwritten)(const struct run_record *record, bool over, struct error *err);
	void *userdata; /* for it */
};

struct run_target;

struct run_request {
	const struct spec *spec;         /* what is asked for */
	const char *id;                  /* of the result; NULL: it makes one itself */
	uint64_t waited_usec;            /* in a queue */
	const struct engine_io *io;      /* the caller's descriptors */
	const struct engines *engines;   /* that are open; NULL: they are opened for this run */
	struct run_target *target;       /* where it is executed; NULL: in a box of its own */
	const struct run_record *record; /* NULL: nothing is noted */
	/* The run is noted, and begins; -1 refuses it. NULL: nobody wants to know. */
	int (*begun)(const struct run_request *request, struct error *err);
	/* The result has its sentence; a better one may be put in its place. NULL: nobody has one. */
	void (*explained)(const struct run_request *request, struct result *result);
	void *userdata; /* for both */
};

/* What the steps of one run share. */
struct run_state {
	const struct run_request *request; /* as it came */
	const struct engines *engines;     /* that are open */
	struct spec spec;                  /* as it is executed; borrows from the request's */
	struct build build;                /* what was built for it */
	struct result *result;             /* being made */
};

enum run_builds {
	RUN_COMPILES = 1 << 0, /* the program is compiled, if its language is */
	RUN_PREPARES = 1 << 1  /* the prepared tree is made, if programs look at it */
};

/* The functions may be NULL, but for execute(). A target embeds this at the beginning of its own struct. */
struct run_target {
	/* Takes the request, and completes `spec`, a copy of what was asked for. -1 refuses it: there is no result. */
	int (*admit)(struct run_target *target, struct spec *spec, struct error *err);
	/* Checks whether the spec can be executed. The result is new: what it says of the target is set. */
	int (*begin)(struct run_target *target, struct run_state *run, struct error *err);
	unsigned builds; /* enum run_builds; set by admit() at the latest */
	/* Executes the program, and collects its files. The verdict is in the result; -1: nothing was executed. */
	int (*execute)(struct run_target *target, struct run_state *run, struct error *err);
	/* The policy blocked the program: what the result says of the target. */
	void (*blocked)(struct run_target *target, struct result *result);
	/* The result has its sentence: what became of the target meanwhile. */
	void (*explained)(struct run_target *target, struct result *result);
	/* Nothing is done with it any more; also after admit() failed. */
	void (*leave)(struct run_target *target);
};

/* A box of its own, made for the run. */
extern const struct run_target run_own_box;

/* -1 when there is nothing to report but the error; otherwise *out is the result, of status "error" if we failed. */
int pipeline_run(const struct run_request *request, struct result **out, struct error *err);
/* The result of a run that is refused before it begins; it is noted as any other. NULL: memory ran out. */
struct result *pipeline_refuse(const struct run_request *request, const struct error *why);

/* An engine_collect: the files under /sandbox/output, copied if the spec (userdata) or the result says so, and rich
 * results. */
int run_collect(const int handles[], struct result *result, void *userdata, struct error *err);

/* Makes what the language is prepared with, if it is not there yet. */
int run_prepare(const struct spec *spec, struct error *err);

/* The plan as text; the caller frees it. */
int run_explain(const struct spec *spec, char **text, struct error *err);
