/*
 * Types of nodes and fields as numbers that are the same for all grammars.
 *
 * A grammar has its own numbers, with names. Comparing names at each node would take a fifth of the time, so the
 * numbers are translated once.
 */
#pragma once

#include <tree_sitter/api.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum type {
	TYPE_OTHER,
#define TYPE(word, name) TYPE_##word,
#define FIELD(word, name)
#include "reader/numbers.def"
#undef TYPE
#undef FIELD
};

enum field {
#define TYPE(word, name)
#define FIELD(word, name) FIELD_##word,
#include "reader/numbers.def"
#undef TYPE
#undef FIELD
	FIELDS
};

struct reader;
struct language;

struct numbers {
	const TSLanguage *tree;                         /* the grammar; NULL: unused entry */
	uint32_t symbols;                               /* number of its symbols */
	uint8_t *types;                                 /* enum type of each symbol */
	bool *wanted;                                   /* whether a function handles the symbol */
	void (**visits)(struct reader *r, TSNode node); /* that function */
	TSFieldId fields[FIELDS];                       /* of each field; 0: the grammar lacks it */
};

/* NULL: memory ran out. */
const struct numbers *numbers_of(const struct language *language, const TSLanguage *tree);
