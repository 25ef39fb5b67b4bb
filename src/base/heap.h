/*
 * Memory that was got beforehand, for a process that may ask the kernel for nothing, or has been forked out of one with
 * threads, where malloc() may be locked for ever. Nothing in it grows; what was taken last can be given back.
 */
#pragma once

#include <stddef.h>

struct heap {
	char *base;  /* where it begins */
	size_t size; /* of all */
	size_t used; /* how much is taken */
	size_t last; /* where what was taken last begins */
};

/* Aligned for anything, not cleared; NULL when there is no room. Without a heap it is malloc(). */
void *heap_alloc(struct heap *heap, size_t size);
/* NULL is fine. Only what was taken last comes back at once. */
void heap_free(struct heap *heap, void *data);
