/*
 * Built programs, kept between runs.
 *
 * builds/KEY is one file: a header, then the compiled program. The key is a
 * digest of all inputs (see digest.h), so an entry never changes. Programs get
 * copies of entries, and only we write entries, so code in a box cannot plant
 * one. Entries are written to a temporary file and renamed; an entry with
 * another size than its header says (after a crash) is ignored and removed. The
 * total size is bounded; the least recently used entries are removed first. An
 * entry stays readable through an open descriptor after its removal.
 */
#pragma once

#include "base/error.h"
#include "language/digest.h"

#include <stdint.h>

enum {
	CACHE_ENTRY_MAX = 256 << 20, /* bytes of one compiled program */
};
/* Bytes of all entries, including headers. EMBERBOX_CACHE_SIZE overrides it; 0 disables the cache. */
#define CACHE_SIZE_MAX (UINT64_C(1) << 30)

/* Returns a descriptor at the program's first byte, and its size. -1: no such entry, or the cache is disabled. */
int cache_get(const struct digest *key, uint64_t *size);
/* Stores the file `from` from its current offset on, at most CACHE_ENTRY_MAX bytes. Returns a descriptor as cache_get()
 * does. Without a cache directory or free space, the program is kept in memory for this run; -1 is an error. */
int cache_put(const struct digest *key, int from, uint64_t *size, struct error *err);
/* Removes the least recently used entries until `max` bytes are left. */
void cache_trim(uint64_t max);
