/* A request from its spec to its result. */
#pragma once

#include "engine/engine.h"
#include "result/result.h"

/* What is known of a run before it begins. */
struct run_ticket {
	char id[RESULT_ID];      /* the result's */
	uint64_t waited_usec;    /* in a queue */
	result_keep *keep_files; /* takes copies of the files that it leaves; or NULL */
	void *keep_data;         /* for it */
};

/* For the service. */
struct run_means {
	const struct run_ticket *ticket; /* or NULL */
	const struct engines *engines;   /* that are open; NULL: they are opened for this run */
};

/* -1 when there is nothing to report but the error; otherwise *out is the result, of status "error" if the launch
 * failed. */
int run_spec(const struct spec *spec, const struct supervise_io *io, struct result **out, struct error *err);
int run_spec_by(const struct spec *spec, const struct run_means *means, const struct supervise_io *io,
		struct result **out, struct error *err);

/* What the ticket says, and that it begins now; the ticket may be NULL. */
void run_begin(struct result *result, const struct run_ticket *ticket);
/* An engine_collect: the files under /sandbox/output, copied if the spec (userdata) or the result says so, and rich
 * results. */
int run_collect(const int handles[], struct result *result, void *userdata, struct error *err);

/* Makes what the language is prepared with, if it is not there yet. */
int run_prepare(const struct spec *spec, struct error *err);

/* The plan as text; the caller frees it. */
int run_explain(const struct spec *spec, char **text, struct error *err);
