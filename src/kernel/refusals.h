/*
 * The answers of who listens to a box: each call that its filter tells of is
 * refused. Who asks for the forbidden all the time would keep us busy with it,
 * on nobody's account; after the first thousand of a box its answers wait in
 * line, and each millisecond some of those who wait get theirs.
 */
#pragma once

#include "kernel/seccomp.h"

#include <stddef.h>
#include <stdint.h>

enum {
	REFUSALS_QUICK = 1000,     /* of one box, which are answered at once */
	REFUSALS_PACE_USEC = 1000, /* between answers to those who had more… */
	REFUSALS_PACE = 4,         /* …of whom so many get theirs then */
	REFUSALS_HELD = 4096,      /* who can wait for theirs; who comes then is answered at once */
};

/* What one box was refused. */
struct refused {
	uint64_t count; /* how often */
	int call;       /* the last one's number, where count is not 0 */
	uint64_t heard; /* what it asked in all, also what was granted */
	unsigned cores; /* that it is told it has; 0: those of the host */
};

struct refusals {
	struct {
		int listener;               /* where it was heard */
		struct seccomp_heard heard; /* who waits */
		unsigned cores;             /* of its box */
	} held[REFUSALS_HELD];              /* a ring; untouched until somebody waits */
	size_t first;                       /* who has waited longest */
	size_t count;                       /* how many wait */
	uint64_t due_usec;                  /* when the next are answered; 0: nobody waits */
};

/* One was heard that is no socket, of a box that had those so far. */
void refusals_add(struct refusals *refusals, int listener, const struct seccomp_heard *heard, struct refused *box);
/* The same from the listener of one box, which is closed when nobody is left to be heard. */
void refusals_hear(struct refusals *refusals, int *listener, struct refused *box);
/* Answers those whose time has come. */
void refusals_on_time(struct refusals *refusals);
/* For poll(): until then, or -1. */
int refusals_wait_msec(const struct refusals *refusals);
/* The listener is about to be closed. */
void refusals_forget(struct refusals *refusals, int listener);
