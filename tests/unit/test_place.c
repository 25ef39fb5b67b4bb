/*
 * Turns, lists and slots, of places whose box is a thread of the test's: it ends
 * when it is told to, as a box's thread does.
 */
#include "../check.h"

#include "live/place.h"
#include "live/slots.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static struct places all;
static struct error err;
static size_t freed;    /* places */
static int gate = -1;   /* eventfd: a box that is to end takes its time until this is readable; -1: none */
static char told[1024]; /* what the watch was told: "ID WHY BY\n" each */

static void test_free(struct place *place)
{
	place_destroy(place);
	free(place);
	freed++;
}

static json_t *test_describe(struct place *place)
{
	return json_string(place->id);
}

static const struct place_kind kind = {
	.noun = "test",
	.field = "which",
	.program = "thread",
	.stopped = "it was stopped",
	.kept_max = 2,
	.shrink = place_shrink,
	.free = test_free,
	.describe = test_describe,
};

static void on_ended(const struct place_ended *ended, void *userdata)
{
	(void)userdata;
	strcat(told, ended->id);
	strcat(told, " ");
	strcat(told, ended->why);
	strcat(told, " ");
	strcat(told, ended->by);
	strcat(told, "\n");
}

/* As resident.c does it. */
static void *live(void *argument)
{
	struct resident *home = argument;
	struct pollfd stop = { .fd = home->stop_fd, .events = POLLIN };

	while (poll(&stop, 1, -1) != 1)
		;
	while (gate >= 0 && read(gate, &(uint64_t){ 0 }, sizeof(uint64_t)) < 0 && errno == EINTR)
		;
	home->ended(home);
	pthread_mutex_lock(&home->lock);
	home->state = RESIDENT_ENDED;
	pthread_mutex_unlock(&home->lock);
	CHECK_INT(write(home->ended_fd, &(uint64_t){ 1 }, sizeof(uint64_t)), sizeof(uint64_t));
	home->gone(home);
	return NULL;
}

static int admit(struct places *places, const struct place *place, const void *options, struct error *error)
{
	const size_t most = *(const size_t *)options;

	(void)place;
	return places_living(places, NULL) < most ? 0 : error_usage(error, "there are %zu", most);
}

/* NULL: it was refused. */
static struct place *start(const char *owner, bool fleeting, size_t most)
{
	static const struct runtime runtime = { .name = "none" };
	struct place *place = calloc(1, sizeof(*place));

	if (!place || place_init(place, &all, owner, "profile") < 0)
		abort();
	place->runtime = &runtime;
	place->fleeting = fleeting;
	/* They are made within a millisecond, where ids begin alike. */
	snprintf(place->id, sizeof(place->id), "%s%zu", owner, places_count(&all));
	if (places_add(&all, place, admit, &most, &err) < 0)
		return NULL;
	/* Nobody finds it before it runs. */
	CHECK(places_find(&all, place->id, NULL, &err) == NULL);
	if (pthread_create(&place->home.thread, NULL, live, &place->home) != 0)
		abort();
	CHECK(resident_begin(&place->home));
	CHECK_INT(places_settle(place, 0), 0);
	return place;
}

static void open_all(void)
{
	places_init(&all, &kind, &(struct place_watch){ .ended = on_ended });
	told[0] = '\0';
	freed = 0;
}

static const char *listed(const char *owner)
{
	static char *text;

	free(text);
	text = NULL;
	CHECK_INT(places_list(&all, owner, "tests", &text, &err), 0);
	return text;
}

static void a_place_is_its_owners(void)
{
	struct place *found;

	open_all();
	start("ann", false, 9);
	start("bob", false, 9);
	found = places_find(&all, "ann0", "ann", &err);
	CHECK(found != NULL);
	if (found)
		place_let_go(found);
	found = places_find(&all, "ann0", NULL, &err);
	CHECK(found != NULL);
	if (found)
		place_let_go(found);
	CHECK(places_find(&all, "ann0", "bob", &err) == NULL);
	CHECK_INT(err.code, CODE_NOT_FOUND);
	CHECK_STR(err.text, "which: there is no test \"ann0\"");
	CHECK_INT(places_stop(&all, "ann0", "bob", "bob", &err), -1);
	CHECK_STR(listed("ann"), "{\"tests\":[\"ann0\"]}");
	CHECK_STR(listed(NULL), "{\"tests\":[\"ann0\",\"bob1\"]}");
	CHECK_STR(told, "");
	places_close(&all, "that was all");
	CHECK(strstr(told, "ann0 that was all service\n") && strstr(told, "bob1 that was all service\n"));
	CHECK_INT(freed, 2);
}

