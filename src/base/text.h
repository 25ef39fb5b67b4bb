/* Sizes, times and names as people write them. All pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "64k", "256m", "1g", "1.5g" or bytes. False for anything else, also for what does not fit. */
bool text_size(const char *text, uint64_t *bytes);

/* A plain decimal number, no sign, no inf or nan. */
bool text_number(const char *text, double *number);
bool text_count(const char *text, uint64_t *count);

/* A time: seconds as a plain number ("30", "0.5"), or numbers with units, the largest first and each once: "500ms",
 * "30s", "1m", "1h30m". False for anything else. */
bool text_duration(const char *text, double *seconds);

/* The same back, whatever the locale: "30", "0.25"; at most six decimals, below 1e12. `out` has TEXT_NUMBER_MAX bytes.
 */
#define TEXT_NUMBER_MAX 32
const char *text_number_format(double number, char *out);

/* The entry of the list (ended by NULL) that is nearest to what was typed, or NULL when none is near. */
const char *text_nearest(const char *typed, const char *const *names);

/* The shortest exact form: "64m", "20k", "1000". `out` has TEXT_SIZE_MAX bytes. */
#define TEXT_SIZE_MAX 24
const char *text_size_format(uint64_t bytes, char *out);

/* A path below a directory: relative, no empty, "." or ".." part, no NUL, parts at most 255 bytes, the whole below
 * 4096. NULL when it is, or what is wrong with it. */
const char *text_path_fault(const char *path, size_t size);
