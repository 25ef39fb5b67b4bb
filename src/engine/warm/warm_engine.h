/* The engine whose places are boxes made ahead, with an interpreter that waits: pool, stems, embers. */
#pragma once

#include "engine/engine.h"

extern const struct engine warm_engine;
