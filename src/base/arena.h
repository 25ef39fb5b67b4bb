/* Memory of one request: allocated in pieces, freed as a whole. An allocation returns NULL only if memory runs out. */
#pragma once

#include "base/error.h"
#include "base/own.h"

#include <stddef.h>

struct arena_block;
struct arena {
	struct arena_block *blocks; /* newest first */
};

void *arena_alloc(struct arena *arena, size_t size); /* Zeroed, aligned for any type. */
void *arena_copy(struct arena *arena, const void *data,
		 size_t size); /* Terminated by a NUL that `size` does not count. */
char *arena_string(struct arena *arena, const char *text);
char *arena_printf(struct arena *arena, const char *format, ...) EB_PRINTF(2, 3);
void arena_free(struct arena *arena);
#define _cleanup_arena_ _cleanup_(arena_free)
