#include "base/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena_block {
	struct arena_block *next;         /* the previously allocated block */
	size_t used, room;                /* bytes of data */
	alignas(max_align_t) char data[]; /* allocated from the front */
};

enum {
	ARENA_BLOCK = 16384
};

void *arena_alloc(struct arena *arena, size_t size)
{
	struct arena_block *block = arena->blocks;
	void *piece;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
	if (!block || block->room - block->used < size) {
		size_t room = size > ARENA_BLOCK ? size : ARENA_BLOCK;

		block = calloc(1, sizeof(*block) + room);
		if (!block)
			return NULL;
		block->room = room;
		block->next = arena->blocks;
		arena->blocks = block;
	}
	piece = block->data + block->used;
	block->used += size;
	return piece;
}

void *arena_copy(struct arena *arena, const void *data, size_t size)
{
	char *copy = size < SIZE_MAX ? arena_alloc(arena, size + 1) : NULL;

	if (copy && size > 0)
		memcpy(copy, data, size);
	return copy;
}

char *arena_string(struct arena *arena, const char *text)
{
	return arena_copy(arena, text, strlen(text));
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
	va_list args;
	char *text;
	int n;

	va_start(args, format);
	n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	text = n < 0 ? NULL : arena_alloc(arena, (size_t)n + 1);
	if (!text)
		return NULL;
	va_start(args, format);
	vsnprintf(text, (size_t)n + 1, format, args);
	va_end(args);
	return text;
}

void arena_free(struct arena *arena)
{
	while (arena->blocks) {
		struct arena_block *next = arena->blocks->next;

		free(arena->blocks);
		arena->blocks = next;
	}
}
