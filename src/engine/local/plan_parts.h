/* What the files that make plans share. */
#pragma once

#include "engine/local/plan.h"

/* What is made in the order of a build; running out of memory is noticed once, at the end. */
struct builder {
	struct plan *plan;     /* under construction */
	const struct job *job; /* what the box is to do */
	bool failed;           /* memory ran out, or there are too many operations */
	bool gated;            /* the box's filter is a zygote's */
};

void plan_add(struct builder *b, struct op op);
/* Shows something of the host's at its own place, once. */
void plan_bind(struct builder *b, const char *path);

/* /etc and what else programs look for at names that every Linux has: /var/tmp, the name of the time zone. */
void plan_etc(struct builder *b);

/* /proc/stat, where the box has fewer processors than the host. */
void plan_cores_file(struct builder *b);
