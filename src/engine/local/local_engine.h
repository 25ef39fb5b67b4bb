/* The engine that makes a box when it is needed: plan, launch, supervise. It takes every job. */
#pragma once

#include "engine/engine.h"

extern const struct engine local_engine;
