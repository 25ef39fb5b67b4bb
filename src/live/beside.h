/*
 * A second program in a box that lives, at a terminal of its own.
 *
 * It enters through the namespaces of a process that is in the box, as embers
 * enter theirs, and confines itself as the box's own program was: the group, the
 * limits, Landlock, no capability, the filter; then it proves it, and only then
 * is it another program. What hinders any of that is an error, and nothing runs.
 */
#pragma once

#include "base/error.h"
#include "engine/local/launch.h"
#include "engine/local/box_terminal.h"

#include <sys/types.h>

struct beside {
	const struct box *box;     /* which */
	const struct job *job;     /* its limits, and what may be executed in it */
	int inside;                /* a pidfd of a process of the box that is no init: that one cannot be looked at */
	struct terminal_size size; /* of the terminal */
	const char *const(*programs); /* the first that is there is run; NULL at the end */
	const char *const *envp;      /* its whole environment */
};

/* One that begins. */
struct beside_begun {
	pid_t pid;  /* has to be waited for with clone_wait(); it ends when the program does */
	int socket; /* by which it is heard */
};

/* Does not wait: afterwards nothing of `what` is needed. 0, or -1 and there is nothing to await. */
int beside_start(const struct beside *what, struct beside_begun *begun, struct error *err);
/* The terminal's other side, which does not wait, or -1, and it was waited for. Programs of the box may hinder it: it
 * is given up after some seconds, and nothing that others wait for may be held meanwhile. */
int beside_await(struct beside_begun *begun, struct error *err);
