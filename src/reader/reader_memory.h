/*
 * Memory for one source: a region that is filled from its start and emptied at once.
 *
 * A tree has several nodes for each word of the source, and freeing each would cost as much as allocating it, so the
 * region is reset instead. Memory freed meanwhile (arrays that grew) is reused by size.
 */
#pragma once

#include <stddef.h>

/* Maps the region, and makes the parser use it. Returns 0, or -1 with errno. Call once, before any parser exists. */
int memory_open(size_t size);
/* Frees all allocations. */
void memory_empty(void);

void *memory_have(size_t size);
void *memory_zeroed(size_t count, size_t size);
void *memory_resize(void *old, size_t size);
void memory_give(void *old);
