/* The loop of egress: events, times, and the turns of boxes. */
#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "daemon/egress/egress_parts.h"
#include "daemon/role.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
	EVENTS = 64,     /* taken at once */
	PIPES_MAX = 512, /* of all boxes */
	ROUNDS = 8,      /* of turns between two looks at events */
};

int egress_watch_add(struct egress *e, struct egress_watch *watch, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = watch };

	return epoll_ctl(e->epoll, EPOLL_CTL_ADD, watch->fd, &event);
}

/* Sockets of boxes have other holders: closing alone does not take them out of epoll. */
void egress_watch_end(struct egress *e, struct egress_watch *watch)
{
	if (watch->fd < 0)
		return;
	epoll_ctl(e->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
	close_fd(&watch->fd);
}

/* Times: a heap, whose first is the earliest */

static void timer_put(struct egress *e, size_t place, struct egress_timer *timer)
{
	e->timers[place - 1] = timer;
	timer->place = place;
}

static void timer_sift(struct egress *e, size_t place, struct egress_timer *timer)
{
	while (place > 1 && e->timers[place / 2 - 1]->when_usec > timer->when_usec) {
		timer_put(e, place, e->timers[place / 2 - 1]);
		place /= 2;
	}
	for (size_t below = 2 * place; below <= e->timer_count; below = 2 * place) {
		if (below < e->timer_count && e->timers[below]->when_usec < e->timers[below - 1]->when_usec)
			below++;
		if (e->timers[below - 1]->when_usec >= timer->when_usec)
			break;
		timer_put(e, place, e->timers[below - 1]);
		place = below;
	}
	timer_put(e, place, timer);
}

void egress_timer_end(struct egress *e, struct egress_timer *timer)
{
	const size_t place = timer->place;
	struct egress_timer *last;

	if (place == 0)
		return;
	timer->place = 0;
	last = e->timers[--e->timer_count];
	if (last != timer)
		timer_sift(e, place, last);
}

void egress_timer_set(struct egress *e, struct egress_timer *timer, uint64_t when_usec)
{
	egress_timer_end(e, timer);
	if (e->timer_count == e->timer_room) {
		const size_t room = e->timer_room ? 2 * e->timer_room : 64;
		struct egress_timer **more = realloc(e->timers, room * sizeof(*more));

		/* What has no time would last for ever: it ends now. */
		if (!more) {
			timer->fire(e, timer);
			return;
		}
		e->timers = more;
		e->timer_room = room;
	}
	timer->when_usec = when_usec;
	timer_sift(e, ++e->timer_count, timer);
}

static void timers_fire(struct egress *e)
{
	while (e->timer_count > 0 && e->timers[0]->when_usec <= e->now) {
		struct egress_timer *timer = e->timers[0];

		egress_timer_end(e, timer);
		timer->fire(e, timer);
	}
}

/* Turns */

static void box_queue(struct egress *e, struct egress_box *box)
{
	if (box->in_turn)
		return;
	box->in_turn = true;
	TAILQ_INSERT_TAIL(&e->turns, box, turn);
	e->turn_count++;
}

void egress_box_unqueue(struct egress *e, struct egress_box *box)
{
	if (!box->in_turn)
		return;
	box->in_turn = false;
	TAILQ_REMOVE(&e->turns, box, turn);
	e->turn_count--;
}

void egress_queue(struct egress *e, struct egress_turn *turn)
{
	struct egress_box *box = turn->box;

	if (turn->queued || box->dead)
		return;
	turn->queued = true;
	TAILQ_INSERT_TAIL(&box->turns, turn, link);
	box_queue(e, box);
}

void egress_unqueue(struct egress_turn *turn)
{
	if (turn->queued)
		TAILQ_REMOVE(&turn->box->turns, turn, link);
	turn->queued = false;
}

/* What ends in its turn has no place in a queue afterwards: take() is false then. */
static void box_turn(struct egress *e, struct egress_box *box)
{
	struct egress_turn *turn = TAILQ_FIRST(&box->turns);

	egress_box_unqueue(e, box);
	if (!turn)
		return;
	egress_unqueue(turn);
	if (turn->take(e, turn))
		egress_queue(e, turn);
	if (!box->dead && !TAILQ_EMPTY(&box->turns))
		box_queue(e, box);
}

static void take_turns(struct egress *e)
{
	for (int round = 0; round < ROUNDS && e->turn_count > 0; round++)
		for (size_t left = e->turn_count; left > 0 && e->turn_count > 0; left--)
			box_turn(e, TAILQ_FIRST(&e->turns));
}

/* What ended since. */
static void reap(struct egress *e)
{
	struct egress_flow *flow;
	struct egress_box *box;

	while ((flow = LIST_FIRST(&e->dead_flows))) {
		LIST_REMOVE(flow, link);
		free(flow);
	}
	egress_streams_free(e);
	while ((box = LIST_FIRST(&e->dead_boxes))) {
		LIST_REMOVE(box, link);
		egress_box_free(box);
	}
}

/* The supervisor: another keeper has come, or all is to end. */
static void on_control(struct egress *e, struct egress_watch *watch, uint32_t events)
{
	int fds[FD_MESSAGE_MAX];
	size_t count = 0;
	char what = 0;
	ssize_t got = fd_receive(watch->fd, &what, 1, fds, &count);

	if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR && errno != EMFILE)) {
		e->end = true;
		return;
	}
	if (what == ROLE_PEER && count == 1) {
		egress_watch_end(e, &e->link);
		e->link = (struct egress_watch){ .fd = fds[0], .ready = egress_link_ready };
		if (egress_watch_add(e, &e->link, EPOLLIN) == 0)
			return;
		egress_watch_end(e, &e->link);
		return;
	}
	if (what == ROLE_RESOLVER && count == 1)
		egress_resolver_read(e, fds[0]);
	while (count > 0)
		close(fds[--count]);
}

