/*
 * Engines: what executes a job.
 *
 * A run (run/run.h) turns a request into jobs. Each job is given to an engine, which makes a place for the job's
 * program, watches the program until it ends, and takes the place away. Everything above this file is written against
 * these functions and knows no engine by name.
 *
 * Engines are asked in the order of the table (engine_table.c). An engine that has no place for a job declines it, and
 * the next engine is asked. To add an engine, write a folder with a `struct engine`, and add its row to the table.
 */
#pragma once

#include "engine/job.h"
#include "engine/local/supervise.h"
#include "result/result.h"

#include <stddef.h>
#include <stdint.h>

enum engine_can {
	ENGINE_BUILDS = 1 << 0,     /* executes jobs that prepare a language or compile */
	ENGINE_IS_WARM = 1 << 1,    /* makes its places before they are asked for: meta.start */
	ENGINE_CLOSES_LATE = 1 << 2 /* a place is closed after the result was sent, which cannot fail */
};

/* Of a process that serves many runs. */
struct engine_options {
	size_t embers_max;                                    /* idle places altogether */
	uint64_t memory_max;                                  /* bytes that idle places may take, by an estimate */
	void (*say)(const char *format, ...) EB_PRINTF(1, 2); /* reports what went wrong with idle places; or NULL */
};

struct engine_stats {
	size_t idle;     /* places that wait */
	size_t zygotes;  /* interpreters that places are forked from */
	uint64_t warm;   /* runs that found a place */
	uint64_t cold;   /* runs that did not */
	uint64_t forked; /* places made ahead */
	uint64_t failed; /* places that could not be made, or died before they were used */
};

struct engine;

/* A place with a program in it. The implementation embeds this at the beginning of its own struct. */
struct engine_place {
	const struct engine *engine; /* whose functions it has */
};

/*
 * One kind of engine. `self` is what open() made; one process has one of each. All functions may be called from any
 * thread, but for open() and close().
 */
struct engine {
	const char *name;    /* for people who read the table */
	const char *runtime; /* meta.runtime of its results */
	unsigned can;        /* enum engine_can */

	/* Probes the host. `options` NULL: this process does one run only. 1: there is no use for the engine here. */
	int (*open)(const struct engine_options *options, void **self, struct error *err);
	/* All places have to be closed. */
	void (*close)(void *self);
	/* Languages may have changed; NULL: the engine keeps nothing of them. */
	void (*reload)(void *self);
	/* Adds its counts; NULL: it counts nothing. */
	void (*stats)(void *self, struct engine_stats *stats);
	/* Prints what place_open() would do for the job; NULL: it cannot say. */
	int (*explain)(void *self, const struct job *job, struct buf *out, struct error *err);

	/* Makes a place, in which the job's program starts. The job has to outlive the place. 1: the job is not for
	 * this engine. */
	int (*place_open)(void *self, const struct job *job, struct engine_place **out, struct error *err);
	/* Watches the program until nothing of it lives. io->cancel_fd interrupts it. 1: the place was unusable, and
	 * nothing was executed in it. */
	int (*place_watch)(struct engine_place *place, const struct job *job, const struct supervise_io *io,
			   struct output outputs[2], struct verdict *verdict);
	/* Fills in what the result says of the place: the layers in force, and which limits are not enforced. */
	int (*place_describe)(const struct engine_place *place, struct result *result, struct error *err);
	/* Directories of the place's files (REPORT_FD_…); borrowed, -1 where there is none. */
	const int *(*place_files)(const struct engine_place *place);
	/* Ends what is left in it, and frees it. -1: something could not be removed. */
	int (*place_close)(struct engine_place *place, struct error *err);
};

enum {
	ENGINES_MAX = 8 /* rows of a table */
};

/* The engines of a process, in the order in which they are asked. */
struct engines {
	size_t count;
	struct {
		const struct engine *engine; /* its functions */
		void *self;                  /* what open() made */
	} open[ENGINES_MAX];
};

/* All rows, NULL at the end: engine_table.c. */
extern const struct engine *const engine_table[];

/* Opens those of the table that this process has a use for. After -1 none is open. */
int engines_open(struct engines *engines, const struct engine *const *table, const struct engine_options *options,
		 struct error *err);
void engines_close(struct engines *engines);
void engines_reload(const struct engines *engines);
void engines_stats(const struct engines *engines, struct engine_stats *stats);
/* What the engine's open() made; NULL: it is not open here. */
void *engines_self(const struct engines *engines, const struct engine *engine);

/* Called when the program has ended, while the place's directories can still be read: takes what is wanted. */
typedef int engine_collect(const int handles[], struct result *result, void *userdata, struct error *err);

/* Executes one job by the first engine that takes it. -1: no place could be made. Otherwise the verdict, the output and
 * the layers are in the result, also of status "error" when something failed later. */
int engines_run(const struct engines *engines, const struct job *job, const struct supervise_io *io,
		struct result *result, engine_collect *collect, void *userdata, struct error *err);
/* Prints what the first engine that can say so would do for the job. */
int engines_explain(const struct engines *engines, const struct job *job, struct buf *out, struct error *err);
