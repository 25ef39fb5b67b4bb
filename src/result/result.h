/* The result of a run, in the form that the CLI, the API and MCP return. */
#pragma once

#include "base/error.h"
#include "result/output_files.h"
#include "result/output.h"
#include "net/net_report.h"
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

/* Stores copies of listed files below `output`, and marks those in the list. */
typedef void result_keep(void *data, const char *id, int output, struct file_list *list);

/* The state of the session after a cell. */
struct result_session {
	char id[RESULT_ID]; /* its id; "": the run was no cell */
	bool kept;          /* the state is kept for the next cell */
	char reason[256];   /* why the state is not kept */
	uint64_t cells;     /* the cell's number */
	char *unread;       /* input sent to the cell that it did not read; owned, NULL: none */
	size_t unread_size; /* bytes */
};

struct result {
	char id[RESULT_ID];                   /* sortable by time */
	uint64_t waited_usec;                 /* time in a queue before the run */
	struct timeval time;                  /* start of the run */
	const struct runtime *runtime;        /* the language; NULL: unknown */
	const char *file;                     /* the code file's path in the box, or NULL */
	enum job_kind phase;                  /* the step that the verdict is about */
	struct limits limits;                 /* the limits of that step; cpus 0: no limit */
	struct verdict verdict;               /* how the step ended */
	struct output outputs[2];             /* stdout and stderr */
	struct file_list files;               /* under /sandbox/output */
	result_keep *keep_files;              /* stores copies of the files; or NULL */
	void *keep_data;                      /* its argument */
	char *rich;                           /* rich results, as lines of JSON from the program; or NULL */
	size_t rich_size;                     /* bytes */
	bool rich_cut;                        /* the limit of rich results was exceeded */
	bool terminal;                        /* the streams were one terminal: outputs[0] has everything */
	struct result_session session;        /* for a cell */
	char *told;                           /* the error reported by a driver: one JSON object; or NULL */
	char told_file[256];                  /* its place: empty, 0: unknown */
	long told_line, told_column;          /* counted from 1 */
	char told_type[64];                   /* its type */
	char told_message[384];               /* its message, for the sentence */
	uint64_t since_nsec;                  /* only files that changed since then count; 0: all */
	const char *engine;                   /* the engine, for meta.runtime; NULL: nothing was executed */
	bool warm;                            /* the interpreter, or at least the box, was made ahead */
	bool built;                           /* the language is compiled */
	bool build_cached;                    /* the compiled program was in the cache */
	uint64_t build_usec;                  /* time of compilation */
	struct explanation *explanation;      /* explanation of the failure; or NULL */
	struct net_report network;            /* what the program did with its network */
	const char *network_mode;             /* "none", "allow", "public"; NULL: none */
	const struct net_connection *refusal; /* the one of the network's that explains the failure; or NULL */
	const char **blocked;                 /* meta.blocked_imports: refused modules; in the arena */
	size_t blocked_count;                 /* number of them */
	const char **warnings; /* meta.policy_warnings: modules that the policy reports but allows; in the arena */
	size_t warning_count;  /* number of them */
	struct arena arena;    /* owns the layers */
	const char **layers;   /* meta.isolation */
	size_t layer_count;    /* number of them */
	uint64_t begin_usec;   /* start of the request, on the monotonic clock */
	uint64_t finish_usec;  /* completion of the result */
	char message[512];     /* the sentence; empty: none */
	char *json;            /* result_json() creates it on its first call */
	void (*on_free)(void *data); /* cleanup after the answer is sent; or NULL */
	void *on_free_data;          /* its argument */
};

/* An id for a run that starts now. */
void result_make_id(char id[RESULT_ID]);
struct result *result_new(const struct spec *spec);
/* A result with the status "error": the request could not be run. `spec` may be NULL. */
struct result *result_refused(const struct spec *spec, const struct error *err);
void result_free(struct result *result);

/* Starts a new step and drops the data of the previous one. */
void result_begin(struct result *result, enum job_kind phase, const struct limits *limits);
/* Sets the verdict to an error of ours, whatever the program did. */
void result_fail(struct result *result, const struct error *err);

/* meta.resource_limits, for other answers with limits; a json_t. */
struct json_t *result_limits_json(const struct limits *limits);
const char *status_name(enum status status);
/* The signal that ended the program, unless emberbox sent it; or 0. */
int result_signal(const struct result *result);
/* The exit code of `emberbox run`. */
int result_exit_code(const struct result *result);
/* Sets the sentence from the verdict, the limits and stderr, and explains a failure; `spec` has the code, or is
 * NULL. */
void result_explain(struct result *result, const struct spec *spec);
/* The part of result_explain() for a program that ended by itself. */
void result_explain_failed(struct result *result, const struct spec *spec);
/* The member `verdict`: the limit or signal that ended or hindered the program, or null. */
json_t *result_verdict_json(const struct result *result);
/* The JSON as one line, owned by the result; NULL if memory ran out. */
const char *result_json(struct result *result);
