/* Asks readers: starts, reuses, kills and replaces them. */
#pragma once

#include "base/error.h"
#include "policy/reader_wire.h"

#include <stddef.h>

/* 0: an answer, whose records (*records, freed by the caller; NULL: none) are not validated; 1: the reader died or
 * timed out; -1: no reader could be started. */
int reader_ask(const char *grammar, const void *source, size_t size, struct wire_tell *head, char **records,
	       struct error *err);
void readers_close(void);
