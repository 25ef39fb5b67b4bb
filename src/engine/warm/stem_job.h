/* What a stem and its boxes are made from; the stem and the keeper each make it for themselves, and get the same. */
#pragma once

#include "engine/local/plan.h"
#include "engine/warm/stem_wire.h"

enum stem_part {
	STEM_ROOT,   /* the stem's own */
	STEM_ZYGOTE, /* a zygote's */
	STEM_BOX,    /* a box's */
};

struct stem_job {
	struct spec spec;  /* the language alone */
	struct job job;    /* made from it */
	struct plan plan;  /* of the part */
	const char **argv; /* of a zygote: the interpreter's command line; NULL: it cannot be forked */
	const char **envp; /* and its environment */
};

/* `out` stays where it is: the plan points into it. */
int stem_job_make(const struct stem_begin *begin, enum stem_part part, struct stem_job *out, struct error *err);
void stem_job_free(struct stem_job *job);
