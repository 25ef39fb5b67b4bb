/* Memory of one request: allocated piece by piece, freed whole. NULL only when memory ran out. */
#pragma once

#include "base/error.h"
#include "base/own.h"

#include <stddef.h>

struct arena_block;
struct arena {
	struct arena_block *blocks; /* newest first */
};

void *arena_alloc(struct arena *arena, size_t size);                  /* zeroed, aligned for anything */
void *arena_copy(struct arena *arena, const void *data, size_t size); /* terminated with a NUL that is not counted */
char *arena_string(struct arena *arena, const char *text);
char *arena_printf(struct arena *arena, const char *format, ...) EB_PRINTF(2, 3);
void arena_free(struct arena *arena);
#define _cleanup_arena_ _cleanup_(arena_free)
