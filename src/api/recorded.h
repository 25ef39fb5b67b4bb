/* A run of our own that history is to know of. */
#pragma once

#include "run/run.h"
#include "store/record.h"

struct recorded_by {
	const char *caller;    /* "uid 1000" */
	const char *profile;   /* of the registry, or "" */
	enum record_code code; /* when the code is kept */
	bool required;         /* what cannot be written down is not run */
	struct error *missing; /* why there is no record, of a run that went on without; NULL: nobody wants to know */
};

/* As the environment has it: SANDBOX_STORE_CODE, EMBERBOX_AUDIT. */
struct recorded_by recorded_by_environment(const char *caller);

/* As pipeline_run(), in a box of its own. What cannot be written down is run all the same unless it is required to be:
 * then it is an error, before the run if that is known before. */
int recorded_run(const struct spec *spec, const struct recorded_by *by, const struct engine_io *io, struct result **out,
		 struct error *err);
/* The result of a run that was not allowed, written down if that can be done; NULL: memory ran out. */
struct result *recorded_refusal(const struct spec *spec, const struct recorded_by *by, const struct error *why);
/* For the audit log: that a person was asked, agreed or did not, and by which way ("--yes", "terminal"). */
void recorded_confirm(const struct recorded_by *by, const char *event, const char *how);
/* The same: that the policy of the settings was left out, and by which way ("--policy"). */
void recorded_bypass(const struct recorded_by *by, const char *how);
