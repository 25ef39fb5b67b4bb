/*
 * A fair queue: callers take turns, and each caller's items keep their order.
 *
 * A caller is a uid; its items come from connections, each of which has at most
 * one here. So one who queues a thousand delays another by one run, not by a
 * thousand. Items are part of what is queued: nothing is allocated for them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct queue_caller;

struct queue_item {
	struct queue_item *next, *previous; /* of the same caller, in their order; NULL at the ends */
	struct queue_caller *caller;        /* NULL: it is not queued */
};

struct queue {
	struct queue_caller *first; /* whose turn it is; a ring; NULL: empty */
	size_t count;               /* items */
	size_t most;                /* items altogether */
	size_t most_each;           /* items of one caller */
};

enum queue_answer {
	QUEUE_TAKEN,
	QUEUE_FULL,        /* altogether */
	QUEUE_CALLER_FULL, /* this caller has as many as one may have */
	QUEUE_NO_MEMORY,
};

enum queue_answer queue_push(struct queue *queue, struct queue_item *item, uint32_t uid);
/* Whose turn it is, NULL when empty; it stays where it is. */
struct queue_item *queue_peek(const struct queue *queue);
/* Takes that one out, and it is the next caller's turn. */
struct queue_item *queue_pop(struct queue *queue);
/* Takes any out; no turn is lost by it. */
void queue_remove(struct queue *queue, struct queue_item *item);
