/*
 * Fault injection, only in builds for the fault tests (-Dfaults=true).
 *
 * EMBERBOX_FAULT names what fails with EIO: pivot, or bind:2 for the third of
 * its kind, is an operation of the plan; launch-clone is a step of the
 * supervisor's own. In every other build all of this is nothing.
 */
#pragma once

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* 1 with EIO when this step of the supervisor's is to fail, in the place of what it would do. */
static inline int fault_hit(const char *step)
{
#ifdef EMBERBOX_FAULTS
	static const char prefix[] = "launch-";
	const char *fault = getenv("EMBERBOX_FAULT");

	if (fault && strncmp(fault, prefix, strlen(prefix)) == 0 && strcmp(fault + strlen(prefix), step) == 0) {
		errno = EIO;
		return 1;
	}
#endif
	(void)step;
	return 0;
}

/* The same for a step whose sentence is made elsewhere: -1 with one of our own, or 0. */
static inline int fault_fail(const char *step, struct error *err)
{
	return fault_hit(step) ? error_errno(err, "step %s of the launch failed", step) : 0;
}
