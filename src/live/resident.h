/*
 * A place that stays: one box, and what its callers share of it.
 *
 * THEORY OF OPERATION
 *
 * A single run has a box for as long as its program runs. A place (a session, a
 * container) keeps its box from one run to the next. `struct resident` is what
 * every place has, whatever runs in it:
 *
 *	box    A thread of the resident asks the engines (engine/engine.h) for a
 *	       place, in their order, and watches it until its end. The thread
 *	       lives as long as the box: a box dies with the thread that cloned
 *	       it. Two things differ from a single run. The box's time limit is
 *	       the resident's `ttl`. And the pipes of its first program are taken
 *	       out of the box before it is supervised: the caller that has the
 *	       turn reads them, and no bound of a run's output applies to them.
 *	files  resident_files() opens its /sandbox for live/live_files.h, and
 *	       resident_handles() copies the directories that results are made
 *	       from. Both stay readable when the box ends meanwhile.
 *	turn   Runs in a place are one at a time. resident_take_turn() waits in a
 *	       bounded queue; a caller that goes away, or a place that ends,
 *	       ends the wait. Only the caller that has the turn touches `input`
 *	       and `output`. `idle_ttl` counts while nobody has it.
 *	usage  resident_usage() asks the engine, which reads the control group, or
 *	       adds up processes where there is none. The usage of one run is the
 *	       difference of two readings.
 *	end    A box ends by its program, its limits, its time, resident_end(), or
 *	       from outside. The first reason counts, and is kept with the name
 *	       of the caller. `ended_fd` becomes readable: a caller polls it
 *	       beside whatever else it waits for. ended() is called before, and
 *	       gone() as the last step of the thread.
 *
 *	STARTING ── resident_begin() ──► RUNNING ──► ENDED
 *	    └────────────── the start failed ──────────▲
 *
 * The kind of place decides what the first program is, and how to speak with it:
 * a driver (session_box.c, session_talk.c) or an agent (container_box.c,
 * agent_order.c). Ids, owners and lists are in live/place.h.
 *
 * resident_exec() starts a process beside the first program, which ends with the
 * box at the latest. Terminals are such processes. Named processes and their
 * ports belong here, too: they need no turn, their usage is part of the box's, and
 * the kind of place keeps a table of them.
 *
 * An idle place costs no CPU time. Its only timer is that of its end.
 *
 * Locks: `lock` may be taken while that of the list (place.h) is held, never the
 * other way round. It is held for short reads of the box, at most for a fork.
 */
#pragma once

#include "engine/engine.h"
#include "live/live_network.h"
#include "run/build.h"

#include <pthread.h>

struct live_files;

enum resident_state {
	RESIDENT_STARTING, /* its box is being made, or its program is not ready */
	RESIDENT_RUNNING,  /* its program is ready */
	RESIDENT_ENDED,    /* nothing of its box is left */
};

enum {
	RESIDENT_WAITING_MAX = 64 /* callers that wait for their turn */
};

struct resident {
	/* Set by the kind of place before the launch. */
	const char *noun;                         /* the place, in sentences: "session" */
	const char *program;                      /* its first program, in sentences: "driver" */
	void (*ended)(struct resident *resident); /* called once on its thread, before the state is ENDED, if it ran */
	void (*gone)(struct resident *resident);  /* the last step of its thread, which uses it no more; may be NULL */
	double ttl;                               /* seconds that it lives at most */
	double idle_ttl;                          /* seconds without a turn after which it ends; 0: no such bound */

	/* Its thread's; constant once resident_launch() has returned. */
	pthread_t thread;              /* makes the box and supervises it; 0: none, or joined */
	struct job job;                /* its first program */
	struct build build;            /* what the language is prepared with: locked while the box shows it */
	bool warm;                     /* its box was made ahead */
	const struct engines *engines; /* that it was launched with */
	struct live_network *network;  /* what its programs may reach; owned */

	/* Owned by the caller that has the turn. */
	int input;     /* the program's stdin; non-blocking */
	int output[2]; /* its stdout and stderr; non-blocking */

	/* A thousand places may be idle: descriptors that only a turn needs are closed meanwhile. */
	int stop_fd;  /* timerfd: readable once it is to end, by idle_ttl or resident_end() */
	int ended_fd; /* eventfd: readable once it has ended */

