/* Into a box and to work: what a fork of a zygote does before and after it has a program. */
#pragma once

#include "engine/ember/ember.h"
#include "engine/ember/ember_wire.h"

/* Enters the box whose descriptors are at EMBER_FD_*, confines this process, and proves it. 0, or -1 with errno and the
 * step that failed. */
int enter_box(const struct ember_fork *fork, enum ember_step *step);

/* When all is in place, and before there is a program: moves the socket to the keeper to where a program may have
 * descriptors, closes everything at or above the gate, and proves that nothing can be opened there. The socket, or -1
 * with errno and the step. */
int enter_shut(enum ember_step *step);

/* Waits for the order, and does what it says up to the program itself. NULL with errno and the step, or with step
 * EMBER_STEP_ORDER and errno 0 when the keeper wants no more of this ember. The claim stays. */
struct enter_claim {
	struct ember_claim claim; /* what the language sees */
	char **argv;              /* the whole command line, NULL at the end */
	int control;              /* the socket to the keeper, to be closed before the program runs */
};
const struct enter_claim *enter_await(int control, enum ember_step *step);

/* Tells the keeper; `usec` of CPU so far. */
void enter_report_warm(int control);
_Noreturn void enter_fail(int control, enum ember_step step, int errnum);
