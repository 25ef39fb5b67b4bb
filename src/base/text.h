/* Sizes, times and names as people write them. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parses "64k", "256m", "1g", "1.5g" or bytes. False if the text is anything else or the value does not fit. */
bool text_size(const char *text, uint64_t *bytes);

/* A plain decimal number, no sign, no inf or nan. */
bool text_number(const char *text, double *number);
bool text_count(const char *text, uint64_t *count);

/* Parses a time: a plain number of seconds ("30", "0.5"), or numbers with units, the largest first and each once:
 * "500ms", "30s", "1m", "1h30m". False if the text is anything else. */
bool text_duration(const char *text, double *seconds);

/* Writes a time as a plain number in any locale: "30", "0.25"; at most six decimals, below 1e12. `out` has
 * TEXT_NUMBER_MAX bytes. */
#define TEXT_NUMBER_MAX 32
const char *text_number_format(double number, char *out);

/* The entry of the list (ended by NULL) that is nearest to the word `typed`, or NULL if none is near. */
const char *text_nearest(const char *typed, const char *const *names);

/* The shortest exact form of a size: "64m", "20k", "1000". `out` has TEXT_SIZE_MAX bytes. */
#define TEXT_SIZE_MAX 24
const char *text_size_format(uint64_t bytes, char *out);

/* Checks a path below a directory: relative, no empty, "." or ".." part, no NUL, parts of at most 255 bytes, less than
 * 4096 bytes in all. Returns NULL if it is valid, otherwise the fault. */
const char *text_path_fault(const char *path, size_t size);
