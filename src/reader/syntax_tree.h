/* Iterates over a tree: syntax_tree.c. */
#pragma once

#include "base/own.h"

#include <tree_sitter/api.h>

#include <stdbool.h>

struct level;

struct levels {
	struct level *all; /* the innermost last */
	uint32_t count;    /* levels in use */
	uint32_t room;     /* allocated levels */
};

typedef void tree_visit(void *data, TSNode node, TSSymbol symbol);
/* Calls the function for all nodes of the wanted symbols, and for mistakes, each before its children. False if memory
 * ran out. */
bool tree_walk(const TSTree *tree, const bool *wanted, tree_visit *visit, void *data);

struct children {
	const TSTree *tree;   /* the tree */
	struct levels levels; /* position of the iteration */
};

/* Iterates over the named children of a node (a null one has none). It ends early if memory runs out. */
void children_begin(struct children *children, TSNode node);
bool children_next(struct children *children, TSNode *node);
/* Continues with the children of the last node, then its siblings. */
void children_enter(struct children *children, TSNode node);
void children_end(struct children *children);
#define _cleanup_children_ _cleanup_(children_end)
