/*
 * Watching a box until nothing of it lives.
 *
 * One loop over descriptors: the box's reports, its death (pidfd), its output,
 * an out-of-memory event, the nearest deadline, the caller's input and
 * its wish to stop. What the program writes decides nothing: verdicts come from
 * the kernel and from the box's init.
 */
#pragma once

#include "engine/engine.h"
#include "engine/local/launch.h"

/* Returns when the box is dead and its output is drained, whatever happened; the box's remains are for launch_end(). */
void supervise_box(struct box *box, const struct job *job, const struct engine_io *io, struct output outputs[2],
		   struct verdict *verdict);
