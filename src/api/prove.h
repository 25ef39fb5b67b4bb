/* `emberbox doctor --prove`: attacks a box on this very host and tells what held. */
#pragma once

#include "base/error.h"

#include <stdbool.h>

/*
 * Runs the probe, which is part of this program, in one box, and compares what
 * it says with tests/probe/expect.def. *report has one row an attack, numbered for
 * people, or is JSON; the caller frees it. Fails only when no box could be made.
 */
int prove_host(bool json, char **report, bool *all_hold, struct error *err);
