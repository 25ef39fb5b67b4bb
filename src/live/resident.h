/*
 * A box that lives: made, supervised and ended by a thread of its own, used by
 * one caller at a time.
 *
 * The path is that of any run, but for two things. The pipes to the program are
 * taken from the box before it is supervised: who has the turn reads them, and
 * no bound of a run's output is for them. And the box's time is the resident's.
 *
 * Who uses it polls `ended_fd` beside whatever it waits for. Nothing here wakes
 * while nobody asks, but for one timer at the end of its time, or of its rest.
 */
#pragma once

#include "engine/local/account.h"
#include "run/build.h"
#include "engine/local/launch.h"

#include <pthread.h>

struct pool;
struct held;
struct live_place;

enum resident_state {
	RESIDENT_STARTING, /* its box is being made */
	RESIDENT_RUNNING,  /* its program was heard of */
	RESIDENT_ENDED,    /* nothing of its box is left */
};

enum {
	RESIDENT_WAITING_MAX = 64 /* callers that wait for their turn */
};

/* What it uses, or used when it ended. */
struct resident_usage {
	uint64_t cpu_usec;    /* user and system, of the whole box since its program began */
	uint64_t memory;      /* bytes now; of one that has ended 0 */
	uint64_t memory_peak; /* bytes, as far as anybody knows */
	uint64_t pids;        /* processes and threads, init and the program itself among them */
	uint64_t oom_kills;   /* processes that the kernel killed for memory */
	bool live;            /* there is a box that uses it */
};

struct resident {
	const char *noun;                         /* what it is, in sentences: "session" */
	const char *program;                      /* what its program is, in sentences: "driver" */
	void (*ended)(struct resident *resident); /* called on its thread once, before it counts as ended, if it ran */
	void (*gone)(struct resident *resident);  /* the same, as the last thing its thread does with it; may be NULL */
	double ttl;                               /* seconds that it lives at most */
	double idle_ttl;                          /* seconds that it may rest; 0: as long as it likes */

	/* Of its thread; settled before anybody else looks. */
	pthread_t thread;      /* makes the box and supervises it; 0: none, or joined */
	struct job job;        /* its program */
	struct plan plan;      /* of a box of its own */
	struct build build;    /* what the language is prepared with: locked while the box shows it */
	struct box own;        /* a box of its own */
	struct held *held;     /* or one that the pool lent; NULL: none */
	struct box *box;       /* whichever it is */
	struct userns_ids ids; /* who it is on the host, for meta.isolation */
	bool warm;             /* its box was made ahead */

	/* Of whoever has the turn. */
	int input;     /* the program's stdin; does not wait */
	int output[2]; /* its stdout and stderr; do not wait */

	/* A thousand may rest: what is needed only while one is used is not open meanwhile. */
	int stop_fd;  /* timerfd: readable once it is to end, by its rest or by a word */
	int ended_fd; /* eventfd: readable once it has ended */

	pthread_mutex_t lock;      /* for all below */
	pthread_cond_t changed;    /* live, or state */
	enum resident_state state; /* how far it is */
	bool stopping;             /* it was told to end */
	bool taken;                /* somebody has the turn, or it was passed to those who wait */
	unsigned waiting;          /* for their turn */
	int turn_fd;               /* eventfd, a semaphore: passes the turn to one of them; -1 while nobody waits */
	char why[256];             /* why it ended; the first to say so counts */
	char by[64];               /* and who ended it; "": the service */
	struct error failure;      /* why it could not be made */
	struct verdict verdict;    /* on the box, once it has ended */
	bool live;                 /* the box's group and directories can be read */
	struct account *account;   /* of a box without a group, or NULL */
};

/* Makes it empty; -1 with errno. `program` and the times are the caller's to set, and the job. */
int resident_init(struct resident *resident);
/* What the language is prepared with, if its job needs that (`needed`); *given is what the job is to be made of. */
int resident_prepare(struct resident *resident, const struct spec *spec, const struct probe *probe, bool needed,
		     struct job_given *given, struct error *err);
/* With its job made. Makes the box, of the pool's if that is given and has one that fits, and returns when its program
 * has begun; the state is still RESIDENT_STARTING. After -1 it has ended. */
int resident_launch(struct resident *resident, struct pool *pool, const struct probe *probe, struct error *err);
/* Waits until its program says that it is ready. `hear` reads what can be read of `fd`: 1: it is. 0: not yet. -1: what
 * it said is something else. After -1 resident_explain_start() says why. */
int resident_await_ready(struct resident *resident, int fd, int (*hear)(struct resident *resident));
/* Ends one whose program did not begin. The box's own reason, where it has one, says more than that the program was
 * silent. */
int resident_explain_start(struct resident *resident, struct error *err);
/* Its program was heard of. False: it has ended meanwhile. */
bool resident_begin(struct resident *resident);
/* Ends it, without waiting; `why` and `by` (NULL: the service) count if they are the first. */
void resident_end(struct resident *resident, const char *why, const char *by);
/* Waits until nothing of its box is left; false when that does not come. */
bool resident_await_end(struct resident *resident, int msec);
/* Waits for its thread. */
void resident_join(struct resident *resident);
/* In gone(): nobody will wait for its thread. */
void resident_leave(struct resident *resident);
/* Of one that has ended, or never began, and that nobody uses: leaves what can be told of it. */
void resident_shrink(struct resident *resident);
/* The same, and the rest. */
void resident_free(struct resident *resident);

enum resident_state resident_state(struct resident *resident);
/* A copy of why it ended. */
void resident_why(struct resident *resident, char why[256]);
void resident_usage(struct resident *resident, struct resident_usage *usage);
/* Its files, the caller's to close with live_close(). 1: it has ended. */
int resident_files(struct resident *resident, struct live_place *files, struct error *err);
/* Copies of its directories, to be read whatever becomes of it; -1: none. */
void resident_handles(struct resident *resident, int handles[REPORT_FDS]);

/* 1: the turn is ours. 0: the caller does not want it any more, or the time is over (msec, -1: none). -1: it has ended
 * (errno ESRCH), too many wait (EBUSY), or we failed. */
int resident_take_turn(struct resident *resident, int cancel_fd, int msec);
void resident_give_turn(struct resident *resident);
