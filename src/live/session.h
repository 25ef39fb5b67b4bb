/*
 * Sessions: places (live/place.h) with a driver in the box, which keeps a
 * language's state from cell to cell. The protocol with the driver is described
 * in emberbox-session-driver(7).
 *
 * The driver runs inside the box and is trusted no more than the program that it
 * runs: what it reports concerns its own cell only. Its life, its usage and its
 * end are known from the supervisor.
 *
 * These functions may be called from any thread, with SIGPIPE blocked or ignored.
 * They see the sessions of `owner`; NULL: of all callers. CODE_NOT_FOUND with the
 * field "session": the id is unknown, or another caller's, or the session has
 * ended, and then the sentence says why.
 */
#pragma once

#include "run/run.h"

struct place_watch;
struct sessions;

enum {
	SESSIONS_MAX = 2048,        /* that live, of all callers together */
	SESSIONS_KEPT_MAX = 64,     /* that have ended and are still listed; the oldest go */
	SESSION_CELLS_MAX = 1000,   /* cells of a session whose code is kept… */
	SESSION_CODE_MAX = 4 << 20, /* …and bytes of that code; the oldest go */
	SESSION_NAME_MAX = 64,      /* bytes of a name, its NUL included */
};
#define SESSIONS_TTL     3600.0         /* seconds; the default */
#define SESSIONS_IDLE    1800.0         /* seconds without a cell; the default */
#define SESSIONS_TTL_MAX (30.0 * 86400) /* seconds */

struct session_options {
	const char *owner;   /* the caller; other callers do not see it */
	const char *name;    /* the name that its owner gave it, or "" */
	double ttl;          /* seconds until it ends by itself; 0: SESSIONS_TTL */
	double idle_ttl;     /* the same after the last cell; 0: SESSIONS_IDLE */
	unsigned most_own;   /* sessions of this owner that may live; 0: no bound */
	const char *profile; /* in the registry; or "" */
	bool asks;           /* see sessions_confirm() */
};

/* Where a cell runs. */
struct session_cell {
	const char *id;    /* the session */
	const char *owner; /* the caller */
	bool sees_all;     /* the caller may be told the owner of a session that is not its own */
};

/* The engines must outlive it. `watch` (or NULL) is copied. */
int sessions_open(const struct engines *engines, const struct place_watch *watch, struct sessions **out,
		  struct error *err);
/* Ends all of them, and waits for calls that have not returned. There may be no new calls. NULL is fine. */
void sessions_close(struct sessions *sessions);

/* The spec has the language, the limits, files and variables. The session takes it: the caller's is empty afterwards.
 * limits.timeout and cpu_time are the defaults of a cell; the other limits are the box's. CODE_TOO_MANY: as many
 * sessions live as may. */
int sessions_start(struct sessions *sessions, struct spec *spec, const struct session_options *options,
		   char id[RESULT_ID], struct error *err);
/*
 * Runs the spec's code as the next cell, with its input. limits.timeout, cpu_time and max_output are the cell's. Cells
 * are one at a time: others wait for their turn, or until they are cancelled. A limit or a cancellation interrupts the
 * cell. If the cell does not answer the interrupt, the session is ended.
 *
 * The result is like that of any run, with result->session. `files` are the files in /sandbox/output that the cell
 * changed.
 */
int sessions_execute(struct sessions *sessions, const struct session_cell *cell, const struct run_request *request,
		     struct result **out, struct error *err);
/* Whether each cell needs a confirmation, because the session was started so or its profile now says so
 * (policy/in_force.h). False for an unknown id. */
bool sessions_confirm(struct sessions *sessions, const char *id, const char *owner, const char *in_force);
/* Puts its language and policy into `out`, for a policy check of files that are written into the session. */
int sessions_policy(struct sessions *sessions, const char *id, const char *owner, const char *in_force,
		    struct spec *out, struct error *err);
/* Interrupts the running cell. *interrupted is false when no cell runs. */
int sessions_interrupt(struct sessions *sessions, const char *id, const char *owner, bool *interrupted,
		       struct error *err);
/* Replaces its box by a new one without any state, under the same id. `by` as in sessions_stop(). */
int sessions_restart(struct sessions *sessions, const char *id, const char *owner, const char *by, struct error *err);
/* What could stand at the cursor, or (inspect) what stands there: the answer's JSON, {matches, cursor_start,
 * cursor_end} or {found, data}; positions are in characters. The caller frees. CODE_BUSY while a cell runs. */
int sessions_ask(struct sessions *sessions, const char *id, const char *owner, bool inspect, const char *code,
		 size_t size, size_t cursor, char **json, struct error *err);
/* Changes what its programs may reach: the first list of `policy` and its bounds replace its own. What narrows the
 * session since it was started stays. Live connections that are not allowed any more end. */
int sessions_network(struct sessions *sessions, const char *id, const char *owner, const struct net_policy *policy,
		     struct error *err);
/* {"cells": [{count, code, status, exit_code, execution_time, timestamp}…], "dropped": N}; the caller frees. */
int sessions_cells(struct sessions *sessions, const char *id, const char *owner, char **json, struct error *err);
/* Ends it, and returns when nothing of its box is left. Stopping a session that has ended succeeds. `by`: the caller;
 * NULL: the service itself. */
int sessions_stop(struct sessions *sessions, const char *id, const char *owner, const char *by, struct error *err);
/* Ends all sessions of an owner, with that reason, without waiting. Returns how many. */
size_t sessions_end(struct sessions *sessions, const char *owner, const char *why);
/* JSON of one session (Session in api/openapi.yaml), or with id NULL {"sessions": [all, oldest first]}. The caller
 * frees. */
int sessions_status(struct sessions *sessions, const char *id, const char *owner, char **json, struct error *err);
/* The box's files; live_close() closes them. */
struct live_files;
int sessions_files(struct sessions *sessions, const char *id, const char *owner, struct live_files *files,
		   struct error *err);
/* Watches a directory of its /sandbox, as watch_start() of live/watch.h. */
int sessions_watch(struct sessions *sessions, const char *id, const char *owner, const char *path, bool recursive,
		   int *out, struct error *err);
/* Starts a shell in its box, beside the driver, at a terminal of that size. *master is the terminal's other side; the
 * caller closes it, which hangs up the shell. */
int sessions_terminal(struct sessions *sessions, const char *id, const char *owner, unsigned rows, unsigned columns,
		      int *master, struct error *err);
/* How many have not ended, including those that are starting. */
size_t sessions_running(struct sessions *sessions);
