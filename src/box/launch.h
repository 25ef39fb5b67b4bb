/* From a plan to a running box: what the supervisor does around clone. */
#pragma once

#include "base/error.h"
#include "box/inside.h"
#include "box/plan.h"
#include "kern/userns.h"

#include <stdbool.h>
#include <sys/types.h>

struct box {
	const struct plan *plan; /* what it was made from */
	pid_t pid;               /* its init; 0 once reaped */
	int pidfd;               /* the same, safe to signal */
	int control;             /* reports come from here */
	int input;               /* the program's stdin, for writing; -1 once closed */
	int output[2];           /* its stdout and stderr, for reading */
	int handles[REPORT_FDS]; /* directories of the box, -1 until it is ready */
	struct cgroup *group;    /* its control group, or NULL */
	struct userns_ids ids;   /* who it is on the host */
};

/* Makes the box and lets it go. After a failure nothing is left of it. */
int launch_box(const struct job *job, const struct plan *plan, const struct probe *probe, struct box *box,
	       struct error *err);

/* Ends what is left of the box, and takes away what it held: process, group, uid, descriptors. -1 when something would
 * not go. */
int launch_end(struct box *box, struct error *err);

/* SIGKILL to all of it: the group where the kernel can, and the namespace's init, which takes every other process with
 * it. */
void launch_kill(struct box *box);
