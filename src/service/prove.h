/* `emberbox doctor --prove`: attacks a box on this very host and tells what held. */
#pragma once

#include "base/error.h"

#include <stdbool.h>

/*
 * Runs the probe, which is part of this program, in one box, and compares what
 * it says with tests/probe/expect.def. *table is for people, one row an attack;
 * the caller frees it. Fails only when no box could be made.
 */
int prove_host(char **table, bool *all_hold, struct error *err);
