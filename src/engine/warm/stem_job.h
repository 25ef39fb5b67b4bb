/* The plans of a stem and its boxes, which the stem and the keeper make separately, with equal results. */
#pragma once

#include "engine/local/plan.h"
#include "engine/warm/stem_wire.h"

enum stem_part {
	STEM_ROOT,   /* the stem's own */
	STEM_ZYGOTE, /* a zygote's */
	STEM_BOX,    /* a box's */
};

struct stem_job {
	struct spec spec;  /* only the language */
	struct job job;    /* made from it */
	struct plan plan;  /* plan of the part */
	const char **argv; /* for a zygote: the interpreter's command line; NULL: it cannot be forked */
	const char **envp; /* its environment */
};

/* `out` must not move: the plan points into it. */
int stem_job_make(const struct stem_begin *begin, enum stem_part part, struct stem_job *out, struct error *err);
void stem_job_free(struct stem_job *job);
