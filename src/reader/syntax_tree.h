/* Going through a tree: syntax_tree.c. */
#pragma once

#include "base/own.h"

#include <tree_sitter/api.h>

#include <stdbool.h>

struct level;

struct levels {
	struct level *all; /* the innermost last */
	uint32_t count;    /* in use */
	uint32_t room;     /* for so many */
};

typedef void tree_visit(void *data, TSNode node, TSSymbol symbol);
/* All nodes of the wanted symbols, and mistakes, each before what is inside of it; false: there is no memory. */
bool tree_walk(const TSTree *tree, const bool *wanted, tree_visit *visit, void *data);

struct children {
	const TSTree *tree;   /* whose */
	struct levels levels; /* the way to the next */
};

/* The named children of a node (a null one has none), one after the other; without memory there are no more. */
void children_begin(struct children *children, TSNode node);
bool children_next(struct children *children, TSNode *node);
/* Those of the node that was just given come next, and then its siblings. */
void children_enter(struct children *children, TSNode node);
void children_end(struct children *children);
#define _cleanup_children_ _cleanup_(children_end)
