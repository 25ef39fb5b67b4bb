/*
 * Paths of a session's files, as people, models and URLs write them. Pure;
 * live_files.c checks the file and the access.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Makes the path relative to /sandbox; "" is /sandbox itself. /sandbox/output/x and output/x are the same file. A path
 * that begins neither with / nor with a directory of /sandbox (code, data, output, temp) is below /sandbox/code, where
 * programs start. False: the path leads elsewhere, or is longer than `room` allows. */
bool file_path_below(const char *given, char *out, size_t room);