	pthread_mutex_t lock;       /* for all below */
	pthread_cond_t changed;     /* signalled when `live` or `state` changes */
	enum resident_state state;  /* how far it is */
	bool stopping;              /* resident_end() was called */
	bool taken;                 /* a caller has the turn, or it was passed to those that wait */
	unsigned waiting;           /* callers that wait for their turn */
	int turn_fd;                /* eventfd, a semaphore: passes the turn to one of them; -1: nobody waits */
	char why[256];              /* why it ended: the first reason */
	char by[64];                /* the caller that ended it; "": the service */
	struct error failure;       /* why it could not be made */
	struct verdict verdict;     /* on the box, once it has ended */
	bool live;                  /* the box is there, and its program has begun */
	struct engine_place *place; /* the box, as its engine has it; valid while `live` */
};

/* Makes it empty. -1 with errno. */
int resident_init(struct resident *resident);

/* Prepares the language, if its job needs that (`needed`). *given is what the job is to be made from. */
int resident_prepare(struct resident *resident, const struct spec *spec, const struct engines *engines, bool needed,
		     struct job_given *given, struct error *err);
/* With `job` made. The first engine that takes the job makes the box. Returns when its program has begun; the state is
 * still STARTING. After -1 it has ended. */
int resident_launch(struct resident *resident, const struct engines *engines, struct error *err);
/* Waits until its program says that it is ready. `hear` reads what can be read of `fd`. It returns 1: the program is
 * ready; 0: not yet; -1: it said something else. After -1 resident_explain_start() says why. */
int resident_await_ready(struct resident *resident, int fd, int (*hear)(struct resident *resident));
/* Ends a place whose program did not get ready. Returns -1. The error is the box's own, if it has one, because that
 * says more than that the program was silent. */
int resident_explain_start(struct resident *resident, struct error *err);
/* STARTING becomes RUNNING. False: it has ended meanwhile. */
bool resident_begin(struct resident *resident);

/* Ends it, without waiting. `why` and `by` (NULL: the service) count if they are the first. */
void resident_end(struct resident *resident, const char *why, const char *by);
/* Waits until it has ended; msec -1: as long as that may take. False: it has not. */
bool resident_await_end(struct resident *resident, int msec);
/* Waits for its thread. */
void resident_join(struct resident *resident);
/* In gone(): its thread will not be joined. */
void resident_leave(struct resident *resident);
/* Frees what only a living place needs. Nobody uses it, and it has ended or was never launched. */
void resident_shrink(struct resident *resident);
/* The same, and the rest. */
void resident_free(struct resident *resident);

enum resident_state resident_state(struct resident *resident);
/* A copy of why it ended. */
void resident_why(struct resident *resident, char why[256]);
/* What the box uses, or had used when it ended. False: it has ended, or has not begun. */
bool resident_usage(struct resident *resident, struct engine_usage *usage);
/* Fills in what a result says of the box. -1 also when it has ended. */
int resident_describe(struct resident *resident, struct result *result, struct error *err);
/* Its files; live_close() closes them. 1: it has ended. */
int resident_files(struct resident *resident, struct live_files *files, struct error *err);
/* Copies of the box's directories, the caller's to close; -1: none. */
void resident_handles(struct resident *resident, int handles[REPORT_FDS]);
/* Begins a program beside the first, as place_exec() of struct engine; the job is set here. 1: it has ended. */
int resident_exec(struct resident *resident, const struct engine_exec *what, struct engine_execution *begun,
		  struct error *err);

/* Around a run: what its programs did with the network meanwhile becomes part of the result. */
void resident_network_mark(struct resident *resident, const struct engine_io *io, struct live_network_mark *mark);
void resident_network_fill(struct resident *resident, const struct live_network_mark *mark, struct result *result);
/* Changes what it may reach. `inside` is as in struct engine_exec. 1: it has ended. */
int resident_network_change(struct resident *resident, int inside, const struct net_policy *policy, struct error *err);

/* 1: the caller has the turn. 0: it gave up: cancel_fd is readable, or the time is over (msec; -1: none). -1 with
 * errno: it has ended or is being ended (ESRCH), too many wait (EBUSY), or the system failed. */
int resident_take_turn(struct resident *resident, int cancel_fd, int msec);
void resident_give_turn(struct resident *resident);
