#include "base/heap.h"

#include <stdlib.h>

enum {
	ALIGN = 16
};

void *heap_alloc(struct heap *heap, size_t size)
{
	size_t from;

	if (!heap)
		return malloc(size ? size : 1);
	from = (heap->used + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if (from > heap->size || size > heap->size - from)
		return NULL;
	heap->last = from;
	heap->used = from + size;
	return heap->base + from;
}

void heap_free(struct heap *heap, void *data)
{
	if (!heap)
		free(data);
	else if (data && (char *)data == heap->base + heap->last)
		heap->used = heap->last;
}
