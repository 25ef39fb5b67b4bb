/*
 * Fault injection, only in builds for the fault tests (-Dfaults=true).
 *
 * EMBERBOX_FAULT names the step that fails with EIO: "pivot", or "bind:2" for
 * the third of its kind, is an operation of the plan; "launch-clone" is a step
 * of the supervisor. In other builds these functions do nothing.
 */
#pragma once

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Returns 1 and sets EIO if this step of the supervisor has to fail. */
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

/* Returns -1 and fills `err` if this step has to fail, otherwise 0. */
static inline int fault_fail(const char *step, struct error *err)
{
	return fault_hit(step) ? error_errno(err, "step %s of the launch failed", step) : 0;
}
