/*
 * Which version a language has here, asked once and remembered.
 *
 * Asking starts the interpreter, which would double the time of a short run.
 * The answer is kept in a file of the caller's cache, beside the program's
 * size and time of change, so that an upgrade is noticed.
 */
#pragma once

#include "language/runtime.h"

/* False when the program is missing or does not say. */
bool runtime_version_cached(const struct runtime *runtime, char *out, size_t size);

/* The version in what is remembered; false unless it begins with this key and is a version. Pure. */
bool runtime_version_recall(const char *text, const char *key, char *out, size_t size);
