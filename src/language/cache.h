/*
 * Built programs, kept between runs.
 *
 * builds/KEY is one file: a header, then what a compiler left. The key is a
 * digest of all that decides it (see digest.h), so an entry is right for
 * whoever asks for it, and is never changed. A program never sees the entry,
 * only a copy, and only we write here: nothing that runs in a box can put
 * something under another's key. Entries are written aside and renamed; one
 * whose size is not the header's (a crash) is a miss and removed. The whole is
 * bounded; the least recently used go first. An open descriptor keeps an entry
 * readable though it is removed meanwhile.
 */
#pragma once

#include "base/error.h"
#include "language/digest.h"

#include <stdint.h>

enum {
	CACHE_ENTRY_MAX = 256 << 20, /* bytes of one built program */
};
/* Bytes of all of them, headers included, unless EMBERBOX_CACHE_SIZE says otherwise; with 0 nothing is kept. */
#define CACHE_SIZE_MAX (UINT64_C(1) << 30)

/* A descriptor that stands at the program's first byte, with its size; -1: a miss, or nothing is kept. */
int cache_get(const struct digest *key, uint64_t *size);
/* Keeps what the file `from` holds from its current offset on, at most CACHE_ENTRY_MAX bytes. Returns a descriptor as
 * cache_get() does. Without a place to keep it (or no room) it is kept in memory for this run alone: -1 is an error. */
int cache_put(const struct digest *key, int from, uint64_t *size, struct error *err);
/* The bound: removes the least recently used until `max` bytes are left. */
void cache_trim(uint64_t max);
