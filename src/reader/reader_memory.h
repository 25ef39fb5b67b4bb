/*
 * Memory for one source: a stretch that is filled from its beginning and emptied at once.
 *
 * A tree has some nodes for each word of the source. To give them back one by one costs as much
 * as to have them, and so the stretch is wound back instead. What is given back meanwhile
 * (arrays that grew) is kept by size for the next who asks.
 */
#pragma once

#include <stddef.h>

/* Takes the stretch, and tells the parser. 0, or -1 with errno. Once, before there is any parser. */
int memory_open(size_t size);
/* All that was asked for since is gone. */
void memory_empty(void);

void *memory_have(size_t size);
void *memory_zeroed(size_t count, size_t size);
void *memory_resize(void *old, size_t size);
void memory_give(void *old);
