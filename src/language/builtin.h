/* The languages of runtimes/, as tables that tools/runtime_gen.c made of them. */
#pragma once

#include "language/runtime.h"

#include <stddef.h>

/* Sorted by name. No name, alias, extension or interpreter is in two of them. */
extern const struct runtime runtime_builtin[];
extern const size_t runtime_builtin_count;
