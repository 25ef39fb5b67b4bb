/* The limits of a run, made from the rows of limits.def. Pure, and needs nothing above base: languages have limits. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a program may use. In a definition or a request 0 is a limit that is not set; in a job all are set. */
struct limits {
#define LIMIT_TYPE_SECONDS             double
#define LIMIT_TYPE_BYTES               uint64_t
#define LIMIT_TYPE_CORES               double
#define LIMIT_TYPE_COUNT               uint64_t
#define LIMIT(NAME, KEY, KIND, ...)    LIMIT_TYPE_##KIND NAME;
#define LIMIT_FIXED(NAME, TYPE, VALUE) TYPE NAME;
#include "schema/limits.def"
};

/* The rows' numbers: LIMIT_timeout, LIMIT_cpu_time… */
enum limit_id {
#define LIMIT(NAME, ...) LIMIT_##NAME,
#include "schema/limits.def"
	LIMITS
};

/* Limits as text, each checked by limit_set() before it is stored; NULL: not set. */
struct limit_texts {
	union {
		struct {
#define LIMIT(NAME, ...) const char *NAME;
#include "schema/limits.def"
		};
		const char *of[LIMITS]; /* the same, by enum limit_id */
	};
};

enum limit_kind {
	LIMIT_SECONDS, /* a time: 30, 500ms, 1h30m */
	LIMIT_BYTES,   /* a size: 64k, 256m */
	LIMIT_CORES,   /* a number: 0.5 */
	LIMIT_COUNT,   /* a whole number */
};

enum {
	LIMIT_OF_RUN = 1,        /* each run in a place that lives has its own */
	LIMIT_IN_DEFINITION = 2, /* a language may have it */
	LIMIT_OR_NULL = 4,       /* a result shows null where there is none */
	LIMIT_SENTENCE = 96      /* bytes of limit_expected() */
};

struct limit_row {
	const char *name;     /* in JSON, in the registry, in definitions: "cpu_time" */
	const char *key;      /* of spec_set() and as an option: "cpu-time" */
	enum limit_kind kind; /* how it is written */
	unsigned flags;       /* LIMIT_OF_RUN… */
	size_t offset;        /* in struct limits */
	double least, most;   /* what may be asked for */
	double fallback;      /* the default; 0: there is no such limit by default */
	const char *words;    /* for sentences: examples of a size, or what is counted */
	const char *expected; /* "a size such as 256m" */
};

extern const struct limit_row limit_rows[LIMITS];

/* The row by its key or by its name; NULL: there is none. */
const struct limit_row *limit_by_key(const char *key);
const struct limit_row *limit_by_name(const char *name);

/* In seconds, bytes or units; exact for each that may be asked for. 0: not said. */
double limit_get(const struct limits *limits, enum limit_id id);
void limit_put(struct limits *limits, enum limit_id id, double amount);

/* As a person writes it, within the bounds. The sentence begins with the key. */
int limit_set(struct limits *limits, enum limit_id id, const char *value, struct error *err);
/* The same for a definition, where times are plain numbers; false: it is not limit_expected(). */
bool limit_set_plain(struct limits *limits, enum limit_id id, const char *value);
const char *limit_expected(enum limit_id id, char out[LIMIT_SENTENCE]);
/* Of a text that limit_set() took. */
double limit_amount(enum limit_id id, const char *text);
/* The names in a row, "timeout, cpu_time … or max_output"; cut to `size`. */
const char *limit_names_text(char *out, size_t size);

/* The limits in force: those of the request, else those in `own` (a runtime's or a step's; may be NULL), else the
 * defaults. */
struct limits limits_settle(const struct limits *asked, const struct limits *own);
/* The same of a session or a container. Its files are held in its memory: unless a disk was asked for, the disk is no
 * larger than the memory. */
struct limits limits_settle_place(const struct limits *asked, const struct limits *own);
/* The limits of one run in a session or a container that has `own`: the request's where a run can have its own
 * (LIMIT_OF_RUN), else the place's. */
struct limits limits_of_run(const struct limits *asked, const struct limits *own);
