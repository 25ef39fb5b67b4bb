/*
 * Parses hostile text in a confined fork.
 *
 * The fork has every signal blocked, no descriptor, and dies with its parent.
 * After prctl() it may call read, write, exit and sigreturn (seccomp's strict
 * mode); read and write have no descriptor to work on. Its memory comes from a
 * region mapped in advance, because mmap() is denied and another thread may
 * have held malloc()'s lock. It returns a struct in shared pages. A text that
 * takes over the parser reaches nothing else.
 */
#pragma once

#include "base/heap.h"

#include <stdbool.h>
#include <stddef.h>

/* Parses `in` with memory from the heap, and fills *out, which is zeroed. It must not make system calls or use
 * malloc(). */
typedef void confined_work(const void *in, struct heap *heap, void *out);

/* Calls `work` in a fork, with a timeout of one second. Returns the out_size bytes that it filled, which nobody else
 * can change any more; free them with confined_free(). The content is untrusted: the caller checks terminators and
 * counts. NULL: the fork died, timed out or could not be created. */
void *confined_run(confined_work *work, const void *in, size_t heap_size, size_t out_size);
/* `out` may be NULL. */
void confined_free(void *out, size_t out_size);
