/*
 * An engine for tests: the program is a process of this host, in a directory of its own, without any isolation.
 *
 * It shows what an engine has to do for the rest of the program, and that nothing above the engines needs a box.
 */
#pragma once

#include "engine/engine.h"

extern const struct engine bare_engine;
