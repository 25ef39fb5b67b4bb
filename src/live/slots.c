#include "live/slots.h"

#include <string.h>

void slots_init(struct slots *slots, size_t most, size_t most_own)
{
	*slots = (struct slots){ .most = most, .most_own = most_own };
	pthread_mutex_init(&slots->lock, NULL);
	pthread_cond_init(&slots->left, NULL);
}

void slots_close(struct slots *slots)
{
	pthread_mutex_lock(&slots->lock);
	while (slots->taken)
		pthread_cond_wait(&slots->left, &slots->lock);
	pthread_mutex_unlock(&slots->lock);
	pthread_cond_destroy(&slots->left);
	pthread_mutex_destroy(&slots->lock);
}

bool slot_take(struct slots *slots, struct slot *slot, const char *owner)
{
	size_t all = 0, own = 0;
	bool room;

	pthread_mutex_lock(&slots->lock);
	for (const struct slot *other = slots->taken; other; other = other->next) {
		all++;
		own += strcmp(other->owner, owner) == 0;
	}
	room = all < slots->most && own < slots->most_own;
	if (room) {
		*slot = (struct slot){ .slots = slots, .next = slots->taken, .owner = owner };
		slots->taken = slot;
	}
	pthread_mutex_unlock(&slots->lock);
	return room;
}

void slot_leave(struct slot *slot)
{
	struct slots *slots = slot->slots;
	struct slot **at;

	if (!slots)
		return;
	pthread_mutex_lock(&slots->lock);
	for (at = &slots->taken; *at != slot; at = &(*at)->next)
		;
	*at = slot->next;
	slot->slots = NULL;
	pthread_cond_broadcast(&slots->left);
	pthread_mutex_unlock(&slots->lock);
}
