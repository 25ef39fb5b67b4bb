#include "kern/refusals.h"

#include "base/clock.h"
#include "base/own.h"

static void answer_all(struct refusals *refusals)
{
	for (size_t i = 0; i < refusals->count; i++)
		seccomp_refuse(refusals->held[i].listener, &refusals->held[i].heard);
	refusals->count = 0;
	refusals->due_usec = 0;
}

void refusals_add(struct refusals *refusals, int listener, const struct seccomp_heard *heard, struct refused *box)
{
	if (box) {
		box->count++;
		box->call = heard->call;
	}
	if (!box || box->count <= REFUSALS_QUICK || refusals->count == REFUSALS_HELD) {
		seccomp_refuse(listener, heard);
		return;
	}
	if (refusals->count == 0)
		refusals->due_usec = clock_usec() + REFUSALS_PACE_USEC;
	refusals->held[refusals->count].listener = listener;
	refusals->held[refusals->count++].heard = *heard;
}

void refusals_hear(struct refusals *refusals, int *listener, struct refused *box)
{
	struct seccomp_heard heard;
	int found = seccomp_hear(*listener, &heard);

	if (found < 0)
		close_fd(listener);
	else if (found > 0)
		refusals_add(refusals, *listener, &heard, box);
}

void refusals_on_time(struct refusals *refusals)
{
	if (refusals->count > 0 && clock_usec() >= refusals->due_usec)
		answer_all(refusals);
}

int refusals_wait_msec(const struct refusals *refusals)
{
	return refusals->count > 0 ? 1 : -1;
}

void refusals_forget(struct refusals *refusals, int listener)
{
	size_t kept = 0;

	for (size_t i = 0; i < refusals->count; i++)
		if (refusals->held[i].listener != listener)
			refusals->held[kept++] = refusals->held[i];
	refusals->count = kept;
}
