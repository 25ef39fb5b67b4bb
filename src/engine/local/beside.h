/*
 * A second program in a box that lives, at a terminal of its own.
 *
 * It enters through the namespaces of a process that is in the box, as embers
 * enter theirs, and confines itself as the box's own program was: the group, the
 * limits, Landlock, no capability, the filter; then it proves it, and only then
 * is it another program. What hinders any of that is an error, and nothing runs.
 */
#pragma once

#include "engine/engine.h"
#include "engine/local/launch.h"

/* As place_exec() of struct engine. */
int beside_start(const struct box *box, const struct engine_exec *exec, struct engine_execution *begun,
		 struct error *err);
