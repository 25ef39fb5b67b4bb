/*
 * Bounds on how many of something may be open at once: in all, and of one owner.
 * The owner is a caller. It cannot use up the shares of other callers.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct slot {
	struct slots *slots; /* the list that it is on; NULL: it is not taken */
	struct slot *next;   /* in their list */
	const char *owner;   /* the caller; borrowed from the holder */
};

struct slots {
	size_t most;          /* of all owners */
	size_t most_own;      /* of one */
	pthread_mutex_t lock; /* for all below */
	pthread_cond_t left;  /* a slot was given back */
	struct slot *taken;   /* the list */
};

void slots_init(struct slots *slots, size_t most, size_t most_own);
/* Waits until all slots have been given back. No more may be taken. */
void slots_close(struct slots *slots);

/* False: none is left for this owner. `owner` has to stay until slot_leave(). */
bool slot_take(struct slots *slots, struct slot *slot, const char *owner);
/* Gives it back. Afterwards `slots` may be freed by another thread. A slot that was not taken is fine. */
void slot_leave(struct slot *slot);
