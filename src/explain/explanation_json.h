/* An explanation as the `error` of a result. */
#pragma once

#include "explain/explain.h"

#include <jansson.h>

json_t *explanation_json(const struct explanation *e);
