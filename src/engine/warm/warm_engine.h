/* The engine whose places are boxes made ahead, with a waiting interpreter: pool, stems, embers. */
#pragma once

#include "engine/engine.h"

extern const struct engine warm_engine;
