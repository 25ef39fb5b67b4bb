/*
 * How many of something may be open at once: in all, and of one owner. The owner
 * is a caller; what it leaves open for ever is at most its own share.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct slot {
	struct slots *slots; /* where it is taken; NULL: it is not */
	struct slot *next;   /* in their list */
	const char *owner;   /* the caller; the holder's string */
};

struct slots {
	size_t most;          /* of all owners */
	size_t most_own;      /* of one */
	pthread_mutex_t lock; /* for all below */
	pthread_cond_t left;  /* a slot was given back */
	struct slot *taken;   /* the list */
};

void slots_init(struct slots *slots, size_t most, size_t most_own);
/* Waits until all have been given back. Nobody may take one any more. */
void slots_close(struct slots *slots);

/* False: there is none left for this owner. `owner` stays until slot_leave(). */
bool slot_take(struct slots *slots, struct slot *slot, const char *owner);
/* The last that its holder does with the slots: they may be gone afterwards. A slot that was not taken is fine. */
void slot_leave(struct slot *slot);
