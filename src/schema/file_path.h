/*
 * The path of a file of a session as people, models and addresses of HTTP write
 * it. Pure: what the file is, and whether it may be touched, live_files.c looks at.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* /sandbox/output/x and output/x are the same; a path that begins with neither / nor one of the directories of /sandbox
 * (code, data, output, temp) is below /sandbox/code, where programs begin. What is below /sandbox of it goes into
 * `out`, which is "" for /sandbox itself. False: it leads elsewhere, or is longer than `room` allows. */
bool file_path_below(const char *given, char *out, size_t room);
