/* The queue: callers take turns, bounds hold, and what is taken out is out. */
#include "../check.h"

#include "daemon/front/queue.h"

enum {
	MANY = 1000
};

static struct queue_item items[MANY + 10];

static struct queue fresh(size_t most, size_t most_each)
{
	memset(items, 0, sizeof(items));
	return (struct queue){ .most = most, .most_each = most_each };
}

static int popped(struct queue *queue)
{
	struct queue_item *item = queue_pop(queue);

	return item ? (int)(item - items) : -1;
}

static void one_caller_is_served_in_order(void)
{
	struct queue queue = fresh(10, 10);

	for (int i = 0; i < 5; i++)
		CHECK_INT(queue_push(&queue, &items[i], 1), QUEUE_TAKEN);
	for (int i = 0; i < 5; i++) {
		CHECK(queue_peek(&queue) == &items[i]);
		CHECK_INT(popped(&queue), i);
	}
	CHECK_INT(popped(&queue), -1);
	CHECK_INT(queue.count, 0);
}

static void a_thousand_of_one_delay_another_by_one(void)
{
	struct queue queue = fresh(MANY + 10, MANY);

	for (int i = 0; i < MANY; i++)
		CHECK_INT(queue_push(&queue, &items[i], 1), QUEUE_TAKEN);
	CHECK_INT(queue_push(&queue, &items[MANY], 2), QUEUE_TAKEN);
	CHECK_INT(queue_push(&queue, &items[MANY + 1], 2), QUEUE_TAKEN);
	CHECK_INT(queue_push(&queue, &items[MANY + 2], 3), QUEUE_TAKEN);
	CHECK_INT(popped(&queue), 0);
	CHECK_INT(popped(&queue), MANY);
	CHECK_INT(popped(&queue), MANY + 2);
	CHECK_INT(popped(&queue), 1);
	CHECK_INT(popped(&queue), MANY + 1);
	for (int i = 2; i < MANY; i++)
		CHECK_INT(popped(&queue), i);
	CHECK_INT(popped(&queue), -1);
}

static void bounds_hold(void)
{
	struct queue queue = fresh(3, 2);

	CHECK_INT(queue_push(&queue, &items[0], 1), QUEUE_TAKEN);
	CHECK_INT(queue_push(&queue, &items[1], 1), QUEUE_TAKEN);
	CHECK_INT(queue_push(&queue, &items[2], 1), QUEUE_CALLER_FULL);
	CHECK(items[2].caller == NULL);
	CHECK_INT(queue_push(&queue, &items[2], 2), QUEUE_TAKEN);
	CHECK_INT(queue_push(&queue, &items[3], 3), QUEUE_FULL);
	CHECK_INT(popped(&queue), 0);
	CHECK_INT(queue_push(&queue, &items[3], 3), QUEUE_TAKEN);
	while (popped(&queue) >= 0)
		;
}

static void any_can_be_taken_out(void)
{
	struct queue queue = fresh(10, 10);

	for (int i = 0; i < 4; i++)
		queue_push(&queue, &items[i], 1);
	queue_push(&queue, &items[4], 2);
	queue_remove(&queue, &items[1]);
	queue_remove(&queue, &items[0]);
	queue_remove(&queue, &items[3]);
	CHECK_INT(queue.count, 2);
	CHECK_INT(popped(&queue), 2);
	/* Of whoever has nothing left nothing is left. */
	queue_remove(&queue, &items[4]);
	CHECK_INT(popped(&queue), -1);
	CHECK(queue.first == NULL);
	CHECK_INT(queue_push(&queue, &items[4], 2), QUEUE_TAKEN);
	CHECK_INT(popped(&queue), 4);
}

int main(void)
{
	RUN(one_caller_is_served_in_order);
	RUN(a_thousand_of_one_delay_another_by_one);
	RUN(bounds_hold);
	RUN(any_can_be_taken_out);
	return check_failures != 0;
}
