/*
 * Hostile text, read where it can harm nobody: in a fork.
 *
 * The fork has every signal blocked, no descriptor, dies with its parent, and
 * after prctl() may call read, write, exit and sigreturn: seccomp's strict mode,
 * of which two have no object here. It takes memory from a region that was
 * mapped before, because the kernel may not be asked for more and another
 * thread may have held malloc()'s lock; and it leaves a struct in pages that
 * both have. Whatever a text can make of it, that is all it reaches.
 */
#pragma once

#include "base/heap.h"

#include <stdbool.h>
#include <stddef.h>

/* Reads what it was given, with memory from the heap, and fills *out, which is all 0. It may call nothing that asks the
 * kernel or malloc(). */
typedef void confined_work(const void *in, struct heap *heap, void *out);

/* Calls it in a fork, which gets a second, and returns what that left: out_size bytes, which nobody else can change any
 * more, for confined_free(). It may be anything that fits there: ends of texts and counts are the caller's to see to.
 * NULL: it died, took too long or could not be made. */
void *confined_run(confined_work *work, const void *in, size_t heap_size, size_t out_size);
/* NULL is fine. */
void confined_free(void *out, size_t out_size);
