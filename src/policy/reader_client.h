/* Readers as others see them: asked, kept, killed, replaced. */
#pragma once

#include "base/error.h"
#include "policy/reader_wire.h"

#include <stddef.h>

/* 0 with an answer, whose records (*records, the caller frees; NULL: none) are not checked yet; 1: the reader died of
 * it or took too long; -1: no reader could be had. */
int reader_ask(const char *grammar, const void *source, size_t size, struct wire_tell *head, char **records,
	       struct error *err);
void readers_close(void);
