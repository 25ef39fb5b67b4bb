/*
 * Room for forks.
 *
 * A fork copies each page that it writes to. What it allocates fills the holes that its parent's start has left, which
 * lie everywhere: nearly each small object is another page to copy. So a zygote fills them first, for good, and what
 * its forks allocate lies together.
 */
#pragma once

#include <stddef.h>

/* Those of the C library's allocator. */
void room_make(void);
/* Those of an allocator of small objects like CPython's: sizes up to `largest`, by steps of 16, each from pools of
 * `pool` bytes that begin at multiples of that. */
void room_make_pools(void *(*allocate)(size_t), void (*release)(void *), size_t largest, size_t pool);
