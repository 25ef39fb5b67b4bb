/*
 * Answers to the notifications of a box's system call filter. A program that
 * makes forbidden calls all the time would keep us busy, without being charged
 * for it. After the first thousand calls of a box, the answers wait in a queue,
 * from which a few are sent each millisecond.
 */
#pragma once

#include "kernel/seccomp.h"

#include <stddef.h>
#include <stdint.h>

enum {
	REFUSALS_QUICK = 1000,     /* calls of one box that are answered at once */
	REFUSALS_PACE_USEC = 1000, /* interval between answers to boxes with more calls */
	REFUSALS_PACE = 4,         /* answers sent in one interval */
	REFUSALS_HELD = 4096,      /* length of the queue; if it is full, calls are answered at once */
};

/* The refused calls of one box. */
struct refused {
	uint64_t count; /* number of refused calls */
	int call;       /* number of the last refused call, if count is not 0 */
	uint64_t heard; /* all notifications, including granted ones */
	unsigned cores; /* processors reported to the box; 0: those of the host */
};

struct refusals {
	struct {
		int listener;               /* the listener that received the notification */
		struct seccomp_heard heard; /* the waiting call */
		unsigned cores;             /* processors reported to its box */
	} held[REFUSALS_HELD];              /* a ring; not touched until a call waits */
	size_t first;                       /* index of the oldest entry */
	size_t count;                       /* number of entries */
	uint64_t due_usec;                  /* time of the next answers; 0: no call waits */
};

/* Handles a received call that is not for a socket, of a box with the counts in `refused`. */
void refusals_add(struct refusals *refusals, int listener, const struct seccomp_heard *heard, struct refused *box);
/* Receives and handles the calls of a box's listener, which is closed when its last process has ended. */
void refusals_hear(struct refusals *refusals, int *listener, struct refused *box);
/* Sends the answers that are due. */
void refusals_on_time(struct refusals *refusals);
/* The timeout for poll() until the next answers, or -1. */
int refusals_wait_msec(const struct refusals *refusals);
/* Forgets a listener that is about to be closed. */
void refusals_forget(struct refusals *refusals, int listener);