static void what_is_refused_is_freed(void)
{
	open_all();
	start("ann", false, 1);
	CHECK(start("ann", false, 1) == NULL);
	CHECK_STR(err.text, "there are 1");
	CHECK_INT(freed, 1);
	CHECK_INT(places_count(&all), 1);
	/* The control: one that has ended leaves room. */
	CHECK_INT(places_stop(&all, "ann0", "ann", "ann", &err), 0);
	CHECK_INT(places_count(&all), 0);
	CHECK(start("eve", false, 1) != NULL);
	places_close(&all, "that was all");
}

static void the_first_reason_counts(void)
{
	open_all();
	start("ann", false, 9);
	CHECK_INT(places_stop(&all, "ann0", NULL, "boss", &err), 0);
	CHECK_STR(told, "ann0 it was stopped boss\n");
	/* It has ended already, and is listed for a while. */
	CHECK_INT(places_stop(&all, "ann0", NULL, "other", &err), 0);
	CHECK_STR(told, "ann0 it was stopped boss\n");
	CHECK_STR(listed("ann"), "{\"tests\":[\"ann0\"]}");
	places_close(&all, "that was all");
	CHECK_STR(told, "ann0 it was stopped boss\n");
}

static void ended_places_are_forgotten(void)
{
	size_t removed = 9;

	open_all();
	/* The oldest beyond two go. */
	for (int i = 0; i < 4; i++) {
		const char owner[] = { (char)('a' + i), '\0' };

		start(owner, false, 9);
		CHECK_INT(places_end(&all, owner, "over"), 1);
		CHECK_INT(places_end(&all, "nobody", "over"), 0);
		CHECK_INT(places_stop(&all, (char[]){ owner[0], '0', '\0' }, NULL, NULL, &err), 0);
	}
	CHECK_STR(listed(NULL), "{\"tests\":[\"c0\",\"d0\"]}");
	CHECK_INT(freed, 2);
	CHECK_INT(places_cleanup(&all, "c", &removed, &err), 0);
	CHECK_INT(removed, 1);
	CHECK_STR(listed(NULL), "{\"tests\":[\"d0\"]}");
	/* A fleeting one is not seen once it has ended, even while somebody holds it. */
	{
		struct place *held;

		start("eve", true, 9);
		held = places_find(&all, "eve0", "eve", &err);
		CHECK(held != NULL);
		CHECK_INT(places_end(&all, "eve", "over"), 1);
		CHECK(held && resident_await_end(&held->home, 20000));
		CHECK(places_find(&all, "eve0", "eve", &err) == NULL);
		CHECK_STR(listed(NULL), "{\"tests\":[\"d0\"]}");
		if (held)
			place_let_go(held);
	}
	places_close(&all, "that was all");
	CHECK_INT(freed, 5);
}

static void a_replaced_place_is_not_found(void)
{
	struct place *old, *place, *found;
	size_t most = 9;

	open_all();
	start("ann", false, most);
	old = places_find(&all, "ann0", "ann", &err);
	place = calloc(1, sizeof(*place));
	if (!old || !place || place_init(place, &all, "ann", "") < 0)
		abort();
	place->runtime = old->runtime;
	memcpy(place->id, old->id, sizeof(place->id));
	pthread_mutex_lock(&all.lock);
	old->replaced = true;
	pthread_mutex_unlock(&all.lock);
	CHECK(places_find(&all, "ann0", "ann", &err) == NULL);
	resident_end(&old->home, "it was replaced", NULL);
	CHECK(resident_await_end(&old->home, 20000));
	places_replace(old, place);
	CHECK_INT(freed, 1);
	if (pthread_create(&place->home.thread, NULL, live, &place->home) != 0)
		abort();
	CHECK(resident_begin(&place->home));
	CHECK_INT(places_settle(place, 0), 0);
	found = places_find(&all, "ann0", "ann", &err);
	CHECK(found == place);
	if (found)
		place_let_go(found);
	places_close(&all, "that was all");
}

static void a_start_that_fails_is_forgotten(void)
{
	struct place *place = calloc(1, sizeof(*place));
	size_t most = 9;

	open_all();
	if (!place || place_init(place, &all, "ann", "") < 0)
		abort();
	CHECK_INT(places_add(&all, place, admit, &most, &err), 0);
	CHECK_INT(places_count(&all), 1);
	CHECK_INT(places_settle(place, -1), -1);
	CHECK_INT(places_count(&all), 0);
	CHECK_INT(freed, 1);
	places_close(&all, "that was all");
}

struct waiter {
	struct resident *home; /* whose turn it wants */
	pthread_t thread;      /* that waits */
	int got;               /* what came of it… */
	int errnum;            /* …with this errno */
};

static void *wait_for_turn(void *argument)
{
	struct waiter *waiter = argument;

	waiter->got = resident_take_turn(waiter->home, -1, -1);
	waiter->errnum = errno;
	if (waiter->got == 1)
		resident_give_turn(waiter->home);
	return NULL;
}

