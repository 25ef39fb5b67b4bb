#include "kernel/refusals.h"

#include "base/clock.h"
#include "base/own.h"

/* Answers a notification. False: the call was refused. */
static bool give_answer(int listener, const struct seccomp_heard *heard, unsigned cores)
{
	if (heard->netlink)
		return seccomp_let_netlink(listener, heard);
	if (heard->cores) {
		if (!seccomp_tell_cores(listener, heard, cores))
			seccomp_let_go_on(listener, heard);
		return true;
	}
	if (seccomp_pretend_lower(listener, heard))
		return true;
	seccomp_refuse(listener, heard);
	return false;
}

void refusals_add(struct refusals *refusals, int listener, const struct seccomp_heard *heard, struct refused *box)
{
	size_t place = (refusals->first + refusals->count) % REFUSALS_HELD;

	/* A granted call costs us as much as a refused one, so it waits in the same queue. */
	if (++box->heard <= REFUSALS_QUICK || refusals->count == REFUSALS_HELD) {
		if (!give_answer(listener, heard, box->cores)) {
			box->count++;
			box->call = heard->call;
		}
		return;
	}
	if (!heard->netlink && !heard->limits && !heard->cores) {
		box->count++;
		box->call = heard->call;
	}
	if (refusals->count++ == 0)
		refusals->due_usec = clock_usec() + REFUSALS_PACE_USEC;
	refusals->held[place].listener = listener;
	refusals->held[place].heard = *heard;
	refusals->held[place].cores = box->cores;
}

void refusals_hear(struct refusals *refusals, int *listener, struct refused *box)
{
	struct seccomp_heard heard;
	int found = seccomp_hear(*listener, &heard);

	if (found < 0) {
		refusals_forget(refusals, *listener);
		close_fd(listener);
	} else if (found > 0) {
		refusals_add(refusals, *listener, &heard, box);
	}
}

void refusals_on_time(struct refusals *refusals)
{
	const uint64_t now = refusals->count > 0 ? clock_usec() : 0;

	if (refusals->count == 0 || now < refusals->due_usec)
		return;
	for (int i = 0; i < REFUSALS_PACE && refusals->count > 0; i++) {
		const typeof(refusals->held[0]) *held = &refusals->held[refusals->first];

		/* If the listener is gone, no answer is needed. */
		if (held->listener >= 0)
			give_answer(held->listener, &held->heard, held->cores);
		refusals->first = (refusals->first + 1) % REFUSALS_HELD;
		refusals->count--;
	}
	refusals->due_usec = refusals->count > 0 ? now + REFUSALS_PACE_USEC : 0;
}

int refusals_wait_msec(const struct refusals *refusals)
{
	return refusals->count > 0 ? 1 : -1;
}

void refusals_forget(struct refusals *refusals, int listener)
{
	for (size_t i = 0; i < refusals->count; i++) {
		size_t place = (refusals->first + i) % REFUSALS_HELD;

		if (refusals->held[place].listener == listener)
			refusals->held[place].listener = -1;
	}
}
