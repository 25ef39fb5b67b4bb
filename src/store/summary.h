/* The request for an artifact: arguments, names of variables and files, limits; no contents. */
#pragma once

#include "schema/spec.h"

/* JSON; NULL if memory ran out. The caller frees it. */
char *summary_json(const struct spec *spec);
