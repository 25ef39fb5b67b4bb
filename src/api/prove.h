/* `emberbox doctor --prove`: attacks a box on this host and reports which attacks failed. */
#pragma once

#include "base/error.h"

#include <stdbool.h>

/*
 * Runs the probe, which is part of this program, in one box, and compares its output with tests/probe/expect.def.
 * *report has one numbered row for each attack, or is JSON; the caller frees it. Fails only if no box could be made.
 */
int prove_host(bool json, char **report, bool *all_hold, struct error *err);
