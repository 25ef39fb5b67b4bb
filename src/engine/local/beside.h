/*
 * A second program in a box that lives, at a terminal of its own.
 *
 * A child of the keeper enters the namespaces of a process that is in the box, as
 * embers enter theirs. It confines itself as the box's own program was confined:
 * control group, limits, Landlock, no capabilities, the filter. It proves that,
 * and only then executes the program. If a step fails, nothing runs.
 */
#pragma once

#include "engine/engine.h"
#include "engine/local/launch.h"

/* As place_exec() of struct engine. */
int beside_start(const struct box *box, const struct engine_exec *exec, struct engine_execution *begun,
		 struct error *err);