static int serve(struct egress *e, struct error *err)
{
	struct epoll_event events[EVENTS];

	while (!e->end) {
		int msec = -1, count;

		if (e->turn_count > 0)
			msec = 0;
		else if (e->timer_count > 0)
			msec = e->timers[0]->when_usec <= e->now
				       ? 0
				       : (int)((e->timers[0]->when_usec - e->now + 999) / 1000);
		count = epoll_wait(e->epoll, events, EVENTS, msec);
		if (count < 0 && errno != EINTR)
			return error_errno(err, "cannot wait");
		e->now = clock_usec();
		for (int i = 0; i < count; i++) {
			struct egress_watch *watch = events[i].data.ptr;

			if (watch->fd >= 0)
				watch->ready(e, watch, events[i].events);
		}
		timers_fire(e);
		take_turns(e);
		egress_resolver_settle(e);
		reap(e);
	}
	return 0;
}

int egress_run(int control, int link, const struct egress_start *start, struct error *err)
{
	struct egress e = { .control = control,
			    .epoll = epoll_create1(EPOLL_CLOEXEC),
			    .control_watch = { .fd = control, .ready = on_control },
			    .link = { .fd = link, .ready = egress_link_ready },
			    .intercept = { .fd = start->intercept, .ready = egress_intercept_ready },
			    .resolver = start->resolver,
			    .route = start->route,
			    .proxy = start->has_proxy ? &start->proxy : NULL,
			    .now = clock_usec(),
			    .flows_max = start->flows_max,
			    .pipes_max = start->pipes_max < PIPES_MAX ? start->pipes_max : PIPES_MAX };
	int done;

	TAILQ_INIT(&e.turns);
	TAILQ_INIT(&e.channels);
	e.retry.fire = egress_accept_again;
	if (e.epoll < 0 || (control >= 0 && egress_watch_add(&e, &e.control_watch, EPOLLIN) < 0) ||
	    (link >= 0 && egress_watch_add(&e, &e.link, EPOLLIN) < 0) ||
	    (e.intercept.fd >= 0 && egress_watch_add(&e, &e.intercept, EPOLLOUT | EPOLLET) < 0))
		return error_errno(err, "cannot watch");
	egress_resolver_start(&e);
	if (control >= 0 && role_ready(control, err) < 0)
		return -1;
	if (control < 0)
		role_shrink();
	done = serve(&e, err);
	/* Connections are reset by the end of the process: see egress_flow.c. */
	close_fd(&e.epoll);
	return done;
}
