/*
 * Types of nodes and fields that are asked for, of all grammars, as numbers.
 *
 * A grammar has numbers of its own for them, and names. To compare names at each node is a fifth
 * of the work; so what its numbers mean is found out once.
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
	const TSLanguage *tree;                         /* whose; NULL: this is empty */
	uint32_t symbols;                               /* that it has */
	uint8_t *types;                                 /* of each symbol: enum type */
	bool *wanted;                                   /* the same: whether a function sees it */
	void (**visits)(struct reader *r, TSNode node); /* the same: which */
	TSFieldId fields[FIELDS];                       /* of each field; 0: it has none of that name */
};

/* NULL: there is no memory for it. */
const struct numbers *numbers_of(const struct language *language, const TSLanguage *tree);
