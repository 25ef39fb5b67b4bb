/* The limits of a run, generated from limits.def. Pure; depends only on base, because languages have limits. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Resources of a program. In a definition or a request, 0 means not set; in a job all are set. */
struct limits {
#define LIMIT_TYPE_SECONDS             double
#define LIMIT_TYPE_BYTES               uint64_t
#define LIMIT_TYPE_CORES               double
#define LIMIT_TYPE_COUNT               uint64_t
#define LIMIT(NAME, KEY, KIND, ...)    LIMIT_TYPE_##KIND NAME;
#define LIMIT_FIXED(NAME, TYPE, VALUE) TYPE NAME;
#include "schema/limits.def"
};

/* Numbers of the rows: LIMIT_timeout, LIMIT_cpu_time… */
enum limit_id {
#define LIMIT(NAME, ...) LIMIT_##NAME,
#include "schema/limits.def"
	LIMITS
};

/* Limits as text, each checked by limit_set(); NULL: not set. */
struct limit_texts {
	union {
		struct {
#define LIMIT(NAME, ...) const char *NAME;
#include "schema/limits.def"
		};
		const char *of[LIMITS]; /* the members by enum limit_id */
	};
};

enum limit_kind {
	LIMIT_SECONDS, /* a time: 30, 500ms, 1h30m */
	LIMIT_BYTES,   /* a size: 64k, 256m */
	LIMIT_CORES,   /* a number: 0.5 */
	LIMIT_COUNT,   /* a whole number */
};

enum {
	LIMIT_OF_RUN = 1,        /* each run in a session or container can have its own */
	LIMIT_IN_DEFINITION = 2, /* a language's definition can have it */
	LIMIT_OR_NULL = 4,       /* a result has null if there is none */
	LIMIT_SENTENCE = 96      /* bytes of limit_expected() */
};

struct limit_row {
	const char *name;     /* name in JSON, in the registry, in definitions: "cpu_time" */
	const char *key;      /* name for spec_set() and as an option: "cpu-time" */
	enum limit_kind kind; /* syntax of the value */
	unsigned flags;       /* LIMIT_OF_RUN… */
	size_t offset;        /* in struct limits */
	double least, most;   /* bounds of a request */
	double fallback;      /* default; 0: no limit by default */
	const char *words;    /* for sentences: examples of a size, or the counted unit */
	const char *expected; /* "a size such as 256m" */
};

extern const struct limit_row limit_rows[LIMITS];

/* Find a row by key or by name; NULL if there is none. */
const struct limit_row *limit_by_key(const char *key);
const struct limit_row *limit_by_name(const char *name);

/* The value in seconds, bytes or units, exact for every valid value. 0: not set. */
double limit_get(const struct limits *limits, enum limit_id id);
void limit_put(struct limits *limits, enum limit_id id, double amount);

/* Parses a limit as people write it, and checks its bounds. The error begins with the key. */
int limit_set(struct limits *limits, enum limit_id id, const char *value, struct error *err);
/* limit_set() for a definition, where times are plain numbers. False: use limit_expected(). */
bool limit_set_plain(struct limits *limits, enum limit_id id, const char *value);
const char *limit_expected(enum limit_id id, char out[LIMIT_SENTENCE]);
/* The value of a text that limit_set() accepted. */
double limit_amount(enum limit_id id, const char *text);
/* The names of the rows with these flags, "timeout, cpu_time … or max_output"; truncated to `size`. */
const char *limit_names_text(char *out, size_t size);

/* The limits in force: the request's, otherwise those in `own` (a runtime's or a step's; may be NULL), otherwise the
 * defaults. */
struct limits limits_settle(const struct limits *asked, const struct limits *own);
/* limits_settle() for a session or a container. Its files are in its memory, so unless a disk size is given, the disk
 * is no larger than the memory. */
struct limits limits_settle_place(const struct limits *asked, const struct limits *own);
/* The limits of one run in a session or a container with the limits `own`: the request's for LIMIT_OF_RUN, otherwise
 * `own`. */
struct limits limits_of_run(const struct limits *asked, const struct limits *own);
