/* What was asked, for an artifact: args, names of variables and files, limits; no contents. */
#pragma once

#include "schema/spec.h"

/* The text of an object; NULL when memory ran out. The caller frees it. */
char *summary_json(const struct spec *spec);
