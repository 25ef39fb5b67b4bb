/*
 * The version of a language on this host, cached.
 *
 * The version command starts the interpreter, which would double the time of a
 * short run. So the answer is kept in a file of the user's cache with the
 * program's size and change time, which an upgrade changes.
 */
#pragma once

#include "language/runtime.h"

/* False if the program is missing or prints no version. */
bool runtime_version_cached(const struct runtime *runtime, char *out, size_t size);

/* The version in the text of a cache file. False unless the text begins with this key and has a version. Pure. */
bool runtime_version_recall(const char *text, const char *key, char *out, size_t size);
