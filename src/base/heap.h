/*
 * Preallocated memory, for a process that must not make system calls, or that was forked from a process with threads,
 * where malloc() may be locked for ever. The heap does not grow; only the last allocation can be freed.
 */
#pragma once

#include <stddef.h>

struct heap {
	char *base;  /* start of the memory */
	size_t size; /* bytes in all */
	size_t used; /* bytes in use */
	size_t last; /* offset of the last allocation */
};

/* Aligned for any type, not cleared. Returns NULL if there is no room. Without a heap, this is malloc(). */
void *heap_alloc(struct heap *heap, size_t size);
/* `data` may be NULL. Only the last allocation becomes free at once. */
void heap_free(struct heap *heap, void *data);
