/*
 * Decisions about the network of runs that are not over, for callers that follow them.
 *
 * A follower gets a pipe with a line of JSON for each decision: first those that were made, then each as it is made,
 * until the run ends. The pipe holds all lines that one run can have, so that nothing is dropped and no run waits for
 * a follower.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "net/net_report.h"

#include <pthread.h>
#include <stddef.h>

enum {
	FOLLOWERS_MAX = 8 /* of one run */
};

/* Of one run, on its thread's stack. */
struct decisions {
	const char *id;               /* of the run */
	const char *caller;           /* whose run it is */
	struct buf lines;             /* so far */
	size_t count;                 /* of them */
	int followers[FOLLOWERS_MAX]; /* writing ends; -1: free */
	struct decisions *next;       /* in the list */
};

/* Of all runs. */
struct decisions_list {
	pthread_mutex_t lock;    /* for all of it */
	struct decisions *first; /* in no order */
};

void decisions_begin(struct decisions_list *list, struct decisions *run, const char *id, const char *caller);
/* Adds the connections of the report from `from` on that are new. */
void decisions_add(struct decisions_list *list, struct decisions *run, const struct net_report *report, size_t from);
void decisions_end(struct decisions_list *list, struct decisions *run);
/* The reading end of a new follower's pipe; the caller NULL: everybody's. CODE_NOT_FOUND: no such run. */
int decisions_follow(struct decisions_list *list, const char *id, const char *caller, int *out, struct error *err);
