#include "daemon/front/queue.h"

#include <stdlib.h>

struct queue_caller {
	struct queue_caller *next, *previous; /* the ring */
	struct queue_item *head, *tail;       /* its items; never empty */
	size_t count;                         /* of them */
	uint32_t uid;                         /* who it is */
};

static struct queue_caller *caller_find(const struct queue *queue, uint32_t uid)
{
	struct queue_caller *caller = queue->first;

	if (!caller)
		return NULL;
	do {
		if (caller->uid == uid)
			return caller;
		caller = caller->next;
	} while (caller != queue->first);
	return NULL;
}

/* At the end of the ring: all others have their turn before. */
static struct queue_caller *caller_add(struct queue *queue, uint32_t uid)
{
	struct queue_caller *caller = calloc(1, sizeof(*caller));

	if (!caller)
		return NULL;
	caller->uid = uid;
	caller->next = caller->previous = caller;
	if (queue->first) {
		caller->next = queue->first;
		caller->previous = queue->first->previous;
		caller->previous->next = caller->next->previous = caller;
	} else {
		queue->first = caller;
	}
	return caller;
}

static void caller_drop(struct queue *queue, struct queue_caller *caller)
{
	caller->previous->next = caller->next;
	caller->next->previous = caller->previous;
	if (queue->first == caller)
		queue->first = caller->next != caller ? caller->next : NULL;
	free(caller);
}

enum queue_answer queue_push(struct queue *queue, struct queue_item *item, uint32_t uid)
{
	struct queue_caller *caller = caller_find(queue, uid);

	if (queue->count >= queue->most)
		return QUEUE_FULL;
	if ((caller ? caller->count : 0) >= queue->most_each)
		return QUEUE_CALLER_FULL;
	if (!caller && !(caller = caller_add(queue, uid)))
		return QUEUE_NO_MEMORY;
	*item = (struct queue_item){ .caller = caller, .previous = caller->tail };
	if (caller->tail)
		caller->tail->next = item;
	else
		caller->head = item;
	caller->tail = item;
	caller->count++;
	queue->count++;
	return QUEUE_TAKEN;
}

struct queue_item *queue_peek(const struct queue *queue)
{
	return queue->first ? queue->first->head : NULL;
}

void queue_remove(struct queue *queue, struct queue_item *item)
{
	struct queue_caller *caller = item->caller;

	if (item->previous)
		item->previous->next = item->next;
	else
		caller->head = item->next;
	if (item->next)
		item->next->previous = item->previous;
	else
		caller->tail = item->previous;
	*item = (struct queue_item){ 0 };
	queue->count--;
	if (--caller->count == 0)
		caller_drop(queue, caller);
}

struct queue_item *queue_pop(struct queue *queue)
{
	struct queue_item *item = queue_peek(queue);
	struct queue_caller *next;

	if (!item)
		return NULL;
	next = item->caller->next;
	/* Of the last item of the only caller nothing is left to turn to. */
	if (next == item->caller && item->caller->count == 1)
		next = NULL;
	queue_remove(queue, item);
	queue->first = next;
	return item;
}
