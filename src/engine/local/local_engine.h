/* The engine that makes a box when it is needed: plan, launch, supervise. It takes every job. */
#pragma once

#include "engine/engine.h"
#include "kernel/probe.h"

extern const struct engine local_engine;

/* This engine alone, of a host that was probed already. */
struct engines local_engines(const struct probe *probe);
