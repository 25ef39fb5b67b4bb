/*
 * Sessions: a box that lives with a driver in it, which keeps a language's state
 * from cell to cell. What is said to the driver is in emberbox-session-driver(7).
 *
 * The driver is in the box with the program that it runs, and is trusted no more
 * than that: what it says is about its own cell only. Whether it lives, what it
 * uses and when it ends is told by the supervisor.
 *
 * Everything here may be called from any thread, with SIGPIPE blocked or
 * ignored. `owner` is whose sessions are seen; NULL: everybody's. An id that is
 * unknown or another's: CODE_NOT_FOUND with the field "session"; one that has
 * ended: the same, and why.
 */
#pragma once

#include "run/run.h"

struct place_watch;
struct sessions;

enum {
	SESSIONS_MAX = 2048,        /* that live, of all callers */
	SESSIONS_KEPT_MAX = 64,     /* that have ended and are still told of; the oldest go */
	SESSION_CELLS_MAX = 1000,   /* cells of one whose code is remembered… */
	SESSION_CODE_MAX = 4 << 20, /* …and bytes of that; the oldest go */
	SESSION_NAME_MAX = 64,      /* bytes of a name, its NUL included */
};
#define SESSIONS_TTL     3600.0         /* seconds, unless more is said */
#define SESSIONS_IDLE    1800.0         /* the same without a cell */
#define SESSIONS_TTL_MAX (30.0 * 86400) /* seconds */

struct session_options {
	const char *owner;   /* the caller: others do not see it */
	const char *name;    /* what it is called by its owner; "" */
	double ttl;          /* seconds until it ends by itself; 0: SESSIONS_TTL */
	double idle_ttl;     /* the same after the last cell; 0: SESSIONS_IDLE */
	unsigned most_own;   /* of this owner's that may live; 0: any number */
	const char *profile; /* of the registry; "" */
	bool asks;           /* see sessions_confirm() */
};

/* Where a cell runs. */
struct session_cell {
	const char *id;    /* the session */
	const char *owner; /* the caller */
	bool sees_all;     /* the caller may know whose session it is, if it is another's */
};

/* The engines must outlive it. `watch` (or NULL) is copied. */
int sessions_open(const struct engines *engines, const struct place_watch *watch, struct sessions **out,
		  struct error *err);
/* Ends all, and waits for who is in a call; NULL is fine. No new calls may come. */
void sessions_close(struct sessions *sessions);

/* The spec has the language, the limits, files and variables. It is taken, and empty afterwards. limits.timeout and
 * cpu_time are what a cell gets that says nothing else; the rest are the box's. CODE_TOO_MANY when as many
 * live as may. */
int sessions_start(struct sessions *sessions, struct spec *spec, const struct session_options *options,
		   char id[RESULT_ID], struct error *err);
/*
 * The spec's code as the next cell, with its input. limits.timeout, cpu_time and max_output are the cell's. One at a
 * time: others wait for their turn, or until they are cancelled. A limit, or the wish to cancel, interrupts the cell;
 * one that does not answer loses the session.
 *
 * The result is as any run's, with result->session. `files` are those in /sandbox/output that changed meanwhile.
 */
int sessions_execute(struct sessions *sessions, const struct session_cell *cell, const struct run_request *request,
		     struct result **out, struct error *err);
/* Whether each cell needs a confirmation: it was started so, or its profile wants that now (policy/in_force.h). False
 * of one that is not there. */
bool sessions_confirm(struct sessions *sessions, const char *id, const char *owner, const char *in_force);
/* Its language and policy into a spec, which does not outlive the call of the caller's own: for a look at its files. */
int sessions_policy(struct sessions *sessions, const char *id, const char *owner, const char *in_force,
		    struct spec *out, struct error *err);
/* Interrupts the cell that runs; *interrupted is false when none does. */
int sessions_interrupt(struct sessions *sessions, const char *id, const char *owner, bool *interrupted,
		       struct error *err);
/* Another box in its place, of the same id, with nothing of the state. `by` as in sessions_stop(). */
int sessions_restart(struct sessions *sessions, const char *id, const char *owner, const char *by, struct error *err);
/* What could stand at the cursor, or (inspect) what stands there: the answer's JSON, {matches, cursor_start,
 * cursor_end} or {found, data}; positions are in characters. The caller frees. CODE_BUSY while a cell runs. */
int sessions_ask(struct sessions *sessions, const char *id, const char *owner, bool inspect, const char *code,
		 size_t size, size_t cursor, char **json, struct error *err);
/* {"cells": [{count, code, status, exit_code, execution_time, timestamp}…], "dropped": N}; the caller frees. */
int sessions_cells(struct sessions *sessions, const char *id, const char *owner, char **json, struct error *err);
/* Ends it, and returns when it is over. One that has ended already is stopped too. `by`: who wants it; NULL: the
 * service itself. */
int sessions_stop(struct sessions *sessions, const char *id, const char *owner, const char *by, struct error *err);
/* Ends all of an owner, for that reason, and waits for none; how many. */
size_t sessions_end(struct sessions *sessions, const char *owner, const char *why);
/* JSON of one (api/openapi.yaml, Session), or with id NULL {"sessions": [those, oldest first]}; the caller frees. */
int sessions_status(struct sessions *sessions, const char *id, const char *owner, char **json, struct error *err);
/* The box's files, the caller's to close: live_close(). */
struct live_files;
int sessions_files(struct sessions *sessions, const char *id, const char *owner, struct live_files *files,
		   struct error *err);
/* A directory of its /sandbox, watched: as watch_start() of live/watch.h. */
int sessions_watch(struct sessions *sessions, const char *id, const char *owner, const char *path, bool recursive,
		   int *out, struct error *err);
/* A shell in its box, beside the driver, at a terminal of that size; the terminal's other side into *master, the
 * caller's to close, which ends the shell as a hang-up does. */
int sessions_terminal(struct sessions *sessions, const char *id, const char *owner, unsigned rows, unsigned columns,
		      int *master, struct error *err);
/* How many have not ended; those that start count. */
size_t sessions_running(struct sessions *sessions);