/* Until so many wait, at most 20 s. */
static void await_waiting(struct resident *home, unsigned count)
{
	unsigned waiting = 0;

	for (int i = 0; i < 20000 && waiting != count; i++) {
		poll(NULL, 0, 1);
		pthread_mutex_lock(&home->lock);
		waiting = home->waiting;
		pthread_mutex_unlock(&home->lock);
	}
	CHECK_INT(waiting, count);
}

static void start_waiter(struct waiter *waiter, struct resident *home)
{
	*waiter = (struct waiter){ .home = home };
	if (pthread_create(&waiter->thread, NULL, wait_for_turn, waiter) != 0)
		abort();
}

static void turns_are_one_at_a_time(void)
{
	static struct waiter waiters[RESIDENT_WAITING_MAX];
	int cancel = eventfd(1, EFD_CLOEXEC);
	struct resident *home;

	open_all();
	home = &start("ann", false, 9)->home;
	CHECK_INT(resident_take_turn(home, -1, -1), 1);
	/* It is taken: the time is over, or the caller is not there any more. */
	CHECK_INT(resident_take_turn(home, -1, 0), 0);
	CHECK_INT(resident_take_turn(home, cancel, -1), 0);
	for (int i = 0; i < RESIDENT_WAITING_MAX; i++)
		start_waiter(&waiters[i], home);
	await_waiting(home, RESIDENT_WAITING_MAX);
	CHECK_ERRNO(resident_take_turn(home, -1, -1), EBUSY);
	resident_give_turn(home);
	for (int i = 0; i < RESIDENT_WAITING_MAX; i++) {
		pthread_join(waiters[i].thread, NULL);
		CHECK_INT(waiters[i].got, 1);
	}
	CHECK_INT(resident_take_turn(home, -1, 0), 1);
	resident_give_turn(home);
	places_close(&all, "that was all");
	close(cancel);
}

/* Whoever had the turn may go on: it sees the end by itself. */
static void no_turn_begins_at_the_end(void)
{
	struct waiter waiter;
	struct place *held;

	open_all();
	gate = eventfd(0, EFD_CLOEXEC);
	start("ann", false, 9);
	held = places_find(&all, "ann0", "ann", &err);
	if (!held)
		abort();
	CHECK_INT(resident_take_turn(&held->home, -1, -1), 1);
	start_waiter(&waiter, &held->home);
	await_waiting(&held->home, 1);
	resident_end(&held->home, "over", NULL);
	resident_give_turn(&held->home);
	/* It was passed the turn, gave it back, and hears why when there is nothing left of the box. */
	await_waiting(&held->home, 0);
	CHECK_INT(write(gate, &(uint64_t){ 1 }, sizeof(uint64_t)), sizeof(uint64_t));
	pthread_join(waiter.thread, NULL);
	CHECK_INT(waiter.got, -1);
	CHECK_INT(waiter.errnum, ESRCH);
	CHECK_ERRNO(resident_take_turn(&held->home, -1, -1), ESRCH);
	place_let_go(held);
	places_close(&all, "that was all");
	close(gate);
	gate = -1;
}

static void *leave_slots(void *argument)
{
	struct slot *slots = argument;

	slot_leave(&slots[0]);
	slot_leave(&slots[1]);
	return NULL;
}

static void slots_are_bounded(void)
{
	struct slot slot[4] = { 0 };
	struct slots slots;
	pthread_t thread;

	slots_init(&slots, 3, 2);
	CHECK(slot_take(&slots, &slot[0], "ann"));
	CHECK(slot_take(&slots, &slot[1], "ann"));
	CHECK(!slot_take(&slots, &slot[2], "ann"));
	CHECK(slot_take(&slots, &slot[2], "bob"));
	CHECK(!slot_take(&slots, &slot[3], "bob"));
	CHECK(!slot_take(&slots, &slot[3], "eve"));
	slot_leave(&slot[3]);
	slot_leave(&slot[2]);
	CHECK(slot_take(&slots, &slot[3], "eve"));
	slot_leave(&slot[3]);
	if (pthread_create(&thread, NULL, leave_slots, slot) != 0)
		abort();
	slots_close(&slots);
	CHECK(!slot[0].slots && !slot[1].slots);
	pthread_join(thread, NULL);
}

int main(void)
{
	alarm(60);
	RUN(a_place_is_its_owners);
	RUN(what_is_refused_is_freed);
	RUN(the_first_reason_counts);
	RUN(ended_places_are_forgotten);
	RUN(a_replaced_place_is_not_found);
	RUN(a_start_that_fails_is_forgotten);
	RUN(turns_are_one_at_a_time);
	RUN(no_turn_begins_at_the_end);
	RUN(slots_are_bounded);
	return check_failures > 0;
}
