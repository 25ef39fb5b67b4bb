/*
 * What the fuzz targets share.
 *
 * A target is a pure parser with its invariants: one that does not hold ends
 * the program. `make fuzz` lets libFuzzer search for such input; test_replay.c
 * runs what is kept in corpus/NAME with every `make test`.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(cond)                                                                                                     \
	do {                                                                                                           \
		if (!(cond)) {                                                                                         \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond);                                     \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

/* The bytes as text; its own allocation, so that the sanitizer sees a read past the end. */
static inline char *fuzz_text_of(const void *data, size_t size)
{
	char *text = malloc(size + 1);

	MUST(text);
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	return text;
}
