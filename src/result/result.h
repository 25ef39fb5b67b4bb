/* The result: what the program did, in the form that every door gives back. */
#pragma once

#include "base/error.h"
#include "result/output_files.h"
#include "result/output.h"
#include "schema/spec.h"
#include "result/verdict.h"
#include "explain/explain.h"

#include <jansson.h>
#include <sys/time.h>

enum {
	RESULT_ID = 27 /* bytes of an id, its NUL included */
};

/* meta.runtime of a run that no engine has executed. */
#define RESULT_NO_ENGINE "local"

/* Takes copies of listed files below `output`, and marks those in the list. */
typedef void result_keep(void *data, const char *id, int output, struct file_list *list);

/* What became of the session that a cell ran in. */
struct result_session {
	char id[RESULT_ID]; /* which; "": it was no cell */
	bool kept;          /* its state is there for the next */
	char reason[256];   /* why it is not */
	uint64_t cells;     /* the cell's number */
	char *unread;       /* of the input that was sent while it ran, what it did not read; owned, NULL: nothing */
	size_t unread_size; /* of it */
};

struct result {
	char id[RESULT_ID];              /* sortable by time */
	uint64_t waited_usec;            /* in a queue, before it began */
	struct timeval time;             /* when it began */
	const struct runtime *runtime;   /* the language; NULL: not known */
	const char *file;                /* the code file's path in the box, or NULL */
	enum job_kind phase;             /* the job that the verdict is about */
	struct limits limits;            /* those in force there; cpus 0: not limited */
	struct verdict verdict;          /* what happened */
	struct output outputs[2];        /* stdout and stderr */
	struct file_list files;          /* under /sandbox/output */
	result_keep *keep_files;         /* while they are collected; or NULL */
	void *keep_data;                 /* for it */
	char *rich;                      /* lines of JSON that the program left as rich results; or NULL */
	size_t rich_size;                /* of them */
	bool rich_cut;                   /* there were more than are taken */
	bool terminal;                   /* the program's streams were one, a terminal: outputs[0] has all */
	struct result_session session;   /* of a cell */
	char *told;                      /* the error as a driver told it: one object of JSON; or NULL */
	char told_file[256];             /* its place: empty, 0: not told */
	long told_line, told_column;     /* counted from 1 */
	char told_type[64];              /* of it… */
	char told_message[384];          /* …for the sentence */
	uint64_t since_nsec;             /* files count that changed since then; 0: all */
	const char *engine;              /* what executed it, as meta.runtime says; NULL: nothing was executed */
	bool warm;                       /* it found its interpreter, or at least its box, ready */
	bool built;                      /* the language is compiled… */
	bool build_cached;               /* …and this program was before */
	uint64_t build_usec;             /* how long that took */
	struct explanation *explanation; /* why it failed; or NULL */
	const char **blocked;            /* meta.blocked_imports: modules that the policy refused; in the arena */
	size_t blocked_count;            /* how many */
	const char **warnings;           /* meta.policy_warnings: what it only told of; in the arena */
	size_t warning_count;            /* how many */
	struct arena arena;              /* owns the layers */
	const char **layers;             /* meta.isolation */
	size_t layer_count;              /* how many */
	uint64_t begin_usec;             /* the request's start, on the monotonic clock */
	uint64_t finish_usec;            /* when the result was whole */
	char message[512];               /* the sentence; empty: none */
	char *json;                      /* made by result_json() when first asked for */
	void (*on_free)(void *data);     /* what is left to do when the answer is out; or NULL */
	void *on_free_data;              /* for it */
};

/* An id for a run that begins now. */
void result_make_id(char id[RESULT_ID]);
struct result *result_new(const struct spec *spec);
/* Of status "error": what was asked could not be run. `spec` may be NULL. */
struct result *result_refused(const struct spec *spec, const struct error *err);
void result_free(struct result *result);

/* A new job begins: what is there of another is dropped. */
void result_begin(struct result *result, enum job_kind phase, const struct limits *limits);
/* We failed: the verdict is that, whatever the program did. */
void result_fail(struct result *result, const struct error *err);

/* meta.resource_limits, for who tells of limits elsewhere; a json_t. */
struct json_t *result_limits_json(const struct limits *limits);
const char *status_name(enum status status);
/* The signal that ended the program by itself, or 0. */
int result_signal(const struct result *result);
/* As `emberbox run` exits. */
int result_exit_code(const struct result *result);
/* Fills the sentence from the verdict, the limits and stderr, and explains a failure; `spec` has the code, or is NULL.
 */
void result_explain(struct result *result, const struct spec *spec);
/* The part of it for a program that failed by itself. */
void result_explain_failed(struct result *result, const struct spec *spec);
/* Which limit or signal ended it, or was in its way: the member `verdict`, null for neither. */
json_t *result_verdict_json(const struct result *result);
/* One line; NULL only when memory ran out. The result keeps it. */
const char *result_json(struct result *result);
