/* From a plan to a running box: what the supervisor does around clone. */
#pragma once

#include "base/error.h"
#include "engine/box_network.h"
#include "engine/local/inside.h"
#include "engine/local/plan.h"
#include "kernel/refusals.h"
#include "kernel/userns.h"

#include <stdbool.h>
#include <sys/types.h>

struct box {
	const struct plan *plan; /* what it was made from */
	pid_t pid;               /* its init; 0 once reaped, and for one that is another's child */
	int pidfd;               /* the same, safe to signal */
	int control;             /* reports come from here */
	int input;               /* the program's stdin, for writing; -1 once closed */
	int output[2];           /* its stdout and stderr, for reading */
	int terminal;            /* the other side of its terminal, which the first two then are too; -1: it has none */
	int handles[REPORT_FDS]; /* directories of the box, -1 until it is ready */
	struct egress_sockets planted; /* in its network, if the plan has them; else none */
	struct report early;     /* a report that came before the box was watched; kind 0: none */
	struct cgroup *group;    /* its control group, or NULL */
	struct userns_ids ids;   /* who it is on the host */
	bool over;               /* its program has ended, and left nobody who runs */
	int warden;              /* hangs up when nobody can tell of the program's end any more; borrowed, -1: none */
	int listener;            /* where its filter tells of what it refuses; -1: it does not, or to another */
	struct refused refused;  /* what that was */
	void (*ask_refused)(struct box *box); /* the other one, for `refused`; NULL: there is none */
	uint64_t cpu_usec;                    /* that it had used before there was a program */
	uint64_t own_cpu_usec;                /* the same, of the process that waits for the program */
	uint64_t ordered_usec;                /* when that process was given its program; 0: it is started by the box */
};

/* The box's ends of what it speaks through: stdin, stdout, stderr, the control socket. */
struct launch_ends {
	int fds[4]; /* -1: closed */
};
#define LAUNCH_ENDS_NONE                                                                                               \
	{                                                                                                              \
		{                                                                                                      \
			-1, -1, -1, -1                                                                                 \
		}                                                                                                      \
	}

/* The parts of a launch, for boxes that a stem makes. */
void launch_init(struct box *box, const struct plan *plan);
int launch_channels(struct box *box, struct launch_ends *ends, struct error *err);
/* Programs open /dev/stdout and its like anew, as the box's uid: the pipes have to be its own. */
int launch_own_channels(const struct box *box, const struct launch_ends *ends, struct error *err);
int launch_group(const struct probe *probe, struct box *box, struct error *err);
/* What a control group is told of a job's limits. */
struct cgroup_limits launch_group_limits(const struct limits *limits);
void launch_close_ends(struct launch_ends *ends);
/* Says by the program's standard input that its output may stay in its buffers, if so (engine/ember/notice.h). Before
 * it starts. */
void launch_say_buffered(const struct box *box, const struct job *job);

/* Makes the box and lets it go. After a failure nothing is left of it. `heard`: whoever watches it answers what its
 * listener tells; a box that nobody answers would wait for ever. */
int launch_box(const struct job *job, const struct plan *plan, const struct probe *probe, bool heard, struct box *box,
	       struct error *err);

/* Ends what is left of the box, and takes away what it held: process, group, uid, descriptors. -1 when something would
 * not go. */
int launch_end(struct box *box, struct error *err);

/* SIGKILL to all of it: the group where the kernel can, and the namespace's init, which takes every other process with
 * it. */
void launch_kill(struct box *box);
