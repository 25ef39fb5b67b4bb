/* Runs without a service, recorded in the history. */
#pragma once

#include "run/run.h"
#include "store/record.h"

struct recorded_by {
	const char *caller;    /* "uid 1000" */
	const char *profile;   /* name in the registry, or "" */
	enum record_code code; /* when to keep the code */
	bool required;         /* a run that cannot be recorded is refused */
	struct error *missing; /* receives the reason if a run continues without a record; NULL: not needed */
};

/* From SANDBOX_STORE_CODE and EMBERBOX_AUDIT in the environment. */
struct recorded_by recorded_by_environment(const char *caller);

/* pipeline_run() in a box of its own. A run that cannot be recorded continues unless `required`; then it fails, before
 * the run if possible. */
int recorded_run(const struct spec *spec, const struct recorded_by *by, const struct engine_io *io, struct result **out,
		 struct error *err);
/* The result of a blocked run, recorded if possible. NULL: memory ran out. */
struct result *recorded_refusal(const struct spec *spec, const struct recorded_by *by, const struct error *why);
/* Records in the audit log that a person was asked, the answer, and its source ("--yes", "terminal"). */
void recorded_confirm(const struct recorded_by *by, const char *event, const char *how);
/* Records in the audit log that the policy of the settings was bypassed, and how ("--policy"). */
void recorded_bypass(const struct recorded_by *by, const char *how);
